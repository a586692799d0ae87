"""The cookies of a browser: its session, and the device that a user logged in on before.

Over https they are `__Host-` cookies: Secure, and for this host only. Browsers refuse those over plain http, so a trial
on one machine uses other cookie names. Scripts can read neither.
"""

from fastapi import Request, Response

from mainspring.api.context import Context
from mainspring.domain.access.account import SESSION_LIFE
from mainspring.operations.login import LoginResult

SESSION = "mainspring"
DEVICE = "mainspring-device"
DEVICE_LIFE_S = 365 * 86_400


def session_token(request: Request) -> str:
    return request.cookies.get(_name(request, SESSION), "")


def device_token(request: Request) -> str:
    return request.cookies.get(_name(request, DEVICE), "")


def set_cookies(request: Request, response: Response, entry: LoginResult) -> None:
    life_s = int(SESSION_LIFE.total_seconds())
    for name, value, max_age in ((SESSION, entry.token, life_s), (DEVICE, entry.device, DEVICE_LIFE_S)):
        response.set_cookie(
            _name(request, name),
            value,
            max_age=max_age,
            path="/",
            secure=is_https(request),
            httponly=True,
            samesite="lax",
        )


def clear_session(request: Request, response: Response) -> None:
    name = _name(request, SESSION)
    response.delete_cookie(name, path="/", secure=is_https(request), httponly=True, samesite="lax")


def is_https(request: Request) -> bool:
    context: Context = request.app.state.context
    return request.url.scheme == "https" or context.settings.public_url.startswith("https://")


def _name(request: Request, name: str) -> str:
    return f"__Host-{name}" if is_https(request) else name

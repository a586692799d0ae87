"""Single sign-on: to the OIDC identity provider and back. For browsers, so it is not in the API's document.

A refused login leads to the login page, which shows the reason. The reason is passed in a cookie that scripts cannot
read: in the URL, anyone could make the login page say anything.
"""

from urllib.parse import quote, unquote

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from mainspring.api import cookies
from mainspring.api.problems import HttpProblem
from mainspring.api.routes.auth import Anonymous, context_of
from mainspring.domain.access.scope import Role
from mainspring.domain.errors import Conflict, Forbidden, InvalidInput, NotAuthenticated, QuotaExceeded, TooManyRequests
from mainspring.domain.name import shown
from mainspring.operations.single_sign_on import Issuer, address_after, begin_login, finish_login, own_address

router = APIRouter(prefix="/auth/oidc", include_in_schema=False)

COOKIE = "mainspring-oidc"
COOKIE_LIFE_S = 600
REFUSAL = "mainspring-oidc-refusal"
REFUSAL_LIFE_S = 60
REFUSAL_CHARS_MAX = 500  # a cookie holds 4 kB, and each character may take nine bytes
REFUSALS = (Conflict, Forbidden, InvalidInput, NotAuthenticated, QuotaExceeded, TooManyRequests)


@router.get("")
async def is_offered(request: Request, response: Response) -> dict[str, bool | str]:
    """Whether single sign-on is configured, so that the login page shows its button, and why the last attempt
    failed.
    """
    refusal = request.cookies.get(REFUSAL, "")
    if refusal:
        _delete(request, response, REFUSAL)
    return {"configured": context_of(request).issuer is not None, "refusal": unquote(refusal)}


@router.get("/login")
async def begin(desk: Anonymous, request: Request) -> Response:
    """`?from=` is the page that was requested; the login returns to it."""
    back = request.query_params.get("from", "")
    issuer = _issuer(request)
    try:
        url, kept = await begin_login(desk, context_of(request).hasher, issuer, _redirect_uri(request), back)
    except REFUSALS as refused:
        return _refused(request, refused, own_address(back))
    response = RedirectResponse(url, 302)
    _set(request, response, COOKIE, kept, COOKIE_LIFE_S)
    return response


@router.get("/callback")
async def come_back(desk: Anonymous, request: Request) -> Response:
    context, given, issuer = context_of(request), request.query_params, _issuer(request)
    role, kept = context.settings.oidc_role, request.cookies.get(COOKIE, "")
    address = address_after(desk, kept)
    try:
        if "error" in given:
            raise NotAuthenticated(
                f"sign-in failed at the identity provider: {shown(given['error'])}; try again, "
                "or log in with a password"
            )
        entry = await finish_login(
            desk,
            context.hasher,
            issuer,
            kept=kept,
            state=given.get("state", ""),
            code=given.get("code", ""),
            redirect_uri=_redirect_uri(request),
            role=Role(role) if role else None,
            agent=request.headers.get("user-agent", ""),
        )
    except REFUSALS as refused:
        return _refused(request, refused, address)
    response = RedirectResponse(address, 303)
    cookies.set_cookies(request, response, entry)
    _delete(request, response, COOKIE)
    return response


def _refused(request: Request, refused: Exception, address: str) -> Response:
    """Redirects to the login page, whose next attempt leads to the requested page."""
    back = f"?from={quote(address, safe='')}" if address not in ("", "/") else ""
    response = RedirectResponse(f"/login{back}", 303)
    _set(request, response, REFUSAL, quote(str(refused)[:REFUSAL_CHARS_MAX], safe=""), REFUSAL_LIFE_S)
    return response


def _set(request: Request, response: Response, name: str, value: str, life_s: int) -> None:
    # Lax, not Strict: the way back starts on the provider's page.
    secure = cookies.is_https(request)
    response.set_cookie(name, value, life_s, path="/", secure=secure, httponly=True, samesite="lax")


def _delete(request: Request, response: Response, name: str) -> None:
    response.delete_cookie(name, path="/", secure=cookies.is_https(request), httponly=True, samesite="lax")


def _issuer(request: Request) -> Issuer:
    issuer = context_of(request).issuer
    if issuer is None:
        raise HttpProblem("not-found", "single sign-on is not configured; the operator can set MAINSPRING_OIDC_ISSUER")
    return issuer


def _redirect_uri(request: Request) -> str:
    site = context_of(request).settings.public_url.rstrip("/") or str(request.base_url).rstrip("/")
    return f"{site}/api/v1/auth/oidc/callback"

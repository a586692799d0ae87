"""Single sign-on: to the OIDC issuer and back. For browsers, so it is not in the API's document."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from mainspring.api import cookies
from mainspring.api.problems import ApiError
from mainspring.api.routes.auth import Anonymous, context_of
from mainspring.domain.access import Role
from mainspring.domain.errors import NotAuthenticated
from mainspring.domain.name import shown
from mainspring.operations.single_sign_on import Issuer, begin_login, finish_login

router = APIRouter(prefix="/auth/oidc", include_in_schema=False)

COOKIE = "mainspring-oidc"
COOKIE_LIFE_S = 600


@router.get("/login")
async def begin(desk: Anonymous, request: Request) -> Response:
    url, kept = await begin_login(desk, context_of(request).locksmith, _issuer(request), _redirect_uri(request))
    response = RedirectResponse(url, 302)
    secure = cookies.is_https(request)
    # Lax, not Strict: the way back begins on the issuer's page.
    response.set_cookie(COOKIE, kept, COOKIE_LIFE_S, path="/", secure=secure, httponly=True, samesite="lax")
    return response


@router.get("/callback")
async def come_back(desk: Anonymous, request: Request) -> Response:
    context, given = context_of(request), request.query_params
    if "error" in given:
        raise NotAuthenticated(f"the issuer refused: {shown(given['error'])}; try again, or log in with a password")
    role = context.settings.oidc_role
    entry = await finish_login(
        desk,
        context.locksmith,
        _issuer(request),
        kept=request.cookies.get(COOKIE, ""),
        state=given.get("state", ""),
        code=given.get("code", ""),
        redirect_uri=_redirect_uri(request),
        role=Role(role) if role else None,
        agent=request.headers.get("user-agent", ""),
    )
    response = RedirectResponse("/", 303)
    cookies.set_cookies(request, response, entry)
    response.delete_cookie(COOKIE, path="/", secure=cookies.is_https(request), httponly=True, samesite="lax")
    return response


def _issuer(request: Request) -> Issuer:
    issuer = context_of(request).issuer
    if issuer is None:
        raise ApiError("not-found", "single sign-on is not set up here; its operator sets MAINSPRING_OIDC_ISSUER")
    return issuer


def _redirect_uri(request: Request) -> str:
    site = context_of(request).settings.public_url.rstrip("/") or str(request.base_url).rstrip("/")
    return f"{site}/api/v1/auth/oidc/callback"

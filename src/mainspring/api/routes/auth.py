"""Log in and out, and who is asking."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from mainspring.api import cookies
from mainspring.api.access import Known
from mainspring.api.context import Context
from mainspring.api.people import Login, PasswordChange, Setup, Whoami
from mainspring.domain.errors import Forbidden
from mainspring.operations import login
from mainspring.operations.accounts import use_link
from mainspring.operations.endpoints import Desk
from mainspring.ports.accounts import Visit
from mainspring.shapes import Shape, instant, user_shape

router = APIRouter(prefix="/auth", tags=["auth"])


def context_of(request: Request) -> Context:
    context: Context = request.app.state.context
    return context


def nobodys_desk(request: Request) -> Desk:
    """For whoever has yet to prove who that is."""
    context = context_of(request)
    return context.desk(context.settings.tenant, "anonymous")


async def logged_in(request: Request, principal: Known) -> Visit:
    """The session of the request; a key has none."""
    visit: Visit | None = getattr(request.state, "visit", None)
    if visit is None:
        raise Forbidden(f"this is for users who are logged in, and {principal.actor} is a key; log in", scope="session")
    return visit


Anonymous = Annotated[Desk, Depends(nobodys_desk)]
LoggedIn = Annotated[Visit, Depends(logged_in)]


@router.post("/login", response_model=Whoami)
async def log_in(desk: Anonymous, wish: Login, request: Request, response: Response) -> Shape:
    """Start a session; its token is in a cookie that no script can read."""
    entry = await login.log_in(
        desk,
        context_of(request).locksmith,
        wish.email,
        wish.password,
        device=cookies.device_token(request),
        agent=request.headers.get("user-agent", ""),
    )
    return await _entered(desk, entry, request, response)


@router.post("/setup", response_model=Whoami)
async def set_up(desk: Anonymous, wish: Setup, request: Request, response: Response) -> Shape:
    """Use a link that opens once: make the first owner, or set a password. Starts a session."""
    locksmith = context_of(request).locksmith
    user = await use_link(desk, locksmith, wish.token, wish.password, wish.email, wish.name)
    agent = request.headers.get("user-agent", "")
    return await _entered(desk, await login.start_session(desk, locksmith, user, agent, "link"), request, response)


@router.post("/logout", status_code=204)
async def log_out(desk: Anonymous, visit: LoggedIn, request: Request) -> Response:
    """End this session, everywhere at once."""
    await login.log_out(desk, visit)
    response = Response(status_code=204)
    cookies.clear_session(request, response)
    return response


@router.get("/session", response_model=Whoami)
async def read_session(request: Request, principal: Known) -> Shape:
    """Who is asking, in which tenant, with which scopes. For keys too."""
    visit: Visit | None = getattr(request.state, "visit", None)
    return {
        "actor": principal.actor,
        "tenant": principal.tenant_id or None,
        "scopes": sorted(principal.scopes),
        "operator": principal.is_operator,
        "user": user_shape(visit.user) if visit else None,
        "tenants": _places(visit) if visit else [],
        "expires_at": instant(visit.session.expires_at) if visit else None,
        "demo": context_of(request).demo is not None,
    }


@router.post("/password", response_model=Whoami)
async def change_password(
    desk: Anonymous, visit: LoggedIn, wish: PasswordChange, request: Request, response: Response
) -> Shape:
    """Set a new password. Every session of the user ends; this one goes on under a new token."""
    locksmith = context_of(request).locksmith
    agent = request.headers.get("user-agent", "")
    entry = await login.change_password(desk, locksmith, visit, wish.current, wish.password, agent)
    return await _entered(desk, entry, request, response)


async def _entered(desk: Desk, entry: login.Entry, request: Request, response: Response) -> Shape:
    cookies.set_cookies(request, response, entry)
    request.state.visit = await login.visit_of(desk.stores, entry.token)
    return await read_session(request, login.principal_of_visit(request.state.visit))


def _places(visit: Visit) -> list[Shape]:
    return [{"tenant": each.tenant_id, "name": each.tenant_name, "role": each.role.value} for each in visit.memberships]

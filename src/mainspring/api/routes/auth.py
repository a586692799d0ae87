"""Log in and out, and identify the caller."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request, Response
from msgspec.structs import replace

from mainspring.api import cookies
from mainspring.api.access import Known
from mainspring.api.context import Context
from mainspring.api.models.accounts import (
    AssertionGiven,
    FactorCode,
    LinkToken,
    Login,
    PasswordChange,
    Setup,
    TenantChoice,
)
from mainspring.domain.access.passkey import Assertion, RelyingParty, relying_party
from mainspring.domain.errors import CodeRequired, Conflict, Forbidden
from mainspring.operations import links, login, second_factor
from mainspring.operations.context import Desk
from mainspring.ports.accounts import LiveSession
from mainspring.views.account import (
    FactorBegun,
    FactorConfirmed,
    FactorState,
    LinkView,
    LoginSessionView,
    MembershipView,
    SessionsEnded,
    UserView,
    Whoami,
)
from mainspring.views.view import ListOf

router = APIRouter(prefix="/auth", tags=["auth"])


def context_of(request: Request) -> Context:
    context: Context = request.app.state.context
    return context


def nobodys_desk(request: Request) -> Desk:
    """For callers that are not authenticated yet."""
    context = context_of(request)
    return context.desk(context.settings.tenant, "anonymous")


async def logged_in(request: Request, principal: Known) -> LiveSession:
    """The session of the request; a key has none."""
    visit: LiveSession | None = getattr(request.state, "visit", None)
    if visit is None:
        raise Forbidden(f"this is for logged-in users, and {principal.actor} is a key; log in", scope="session")
    return visit


def party_of(request: Request) -> RelyingParty:
    """The relying party of passkeys; Conflict if browsers do not accept passkeys at this server's URL."""
    return relying_party(context_of(request).settings.public_url, str(request.base_url))


def assertion_of(given: AssertionGiven) -> Assertion:
    return Assertion(given.challenge, given.id, given.client_data, given.authenticator_data, given.signature)


Anonymous = Annotated[Desk, Depends(nobodys_desk)]
LoggedIn = Annotated[LiveSession, Depends(logged_in)]


@router.post("/login")
async def log_in(desk: Anonymous, wish: Login, request: Request, response: Response) -> Whoami:
    """Start a session; its token is in a cookie that scripts cannot read."""
    entry = await login.log_in(
        desk,
        context_of(request).hasher,
        wish.email,
        wish.password,
        code=wish.code,
        party=_party_or_none(request),
        assertion=None if wish.passkey is None else assertion_of(wish.passkey),
        device=cookies.device_token(request),
        agent=request.headers.get("user-agent", ""),
    )
    return await entered(desk, entry, request, response)


@router.post("/setup")
async def set_up(desk: Anonymous, wish: Setup, request: Request, response: Response) -> Whoami:
    """Use a one-time link: create the first owner, set a password, or accept an invitation. Starts a session."""
    hasher = context_of(request).hasher
    user = await links.use_link(desk, hasher, wish.token, wish.password, wish.email, wish.name)
    if await second_factor.is_in_force(desk, user):
        raise CodeRequired("the password is set; log in with it and your second factor")
    agent = request.headers.get("user-agent", "")
    return await entered(desk, await login.start_session(desk, hasher, user, agent, "link"), request, response)


@router.post("/link")
async def read_link(desk: Anonymous, wish: LinkToken) -> LinkView:
    """The purpose of a link, before it is used. The link stays valid."""
    return LinkView.of(await links.read_link(desk, wish.token))


@router.post("/accept")
async def accept_invitation(desk: Anonymous, visit: LoggedIn, wish: LinkToken, request: Request) -> Whoami:
    """Accept an invitation as the logged-in user."""
    tenant = await links.accept(desk, visit, wish.token)
    request.state.visit = await login.visit_of(desk.stores, cookies.session_token(request))
    return await read_session(request, login.principal_of_visit(request.state.visit, tenant))


@router.put("/tenant")
async def choose_tenant(desk: Anonymous, visit: LoggedIn, wish: TenantChoice, request: Request) -> Whoami:
    """Choose the default tenant of your requests."""
    request.state.visit = await login.choose_tenant(desk, visit, wish.tenant)
    return await read_session(request, login.principal_of_visit(request.state.visit))


@router.post("/logout", status_code=204)
async def log_out(desk: Anonymous, visit: LoggedIn, request: Request) -> Response:
    """End this session, in every process."""
    await login.log_out(desk, visit)
    response = Response(status_code=204)
    cookies.clear_session(request, response)
    return response


@router.get("/session")
async def read_session(request: Request, principal: Known) -> Whoami:
    """The authenticated user or key, its tenant and its scopes."""
    visit: LiveSession | None = getattr(request.state, "visit", None)
    return Whoami(
        actor=principal.actor,
        tenant=principal.tenant_id or None,
        scopes=[each.value for each in sorted(principal.scopes)],
        operator=principal.is_operator,
        user=UserView.of(visit.user) if visit else None,
        tenants=[MembershipView.of(each) for each in visit.memberships] if visit else [],
        sole_tenant=not await context_of(request).stores.accounts.has_several_tenants(),
        expires_at=visit.session.expires_at if visit else None,
        demo=context_of(request).demo is not None,
    )


@router.get("/second-factor")
async def read_second_factor(desk: Anonymous, visit: LoggedIn) -> FactorState:
    """Whether your login needs a code, and how many recovery codes are left."""
    found = await desk.stores.credentials.second_factor(visit.user.id)
    enabled = found is not None and found.confirmed_at is not None
    return FactorState(enabled=enabled, recovery_codes_left=len(found.recovery) if found else 0)


@router.post("/second-factor")
async def begin_second_factor(desk: Anonymous, visit: LoggedIn, request: Request) -> FactorBegun:
    """Create a secret for an authenticator app (TOTP). It becomes active once `confirm` gets one of its codes."""
    begun = await second_factor.begin(desk, context_of(request).hasher, visit)
    return FactorBegun(secret=begun.secret, uri=begun.uri)


@router.post("/second-factor/confirm")
async def confirm_second_factor(
    desk: Anonymous, visit: LoggedIn, wish: FactorCode, request: Request
) -> FactorConfirmed:
    """Activate the second factor, and show the recovery codes once."""
    codes = await second_factor.confirm(desk, context_of(request).hasher, visit, wish.code)
    return FactorConfirmed(recovery_codes=list(codes))


@router.post("/second-factor/disable")
async def disable_second_factor(desk: Anonymous, visit: LoggedIn, wish: FactorCode, request: Request) -> FactorState:
    """Disable the second factor. Needs a code."""
    theirs = replace(desk, actor=f"user:{visit.user.email}")
    await second_factor.disable(theirs, context_of(request).hasher, visit, wish.code)
    return await read_second_factor(desk, visit)


@router.get("/sessions")
async def list_login_sessions(desk: Anonymous, visit: LoggedIn) -> ListOf[LoginSessionView]:
    """Your active sessions, newest first."""
    found = await desk.stores.credentials.sessions_of(visit.user.id)
    return ListOf(items=[LoginSessionView.of(each, visit.session.id) for each in found])


@router.delete("/sessions")
async def end_other_sessions(desk: Anonymous, visit: LoggedIn) -> SessionsEnded:
    """End all your sessions except this one."""
    return SessionsEnded(ended=await login.end_sessions(desk, visit))


@router.delete("/sessions/{login}")
async def end_login_session(
    desk: Anonymous, visit: LoggedIn, login_id: Annotated[str, Path(alias="login", max_length=100)]
) -> SessionsEnded:
    """End one of your sessions, in every process."""
    return SessionsEnded(ended=await login.end_sessions(desk, visit, login_id))


@router.post("/password")
async def change_password(
    desk: Anonymous, visit: LoggedIn, wish: PasswordChange, request: Request, response: Response
) -> Whoami:
    """Set a new password. All sessions of the user end; this one continues with a new token."""
    hasher = context_of(request).hasher
    agent = request.headers.get("user-agent", "")
    entry = await login.change_password(desk, hasher, visit, wish.current, wish.password, agent)
    return await entered(desk, entry, request, response)


async def entered(desk: Desk, entry: login.LoginResult, request: Request, response: Response) -> Whoami:
    cookies.set_cookies(request, response, entry)
    request.state.visit = await login.visit_of(desk.stores, entry.token)
    return await read_session(request, login.principal_of_visit(request.state.visit))


def _party_or_none(request: Request) -> RelyingParty | None:
    try:
        return party_of(request)
    except Conflict:
        return None

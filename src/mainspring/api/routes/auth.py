"""Log in and out, and who is asking."""

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
from mainspring.operations.endpoints import Desk
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
    """For whoever has yet to prove who that is."""
    context = context_of(request)
    return context.desk(context.settings.tenant, "anonymous")


async def logged_in(request: Request, principal: Known) -> LiveSession:
    """The session of the request; a key has none."""
    visit: LiveSession | None = getattr(request.state, "visit", None)
    if visit is None:
        raise Forbidden(f"this is for users who are logged in, and {principal.actor} is a key; log in", scope="session")
    return visit


def party_of(request: Request) -> RelyingParty:
    """Whom passkeys sign for; Conflict where this server has no address that browsers take for that."""
    return relying_party(context_of(request).settings.public_url, str(request.base_url))


def assertion_of(given: AssertionGiven) -> Assertion:
    return Assertion(given.challenge, given.id, given.client_data, given.authenticator_data, given.signature)


Anonymous = Annotated[Desk, Depends(nobodys_desk)]
LoggedIn = Annotated[LiveSession, Depends(logged_in)]


@router.post("/login")
async def log_in(desk: Anonymous, wish: Login, request: Request, response: Response) -> Whoami:
    """Start a session; its token is in a cookie that no script can read."""
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
    """Use a link that opens once: make the first owner, set a password, or accept an invitation. Starts a session."""
    hasher = context_of(request).hasher
    user = await links.use_link(desk, hasher, wish.token, wish.password, wish.email, wish.name)
    if await second_factor.is_in_force(desk, user):
        raise CodeRequired("the password is set; log in with it and your second factor")
    agent = request.headers.get("user-agent", "")
    return await entered(desk, await login.start_session(desk, hasher, user, agent, "link"), request, response)


@router.post("/link")
async def read_link(desk: Anonymous, wish: LinkToken) -> LinkView:
    """What a link is for, before it is used. The link stays valid."""
    return LinkView.of(await links.read_link(desk, wish.token))


@router.post("/accept")
async def accept_invitation(desk: Anonymous, visit: LoggedIn, wish: LinkToken, request: Request) -> Whoami:
    """Accept an invitation as the user who is logged in."""
    tenant = await links.accept(desk, visit, wish.token)
    request.state.visit = await login.visit_of(desk.stores, cookies.session_token(request))
    return await read_session(request, login.principal_of_visit(request.state.visit, tenant))


@router.put("/tenant")
async def choose_tenant(desk: Anonymous, visit: LoggedIn, wish: TenantChoice, request: Request) -> Whoami:
    """Choose the tenant that your requests act in where they name none."""
    request.state.visit = await login.choose_tenant(desk, visit, wish.tenant)
    return await read_session(request, login.principal_of_visit(request.state.visit))


@router.post("/logout", status_code=204)
async def log_out(desk: Anonymous, visit: LoggedIn, request: Request) -> Response:
    """End this session, everywhere at once."""
    await login.log_out(desk, visit)
    response = Response(status_code=204)
    cookies.clear_session(request, response)
    return response


@router.get("/session")
async def read_session(request: Request, principal: Known) -> Whoami:
    """Who is asking, in which tenant, with which scopes. For keys too."""
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
    """Whether your login asks for a code, and how many recovery codes are left."""
    found = await desk.stores.credentials.second_factor(visit.user.id)
    enabled = found is not None and found.confirmed_at is not None
    return FactorState(enabled=enabled, recovery_codes_left=len(found.recovery) if found else 0)


@router.post("/second-factor")
async def begin_second_factor(desk: Anonymous, visit: LoggedIn, request: Request) -> FactorBegun:
    """A secret for an app that shows codes (TOTP). It is in force once a code of it was sent to `confirm`."""
    begun = await second_factor.begin(desk, context_of(request).hasher, visit)
    return FactorBegun(secret=begun.secret, uri=begun.uri)


@router.post("/second-factor/confirm")
async def confirm_second_factor(
    desk: Anonymous, visit: LoggedIn, wish: FactorCode, request: Request
) -> FactorConfirmed:
    """Put the second factor into force, and show the recovery codes, once."""
    codes = await second_factor.confirm(desk, context_of(request).hasher, visit, wish.code)
    return FactorConfirmed(recovery_codes=list(codes))


@router.post("/second-factor/disable")
async def disable_second_factor(desk: Anonymous, visit: LoggedIn, wish: FactorCode, request: Request) -> FactorState:
    """Log in without a code again; this needs one."""
    theirs = replace(desk, actor=f"user:{visit.user.email}")
    await second_factor.disable(theirs, context_of(request).hasher, visit, wish.code)
    return await read_second_factor(desk, visit)


@router.get("/sessions")
async def list_login_sessions(desk: Anonymous, visit: LoggedIn) -> ListOf[LoginSessionView]:
    """Where you are logged in, newest first."""
    found = await desk.stores.credentials.sessions_of(visit.user.id)
    return ListOf(items=[LoginSessionView.of(each, visit.session.id) for each in found])


@router.delete("/sessions")
async def end_other_sessions(desk: Anonymous, visit: LoggedIn) -> SessionsEnded:
    """End every session of yours but this one."""
    return SessionsEnded(ended=await login.end_sessions(desk, visit))


@router.delete("/sessions/{login}")
async def end_login_session(
    desk: Anonymous, visit: LoggedIn, login_id: Annotated[str, Path(alias="login", max_length=100)]
) -> SessionsEnded:
    """End one session of yours, in every process at once."""
    return SessionsEnded(ended=await login.end_sessions(desk, visit, login_id))


@router.post("/password")
async def change_password(
    desk: Anonymous, visit: LoggedIn, wish: PasswordChange, request: Request, response: Response
) -> Whoami:
    """Set a new password. Every session of the user ends; this one goes on under a new token."""
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

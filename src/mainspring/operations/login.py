"""Authentication: log in and out, and find the principal of a session or an API key.

Errors do not distinguish an unknown user from a wrong password, in words or in time. Every attempt is counted before it
is checked, and taken back if it was valid; the count is in the database, so it applies across processes.
"""

from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.access.account import (
    SESSION_LIFE,
    LoginSession,
    User,
    check_email,
    check_password,
    digest,
    guess_bucket,
    login_buckets,
    read_api_key,
)
from mainspring.domain.access.audit import INSTALLATION
from mainspring.domain.access.passkey import Assertion, RelyingParty
from mainspring.domain.access.scope import SCOPES_OF, Principal
from mainspring.domain.errors import CodeRequired, InvalidInput, Misconfigured, NotAuthenticated, NotFound
from mainspring.domain.event import Event, EventType
from mainspring.domain.text import clean_text
from mainspring.operations import passkeys, second_factor
from mainspring.operations.accounts import new_token
from mainspring.operations.context import Desk
from mainspring.operations.login_limit import refuse_guesses
from mainspring.ports.accounts import ORIGIN, LiveSession
from mainspring.ports.outbound import PasswordHasher
from mainspring.ports.stores import Stores

AGENT_MAX = 200
PASSWORD_SENT_MAX = 1_000  # longer input cannot be a password, and is not hashed


class LoginResult(Struct, frozen=True):
    """A new session. `token` and `device` go to the browser and are not stored."""

    user: User
    session: LoginSession
    token: str
    device: str


async def log_in(
    desk: Desk,
    hasher: PasswordHasher,
    email: str,
    password: str,
    *,
    code: str = "",
    device: str = "",
    agent: str = "",
    party: RelyingParty | None = None,
    assertion: Assertion | None = None,
) -> LoginResult:
    """`code` or `assertion` is the second factor, if the user has one. `device` comes from an earlier login in the
    same browser, which is not slowed down by attackers.
    """
    email = check_email(email)
    buckets = login_buckets(email, ORIGIN.get(), _known_device(desk, email, device))
    await refuse_guesses(desk.stores, *buckets)
    user, stored = await desk.stores.accounts.user(email) or (None, "")
    fits = len(password) <= PASSWORD_SENT_MAX and await hasher.fits(password, stored)
    if user is None or not fits or user.disabled_at is not None:
        await _note_failure(desk, user)
        raise NotAuthenticated(
            "the email address or the password is wrong; try again, or ask for a link to set a new one"
        )
    try:
        is_right = await second_factor.check(desk, hasher, user, code, party, assertion)
    except CodeRequired:
        await desk.stores.credentials.give_turn_back(buckets)
        raise
    if not is_right:
        await _note_failure(desk, user)
        raise NotAuthenticated(
            "the passkey was not accepted; start the login again"
            if assertion is not None
            else "the code is wrong or was already used; wait for the next one, then try again"
        )
    await desk.stores.credentials.give_turn_back(buckets)
    return await start_session(desk, hasher, user, agent, "password")


async def begin_passkey_login(desk: Desk, hasher: PasswordHasher, party: RelyingParty) -> dict[str, object]:
    """The challenge for a passkey. Counted, because each one is stored."""
    await refuse_guesses(desk.stores, guess_bucket(ORIGIN.get()))
    return await passkeys.begin_login(desk, hasher, party)


async def log_in_with_passkey(
    desk: Desk, hasher: PasswordHasher, party: RelyingParty, assertion: Assertion, *, agent: str = ""
) -> LoginResult:
    """Logs in without a password: the device is one factor, its PIN, fingerprint or face the other."""
    bucket = guess_bucket(ORIGIN.get())
    await refuse_guesses(desk.stores, bucket)
    user = await passkeys.identify(desk, hasher, party, assertion)
    if user is None:
        await _note_failure(desk, None)
        raise NotAuthenticated("the passkey was not accepted; try again, or log in with your password")
    await desk.stores.credentials.give_turn_back((bucket,))
    return await start_session(desk, hasher, user, agent, "passkey")


async def start_session(desk: Desk, hasher: PasswordHasher, user: User, agent: str, by: str) -> LoginResult:
    """A session with a new token, for an authenticated user."""
    now = await desk.stores.schedule.now()
    token = new_token(hasher)
    session = LoginSession(
        desk.ids.new("ses", now), user.id, now, now, now + SESSION_LIFE, ORIGIN.get(), clean_text(agent, AGENT_MAX)
    )
    event = _event(EventType.LOGIN_SUCCEEDED, now, user, {"by": by})
    await desk.stores.credentials.add_session(session, digest(token), event)
    device = desk.vault.seal(session.id, _device_context(user.email))
    return LoginResult(user, session, token, device)


async def choose_tenant(desk: Desk, visit: LiveSession, tenant_id: str) -> LiveSession:
    """Sets the default tenant of the user's requests."""
    principal_of_visit(visit, tenant_id)
    if visit.user.home == tenant_id:
        return visit
    chosen = replace(visit.user, home=tenant_id)
    now = await desk.stores.schedule.now()
    data: dict[str, object] = {"before": {"home": visit.user.home}, "after": {"home": tenant_id}}
    await desk.stores.accounts.put_user(chosen, _event(EventType.USER_UPDATED, now, chosen, data))
    return replace(visit, user=chosen)


async def log_out(desk: Desk, visit: LiveSession) -> None:
    now = await desk.stores.schedule.now()
    await desk.stores.credentials.end_session(visit.session.id, _event(EventType.LOGOUT, now, visit.user, {}))


async def end_sessions(desk: Desk, visit: LiveSession, session_id: str | None = None) -> int:
    """Ends one session of the logged-in user; without an id all except the current one. Returns how many ended."""
    found = await desk.stores.credentials.sessions_of(visit.user.id)
    ending = [each for each in found if (each.id == session_id if session_id else each.id != visit.session.id)]
    if session_id and not ending:
        raise NotFound("session", session_id)
    now = await desk.stores.schedule.now()
    for each in ending:
        data: dict[str, object] = {"session": each.id}
        await desk.stores.credentials.end_session(each.id, _event(EventType.LOGOUT, now, visit.user, data))
    return len(ending)


async def change_password(
    desk: Desk, hasher: PasswordHasher, visit: LiveSession, current: str, new: str, agent: str = ""
) -> LoginResult:
    """Changes the password of a logged-in user who knows the current one. All sessions end; a new one starts."""
    user = visit.user
    checked = check_password(new, user.email)
    await refuse_guesses(desk.stores, *login_buckets(user.email, ORIGIN.get(), visit.session.id))
    _, stored = await desk.stores.accounts.user(user.id) or (None, "")
    if stored and not await hasher.fits(current[:PASSWORD_SENT_MAX], stored):
        raise InvalidInput("the current password is wrong; nothing was changed", field="current")
    now = await desk.stores.schedule.now()
    password_hash = await hasher.hash_password(checked)
    await desk.stores.accounts.put_password(
        user.id, password_hash, user.proof, _event(EventType.PASSWORD_SET, now, user, {})
    )
    return await start_session(desk, hasher, user, agent, "password")


async def principal_of_key(stores: Stores, text: str) -> Principal:
    """Raises NotAuthenticated for a key that is unknown, revoked or expired, and slows down repeated guesses."""
    parts = read_api_key(text)
    key = await stores.credentials.use_api_key(*parts) if parts else None
    if key is None:
        await refuse_guesses(stores, guess_bucket(ORIGIN.get()))
        raise NotAuthenticated(
            "this API key is not valid: it is mistyped, revoked or expired; create one with `mainspring apikey create`"
        )
    return Principal(key.tenant_id, f"key:{key.id}", key.scopes, is_operator=key.is_operator)


async def visit_of(stores: Stores, token: str) -> LiveSession:
    visit = await stores.credentials.visit(digest(token))
    if visit is None:
        raise NotAuthenticated("the session has expired; log in again")
    return visit


def principal_of_visit(visit: LiveSession, wanted_tenant: str = "") -> Principal:
    """The user in one of its tenants. A user without a tenant has no scopes.

    1. The tenant that the request names.
    2. The one that the user chose.
    3. The one that the user joined first: the names of tenants have no influence.
    """
    user = visit.user
    places = {each.tenant_id: each for each in visit.memberships}
    first = min(visit.memberships, key=lambda each: (each.joined_at, each.tenant_id), default=None)
    chosen = places.get(wanted_tenant) if wanted_tenant else places.get(user.home, first)
    if chosen is None and wanted_tenant:
        raise NotFound("tenant", wanted_tenant, tuple(each.tenant_id for each in visit.memberships))
    return Principal(
        chosen.tenant_id if chosen else "",
        f"user:{user.email}",
        SCOPES_OF[chosen.role] if chosen else frozenset(),
        user.id,
        visit.session.id,
        user.is_operator,
    )


async def _note_failure(desk: Desk, user: User | None) -> None:
    """Does not keep an address without an account: a user may have typed a password there."""
    now = await desk.stores.schedule.now()
    data: dict[str, object] = {"subject": user.email if user else "unknown"}
    event = Event(EventType.LOGIN_FAILED, now, INSTALLATION, actor="anonymous", data=data)
    await desk.stores.runs.add_events([event])


def _known_device(desk: Desk, email: str, device: str) -> str:
    try:
        return desk.vault.open(device, _device_context(email)) if device else ""
    except Misconfigured:  # forged, another user's, or older than a change of the key
        return ""


def _device_context(email: str) -> str:
    return f"device|{email}"


def _event(kind: EventType, now: datetime, user: User, data: dict[str, object]) -> Event:
    return Event(kind, now, INSTALLATION, actor=f"user:{user.email}", data={"subject": user.email, **data})

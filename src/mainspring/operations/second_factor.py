"""A second factor at login: codes of an app (TOTP, RFC 6238), passkeys, and recovery codes.

A user may have an app and passkeys, and needs one of them to log in. A code is valid once: the step of the newest used
code is stored in the database, so it applies across processes. The secret is encrypted for its user. Single sign-on
needs no code: the issuer has its own second factor.
"""

from base64 import b32encode
from datetime import datetime
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.access.account import SecondFactor, User, login_buckets
from mainspring.domain.access.audit import INSTALLATION
from mainspring.domain.access.passkey import Assertion, RelyingParty
from mainspring.domain.access.sealing import second_factor_place
from mainspring.domain.errors import CodeRequired, Conflict, InvalidInput
from mainspring.domain.event import Event, EventType
from mainspring.operations.context import Desk
from mainspring.operations.login_limit import refuse_guesses
from mainspring.operations.passkeys import offer, passkeys_of, prove
from mainspring.operations.recovery import new_codes, stored_code, stored_codes
from mainspring.ports.accounts import ORIGIN, LiveSession
from mainspring.ports.outbound import PasswordHasher

SECRET_BYTES = 20  # recommended by RFC 4226 and supported by every app
ISSUER = "Mainspring"


class Begun(Struct, frozen=True):
    """What the app needs: the secret to type in, and the URL for a QR code or a link."""

    secret: str
    uri: str


async def begin(desk: Desk, hasher: PasswordHasher, visit: LiveSession) -> Begun:
    """A new secret, which becomes active with the first valid code."""
    present = await desk.stores.credentials.second_factor(visit.user.id)
    if present is not None and present.confirmed_at is not None:
        raise Conflict("a second factor is already active; disable it first", kind="user", name=visit.user.email)
    secret = b32encode(hasher.new_secret()[:SECRET_BYTES]).decode()
    sealed = desk.vault.seal(secret, second_factor_place(visit.user.id))
    recovery = present.recovery if present is not None else ()
    await desk.stores.credentials.put_second_factor(SecondFactor(visit.user.id, sealed, recovery=recovery), None)
    label = quote(f"{ISSUER}:{visit.user.email}")
    return Begun(secret, f"otpauth://totp/{label}?secret={secret}&issuer={ISSUER}")


async def confirm(desk: Desk, hasher: PasswordHasher, visit: LiveSession, code: str) -> list[str]:
    """Activates the secret with one of its codes; returns the recovery codes, which are shown once."""
    found = await desk.stores.credentials.second_factor(visit.user.id)
    if found is None or not found.sealed or found.confirmed_at is not None:
        raise Conflict("no second factor is being set up; start with enrolment", kind="user", name=visit.user.email)
    await refuse_guesses(desk.stores, *login_buckets(visit.user.email, ORIGIN.get(), visit.session.id))
    step = await _step(desk, hasher, found, code)
    if step is None:
        raise _wrong_code()
    codes = new_codes(hasher)
    now = await desk.stores.schedule.now()
    made = replace(found, confirmed_at=now, last_step=step, recovery=stored_codes(codes))
    event = _changed(visit.user, now, before=False, after=True)
    await desk.stores.credentials.put_second_factor(made, event)
    return codes


async def disable(desk: Desk, hasher: PasswordHasher, visit: LiveSession, code: str) -> None:
    await refuse_guesses(desk.stores, *login_buckets(visit.user.email, ORIGIN.get(), visit.session.id))
    if not await _has_app(desk, visit.user) or not await _is_right(desk, hasher, visit.user, code):
        raise _wrong_code()
    found = await desk.stores.credentials.second_factor(visit.user.id)
    if found is None or not await desk.stores.credentials.passkeys(visit.user.id):
        await reset(desk, visit.user)
        return
    event = _changed(visit.user, await desk.stores.schedule.now(), before=True, after=False)
    left = SecondFactor(visit.user.id, "", None, found.last_step, found.recovery)
    await desk.stores.credentials.put_second_factor(left, event)


async def reset(desk: Desk, user: User) -> None:
    """Removes the app, the recovery codes and all passkeys: for operators, if a user has lost them."""
    now = await desk.stores.schedule.now()
    event = replace(_changed(user, now, before=True, after=False), actor=desk.actor or f"user:{user.email}")
    if not await desk.stores.credentials.remove_second_factor(user.id, event):
        raise Conflict(f"{user.email} has no second factor", kind="user", name=user.email)


async def is_in_force(desk: Desk, user: User) -> bool:
    return await _has_app(desk, user) or bool(await passkeys_of(desk, user))


async def check(
    desk: Desk,
    hasher: PasswordHasher,
    user: User,
    code: str,
    party: RelyingParty | None = None,
    assertion: Assertion | None = None,
) -> bool:
    """Whether the user may log in: there is no second factor, or one is valid. CodeRequired if none was sent.

    `party` is None if passkeys do not work at this server's URL; then a recovery code replaces them.
    """
    has_app, known = await _has_app(desk, user), await passkeys_of(desk, user)
    if not has_app and not known:
        return True
    if assertion is not None:
        return party is not None and await prove(desk, hasher, party, user, assertion)
    if code:
        return await _is_right(desk, hasher, user, code)
    offered = await offer(desk, hasher, party, user, known) if party is not None and known else None
    ways = [*(["the code of your app"] if has_app else []), *(["a passkey"] if offered else []), "a recovery code"]
    factors = (*(("code",) if has_app else ()), *(("passkey",) if offered else ()), "recovery_code")
    raise CodeRequired(f"the password is correct; send your second factor too: {' or '.join(ways)}", factors, offered)


async def _has_app(desk: Desk, user: User) -> bool:
    found = await desk.stores.credentials.second_factor(user.id)
    return found is not None and found.confirmed_at is not None


async def _is_right(desk: Desk, hasher: PasswordHasher, user: User, code: str) -> bool:
    found = await desk.stores.credentials.second_factor(user.id)
    if found is None:
        return False
    step = await _step(desk, hasher, found, code) if found.confirmed_at is not None else None
    if step is not None:
        return await desk.stores.credentials.use_step(user.id, step)
    spent = stored_code(code)
    return spent in found.recovery and await desk.stores.credentials.use_recovery(user.id, found.recovery, spent)


async def _step(desk: Desk, hasher: PasswordHasher, found: SecondFactor, code: str) -> int | None:
    secret = desk.vault.open(found.sealed, second_factor_place(found.user_id))
    step = hasher.totp_step(secret, code.strip(), await desk.stores.schedule.now())
    return step if step is not None and step > found.last_step else None


def _wrong_code() -> InvalidInput:
    return InvalidInput("the code is wrong or was already used; wait for the next one, then try again", field="code")


def _changed(user: User, now: datetime, *, before: bool, after: bool) -> Event:
    data: dict[str, object] = {"subject": user.email, "before": before, "after": after}
    return Event(EventType.SECOND_FACTOR_CHANGED, now, INSTALLATION, actor=f"user:{user.email}", data=data)

"""A second factor at login: codes of an app (TOTP, RFC 6238), and recovery codes for a lost one.

A code is good once: the step of the newest one that was used is remembered, in the database, so that it holds over
processes. The secret is sealed to its user. Single sign-on is not asked for a code: the issuer has its own.
"""

from base64 import b32encode
from datetime import datetime
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.account import SecondFactor, User, digest, login_buckets
from mainspring.domain.audit import INSTALLATION
from mainspring.domain.errors import CodeRequired, Conflict, InvalidInput
from mainspring.domain.event import Event, EventType
from mainspring.domain.sealing import second_factor_place
from mainspring.operations.endpoints import Desk
from mainspring.operations.throttle import refuse_guesses
from mainspring.ports.accounts import ORIGIN, Visit
from mainspring.ports.outside import Locksmith

SECRET_BYTES = 20  # what RFC 4226 recommends, and every app takes
RECOVERY_CODES = 10
ISSUER = "Mainspring"


class Begun(Struct, frozen=True):
    """What the app is given: the secret to type in, and the address that it reads from a picture or a link."""

    secret: str
    uri: str


async def begin(desk: Desk, locksmith: Locksmith, visit: Visit) -> Begun:
    """A new secret, which is in force once a code of it was given."""
    present = await desk.stores.credentials.second_factor(visit.user.id)
    if present is not None and present.confirmed_at is not None:
        raise Conflict("a second factor is in force already; disable it first", kind="user", name=visit.user.email)
    secret = b32encode(locksmith.new_secret()[:SECRET_BYTES]).decode()
    sealed = desk.vault.seal(secret, second_factor_place(visit.user.id))
    await desk.stores.credentials.put_second_factor(SecondFactor(visit.user.id, sealed), None)
    label = quote(f"{ISSUER}:{visit.user.email}")
    return Begun(secret, f"otpauth://totp/{label}?secret={secret}&issuer={ISSUER}")


async def confirm(desk: Desk, locksmith: Locksmith, visit: Visit, code: str) -> list[str]:
    """Put the secret into force with a code of it; the recovery codes, which are shown once."""
    found = await desk.stores.credentials.second_factor(visit.user.id)
    if found is None or found.confirmed_at is not None:
        raise Conflict("no second factor was begun; begin one first", kind="user", name=visit.user.email)
    await refuse_guesses(desk.stores, *login_buckets(visit.user.email, ORIGIN.get(), visit.session.id))
    step = await _step(desk, locksmith, found, code)
    if step is None:
        raise _wrong_code()
    codes = [_recovery_code(locksmith.new_secret()) for _ in range(RECOVERY_CODES)]
    now = await desk.stores.schedule.now()
    made = replace(found, confirmed_at=now, last_step=step, recovery=tuple(digest(_plain(each)) for each in codes))
    event = _changed(visit.user, now, before=False, after=True)
    await desk.stores.credentials.put_second_factor(made, event)
    return codes


async def disable(desk: Desk, locksmith: Locksmith, visit: Visit, code: str) -> None:
    await refuse_guesses(desk.stores, *login_buckets(visit.user.email, ORIGIN.get(), visit.session.id))
    if not await _is_right(desk, locksmith, visit.user, code):
        raise _wrong_code()
    await reset(desk, visit.user)


async def reset(desk: Desk, user: User) -> None:
    """Take the second factor away; for its user, and for operators where an app and all codes are lost."""
    now = await desk.stores.schedule.now()
    event = replace(_changed(user, now, before=True, after=False), actor=desk.actor or f"user:{user.email}")
    if not await desk.stores.credentials.remove_second_factor(user.id, event):
        raise Conflict(f"{user.email} has no second factor", kind="user", name=user.email)


async def is_in_force(desk: Desk, user: User) -> bool:
    found = await desk.stores.credentials.second_factor(user.id)
    return found is not None and found.confirmed_at is not None


async def check(desk: Desk, locksmith: Locksmith, user: User, code: str) -> bool:
    """Whether the user may come in: there is no second factor, or the code is right. CodeRequired where none came."""
    if not await is_in_force(desk, user):
        return True
    if not code:
        raise CodeRequired("the password is right; send the code of your app, or a recovery code, as code")
    return await _is_right(desk, locksmith, user, code)


async def _is_right(desk: Desk, locksmith: Locksmith, user: User, code: str) -> bool:
    found = await desk.stores.credentials.second_factor(user.id)
    if found is None or found.confirmed_at is None:
        return False
    step = await _step(desk, locksmith, found, code)
    if step is not None:
        return await desk.stores.credentials.use_step(user.id, step)
    spent = digest(_plain(code))
    return spent in found.recovery and await desk.stores.credentials.use_recovery(user.id, found.recovery, spent)


async def _step(desk: Desk, locksmith: Locksmith, found: SecondFactor, code: str) -> int | None:
    secret = desk.vault.open(found.sealed, second_factor_place(found.user_id))
    step = locksmith.totp_step(secret, code.strip(), await desk.stores.schedule.now())
    return step if step is not None and step > found.last_step else None


def _recovery_code(random: bytes) -> str:
    text = b32encode(random[:10]).decode().lower()
    return "-".join(text[place : place + 4] for place in range(0, len(text), 4))


def _plain(code: str) -> str:
    return code.strip().lower().replace("-", "")[:100]


def _wrong_code() -> InvalidInput:
    return InvalidInput("the code is wrong or was used before; wait for the next one, then try again", field="code")


def _changed(user: User, now: datetime, *, before: bool, after: bool) -> Event:
    data: dict[str, object] = {"subject": user.email, "before": before, "after": after}
    return Event(EventType.SECOND_FACTOR_CHANGED, now, INSTALLATION, actor=f"user:{user.email}", data=data)

"""Passkeys of a user: add, rename and remove them, and authenticate with one.

Adding and removing needs the password again: a session left open must not be enough to change credentials. A device
signs a challenge that is stored, used up by the first answer, and bound to its purpose.
"""

from base64 import urlsafe_b64encode
from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from mainspring.domain.access.account import SecondFactor, User, login_buckets
from mainspring.domain.access.audit import INSTALLATION
from mainspring.domain.access.passkey import (
    CHALLENGE_LIFE,
    PASSKEYS_MAX,
    Assertion,
    Attestation,
    Ceremony,
    Challenge,
    Passkey,
    RelyingParty,
    counts_on,
    creation_options,
    request_options,
)
from mainspring.domain.errors import Conflict, InvalidInput, NotFound
from mainspring.domain.event import Event, EventType
from mainspring.domain.name import check_name
from mainspring.operations.context import Desk
from mainspring.operations.login_limit import refuse_guesses
from mainspring.operations.recovery import new_codes, stored_codes
from mainspring.ports.accounts import ORIGIN, LiveSession
from mainspring.ports.outbound import PasswordHasher

PASSWORD_SENT_MAX = 1_000  # longer input cannot be a password


class Added(Struct, frozen=True):
    """A new passkey; `recovery_codes` are shown once, and only if the user had none."""

    passkey: Passkey
    recovery_codes: tuple[str, ...]


async def passkeys_of(desk: Desk, user: User) -> list[Passkey]:
    """The passkeys that can be used now."""
    return [each for each in await desk.stores.credentials.passkeys(user.id) if each.is_good_for(user)]


async def begin_registration(
    desk: Desk, hasher: PasswordHasher, visit: LiveSession, party: RelyingParty, password: str
) -> dict[str, object]:
    """The options for the browser, and the id of the challenge."""
    await _check_password(desk, hasher, visit, password)
    known = await desk.stores.credentials.passkeys(visit.user.id)
    if len(known) >= PASSKEYS_MAX:
        raise Conflict(
            f"{visit.user.email} has {len(known)} passkeys, which is the maximum; remove one first",
            kind="passkey",
            name=visit.user.email,
        )
    challenge = await _new_challenge(desk, hasher, Ceremony.REGISTER, visit.session.id)
    handle = urlsafe_b64encode(visit.user.id.encode()).decode().rstrip("=")
    return {"challenge": challenge.id, "options": creation_options(party, visit.user, handle, challenge, known)}


async def register(
    desk: Desk, hasher: PasswordHasher, visit: LiveSession, party: RelyingParty, name: str, given: Attestation
) -> Added:
    user = visit.user
    name = check_name(name, field="name", kind="passkey")
    challenge = await _take(desk, given.challenge_id, Ceremony.REGISTER, visit.session.id)
    made = hasher.new_credential(party, challenge.value, given) if challenge else None
    if made is None:
        raise InvalidInput(
            f"the device's response does not match this challenge or {party.origin}; start again",
            field="challenge",
        )
    now = await desk.stores.schedule.now()
    passkey = Passkey(desk.ids.new("pk", now), user.id, made.id, name, made.data, made.sign_count, user.proof, now)
    codes, factor = await _recovery(desk, hasher, user)
    if not await desk.stores.credentials.add_passkey(passkey, factor, _event(EventType.PASSKEY_ADDED, now, user, name)):
        raise Conflict("this passkey is already registered; use another device", kind="passkey", name=name)
    return Added(passkey, tuple(codes))


async def rename(desk: Desk, visit: LiveSession, passkey_id: str, name: str) -> Passkey:
    name = check_name(name, field="name", kind="passkey")
    if not await desk.stores.credentials.rename_passkey(visit.user.id, passkey_id, name):
        raise NotFound("passkey", passkey_id)
    return await _find(desk, visit.user, passkey_id)


async def remove(desk: Desk, hasher: PasswordHasher, visit: LiveSession, passkey_id: str, password: str) -> Passkey:
    found = await _find(desk, visit.user, passkey_id)
    await _check_password(desk, hasher, visit, password)
    event = _event(EventType.PASSKEY_REMOVED, await desk.stores.schedule.now(), visit.user, found.name)
    if not await desk.stores.credentials.remove_passkey(visit.user.id, found.id, event):
        raise NotFound("passkey", passkey_id)
    return found


async def offer(
    desk: Desk, hasher: PasswordHasher, party: RelyingParty, user: User, known: Sequence[Passkey]
) -> dict[str, object]:
    """The challenge for a device of this user after the correct password."""
    challenge = await _new_challenge(desk, hasher, Ceremony.SECOND_FACTOR, user.id)
    return {"challenge": challenge.id, "options": request_options(party, challenge, known, verified=False)}


async def begin_login(desk: Desk, hasher: PasswordHasher, party: RelyingParty) -> dict[str, object]:
    """The challenge for a login without a password; the device chooses among its passkeys for this site."""
    challenge = await _new_challenge(desk, hasher, Ceremony.LOGIN, "")
    return {"challenge": challenge.id, "options": request_options(party, challenge, (), verified=True)}


async def prove(desk: Desk, hasher: PasswordHasher, party: RelyingParty, user: User, given: Assertion) -> bool:
    """Whether one of the user's passkeys signed the challenge issued after the correct password."""
    challenge = await _take(desk, given.challenge_id, Ceremony.SECOND_FACTOR, user.id)
    passkey = await desk.stores.credentials.passkey(given.credential_id)
    if challenge is None or passkey is None or passkey.user_id != user.id or not passkey.is_good_for(user):
        return False
    return await _is_signed(desk, hasher, party, challenge, passkey, given, verified=False)


async def identify(desk: Desk, hasher: PasswordHasher, party: RelyingParty, given: Assertion) -> User | None:
    """The owner of the passkey that signed the challenge of a login without a password; None if invalid."""
    challenge = await _take(desk, given.challenge_id, Ceremony.LOGIN, "")
    passkey = await desk.stores.credentials.passkey(given.credential_id)
    if challenge is None or passkey is None:
        return None
    user, _ = await desk.stores.accounts.user(passkey.user_id) or (None, "")
    if user is None or user.disabled_at is not None or not passkey.is_good_for(user):
        return None
    return user if await _is_signed(desk, hasher, party, challenge, passkey, given, verified=True) else None


async def _is_signed(
    desk: Desk,
    hasher: PasswordHasher,
    party: RelyingParty,
    challenge: Challenge,
    passkey: Passkey,
    given: Assertion,
    *,
    verified: bool,
) -> bool:
    count = hasher.signed_count(party, challenge.value, passkey.credential, given, verified=verified)
    if count is None or not counts_on(passkey.sign_count, count):
        return False
    return await desk.stores.credentials.use_passkey(passkey.id, count)


async def _new_challenge(desk: Desk, hasher: PasswordHasher, ceremony: Ceremony, bound_to: str) -> Challenge:
    now = await desk.stores.schedule.now()
    value = urlsafe_b64encode(hasher.new_secret()).decode().rstrip("=")
    made = Challenge(desk.ids.new("chl", now), ceremony, bound_to, value, now + CHALLENGE_LIFE)
    await desk.stores.credentials.add_challenge(made)
    return made


async def _take(desk: Desk, challenge_id: str, ceremony: Ceremony, bound_to: str) -> Challenge | None:
    """The challenge, used up; None if it is unknown, expired, or was made for another purpose."""
    found = await desk.stores.credentials.take_challenge(challenge_id)
    return found if found is not None and (found.ceremony, found.bound_to) == (ceremony, bound_to) else None


async def _check_password(desk: Desk, hasher: PasswordHasher, visit: LiveSession, password: str) -> None:
    user = visit.user
    if not user.has_password:
        raise Conflict(
            f"{user.email} logs in by single sign-on, which has its own second factor; passkeys are for "
            "accounts with a password",
            kind="passkey",
            name=user.email,
        )
    buckets = login_buckets(user.email, ORIGIN.get(), visit.session.id)
    await refuse_guesses(desk.stores, *buckets)
    _, stored = await desk.stores.accounts.user(user.id) or (None, "")
    if not await hasher.fits(password[:PASSWORD_SENT_MAX], stored):
        raise InvalidInput("the password is wrong; nothing was changed", field="password")
    await desk.stores.credentials.give_turn_back(buckets)


async def _recovery(desk: Desk, hasher: PasswordHasher, user: User) -> tuple[list[str], SecondFactor | None]:
    """New recovery codes and where they are stored, unless the user already has some."""
    present = await desk.stores.credentials.second_factor(user.id)
    if present is not None and present.recovery:
        return [], None
    codes = new_codes(hasher)
    before = present or SecondFactor(user.id, "")
    return codes, SecondFactor(user.id, before.sealed, before.confirmed_at, before.last_step, stored_codes(codes))


async def _find(desk: Desk, user: User, passkey_id: str) -> Passkey:
    for passkey in await desk.stores.credentials.passkeys(user.id):
        if passkey.id == passkey_id:
            return passkey
    raise NotFound("passkey", passkey_id)


def _event(kind: EventType, now: datetime, user: User, name: str) -> Event:
    data: dict[str, object] = {"subject": user.email, "name": name}
    return Event(kind, now, INSTALLATION, actor=f"user:{user.email}", data=data)

"""One-time links: create the first owner, set a user's password, or accept an invitation.

Every attempt is counted before it is checked, and not counted if the link is valid. An invalid token costs one lookup:
nothing is hashed for it.
"""

from datetime import datetime
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.access.account import Link, Proof, User, check_email, check_password, digest, guess_bucket
from mainspring.domain.access.audit import INSTALLATION
from mainspring.domain.access.scope import Role
from mainspring.domain.errors import Conflict, InvalidInput
from mainspring.domain.event import EventType
from mainspring.operations.accounts import account_event, arrival, find_user, new_user
from mainspring.operations.context import Desk
from mainspring.operations.login_limit import refuse_guesses
from mainspring.operations.members import (
    INVITATION_PREFIX,
    accept_logged_in,
    accept_with_password,
    find_invitation,
    needs_login,
    wrong_link,
)
from mainspring.ports.accounts import ORIGIN, LiveSession
from mainspring.ports.outbound import PasswordHasher


class LinkUse(StrEnum):
    FIRST_OWNER = "first_owner"
    PASSWORD = "password"
    INVITATION = "invitation"


class LinkInfo(Struct, frozen=True):
    """The purpose of a link, shown before it is used."""

    use: LinkUse
    expires_at: datetime
    email: str = ""
    tenant_id: str = ""
    tenant_name: str = ""
    role: Role | None = None
    needs_login: bool = False  # the address has an account: log in, then accept


async def read_link(desk: Desk, token: str) -> LinkInfo:
    """The purpose of the link, which stays unused."""
    if token.startswith(INVITATION_PREFIX):
        async with _Counted(desk):
            offer = await find_invitation(desk, token)
        tenant = await desk.stores.endpoints.tenant(offer.tenant_id)
        name = tenant.name if tenant else offer.tenant_id
        login = await needs_login(desk, offer)
        return LinkInfo(
            LinkUse.INVITATION, offer.expires_at, offer.email, offer.tenant_id, name, offer.role, needs_login=login
        )
    link = await _find(desk, token)
    if not link.user_id:
        return LinkInfo(LinkUse.FIRST_OWNER, link.expires_at)
    user = await find_user(replace(desk, tenant_id=INSTALLATION), link.user_id)
    return LinkInfo(LinkUse.PASSWORD, link.expires_at, user.email)


async def use_link(
    desk: Desk, hasher: PasswordHasher, token: str, password: str, email: str | None = None, name: str = ""
) -> User:
    """Sets the password of the link's user, accepts an invitation with a password, or creates the first owner.

    The input is checked before the link is used up: a password that is too short costs no link.
    """
    if token.startswith(INVITATION_PREFIX):
        async with _Counted(desk):
            await find_invitation(desk, token)
        return await accept_with_password(desk, hasher, token, password, name)
    link = await _find(desk, token)
    if not link.user_id:
        return await _add_owner(desk, hasher, token, password, email or "", name)
    user = await find_user(replace(desk, tenant_id=INSTALLATION), link.user_id)
    password_hash = await hasher.hash_password(check_password(password, user.email))
    if await desk.stores.accounts.take_link(digest(token)) is None:
        raise wrong_link()
    now = await desk.stores.schedule.now()
    theirs = replace(desk, actor=f"user:{user.email}")
    event = account_event(theirs, EventType.PASSWORD_SET, now, {"subject": user.email})
    await desk.stores.accounts.put_password(user.id, password_hash, Proof.OPERATOR, event)
    return user


async def accept(desk: Desk, visit: LiveSession, token: str) -> str:
    """Accepts an invitation as the logged-in user; returns the tenant."""
    async with _Counted(desk):
        await find_invitation(desk, token)
    return (await accept_logged_in(desk, visit, token)).tenant_id


class _Counted:
    """Counts an attempt before it is checked, and takes it back if it was valid."""

    def __init__(self, desk: Desk) -> None:
        self._stores = desk.stores
        self._bucket = guess_bucket(ORIGIN.get())

    async def __aenter__(self) -> None:
        await refuse_guesses(self._stores, self._bucket)

    async def __aexit__(self, kind: object, fault: object, trace: object) -> None:
        if kind is None:
            await self._stores.credentials.give_turn_back((self._bucket,))


async def _find(desk: Desk, token: str) -> Link:
    async with _Counted(desk):
        link = await desk.stores.accounts.link(digest(token))
        if link is None:
            raise wrong_link()
    return link


async def _add_owner(desk: Desk, hasher: PasswordHasher, token: str, password: str, email: str, name: str) -> User:
    if not email:
        raise InvalidInput("the first owner needs an email address; send email too", field="email")
    email = check_email(email)
    password_hash = await hasher.hash_password(check_password(password, email))
    if await desk.stores.accounts.take_link(digest(token)) is None:
        raise wrong_link()
    now = await desk.stores.schedule.now()
    theirs = replace(desk, actor=f"user:{email}")
    user = new_user(theirs, email, name, now, Proof.OPERATOR, is_operator=True)
    place = (desk.tenant_id, Role.OWNER)
    if not await desk.stores.accounts.add_user(user, password_hash, place, arrival(theirs, user, place), first=True):
        raise Conflict("the first owner already exists; log in, or ask the owner for a link", kind="user", name=email)
    return replace(user, has_password=True)

"""Operations on users and the links that set their passwords. Users belong to the installation."""

from base64 import urlsafe_b64encode
from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.access.account import (
    LINK_LIFE,
    ApiKey,
    Link,
    Member,
    MemberInvitation,
    Proof,
    User,
    check_email,
    check_password,
    digest,
    email_taken,
    no_owner_left,
)
from mainspring.domain.access.audit import INSTALLATION
from mainspring.domain.access.scope import Role
from mainspring.domain.errors import Conflict, NotFound
from mainspring.domain.event import Event, EventType
from mainspring.domain.name import check_name
from mainspring.operations.context import Desk
from mainspring.operations.dry_run import dry_run_desk
from mainspring.ports.accounts import AccountStore, CredentialStore
from mainspring.ports.outbound import PasswordHasher
from mainspring.ports.records import RunStore


class Invitation(Struct, frozen=True):
    """A user, and the token of the link to set a password; "" if none is needed."""

    user: User
    token: str = ""


async def add_user(
    desk: Desk,
    hasher: PasswordHasher,
    email: str,
    name: str = "",
    *,
    password: str | None = None,
    is_operator: bool = False,
    place: tuple[str, Role] | None = None,
    proof: Proof = Proof.OPERATOR,
) -> Invitation:
    """Creates a user. Without a password the user gets a link to set one. `proof` says what verified the address."""
    email = check_email(email)
    password_hash = "" if password is None else await hasher.hash_password(check_password(password, email))
    now = await desk.stores.schedule.now()
    user = new_user(desk, email, name, now, proof, is_operator=is_operator)
    if place is not None and await desk.stores.endpoints.tenant(place[0]) is None:
        raise NotFound("tenant", place[0])
    await desk.stores.accounts.add_user(user, password_hash, place, arrival(desk, user, place), first=False)
    if password is not None:
        return Invitation(replace(user, has_password=True))
    return Invitation(user, await _new_link(desk, hasher, user.id, now))


async def find_user(desk: Desk, email_or_id: str) -> User:
    found = await desk.stores.accounts.user(email_or_id.strip().lower() if "@" in email_or_id else email_or_id)
    if found is None or not email_or_id:
        raise NotFound("user", email_or_id, tuple(user.email for user in await desk.stores.accounts.users()))
    return found[0]


async def edit_user(
    desk: Desk,
    email_or_id: str,
    *,
    name: str | None = None,
    disabled: bool | None = None,
    is_operator: bool | None = None,
) -> User:
    """Renames, disables or enables a user. A disabled user cannot log in, and all sessions end; API keys stay."""
    user = await find_user(desk, email_or_id)
    now = await desk.stores.schedule.now()
    edited = replace(
        user,
        name=user.name if name is None else check_name(name, field="name", kind="user"),
        disabled_at=user.disabled_at if disabled is None else (user.disabled_at or now) if disabled else None,
        is_operator=user.is_operator if is_operator is None else is_operator,
    )
    if edited == user:
        return user
    await _keep_an_operator(desk, user, edited)
    if edited.is_operator and not user.is_operator and not user.is_proved:
        raise Conflict(
            f"the email address {user.email} was never verified, so the user cannot become an operator; "
            f"send a new link first: mainspring user link {user.email}",
            kind="user",
            name=user.email,
        )
    data: dict[str, object] = {"subject": user.email, "before": _visible(user), "after": _visible(edited)}
    await desk.stores.accounts.put_user(edited, account_event(desk, EventType.USER_UPDATED, now, data))
    return edited


async def set_password(desk: Desk, hasher: PasswordHasher, email_or_id: str, password: str) -> User:
    """Sets the password and ends all sessions of the user."""
    user = await find_user(desk, email_or_id)
    password_hash = await hasher.hash_password(check_password(password, user.email))
    now = await desk.stores.schedule.now()
    event = account_event(desk, EventType.PASSWORD_SET, now, {"subject": user.email})
    await desk.stores.accounts.put_password(user.id, password_hash, Proof.OPERATOR, event)
    return user


async def make_setup_link(desk: Desk, hasher: PasswordHasher) -> str:
    """The token of a link that creates the first owner. Only for an installation without users."""
    if await desk.stores.accounts.users():
        raise Conflict(
            "this installation already has users; create a link for one of them: mainspring user link EMAIL",
            kind="user",
            name="",
        )
    return await _new_link(desk, hasher, "", await desk.stores.schedule.now())


async def make_link(desk: Desk, hasher: PasswordHasher, email_or_id: str) -> Invitation:
    """A link with which a user sets a new password, once, within 24 hours."""
    user = await find_user(desk, email_or_id)
    return Invitation(user, await _new_link(desk, hasher, user.id, await desk.stores.schedule.now()))


async def _new_link(desk: Desk, hasher: PasswordHasher, user_id: str, now: datetime) -> str:
    token = new_token(hasher)
    await desk.stores.accounts.add_link(digest(token), Link(user_id, now + LINK_LIFE))
    return token


def new_token(hasher: PasswordHasher) -> str:
    return urlsafe_b64encode(hasher.new_secret()).decode().rstrip("=")


async def _keep_an_operator(desk: Desk, user: User, edited: User) -> None:
    if not user.is_operator or (edited.is_operator and edited.disabled_at is None):
        return
    others = await desk.stores.accounts.users()
    if not any(each.is_operator and each.disabled_at is None and each.id != user.id for each in others):
        raise Conflict(
            f"{user.email} is the last operator of this installation; make another user an operator first",
            kind="user",
            name=user.email,
        )


def new_user(desk: Desk, email: str, name: str, now: datetime, proof: str, *, is_operator: bool = False) -> User:
    return User(desk.ids.new("usr", now), email, check_user_name(name, email), is_operator, now, proof=proof)


def check_user_name(name: str, email: str) -> str:
    return check_name(name or email.partition("@")[0][:100], field="name", kind="user")


def arrival(desk: Desk, user: User, place: tuple[str, Role] | None) -> list[Event]:
    data: dict[str, object] = {"subject": user.email, "after": _visible(user)}
    events = [account_event(desk, EventType.USER_CREATED, user.created_at, data)]
    if place is not None:
        events.append(membership(desk, user, place[0], None, place[1], user.created_at))
    return events


def membership(desk: Desk, user: User, tenant_id: str, before: Role | None, after: Role | None, now: datetime) -> Event:
    data: dict[str, object] = {"subject": user.email, "before": before, "after": after}
    return Event(EventType.MEMBER_CHANGED, now, tenant_id, actor=desk.actor, data=data)


def account_event(desk: Desk, kind: EventType, now: datetime, data: dict[str, object]) -> Event:
    return Event(kind, now, INSTALLATION, actor=desk.actor, data=data)


def _visible(user: User) -> dict[str, object]:
    return {"name": user.name, "operator": user.is_operator, "disabled": user.disabled_at is not None}


def account_dry_run(desk: Desk) -> Desk:
    """A desk for one request with `dry_run` about accounts, keys or tenants; it supports only these operations."""
    real = desk.stores
    stores = replace(
        real,
        accounts=_Accounts(real.accounts),
        credentials=_ApiKeys(real.credentials),
        runs=_SigningKeys(real.runs),
    )
    return dry_run_desk(replace(desk, stores=stores))


class _Accounts:
    """Reads from the real store, and remembers what would have changed."""

    def __init__(self, real: AccountStore) -> None:
        self._real = real
        self._added: dict[str, User] = {}  # by id and by email address
        self._members: dict[tuple[str, str], Member | None] = {}  # by tenant and user; None: no longer a member
        self._offers: dict[str, MemberInvitation | None] = {}  # by email address; None: withdrawn
        self.users = real.users

    async def add_user(
        self, user: User, password_hash: str, place: tuple[str, Role] | None, events: Sequence[Event], first: bool
    ) -> bool:
        if await self._real.user(user.email) is not None:
            raise email_taken(user.email)
        self._added |= {user.id: user, user.email: user}
        if place is not None:
            self._members[place[0], user.id] = _member(place[0], user, place[1], user.created_at)
        return True

    async def user(self, who: str) -> tuple[User, str] | None:
        added = self._added.get(who)
        return await self._real.user(who) if added is None else (added, "")

    async def put_user(self, user: User, event: Event) -> None:
        """Returns what would have been written."""

    async def members(self, tenant_id: str) -> list[Member]:
        there = {(tenant_id, each.user_id): each for each in await self._real.members(tenant_id)} | self._members
        members = [each for each in there.values() if each is not None and each.tenant_id == tenant_id]
        return sorted(members, key=lambda member: member.email)

    async def put_member(self, tenant_id: str, user_id: str, role: Role | None, event: Event) -> None:
        before = {each.user_id: each for each in await self.members(tenant_id)}
        if role is None:
            self._members[tenant_id, user_id] = None
        elif user_id in before:
            self._members[tenant_id, user_id] = replace(before[user_id], role=role)
        else:
            found = await self.user(user_id)
            assert found is not None, "who is given a role was looked up before"
            self._members[tenant_id, user_id] = _member(tenant_id, found[0], role, event.at)
        if _has_owner(before.values()) and not _has_owner(await self.members(tenant_id)):
            raise no_owner_left(tenant_id)

    async def add_link(self, token_hash: str, link: Link) -> None:
        """Stores nothing."""

    async def put_password(self, user_id: str, password_hash: str, proof: str, event: Event) -> None:
        """Returns what would have been written."""

    async def put_invitation(self, invitation: MemberInvitation, token_hash: str, event: Event) -> None:
        self._offers[invitation.email] = invitation

    async def invitations(self, tenant_id: str) -> list[MemberInvitation]:
        there = {each.email: each for each in await self._real.invitations(tenant_id)} | self._offers
        return [each for each in there.values() if each is not None]

    async def set_invited_role(self, tenant_id: str, email: str, role: Role | None, event: Event) -> None:
        for each in await self.invitations(tenant_id):
            if each.email == email:
                self._offers[email] = replace(each, role=role) if role else None


class _ApiKeys:
    def __init__(self, real: CredentialStore) -> None:
        self._real = real
        self._revoked: dict[str, datetime] = {}

    async def add_api_key(self, key: ApiKey, secret_hash: str, event: Event) -> None:
        """Stores nothing."""

    async def api_keys(self, tenant_id: str) -> list[ApiKey]:
        keys = await self._real.api_keys(tenant_id)
        return [replace(key, revoked_at=self._revoked.get(key.id, key.revoked_at)) for key in keys]

    async def revoke_api_key(self, tenant_id: str, key_id: str, event: Event) -> bool:
        self._revoked[key_id] = event.at
        return any(key.id == key_id and key.revoked_at is None for key in await self._real.api_keys(tenant_id))


class _SigningKeys:
    def __init__(self, real: RunStore) -> None:
        self.signing_keys = real.signing_keys

    async def add_signing_key(self, tenant_id: str, key_id: str, sealed: str, event: Event) -> None:
        """Stores nothing."""

    async def revoke_signing_key(self, tenant_id: str, key_id: str, event: Event) -> bool:
        return key_id in [each for each, _ in await self.signing_keys(tenant_id)]


def _member(tenant_id: str, user: User, role: Role, since: datetime) -> Member:
    return Member(tenant_id, user.id, user.email, user.name, role, since, user.disabled_at is not None)


def _has_owner(members: Iterable[Member]) -> bool:
    return any(member.role is Role.OWNER and not member.disabled for member in members)

"""Check a change of users, members, keys or tenants without making it: the same operations, nothing is written.

Errors are the same as those of a real call. The response contains no link and no key.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec.structs import replace

from mainspring.domain.access.account import ApiKey, Link, Member, MemberInvitation, User, email_taken, no_owner_left
from mainspring.domain.access.scope import Role
from mainspring.domain.event import Event
from mainspring.operations.dry_run import dry_run_desk
from mainspring.operations.endpoints import Desk
from mainspring.ports.accounts import AccountStore, CredentialStore
from mainspring.ports.records import RunStore


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

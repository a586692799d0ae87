"""Ask for a change of users, members, keys or tenants without making it: the same operations, and nothing is written.

What would be refused is refused in the same words. Nothing that opens a door leaves it: no link, no key.
"""

from collections.abc import Sequence
from datetime import datetime

from msgspec.structs import replace

from mainspring.domain.access import Role
from mainspring.domain.account import ApiKey, Link, Member, User, email_taken, no_owner_left
from mainspring.domain.event import Event
from mainspring.operations.endpoints import Desk
from mainspring.operations.rehearsal import rehearsal
from mainspring.ports.accounts import AccountStore, CredentialStore
from mainspring.ports.records import RunStore


def rehearsed(desk: Desk) -> Desk:
    """A desk for one request with `dry_run` about accounts, keys or tenants; it serves these operations alone."""
    real = desk.stores
    stores = replace(
        real,
        accounts=_Accounts(real.accounts),
        credentials=_ApiKeys(real.credentials),
        runs=_SigningKeys(real.runs),
    )
    return rehearsal(replace(desk, stores=stores))


class _Accounts:
    """Reads from the real store, and remembers what would be there."""

    def __init__(self, real: AccountStore) -> None:
        self._real = real
        self._added: list[User] = []
        self._roles: dict[tuple[str, str], tuple[Role | None, datetime]] = {}

    async def add_user(
        self, user: User, password_hash: str, place: tuple[str, Role] | None, events: Sequence[Event], first: bool
    ) -> bool:
        if await self._real.user(user.email) is not None:
            raise email_taken(user.email)
        self._added.append(user)
        if place is not None:
            self._roles[place[0], user.id] = place[1], user.created_at
        return True

    async def user(self, who: str) -> tuple[User, str] | None:
        for user in self._added:
            if who in (user.id, user.email):
                return user, ""
        return await self._real.user(who)

    async def users(self) -> list[User]:
        return [*await self._real.users(), *self._added]

    async def put_user(self, user: User, event: Event) -> None:
        """It would be as it is asked for."""

    async def members(self, tenant_id: str) -> list[Member]:
        members = {member.user_id: member for member in await self._real.members(tenant_id)}
        for (tenant, user_id), (role, since) in self._roles.items():
            if tenant != tenant_id:
                continue
            if role is None:
                members.pop(user_id, None)
            elif user_id in members:
                members[user_id] = replace(members[user_id], role=role)
            elif found := await self.user(user_id):
                user = found[0]
                members[user_id] = Member(tenant_id, user_id, user.email, user.name, role, since)
        return sorted(members.values(), key=lambda member: member.email)

    async def put_member(self, tenant_id: str, user_id: str, role: Role | None, event: Event) -> None:
        had_owner = _has_owner(await self.members(tenant_id))
        self._roles[tenant_id, user_id] = role, event.at
        if had_owner and not _has_owner(await self.members(tenant_id)):
            raise no_owner_left(tenant_id)

    async def add_link(self, token_hash: str, link: Link) -> None:
        """Nobody gets it."""


class _ApiKeys:
    def __init__(self, real: CredentialStore) -> None:
        self._real = real
        self._revoked: dict[str, datetime] = {}

    async def add_api_key(self, key: ApiKey, secret_hash: str, event: Event) -> None:
        """Nobody gets it."""

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
        """Nobody gets it."""

    async def revoke_signing_key(self, tenant_id: str, key_id: str, event: Event) -> bool:
        return key_id in [each for each, _ in await self.signing_keys(tenant_id)]


def _has_owner(members: Sequence[Member]) -> bool:
    return any(member.role is Role.OWNER and not member.disabled for member in members)

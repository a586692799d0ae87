"""Ports of access: users, credentials, and the audit trail."""

from collections.abc import Sequence
from contextvars import ContextVar
from typing import Protocol

from msgspec import Struct

from mainspring.domain.access.account import (
    ApiKey,
    Bucket,
    Link,
    LoginSession,
    Member,
    MemberInvitation,
    Membership,
    SecondFactor,
    User,
)
from mainspring.domain.access.audit import AuditEntry, AuditFault, AuditHead
from mainspring.domain.access.passkey import Challenge, Passkey
from mainspring.domain.access.scope import Role
from mainspring.domain.endpoint import Tenant
from mainspring.domain.event import Event

# The address of the current request, for the audit trail; an interface sets it, a store reads it.
ORIGIN: ContextVar[str] = ContextVar("origin", default="")


class AccountStore(Protocol):
    """Users of the installation, their memberships, and the links that let a user set a password."""

    async def add_user(
        self, user: User, password_hash: str, place: tuple[str, Role] | None, events: Sequence[Event], first: bool
    ) -> bool:
        """Adds a user with a role in a tenant. Raises Conflict if the email address is taken.

        With `first`, only if no user exists: False if one does; of two concurrent calls, one wins.
        """

    async def user(self, who: str) -> tuple[User, str] | None:
        """A user by id, email address or OIDC subject, and the stored password hash ("": none)."""

    async def users(self) -> list[User]:
        """Ordered by email address."""

    async def put_user(self, user: User, event: Event) -> None:
        """Writes what may change about a user; disabling a user ends all its sessions."""

    async def put_password(self, user_id: str, password_hash: str, proof: str, event: Event) -> None:
        """Sets a password, or none (""); ends all sessions of the user, and a new password closes all its links."""

    async def members(self, tenant_id: str) -> list[Member]:
        """Ordered by email address."""

    async def put_member(self, tenant_id: str, user_id: str, role: Role | None, event: Event) -> None:
        """Gives a user a role in a tenant, or none. Raises Conflict if no owner would be left."""

    async def tenants(self) -> list[Tenant]:
        """Every tenant, ordered by id."""

    async def has_several_tenants(self) -> bool:
        """Whether the installation has more than one tenant."""

    async def add_link(self, token_hash: str, link: Link) -> None: ...

    async def link(self, token_hash: str) -> Link | None:
        """The link, which stays valid; None if it is unknown, used or expired."""

    async def take_link(self, token_hash: str) -> Link | None:
        """The link, which is used up by this call; None if it is unknown, used or expired."""

    async def put_invitation(self, invitation: MemberInvitation, token_hash: str, event: Event) -> None:
        """Stores an invitation; the link of an earlier invitation by the same tenant stops working."""

    async def invitations(self, tenant_id: str) -> list[MemberInvitation]:
        """Ordered by email address, including expired ones."""

    async def invitation(self, token_hash: str) -> MemberInvitation | None:
        """The invitation of a link, which stays valid; None if it is unknown, used or expired."""

    async def is_invited(self, email: str) -> bool:
        """Whether a tenant has invited this address and the invitation has not expired."""

    async def set_invited_role(self, tenant_id: str, email: str, role: Role | None, event: Event) -> None:
        """Changes the role of an invitation, or withdraws it with None."""

    async def accept(
        self, token_hash: str, user: User, password_hash: str | None, is_new: bool, events: Sequence[Event]
    ) -> bool:
        """Uses up an invitation and adds the member, in one transaction. False if another call used it first.

        With `is_new` the user is created (Conflict if the address is taken). With a password, that is set too, all
        sessions of the user end, and all its links stop working.
        """


class LiveSession(Struct, frozen=True):
    """A live session, its user, and the memberships of that user by the tenants' names."""

    session: LoginSession
    user: User
    memberships: tuple[Membership, ...]


class CredentialStore(Protocol):
    """Credentials. Nothing is cached: what has ended is refused at once, in every process."""

    async def add_api_key(self, key: ApiKey, secret_hash: str, event: Event) -> None: ...

    async def api_keys(self, tenant_id: str) -> list[ApiKey]:
        """Newest first, including ended ones."""

    async def revoke_api_key(self, tenant_id: str, key_id: str, event: Event) -> bool:
        """False if the tenant has no live key with this id."""

    async def use_api_key(self, key_id: str, secret: str) -> ApiKey | None:
        """The key with this id and secret, if neither revoked nor expired; records its use, to the minute."""

    async def add_session(self, session: LoginSession, token_hash: str, event: Event) -> None: ...

    async def visit(self, token_hash: str) -> LiveSession | None:
        """The session, if neither over nor idle for too long and its user is not disabled; records its use."""

    async def second_factor(self, user_id: str) -> SecondFactor | None: ...

    async def put_second_factor(self, factor: SecondFactor, event: Event | None) -> None: ...

    async def remove_second_factor(self, user_id: str, event: Event) -> bool:
        """Removes the app, the recovery codes and all passkeys. False if there were none."""

    async def use_step(self, user_id: str, step: int) -> bool:
        """Records that the code of a step was used; False if it, or a later one, was used already."""

    async def use_recovery(self, user_id: str, present: Sequence[str], spent: str) -> bool:
        """Uses one of the known recovery codes; False if the codes have changed."""

    async def passkeys(self, user_id: str) -> list[Passkey]:
        """Oldest first."""

    async def passkey(self, credential_id: str) -> Passkey | None: ...

    async def add_passkey(self, passkey: Passkey, factor: SecondFactor | None, event: Event) -> bool:
        """Adds it, with recovery codes if `factor` has some, in one transaction. False if the credential is already
        registered.
        """

    async def rename_passkey(self, user_id: str, passkey_id: str, name: str) -> bool:
        """False if the user has none with this id."""

    async def remove_passkey(self, user_id: str, passkey_id: str, event: Event) -> bool:
        """Removes it, and the recovery codes with the last factor. False if the user has none with this id."""

    async def use_passkey(self, passkey_id: str, sign_count: int) -> bool:
        """Records a signature; False if its counter is not above the stored one, unless both are 0."""

    async def add_challenge(self, challenge: Challenge) -> None: ...

    async def take_challenge(self, challenge_id: str) -> Challenge | None:
        """Uses it up; None if it was used or has expired. Of any number of callers, one gets it."""

    async def sessions_of(self, user_id: str) -> list[LoginSession]:
        """Sessions that are neither over nor idle for too long, newest first."""

    async def end_session(self, session_id: str, event: Event) -> None: ...

    async def take_turn(self, buckets: Sequence[Bucket]) -> float:
        """Counts one attempt against all limits and returns 0, or counts nothing and returns the seconds to wait.

        Applies across processes. `give_turn_back` undoes it for a successful attempt.
        """

    async def give_turn_back(self, buckets: Sequence[Bucket]) -> None: ...


class AuditStore(Protocol):
    """The audit trail. The transaction that writes an audited event writes it, and nothing else does."""

    async def audit_entries(self, tenant_id: str, before_seq: int | None, limit: int) -> list[AuditEntry]:
        """Newest first. Tenant "" is the installation."""

    async def verify_audit(self, tenant_id: str) -> AuditHead | AuditFault:
        """Follows a chain from its first entry to its head: its length, or the first entry that does not match."""

"""The seams of access: who may come in, with what, and the trail of what they did."""

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

# The address that the request in hand came from, for the audit trail; a door sets it, a store reads it.
ORIGIN: ContextVar[str] = ContextVar("origin", default="")


class AccountStore(Protocol):
    """Users of the installation and their places in tenants, and the links that let a user set a password."""

    async def add_user(
        self, user: User, password_hash: str, place: tuple[str, Role] | None, events: Sequence[Event], first: bool
    ) -> bool:
        """A new user, with a role in a tenant. Raises Conflict where the e-mail address is taken.

        With `first`, only if there is no user yet: False where there is one; of two at once, one wins.
        """

    async def user(self, who: str) -> tuple[User, str] | None:
        """A user by id, e-mail address or OIDC subject, and what is stored of the password ("": none)."""

    async def users(self) -> list[User]:
        """Ordered by e-mail address."""

    async def put_user(self, user: User, event: Event) -> None:
        """Write what may change about a user; where it is disabled, all its sessions end."""

    async def put_password(self, user_id: str, password_hash: str, proof: str, event: Event) -> None:
        """Set a password, or none (""); all sessions of the user end, and a new password closes all its links."""

    async def members(self, tenant_id: str) -> list[Member]:
        """Ordered by e-mail address."""

    async def put_member(self, tenant_id: str, user_id: str, role: Role | None, event: Event) -> None:
        """Give a user a role in a tenant, or none. Raises Conflict where no owner would be left."""

    async def tenants(self) -> list[Tenant]:
        """Every tenant, ordered by id."""

    async def has_several_tenants(self) -> bool:
        """Whether the installation has more than one tenant."""

    async def add_link(self, token_hash: str, link: Link) -> None: ...

    async def link(self, token_hash: str) -> Link | None:
        """The link, which stays; None where it is unknown, was used before, or has expired."""

    async def take_link(self, token_hash: str) -> Link | None:
        """The link, used up by this; None where it is unknown, was used before, or its time ran out."""

    async def put_invitation(self, invitation: MemberInvitation, token_hash: str, event: Event) -> None:
        """Offer a place to an address; the link of an earlier offer of the same tenant stops working."""

    async def invitations(self, tenant_id: str) -> list[MemberInvitation]:
        """Ordered by e-mail address, also those that have expired."""

    async def invitation(self, token_hash: str) -> MemberInvitation | None:
        """The offer that a link belongs to, which stays; None where it is unknown, was used, or has expired."""

    async def is_invited(self, email: str) -> bool:
        """Whether some tenant has invited this address, and the invitation has not expired."""

    async def set_invited_role(self, tenant_id: str, email: str, role: Role | None, event: Event) -> None:
        """Offer another role, or None to take the offer back."""

    async def accept(
        self, token_hash: str, user: User, password_hash: str | None, is_new: bool, events: Sequence[Event]
    ) -> bool:
        """Use up an offer and give the user its place, in one transaction. False where another call used it before.

        With `is_new` the user is added (Conflict where the address is taken). With a password that is set too, all
        sessions of the user end, and all its links stop working.
        """


class LiveSession(Struct, frozen=True):
    """A live session, whose it is, and where that user belongs, by the tenants' names."""

    session: LoginSession
    user: User
    memberships: tuple[Membership, ...]


class CredentialStore(Protocol):
    """What proves who somebody is. Nothing is cached: what has ended is refused at once, in every process."""

    async def add_api_key(self, key: ApiKey, secret_hash: str, event: Event) -> None: ...

    async def api_keys(self, tenant_id: str) -> list[ApiKey]:
        """Newest first, also those that ended."""

    async def revoke_api_key(self, tenant_id: str, key_id: str, event: Event) -> bool:
        """False where the tenant has no such key that still lives."""

    async def use_api_key(self, key_id: str, secret: str) -> ApiKey | None:
        """The key of that id and secret, if it is neither revoked nor expired; notes, coarsely, that it was used."""

    async def add_session(self, session: LoginSession, token_hash: str, event: Event) -> None: ...

    async def visit(self, token_hash: str) -> LiveSession | None:
        """The session, if it is neither over nor idle for too long and its user is not disabled; notes its use."""

    async def second_factor(self, user_id: str) -> SecondFactor | None: ...

    async def put_second_factor(self, factor: SecondFactor, event: Event | None) -> None: ...

    async def remove_second_factor(self, user_id: str, event: Event) -> bool:
        """Remove the app, the recovery codes and all passkeys. False where there were none."""

    async def use_step(self, user_id: str, step: int) -> bool:
        """Note that the code of a step was used; False where it, or a later one, was used before."""

    async def use_recovery(self, user_id: str, present: Sequence[str], spent: str) -> bool:
        """Take one recovery code from those that are there; False where they are others by now."""

    async def passkeys(self, user_id: str) -> list[Passkey]:
        """Oldest first."""

    async def passkey(self, credential_id: str) -> Passkey | None: ...

    async def add_passkey(self, passkey: Passkey, factor: SecondFactor | None, event: Event) -> bool:
        """Add it, with recovery codes where `factor` brings some, in one transaction. False where the credential is
        registered already.
        """

    async def rename_passkey(self, user_id: str, passkey_id: str, name: str) -> bool:
        """False where the user has none of that id."""

    async def remove_passkey(self, user_id: str, passkey_id: str, event: Event) -> bool:
        """Remove it, and the recovery codes with the last factor. False where the user has none of that id."""

    async def use_passkey(self, passkey_id: str, sign_count: int) -> bool:
        """Note a signature; False where its counter is not above the stored one, unless both are 0."""

    async def add_challenge(self, challenge: Challenge) -> None: ...

    async def take_challenge(self, challenge_id: str) -> Challenge | None:
        """Use it up; None where it was used before, or its time ran out. One of any number of callers gets it."""

    async def sessions_of(self, user_id: str) -> list[LoginSession]:
        """Those that are neither over nor idle for too long, newest first."""

    async def end_session(self, session_id: str, event: Event) -> None: ...

    async def take_turn(self, buckets: Sequence[Bucket]) -> float:
        """Count one attempt against all buckets and return 0, or count nothing and return the seconds to wait.

        It holds over processes. `give_turn_back` undoes it for an attempt that was right.
        """

    async def give_turn_back(self, buckets: Sequence[Bucket]) -> None: ...


class AuditStore(Protocol):
    """The audit trail. It is written by whichever transaction writes an event that is audited, and only there."""

    async def audit_entries(self, tenant_id: str, before_seq: int | None, limit: int) -> list[AuditEntry]:
        """Newest first. Tenant "" is the installation."""

    async def verify_audit(self, tenant_id: str) -> AuditHead | AuditFault:
        """Follow a chain from its first entry to its head: how far it goes, or the first entry that does not fit."""

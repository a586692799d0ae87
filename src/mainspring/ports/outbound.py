"""What the workers and operations need from the world that is no database."""

from collections.abc import Callable
from datetime import datetime
from typing import ParamSpec, Protocol, TypeVar

from mainspring.domain.access.passkey import Assertion, Attestation, Credential, RelyingParty
from mainspring.domain.run import Outcome, Request

P = ParamSpec("P")
T = TypeVar("T")


class Clock(Protocol):
    def now(self) -> datetime:
        """The present instant, aware, in UTC."""


class Ids(Protocol):
    def new(self, prefix: str, now: datetime) -> str:
        """A new id that sorts by the millisecond it was made in: `run_0197...`."""


class Caller(Protocol):
    async def call(self, request: Request) -> Outcome:
        """Make one call within its deadline. Never raises for what the peer does: a failed call is an Outcome."""

    async def aclose(self) -> None:
        """Abort what is in flight and close every connection."""


class Vault(Protocol):
    def seal(self, plain: str, context: str) -> str:
        """Ciphertext that opens only under the same context."""

    def open(self, sealed: str, context: str) -> str:
        """The plain text; raises Misconfigured where the key is not in the ring or the context is another."""

    def is_current(self, sealed: str) -> bool:
        """False where this is sealed with another key than the one that seals now."""

    def retired(self) -> str:
        """Sealed: the audit keys and the signatories of checkpoints of all keys but the one that seals now."""

    def recall(self, retired: str) -> None:
        """Know again what `retired` gave, here or in another process, and any key that came since; "" is nothing."""


class PasswordHasher(Protocol):
    """Slow hashes of passwords, and random secrets."""

    async def hash_password(self, password: str) -> str:
        """What is stored of a password. Takes a tenth of a second, in a thread."""

    async def fits(self, password: str, stored: str) -> bool:
        """Whether this is the password. Takes as long where `stored` is "", for a user who has none or is none."""

    def new_secret(self) -> bytes:
        """32 random bytes."""

    def totp_step(self, secret: str, code: str, now: datetime) -> int | None:
        """The step (30 s) that a code of this secret (base 32) belongs to, one before and after now too; else None."""

    def new_credential(self, party: RelyingParty, challenge: str, given: Attestation) -> Credential | None:
        """What is stored of a new passkey; None where the answer does not fit the challenge or the site."""

    def signed_count(
        self, party: RelyingParty, challenge: str, credential: str, given: Assertion, *, verified: bool
    ) -> int | None:
        """The counter of a signature by this credential; None where it is not right.

        `verified`: the device must have asked for a PIN, a finger or a face.
        """


class Sandbox(Protocol):
    """Where functions are called whose work grows with what a stranger sent."""

    async def call(self, tenant_id: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What the function returns, or its refusal (a MainspringError).

        The function is a pure one of a module, and all it takes and returns can be pickled. Raises InvalidInput where
        it takes too long or too much memory, and TooManyRequests where the tenant asks for too much; "" is the
        installation itself, which may ask for anything.
        """

    async def call_within(
        self, seconds: float, tenant_id: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """The same for work that may take so many seconds, which count against the tenant's budget as any others."""

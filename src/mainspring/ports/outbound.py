"""Ports of everything outside that is not a database."""

from collections.abc import Callable
from datetime import datetime
from typing import ParamSpec, Protocol, TypeVar

from mainspring.domain.access.passkey import Assertion, Attestation, Credential, RelyingParty
from mainspring.domain.run import Outcome, Request

P = ParamSpec("P")
T = TypeVar("T")


class Clock(Protocol):
    def now(self) -> datetime:
        """The current time, aware, in UTC."""


class Ids(Protocol):
    def new(self, prefix: str, now: datetime) -> str:
        """A new id that sorts by the millisecond of its creation: `run_0197...`."""


class Caller(Protocol):
    async def call(self, request: Request) -> Outcome:
        """Makes one call within its deadline. Never raises for what the peer does: a failed call is an Outcome."""

    async def aclose(self) -> None:
        """Aborts calls in flight and closes every connection."""


class Vault(Protocol):
    def seal(self, plain: str, context: str) -> str:
        """Encrypts; the text can be decrypted only with the same context."""

    def open(self, sealed: str, context: str) -> str:
        """The plain text. Raises Misconfigured if the key is not on the ring or the context differs."""

    def is_current(self, sealed: str) -> bool:
        """False if this is encrypted with a key other than the primary one."""

    def retired(self) -> str:
        """Encrypted: the audit keys and checkpoint public keys of all keys except the primary one."""

    def recall(self, retired: str) -> None:
        """Restores what `retired` returned, in this or another process, and any newer key; "" is nothing."""


class PasswordHasher(Protocol):
    """Slow hashes of passwords, and random secrets."""

    async def hash_password(self, password: str) -> str:
        """The hash to store for a password. Takes a tenth of a second, in a thread."""

    async def fits(self, password: str, stored: str) -> bool:
        """Whether this is the password. Takes as long if `stored` is "", for users without a password and unknown
        users.
        """

    def new_secret(self) -> bytes:
        """32 random bytes."""

    def totp_step(self, secret: str, code: str, now: datetime) -> int | None:
        """The step (30 s) of a code of this secret (base 32), within one step before and after now; otherwise None."""

    def new_credential(self, party: RelyingParty, challenge: str, given: Attestation) -> Credential | None:
        """The stored parts of a new passkey; None if the response does not match the challenge or the site."""

    def signed_count(
        self, party: RelyingParty, challenge: str, credential: str, given: Assertion, *, verified: bool
    ) -> int | None:
        """The counter of a signature by this credential; None if the signature is invalid.

        `verified`: the device must have asked for a PIN, fingerprint or face.
        """


class Sandbox(Protocol):
    """Runs functions whose work grows with untrusted input."""

    async def call(self, tenant_id: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Returns what the function returns, or raises its error (a MainspringError).

        The function is a pure, module-level one, and its arguments and result can be pickled. Raises InvalidInput if it
        takes too long or too much memory, and TooManyRequests if the tenant asks for too much; "" is the installation
        itself, which has no limit.
        """

    async def call_within(
        self, seconds: float, tenant_id: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Like `run`, for work that may take this many seconds, which count against the tenant's budget."""

"""Hash passwords (argon2id), create random secrets, and verify second factors.

A hash takes memory and a tenth of a second on purpose. It runs in a thread, two at a time, so that a flood of logins
does not block the event loop. A login for an unknown user, or one without a password, costs as much as a wrong
password.
"""

import asyncio
import hmac
import secrets
from base64 import b32decode
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError, VerifyMismatchError
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP

from mainspring.domain.access.passkey import Assertion, Attestation, Credential, RelyingParty
from mainspring.outbound import passkeys

MEMORY_KIB = 19 * 1024  # OWASP's first choice: 19 MiB, two passes, one lane
PASSES = 2
LANES = 1
AT_ONCE = 2
SECRET_BYTES = 32
TOTP_DIGITS = 6
TOTP_STEP_S = 30


class Argon2Hasher:
    """Cheaper parameters are for tests."""

    def __init__(self, memory_kib: int = MEMORY_KIB, passes: int = PASSES) -> None:
        self._hasher = PasswordHasher(time_cost=passes, memory_cost=memory_kib, parallelism=LANES)
        self._threads = ThreadPoolExecutor(AT_ONCE, "argon2")
        self._dummy = ""

    async def hash_password(self, password: str) -> str:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._hasher.hash, password)

    async def fits(self, password: str, stored: str) -> bool:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._fits, password, stored)

    def new_secret(self) -> bytes:
        return secrets.token_bytes(SECRET_BYTES)

    def totp_step(self, secret: str, code: str, now: datetime) -> int | None:
        if not (code.isascii() and code.isdigit() and len(code) == TOTP_DIGITS):
            return None
        # Authenticator apps support SHA-1 only; nothing here depends on collisions.
        totp = TOTP(b32decode(secret), TOTP_DIGITS, SHA1(), TOTP_STEP_S)
        present = int(now.timestamp()) // TOTP_STEP_S
        for step in (present, present - 1, present + 1):
            if hmac.compare_digest(totp.generate(step * TOTP_STEP_S).decode(), code):
                return step
        return None

    def new_credential(self, party: RelyingParty, challenge: str, given: Attestation) -> Credential | None:
        return passkeys.new_credential(party, challenge, given)

    def signed_count(
        self, party: RelyingParty, challenge: str, credential: str, given: Assertion, *, verified: bool
    ) -> int | None:
        return passkeys.signed_count(party, challenge, credential, given, verified=verified)

    def _fits(self, password: str, stored: str) -> bool:
        if not self._dummy:
            self._dummy = self._hasher.hash(secrets.token_hex())
        try:
            fits = self._hasher.verify(stored or self._dummy, password)
        except (VerifyMismatchError, VerificationError, InvalidHashError):
            return False
        return fits and bool(stored)

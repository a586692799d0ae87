"""Recovery codes: each can be used once to log in if the app and all passkeys are lost."""

from base64 import b32encode

from mainspring.domain.access.account import digest
from mainspring.ports.outbound import PasswordHasher

COUNT = 10


def new_codes(hasher: PasswordHasher) -> list[str]:
    return [_code(hasher.new_secret()) for _ in range(COUNT)]


def stored_codes(codes: list[str]) -> tuple[str, ...]:
    return tuple(stored_code(each) for each in codes)


def stored_code(code: str) -> str:
    """The stored digest of a code, in any spelling."""
    return digest(code.strip().lower().replace("-", "")[:100])


def _code(random: bytes) -> str:
    text = b32encode(random[:10]).decode().lower()
    return "-".join(text[place : place + 4] for place in range(0, len(text), 4))

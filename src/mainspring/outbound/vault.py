"""Keep secrets unreadable at rest: AES-256-GCM, bound to the place they are stored in.

A sealed text is `v1.<key id>.<base64 of nonce, ciphertext, tag>`. Its context (`tenant|endpoint|header:name`,
`tenant|signing`) is authenticated with it, so a ciphertext moved to another row, tenant or header does not open.
The ring seals with its primary key and opens with any key it holds; `is_current` finds what a re-key must seal again.
Nothing here ever puts a plain text or a key into a message.
"""

import binascii
import hashlib
import hmac
import os
import secrets
import stat
from base64 import urlsafe_b64decode, urlsafe_b64encode
from contextlib import suppress
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from mainspring.domain.audit import AuditKeys
from mainspring.domain.errors import Misconfigured

KEY_BYTES = 32  # AES-256
NONCE_BYTES = 12  # 96 random bits, as GCM wants; safe for 2**32 seals with one key
VERSION = "v1"
OPENED_MAX = 4_096  # plain texts kept ready, so that a busy endpoint costs one decryption and not one a run
SETTING = "MAINSPRING_SECRET_KEY_FILE"


class KeyRing:
    """One primary key, which seals, and the older ones that can still open."""

    def __init__(self, primary: bytes, old: tuple[bytes, ...] = ()) -> None:
        for key in (primary, *old):
            if len(key) != KEY_BYTES:
                raise Misconfigured(
                    f"an encryption key has {len(key)} bytes; it must have {KEY_BYTES}; let Mainspring make the file",
                    setting=SETTING,
                )
        self.primary_id = key_id(primary)
        self.ciphers = {key_id(key): AESGCM(key) for key in (*old, primary)}
        self.checkpoint_seeds = {
            key_id(key): hmac.new(key, b"mainspring checkpoints", hashlib.sha256).digest() for key in (*old, primary)
        }
        self.audit_keys = AuditKeys(self.primary_id, {key_id(key): _audit_key(key) for key in (*old, primary)})


class Vault:
    """Seals and opens. Safe to share inside one event loop; holds opened values in memory only."""

    def __init__(self, keys: KeyRing) -> None:
        self._keys = keys
        self._opened: dict[tuple[str, str], str] = {}

    def seal(self, plain: str, context: str) -> str:
        nonce = secrets.token_bytes(NONCE_BYTES)
        sealed = self._keys.ciphers[self._keys.primary_id].encrypt(nonce, plain.encode(), context.encode())
        return f"{VERSION}.{self._keys.primary_id}.{urlsafe_b64encode(nonce + sealed).decode('ascii')}"

    def open(self, sealed: str, context: str) -> str:
        """The plain text. Raises Misconfigured when the key is missing, the text was changed or it was moved."""
        place = (sealed, context)
        plain = self._opened.get(place)
        if plain is None:
            plain = self._decrypt(sealed, context)
            if len(self._opened) >= OPENED_MAX:
                del self._opened[next(iter(self._opened))]
            self._opened[place] = plain
        return plain

    def is_current(self, sealed: str) -> bool:
        """False when a re-key still has to open this and seal it with the primary key."""
        return sealed.startswith(f"{VERSION}.{self._keys.primary_id}.")

    def _decrypt(self, sealed: str, context: str) -> str:
        version, _, rest = sealed.partition(".")
        name, _, payload = rest.partition(".")
        if version != VERSION or not payload:
            raise Misconfigured(f"a secret is not in the form {VERSION}.<key id>.<data>; set it again", setting=SETTING)
        cipher = self._keys.ciphers.get(name)
        if cipher is None:
            raise Misconfigured(
                f"a secret was sealed with key {name[:8]!r}, which is not on the key ring; "
                "add that key or set the secret again",
                setting=SETTING,
            )
        try:
            data = urlsafe_b64decode(payload)
            return cipher.decrypt(data[:NONCE_BYTES], data[NONCE_BYTES:], context.encode()).decode()
        except (InvalidTag, ValueError, binascii.Error):
            raise Misconfigured(
                "a secret does not open: it was changed, or moved here from another place; set it again",
                setting=SETTING,
            ) from None


def _audit_key(key: bytes) -> bytes:
    """A key of its own for the audit trail: what seals secrets is used for nothing else."""
    return hmac.new(key, b"mainspring audit trail", hashlib.sha256).digest()


def key_id(key: bytes) -> str:
    return hashlib.sha256(key).hexdigest()[:8]


def load_or_create_key(path: Path) -> bytes:
    """The key in `path`, made on first use with mode 0600. Two processes that start at once get the same key.

    1. Look for the file; if it is there, refuse it when others may read or change it, else read it.
    2. If not, write a new key beside it and link it into place: a link never replaces and is never half written.
    3. Read what is in place now, ours or the other process's.
    """
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(urlsafe_b64encode(secrets.token_bytes(KEY_BYTES)) + b"\n")
                file.flush()
                os.fsync(file.fileno())
            with suppress(FileExistsError):  # another process won; its key is the key
                os.link(draft, path)
        finally:
            os.unlink(draft)
    return _read_key(path)


def _read_key(path: Path) -> bytes:
    with path.open("rb") as file:
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        text = file.read(1_024).strip()
    if mode & 0o007:
        raise Misconfigured(
            f"key file {str(path)!r} has mode {mode:04o}, so everyone on this machine may read it; "
            f"only its owner may; run: chmod 600 {path}",
            setting=SETTING,
        )
    try:
        key = urlsafe_b64decode(text)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != KEY_BYTES:
        raise Misconfigured(
            f"key file {str(path)!r} does not hold a key; it must be the base64 of {KEY_BYTES} bytes; "
            "put the right file back, or move this one away to have a new key made",
            setting=SETTING,
        )
    return key

"""Encrypt secrets at rest: AES-256-GCM, bound to the place where they are stored.

An encrypted text is `v1.<key id>.<base64 of nonce, ciphertext, tag>`. Its context (`tenant|endpoint|header:name`,
`tenant|signing`) is authenticated with it, so a ciphertext moved to another row, tenant or header cannot be decrypted.
The key ring encrypts with its primary key and decrypts with any key it holds; `is_current` finds what a key rotation
must encrypt again. A ring with a key file follows it: before it encrypts, and when it meets an unknown key. The rule
that must not break: no message ever contains a plain text or a key.
"""

import binascii
import hashlib
import hmac
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from mainspring.domain.access.audit import AuditKeys
from mainspring.domain.errors import Misconfigured
from mainspring.outbound.key_file import KEY_BYTES, SETTING

NONCE_BYTES = 12  # 96 random bits, as GCM requires; safe for 2**32 uses of one key
VERSION = "v1"
OPENED_MAX = 4_096  # cached plain texts, so that a busy endpoint costs one decryption instead of one per run
RETIRED_PLACE = "installation|retired keys"  # encryption context of what remains of retired keys
_RETIRED = msgspec.json.Decoder(dict[str, tuple[str, str]])


class KeyRing:
    """One primary key, which encrypts, and others that can still decrypt.

    `reread` returns the keys if they have changed, the primary first. A removed key still decrypts until the process
    ends, because data that was already read may need it. Keys derived for the audit trail and checkpoints outlive their
    key: `recall` restores them.
    """

    def __init__(
        self, primary: bytes, old: tuple[bytes, ...] = (), *, reread: Callable[[], tuple[bytes, ...]] = tuple
    ) -> None:
        self._reread = reread
        self.primary_id = ""
        self.ciphers: dict[str, AESGCM] = {}
        self.checkpoint_keys: dict[str, Ed25519PrivateKey] = {}
        self.checkpoint_signatories: dict[str, str] = {}  # public keys
        self.audit_keys = AuditKeys("", {})
        self._hold((primary, *old))

    def refresh(self) -> None:
        """Follows the source of the keys."""
        if keys := self._reread():
            self._hold(keys)

    def recall(self, remains: dict[str, tuple[str, str]]) -> None:
        """Restores the audit keys and the public keys of checkpoints of retired keys."""
        for name, (audit_key, public_key) in remains.items():
            self.audit_keys.keys.setdefault(name, bytes.fromhex(audit_key))
            self.checkpoint_signatories.setdefault(name, public_key)

    def remains(self) -> dict[str, tuple[str, str]]:
        """What `recall` takes, for every key except the primary one."""
        return {
            name: (self.audit_keys.keys[name].hex(), public_key)
            for name, public_key in self.checkpoint_signatories.items()
            if name != self.primary_id
        }

    def _hold(self, keys: tuple[bytes, ...]) -> None:
        for key in keys:
            if len(key) != KEY_BYTES:
                raise Misconfigured(
                    f"an encryption key has {len(key)} bytes; it must have {KEY_BYTES}; let Mainspring create the file",
                    setting=SETTING,
                )
            name = key_id(key)
            signing = Ed25519PrivateKey.from_private_bytes(_derived(key, b"mainspring checkpoints"))
            self.ciphers[name] = AESGCM(key)
            self.checkpoint_keys[name] = signing
            self.checkpoint_signatories[name] = signing.public_key().public_bytes_raw().hex()
            self.audit_keys.keys[name] = _derived(key, b"mainspring audit trail")
        self.primary_id = self.audit_keys.primary = key_id(keys[0])


class AesVault:
    """Encrypts and decrypts. Safe to share inside one event loop; decrypted values stay in memory only."""

    def __init__(self, keys: KeyRing) -> None:
        self._keys = keys
        self._opened: dict[tuple[str, str], str] = {}

    def seal(self, plain: str, context: str) -> str:
        self._keys.refresh()
        nonce = secrets.token_bytes(NONCE_BYTES)
        sealed = self._keys.ciphers[self._keys.primary_id].encrypt(nonce, plain.encode(), context.encode())
        return f"{VERSION}.{self._keys.primary_id}.{urlsafe_b64encode(nonce + sealed).decode('ascii')}"

    def open(self, sealed: str, context: str) -> str:
        """The plain text. Raises Misconfigured if the key is missing, or the text was changed or moved."""
        place = (sealed, context)
        plain = self._opened.get(place)
        if plain is None:
            plain = self._decrypt(sealed, context)
            if len(self._opened) >= OPENED_MAX:
                del self._opened[next(iter(self._opened))]
            self._opened[place] = plain
        return plain

    def is_current(self, sealed: str) -> bool:
        """False if a key rotation still has to encrypt this with the primary key."""
        return sealed.startswith(f"{VERSION}.{self._keys.primary_id}.")

    def retired(self) -> str:
        """What must outlive retired keys, encrypted with the primary key."""
        return self.seal(msgspec.json.encode(self._keys.remains()).decode(), RETIRED_PLACE)

    def recall(self, retired: str) -> None:
        """Restores what `retired` returned, in this or another process; "" is nothing."""
        self._keys.refresh()
        if not retired:
            return
        self._keys.recall(_RETIRED.decode(self.open(retired, RETIRED_PLACE)))

    def _decrypt(self, sealed: str, context: str) -> str:
        version, _, rest = sealed.partition(".")
        name, _, payload = rest.partition(".")
        if version != VERSION or not payload:
            raise Misconfigured(f"a secret is not in the form {VERSION}.<key id>.<data>; set it again", setting=SETTING)
        if name not in self._keys.ciphers:
            self._keys.refresh()
        cipher = self._keys.ciphers.get(name)
        if cipher is None:
            raise Misconfigured(
                f"a secret was encrypted with key {name[:8]!r}, which is not on the key ring; add that key "
                "or set the secret again",
                setting=SETTING,
            )
        try:
            data = urlsafe_b64decode(payload)
            if urlsafe_b64encode(data).decode("ascii") != payload:
                raise ValueError  # the decoder skips what is not base64, and what follows the padding
            return cipher.decrypt(data[:NONCE_BYTES], data[NONCE_BYTES:], context.encode()).decode()
        except (InvalidTag, ValueError, binascii.Error):
            raise Misconfigured(
                "a secret cannot be decrypted: it was changed, or moved here from another place; set it again",
                setting=SETTING,
            ) from None


def _derived(key: bytes, purpose: bytes) -> bytes:
    """Derives a key for another purpose: the encryption key is used for nothing else."""
    return hmac.new(key, purpose, hashlib.sha256).digest()


def key_id(key: bytes) -> str:
    return hashlib.sha256(key).hexdigest()[:8]

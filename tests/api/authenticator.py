"""A device with passkeys, in software: real key pairs and signatures, in a browser that can be made to lie."""

import hashlib
import json
import os
import struct
from base64 import urlsafe_b64encode
from collections.abc import Mapping

from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256

Json = dict[str, object]
PRESENT, VERIFIED, ATTESTED = 0x01, 0x04, 0x40


def b64(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")


class Authenticator:
    """One credential. What it says of itself can be changed: `rp_id`, `origin`, `count`, `flags`."""

    def __init__(self, origin: str, rp_id: str, *, counts: bool = True, flags: int = PRESENT | VERIFIED) -> None:
        self.origin = origin
        self.rp_id = rp_id
        self.flags = flags
        self.count = 1 if counts else 0
        self.counts = counts
        self.cross_origin = False
        self.credential_id = os.urandom(32)
        self.key = generate_private_key(SECP256R1())

    def create(self, challenge_id: str, options: Mapping[str, object], name: str = "laptop", kind: str = "") -> Json:
        """The body of a request that registers this credential."""
        numbers = self.key.public_key().public_numbers()
        public_key = {1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32), -3: numbers.y.to_bytes(32)}
        attested = bytes(16) + struct.pack(">H", len(self.credential_id)) + self.credential_id + cbor(public_key)
        data = self._data(self.flags | ATTESTED) + attested
        attestation = cbor({"fmt": "none", "attStmt": {}, "authData": data})
        client_data = self._client_data(kind or "webauthn.create", str(options["challenge"]))
        return {
            "name": name,
            "challenge": challenge_id,
            "client_data": b64(client_data),
            "attestation": b64(attestation),
        }

    def get(self, challenge_id: str, options: Mapping[str, object], kind: str = "") -> Json:
        """The `passkey` of a request that logs in."""
        self.count += self.counts
        data = self._data(self.flags)
        client_data = self._client_data(kind or "webauthn.get", str(options["challenge"]))
        signature = self.key.sign(data + hashlib.sha256(client_data).digest(), ECDSA(SHA256()))
        return {
            "challenge": challenge_id,
            "id": b64(self.credential_id),
            "client_data": b64(client_data),
            "authenticator_data": b64(data),
            "signature": b64(signature),
        }

    def _data(self, flags: int) -> bytes:
        return hashlib.sha256(self.rp_id.encode()).digest() + struct.pack(">BI", flags, self.count)

    def _client_data(self, kind: str, challenge: str) -> bytes:
        said = {"type": kind, "challenge": challenge, "origin": self.origin, "crossOrigin": self.cross_origin}
        return json.dumps(said).encode()


def cbor(value: object) -> bytes:
    """As much of CBOR as an authenticator writes: integers, bytes, texts and maps."""
    match value:
        case int():
            return _head(0, value) if value >= 0 else _head(1, -1 - value)
        case bytes():
            return _head(2, len(value)) + value
        case str():
            return _head(3, len(value.encode())) + value.encode()
        case dict():
            return _head(5, len(value)) + b"".join(cbor(part) for pair in value.items() for part in pair)
    raise TypeError(type(value))


def _head(major: int, number: int) -> bytes:
    if number < 24:
        return bytes([major << 5 | number])
    if number < 256:
        return bytes([major << 5 | 24, number])
    return bytes([major << 5 | 25]) + struct.pack(">H", number)

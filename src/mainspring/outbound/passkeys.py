"""Verify what a browser sends for a passkey (WebAuthn), with Yubico's `fido2`.

The library checks the kind of ceremony, the challenge, the relying party, that a person was present (and verified, if
required) and the signature. The origin is compared here: it must be exactly ours, not a subdomain, and the page must
not be in a frame of another site.
"""

import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from fido2.server import Fido2Server
from fido2.webauthn import (
    AttestedCredentialData,
    AuthenticationResponse,
    CollectedClientData,
    PublicKeyCredentialRpEntity,
    RegistrationResponse,
)

from mainspring.domain.access.passkey import ALGORITHMS, NAME, Assertion, Attestation, Credential, RelyingParty

CREDENTIAL_ID_BYTES_MAX = 1_023  # as WebAuthn defines it
# Exceptions of the library for malformed bytes.
MALFORMED = (
    ValueError, KeyError, TypeError, IndexError, AttributeError, AssertionError, RecursionError, struct.error,
    InvalidSignature, UnsupportedAlgorithm,
)  # fmt: skip


def new_credential(party: RelyingParty, challenge: str, given: Attestation) -> Credential | None:
    """The stored parts of a new passkey; None if the response does not match the challenge or the site."""
    response = {"clientDataJSON": given.client_data, "attestationObject": given.attestation}
    try:
        answer = RegistrationResponse.from_dict(_public_key("", response))
        data = _server(party).register_complete(_state(challenge, verified=False), answer)
        made = data.credential_data
        if made is None or _is_framed(answer.response.client_data) or made.public_key.get(3) not in ALGORITHMS:
            return None
        if not 16 <= len(made.credential_id) <= CREDENTIAL_ID_BYTES_MAX:
            return None
        return Credential(_text(made.credential_id), _text(bytes(made)), data.counter)
    except MALFORMED:
        return None


def signed_count(
    party: RelyingParty, challenge: str, credential: str, given: Assertion, *, verified: bool
) -> int | None:
    """The counter of a signature by this credential; None if the signature is invalid."""
    response = {
        "clientDataJSON": given.client_data,
        "authenticatorData": given.authenticator_data,
        "signature": given.signature,
    }
    try:
        answer = AuthenticationResponse.from_dict(_public_key(given.credential_id, response))
        known = AttestedCredentialData(_bytes(credential))
        _server(party).authenticate_complete(_state(challenge, verified=verified), [known], answer)
        if _is_framed(answer.response.client_data):
            return None
        return int(answer.response.authenticator_data.counter)
    except MALFORMED:
        return None


def _server(party: RelyingParty) -> Fido2Server:
    entity = PublicKeyCredentialRpEntity(name=NAME, id=party.id)
    return Fido2Server(entity, attestation=None, verify_origin=lambda origin: origin == party.origin)


def _state(challenge: str, *, verified: bool) -> dict[str, str]:
    return {"challenge": challenge, "user_verification": "required" if verified else "preferred"}


def _is_framed(client_data: CollectedClientData) -> bool:
    return bool(client_data.cross_origin)


def _public_key(credential_id: str, response: dict[str, str]) -> dict[str, object]:
    return {"id": credential_id, "rawId": credential_id, "type": "public-key", "response": response}


def _text(data: bytes) -> str:
    return urlsafe_b64encode(data).decode("ascii").rstrip("=")


def _bytes(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))

"""Passkeys: key pairs on a user's devices (WebAuthn), used as a second factor or instead of a password. Pure.

A device signs a challenge. The challenge is random, stored, valid once for five minutes, and bound to its purpose. A
signature is valid for one relying party only: the public host of this server.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from ipaddress import ip_address
from urllib.parse import urlsplit

from msgspec import Struct

from mainspring.domain.access.account import PROVED, User
from mainspring.domain.errors import Conflict

CHALLENGE_LIFE = timedelta(minutes=5)  # browsers wait this long for a device
PASSKEYS_MAX = 20  # per user
ALGORITHMS = (-7, -8, -257)  # ES256, EdDSA, RS256: supported by common devices
NAME = "Mainspring"


class RelyingParty(Struct, frozen=True):
    """The host that a device signs for, and the origin that the browser must report."""

    id: str
    origin: str


class Ceremony(StrEnum):
    """Purpose of a challenge."""

    REGISTER = "register"  # bound to the session that requested it
    SECOND_FACTOR = "second factor"  # bound to the user whose password was correct
    LOGIN = "login"  # bound to no user: the device identifies the user


class Challenge(Struct, frozen=True):
    """A stored challenge. The fields are the table's columns."""

    id: str
    ceremony: Ceremony
    bound_to: str
    value: str  # base64url
    expires_at: datetime


class Passkey(Struct, frozen=True):
    """A public key of a user. The fields are the table's columns."""

    id: str
    user_id: str
    credential_id: str  # base64url, chosen by the device
    name: str
    credential: str  # base64url: credential id and public key, as sent by the device
    sign_count: int  # counter of the newest signature; 0: the device does not count
    proof: str  # what proved the user's address when the passkey was added
    created_at: datetime
    used_at: datetime | None = None

    def is_good_for(self, user: User) -> bool:
        """Whether the passkey may be used to sign in.

        A passkey added before the address was proved becomes invalid when another link proves the address: another
        person may have added it. An account without a password is opened by single sign-on only.
        """
        return user.has_password and (self.proof in PROVED or self.proof == user.proof)


class Attestation(Struct, frozen=True):
    """A device's response when it creates a passkey; all base64url."""

    challenge_id: str
    client_data: str
    attestation: str


class Assertion(Struct, frozen=True):
    """A device's signature at a login; all base64url."""

    challenge_id: str
    credential_id: str
    client_data: str
    authenticator_data: str
    signature: str


class Credential(Struct, frozen=True):
    """The stored parts of a new key pair."""

    id: str
    data: str
    sign_count: int


def relying_party(public_url: str, request_url: str) -> RelyingParty:
    """Derives the relying party from the setting or from a request to localhost. Raises Conflict if browsers allow no
    passkeys there.
    """
    site = urlsplit(public_url or request_url)
    host = (site.hostname or "").lower()
    is_local = host == "localhost" or host.endswith(".localhost")
    is_named = "." in host and not _is_address(host)
    if not is_local and not (public_url and site.scheme == "https" and is_named):
        raise Conflict(
            "passkeys need an https URL with a host name, or localhost, and this server is at "
            f"{site.scheme}://{site.netloc[:100]}; set MAINSPRING_PUBLIC_URL to its https URL",
            kind="passkey",
            name=site.netloc[:100],
        )
    return RelyingParty(host, f"{site.scheme}://{site.netloc.lower()}")


def creation_options(
    party: RelyingParty, user: User, handle: str, challenge: Challenge, known: Iterable[Passkey]
) -> dict[str, object]:
    """Options for the browser's `navigator.credentials.create`, as JSON (binary values in base64url)."""
    return {
        "rp": {"id": party.id, "name": NAME},
        "user": {"id": handle, "name": user.email, "displayName": user.name or user.email},
        "challenge": challenge.value,
        "pubKeyCredParams": [{"type": "public-key", "alg": number} for number in ALGORITHMS],
        "timeout": CHALLENGE_LIFE // timedelta(milliseconds=1),
        "excludeCredentials": _descriptors(known),
        "authenticatorSelection": {"residentKey": "preferred", "userVerification": "preferred"},
        "attestation": "none",
    }


def request_options(
    party: RelyingParty, challenge: Challenge, known: Iterable[Passkey], *, verified: bool
) -> dict[str, object]:
    """Options for `navigator.credentials.get`, as JSON. `verified`: the device asks for a PIN, fingerprint or face."""
    return {
        "rpId": party.id,
        "challenge": challenge.value,
        "timeout": CHALLENGE_LIFE // timedelta(milliseconds=1),
        "allowCredentials": _descriptors(known),
        "userVerification": "required" if verified else "preferred",
    }


def counts_on(before: int, after: int) -> bool:
    """Whether a signature's counter increased. If not, the device was cloned or the signature is replayed."""
    return after > before or before == after == 0


def _descriptors(known: Iterable[Passkey]) -> list[dict[str, str]]:
    return [{"type": "public-key", "id": each.credential_id} for each in known]


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True

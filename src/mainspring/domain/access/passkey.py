"""Passkeys: key pairs on a user's devices (WebAuthn), as a second factor or in place of the password. Pure.

A device signs a challenge. The challenge is random, stored, good once and for five minutes, and bound to what it was
made for. The signature counts for one relying party alone: the host that people reach this server at.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from ipaddress import ip_address
from urllib.parse import urlsplit

from msgspec import Struct

from mainspring.domain.access.account import PROVED, User
from mainspring.domain.errors import Conflict

CHALLENGE_LIFE = timedelta(minutes=5)  # as long as browsers wait for a device
PASSKEYS_MAX = 20  # of one user
ALGORITHMS = (-7, -8, -257)  # ES256, EdDSA, RS256: what devices speak
NAME = "Mainspring"


class RelyingParty(Struct, frozen=True):
    """Whom a device signs for: the host, and the origin that the browser must report."""

    id: str
    origin: str


class Ceremony(StrEnum):
    """What a challenge was made for."""

    REGISTER = "register"  # bound to the session that asked
    SECOND_FACTOR = "second factor"  # bound to the user whose password was right
    LOGIN = "login"  # bound to nobody: the device says whose it is


class Challenge(Struct, frozen=True):
    """The fields are the table's columns."""

    id: str
    ceremony: Ceremony
    bound_to: str
    value: str  # base64url
    expires_at: datetime


class Passkey(Struct, frozen=True):
    """A public key of a user. The fields are the table's columns."""

    id: str
    user_id: str
    credential_id: str  # base64url, as the device names it
    name: str
    credential: str  # base64url: the credential's id and public key, as the device sent them
    sign_count: int  # of the newest signature; 0: the device does not count
    proof: str  # what had proved the user's address when the passkey was added
    created_at: datetime
    used_at: datetime | None = None

    def is_good_for(self, user: User) -> bool:
        """Whether it opens the account.

        One that was added before the address was proved ends when another link proves it: who added it may not be the
        person. Without a password the account is opened by single sign-on alone.
        """
        return user.has_password and (self.proof in PROVED or self.proof == user.proof)


class Attestation(Struct, frozen=True):
    """What a device says when a passkey is made; all base64url."""

    challenge_id: str
    client_data: str
    attestation: str


class Assertion(Struct, frozen=True):
    """What a device signs at a login; all base64url."""

    challenge_id: str
    credential_id: str
    client_data: str
    authenticator_data: str
    signature: str


class Credential(Struct, frozen=True):
    """A new key pair of a device: what of it is stored."""

    id: str
    data: str
    sign_count: int


def relying_party(public_url: str, request_url: str) -> RelyingParty:
    """From the setting, or from a request that came to localhost. Raises Conflict where browsers allow no passkeys."""
    site = urlsplit(public_url or request_url)
    host = (site.hostname or "").lower()
    is_local = host == "localhost" or host.endswith(".localhost")
    is_named = "." in host and not _is_address(host)
    if not is_local and not (public_url and site.scheme == "https" and is_named):
        raise Conflict(
            f"passkeys work at an https address with a host name, or at localhost, and this server is at "
            f"{site.scheme}://{site.netloc[:100]}; set MAINSPRING_PUBLIC_URL to its https address",
            kind="passkey",
            name=site.netloc[:100],
        )
    return RelyingParty(host, f"{site.scheme}://{site.netloc.lower()}")


def creation_options(
    party: RelyingParty, user: User, handle: str, challenge: Challenge, known: Iterable[Passkey]
) -> dict[str, object]:
    """What a browser's `navigator.credentials.create` takes, as JSON (binary values in base64url)."""
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
    """What `navigator.credentials.get` takes, as JSON. `verified`: the device asks for a PIN, a finger or a face."""
    return {
        "rpId": party.id,
        "challenge": challenge.value,
        "timeout": CHALLENGE_LIFE // timedelta(milliseconds=1),
        "allowCredentials": _descriptors(known),
        "userVerification": "required" if verified else "preferred",
    }


def counts_on(before: int, after: int) -> bool:
    """Whether a signature's counter is newer. One that is not belongs to a copy of the device, or is a replay."""
    return after > before or before == after == 0


def _descriptors(known: Iterable[Passkey]) -> list[dict[str, str]]:
    return [{"type": "public-key", "id": each.credential_id} for each in known]


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True

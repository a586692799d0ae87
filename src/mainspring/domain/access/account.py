"""Users, memberships and credentials: passwords, login sessions, API keys, one-time links. Pure.

No secret is stored in a readable form: keys, sessions and links as the SHA-256 of a random text, passwords as a slow
hash. A random text of 256 bits cannot be guessed, so it needs no slow hash.
"""

import hashlib
import hmac
import re
import unicodedata
import zlib
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from msgspec import Struct

from mainspring.domain.access.common_passwords import is_common
from mainspring.domain.access.scope import SCOPES_OF, Role, Scope
from mainspring.domain.errors import Conflict, InvalidInput
from mainspring.domain.name import shown

EMAIL_LENGTH_MAX: Final = 254  # RFC 5321
PASSWORD_LENGTH_MIN: Final = 12
PASSWORD_LENGTH_MAX: Final = 256  # longer passwords add no strength, and every character is hashed
SESSION_IDLE: Final = timedelta(hours=12)
SESSION_LIFE: Final = timedelta(days=14)
LINK_LIFE: Final = timedelta(hours=24)
KEY_LIFE_DEFAULT: Final = timedelta(days=90)
KEY_LIFE_MAX: Final = timedelta(days=3_660)
SEEN_COARSELY: Final = timedelta(
    seconds=60
)  # precision of "last used": one write per minute instead of one per request
KEY_ID_LENGTH: Final = 8
KEY_PREFIX: Final = "ms"
_SECRET_LENGTH: Final = 43  # 32 bytes in base 62
_CRC_LENGTH: Final = 6
_BASE62: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


class Proof(StrEnum):
    """What proved that an email address belongs to the user of the account."""

    NONE = ""
    UNKNOWN = "unknown"  # the account is older than this record
    EMAIL = "email"  # the user opened a link sent to the address
    SSO = "sso"  # the OIDC issuer verified the address
    OPERATOR = "operator"  # an operator of the installation created the link or set the password


PROVED: Final = frozenset({Proof.EMAIL, Proof.SSO, Proof.OPERATOR})


def proof_by_tenant(tenant_id: str) -> str:
    """The password was set through a link of this tenant. The link was shown to its creator, so it proves nothing."""
    return f"tenant:{tenant_id}"


class MemberStatus(StrEnum):
    ACTIVE = "active"
    INVITED = "invited"  # invitation not accepted yet
    UNPROVED = "unproved"  # another tenant's link set the password, and the address was never proved
    DISABLED = "disabled"


class User(Struct, frozen=True):
    id: str
    email: str
    name: str
    is_operator: bool  # installation administrator: may list and create tenants and users
    created_at: datetime
    disabled_at: datetime | None = None
    subject: str = ""  # identity at the OIDC issuer: `issuer|sub`
    proof: str = ""  # what proved the address: a Proof, or the tenant whose link set the password
    home: str = ""  # tenant of requests that name none
    has_password: bool = False

    @property
    def is_proved(self) -> bool:
        """Whether the address was proved by more than one tenant's link."""
        return self.proof in PROVED

    def may_act_in(self, tenant_id: str) -> bool:
        """Whether a login is valid in this tenant.

        If the address was never proved, a password set through a tenant's link is valid in that tenant only: the
        creator of the link may have used it.
        """
        return self.is_proved or self.proof in (Proof.NONE, Proof.UNKNOWN, proof_by_tenant(tenant_id))


class Member(Struct, frozen=True):
    """A user in one tenant, or an invited person who has no user id yet."""

    tenant_id: str
    user_id: str
    email: str
    name: str
    role: Role
    created_at: datetime
    disabled: bool = False
    status: MemberStatus = MemberStatus.ACTIVE
    expires_at: datetime | None = None  # expiry of the invitation link


class MemberInvitation(Struct, frozen=True):
    """An invitation to a tenant, sent to an email address. The person who has the link accepts it."""

    tenant_id: str
    email: str
    name: str
    role: Role
    proof: str  # what opening the link proves about the address
    created_at: datetime
    expires_at: datetime

    @property
    def member(self) -> Member:
        """The invitation as listed among the members; looks the same whether or not the address has an account."""
        return Member(
            self.tenant_id,
            "",
            self.email,
            self.name,
            self.role,
            self.created_at,
            status=MemberStatus.INVITED,
            expires_at=self.expires_at,
        )


class Membership(Struct, frozen=True):
    """A membership as the user sees it."""

    tenant_id: str
    tenant_name: str
    role: Role
    joined_at: datetime


class ApiKey(Struct, frozen=True):
    id: str
    tenant_id: str
    name: str
    scopes: frozenset[Scope]
    is_operator: bool
    created_by: str
    created_at: datetime
    expires_at: datetime
    last_used_at: datetime | None = None
    revoked_at: datetime | None = None

    def is_live(self, now: datetime) -> bool:
        return self.revoked_at is None and now < self.expires_at


class LoginSession(Struct, frozen=True):
    id: str
    user_id: str
    created_at: datetime
    seen_at: datetime
    expires_at: datetime
    address: str = ""
    agent: str = ""

    def is_live(self, now: datetime) -> bool:
        return now < self.expires_at and now - self.seen_at < SESSION_IDLE


class SecondFactor(Struct, frozen=True):
    """The secret shared with an authenticator app, and the unused recovery codes."""

    user_id: str
    sealed: str
    confirmed_at: datetime | None = None  # None: enrolment started, not active yet
    last_step: int = 0  # counter of the newest used code
    recovery: tuple[str, ...] = ()  # digests


class Link(Struct, frozen=True):
    """A one-time link: creates the first owner or sets the password of one user."""

    user_id: str  # "": the first owner, who does not exist yet
    expires_at: datetime


class IdentityClaims(Struct, frozen=True):
    """The identity that an OIDC issuer confirmed."""

    issuer: str
    subject: str
    email: str = ""
    email_verified: bool = False
    name: str = ""


class Bucket(Struct, frozen=True):
    """A rate limit: `burst` attempts at once, then one every `every`."""

    name: str
    burst: int
    every: timedelta


def login_buckets(email: str, address: str, device: str) -> tuple[Bucket, ...]:
    """The rate limits that one login attempt counts against.

    Per account: at most 20 attempts per hour from all addresses. A device already used with the account has a separate
    limit, so guesses of an attacker do not lock the owner out. Per address: at most 120 attempts per hour.
    """
    whose = digest(email)[:32]
    of_account = Bucket(
        f"device:{whose}:{device}" if device else f"account:{whose}", burst=5, every=timedelta(minutes=4)
    )
    return (of_account, Bucket(f"address:{neighbourhood(address)}", burst=20, every=timedelta(seconds=36)))


def guess_bucket(address: str) -> Bucket:
    """The rate limits that an invalid API key, session or link counts against."""
    return Bucket(f"guess:{neighbourhood(address)}", burst=20, every=timedelta(seconds=6))


def invitation_buckets(tenant_id: str, email: str) -> tuple[Bucket, ...]:
    """The rate limits that one invitation email counts against, so that invitations cannot flood a mailbox."""
    return (
        Bucket(f"invited:{digest(email)[:32]}", burst=3, every=timedelta(hours=1)),
        Bucket(f"inviting:{tenant_id}", burst=50, every=timedelta(minutes=1)),
    )


def neighbourhood(address: str) -> str:
    """An IPv4 address, or the /64 of an IPv6 address: the owner of one such address controls all of them."""
    if ":" not in address or address.startswith("::ffff:"):
        return address
    head, _, tail = address.partition("::")
    groups = head.split(":") if head else []
    after = tail.split(":") if tail else []
    filled = [*groups, *["0"] * max(0, 8 - len(groups) - len(after)), *after]
    return ":".join(filled[:4]) + "::/64"


def digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def matches(secret: str, stored_digest: str) -> bool:
    return hmac.compare_digest(digest(secret), stored_digest)


def api_key_text(key_id: str, secret: bytes) -> str:
    """The key as shown once: `ms_<id>_<secret>_<checksum>`. The checksum lets secret scanners recognise leaked keys."""
    body = f"{KEY_PREFIX}_{key_id}_{_base62(int.from_bytes(secret, 'big'), _SECRET_LENGTH)}"
    return f"{body}_{_checksum(body)}"


def ping_token(secret: bytes) -> str:
    """The secret part of a ping URL."""
    return _base62(int.from_bytes(secret, "big"), _SECRET_LENGTH)


def is_ping_token(text: str) -> bool:
    """Whether this can be a token at all; what cannot is not looked up."""
    return len(text) == _SECRET_LENGTH and text.isascii() and text.isalnum()


def key_id_from(random: bytes) -> str:
    return _base62(int.from_bytes(random, "big") % 62**KEY_ID_LENGTH, KEY_ID_LENGTH)


def read_api_key(text: str) -> tuple[str, str] | None:
    """(id, secret) of a well-formed key; None for anything else."""
    body, _, checksum = text.rpartition("_")
    parts = body.split("_")
    if len(parts) != 3 or parts[0] != KEY_PREFIX or len(text) > 100 or not text.isascii():
        return None
    if len(parts[1]) != KEY_ID_LENGTH or len(parts[2]) != _SECRET_LENGTH or checksum != _checksum(body):
        return None
    return parts[1], parts[2]


def check_email(text: object) -> str:
    """The email address as stored: NFC, lower case, no spaces, one `@` with text on both sides."""
    if not isinstance(text, str):
        raise _refused_email(text, "is not text")
    email = unicodedata.normalize("NFC", text[:1_000]).strip().lower()
    local, at, domain = email.rpartition("@")
    if not at or not local or not domain or "@" in local:
        raise _refused_email(text, "is not an email address")
    if len(email) > EMAIL_LENGTH_MAX:
        raise _refused_email(text, f"has {len(email)} characters")
    if not email.isprintable() or any(character.isspace() for character in email):
        raise _refused_email(text, "contains a space or an unprintable character")
    return email


def check_password(text: object, email: str = "") -> str:
    """Checks length and common passwords. The password never appears in a message."""
    if not isinstance(text, str):
        raise _refused_password("the password is not text; put it in quotes")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _refused_password("the password contains half a character (a lone surrogate); remove it") from None
    if len(text) < PASSWORD_LENGTH_MIN:
        raise _refused_password(
            f"the password has {len(text)} characters; it needs at least {PASSWORD_LENGTH_MIN}: "
            "a few words in a row are long, strong and easy to remember"
        )
    if len(text) > PASSWORD_LENGTH_MAX:
        raise _refused_password(
            f"the password has {len(text)} characters; at most {PASSWORD_LENGTH_MAX} are allowed: shorten it"
        )
    if len(set(text)) < 4 or _is_of_address(text, email) or is_common(text):
        raise _refused_password(
            "the password is one of the most common ones and easy to guess; choose another: a few "
            "unrelated words are strong"
        )
    return text


def _is_of_address(text: str, email: str) -> bool:
    """Whether the password is the address or a part of it, with digits or signs around it."""
    bare = re.sub(r"^[\W\d_]+|[\W\d_]+$", "", text.lower())
    return bool(email) and bool(bare) and bare in (email, email.partition("@")[0], email.partition("@")[2])


def check_scopes(wanted: object) -> frozenset[Scope]:
    known = ", ".join(Scope)
    if not isinstance(wanted, list | tuple | set | frozenset) or not wanted:
        raise InvalidInput(f"no scope was given; name at least one of {known}", field="scopes", value=shown(wanted))
    try:
        return frozenset(Scope(each) for each in wanted)
    except ValueError:
        raise InvalidInput(
            f"scopes {shown(wanted)} include an unknown one; scopes are {known}", field="scopes"
        ) from None


def check_role(wanted: object) -> Role:
    try:
        return Role(str(wanted))
    except ValueError:
        raise InvalidInput(
            f"role '{shown(wanted)}' does not exist; roles are {', '.join(SCOPES_OF)}",
            field="role",
            value=shown(wanted),
        ) from None


def check_key_life(life: timedelta) -> timedelta:
    if not timedelta(minutes=1) <= life <= KEY_LIFE_MAX:
        raise InvalidInput(
            f"a key cannot be valid for {life}; give 1m to {KEY_LIFE_MAX.days}d (default {KEY_LIFE_DEFAULT.days}d)",
            field="expires_in",
        )
    return life


def _checksum(body: str) -> str:
    return _base62(zlib.crc32(body.encode()), _CRC_LENGTH)


def _base62(number: int, length: int) -> str:
    digits = []
    for _ in range(length):
        number, rest = divmod(number, 62)
        digits.append(_BASE62[rest])
    return "".join(reversed(digits))


def _refused_email(text: object, what: str) -> InvalidInput:
    return InvalidInput(
        f"email '{shown(text)}' {what}; write it like ann@example.com, at most {EMAIL_LENGTH_MAX} characters",
        field="email",
        value=shown(text),
    )


def _refused_password(message: str) -> InvalidInput:
    return InvalidInput(message, field="password")


def email_taken(email: str) -> Conflict:
    return Conflict(
        f"another user already has the email address {email!r}; addresses are unique, choose another",
        kind="user",
        name=email,
    )


def no_owner_left(tenant_id: str) -> Conflict:
    return Conflict(
        f"this would leave tenant {tenant_id!r} without an owner; every tenant needs one: make another "
        "member an owner first",
        kind="member",
        name=tenant_id,
    )

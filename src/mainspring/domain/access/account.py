"""People, their places in tenants, and what proves who they are: passwords, sessions, API keys, one-time links. Pure.

Nothing secret is kept: of a key, a session and a link there is only the SHA-256 of a random text, of a password only
what a slow hash left of it. A random text of 256 bits needs no slow hash: there is nothing to guess.
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
PASSWORD_LENGTH_MAX: Final = 256  # more is no stronger, and every character is hashed
SESSION_IDLE: Final = timedelta(hours=12)
SESSION_LIFE: Final = timedelta(days=14)
LINK_LIFE: Final = timedelta(hours=24)
KEY_LIFE_DEFAULT: Final = timedelta(days=90)
KEY_LIFE_MAX: Final = timedelta(days=3_660)
SEEN_COARSELY: Final = timedelta(seconds=60)  # how exactly "last used" is known: a write a minute, not one a request
KEY_ID_LENGTH: Final = 8
KEY_PREFIX: Final = "ms"
_SECRET_LENGTH: Final = 43  # 32 bytes in base 62
_CRC_LENGTH: Final = 6
_BASE62: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


class Proof(StrEnum):
    """What proved that an e-mail address belongs to the person who uses the account."""

    NONE = ""
    UNKNOWN = "unknown"  # an account from before this was recorded
    EMAIL = "email"  # a link that was sent to the address was used
    SSO = "sso"  # the OIDC issuer has verified it
    OPERATOR = "operator"  # an operator of the installation made the link, or set the password


PROVED: Final = frozenset({Proof.EMAIL, Proof.SSO, Proof.OPERATOR})


def proof_by_tenant(tenant_id: str) -> str:
    """The password was set through a link of this tenant, which was shown to who made it: nothing is proved."""
    return f"tenant:{tenant_id}"


class MemberStatus(StrEnum):
    ACTIVE = "active"
    INVITED = "invited"  # has not accepted yet
    UNPROVED = "unproved"  # another tenant's link set the password, and the address was never proved
    DISABLED = "disabled"


class User(Struct, frozen=True):
    id: str
    email: str
    name: str
    is_operator: bool  # of the installation: may see and make tenants and users
    created_at: datetime
    disabled_at: datetime | None = None
    subject: str = ""  # who this is at the OIDC issuer: `issuer|sub`
    proof: str = ""  # what proved that the address is this person's: a Proof, or the tenant whose link set the password
    home: str = ""  # the tenant that requests act in which name none
    has_password: bool = False

    @property
    def is_proved(self) -> bool:
        """Whether the address was proved to more than one tenant's word."""
        return self.proof in PROVED

    def may_act_in(self, tenant_id: str) -> bool:
        """Whether a login counts in this tenant.

        A password that was set through one tenant's link, by a person whose address was never proved, counts in that
        tenant only: who made the link may have used it.
        """
        return self.is_proved or self.proof in (Proof.NONE, Proof.UNKNOWN, proof_by_tenant(tenant_id))


class Member(Struct, frozen=True):
    """A user in one tenant; or somebody invited there, who has no user id yet."""

    tenant_id: str
    user_id: str
    email: str
    name: str
    role: Role
    created_at: datetime
    disabled: bool = False
    status: MemberStatus = MemberStatus.ACTIVE
    expires_at: datetime | None = None  # of the invitation's link


class MemberInvitation(Struct, frozen=True):
    """A place in a tenant that is offered to an address. The person who holds the link accepts it."""

    tenant_id: str
    email: str
    name: str
    role: Role
    proof: str  # what using the link proves about the address
    created_at: datetime
    expires_at: datetime

    @property
    def member(self) -> Member:
        """As it is listed among the members: the same for an address that has an account and for one that has none."""
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
    """The same from the user's side."""

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
    """A secret shared with an app that shows codes, and what is left of the recovery codes."""

    user_id: str
    sealed: str
    confirmed_at: datetime | None = None  # None: begun, and not in force yet
    last_step: int = 0  # of the newest code that was used
    recovery: tuple[str, ...] = ()  # digests


class Link(Struct, frozen=True):
    """A way in that opens once: to make the first owner, or to set one user's password."""

    user_id: str  # "": the first owner, who does not exist yet
    expires_at: datetime


class IdentityClaims(Struct, frozen=True):
    """What an OIDC issuer vouches for."""

    issuer: str
    subject: str
    email: str = ""
    email_verified: bool = False
    name: str = ""


class Bucket(Struct, frozen=True):
    """How often something may be tried: `burst` times at once, then once every `every`."""

    name: str
    burst: int
    every: timedelta


def login_buckets(email: str, address: str, device: str) -> tuple[Bucket, ...]:
    """What one attempt to log in counts against.

    An account: at most 20 in any hour, from wherever they come. A device that this account was used on before has a
    bucket of its own, so that a stranger's guesses do not lock the owner out. An address: at most 120 in any hour.
    """
    whose = digest(email)[:32]
    of_account = Bucket(
        f"device:{whose}:{device}" if device else f"account:{whose}", burst=5, every=timedelta(minutes=4)
    )
    return (of_account, Bucket(f"address:{neighbourhood(address)}", burst=20, every=timedelta(seconds=36)))


def guess_bucket(address: str) -> Bucket:
    """What a wrong API key, session or link counts against."""
    return Bucket(f"guess:{neighbourhood(address)}", burst=20, every=timedelta(seconds=6))


def invitation_buckets(tenant_id: str, email: str) -> tuple[Bucket, ...]:
    """What one email that invites somebody counts against: nobody's mailbox is filled by way of us."""
    return (
        Bucket(f"invited:{digest(email)[:32]}", burst=3, every=timedelta(hours=1)),
        Bucket(f"inviting:{tenant_id}", burst=50, every=timedelta(minutes=1)),
    )


def neighbourhood(address: str) -> str:
    """An IPv4 address, or the /64 of an IPv6 one: whoever has one address of it has them all."""
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
    """The key as it is shown, once: `ms_<id>_<secret>_<checksum>`. The checksum lets a scanner know a leaked one."""
    body = f"{KEY_PREFIX}_{key_id}_{_base62(int.from_bytes(secret, 'big'), _SECRET_LENGTH)}"
    return f"{body}_{_checksum(body)}"


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
    """The address as it is stored: NFC, lower case, no spaces; one `@` with something on both sides of it."""
    if not isinstance(text, str):
        raise _refused_email(text, "is not text")
    email = unicodedata.normalize("NFC", text[:1_000]).strip().lower()
    local, at, domain = email.rpartition("@")
    if not at or not local or not domain or "@" in local:
        raise _refused_email(text, "is no e-mail address")
    if len(email) > EMAIL_LENGTH_MAX:
        raise _refused_email(text, f"has {len(email)} characters")
    if not email.isprintable() or any(character.isspace() for character in email):
        raise _refused_email(text, "contains a space or something unprintable")
    return email


def check_password(text: object, email: str = "") -> str:
    """Long enough to be worth a slow hash, and none that is guessed first. Never part of a message."""
    if not isinstance(text, str):
        raise _refused_password("the password is not text; put it in quotes")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _refused_password("the password holds half a character (a lone surrogate); leave that out") from None
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
            "the password is among the first that anybody would try; choose another: a few words that do not belong "
            "together"
        )
    return text


def _is_of_address(text: str, email: str) -> bool:
    """The address or a part of it, with digits or signs around it."""
    bare = re.sub(r"^[\W\d_]+|[\W\d_]+$", "", text.lower())
    return bool(email) and bool(bare) and bare in (email, email.partition("@")[0], email.partition("@")[2])


def check_scopes(wanted: object) -> frozenset[Scope]:
    known = ", ".join(Scope)
    if not isinstance(wanted, list | tuple | set | frozenset) or not wanted:
        raise InvalidInput(f"no scope was given; name one or more of {known}", field="scopes", value=shown(wanted))
    try:
        return frozenset(Scope(each) for each in wanted)
    except ValueError:
        raise InvalidInput(
            f"scopes {shown(wanted)} hold one that does not exist; scopes are {known}", field="scopes"
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
            f"a key cannot live for {life}; give 1m to {KEY_LIFE_MAX.days}d (default {KEY_LIFE_DEFAULT.days}d)",
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
        f"another user has the e-mail address {email!r} already; each user has one of its own, choose another",
        kind="user",
        name=email,
    )


def no_owner_left(tenant_id: str) -> Conflict:
    return Conflict(
        f"this would leave tenant {tenant_id!r} without an owner; every tenant keeps one: make another one first",
        kind="member",
        name=tenant_id,
    )

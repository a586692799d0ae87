"""Map users, credentials and audit entries to rows. Both databases share this, except for the form of times."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct

from mainspring.domain.access.account import (
    ApiKey,
    Bucket,
    LoginSession,
    Member,
    MemberInvitation,
    Membership,
    MemberStatus,
    SecondFactor,
    User,
)
from mainspring.domain.access.audit import AuditEntry, AuditHead, is_audited, state_digest
from mainspring.domain.access.passkey import Ceremony, Challenge, Passkey
from mainspring.domain.access.scope import Role, Scope
from mainspring.domain.endpoint import Endpoint
from mainspring.domain.event import Event
from mainspring.domain.instant import to_us
from mainspring.ports.accounts import LiveSession

USER_COLUMNS = tuple(field for field in User.__struct_fields__ if field != "has_password")
API_KEY_COLUMNS = ApiKey.__struct_fields__
SESSION_COLUMNS = tuple("account_id" if field == "user_id" else field for field in LoginSession.__struct_fields__)
PASSKEY_COLUMNS = tuple("account_id" if field == "user_id" else field for field in Passkey.__struct_fields__)
CHALLENGE_COLUMNS = Challenge.__struct_fields__
INVITATION_COLUMNS = MemberInvitation.__struct_fields__
AUDIT_COLUMNS = AuditEntry.__struct_fields__
_AUDIT_TYPES = {"seq": "bigint", "at": "timestamptz"}
AUDIT_PAGE = 1_000  # entries read at once by a verification

When = Callable[[Any], datetime | None]  # a time as a database returns it


def _listed(columns: Iterable[str], prefix: str = "") -> str:
    return ", ".join(prefix + column for column in columns)


ACCOUNT_FRAGMENTS = {
    "user_columns": _listed(USER_COLUMNS),
    "user_parameters": _listed(USER_COLUMNS, ":"),
    "member_columns": f"tenant_id, role, member.created_at, {_listed(USER_COLUMNS, 'account.')}, password_hash",
    "invitation_columns": _listed(INVITATION_COLUMNS),
    "invitation_parameters": _listed(INVITATION_COLUMNS, ":"),
    "api_key_columns": _listed(API_KEY_COLUMNS),
    "api_key_parameters": _listed(API_KEY_COLUMNS, ":"),
    "session_columns": _listed(SESSION_COLUMNS),
    "session_parameters": _listed(SESSION_COLUMNS, ":"),
    "passkey_columns": _listed(PASSKEY_COLUMNS),
    "passkey_parameters": _listed(PASSKEY_COLUMNS, ":"),
    "challenge_columns": _listed(CHALLENGE_COLUMNS),
    "challenge_parameters": _listed(CHALLENGE_COLUMNS, ":"),
    "visit_columns": f"{_listed(SESSION_COLUMNS, 'session.')}, {_listed(USER_COLUMNS, 'account.')}, password_hash",
    "audit_columns": _listed(AUDIT_COLUMNS),
    "audit_parameters": _listed(AUDIT_COLUMNS, ":"),
    "audit_arrays": ", ".join(f":{each}::{_AUDIT_TYPES.get(each, 'text')}[]" for each in AUDIT_COLUMNS),
}


def struct_values(value: Struct) -> list[object]:
    return [getattr(value, field) for field in value.__struct_fields__]


def user_values(user: User) -> list[object]:
    return [getattr(user, column) for column in USER_COLUMNS]


def user_from(row: Sequence[Any], t: When) -> tuple[User, str]:
    """From USER_COLUMNS and the hash of the password."""
    r = row
    user = User(r[0], r[1], r[2], bool(r[3]), _at(t(r[4])), t(r[5]), r[6], r[7], r[8], bool(r[9]))
    return user, str(r[9])


def member_from(row: Sequence[Any], t: When) -> Member:
    """From the tenant, the role, the start of the membership, and the columns of `user_from`."""
    tenant_id, role, since, *account = row
    user, _ = user_from(account, t)
    status = MemberStatus.ACTIVE if user.may_act_in(tenant_id) else MemberStatus.UNPROVED
    disabled = user.disabled_at is not None
    return Member(
        tenant_id,
        user.id,
        user.email,
        user.name,
        Role(role),
        _at(t(since)),
        disabled,
        MemberStatus.DISABLED if disabled else status,
    )


def invitation_from(row: Sequence[Any], t: When) -> MemberInvitation:
    tenant_id, email, name, role, proof, created_at, expires_at = row
    return MemberInvitation(tenant_id, email, name, Role(role), proof, _at(t(created_at)), _at(t(expires_at)))


def has_owner(members: Iterable[Member]) -> bool:
    return any(member.role is Role.OWNER and not member.disabled for member in members)


def api_key_values(key: ApiKey) -> list[object]:
    values = struct_values(key)
    values[3] = " ".join(sorted(key.scopes))
    return values


def api_key_from(row: Sequence[Any], t: When) -> ApiKey:
    r = row
    scopes = frozenset(Scope(each) for each in r[3].split())
    return ApiKey(r[0], r[1], r[2], scopes, bool(r[4]), r[5], _at(t(r[6])), _at(t(r[7])), t(r[8]), t(r[9]))


def second_factor_values(factor: SecondFactor) -> tuple[object, ...]:
    return factor.user_id, factor.sealed, factor.confirmed_at, factor.last_step, " ".join(factor.recovery)


def second_factor_from(row: Sequence[Any], t: When) -> SecondFactor:
    return SecondFactor(row[0], row[1], t(row[2]), row[3], tuple(row[4].split()))


def passkey_from(row: Sequence[Any], t: When) -> Passkey:
    r = row
    return Passkey(r[0], r[1], r[2], r[3], r[4], r[5], r[6], _at(t(r[7])), t(r[8]))


def live_challenge(rows: Sequence[Sequence[Any]], now: datetime, t: When) -> Challenge | None:
    """The challenge that was used up, unless it has expired."""
    for challenge_id, ceremony, bound_to, value, expires_at in rows:
        challenge = Challenge(challenge_id, Ceremony(ceremony), bound_to, value, _at(t(expires_at)))
        return challenge if challenge.expires_at > now else None
    return None


def without(present: Sequence[str], spent: str) -> tuple[str, str]:
    """Recovery codes as stored: the remaining ones, and those before."""
    return " ".join(each for each in present if each != spent), " ".join(present)


def session_from(row: Sequence[Any], t: When) -> LoginSession:
    r = row
    return LoginSession(r[0], r[1], _at(t(r[2])), _at(t(r[3])), _at(t(r[4])), r[5], r[6])


def visit_from(row: Sequence[Any], memberships: Iterable[Sequence[Any]], t: When) -> LiveSession:
    session = session_from(row, t)
    user, _ = user_from(row[len(SESSION_COLUMNS) :], t)
    places = (Membership(tenant, name, Role(role), _at(t(since))) for tenant, name, role, since in memberships)
    return LiveSession(session, user, tuple(place for place in places if user.may_act_in(place.tenant_id)))


def audit_entry_from(row: Sequence[Any], t: When) -> AuditEntry:
    return AuditEntry(row[0], row[1], _at(t(row[2])), *row[3:])


def head_from(rows: Sequence[Sequence[Any]]) -> AuditHead:
    return AuditHead(*rows[0]) if rows else AuditHead()


def audited_by_tenant(events: Iterable[Event]) -> list[tuple[str, list[Event]]]:
    """Ordered by id, so that two transactions lock the same heads in the same order."""
    tenants: dict[str, list[Event]] = {}
    for event in events:
        if is_audited(event):
            tenants.setdefault(event.tenant_id, []).append(event)
    return sorted(tenants.items())


def digests(before: Sequence[Endpoint], after: Sequence[Endpoint]) -> dict[str, tuple[str, str]]:
    old = {endpoint.id: state_digest(endpoint) for endpoint in before}
    new = {endpoint.id: state_digest(endpoint) for endpoint in after}
    return {each: (old.get(each, ""), new.get(each, "")) for each in (*old, *new)}


def turn_values(bucket: Bucket, now: datetime) -> tuple[str, int, int, int, int]:
    """Parameters of `take_turn`. A bucket drains with time; it is full when it is `burst` turns ahead of the clock."""
    now_us, every_us = to_us(now), _us(bucket)
    return bucket.name, now_us + every_us, now_us, every_us, now_us + (bucket.burst - 1) * every_us


def wait_s(bucket: Bucket, now: datetime, free_us: int) -> float:
    """How long until a full bucket has room for one more attempt."""
    return (free_us - (bucket.burst - 1) * _us(bucket) - to_us(now)) / 1_000_000


def _us(bucket: Bucket) -> int:
    return int(bucket.every.total_seconds() * 1_000_000)


def turn_back_values(bucket: Bucket) -> tuple[int, str]:
    return _us(bucket), bucket.name


def _at(instant: datetime | None) -> datetime:
    assert instant is not None, "the column is NOT NULL"
    return instant

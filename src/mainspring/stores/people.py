"""How users, credentials and audit entries lie in rows; the same in both databases but for the form of instants."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct

from mainspring.domain.access import Role, Scope
from mainspring.domain.account import ApiKey, Bucket, Member, Membership, Session, User
from mainspring.domain.audit import AuditEntry, AuditHead, is_audited, state_digest
from mainspring.domain.endpoint import Endpoint
from mainspring.domain.event import Event
from mainspring.domain.instant import to_us
from mainspring.ports.accounts import Visit

USER_COLUMNS = tuple(field for field in User.__struct_fields__ if field != "has_password")
API_KEY_COLUMNS = ApiKey.__struct_fields__
SESSION_COLUMNS = tuple("account_id" if field == "user_id" else field for field in Session.__struct_fields__)
AUDIT_COLUMNS = AuditEntry.__struct_fields__
_AUDIT_TYPES = {"seq": "bigint", "at": "timestamptz"}
AUDIT_PAGE = 1_000  # entries that a verification reads at once

When = Callable[[Any], datetime | None]  # an instant as a database gives it


def _listed(columns: Iterable[str], prefix: str = "") -> str:
    return ", ".join(prefix + column for column in columns)


ACCOUNT_FRAGMENTS = {
    "user_columns": _listed(USER_COLUMNS),
    "user_parameters": _listed(USER_COLUMNS, ":"),
    "api_key_columns": _listed(API_KEY_COLUMNS),
    "api_key_parameters": _listed(API_KEY_COLUMNS, ":"),
    "session_columns": _listed(SESSION_COLUMNS),
    "session_parameters": _listed(SESSION_COLUMNS, ":"),
    "visit_columns": f"{_listed(SESSION_COLUMNS, 'session.')}, {_listed(USER_COLUMNS, 'account.')}, password_hash",
    "audit_columns": _listed(AUDIT_COLUMNS),
    "audit_parameters": _listed(AUDIT_COLUMNS, ":"),
    "audit_arrays": ", ".join(f":{each}::{_AUDIT_TYPES.get(each, 'text')}[]" for each in AUDIT_COLUMNS),
}


def struct_values(value: Struct) -> list[object]:
    return [getattr(value, field) for field in value.__struct_fields__]


def user_values(user: User) -> list[object]:
    return struct_values(user)[: len(USER_COLUMNS)]


def user_from(row: Sequence[Any], t: When) -> tuple[User, str]:
    """From USER_COLUMNS and the hash of the password."""
    r = row
    return User(r[0], r[1], r[2], bool(r[3]), _at(t(r[4])), t(r[5]), r[6], bool(r[7])), str(r[7])


def member_from(row: Sequence[Any], t: When) -> Member:
    return Member(row[0], row[1], row[2], row[3], Role(row[4]), _at(t(row[5])), bool(row[6]))


def api_key_values(key: ApiKey) -> list[object]:
    values = struct_values(key)
    values[3] = " ".join(sorted(key.scopes))
    return values


def api_key_from(row: Sequence[Any], t: When) -> ApiKey:
    r = row
    scopes = frozenset(Scope(each) for each in r[3].split())
    return ApiKey(r[0], r[1], r[2], scopes, bool(r[4]), r[5], _at(t(r[6])), _at(t(r[7])), t(r[8]), t(r[9]))


def visit_from(row: Sequence[Any], memberships: Iterable[Sequence[Any]], t: When) -> Visit:
    r = row
    session = Session(r[0], r[1], _at(t(r[2])), _at(t(r[3])), _at(t(r[4])), r[5], r[6])
    user, _ = user_from(r[7:], t)
    return Visit(session, user, tuple(Membership(tenant, name, Role(role)) for tenant, name, role in memberships))


def audit_entry_from(row: Sequence[Any], t: When) -> AuditEntry:
    return AuditEntry(row[0], row[1], _at(t(row[2])), *row[3:])


def head_from(rows: Sequence[Sequence[Any]]) -> AuditHead:
    return AuditHead(*rows[0]) if rows else AuditHead()


def audited_by_tenant(events: Iterable[Event]) -> list[tuple[str, list[Event]]]:
    """In the order of ids, so that two transactions lock the same heads in the same order."""
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
    """Parameters of `take_turn`. A bucket drains as the clock goes; it is full when it is `burst` turns ahead of it."""
    now_us, every_us = to_us(now), _us(bucket)
    return bucket.name, now_us + every_us, now_us, every_us, now_us + (bucket.burst - 1) * every_us


def wait_s(bucket: Bucket, now: datetime, free_us: int) -> float:
    """How long until a full bucket takes one more."""
    return (free_us - (bucket.burst - 1) * _us(bucket) - to_us(now)) / 1_000_000


def _us(bucket: Bucket) -> int:
    return int(bucket.every.total_seconds() * 1_000_000)


def turn_back_values(bucket: Bucket) -> tuple[int, str]:
    return _us(bucket), bucket.name


def _at(instant: datetime | None) -> datetime:
    assert instant is not None, "the column is NOT NULL"
    return instant

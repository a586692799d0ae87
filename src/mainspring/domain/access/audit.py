"""The audit trail: who did what, when and from where, in a tamper-evident chain. Pure.

Each tenant has a chain; the installation has one under the tenant "". The seal of an entry is an HMAC over the previous
seal and the whole entry, so write access to the database without the key is not enough to forge one. The head of a
chain records its length, so a removed tail is detected.
"""

import hashlib
import hmac
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec
from msgspec import Struct

from mainspring.domain.event import Event, EventType
from mainspring.domain.instant import to_us
from mainspring.domain.notify.event_filter import CONFIDENTIAL

FIRST_SEAL: Final = "0" * 64
INSTALLATION: Final = ""  # chain of events that concern the whole installation: logins, users, tenants
# Actions of people and models that must be attributable. Actions of the scheduler are in the runs.
AUDITED: Final = CONFIDENTIAL | frozenset(
    {
        EventType.TENANT_CREATED,
        EventType.QUOTA_CHANGED,
        EventType.HINT_WRITTEN,
        EventType.HINT_CLEARED,
        EventType.MANUAL_RUN_REQUESTED,
        EventType.FAILURES_RESET,
        EventType.ENDPOINT_CREATED,
        EventType.ENDPOINT_UPDATED,
        EventType.ENDPOINT_PAUSED,
        EventType.ENDPOINT_RESUMED,
        EventType.ENDPOINT_ARCHIVED,
        EventType.ENDPOINT_DELETED,
        EventType.COMMAND_REFUSED,
        EventType.PING_URL_CREATED,
        EventType.PING_URL_REVOKED,
        EventType.JOB_CREATED,
        EventType.JOB_UPDATED,
        EventType.JOB_PAUSED,
        EventType.JOB_RESUMED,
        EventType.JOB_ARCHIVED,
        EventType.WEBHOOK_CREATED,
        EventType.WEBHOOK_UPDATED,
        EventType.WEBHOOK_DELETED,
        EventType.CONNECTION_CREATED,
        EventType.CONNECTION_UPDATED,
        EventType.CONNECTION_DELETED,
        EventType.CONNECTION_TESTED,
        EventType.ALERT_CREATED,
        EventType.ALERT_UPDATED,
        EventType.ALERT_DELETED,
        EventType.CALENDAR_CREATED,
        EventType.CALENDAR_UPDATED,
        EventType.CALENDAR_DELETED,
        EventType.MAINTENANCE_CREATED,
        EventType.MAINTENANCE_UPDATED,
        EventType.MAINTENANCE_DELETED,
        EventType.RULES_CHANGED,
        EventType.PLANNER_MODE_SET,
        EventType.PROPOSAL_APPROVED,
        EventType.PROPOSAL_REJECTED,
        EventType.WORKFLOW_PUBLISHED,
        EventType.WORKFLOW_ARCHIVED,
        EventType.WORKFLOW_RESTORED,
        EventType.EXECUTION_ORDERED,
        EventType.EXECUTION_ERASED,
    }
)
# The subjects that an event may have.
_SUBJECTS: Final = (
    "subject",
    "webhook",
    "alert",
    "connection",
    "execution",
    "workflow",
    "name",
)
UNAUDITED_ACTORS: Final = ("system", "rule")  # a rule's hints come with every run and follow from what a user wrote
_encode = msgspec.json.Encoder(order="deterministic").encode


class AuditKeys(Struct):
    """The key that seals new entries (`primary`) and every key that may have sealed older ones, by id.

    Mutable: its holder seals with a new key as soon as the key ring changes.
    """

    primary: str = ""
    keys: dict[str, bytes] = msgspec.field(default_factory=lambda: {"": b""})


class AuditEntry(Struct, frozen=True):
    tenant_id: str
    seq: int  # 1, 2, 3, ... without a gap
    at: datetime
    actor: str
    address: str  # origin of the request; "": this machine or a worker
    act: str
    subject: str  # the subject of the action
    detail: str  # JSON
    before: str  # SHA-256 of the state before and after; "": did not exist
    after: str
    key_id: str
    seal: str


class AuditHead(Struct, frozen=True):
    """Length and last seal of a chain."""

    seq: int = 0
    seal: str = FIRST_SEAL


class AuditFault(Struct, frozen=True):
    """The first entry of a chain that was changed, moved or removed."""

    seq: int
    why: str


def is_audited(event: Event) -> bool:
    return event.type in AUDITED and not event.actor.startswith(UNAUDITED_ACTORS)


def chained(
    head: AuditHead, events: Sequence[Event], states: Mapping[str, tuple[str, str]], address: str, keys: AuditKeys
) -> list[AuditEntry]:
    """Builds the entries that follow `head`. `states` maps endpoint ids to digests of the state before and after."""
    entries: list[AuditEntry] = []
    for event in events:
        before, after = states.get(event.endpoint_id, ("", ""))
        entry = AuditEntry(
            event.tenant_id, head.seq + 1, event.at, event.actor, address, event.type.value,
            _subject(event), _encode(event.data).decode(),
            before or _state(event, "before"), after or _state(event, "after"), keys.primary, "",
        )  # fmt: skip
        entry = msgspec.structs.replace(entry, seal=_seal(head.seal, entry, keys.keys[keys.primary]))
        entries.append(entry)
        head = AuditHead(entry.seq, entry.seal)
    return entries


def follow(head: AuditHead, entries: Iterable[AuditEntry], keys: AuditKeys) -> AuditHead | AuditFault:
    """Follows the chain from `head` over the next entries. Returns the new head, or the first bad entry."""
    for entry in entries:
        if entry.seq != head.seq + 1:
            return AuditFault(head.seq + 1, f"entry {head.seq + 1} is missing; entry {entry.seq} comes next")
        key = keys.keys.get(entry.key_id)
        if key is None:
            return AuditFault(
                entry.seq, f"the entry is sealed with key {entry.key_id!r}, which this process does not have"
            )
        if not hmac.compare_digest(_seal(head.seal, entry, key), entry.seal):
            return AuditFault(entry.seq, "its seal does not match: the entry was changed, moved or inserted later")
        head = AuditHead(entry.seq, entry.seal)
    return head


def check_end(reached: AuditHead, head: AuditHead) -> AuditFault | None:
    """Checks that the entries reach the head as it was before they were read; more may have been added since."""
    if reached.seq < head.seq:
        return AuditFault(reached.seq + 1, f"the end is missing: the trail had {head.seq} entries")
    if reached.seq == head.seq and reached.seal != head.seal:
        return AuditFault(head.seq, "the head of the trail was changed: its seal differs from that of the last entry")
    return None


def state_digest(value: object) -> str:
    """SHA-256 of any domain value; equal values have equal digests."""
    return hashlib.sha256(_encode(value)).hexdigest()


def _subject(event: Event) -> str:
    return event.endpoint_id or next((str(event.data[name]) for name in _SUBJECTS if event.data.get(name)), "")


def _state(event: Event, name: str) -> str:
    return state_digest(event.data[name]) if event.data.get(name) is not None else ""


def _seal(previous: str, entry: AuditEntry, key: bytes) -> str:
    said = (
        previous, entry.tenant_id, entry.seq, to_us(entry.at), entry.actor, entry.address, entry.act, entry.subject,
        entry.detail, entry.before, entry.after, entry.key_id,
    )  # fmt: skip
    return hmac.new(key, _encode(said), hashlib.sha256).hexdigest()

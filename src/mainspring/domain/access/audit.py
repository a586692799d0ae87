"""The audit trail: who did what, when and from where, in a chain that shows every change made to it. Pure.

Each tenant has a chain, and the installation one under the tenant "". An entry's seal is an HMAC over the seal before
it and all that the entry says; whoever can write the database but has not the key can make no seal. The head of a
chain remembers how long it is, so that a cut tail is noticed.
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
INSTALLATION: Final = ""  # the tenant of what concerns them all: logins, users, tenants
# What people (and models) did that somebody may have to answer for. What the scheduler does by itself is in the runs.
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
        EventType.JOB_CREATED,
        EventType.JOB_UPDATED,
        EventType.JOB_PAUSED,
        EventType.JOB_RESUMED,
        EventType.JOB_ARCHIVED,
        EventType.WEBHOOK_CREATED,
        EventType.WEBHOOK_UPDATED,
        EventType.WEBHOOK_DELETED,
        EventType.ALERT_CREATED,
        EventType.ALERT_UPDATED,
        EventType.ALERT_DELETED,
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
_SUBJECTS: Final = ("subject", "webhook", "alert", "execution", "workflow", "name")  # what an event may be about
UNAUDITED_ACTORS: Final = ("system", "rule")  # a rule's hints come with every run, and follow from what a user wrote
_encode = msgspec.json.Encoder(order="deterministic").encode


class AuditKeys(Struct):
    """What entries are sealed with (`primary`), and every key that older ones may have been sealed with, by id.

    Not frozen: whoever holds it seals with a new key as soon as the ring that it belongs to does.
    """

    primary: str = ""
    keys: dict[str, bytes] = msgspec.field(default_factory=lambda: {"": b""})


class AuditEntry(Struct, frozen=True):
    tenant_id: str
    seq: int  # 1, 2, 3, ... without a gap
    at: datetime
    actor: str
    address: str  # where the request came from; "": this machine, or a worker
    act: str
    subject: str  # what it was done to
    detail: str  # JSON
    before: str  # SHA-256 of what was there, and of what is there now; "": nothing
    after: str
    key_id: str
    seal: str


class AuditHead(Struct, frozen=True):
    """How far a chain goes, and how it ends."""

    seq: int = 0
    seal: str = FIRST_SEAL


class AuditFault(Struct, frozen=True):
    """The first entry of a chain that is not as it was written."""

    seq: int
    why: str


def is_audited(event: Event) -> bool:
    return event.type in AUDITED and not event.actor.startswith(UNAUDITED_ACTORS)


def chained(
    head: AuditHead, events: Sequence[Event], states: Mapping[str, tuple[str, str]], address: str, keys: AuditKeys
) -> list[AuditEntry]:
    """The entries that follow `head`; `states` has what an endpoint was before and is after, as digests, by its id."""
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
    """Where the chain leads from `head` over the next entries, or the first one that does not fit."""
    for entry in entries:
        if entry.seq != head.seq + 1:
            return AuditFault(head.seq + 1, f"entry {head.seq + 1} is missing; entry {entry.seq} comes next")
        key = keys.keys.get(entry.key_id)
        if key is None:
            return AuditFault(entry.seq, f"it is sealed with key {entry.key_id!r}, which this process does not have")
        if not hmac.compare_digest(_seal(head.seal, entry, key), entry.seal):
            return AuditFault(entry.seq, "its seal does not fit: it was changed, moved, or put there later")
        head = AuditHead(entry.seq, entry.seal)
    return head


def check_end(reached: AuditHead, head: AuditHead) -> AuditFault | None:
    """Whether the entries go as far as the head said before they were read; more may have come since."""
    if reached.seq < head.seq:
        return AuditFault(reached.seq + 1, f"the end is missing: the trail had {head.seq} entries")
    if reached.seq == head.seq and reached.seal != head.seal:
        return AuditFault(head.seq, "the head of the trail was changed: it has another seal than the last entry")
    return None


def state_digest(value: object) -> str:
    """SHA-256 of any domain value, the same for the same value."""
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

"""Map domain values to rows and back: the column lists that both databases share.

Times are timestamps in PostgreSQL and microseconds in SQLite; each store passes values through its own codec. The order
of a list is the order of its query's parameters, so lists are used by name from here only.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from operator import attrgetter
from typing import Any

import msgspec

from mainspring.domain.config_field import FieldKind
from mainspring.domain.endpoint import CONFIG_FIELDS, Endpoint, EndpointConfig, Job, JobStatus, RefusedAdvice
from mainspring.domain.event import Event, EventType, StoredEvent, place_of
from mainspring.domain.instant import from_us, to_us
from mainspring.domain.kinds.registry import decode_action, encode_action
from mainspring.domain.run import WITH_RESULT, Action, Body, Outcome, Run, RunStatus, RunTrigger
from mainspring.domain.schedule.callback_wait import CallbackWait
from mainspring.domain.schedule.claim import Claim
from mainspring.domain.schedule.finish import Finished
from mainspring.domain.schedule.hint import IntervalHint, OneShotHint
from mainspring.domain.templates import PastRun
from mainspring.domain.text import clean_text

JOB = "job"  # a field of an endpoint's configuration that is read by a join, and written as `job_id`
_CONFIGURED = tuple(name for name in EndpointConfig.__struct_fields__ if name != JOB)
_IDS = ("id", "tenant_id", "job_id")
_KEPT = ("host", "created_at", "updated_at", "version", "archived_at", "managed_by", "call_key", "days")
CONFIG_COLUMNS = (*_IDS, *_CONFIGURED, *_KEPT)
STATE_COLUMNS = (
    "job_active", "parked_at", "parked_reason", "paused_until", "pause_reason", "deferred_until",
    "failure_count", "not_before",
    "hint_interval_ms", "hint_interval_expires_at", "hint_interval_reason", "hint_interval_author",
    "hint_one_shot_at", "hint_one_shot_expires_at", "hint_one_shot_reason", "hint_one_shot_author",
    "anchor_at", "next_run_at", "source", "trail", "manual_at",
    "slot_at", "trigger", "attempt", "claim_epoch", "lease_until", "claimed_by", "run_id", "lost_count",
    "last_run_at", "last_status", "last_duration_ms", "ran_from_at", "ran_until_at",
    "pause_author", "advice_may_resume", "refused_advice", "failed_attempts", "waiting",
)  # fmt: skip
ENDPOINT_COLUMNS = (*_IDS, *EndpointConfig.__struct_fields__, *_KEPT, *STATE_COLUMNS)
ENDPOINT_INSTANTS = [
    index
    for index, column in enumerate(ENDPOINT_COLUMNS)
    if column.endswith(("_at", "_until")) or column == "not_before"
]
# The fields that an ordinary claim and an ordinary finish change: two short writes per run instead of two long ones.
LEASE_COLUMNS = ("slot_at", "trigger", "attempt", "lease_until", "run_id")
OUTCOME_COLUMNS = (
    "failure_count", "anchor_at", "next_run_at", "source", "trail", "slot_at", "lease_until", "lost_count",
    "last_run_at", "last_status", "last_duration_ms",
)  # fmt: skip
RUN_COLUMNS = Run.__struct_fields__
RUN_SUMMARY_COLUMNS = tuple(column for column in RUN_COLUMNS if column not in ("trail", "detail"))  # as lists show them
JOB_COLUMNS = Job.__struct_fields__
RESULT_COLUMNS = (
    "id", "tenant_id", "status", "finished_at", "duration_ms", "status_code", "error_code", "error", "detail",
    "started_at", "body_type", "body_truncated", "body_seen", "body",
)  # fmt: skip
# Runs that rules and health read: a missed run counts if no ping arrived, and not if no worker could run a slot.
HAS_RESULT = f"(status IN {tuple(map(str, WITH_RESULT))} AND missed_count = 0)"
EVENT_COLUMNS = ("tenant_id", "at", "events")

ERROR_TEXT_MAX = 2_000
DETAIL_MAX = 100_000
_TRIGGER = {trigger.value: trigger for trigger in RunTrigger}
_REFUSED = msgspec.json.Decoder(RefusedAdvice)
_WAITING = msgspec.json.Decoder(CallbackWait)
_EVENTS = msgspec.json.Decoder(list[Event])
_encode = msgspec.json.Encoder().encode

Row = tuple[object, ...]
Codec = Callable[[datetime | None], object]  # a time as a database takes it


def as_it_is(instant: datetime | None) -> object:
    return instant


def qualified(columns: Iterable[str]) -> list[str]:
    """Columns of an endpoint as a query names them: two are in both of its tables, and one is in its job's."""
    names = {
        "tenant_id": "endpoint.tenant_id",
        "host": "endpoint.host",
        JOB: "(SELECT job.name FROM job WHERE job.id = endpoint.job_id) AS job",
    }
    return [names.get(column, column) for column in columns]


@lru_cache(maxsize=65_536)
def _action(text: str) -> Action:
    """Actions are frozen and change rarely: one decoded value serves every run of an endpoint."""
    return decode_action(text)


@lru_cache(maxsize=64)
def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split(",")) if text else ()


def _decoders() -> dict[str, Callable[[Any], Any]]:
    """How a column becomes the field of its name, if it does not have the field's type."""
    found: dict[str, Callable[[Any], Any]] = {
        "action": _action,
        "job_active": bool,
        "trigger": _TRIGGER.__getitem__,
        "advice_may_resume": bool,
        "refused_advice": lambda text: _REFUSED.decode(text) if text else None,
        "waiting": lambda text: _WAITING.decode(text) if text else None,
    }
    for field in CONFIG_FIELDS:
        if field.name in _CONFIGURED:
            if field.enum is not None:
                found[field.name] = {each.value: each for each in field.enum}.__getitem__
            elif field.kind is FieldKind.SWITCH:
                found[field.name] = bool  # SQLite has 0 and 1
            elif field.kind is FieldKind.CHOICES:
                found[field.name] = _words
            elif field.struct is not None:
                found[field.name] = _group_decoder(field.struct)
    return found


def _group_decoder(struct: type[msgspec.Struct]) -> Callable[[str], msgspec.Struct | None]:
    """How the JSON of a group of settings is read; "" has no value."""
    decode = lru_cache(maxsize=4_096)(msgspec.json.Decoder(struct).decode)
    return lambda text: decode(text) if text else None


def _group_text(value: msgspec.Struct | None) -> str:
    return "" if value is None else _encode(value).decode()


_DECODED = [(ENDPOINT_COLUMNS.index(column), decode) for column, decode in _decoders().items()]
# Positions in a row. The fields of an Endpoint are in the order of its columns, except for the ids, which come after
# the configuration, and the eight columns of the hints, which are two fields.
_CONFIG_END = len(_IDS) + len(EndpointConfig.__struct_fields__)
_HINTS = ENDPOINT_COLUMNS.index("hint_interval_ms")
_ENCODED: list[tuple[int, Callable[[Any], str]]] = [
    (CONFIG_COLUMNS.index("action"), encode_action),
    *((CONFIG_COLUMNS.index(field.name), ",".join) for field in CONFIG_FIELDS if field.kind is FieldKind.CHOICES),
    *((CONFIG_COLUMNS.index(field.name), _group_text) for field in CONFIG_FIELDS if field.kind is FieldKind.GROUP),
]
_CONFIG = attrgetter(*CONFIG_COLUMNS)


def endpoint_from(row: Sequence[Any]) -> Endpoint:
    """An Endpoint from ENDPOINT_COLUMNS, with times as datetimes; the columns are typed by the schema."""
    r = list(row)
    for index, decode in _DECODED:
        r[index] = decode(r[index])
    c, h = _CONFIG_END, _HINTS
    interval_hint = None if r[h] is None else IntervalHint(*r[h : h + 4])
    one_shot_hint = None if r[h + 4] is None else OneShotHint(*r[h + 4 : h + 8])
    fields = (*r[3:c], r[0], r[1], r[2], *r[c:h], interval_hint, one_shot_hint, *r[h + 8 :])
    return Endpoint(*fields)


def config_values(endpoint: Endpoint) -> tuple[object, ...]:
    values = list(_CONFIG(endpoint))
    for index, encode in _ENCODED:
        values[index] = encode(values[index])
    return tuple(values)


def state_values(endpoint: Endpoint, t: Codec = as_it_is) -> tuple[object, ...]:
    e = endpoint
    i, o = e.interval_hint, e.one_shot_hint
    return (
        e.job_active, t(e.parked_at), e.parked_reason, t(e.paused_until), e.pause_reason, t(e.deferred_until),
        e.failure_count, t(e.not_before),
        *((None, None, "", "") if i is None else (i.interval_ms, t(i.expires_at), i.reason, i.author)),
        *((None, None, "", "") if o is None else (t(o.next_run_at), t(o.expires_at), o.reason, o.author)),
        t(e.anchor_at), t(e.next_run_at), e.source, e.trail, t(e.manual_at),
        t(e.slot_at), e.trigger, e.attempt, e.claim_epoch, t(e.lease_until), e.claimed_by, e.run_id, e.lost_count,
        t(e.last_run_at), e.last_status, e.last_duration_ms, t(e.ran_from_at), t(e.ran_until_at),
        e.pause_author, e.advice_may_resume,
        _group_text(e.refused_advice), e.failed_attempts, _group_text(e.waiting),
    )  # fmt: skip


def lease_values(endpoint: Endpoint, t: Codec) -> tuple[object, ...]:
    e = endpoint
    return (t(e.slot_at), e.trigger, e.attempt, t(e.lease_until), e.run_id)


def outcome_values(endpoint: Endpoint, t: Codec) -> tuple[object, ...]:
    e = endpoint
    return (
        e.failure_count, t(e.anchor_at), t(e.next_run_at), e.source, e.trail, t(e.slot_at), t(e.lease_until),
        e.lost_count, t(e.last_run_at), e.last_status, e.last_duration_ms,
    )  # fmt: skip


def run_values(run: Run, t: Codec = as_it_is) -> tuple[object, ...]:
    return (
        run.id, run.tenant_id, run.endpoint_id, t(run.slot_at), run.attempt, run.trigger, run.source,
        run.status, t(run.started_at), run.claim_epoch, run.worker, t(run.finished_at), run.duration_ms,
        run.status_code, run.error_code, error_text(run.error), run.missed_count, run.maintenance, run.trail,
        run.detail,
    )  # fmt: skip


def run_from(row: Sequence[Any]) -> Run:
    """A Run from RUN_COLUMNS, with times as datetimes."""
    parts = (*row[0:5], _TRIGGER[row[5]], row[6], RunStatus(row[7]), *row[8:20])
    return Run(*parts)


def past_run_from(row: Sequence[Any]) -> PastRun:
    """An earlier run from status, status code, slot, detail and body."""
    status, status_code, slot_at, detail, body = row
    headers = tuple((name, value) for name, value in msgspec.json.decode(detail).get("headers") or ())
    return PastRun(status, slot_at, status_code, headers, bytes(body or b""))


def run_summary_from(row: Sequence[Any]) -> tuple[Run, str]:
    """A Run without trail and detail from RUN_SUMMARY_COLUMNS, and its endpoint's name after them."""
    width = len(RUN_SUMMARY_COLUMNS)
    return run_from((*row[:width], "[]", "{}")), row[width]


def result_values(claim: Claim, status: RunStatus, finished: Finished, t: Codec) -> tuple[object, ...]:
    outcome = finished.outcome
    is_over = status is not RunStatus.RUNNING  # an accepted run continues
    return (
        claim.run_id, claim.endpoint.tenant_id, status, t(finished.finished_at) if is_over else None,
        outcome.duration_ms if is_over else None,
        outcome.status_code, outcome.error_code, error_text(outcome.error), _detail(outcome), t(finished.started_at),
        *body_values(outcome.body),
    )  # fmt: skip


def body_values(body: Body | None) -> tuple[object, ...]:
    if body is None:
        return ("", False, 0, None)
    return (clean_text(body.content_type, 200), body.truncated, body.bytes_seen, body.data)


def event_rows(events: Sequence[Event], t: Codec = as_it_is) -> list[tuple[object, ...]]:
    """One row for all events of a transaction for a tenant: at thousands of runs a second, the cost is in rows."""
    tenants: dict[str, list[Event]] = {}
    for event in events:
        tenants.setdefault(event.tenant_id, []).append(event)
    return [(tenant_id, t(told[0].at), _encode(told).decode()) for tenant_id, told in tenants.items()]


def stored_events(rows: Iterable[Sequence[Any]], last_read: tuple[int, int] = (0, -1)) -> list[StoredEvent]:
    """The events of (position, JSON) rows, without those up to the index read last in the row at that position.

    That row may be missing: it may have been swept, or belong to another tenant than the reader now asks for.
    """
    read_place, read_index = last_read
    stored: list[StoredEvent] = []
    for place, text in rows:
        after = read_index if place == read_place else -1
        events = _EVENTS.decode(text)
        stored.extend([StoredEvent(f"{place}:{at}", each) for at, each in enumerate(events) if at > after])
    return stored


def parse_cursor(cursor: str) -> tuple[int, int]:
    """The row of a cursor, and the index of the event in it that was read last."""
    return place_of(cursor) if cursor else (0, -1)


def job_from(row: Sequence[Any]) -> Job:
    parts = (*row[0:4], JobStatus(row[4]), *row[5:8])
    return Job(*parts)


def zombie_event(now: datetime, tenant_id: str, endpoint_id: str, run_id: str) -> Event:
    """The event of a run whose worker was lost."""
    return Event(EventType.RUN_TIMEOUT, now, tenant_id, endpoint_id, run_id, data={"error_code": "zombie"})


def joined_status(status: object) -> JobStatus:
    """The status of a joined job; a missing job accepts no endpoints."""
    return JobStatus(str(status)) if status is not None else JobStatus.ARCHIVED


def job_values(job: Job) -> tuple[object, ...]:
    return (
        job.id, job.tenant_id, job.name, job.description, job.status, job.created_at, job.updated_at, job.managed_by,
    )  # fmt: skip


def error_text(error: str | None) -> str | None:
    return None if error is None else clean_text(error, ERROR_TEXT_MAX)


def _detail(outcome: Outcome) -> str:
    if outcome.phases is None and not outcome.headers and outcome.address is None:
        return "{}"
    headers = outcome.headers
    try:
        text = _detail_text(outcome, headers)
    except UnicodeEncodeError:  # half a surrogate pair is not text
        headers = tuple((clean_text(name, DETAIL_MAX), clean_text(value, DETAIL_MAX)) for name, value in headers)
        text = _detail_text(outcome, headers)
    while len(text) > DETAIL_MAX and headers:  # whole headers are removed: half of a JSON text is invalid
        headers = headers[: len(headers) // 2]
        text = _detail_text(outcome, headers)
    return text


def _detail_text(outcome: Outcome, headers: tuple[tuple[str, str], ...]) -> str:
    phases = outcome.phases
    detail: dict[str, object] = {
        "phases": None if phases is None else [phases.dns_us, phases.connect_us, phases.tls_us, phases.first_byte_us],
        "headers": headers,
        "address": outcome.address,
    }
    if outcome.certificate is not None:
        detail["tls"] = outcome.certificate.facts
    return _encode(detail).decode()


def id_time(made: str) -> datetime:
    """When an id was created, to the millisecond."""
    return from_us(int(made.partition("_")[2][:12], 16) * 1000)


def id_floor(prefix: str, at: datetime) -> str:
    """The smallest id that could have been created at this time: ids begin with their millisecond in hex."""
    return f"{prefix}_{max(0, to_us(at) // 1000):012x}"

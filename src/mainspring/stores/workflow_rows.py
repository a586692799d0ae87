"""Map workflows and executions to rows, for both databases."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import cast

import msgspec

from mainspring.domain.instant import from_us, to_us
from mainspring.ports.workflows import (
    Checkpoint,
    Execution,
    ExecutionFilter,
    Intent,
    Lead,
    PartitionView,
    Published,
    Sending,
)
from mainspring.workflow.audit import Anchor, Breach, TickHead, document_hash, model_hash
from mainspring.workflow.model import Arrival, ArrivalKind, ExecutionState, LogEntry, LogicalClock, Workflow, Zeros
from mainspring.workflow.tick import ExecutionMove, ReadyExecution, due_tick

Row = Sequence[object]

TEXT_MAX = 200
INTENT_WIDTH = 12  # columns of a claimed effect
_STATE = msgspec.json.Decoder(ExecutionState)
_WORKFLOW = msgspec.json.Decoder(Workflow)
_DATA = msgspec.json.Decoder(dict[str, object])
_HEADS = msgspec.json.Decoder(tuple[tuple[str, int, str], ...])
_encode = msgspec.json.Encoder().encode
_bytes = bytes.fromhex  # hashes are bytes in the log

REMOVING = ("delete_execution", "delete_entries", "delete_arrivals", "delete_effects")  # all columns of an execution
NOTHING_REPORTED = "[]"  # a watch that has not reported yet


def text_of(value: object) -> str:
    return _encode(value).decode()


def published_from(row: Row) -> Published:
    model, version, document, actor, created_us, archived_us = row
    workflow = msgspec.structs.replace(_WORKFLOW.decode(str(model)), version=cast(int, version))
    archived_at = None if archived_us is None else from_us(cast(int, archived_us))
    return Published(
        workflow, str(document), str(actor), from_us(cast(int, created_us)), archived_at, document_hash(str(document)),
        model_hash(str(model)),
    )  # fmt: skip


def new_published(made: Workflow, document: str, actor: str, now: datetime) -> Published:
    return Published(
        made, document, actor, now, None, document_hash(document), model_hash(text_of(made))
    )  # fmt: skip


def execution_values(execution: Execution) -> tuple[object, ...]:
    state = execution.state
    return (
        state.id, execution.tenant_id, state.workflow, state.version, execution.partition, execution.correlation,
        execution.idempotency_key, state.salt, state.status.value, state.step, state.ready_tick, state.number,
        state.head, state.outcome, state.error, execution.actor, to_us(execution.created_at),
        to_us(execution.moved_at), text_of(state),
    )  # fmt: skip


def execution_from(row: Row) -> Execution:
    state, tenant_id, partition, correlation, key, actor, created_us, moved_us = row
    return Execution(
        _STATE.decode(str(state)), str(tenant_id), cast(int, partition), str(correlation),
        None if key is None else str(key), str(actor), from_us(cast(int, created_us)), from_us(cast(int, moved_us)),
    )  # fmt: skip


def breach_of_row(row: Row) -> Breach | None:
    """The first column that contradicts the state beside it."""
    state = _STATE.decode(str(row[0]))
    expected = (
        state.workflow, state.version, state.salt, state.status.value, state.step, state.ready_tick, state.number,
        state.head, state.outcome, state.error, 1,
    )  # fmt: skip
    names = "workflow version salt status step ready_tick number head outcome error queued".split()
    for name, wanted, found in zip(names, expected, row[1:], strict=True):
        if wanted != found:
            return Breach(state.id, state.number, f"row.{name}", str(wanted)[:TEXT_MAX], str(found)[:TEXT_MAX])
    return None


def executions_query(tenant_id: str, wanted: ExecutionFilter) -> tuple[str, *tuple[object, ...]]:
    """The query that uses a special index if one applies, and its values."""
    if wanted.running_under is not None:
        return "running_under", tenant_id, wanted.running_under, wanted.workflow, wanted.limit
    return (
        "executions_in_need" if wanted.in_need else "executions_forwards" if wanted.oldest_first else "executions",
        tenant_id, wanted.workflow, wanted.status, wanted.correlation, wanted.before_id, wanted.version, wanted.step,
        wanted.key, wanted.limit,
    )  # fmt: skip


def count_values(tenant_id: str, wanted: ExecutionFilter) -> tuple[object, ...]:
    return (
        tenant_id, wanted.workflow, wanted.status, wanted.correlation, wanted.version, wanted.step, wanted.key,
        int(wanted.in_need),
    )  # fmt: skip


def moved_rows(moved: Iterable[ExecutionMove], wall_us: int) -> list[Row]:
    return [
        (
            state.status.value, state.step, state.ready_tick, state.number, state.head, state.outcome, state.error,
            text_of(state), wall_us if state.is_over else None, wall_us, state.id,
        )
        for state in (each.state for each in moved)
    ]  # fmt: skip


def left_rows(moved: Iterable[ExecutionMove], partition: int) -> list[Row]:
    """The places in the queue that executions leave."""
    return [
        (partition, each.was_ready_tick, each.state.id)
        for each in moved
        if each.was_ready_tick is not None and each.was_ready_tick != each.state.ready_tick
    ]


def joined_rows(moved: Iterable[ExecutionMove], partition: int) -> list[Row]:
    """The places in the queue that executions take."""
    ticks = ((each.state.id, each.state.ready_tick, each.was_ready_tick) for each in moved)
    return [(partition, tick, execution_id) for execution_id, tick, old in ticks if tick is not None and tick != old]


def entry_rows(moved: Iterable[ExecutionMove]) -> list[Row]:
    return [
        (
            entry.execution_id, entry.number, entry.tick, entry.step, entry.action, _bytes(entry.input_hash),
            _bytes(entry.output_hash), _bytes(entry.context), _bytes(entry.previous), _bytes(entry.hash),
            (entry.input or b"null").decode(), (entry.output or b"null").decode(),
        )
        for each in moved
        for entry in each.entries
    ]  # fmt: skip


def entry_from(row: Row) -> LogEntry:
    given, came = row[10], row[11]
    return LogEntry(  # type: ignore[call-arg]  # columns
        *row[:5],  # type: ignore[arg-type]  # columns
        *(cast(bytes, each).hex() for each in row[5:10]),
        None if given is None else str(given).encode(),
        None if came is None else str(came).encode(),
    )


def effect_rows(moved: Iterable[ExecutionMove], partition: int, wall_us: int, tick: int) -> list[Row]:
    return [
        (
            effect.key, effect.execution_id, each.tenant_id, partition, effect.step, effect.visit, effect.attempt,
            effect.kind, text_of(effect.request), effect.idempotency.value, effect.timeout_ms, wall_us, tick,
        )
        for each in moved
        for effect in each.effects
    ]  # fmt: skip


def taken_rows(moved: Iterable[ExecutionMove], first: int, tick: int) -> list[Row]:
    """The arrivals that a tick took, numbered in the order in which they were taken."""
    pairs = [(each.state.id, arrival_id) for each in moved for arrival_id in each.taken]
    return [(first + index, tick, *pair) for index, pair in enumerate(pairs, 1)]


def zeros_from(rows: Iterable[Row]) -> Zeros:
    return tuple((cast(int, tick), from_us(cast(int, zero_us))) for tick, zero_us in rows)


def lead_from(partition: int, row: Row, zeros: Iterable[Row]) -> Lead:
    epoch, tick, sequence, head, zero_us, resolution_ms, worker = row
    return Lead(
        partition, cast(int, epoch), cast(int, tick), cast(int, sequence), str(head), from_us(cast(int, zero_us)),
        cast(int, resolution_ms), str(worker), zeros_from(zeros),
    )  # fmt: skip


def view_from(row: Row) -> PartitionView:
    partition, tick, ticks, worker, lease_us, zero_us, resolution_ms, ready_tick, arrived_us, overdue = row
    zero = from_us(cast(int, zero_us))
    ready_at = None
    if ready_tick is not None:
        ready_at = LogicalClock(cast(int, ready_tick), zero, cast(int, resolution_ms)).instant()
    return PartitionView(
        cast(int, partition), cast(int, tick), cast(int, ticks), str(worker), from_us(cast(int, lease_us)), zero,
        cast(int, resolution_ms), ready_at, None if arrived_us is None else from_us(cast(int, arrived_us)),
        cast(int, overdue),
    )  # fmt: skip


def clock_of(lead: Lead, tick: int) -> LogicalClock:
    return LogicalClock(tick, lead.zero, lead.resolution_ms)


def tick_from_outlook(lead: Lead, wall: datetime, outlook: Row) -> tuple[int | None, int | None]:
    """Which tick is due, and which is next, from the earliest tick in the queue and the oldest arrival."""
    ready_tick, arrived_us = cast("tuple[int | None, int | None]", tuple(outlook))
    clock = clock_of(lead, 0)
    first_arrival = None if arrived_us is None else clock.reading(from_us(arrived_us))
    return due_tick(lead.tick, clock.reading(wall), ready_tick, first_arrival)


def ready_of(rows: Iterable[Row], lead: Lead, arrivals: Iterable[Row] = ()) -> tuple[ReadyExecution, ...]:
    """Executions in the order of their rows (id, tenant, workflow, version, state, maybe when its time came), each with
    its arrivals and the ticks in which it may first process them.
    """
    clock = clock_of(lead, 0)
    arrived: dict[object, list[Arrival]] = {}
    came: dict[object, list[int]] = {}
    for row in arrivals:
        arrived.setdefault(row[0], []).append(arrival_from(row[1:-1]))
        came.setdefault(row[0], []).append(clock.reading(from_us(cast(int, row[-1]))) + 1)
    return tuple(
        ReadyExecution(  # type: ignore[call-arg]  # columns
            *row[:4],  # type: ignore[arg-type]  # columns
            partial(_STATE.decode, row[4]),  # type: ignore[arg-type]  # a column
            tuple(arrived.get(row[0], ())),
            cast("int | None", row[5] if len(row) > 5 else None),
            tuple(came.get(row[0], ())),
        )
        for row in rows
    )


def arrival_from(row: Row) -> Arrival:
    arrival_id, kind, type_, data, actor, occurred_at = row
    return Arrival(
        ArrivalKind(str(kind)), str(arrival_id), str(type_), _DATA.decode(str(data)), str(actor), str(occurred_at)
    )


def arrival_values(sending: Sending, arrived_us: int) -> tuple[object, ...]:
    arrival = sending.arrival
    return (
        sending.execution_id, arrival.id, sending.partition, arrival.kind.value, arrival.type, text_of(arrival.data),
        arrival.actor, arrival.occurred_at, arrived_us,
    )  # fmt: skip


def tick_values(head: TickHead, wall_us: int, worker: str) -> tuple[object, ...]:
    return (
        head.partition, head.sequence, head.tick, text_of(head.heads), head.previous, head.hash, head.epoch, wall_us,
        worker,
    )  # fmt: skip


def tick_from(row: Row) -> TickHead:
    partition, sequence, tick, heads, previous, hash_, epoch = row
    return TickHead(
        cast(int, partition), cast(int, sequence), cast(int, tick), _HEADS.decode(str(heads)), str(previous),
        str(hash_), cast(int, epoch),
    )  # fmt: skip


def anchors_from(execution_id: str, rows: Iterable[Row]) -> list[Anchor]:
    return [
        Anchor(number, head)
        for row in rows
        for each, number, head in _HEADS.decode(str(row[0]))
        if each == execution_id and number >= 0
    ]


def checkpoint_values(checkpoint: Checkpoint) -> tuple[object, ...]:
    return (
        checkpoint.partition, checkpoint.sequence, checkpoint.tick, checkpoint.head, to_us(checkpoint.signed_at),
        checkpoint.public_key, checkpoint.signature,
    )  # fmt: skip


def checkpoint_from(row: Row) -> Checkpoint:
    return Checkpoint(*row[:4], from_us(cast(int, row[4])), *row[5:])  # type: ignore[arg-type, call-arg]  # columns


def intent_from(row: Row, was_sent: bool) -> Intent:
    values = list(row[:INTENT_WIDTH])
    values[8] = _DATA.decode(str(values[8]))
    return Intent(*values, was_sent)  # type: ignore[arg-type, call-arg]  # columns


def erased(state: ExecutionState) -> ExecutionState:
    """What remains of a finished execution's state: its progress, without its values."""
    return msgspec.structs.replace(
        state, salt="", input={}, vars={}, steps={}, events={}, queue={}, origin=None, error=""
    )


def later_us(now: datetime, ms: int) -> int:
    return to_us(now + timedelta(milliseconds=ms))

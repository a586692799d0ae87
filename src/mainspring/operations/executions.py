"""Operations on executions: read, command, send events, replay.

Commands and events go into the inbox; the writer of the partition processes them in its next tick. So nothing here
changes a state, and every request is recorded in the execution's log with its reason and its actor.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec.structs import replace

from mainspring.domain.errors import Conflict, InvalidInput, NotFound
from mainspring.domain.event import Event, EventType
from mainspring.domain.instant import rfc3339
from mainspring.domain.name import shown
from mainspring.operations.context import Desk
from mainspring.operations.endpoints import REASON_MAX
from mainspring.operations.workflows import KEY_LENGTH_MAX, check_data, find_workflow
from mainspring.ports.workflows import Execution, ExecutionFilter, Published, Sending
from mainspring.workflow.engine import ALLOWED
from mainspring.workflow.model import RESOLUTION_MS, Arrival, ArrivalKind, LogEntry, LogicalClock
from mainspring.workflow.proof import OriginClaims, check_origin
from mainspring.workflow.reader import is_event_type
from mainspring.workflow.replay import Difference, ExecutionReplay, ReplayFrame, frames, replay

PAGE = 1_000
NEED_REASON = ("skip", "cancel")
RECEIVERS_MAX = 1_000


async def find_execution(desk: Desk, execution_id: str) -> Execution:
    found = await desk.stores.flows.workflows.execution(desk.tenant_id, execution_id)
    if found is None:
        raise NotFound("execution", execution_id)
    return found


async def clock_of(desk: Desk, execution: Execution) -> LogicalClock:
    """The clock of an execution's partition, at its tick 0."""
    zero, resolution_ms = await desk.stores.flows.workflows.clock(execution.partition, RESOLUTION_MS)
    return LogicalClock(0, zero, resolution_ms, tuple(await desk.stores.clock.zeros(execution.partition)))


async def order_execution(
    desk: Desk, execution_id: str, verb: str, reason: str = "", *, dry_run: bool = False
) -> Execution:
    """Pauses, resumes, cancels, retries or skips; refused immediately if the current status does not allow it."""
    check_reason(verb, reason)
    execution = await find_execution(desk, execution_id)
    allowed = ALLOWED[execution.status]
    if verb not in allowed:
        may = f"it allows {', '.join(allowed)}" if allowed else "no command is possible any more"
        raise Conflict(
            f"execution {execution_id} is {execution.status}, so {verb} does nothing; {may}",
            kind="execution",
            name=execution_id,
            allowed=allowed,
        )
    if not dry_run:
        await give_orders(desk, [execution], verb, reason)
    return execution


def check_reason(verb: str, reason: str) -> None:
    if len(reason) > REASON_MAX or "\0" in reason:
        raise InvalidInput(f"the reason is longer than {REASON_MAX} characters; shorten it", field="reason")
    if verb in NEED_REASON and not reason.strip():
        raise InvalidInput(
            f"{verb} needs a reason, which is recorded in the log: give it with --reason or as `reason`",
            field="reason",
        )


async def give_orders(desk: Desk, executions: Sequence[Execution], verb: str, reason: str) -> None:
    """Puts a command into the inbox of each, in one transaction."""
    now = await desk.stores.flows.workflows.now()
    sendings, events = [], []
    for each in executions:
        arrival = Arrival(
            ArrivalKind.COMMAND, desk.ids.new("ord", now), verb, {"reason": reason}, desk.actor, rfc3339(now)
        )
        sendings.append(Sending(each.id, each.partition, arrival))
        data: dict[str, object] = {"execution": each.id, "verb": verb, "reason": reason}
        events.append(Event(EventType.EXECUTION_ORDERED, now, desk.tenant_id, actor=desk.actor, data=data))
    await desk.stores.flows.workflows.send(sendings, events)


async def send_event(
    desk: Desk,
    to: str,
    type_: str,
    data: Mapping[str, object],
    *,
    event_id: str = "",
    occurred_at: datetime | None = None,
    dry_run: bool = False,
) -> tuple[list[str], int]:
    """Sends an event to an execution, or to all that run under a correlation key.

    Returns the executions it was for, and how many had not seen its id before.
    """
    if not is_event_type(type_):
        raise InvalidInput(
            f"event type '{shown(type_)}' is not valid; use letters, digits and . _ : -, up to 100, "
            "starting with a letter",
            field="type",
        )
    if len(event_id) > KEY_LENGTH_MAX or not event_id.isprintable():
        raise InvalidInput(f"the event's id is longer than {KEY_LENGTH_MAX} characters; shorten it", field="id")
    if event_id.startswith("eff_"):
        raise InvalidInput(
            f"the event's id '{shown(event_id)}' starts like the result of an effect; choose another", field="id"
        )
    kept = check_data(data, "data")
    store = desk.stores.flows.workflows
    one = await store.execution(desk.tenant_id, to)
    receivers = [one] if one is not None else await _running_under(desk, to)
    if not receivers:
        raise NotFound("execution or correlation key of a running one", to)
    if dry_run:
        return [each.id for each in receivers], 0
    now = await store.now()
    arrival = Arrival(
        ArrivalKind.EVENT, event_id or desk.ids.new("evt", now), type_, kept, desk.actor, rfc3339(occurred_at or now)
    )
    new = await store.send([Sending(each.id, each.partition, arrival) for each in receivers], [])
    return [each.id for each in receivers], new


async def read_log(desk: Desk, execution: Execution) -> list[LogEntry]:
    entries: list[LogEntry] = []
    while page := await desk.stores.flows.logs.entries(desk.tenant_id, execution.id, len(entries), PAGE):
        entries.extend(page)
    return entries


async def replay_execution(desk: Desk, execution_id: str, version: int | None = None) -> ExecutionReplay:
    """Replays an execution from its log: with its own version, or with another one to see what would change."""
    execution = await find_execution(desk, execution_id)
    published = await find_workflow(desk, execution.state.workflow, version or execution.state.version)
    clock = await clock_of(desk, execution)
    log = await read_log(desk, execution)
    found = await desk.sandbox.call(
        desk.tenant_id, replay, published.workflow, log, execution.state.salt, clock.epoch, clock.resolution_ms,
        clock.zeros,
    )  # fmt: skip
    if version not in (None, execution.state.version) or not log:
        return found
    breach = check_origin(log[0], claims_of(execution, published, clock, log[0].tick))
    if breach is None:
        return found
    changed = Difference(1, log[0].step, breach.field, breach.expected, breach.found)
    return replace(found, identical=False, differences=(changed, *found.differences))


def claims_of(execution: Execution, published: Published, clock: LogicalClock, tick: int) -> OriginClaims:
    """The origin of an execution according to its rows, with the first turn in this tick."""
    state = execution.state
    return OriginClaims(
        state.workflow, state.version, published.document_hash, published.model_hash, execution.actor,
        execution.correlation, execution.partition, clock.zeros_at(tick), clock.resolution_ms,
    )  # fmt: skip


async def step_through(desk: Desk, execution_id: str) -> list[ReplayFrame]:
    """The debugger: every turn of an execution with the states around it; nothing is sent."""
    execution = await find_execution(desk, execution_id)
    workflow = (await find_workflow(desk, execution.state.workflow, execution.state.version)).workflow
    clock = await clock_of(desk, execution)
    log = await read_log(desk, execution)
    return list(frames(workflow, log, execution.state.salt, clock.epoch, clock.resolution_ms, clock.zeros))


async def find_erasable(desk: Desk, execution_id: str) -> Execution:
    """A finished execution; Conflict if it is not finished."""
    execution = await find_execution(desk, execution_id)
    if not execution.state.is_over:
        raise Conflict(
            f"execution {execution_id} is {execution.status}; its data is needed until it has ended: cancel it first",
            kind="execution",
            name=execution_id,
            allowed=ALLOWED[execution.status],
        )
    return execution


async def erase_execution(desk: Desk, execution_id: str, reason: str) -> int:
    """Erases the values from the log of a finished execution; its commitments stay, so it still verifies."""
    check_reason("erase", reason)
    await find_erasable(desk, execution_id)
    now = await desk.stores.flows.workflows.now()
    data: dict[str, object] = {"execution": execution_id, "reason": reason}
    event = Event(EventType.EXECUTION_ERASED, now, desk.tenant_id, actor=desk.actor, data=data)
    return await desk.stores.flows.logs.erase(desk.tenant_id, execution_id, event)


async def _running_under(desk: Desk, correlation: str) -> list[Execution]:
    wanted = ExecutionFilter(running_under=correlation, limit=RECEIVERS_MAX + 1)
    found = await desk.stores.flows.workflows.executions(desk.tenant_id, wanted)
    if len(found) > RECEIVERS_MAX:
        raise InvalidInput(
            f"more than {RECEIVERS_MAX} executions run under '{shown(correlation)}', and an event goes to at most that "
            "many at once; send it to each by its id",
            field="to",
        )
    return found

"""Operations on workflows: publish, read, compare, start."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from secrets import token_hex

from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.errors import Conflict, InvalidInput, NotFound
from mainspring.domain.event import Event, EventType
from mainspring.domain.instant import rfc3339
from mainspring.domain.name import shown
from mainspring.operations.context import Desk
from mainspring.ports.workflows import Execution, ExecutionFilter, Published, Start
from mainspring.workflow.audit import canonical
from mainspring.workflow.difference import differences
from mainspring.workflow.document import check_input, parse_text
from mainspring.workflow.engine import VALUE_BYTES_MAX
from mainspring.workflow.model import NEWEST_FORMAT, RESOLUTION_MS, ExecutionState, LogicalClock, Origin, Workflow
from mainspring.workflow.tick import partition_of

KEY_LENGTH_MAX = 200
STARTS_MAX = 1_000


async def check_workflow(desk: Desk, text: str) -> Workflow:
    """The workflow of a document. InvalidDocument lists every error."""
    return await desk.sandbox.call(desk.tenant_id, parse_text, text, desk.allow_ports)


class PlannedPublication(Struct, frozen=True):
    """What publishing a document would do."""

    workflow: Workflow
    newest: Published | None
    differences: list[str]

    @property
    def is_new(self) -> bool:
        return self.newest is None or replace(self.newest.workflow, version=0) != self.workflow


async def plan_publication(desk: Desk, text: str) -> PlannedPublication:
    workflow = await check_workflow(desk, text)
    newest = await desk.stores.flows.workflows.version(desk.tenant_id, workflow.name, None)
    if newest is None:
        return PlannedPublication(workflow, None, [])
    said = await desk.sandbox.call(desk.tenant_id, differences, newest.workflow, workflow)
    return PlannedPublication(workflow, newest, said)


async def publish_workflow(desk: Desk, text: str, plan: PlannedPublication | None = None) -> tuple[Published, bool]:
    """The new version and True, or the newest version and False if it already does the same.

    `plan` is the result of `plan_publication` for the same text.
    """
    plan = plan or await plan_publication(desk, text)
    if plan.newest is not None and not plan.is_new:
        return plan.newest, False
    now = await desk.stores.flows.workflows.now()
    data: dict[str, object] = {"workflow": plan.workflow.name}
    event = Event(EventType.WORKFLOW_PUBLISHED, now, desk.tenant_id, actor=desk.actor, data=data)
    return await desk.stores.flows.workflows.publish(desk.tenant_id, plan.workflow, text, desk.actor, event), True


async def find_workflow(desk: Desk, name: str, version: int | None = None) -> Published:
    """One version, the newest by default."""
    found = await desk.stores.flows.workflows.version(desk.tenant_id, name, version)
    if found is not None:
        return found
    if version is not None and (versions := await desk.stores.flows.workflows.versions(desk.tenant_id, name)):
        newest = versions[0].workflow.version
        raise NotFound(f"version {version} of workflow", name, rule=f"it has 1 to {newest}")
    known = await desk.stores.flows.workflows.versions(desk.tenant_id, None)
    raise NotFound("workflow", name, tuple(each.workflow.name for each in known))


async def find_startable(desk: Desk, name: str, version: int | None = None) -> Published:
    """The workflow to start. Conflict if it is archived."""
    found = await find_workflow(desk, name, version)
    if found.archived_at is not None:
        raise Conflict(
            f"workflow {name!r} was archived at {rfc3339(found.archived_at)}, so it cannot be started; "
            f"restore it with `mainspring workflow restore {name!r}`, or publish a new version",
            kind="workflow",
            name=name,
        )
    return found


async def compare_versions(desk: Desk, name: str, old: int | None, new: int | None) -> tuple[int, int, list[str]]:
    """The changes in words; without numbers, between the newest version and the previous one."""
    after = (await find_workflow(desk, name, new)).workflow
    before = (await find_workflow(desk, name, old or max(after.version - 1, 1))).workflow
    said = await desk.sandbox.call(desk.tenant_id, differences, before, after)
    return before.version, after.version, said


class StartRequest(Struct, frozen=True):
    """A request to start an execution: its input, time and keys."""

    input: Mapping[str, object] = {}
    correlation: str = ""
    key: str | None = None
    at: datetime | None = None


class Started(Struct, frozen=True):
    """The result of a request. `is_new` False: `execution` already existed under the request's idempotency key.

    `is_refused`: an execution runs under the request's correlation key, and the workflow's reentry is refuse.
    """

    execution: Execution
    is_new: bool
    is_refused: bool = False


async def start_execution(
    desk: Desk,
    name: str,
    given: Mapping[str, object],
    *,
    version: int | None = None,
    correlation: str = "",
    key: str | None = None,
    at: datetime | None = None,
) -> Execution:
    """Starts an execution now or at a given time. A second start under the same key returns the first one."""
    (started,) = await start_executions(desk, name, [StartRequest(given, correlation, key, at)], version=version)
    refuse_reentry(started)
    return started.execution


async def start_executions(
    desk: Desk, name: str, wishes: Sequence[StartRequest], *, version: int | None = None
) -> list[Started]:
    """Starts many in one transaction. All requests are checked before anything is written."""
    published = await find_startable(desk, name, version)
    starts = await _starts(desk, published, wishes)
    found = await desk.stores.flows.workflows.start(starts)
    return [_started(start.execution, there) for start, there in zip(starts, found, strict=True)]


async def check_wishes(desk: Desk, name: str, wishes: Sequence[StartRequest], *, version: int | None = None) -> int:
    """Checks requests as a start would, without starting; returns the version that would run."""
    published = await find_startable(desk, name, version)
    await _starts(desk, published, wishes)
    return published.workflow.version


async def dry_run_start(desk: Desk, name: str, wish: StartRequest, *, version: int | None = None) -> Started:
    """What a start would return; nothing is written."""
    (start,) = await _starts(desk, await find_startable(desk, name, version), [wish])
    store, new = desk.stores.flows.workflows, start.execution
    if wish.key is not None:
        there = await store.executions(desk.tenant_id, ExecutionFilter(workflow=name, key=wish.key, limit=1))
        if there:
            return _started(new, there[0])
    if start.alone:
        there = await store.executions(
            desk.tenant_id, ExecutionFilter(workflow=name, running_under=wish.correlation, limit=1)
        )
        if there:
            return _started(new, there[0])
    return Started(new, is_new=True)


def refuse_reentry(started: Started) -> None:
    if started.is_refused:
        there = started.execution
        raise Conflict(
            f"{there.state.workflow!r} already runs for {there.correlation!r} as {there.id}, and its reentry is "
            "refuse; wait until it has ended, or cancel it",
            kind="execution",
            name=there.id,
        )


def _started(wanted: Execution, there: Execution) -> Started:
    is_ours = there.idempotency_key is not None and there.idempotency_key == wanted.idempotency_key
    return Started(there, there.id == wanted.id, there.id != wanted.id and not is_ours)


async def _starts(desk: Desk, published: Published, wishes: Sequence[StartRequest]) -> list[Start]:
    workflow = published.workflow
    if not 1 <= len(wishes) <= STARTS_MAX:
        raise InvalidInput(
            f"{len(wishes)} executions were requested at once; give 1 to {STARTS_MAX}", field="executions"
        )
    store = desk.stores.flows.workflows
    now = await store.now()
    clocks: dict[int, LogicalClock] = {}
    starts = []
    for number, wish in enumerate(wishes):
        values = _checked_wish(workflow, wish, f"executions[{number}]." if len(wishes) > 1 else "")
        execution_id = desk.ids.new("exe", now)
        partition = partition_of(execution_id, desk.partitions)
        if partition not in clocks:
            clocks[partition] = LogicalClock(0, *await store.clock(partition, RESOLUTION_MS))
        clock = clocks[partition]
        origin = Origin(
            published.document_hash, published.model_hash, desk.actor, wish.correlation, partition,
            rfc3339(clock.epoch), clock.resolution_ms,
        )  # fmt: skip
        state = ExecutionState(
            execution_id, token_hex(16), workflow.name, workflow.version, values, format=NEWEST_FORMAT, origin=origin,
            wake_tick=clock.at(max(wish.at or now, now)),
        )  # fmt: skip
        execution = Execution(state, desk.tenant_id, partition, wish.correlation, wish.key, desk.actor, now, now)
        data: dict[str, object] = {
            "execution": execution_id, "workflow": workflow.name, "version": workflow.version,
        }  # fmt: skip
        event = Event(EventType.EXECUTION_STARTED, now, desk.tenant_id, actor=desk.actor, data=data)
        starts.append(Start(execution, event, workflow.reentry == "refuse" and wish.correlation != ""))
    return starts


def _checked_wish(workflow: Workflow, wish: StartRequest, place: str) -> dict[str, object]:
    """The input with its defaults; an error names its position among many."""
    try:
        for field, text in (("correlation", wish.correlation), ("idempotency_key", wish.key or "")):
            if len(text) > KEY_LENGTH_MAX or not text.isprintable():
                raise InvalidInput(
                    f"{field} '{shown(text)}' is longer than {KEY_LENGTH_MAX} characters or not readable; shorten it",
                    field=field,
                )
        return check_input(workflow, check_data(wish.input, "input"))
    except InvalidInput as refusal:
        if not place:
            raise
        raise InvalidInput(f"{place.removesuffix('.')}: {refusal}", field=place + refusal.field) from None


def check_data(data: Mapping[str, object], field: str) -> dict[str, object]:
    """External data in a form that an execution can store."""
    try:
        text = canonical(dict(data))
    except (UnicodeEncodeError, ValueError, OverflowError, TypeError) as fault:
        raise InvalidInput(f"{field} cannot be stored: {fault}; send plain JSON", field=field) from None
    if len(text) > VALUE_BYTES_MAX:
        raise InvalidInput(
            f"{field} has {len(text)} bytes; at most {VALUE_BYTES_MAX} are allowed; send a link instead", field=field
        )
    if _has_mark(data):
        raise InvalidInput(f"{field} has a key '$double', which is reserved for the log; rename it", field=field)
    return dict(data)


def _has_mark(value: object) -> bool:
    if isinstance(value, Mapping):
        return "$double" in value or any(map(_has_mark, value.values()))
    return isinstance(value, list) and any(map(_has_mark, value))

"""What a user may ask for about workflows: publish, look, compare, start."""

from collections.abc import Mapping
from datetime import datetime
from secrets import token_hex

from msgspec.structs import replace

from mainspring.domain.errors import Conflict, InvalidInput, NotFound
from mainspring.domain.event import Event, EventType
from mainspring.domain.name import shown
from mainspring.operations.endpoints import Desk
from mainspring.workflow.audit import canonical
from mainspring.workflow.difference import differences
from mainspring.workflow.document import check_input, parse_text
from mainspring.workflow.engine import VALUE_BYTES_MAX
from mainspring.workflow.model import RESOLUTION_MS, LogicalClock, State, Workflow
from mainspring.workflow.ticking import partition_of
from mainspring.workflow_ports import Execution, ExecutionFilter, Published

KEY_LENGTH_MAX = 200


def check_workflow(desk: Desk, text: str) -> Workflow:
    """The workflow that a document describes; InvalidDocument with every fault where it is none."""
    return parse_text(text, desk.allow_ports)


async def publish_workflow(desk: Desk, text: str) -> tuple[Published, bool]:
    """A new version, and True; the newest version, and False, where it does the same already."""
    workflow = check_workflow(desk, text)
    newest = await desk.stores.flows.workflows.version(desk.tenant_id, workflow.name, None)
    if newest is not None and replace(newest.workflow, version=0) == workflow:
        return newest, False
    now = await desk.stores.flows.workflows.now()
    event = Event(EventType.WORKFLOW_PUBLISHED, now, desk.tenant_id, actor=desk.actor, data={"workflow": workflow.name})
    return await desk.stores.flows.workflows.publish(desk.tenant_id, workflow, text, desk.actor, event), True


async def find_workflow(desk: Desk, name: str, version: int | None = None) -> Published:
    """One version, the newest where none is named."""
    found = await desk.stores.flows.workflows.version(desk.tenant_id, name, version)
    if found is not None:
        return found
    if version is not None and (versions := await desk.stores.flows.workflows.versions(desk.tenant_id, name)):
        newest = versions[0].workflow.version
        raise NotFound("version", f"{version} of {name!r}; there are 1 to {newest}")
    known = await desk.stores.flows.workflows.versions(desk.tenant_id, None)
    raise NotFound("workflow", name, tuple(each.workflow.name for each in known))


async def compare_versions(desk: Desk, name: str, old: int | None, new: int | None) -> tuple[int, int, list[str]]:
    """What changed, in words; without numbers, between the newest version and the one before it."""
    after = (await find_workflow(desk, name, new)).workflow
    before = (await find_workflow(desk, name, old or max(after.version - 1, 1))).workflow
    return before.version, after.version, differences(before, after)


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
    """Start an execution now or at an instant. A second start under the same key answers with the first one."""
    workflow = (await find_workflow(desk, name, version)).workflow
    values = check_input(workflow, check_data(given, "input"))
    for field, text in (("correlation", correlation), ("idempotency_key", key or "")):
        if len(text) > KEY_LENGTH_MAX or not text.isprintable():
            raise InvalidInput(
                f"{field} '{shown(text)}' is longer than {KEY_LENGTH_MAX} characters or not readable; shorten it",
                field=field,
            )
    store = desk.stores.flows.workflows
    if workflow.reentry == "refuse" and correlation:
        running = await store.executions(
            desk.tenant_id, ExecutionFilter(workflow=name, correlation=correlation, limit=100)
        )
        for other in running:
            if not other.state.is_over and (key is None or other.idempotency_key != key):
                raise Conflict(
                    f"{name!r} already runs for {correlation!r} as {other.id}, and its reentry is refuse; "
                    "wait until it has ended, or cancel it",
                    kind="execution",
                    name=other.id,
                )
    now = await store.now()
    execution_id = desk.ids.new("exe", now)
    partition = partition_of(execution_id, desk.partitions)
    zero, resolution_ms = await store.clock(partition, RESOLUTION_MS)
    tick = LogicalClock(0, zero, resolution_ms).at(max(at or now, now))
    state = State(execution_id, token_hex(16), name, workflow.version, values, wake_tick=tick)
    execution = Execution(state, desk.tenant_id, partition, correlation, key, desk.actor, now, now)
    data: dict[str, object] = {"execution": execution_id, "workflow": name, "version": workflow.version}
    event = Event(EventType.EXECUTION_STARTED, now, desk.tenant_id, actor=desk.actor, data=data)
    return await store.start(execution, event)


def check_data(data: Mapping[str, object], field: str) -> dict[str, object]:
    """Data from outside, as an execution may keep it."""
    try:
        text = canonical(dict(data))
    except (UnicodeEncodeError, ValueError, OverflowError, TypeError) as fault:
        raise InvalidInput(f"{field} cannot be kept: {fault}; send plain JSON", field=field) from None
    if len(text) > VALUE_BYTES_MAX:
        raise InvalidInput(
            f"{field} has {len(text)} bytes; at most {VALUE_BYTES_MAX} are allowed; send a link instead", field=field
        )
    if _has_mark(data):
        raise InvalidInput(f"{field} has a key '$double', which the log uses itself; rename it", field=field)
    return dict(data)


def _has_mark(value: object) -> bool:
    if isinstance(value, Mapping):
        return "$double" in value or any(map(_has_mark, value.values()))
    return isinstance(value, list) and any(map(_has_mark, value))

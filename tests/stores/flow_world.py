"""Executions on a real store: publish, start, send, tick. The clock moves only when it is told to."""

from collections.abc import Sequence
from datetime import datetime
from itertools import count
from typing import Any

from tests.stores.world import START, FixedClock

from mainspring.domain.event import Event, EventType
from mainspring.observe import Metrics
from mainspring.ports.stores import Stores
from mainspring.ports.workflows import Execution, Sending, Start
from mainspring.workers.ticker import Ticker, TickerOptions
from mainspring.workflow.document import parse_document
from mainspring.workflow.model import Arrival, ArrivalKind, ExecutionState, Workflow
from mainspring.workflow.tick import partition_of

_numbers = count(1)
SALT = "5a17" * 8


def a_workflow(*steps: dict[str, Any], name: str = "flow", **top: Any) -> Workflow:
    named = [{"id": f"s{index}", **step} for index, step in enumerate(steps)]
    return parse_document({"name": name, "steps": named, **top})


async def publish(stores: Stores, workflow: Workflow) -> Workflow:
    event = Event(EventType.WORKFLOW_PUBLISHED, START, "default")
    return (await stores.flows.workflows.publish("default", workflow, "text", "ada", event)).workflow


async def start(
    stores: Stores, workflow: Workflow, execution_id: str, given: dict[str, object] | None = None, *,
    partitions: int = 1, key: str | None = None, correlation: str = "", at: datetime | None = None, format_: int = 1,
) -> Execution:  # fmt: skip
    partition = partition_of(execution_id, partitions)
    zero, resolution_ms = await stores.flows.workflows.clock(partition, 1_000)
    now = await stores.flows.workflows.now()
    tick = -((zero - (at or now)) // (resolution_ms * (now.resolution * 1000)))
    state = ExecutionState(
        execution_id, SALT, workflow.name, workflow.version, given or {}, wake_tick=tick, format=format_
    )
    execution = Execution(state, "default", partition, correlation, key, "ada", now, now)
    event = Event(EventType.EXECUTION_STARTED, now, "default")
    return (await stores.flows.workflows.start([Start(execution, event)]))[0]


async def send(stores: Stores, execution_id: str, type_: str, event_id: str = "", **data: object) -> int:
    found = await get(stores, execution_id)
    arrival = Arrival(ArrivalKind.EVENT, event_id or f"e{next(_numbers)}", type_, data, "ada")
    return await stores.flows.workflows.send([Sending(execution_id, found.partition, arrival)], [])


async def order(stores: Stores, execution_id: str, verb: str, order_id: str = "") -> None:
    found = await get(stores, execution_id)
    arrival = Arrival(ArrivalKind.COMMAND, order_id or f"c{next(_numbers)}", verb, {"reason": "because"}, "ada")
    await stores.flows.workflows.send([Sending(execution_id, found.partition, arrival)], [])


async def get(stores: Stores, execution_id: str) -> Execution:
    found = await stores.flows.workflows.execution("default", execution_id)
    assert found is not None
    return found


async def log_of(stores: Stores, execution_id: str) -> list[str]:
    entries = await stores.flows.logs.entries("default", execution_id, 0, 10_000)
    return [f"{entry.tick}:{entry.step}:{entry.action}" for entry in entries]


def a_ticker(stores: Stores, worker: str = "ticker-1", partitions: Sequence[int] = (0,), **options: Any) -> Ticker:
    return Ticker(stores.flows, TickerOptions(worker, tuple(partitions), **options), Metrics())


async def tick(ticker: Ticker, clock: FixedClock, seconds: float = 1) -> int:
    """Let time pass, and catch up."""
    clock.tick(seconds=seconds)
    turns = 0
    while more := await ticker.run_once():
        turns += more
    return turns

"""Events that queue, on real databases: what arrives before a wait, or with others in one tick, is received."""

from tests.stores.flow_world import a_ticker, a_workflow, get, log_of, publish, send, start, tick
from tests.stores.world import FixedClock

from mainspring.domain.event import EventType
from mainspring.ports.stores import Stores
from mainspring.ports.workflows import Sending
from mainspring.workflow.engine import QUEUE_MAX
from mainspring.workflow.model import Arrival, ArrivalKind, Status

PING = {"wait_for": {"event": "ping", "timeout": "1h", "where": "event.data.n >= 0"}}


async def test_events_before_a_wait_and_of_one_tick_are_all_received(stores: Stores, clock: FixedClock) -> None:
    workflow = await publish(stores, a_workflow({"wait": "2s"}, *[PING] * 5, {"end": "done"}))
    await start(stores, workflow, "x1", format_=2)
    ticker = a_ticker(stores)
    for number in range(2):
        await send(stores, "x1", "ping", f"early-{number}", n=number)
    await tick(ticker, clock)
    await tick(ticker, clock, 3)
    for number in range(3):
        await send(stores, "x1", "ping", f"late-{number}", n=number)

    await tick(ticker, clock, 3)

    found = await get(stores, "x1")
    assert found.status is Status.COMPLETED
    assert [each.split(":")[2] for each in await log_of(stores, "x1")].count("received") == 5


async def test_event_that_cannot_be_judged_does_not_fail_the_execution(stores: Stores, clock: FixedClock) -> None:
    workflow = await publish(stores, a_workflow(PING, {"end": "done"}))
    await start(stores, workflow, "x1", format_=2)
    ticker = a_ticker(stores)
    await send(stores, "x1", "ping", "bad")
    await tick(ticker, clock)
    await send(stores, "x1", "ping", "good", n=1)

    await tick(ticker, clock, 2)

    assert (await get(stores, "x1")).status is Status.COMPLETED


async def test_full_queue_is_told_as_an_event_and_counted(stores: Stores, clock: FixedClock) -> None:
    workflow = await publish(stores, a_workflow({"wait": "1d"}, PING))
    await start(stores, workflow, "x1", format_=2)
    ticker = a_ticker(stores)
    arrivals = [Arrival(ArrivalKind.EVENT, f"e{number:04}", "ping", {"n": number}) for number in range(QUEUE_MAX + 2)]
    await stores.flows.workflows.send([Sending("x1", 0, each) for each in arrivals], [])

    await tick(ticker, clock, 2)

    told = await stores.runs.events_after("", "default", 1_000)
    (event,) = [each.event for each in told if each.event.type is EventType.EXECUTION_EVENT_IGNORED]
    assert event.data["id"] == "e1000"
    assert event.data["reason"] == "1000 events of type 'ping' already wait to be taken"
    assert ticker._metrics.events_ignored == 2

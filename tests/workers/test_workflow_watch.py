"""Executions that nothing moves are seen: by metrics, events and alerts; and lowered partitions leave none behind."""

from mainspring.domain.event import Event, EventType
from mainspring.observe import Metrics
from mainspring.outbound.checkpoints import CheckpointSigner
from mainspring.outbound.vault import KeyRing
from mainspring.ports.stores import Stores
from mainspring.ports.workflow_health import read_workflow_health
from mainspring.settings import Settings
from mainspring.workers.ticker import options_of
from mainspring.workers.workflow_watch import WorkflowWatch
from mainspring.workflow.model import Status
from tests.stores.flow_world import a_ticker, a_workflow, get, publish, start, tick
from tests.stores.world import START, FixedClock


async def eight_in_four_partitions(stores: Stores) -> list[str]:
    workflow = await publish(stores, a_workflow({"wait": "10s"}, {"end": "done"}))
    names = [f"x{number}" for number in range(8)]
    for name in names:
        await start(stores, workflow, name, partitions=4)
    return names


async def test_lowering_partitions_leaves_no_execution_behind(stores: Stores, clock: FixedClock) -> None:
    names = await eight_in_four_partitions(stores)
    await tick(a_ticker(stores, "old", range(4), lock_ttl_ms=1_000), clock)

    await tick(a_ticker(stores, "new", (0,), adopts=True), clock, 30)

    assert {(await get(stores, name)).status for name in names} == {Status.COMPLETED}


async def test_last_ticks_of_partitions_beyond_the_configured_ones_are_signed(
    stores: Stores, clock: FixedClock
) -> None:
    await eight_in_four_partitions(stores)
    await tick(a_ticker(stores, "old", range(4), lock_ttl_ms=1_000), clock, 30)
    await tick(a_ticker(stores, "older", range(4), lock_ttl_ms=1_000), clock, 30)  # ended, and nothing was signed
    views = await stores.flows.partitions.views(clock.now())
    assert all(view.ticks and view.waits_since is None for view in views)
    ticker = a_ticker(stores, "new", (0,), adopts=True, checkpoint_s=0)
    ticker._signer = CheckpointSigner(KeyRing(bytes(32)))

    await tick(ticker, clock, 5)

    for view in views:
        assert len(await stores.flows.logs.checkpoints(view.partition, view.ticks - 1, 1)) == 1
    await ticker._adopt()
    assert ticker._adopted == ()


async def test_ticker_that_owns_some_partitions_adopts_none(stores: Stores, clock: FixedClock) -> None:
    names = await eight_in_four_partitions(stores)

    await tick(a_ticker(stores, "one", (0,)), clock, 30)

    assert {(await get(stores, name)).status for name in names} >= {Status.PENDING}


def test_ticker_adopts_unless_its_partitions_are_named() -> None:
    lowered = options_of(Settings(workflow_partitions=1), "one")
    owning = options_of(Settings(workflow_partitions=4, workflow_partitions_owned=(0, 2)), "one")

    assert (lowered.partitions, lowered.adopts) == ((0,), True)
    assert (owning.partitions, owning.adopts) == ((0, 2), False)


async def test_executions_without_a_writer_are_reported_and_so_is_their_recovery(
    stores: Stores, clock: FixedClock
) -> None:
    await eight_in_four_partitions(stores)
    metrics = Metrics()
    watch = WorkflowWatch(stores.flows, metrics)
    await tick(a_ticker(stores, "one", (0,)), clock, 90)

    await watch.run_once()
    await watch.run_once()

    found = await read_workflow_health(stores.flows)
    assert 0 not in found.unwritten
    assert len(found.unwritten) == metrics.partitions_unwritten > 0
    assert metrics.executions_overdue == found.overdue > 0
    assert metrics.tick_lag >= 90
    await tick(a_ticker(stores, "all", range(4), lock_ttl_ms=0), clock, 90)
    await watch.run_once()
    told = [each.event.type for each in await stores.runs.events_after("", "default", 1_000)]
    assert told.count(EventType.EXECUTIONS_LATE) == told.count(EventType.EXECUTIONS_ON_TIME) == 1
    assert metrics.executions_overdue == 0


async def test_recovery_is_reported_once_although_the_watch_was_restarted_and_others_watch_too(
    stores: Stores, other_stores: Stores, clock: FixedClock
) -> None:
    await eight_in_four_partitions(stores)
    await tick(a_ticker(stores, "one", (0,)), clock, 90)
    await WorkflowWatch(stores.flows, Metrics()).run_once()
    await WorkflowWatch(other_stores.flows, Metrics()).run_once()
    await tick(a_ticker(stores, "all", range(4), lock_ttl_ms=0), clock, 90)

    await WorkflowWatch(other_stores.flows, Metrics()).run_once()
    await WorkflowWatch(stores.flows, Metrics()).run_once()

    told = [each.event.type for each in await stores.runs.events_after("", "default", 1_000)]
    assert told.count(EventType.EXECUTIONS_LATE) == told.count(EventType.EXECUTIONS_ON_TIME) == 1


async def test_report_of_another_process_is_not_overwritten(stores: Stores) -> None:
    event = Event(EventType.EXECUTIONS_LATE, START, "default", data={"count": 1})
    before = await stores.flows.partitions.overdue_reported()

    assert await stores.flows.partitions.report_overdue(before, '["default"]', [event])
    assert not await stores.flows.partitions.report_overdue(before, '["other"]', [event])

    assert await stores.flows.partitions.overdue_reported() == '["default"]'
    assert len(await stores.runs.events_after("", "default", 10)) == 1


async def test_effect_that_is_not_sent_is_reported(stores: Stores, clock: FixedClock) -> None:
    workflow = await publish(stores, a_workflow({"call": {"url": "https://example.com/"}}))
    await start(stores, workflow, "x1")
    await tick(a_ticker(stores), clock)
    clock.tick(seconds=120)
    metrics = Metrics()

    await WorkflowWatch(stores.flows, metrics).run_once()

    assert (await read_workflow_health(stores.flows)).effect_age.total_seconds() == metrics.effect_age >= 120

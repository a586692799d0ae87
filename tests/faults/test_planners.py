"""R26 and the planner's part of R1: planners die at any moment, three share one database; every run is judged once."""

import asyncio
import time
from collections import Counter
from datetime import timedelta
from itertools import pairwise

from mainspring import failpoints
from mainspring.domain.event import Event, EventType
from mainspring.domain.instant import FOREVER
from mainspring.domain.rules.judge import StoredRule
from mainspring.domain.rules.rule import read_rule
from mainspring.observe import Metrics
from mainspring.operations.context import Desk
from mainspring.operations.rules import add_rules, find_owner, set_mode
from mainspring.ports.stores import Stores
from mainspring.workers.planner import Planner
from tests.faults.conftest import Figures
from tests.faults.ledger import all_events, all_runs, events_so_far
from tests.faults.random_kills import drain, start_workers
from tests.faults.stage import JOB, Stage, calling, fill
from tests.faults.worker_forker import Nursery
from tests.harness.pace import Pace
from tests.harness.waiting import until, until_true
from tests.peers.journal import Journal
from tests.stores.world import START, FixedClock, add, an_endpoint, run_slot

PLANNERS = 3  # each in a scheduler's process
WATCHES = 8
COOLDOWN_S = 2
DYING = {failpoints.VARIABLE: "before_plan=kill:0.25,after_plan=kill:0.25"}


async def load(stage: Stage, journal: Journal) -> None:
    """Eight endpoints whose every run fires in shadow mode, which writes one event and nothing else; one asleep."""
    async with stage.desk() as desk:
        from_at = await desk.stores.schedule.now() + timedelta(seconds=1)
        watches = [
            calling(journal.url(f"/{number}"), from_at + timedelta(milliseconds=60 * number), name=f"watch-{number}")
            for number in range(WATCHES)
        ]
        asleep = calling(
            journal.url("/asleep"),
            from_at,
            3_600_000,
            name="asleep",
            paused_until=FOREVER,
            advice_may_resume=True,
            anchor_at=from_at,
        )
        await fill(desk.stores, [*watches, asleep])
        for watch in watches:
            await set_mode(desk, watch.id, "shadow")
        await rules(desk)


async def rules(desk: Desk) -> None:
    whole = await find_owner(desk, None, JOB)
    await add_rules(desk, whole, [{"name": "each", "when": "endpoint != 'asleep'", "interval": "30s"}])
    sleeper = await find_owner(desk, "asleep", None)
    wake = {
        "name": "wake",
        "when": "siblings['watch-0'].ok",
        "resume": True,
        "run": "now",
        "cooldown": f"{COOLDOWN_S}s",
    }
    await add_rules(desk, sleeper, [wake, {"name": "rest", "when": "duration_ms >= 0", "pause": "forever"}])


def finished(events: list[Event]) -> set[str]:
    return {each.run_id for each in events if each.type is EventType.RUN_FINISHED}


def judged(events: list[Event]) -> Counter[str]:
    """How often each run was judged: by the events of the rule that fires at every one."""
    fired = [each for each in events if each.type is EventType.RULE_FIRED and each.data["rule"] == "each"]
    return Counter(each.run_id for each in fired)


def woken(events: list[Event]) -> list[Event]:
    return [each for each in events if each.type is EventType.RULE_FIRED and each.data["rule"] == "wake"]


async def replace_the_dead(nursery: Nursery, kills: int) -> None:
    """Keep three alive until so many have killed themselves."""

    async def enough() -> bool:
        for _ in range(PLANNERS - len(nursery.running)):
            nursery.start(DYING)
        return list(nursery.exit_codes.values()).count(-9) >= kills

    await until_true(enough, f"{kills} planners die at their page", 60 + 3 * kills)
    for worker in nursery.running:
        worker.kill()


async def test_killed_planners_judge_every_finished_run_exactly_once(
    postgres_stage: Stage, journal: Journal, long_run: bool, figures: Figures
) -> None:
    kills = 100 if long_run else 3
    await load(postgres_stage, journal)
    with postgres_stage.nursery() as nursery:
        await replace_the_dead(nursery, kills)
        await start_workers(nursery, PLANNERS)
        async with postgres_stage.stores() as stores:
            before = finished(await all_events(stores))

            async def caught_up() -> bool:
                return before - judged(await events_so_far(stores)).keys() <= asleep_runs(await events_so_far(stores))

            async def woken_again() -> bool:
                return len(woken(await events_so_far(stores))) >= 2

            await until_true(caught_up, "what the dead left is judged", 60)
            await until_true(woken_again, "the sleeper is woken again after a restart", 60)
            await drain(nursery, stores)
            events = await all_events(stores)

    counts = judged(events)
    wakes = woken(events)
    figures(kills=kills, finished=len(finished(events)), judged=len(counts), wakes=len(wakes))
    assert [run_id for run_id, times in counts.items() if times > 1] == []
    assert before - counts.keys() <= asleep_runs(events)
    assert all(after.at - first.at >= timedelta(seconds=COOLDOWN_S) for first, after in pairwise(wakes))


async def test_without_the_cursors_guard_runs_are_judged_twice(
    postgres_stage: Stage, journal: Journal, figures: Figures
) -> None:
    """The negative control: the same planners with the guard off must fail, else the test above proves nothing."""
    await load(postgres_stage, journal)
    with postgres_stage.nursery("no_page_fence") as nursery:
        await start_workers(nursery, PLANNERS)
        async with postgres_stage.stores() as stores:

            async def twice() -> list[str]:
                return [run_id for run_id, times in judged(await events_so_far(stores)).items() if times > 1]

            found = await until_true(twice, "two planners judge one run", 60)

    figures(twice=len(found))
    assert found


async def test_planner_that_fails_at_every_page_leaves_the_baseline(
    postgres_stage: Stage, journal: Journal, long_run: bool, figures: Figures
) -> None:
    """It shares a process with the scheduler, and takes nothing from it: every run is the baseline's."""
    wanted = 2_000 if long_run else 60
    await load(postgres_stage, journal)
    with postgres_stage.nursery("before_plan=raise") as nursery:
        await start_workers(nursery, 1)
        async with postgres_stage.stores() as stores:

            async def enough() -> bool:
                return len(finished(await events_so_far(stores))) >= wanted and nursery.count("worker failed") >= 2

            await until_true(enough, f"{wanted} runs beside a planner that fails", 60 + wanted / 10)
            await drain(nursery, stores)
            events = await all_events(stores)
            sources = {run.source for run in await all_runs(stores)}

    figures(finished=len(finished(events)), planner_failures=nursery.count("worker failed"))
    assert sources == {"baseline-interval"}
    assert [each for each in events if each.type in (EventType.RULE_FIRED, EventType.HINT_WRITTEN)] == []


def asleep_runs(events: list[Event]) -> set[str]:
    """Runs of the sleeper, which the rule of every run leaves out."""
    return {
        each.run_id for each in events if each.type is EventType.RUN_FINISHED and each.endpoint_id == sleeper_id(events)
    }


def sleeper_id(events: list[Event]) -> str:
    return next((each.endpoint_id for each in woken(events)), "")


async def test_killed_planner_leaves_hints_whole_or_not_at_all(
    sqlite_stage: Stage, journal: Journal, long_run: bool, figures: Figures
) -> None:
    """A rule's hint, its event and what it remembers are one transaction, on one machine too."""
    async with sqlite_stage.desk() as desk:
        from_at = await desk.stores.schedule.now() + timedelta(seconds=1)
        watches = [calling(journal.url(f"/{number}"), from_at, name=f"watch-{number}") for number in range(WATCHES)]
        await fill(desk.stores, watches)
        whole = await find_owner(desk, None, JOB)
        await add_rules(desk, whole, [{"name": "quick", "when": "ok", "interval": "1s", "ttl": "1h", "cooldown": "1h"}])
    kills = 20 if long_run else 3
    with sqlite_stage.nursery() as nursery:
        for _ in range(kills):
            worker = nursery.start(DYING)
            await asyncio.to_thread(worker.wait, 60)
        nursery.start()
        async with sqlite_stage.stores() as stores:

            async def all_hinted() -> bool:
                return len(told(await events_so_far(stores))) == WATCHES

            await until_true(all_hinted, "every endpoint got its hint", 60)
            await drain(nursery, stores)
            known = await stores.planner.rules("default")
            endpoints = {each.id: await stores.endpoints.endpoint("default", each.id) for each in watches}
            fired = told(await all_events(stores))

    figures(kills=kills, fired=len(fired))
    assert Counter(each.endpoint_id for each in fired) == Counter(endpoints.keys())
    assert {endpoint_id for endpoint_id, state in known[0].states.items() if state.fired_at} == endpoints.keys()
    assert all(each is not None and each.interval_hint is not None for each in endpoints.values())


async def test_a_finished_run_of_another_process_is_judged_within_a_second(
    stores: Stores, other_stores: Stores, clock: FixedClock, figures: Figures, pace: Pace
) -> None:
    endpoint = an_endpoint("watched")
    await add(stores, endpoint)
    judge = StoredRule(
        "rule_1", "default", endpoint.job_id, endpoint.id, read_rule({"when": "ok", "interval": "30s"}, "x"), START
    )
    await stores.planner.add_rules([judge], Event(EventType.RULES_CHANGED, START, "default"))
    metrics = Metrics()
    planner = Planner(stores.planner, metrics, "planner-1")
    working = asyncio.create_task(planner.run())
    waits: list[float] = []
    for number in range(1, 6):
        assert len(await run_slot(other_stores, clock, took_ms=0)) == 1
        ended_s = time.monotonic()
        await until(lambda number=number: metrics.judged == number, "the run is judged")  # type: ignore[misc]  # bound now
        waits.append(time.monotonic() - ended_s)
        clock.tick(minutes=1)
    planner.stop()
    await working

    figures(runs=len(waits), slowest_s=round(max(waits), 3))
    assert max(waits) <= pace.fair(1.0)


def told(events: list[Event]) -> list[Event]:
    return [each for each in events if each.type is EventType.RULE_FIRED]

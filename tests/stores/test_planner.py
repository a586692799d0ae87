"""Rules in the store, and pages of finished runs: each judged once, by whomever, and all or nothing."""

import asyncio
from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace
from tests.stores.world import (
    START,
    FixedClock,
    add,
    an_endpoint,
    an_outcome,
    change,
    get,
    kinds,
    run_slot,
    told,
)

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.errors import Conflict
from mainspring.domain.event import Event, EventType
from mainspring.domain.instant import FOREVER
from mainspring.domain.rules.apply import RuleState
from mainspring.domain.rules.judge import Decisions, FactsWanted, RuleResult, StoredRule, decide, want
from mainspring.domain.rules.rule import read_rule
from mainspring.domain.rules.run_window import RunWindow
from mainspring.domain.run import Body, Certificate, Outcome, RunStatus
from mainspring.domain.schedule import changes
from mainspring.domain.schedule.changes import Change
from mainspring.domain.schedule.cron import CRON
from mainspring.observe import Metrics
from mainspring.ports.stores import Stores
from mainspring.stores.model_sessions import SqlModelSessionStore
from mainspring.stores.postgres.database import PostgresDatabase
from mainspring.stores.postgres.queries import QUERIES as POSTGRES
from mainspring.stores.rule_rows import PAGE_RUNS, SHADOW_PAGE
from mainspring.stores.sqlite.connection import QUERIES as SQLITE
from mainspring.stores.sqlite.database import SqliteDatabase
from mainspring.workers.planner import Planner

CHANGED = Event(EventType.RULES_CHANGED, START, "default")


async def rule(stores: Stores, owner: Endpoint, rule_id: str = "rule_1", **document: object) -> StoredRule:
    if "runs" in document:
        document["for"] = document.pop("runs")
    stored = StoredRule(rule_id, owner.tenant_id, owner.job_id, owner.id, read_rule(document, rule_id), START)
    await stores.planner.add_rules([stored], CHANGED)
    return stored


def saying(text: str, status: RunStatus = RunStatus.SUCCESS) -> Outcome:
    return an_outcome(status, body=Body(text.encode(), "application/json", False, len(text)))


def no_window(wanted: RunWindow) -> tuple[RuleResult, ...]:
    raise AssertionError(f"no rule asks for {wanted}")


async def plan(stores: Stores) -> None:
    planner = Planner(stores.planner, Metrics(), "planner-1")
    while await planner.run_once():
        pass


async def test_rule_that_asks_for_30_s_takes_effect_at_once_until_its_ttl_ends(
    stores: Stores, clock: FixedClock
) -> None:
    hourly = an_endpoint("hourly", interval_ms=3_600_000)
    await add(stores, hourly)
    await rule(stores, hourly, when="body.depth > 10", interval="30s", ttl="95s", cooldown="1h")
    await run_slot(stores, clock, saying('{"depth": 11}'), took_ms=0)

    await plan(stores)

    starts = []
    for _ in range(130):
        clock.tick(seconds=1)
        await stores.schedule.expire_hints(10)
        if await run_slot(stores, clock, saying('{"depth": 11}'), took_ms=0):
            starts.append((clock.now() - START).total_seconds())
            await plan(stores)
    assert starts == [30, 60, 90]
    assert (await get(stores, hourly)).next_run_at == START + timedelta(seconds=3690)


async def test_sleeping_sibling_is_woken_once_per_cooldown(stores: Stores, clock: FixedClock) -> None:
    watch = an_endpoint("watch", interval_ms=60_000)
    asleep = an_endpoint(
        "asleep", interval_ms=3_600_000, paused_until=FOREVER, next_run_at=FOREVER, advice_may_resume=True
    )
    await add(stores, watch, asleep)
    await rule(
        stores, asleep, when="siblings.watch.body.load > 3000", resume=True, run="now", cooldown="10m", reason="slow"
    )
    await rule(stores, asleep, "rule_2", when="ok", pause="forever")
    ran = []

    for minute in range(15):
        for each in await run_slot(stores, clock, saying('{"load": 4500}'), took_ms=0):
            ran.append((minute, each.endpoint.name))
        await plan(stores)
        for each in await run_slot(stores, clock, saying("{}"), took_ms=0):
            ran.append((minute, each.endpoint.name))
        await plan(stores)
        clock.tick(seconds=60)

    assert [minute for minute, name in ran if name == "asleep"] == [0, 10]
    assert (await get(stores, asleep)).paused_until == FOREVER


async def test_rule_that_a_person_stands_against_is_refused_says_so_and_starts_no_cooldown(
    stores: Stores, clock: FixedClock
) -> None:
    watch, paused = an_endpoint("watch"), an_endpoint("paused", next_run_at=START + timedelta(hours=1))
    await add(stores, watch, paused)
    await change(stores, paused, lambda each, now: changes.pause(each, None, "rebuilding", now, "user:ann", CRON))
    await rule(stores, watch, when="ok", resume=True, run="now", cooldown="1h", target="paused")
    await run_slot(stores, clock, saying("{}"), took_ms=0)
    await plan(stores)
    (known,) = await stores.planner.rules("default")
    held = await get(stores, paused)

    await change(stores, paused, lambda each, now: changes.pause(each, None, "", now, "rule:other", CRON))
    clock.tick(seconds=60)
    await run_slot(stores, clock, saying("{}"), took_ms=0)
    await plan(stores)

    refused = "ann paused 'paused' until resumed (rebuilding); only a person can change it"
    assert (held.paused_until, held.pause_reason, held.pause_author) == (FOREVER, "rebuilding", "user:ann")
    assert held.refused_advice is not None
    assert held.refused_advice.because == refused
    assert known.states[paused.id] == RuleState(refused=refused)
    (known,) = await stores.planner.rules("default")
    assert known.states[paused.id] == RuleState(fired_at=clock.now())
    assert (await get(stores, paused)).paused_until is None


async def test_rule_acts_on_siblings_only_where_its_endpoint_allows_it(stores: Stores, clock: FixedClock) -> None:
    watch = an_endpoint("watch", advice=("interval", "run"))
    other = an_endpoint("other", next_run_at=START + timedelta(hours=1))
    await add(stores, watch, other)
    await rule(stores, watch, when="ok", interval="10s", target="other")
    await rule(stores, watch, "rule_2", when="ok", interval="20s")
    await run_slot(stores, clock, took_ms=0)

    await plan(stores)

    refused = (await get(stores, other)).refused_advice
    assert (await get(stores, watch)).advice == ("interval", "run")
    assert refused is not None
    assert refused.because == "the owner of 'watch' does not allow advice: siblings"
    assert (await get(stores, other)).interval_hint is None
    assert (await get(stores, watch)).interval_hint is not None


async def test_rule_rests_from_when_it_took_effect(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint("slow to judge")
    await add(stores, endpoint)
    await rule(stores, endpoint, when="ok", interval="10s", cooldown="1h")
    await run_slot(stores, clock, took_ms=0)
    page = await stores.planner.next_page(20)
    assert page is not None
    decisions = decide(page, await stores.planner.facts(want(page)), no_window)
    clock.tick(seconds=5)
    await stores.planner.commit_page(page, decisions)

    (known,) = await stores.planner.rules("default")
    (fired,) = [event for event in await told(stores) if event.type is EventType.RULE_FIRED]
    assert known.states[endpoint.id].fired_at == fired.at == START + timedelta(seconds=5)


async def test_run_is_judged_once_by_three_planners(stores: Stores, other_stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint("counted")
    await add(stores, endpoint)
    stored = await rule(stores, endpoint, when="ok", runs=100, clear_hints=True)
    for _ in range(5):
        await run_slot(stores, clock, took_ms=0)
        planners = [Planner(each.planner, Metrics(), "p") for each in (stores, other_stores, stores)]
        await asyncio.gather(*(planner.run_once() for planner in planners))
        clock.tick(seconds=60)
    await plan(stores)

    (known,) = await stores.planner.rules("default")
    assert known.stored == stored
    assert known.states[endpoint.id].streak == 5


async def test_page_that_another_planner_committed_writes_nothing(
    stores: Stores, other_stores: Stores, clock: FixedClock
) -> None:
    endpoint = an_endpoint("fought over")
    await add(stores, endpoint)
    await rule(stores, endpoint, when="ok", interval="10s")
    await run_slot(stores, clock, took_ms=0)
    page = await stores.planner.next_page(20)
    assert page is not None
    decisions = decide(page, await stores.planner.facts(want(page)), no_window)

    assert await other_stores.planner.commit_page(page, decisions)
    before = await told(stores)
    assert not await stores.planner.commit_page(page, decisions)
    assert await told(stores) == before
    assert kinds(before).count("rule.fired") == 1


async def test_condition_must_hold_on_so_many_runs_in_a_row(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint("shaky")
    await add(stores, endpoint)
    await rule(stores, endpoint, when="body.slow", runs=3, pause="1h")
    paused = []

    for slow in ("true", "true", "false", "true", "true", "true"):
        await run_slot(stores, clock, saying(f'{{"slow": {slow}}}'), took_ms=0)
        await plan(stores)
        paused.append((await get(stores, endpoint)).paused_until is not None)
        clock.tick(seconds=60)

    assert paused == [False, False, False, False, False, True]


async def test_rule_that_cannot_be_judged_is_told_once(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint("odd")
    await add(stores, endpoint)
    await rule(stores, endpoint, when="body.missing > 3", interval="10s")

    for text in ("{}", '{"missing": "text"}', "{}", '{"missing": 4}'):
        await run_slot(stores, clock, saying(text), took_ms=0)
        await plan(stores)
        clock.tick(seconds=60)

    assert kinds(await told(stores)).count("rule.faulty") == 1
    assert (await get(stores, endpoint)).interval_hint is not None  # once it can be judged, it works


async def test_fault_of_a_rule_is_that_of_its_last_evaluation(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint("shaky")
    await add(stores, endpoint)
    await rule(stores, endpoint, when="body.depth > body.most", interval="10m")
    seen = []

    for text in ("{}", '{"depth": 1, "most": 2}', '{"depth": 1}', '{"most": 1}'):
        await run_slot(stores, clock, saying(text), took_ms=0)
        await plan(stores)
        seen.append((await stores.planner.rules("default"))[0].states[endpoint.id].fault)
        clock.tick(seconds=60)

    missing = 'Key not found in map : "{}"'
    assert seen == [missing.format("depth"), "", missing.format("most"), missing.format("depth")]


async def test_rule_reads_earlier_runs_headers_hints_and_siblings(stores: Stores, clock: FixedClock) -> None:
    endpoint, other = an_endpoint("one"), an_endpoint("two")
    await add(stores, endpoint, other)
    await rule(
        stores, endpoint, interval="30s",
        when="size(runs) == 2 && !runs[1].ok && runs[0].at > runs[1].at && avg(runs.map(r, r.duration_ms)) >= 0 "
             "&& headers['x-left'] == '3' && schedule.hint_ms == null && schedule.interval_ms == 60000 "
             "&& siblings.two.failures == 1 && siblings.two.status == 'failure'",
    )  # fmt: skip
    await run_slot(stores, clock, saying("{}", RunStatus.FAILURE), took_ms=0)
    await plan(stores)
    clock.tick(seconds=120)
    await change(stores, other, lambda each, now: changes.pause(each, None, "", now, "user:ann", CRON))
    await run_slot(stores, clock, replace(saying("{}"), headers=(("X-Left", "3"),)), took_ms=0)

    await plan(stores)

    (known,) = await stores.planner.rules("default")
    assert known.states[endpoint.id].fault == ""
    assert (await get(stores, endpoint)).interval_hint is not None


async def test_rule_that_reads_only_the_clock_is_judged_at_the_runs_of_its_endpoint(
    stores: Stores, clock: FixedClock
) -> None:
    """It is alone in its job."""
    endpoint = an_endpoint("alone", interval_ms=3_600_000)
    await add(stores, endpoint)
    await rule(stores, endpoint, when="now.getFullYear() > 2000", interval="30s")

    await run_slot(stores, clock, took_ms=0)
    await plan(stores)

    assert (await get(stores, endpoint)).interval_hint is not None


async def test_rule_notices_a_sibling_that_stopped_reporting(stores: Stores, clock: FixedClock) -> None:
    watch, silent = an_endpoint("watch", interval_ms=60_000), an_endpoint("silent", interval_ms=60_000)
    await add(stores, watch, silent)
    await rule(stores, watch, when="siblings.silent.age_s > 600.0", interval="30s")
    await run_slot(stores, clock, took_ms=0)
    await change(stores, silent, lambda each, now: changes.pause(each, None, "", now, "user:ann", CRON))
    await plan(stores)
    assert (await get(stores, watch)).interval_hint is None

    clock.tick(seconds=660)
    await run_slot(stores, clock, took_ms=0)
    await plan(stores)

    assert (await get(stores, watch)).interval_hint is not None


async def test_failures_and_history_are_those_of_each_run_of_a_page(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint("failing", interval_ms=1_000)
    await add(stores, endpoint)
    await rule(stores, endpoint, when="failures == 2 && size(history) == 2 && history[1].n == 1", pause="1h")
    for number in (1, 2, 3):
        await run_slot(stores, clock, saying(f'{{"n": {number}}}', RunStatus.FAILURE), took_ms=0)
        clock.tick(seconds=60)

    await plan(stores)  # all three at once

    assert kinds(await told(stores)).count("rule.fired") == 1


async def test_health_counts_runs_of_one_four_and_twenty_four_hours(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint("patient", interval_ms=3_600_000)
    await add(stores, endpoint)
    for status in (RunStatus.FAILURE, RunStatus.SUCCESS, RunStatus.SUCCESS):
        await stores.endpoints.change_endpoints("default", [endpoint.id], _due)
        await run_slot(stores, clock, an_outcome(status, duration_ms=10), took_ms=0)
        clock.tick(hours=2)

    facts = await stores.planner.facts([FactsWanted(endpoint.id, 1, health=True)])

    hour, four, day = facts.health[endpoint.id]
    assert (hour.runs, hour.rate) == (0, None)
    assert (four.runs, four.rate) == (2, 1.0)
    assert (day.runs, round(day.rate or 0, 2), day.duration_ms) == (3, 0.67, 10.0)


def _due(old: Endpoint, now: datetime) -> Change:
    return Change(replace(old, next_run_at=now, failure_count=0))


async def test_runs_before_a_rule_are_not_judged_by_it(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint("old")
    await add(stores, endpoint)
    await run_slot(stores, clock, took_ms=0)
    clock.tick(seconds=1)
    stored = StoredRule(
        "rule_9", "default", endpoint.job_id, endpoint.id, read_rule({"when": "ok", "pause": "1h"}, "x"), clock.now()
    )
    await stores.planner.add_rules([stored], CHANGED)

    await plan(stores)

    assert (await get(stores, endpoint)).paused_until is None


async def test_shadow_mode_records_and_changes_nothing_and_off_does_neither(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint("watched")
    await add(stores, endpoint)
    await rule(stores, endpoint, when="ok", pause="1h")
    event = Event(EventType.PLANNER_MODE_SET, START, "default")
    await stores.planner.set_mode("tenant:default", "shadow", event)
    await run_slot(stores, clock, took_ms=0)
    await plan(stores)
    assert (await get(stores, endpoint)).paused_until is None
    assert [each.data.get("shadow") for each in await told(stores) if each.type is EventType.RULE_FIRED] == [True]

    await stores.planner.set_mode(f"endpoint:{endpoint.id}", "off", event)
    clock.tick(seconds=60)
    await run_slot(stores, clock, took_ms=0)
    await plan(stores)

    assert kinds(await told(stores)).count("rule.fired") == 1
    assert await stores.planner.modes() == {"tenant:default": "shadow", f"endpoint:{endpoint.id}": "off"}


@pytest.mark.parametrize("mode", ["off", "shadow"])
async def test_mode_that_is_set_while_a_page_is_judged_holds_for_the_page(
    stores: Stores, clock: FixedClock, mode: str
) -> None:
    endpoint = an_endpoint("one", interval_ms=3_600_000)
    await add(stores, endpoint)
    await rule(stores, endpoint, when="ok", interval="10s")
    await run_slot(stores, clock, took_ms=0)
    page = await stores.planner.next_page(20)
    assert page is not None
    decisions = decide(page, await stores.planner.facts(want(page)), no_window)

    await stores.planner.set_mode("all", mode, Event(EventType.PLANNER_MODE_SET, START, "default"))
    await stores.planner.commit_page(page, decisions)

    assert (await get(stores, endpoint)).interval_hint is None


async def test_rule_of_a_job_judges_every_endpoint_by_its_own_run(stores: Stores, clock: FixedClock) -> None:
    first, second = an_endpoint("first"), an_endpoint("second")
    await add(stores, first, second)
    whole = read_rule({"when": "endpoint == 'second' && ok", "pause": "1h"}, "x")
    await stores.planner.add_rules([StoredRule("rule_1", "default", first.job_id, None, whole, START)], CHANGED)

    await run_slot(stores, clock, took_ms=0)
    await plan(stores)

    assert (await get(stores, first)).paused_until is None
    assert (await get(stores, second)).paused_until is not None


async def test_names_of_rules_are_unique_within_their_owner(stores: Stores) -> None:
    first, second = an_endpoint("first"), an_endpoint("second")
    await add(stores, first, second)
    await rule(stores, first, name="same", when="ok", pause="1h")
    await rule(stores, second, "rule_2", name="same", when="ok", pause="1h")

    with pytest.raises(Conflict):
        await rule(stores, first, "rule_3", name="same", when="ok", pause="1h")


async def test_rules_go_with_their_endpoint_and_by_their_ids(stores: Stores) -> None:
    first, second = an_endpoint("first"), an_endpoint("second")
    await add(stores, first, second)
    await rule(stores, first, when="ok", pause="1h")
    await rule(stores, second, "rule_2", when="ok", pause="1h")
    await stores.endpoints.delete_endpoint("default", first.id, Event(EventType.ENDPOINT_DELETED, START, "default"))

    assert [known.stored.id for known in await stores.planner.rules("default")] == ["rule_2"]
    assert await stores.planner.remove_rules("another", ["rule_2"], CHANGED) == 0
    assert await stores.planner.remove_rules("default", ["rule_2"], CHANGED) == 1
    assert await stores.planner.next_page(20) is None


async def test_page_ends_after_some_hundred_runs_and_the_next_goes_on(stores: Stores) -> None:
    endpoint = an_endpoint("busy")
    await add(stores, endpoint)
    await rule(stores, endpoint, when="ok", pause="1h")
    each = PAGE_RUNS // 2 + 1
    for batch in range(3):
        ended = [f"run_{batch}_{number}" for number in range(each)]
        await stores.runs.add_events(
            [Event(EventType.RUN_FINISHED, START, "default", endpoint.id, run) for run in ended]
        )
    await told(stores)

    pages = []
    while (page := await stores.planner.next_page(20)) is not None:
        pages.append([run.run_id for run in page.runs])
        assert await stores.planner.commit_page(page, Decisions((), {}, ()))

    assert [len(runs) for runs in pages] == [2 * each, each]
    assert len({run_id for runs in pages for run_id in runs}) == 3 * each


def rehearsed(endpoint: Endpoint, number: int) -> Event:
    data: dict[str, object] = {"rule": f"rule {number}", "shadow": True}
    return Event(EventType.RULE_FIRED, START, "default", endpoint.id, "", "rule:x", data)


async def test_rehearsed_firings_are_found_behind_everything_else(stores: Stores) -> None:
    first, second = an_endpoint("first"), an_endpoint("second")
    await add(stores, first, second)
    other = Event(EventType.RULE_FIRED, START, "default", first.id, "", "rule:x", {"rule": '"shadow":true'})
    await stores.runs.add_events([rehearsed(first, 0), other, rehearsed(first, 1)])
    for number in range(SHADOW_PAGE):
        await stores.runs.add_events([rehearsed(second, number)])
    await told(stores)  # PostgreSQL holds back what a writer that has not ended could still come before

    of_first = await stores.sessions.shadow_firings("default", first.id, 10)
    newest = await stores.sessions.shadow_firings("default", None, 2)

    assert [event.data["rule"] for event in of_first] == ["rule 1", "rule 0"]
    assert [event.data["rule"] for event in newest] == [f"rule {SHADOW_PAGE - 1}", f"rule {SHADOW_PAGE - 2}"]
    assert await stores.sessions.shadow_firings("another", None, 2) == []


async def test_rehearsed_firings_are_found_by_their_index(stores: Stores) -> None:
    latest = 2**62
    assert isinstance(stores.sessions, SqlModelSessionStore)
    database = stores.sessions._db
    if isinstance(database, PostgresDatabase):
        async with database.statement("default") as session:
            lines = await session._connection.fetch(f"EXPLAIN {POSTGRES['shadow_events']}", "default", latest, 10)
            indexes = await session._connection.fetch("SELECT indexname FROM pg_indexes WHERE indexdef LIKE '%shadow%'")
    else:
        assert isinstance(database, SqliteDatabase)
        explain = f"EXPLAIN QUERY PLAN {SQLITE['shadow_events']}"
        lines = await database.read(lambda db: list(db._db.execute(explain, ("default", latest, 10))))
        indexes = [("event_in_shadow",)]

    assert any(name in str(lines) for (name,) in indexes)  # a partition has its own


async def test_rule_reads_the_certificate_of_a_run_that_asked_for_it(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint("one")
    await add(stores, endpoint)
    await rule(stores, endpoint, when='tls.days_left < 20 && tls.issuer == "CN=ca"', interval="30s")
    certificate = Certificate("CN=shop", "CN=ca", START, 9)
    await run_slot(stores, clock, replace(saying("{}"), certificate=certificate, address="192.0.2.1"), took_ms=0)

    await plan(stores)

    (known,) = await stores.planner.rules("default")
    assert known.states[endpoint.id].fault == ""
    assert (await get(stores, endpoint)).interval_hint is not None

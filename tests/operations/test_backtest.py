"""Recorded runs replayed at the desk, on both databases."""

import pytest
from msgspec.structs import replace
from tests.harness.config import a_config
from tests.stores.world import FixedClock, an_outcome, run_slot, told

from mainspring.domain.errors import Conflict
from mainspring.domain.event import EventType
from mainspring.domain.run import Body, RunStatus
from mainspring.observe import Metrics
from mainspring.operations.backtest import BacktestRequest, run_backtest
from mainspring.operations.context import Desk
from mainspring.operations.endpoints import add_endpoint
from mainspring.operations.rules import add_rules, check_rules, find_owner, try_rules
from mainspring.simulation.comparison import comparison
from mainspring.views.backtest import Backtest
from mainspring.workers.planner import Planner


async def recorded(desk: Desk, clock: FixedClock) -> None:
    """Ten minutes: busy from the third on, and down at the seventh."""
    await add_endpoint(desk, a_config("queue", "https://example.com/", interval_ms=60_000, spread=False))
    for minute in range(10):
        text = f'{{"depth": {50 if minute >= 3 else 1}}}'.encode()
        status = RunStatus.FAILURE if minute == 7 else RunStatus.SUCCESS
        await run_slot(desk.stores, clock, an_outcome(status, body=Body(text, "", False, len(text))), took_ms=0)
        clock.tick(seconds=60)


async def test_changed_rules_are_compared_with_those_that_are_kept(desk: Desk, clock: FixedClock) -> None:
    await recorded(desk, clock)
    owner = await find_owner(desk, "queue", None)
    await add_rules(desk, owner, [{"name": "old", "when": "body.depth > 10", "clear_hints": True}])

    changed = await run_backtest(
        desk,
        owner,
        BacktestRequest(rules=[{"name": "busy", "when": "body.depth > 10", "interval": "30s", "ttl": "2m"}]),
    )
    told = Backtest.of(changed).as_json()

    assert told["calls"]["changed"] > told["calls"]["present"]
    assert [each["rule"] for each in told["differs"]["only_changed"]] == ["busy"]
    assert told["failures"][0]["seen_after_s"]["changed"] < 1


async def test_page_shows_lanes_failures_and_decisions(desk: Desk, clock: FixedClock) -> None:
    await recorded(desk, clock)
    owner = await find_owner(desk, "queue", None)

    page = comparison(await run_backtest(desk, owner, BacktestRequest(every=180_000)))

    assert all(words in page for words in ("queue", "recorded, 9", "changed, ", "Recorded failures", "not seen"))
    assert "<script" not in page


@pytest.mark.parametrize(
    "wish",
    [
        BacktestRequest(every=1),
        BacktestRequest(cron="61 * * * *"),
        BacktestRequest(cron="@daily", every=60_000),
    ],
)
async def test_policy_that_cannot_be_is_refused(desk: Desk, clock: FixedClock, wish: BacktestRequest) -> None:
    await recorded(desk, clock)

    with pytest.raises(Exception, match=r"out of bounds|cron"):
        await run_backtest(desk, await find_owner(desk, "queue", None), wish)
    with pytest.raises(Exception, match="belong to one endpoint"):
        await run_backtest(desk, await find_owner(desk, None, "default"), wish)


async def test_limits_alone_may_change_and_nothing_recorded_is_told(desk: Desk, clock: FixedClock) -> None:
    await add_endpoint(desk, a_config("idle", "https://example.com/", interval_ms=60_000, job="idle"))
    with pytest.raises(Conflict, match="nothing to replay"):
        await run_backtest(desk, await find_owner(desk, "idle", None), BacktestRequest())

    await recorded(desk, clock)
    wider = await run_backtest(desk, await find_owner(desk, "queue", None), BacktestRequest(max_interval=600_000))
    assert len(wider.changed.runs) == len(wider.present.runs)


async def test_limit_of_runs_is_each_endpoints_and_is_stated(desk: Desk, clock: FixedClock) -> None:
    for name in ("one", "two"):
        await add_endpoint(desk, a_config(name, "https://example.com/", interval_ms=60_000, spread=False))
    for _ in range(6):
        clock.tick(seconds=60)
        await run_slot(desk.stores, clock, an_outcome(), took_ms=0)
    owner = await find_owner(desk, "one", None)

    limited = await run_backtest(desk, owner, BacktestRequest(limit=3))
    whole = await run_backtest(desk, owner, BacktestRequest(limit=50_000))

    assert (limited.limit, limited.is_limited) == (3, True)
    assert {len(each) for each in limited.recorded.values()} == {3}
    assert (whole.limit, whole.is_limited) == (25_000, False)
    assert Backtest.of(limited).is_limited
    assert not Backtest.of(whole).is_limited


async def test_large_bodies_lower_the_limit_rather_than_fill_the_memory(desk: Desk, clock: FixedClock) -> None:
    await add_endpoint(desk, a_config("one", "https://example.com/", interval_ms=60_000, spread=False))
    clock.tick(seconds=60)
    large = Body(b"x" * 100_000, "text/plain", False, 100_000)
    await run_slot(desk.stores, clock, an_outcome(body=large), took_ms=0)

    tested = await run_backtest(desk, await find_owner(desk, "one", None), BacktestRequest(limit=50_000))

    assert tested.limit == 2_000


async def test_window_rule_fires_at_the_same_runs_live_rehearsed_and_replayed(desk: Desk, clock: FixedClock) -> None:
    """Its action keeps the interval that the endpoint has, so that all three see the same runs."""
    when = (
        'size(window["10m"]) > 8 && avg(window["5m"].map(r, r.body.n)) > 1.5 * avg(window["20m"].map(r, r.body.n)) '
        "&& headers['x-left'] == '3'"
    )
    rule = {"name": "grows", "when": when, "interval": "1m", "ttl": "1m"}
    endpoint = await add_endpoint(desk, a_config("queue", "https://example.com/", interval_ms=60_000, spread=False))
    owner = await find_owner(desk, "queue", None)
    await add_rules(desk, owner, [rule])
    planner = Planner(desk.stores.planner, Metrics(), "planner-1")
    for minute in range(40):
        clock.tick(seconds=60)
        text = f'{{"n": {1 + max(0, minute - 15) % 12}}}'.encode()
        outcome = an_outcome(body=Body(text, "application/json", False, len(text)))
        await run_slot(desk.stores, clock, replace(outcome, headers=(("x-left", "3"),)), took_ms=0)
        while await planner.run_once():
            pass

    live = [each for each in await told(desk.stores) if each.type is EventType.RULE_FIRED]
    rehearsed = [each for each in await try_rules(desk, owner, await check_rules([rule], owner), 100) if each.fired]
    replayed = (await run_backtest(desk, owner, BacktestRequest())).present

    assert len(live) > 5
    assert {each.endpoint_id for each in live} == {endpoint.id}
    assert [each.run_id for each in rehearsed] == [each.run_id for each in live]
    assert [each.recorded_id for each in replayed.fired] == [each.run_id for each in live]
    assert replayed.faults == ()

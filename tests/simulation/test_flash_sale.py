"""The flash sale, phase by phase, for many seeds, on both databases; and that breaking a part makes it fail."""

import asyncio
import re
from datetime import datetime

import asyncpg
import pytest
from msgspec.structs import replace

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.errors import StoreUnavailable
from mainspring.domain.rules import judge
from mainspring.domain.rules.apply import RuleState
from mainspring.domain.rules.rule import Rule
from mainspring.domain.schedule import anchor, changes, governor
from mainspring.domain.schedule.governor import CronReader
from mainspring.simulation import trace
from mainspring.simulation.checks import check_trace
from mainspring.simulation.report import report
from mainspring.simulation.scenario import load_scenario
from mainspring.simulation.world import play
from mainspring.workers.planner import Planner
from tests.harness.postgres import as_superuser

SALE = load_scenario("flash-sale")
SEEDS, SEEDS_LONG = 8, 100


def failures(seed: int) -> list[str]:
    return [f"{each.check}: {each.detail}" for each in check_trace(play(SALE, seed)) if not each.ok]


def test_sale_keeps_every_promise_for_every_seed(long_run: bool) -> None:
    failed = {seed: faults for seed in range(1, (SEEDS_LONG if long_run else SEEDS) + 1) if (faults := failures(seed))}

    assert failed == {}


def test_trace_is_the_same_for_the_same_seed_and_another_for_another() -> None:
    first, again, other = play(SALE, 3).text, play(SALE, 3).text, play(SALE, 4).text

    assert first == again
    assert first != other


def test_trace_is_the_same_on_postgresql(postgres_url: str) -> None:
    assert play(SALE, 5, postgres_url).text == play(SALE, 5).text


async def test_sale_that_cannot_read_what_it_wrote_tells_no_other_story(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer of events that does not end holds later ones back. However long, there is the whole trace or none."""
    monkeypatch.setattr(trace, "TRIES", 5)
    other = await asyncpg.connect(as_superuser(postgres_url))
    await other.execute("BEGIN")
    await other.execute("INSERT INTO event (tenant_id, at, events) VALUES ('default', '2026-01-01Z', '[]')")

    try:
        with pytest.raises(StoreUnavailable, match="wrote events and keeps its transaction open"):
            await asyncio.to_thread(play, SALE, 5, postgres_url)
    finally:
        await other.close()


@pytest.mark.parametrize("seed", range(1, SEEDS_LONG + 1))
def test_every_trace_is_the_same_on_postgresql(seed: int, postgres_url: str, long_run: bool) -> None:
    if not long_run:
        pytest.skip("one seed stands for all; --long plays a hundred")
    assert play(SALE, seed, postgres_url).text == play(SALE, seed).text


def test_hanging_planner_leaves_exactly_the_baseline(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if there were no rule at all: every run at the same instant, for the same reason."""
    unruled = {name: replace(target, rules=()) for name, target in SALE.endpoints.items()}
    alone = play(replace(SALE, endpoints=unruled), 6)

    async def hang(planner: Planner) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(Planner, "run", hang)

    assert play(SALE, 6).runs == alone.runs
    assert {run.source for run in alone.runs} == {"baseline-interval"}


def test_phases_are_named_above_the_runs_they_hold() -> None:
    page = report(play(SALE, 1), [])
    timeline = page[page.index("<svg") : page.index("</svg>")]
    names = [float(y) for y in re.findall(r'class="t" x="[\d.]+" y="([\d.]+)">(?:baseline|surge)', timeline)]
    dots = [float(y) - float(r) for y, r in re.findall(r'cy="([\d.]+)" r="([\d.]+)"', timeline)]

    assert len(names) == 2
    assert max(names) + 3 < min(dots), "a name reaches three below its line"


def test_report_tells_of_every_endpoint_and_acts_on_nothing() -> None:
    trace = play(SALE, 1)
    page = report(trace, check_trace(trace))

    assert all(name in page for name in SALE.endpoints)
    assert "checks hold" in page
    assert "<script" not in page
    assert "http" not in page.replace("http://www.w3.org", "")


def test_sale_fails_without_the_cooldown(monkeypatch: pytest.MonkeyPatch) -> None:
    def always(rule: Rule, subject: RuleState, target: RuleState, now: datetime) -> bool:
        return subject.streak >= rule.for_runs

    monkeypatch.setattr(judge, "is_ripe", always)

    assert any("once_per" in fault for fault in failures(1))


def test_sale_fails_without_the_nudge(monkeypatch: pytest.MonkeyPatch) -> None:
    def stay(endpoint: Endpoint, now: datetime, cron: CronReader) -> Endpoint:
        return endpoint

    monkeypatch.setattr(changes, "nudge", stay)

    assert any("inventory_sync_check" in fault for seed in (1, 2) for fault in failures(seed))


def test_sale_fails_when_the_governor_forgets_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    real = governor.plan_next_run

    def awake(now: datetime, endpoint: Endpoint, cron: CronReader) -> governor.Decision:
        return real(now, replace(endpoint, paused_until=None), cron)

    monkeypatch.setattr(anchor, "plan_next_run", awake)
    monkeypatch.setattr(Endpoint, "is_paused", lambda endpoint, now: False)  # or the claim would keep the pause

    assert any("pauses_hold" in fault for fault in failures(1))


def test_sale_fails_when_the_governor_ignores_hints(monkeypatch: pytest.MonkeyPatch) -> None:
    real = governor.plan_next_run

    def deaf(now: datetime, endpoint: Endpoint, cron: CronReader) -> governor.Decision:
        return real(now, replace(endpoint, interval_hint=None, one_shot_hint=None), cron)

    monkeypatch.setattr(anchor, "plan_next_run", deaf)

    assert any("gaps endpoint=traffic_monitor" in fault for fault in failures(1))


def test_sale_fails_when_rules_wake_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "resume", lambda endpoint, now, actor, cron: changes.Change(endpoint))

    assert any("runs_within" in fault for fault in failures(1))

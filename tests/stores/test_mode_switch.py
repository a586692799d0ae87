"""A switch of the planner's mode: after it, nothing is committed under the mode before, whoever advises."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from datetime import datetime
from typing import Any

import pytest
from msgspec.structs import replace
from tests.harness.waiting import until_true
from tests.operations.rival import Interrupted
from tests.stores.databases import is_sqlite, locked, query
from tests.stores.world import START, FixedClock, add, an_endpoint, get, kinds, run_slot, told
from tests.workers.sessions import DONE, Scripted, analyst

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.event import Event, EventType
from mainspring.domain.instant import after_ms
from mainspring.domain.rules.apply import LIVE, OFF
from mainspring.domain.rules.judge import StoredRule, mode_of
from mainspring.domain.rules.rule import read_rule
from mainspring.domain.schedule import changes
from mainspring.domain.schedule.changes import Change
from mainspring.domain.schedule.cron import CRON
from mainspring.domain.schedule.hint import IntervalHint
from mainspring.observe import Metrics
from mainspring.ports.planner import ProposalFilter
from mainspring.ports.stores import Stores
from mainspring.ports.workflows import Intent
from mainspring.workers.effects.hint import HintHandler
from mainspring.workers.planner import Planner

WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
SWITCHED = Event(EventType.PLANNER_MODE_SET, START, "default")


async def by_rule(stores: Stores) -> None:
    await Planner(stores.planner, Metrics(), "planner-1").run_once()


async def by_model(stores: Stores) -> None:
    script = Scripted(("propose_interval", {"interval_ms": 10_000, "reason": "deep"}), DONE)
    await analyst(stores, script, switch_s=3_600.0).run_once()


async def by_step(stores: Stores) -> None:
    wanted: dict[str, object] = {"endpoint": "one", "interval_ms": 10_000}
    await HintHandler(stores).run(Intent("k", "exe_1", "default", 0, "s", 1, 1, "hint", wanted, "k", 1_000, 1, False))


ADVISERS: dict[str, tuple[Callable[[Stores], Coroutine[Any, Any, None]], str]] = {
    "rule": (by_rule, "commit_page"),
    "model": (by_model, "commit_advice"),
    "step": (by_step, "commit_advice"),
}


async def advised(stores: Stores, clock: FixedClock, *, has_rule: bool) -> Endpoint:
    """An endpoint about which a rule and a model have something to say."""
    endpoint = an_endpoint("one", interval_ms=3_600_000, description="run often while the queue is deep")
    await add(stores, endpoint)
    if has_rule:
        rule = read_rule({"when": "ok", "interval": "10s"}, "deep")
        stored = StoredRule("rule_1", "default", endpoint.job_id, endpoint.id, rule, START)
        await stores.planner.add_rules([stored], Event(EventType.RULES_CHANGED, START, "default"))
    await run_slot(stores, clock, took_ms=0)
    return await get(stores, endpoint)


@pytest.mark.parametrize("mode", ["off", "shadow", "ask"])
@pytest.mark.parametrize("adviser", ADVISERS)
async def test_mode_that_is_set_just_before_the_commit_holds_for_it(
    stores: Stores, other_stores: Stores, clock: FixedClock, adviser: str, mode: str
) -> None:
    before = await advised(stores, clock, has_rule=adviser == "rule")
    advise, commit = ADVISERS[adviser]
    rival: Any = Interrupted(stores.planner, commit, lambda: other_stores.planner.set_mode("all", mode, SWITCHED))

    await advise(replace(stores, planner=rival))

    assert await get(stores, before) == before
    assert len(await stores.proposals.proposals("default", ProposalFilter())) == (mode == "ask")


@pytest.mark.parametrize("adviser", ADVISERS)
async def test_switch_waits_for_advice_that_is_being_committed(
    stores: Stores, other_stores: Stores, store_url: str, clock: FixedClock, adviser: str
) -> None:
    """On SQLite every commit waits for every other one."""
    endpoint = await advised(stores, clock, has_rule=adviser == "rule")

    async def wait(count: int, or_done: "asyncio.Task[None]") -> None:
        waiting = (
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )

        async def are_waiting() -> bool:
            return or_done.done() or (await query(store_url, waiting))[0][0] == count

        if not is_sqlite(store_url):
            await until_true(are_waiting, f"{count} connections that wait for a lock")

    async with asyncio.timeout(60):
        async with locked(store_url, endpoint):
            advising = asyncio.create_task(ADVISERS[adviser][0](stores))
            await wait(1, advising)
            switching = asyncio.create_task(other_stores.planner.set_mode("all", OFF, SWITCHED))
            await wait(2, switching)
        await advising
        await switching

    order = kinds(await told(stores))
    assert "hint.written" not in order[order.index("planner.mode_set") :]
    assert is_sqlite(store_url) or "hint.written" in order


async def test_mode_that_is_read_before_the_commit_would_miss_the_switch(
    stores: Stores, other_stores: Stores, clock: FixedClock
) -> None:
    """The negative control: what a worker did that read the modes itself."""
    endpoint = await advised(stores, clock, has_rule=False)
    modes = await stores.planner.modes()
    await other_stores.planner.set_mode("all", OFF, SWITCHED)

    await stores.endpoints.change_endpoints("default", [endpoint.id], lambda each, now: advice(each, modes, now))

    order = kinds(await told(stores))
    assert order.index("hint.written") > order.index("planner.mode_set")


async def test_advice_to_an_endpoint_that_is_gone_is_none(stores: Stores, clock: FixedClock) -> None:
    endpoint = await advised(stores, clock, has_rule=False)
    gone = Event(EventType.ENDPOINT_DELETED, START, "default", endpoint.id)
    await stores.endpoints.delete_endpoint("default", endpoint.id, gone)

    assert await stores.planner.commit_advice("default", endpoint.id, advice) is None
    assert await stores.planner.commit_advice("other", endpoint.id, advice) is None


def advice(endpoint: Endpoint, modes: Mapping[str, str], now: datetime) -> Change:
    if mode_of(modes, endpoint.tenant_id, endpoint.id) != LIVE:
        return Change(endpoint)
    hint = IntervalHint(10_000, after_ms(now, 600_000), "", "model:x")
    return changes.put_interval_hint(endpoint, hint, now, CRON)

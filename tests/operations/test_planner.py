"""What the planner is asked at the desk: modes of one tenant, sessions, looks, and what shadow mode would have done."""

from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.harness.config import a_config
from tests.stores.world import FixedClock, an_outcome, run_slot

from mainspring.domain.endpoint import Endpoint, Tenant
from mainspring.domain.errors import Conflict, Misconfigured, NotFound
from mainspring.domain.event import Event, EventType
from mainspring.domain.instant import FOREVER
from mainspring.domain.model.session import ModelSession, SessionDetail
from mainspring.domain.rules.judge import decide as judge
from mainspring.domain.rules.judge import want
from mainspring.domain.schedule.changes import Act, pause, put_interval_hint, put_one_shot_hint
from mainspring.domain.schedule.cron import CRON
from mainspring.domain.schedule.hint import IntervalHint, OneShotHint
from mainspring.operations.context import Desk
from mainspring.operations.endpoints import add_endpoint, find_endpoint
from mainspring.operations.planner import (
    SESSIONS_PAGE,
    Modes,
    advice_in_force,
    find_session,
    look_at,
    modes_of,
    shadow_sessions,
    undo_advice,
)
from mainspring.operations.rules import add_rules, find_owner, set_mode
from mainspring.settings import Settings
from mainspring.wiring.planner import model_fault, open_models

ONE = a_config("one", "https://example.com/", interval_ms=60_000, spread=False)


def a_session(endpoint: Endpoint, clock: FixedClock, number: int, mode: str) -> ModelSession:
    return ModelSession(
        f"ses_{number}", "default", endpoint.id, clock.now(), "done", mode, "m", 1, 1, 1, 1, clock.now(), 0,
        SessionDetail(),
    )  # fmt: skip


async def test_modes_are_those_that_concern_one_tenant(desk: Desk) -> None:
    assert await modes_of(desk) == Modes("live", "live", {})
    endpoint = await add_endpoint(desk, ONE)
    await desk.stores.endpoints.put_tenant(Tenant("other", "other"))
    await set_mode(desk, "all", "shadow")
    await set_mode(desk, "tenant", "off")
    await set_mode(desk, "one", "off")

    assert await modes_of(desk) == Modes("shadow", "off", {endpoint.id: ("one", "off")})


async def test_sessions_are_found_and_those_of_shadow_mode_told(desk: Desk, clock: FixedClock) -> None:
    endpoint = await add_endpoint(desk, ONE)
    told = Event(EventType.PLANNER_ANALYSED, clock.now(), "default", endpoint.id)
    for number, mode in enumerate(("live", "shadow", "shadow")):
        await desk.stores.sessions.record_session(a_session(endpoint, clock, number, mode), "w", told)

    assert (await find_session(desk, "ses_1")).mode == "shadow"
    assert [each.id for each in await shadow_sessions(desk, endpoint.id, 1)] == ["ses_2"]
    with pytest.raises(NotFound):
        await find_session(desk, "ses_9")


async def test_sessions_of_shadow_mode_are_found_however_many_live_ones_came_after(
    desk: Desk, clock: FixedClock
) -> None:
    endpoint = await add_endpoint(desk, ONE)
    told = Event(EventType.PLANNER_ANALYSED, clock.now(), "default", endpoint.id)
    for number in range(100, 101 + SESSIONS_PAGE):
        mode = "shadow" if number in (100, 200) else "live"
        await desk.stores.sessions.record_session(a_session(endpoint, clock, number, mode), "w", told)

    assert [each.id for each in await shadow_sessions(desk, endpoint.id, 1)] == ["ses_200"]
    assert [each.id for each in await shadow_sessions(desk, endpoint.id, 9)] == ["ses_200", "ses_100"]


async def test_firings_of_shadow_mode_are_told_newest_first(desk: Desk, clock: FixedClock) -> None:
    endpoint = await add_endpoint(desk, ONE)
    await set_mode(desk, "one", "shadow")
    await add_rules(desk, await find_owner(desk, "one", None), [{"when": "ok", "interval": "30s"}])
    for _ in range(2):
        await run_slot(desk.stores, clock, an_outcome(), took_ms=0)
        clock.tick(seconds=60)
        page = await desk.stores.planner.next_page(20)
        assert page is not None
        decisions = judge(page, await desk.stores.planner.facts(want(page)), lambda _: ())
        await desk.stores.planner.commit_page(page, decisions)

    fired = await desk.stores.sessions.shadow_firings("default", endpoint.id, 10)
    assert [each.data["rule"] for each in fired] == ["rule-1", "rule-1"]
    assert fired[0].at > fired[1].at
    assert await desk.stores.sessions.shadow_firings("default", "ep_other", 10) == []


async def test_look_needs_a_model_that_can_be_used_and_is_free(desk: Desk, clock: FixedClock) -> None:
    endpoint = await add_endpoint(desk, ONE)

    async def seen(which: Endpoint) -> ModelSession | None:
        return a_session(which, clock, 1, "live")

    async def busy(which: Endpoint) -> ModelSession | None:
        return None

    async def broken(which: Endpoint) -> ModelSession | None:
        raise Misconfigured("needs a library that is not installed", setting="MAINSPRING_MODEL")

    assert (await look_at(desk, "one", seen))[0] == endpoint
    for look, words in ((None, "no model is configured"), (busy, "right now"), (broken, "needs a library")):
        with pytest.raises(Conflict, match=words):
            await look_at(desk, "one", look)


async def test_undo_ends_what_advice_has_in_force_and_leaves_what_people_set(desk: Desk, clock: FixedClock) -> None:
    at_rule, at_model, mine, idle = [
        await add_endpoint(desk, replace(ONE, name=name)) for name in ("at rule", "at model", "mine", "idle")
    ]
    later = clock.now() + timedelta(hours=1)

    async def do(endpoint: Endpoint, act: Act) -> None:
        await desk.stores.endpoints.change_endpoints("default", [endpoint.id], act)

    by_person = OneShotHint(clock.now(), later, "", "user:ann")
    await do(at_rule, lambda each, now: pause(each, None, "", now, "rule:night", CRON))
    await do(at_model, lambda each, now: put_interval_hint(each, IntervalHint(9_000, later, "", "model:x"), now, CRON))
    await do(at_model, lambda each, now: put_one_shot_hint(each, by_person, now, CRON))
    await do(mine, lambda each, now: pause(each, None, "stop", now, "user:ann", CRON))

    assert {each.name for each in await advice_in_force(desk, "tenant")} == {"at rule", "at model"}
    assert await undo_advice(desk, "at model") == 1
    assert await undo_advice(desk, "all") == 1

    found = {name: await find_endpoint(desk, name) for name in ("at rule", "at model", "mine", "idle")}
    assert found["at rule"].paused_until is None
    assert (found["at model"].interval_hint, found["at model"].one_shot_hint) == (None, by_person)
    assert (found["mine"].paused_until, found["idle"]) == (FOREVER, idle)
    assert await advice_in_force(desk, "all") == []


async def test_look_says_why_the_configured_model_is_off(desk: Desk) -> None:
    await add_endpoint(desk, ONE)

    with pytest.raises(Conflict, match="needs a key; set MAINSPRING_MODEL_KEY; rules work without one"):
        await look_at(desk, "one", None, "MAINSPRING_MODEL='openai:x' needs a key; set MAINSPRING_MODEL_KEY")


@pytest.mark.parametrize(
    ("model", "words"),
    [("openai:x", "needs a key"), ("small", "is not a model"), ("", "")],
)
async def test_model_that_cannot_be_used_is_off_and_stops_nothing(model: str, words: str) -> None:
    chosen = Settings(model=model)

    async with open_models(chosen) as models:
        assert models == []
    assert words in model_fault(chosen)

"""Rules at the desk: added, refused, removed, rehearsed; and the planner's mode."""

import pytest
from msgspec.structs import replace
from tests.harness.config import a_config
from tests.stores.world import FixedClock, an_outcome, run_slot

from mainspring.domain.endpoint import Tenant
from mainspring.domain.errors import Conflict, InvalidInput, NotFound, QuotaExceeded
from mainspring.domain.rules.health_sums import HealthSums
from mainspring.domain.rules.judge import HealthWanted
from mainspring.domain.run import Body, RunStatus
from mainspring.observe import Metrics
from mainspring.operations.context import Desk
from mainspring.operations.endpoints import add_endpoint
from mainspring.operations.rules import (
    add_rules,
    check_loose_rules,
    check_rules,
    dry_run_of,
    edit_rule,
    find_owner,
    find_rule,
    remove_rules,
    rules_of,
    set_mode,
    try_rules,
)
from mainspring.workers.planner import Planner

ONE = a_config("one", "https://example.com/", interval_ms=60_000, spread=False)
PAUSE: dict[str, object] = {"when": "ok", "pause": "1h"}


async def test_rules_are_named_added_and_removed(desk: Desk) -> None:
    await add_endpoint(desk, ONE)
    owner = await find_owner(desk, "one", None)
    whole = await find_owner(desk, None, "default")

    added = await add_rules(desk, owner, [PAUSE, {**PAUSE, "name": "mine"}, PAUSE])
    await add_rules(desk, whole, [PAUSE])

    assert [stored.rule.name for stored in added] == ["rule-1", "mine", "rule-2"]
    assert len(await rules_of(desk, whole)) == 1
    assert await remove_rules(desk, owner, ["mine", added[0].id]) == ["rule-1", "mine"]
    assert await remove_rules(desk, owner, []) == ["rule-2"]
    assert await remove_rules(desk, whole, []) == ["rule-1"]
    with pytest.raises(NotFound):
        await remove_rules(desk, owner, ["mine"])


async def test_rule_is_held_to_the_tenants_minimum_interval(desk: Desk) -> None:
    await add_endpoint(desk, ONE)
    owner = await find_owner(desk, "one", None)
    (there,) = await add_rules(desk, owner, [PAUSE])
    await desk.stores.endpoints.put_tenant(Tenant("default", "default", interval_ms_min=30_000))
    greedy = {"when": "ok", "interval": "29s"}

    with pytest.raises(QuotaExceeded, match="interval 29s is below the tenant's minimum 30s"):
        await add_rules(desk, owner, [{**greedy, "interval": "30s"}, greedy])
    with pytest.raises(QuotaExceeded, match="interval 29s is below the tenant's minimum 30s"):
        await edit_rule(desk, there.id, {"interval": "29s"})
    assert [known.stored for known in await rules_of(desk, owner)] == [there]


async def test_rule_is_edited_in_place(desk: Desk) -> None:
    await add_endpoint(desk, ONE)
    owner = await find_owner(desk, "one", None)
    first, second = await add_rules(desk, owner, [PAUSE, PAUSE])

    edited = await edit_rule(desk, first.id, {"pause": "2h", "reason": "lunch", "for": 3})
    back = await edit_rule(desk, first.id, {"reason": None, "for": None})

    assert (edited.stored.id, edited.stored.rule.pause_ms, edited.stored.rule.for_runs) == (first.id, 7_200_000, 3)
    assert (await find_rule(desk, first.id))[0].stored == back.stored
    assert (back.stored.rule.reason, back.stored.rule.for_runs) == ("", 1)
    with pytest.raises(Conflict, match="named 'rule-2' already"):
        await edit_rule(desk, first.id, {"name": second.rule.name})
    with pytest.raises(InvalidInput, match="does nothing"):
        await edit_rule(desk, first.id, {"pause": None})
    with pytest.raises(NotFound):
        await edit_rule(desk, "rule_9", {"pause": "2h"})


class Gone:
    """A store in which a rule is removed between the look and the write."""

    def __init__(self, real: object) -> None:
        self._real = real

    def __getattr__(self, name: str) -> object:
        return getattr(self._real, name)

    async def put_rule(self, stored: object, event: object) -> bool:
        return False


async def test_rule_that_goes_away_meanwhile_is_not_found(desk: Desk) -> None:
    await add_endpoint(desk, ONE)
    (stored,) = await add_rules(desk, await find_owner(desk, "one", None), [PAUSE])
    raced = replace(desk, stores=replace(desk.stores, planner=Gone(desk.stores.planner)))

    with pytest.raises(NotFound):
        await edit_rule(raced, stored.id, {"pause": "2h"})


async def test_rehearsal_checks_as_usual_and_writes_nothing(desk: Desk) -> None:
    await add_endpoint(desk, ONE)
    there, owner = dry_run_of(desk), await find_owner(desk, "one", None)
    (kept,) = await add_rules(desk, owner, [PAUSE])

    await add_rules(there, owner, [PAUSE])
    await edit_rule(there, kept.id, {"pause": "2h"})
    assert await remove_rules(there, owner, []) == ["rule-1"]
    await set_mode(there, "tenant", "off")
    with pytest.raises(Conflict):
        await add_rules(there, owner, [{**PAUSE, "name": "rule-1"}])

    assert await there.stores.planner.modes() == {"tenant:default": "off"}
    assert await desk.stores.planner.modes() == {}
    assert [known.stored for known in await rules_of(desk, owner)] == [kept]


async def test_rules_of_nobody_may_name_any_sibling() -> None:
    rules = await check_loose_rules([{"when": "siblings.any.ok", "target": "some", "pause": "1h"}, PAUSE])

    assert [rule.name for rule in rules] == ["rule-1", "rule-2"]


async def test_what_cannot_be_is_refused(desk: Desk) -> None:
    await add_endpoint(desk, ONE)
    owner = await find_owner(desk, "one", None)

    with pytest.raises(NotFound):
        await find_owner(desk, None, "nowhere")
    with pytest.raises(Conflict):
        await check_rules([{**PAUSE, "name": "same"}], owner, ["same"])
    with pytest.raises(InvalidInput, match="exceed the maximum of 50"):
        await check_rules([PAUSE] * 51, owner)


async def test_recorded_runs_are_rehearsed_in_their_order(desk: Desk, clock: FixedClock) -> None:
    await add_endpoint(desk, ONE)
    for depth, status in ((1, RunStatus.SUCCESS), (9, RunStatus.FAILURE), (9, RunStatus.SUCCESS)):
        clock.tick(minutes=5)
        text = f'{{"depth": {depth}}}'.encode()
        await run_slot(desk.stores, clock, an_outcome(status, body=Body(text, "", False, len(text))), took_ms=0)
    owner = await find_owner(desk, "one", None)
    deep, odd = {"when": "body.depth > 5", "for": 2, "pause": "1h"}, {"when": "body.x > 1", "pause": "1h"}
    rules = await check_rules([deep, odd], owner)

    tested = await try_rules(desk, owner, rules, 10)

    assert [each.fired for each in tested] == [(), (), ("rule-1",)]
    assert {each.endpoint for each in tested} == {"one"}
    assert [bool(each.faults) for each in tested] == [True, False, False]
    whole = await find_owner(desk, None, "default")
    assert [each.fired for each in await try_rules(desk, whole, await check_rules([PAUSE], whole), 2)] == [
        (),
        ("rule-1",),
    ]


async def test_health_of_recorded_runs_is_what_the_planner_saw(desk: Desk, clock: FixedClock) -> None:
    """The planner, `rules test` and a back-test count the same runs, also those before the replayed ones."""
    endpoint = await add_endpoint(desk, replace(ONE, interval_ms=1_000))
    owner = await find_owner(desk, "one", None)
    documents: list[object] = [
        {"when": when, "pause": "1h"}
        for when in (
            "3 * health.h24.duration_ms > 60",
            "health.h1.success_rate < 0.4",
            "health.h1.runs == 13 && health.h24.runs == 40",
        )
    ]
    await add_rules(desk, owner, documents)
    await set_mode(desk, "all", "shadow")
    live: list[tuple[str, ...]] = []
    planner, sums = Planner(desk.stores.planner, Metrics(), "planner-1"), HealthSums()
    for number in range(40):
        status = RunStatus.FAILURE if number % 2 or 20 <= number < 25 else RunStatus.SUCCESS
        (claim,) = await run_slot(desk.stores, clock, an_outcome(status, duration_ms=10 + number), took_ms=0)
        sums.add(clock.now(), status is RunStatus.SUCCESS, 10 + number)
        assert sums.at(clock.now()) == await desk.stores.planner.health(HealthWanted(endpoint.id, clock.now()))
        while await planner.run_once():
            pass
        fired = await desk.stores.sessions.shadow_firings("default", endpoint.id, 100)
        live.append(tuple(str(each.data["rule"]) for each in reversed(fired) if each.run_id == claim.run_id))
        clock.tick(minutes=5)

    tested = await try_rules(desk, owner, await check_rules(documents, owner), 12)

    assert [each.fired for each in tested] == live[-12:]
    assert {name for names in live for name in names} == {"rule-1", "rule-2", "rule-3"}
    assert not any(each.faults for each in tested)


async def test_mode_is_set_for_everything_a_tenant_or_an_endpoint(desk: Desk) -> None:
    endpoint = await add_endpoint(desk, ONE)

    for scope, mode in (("all", "shadow"), ("tenant", "off"), ("one", "off")):
        await set_mode(desk, scope, mode)

    assert await desk.stores.planner.modes() == {
        "all": "shadow",
        "tenant:default": "off",
        f"endpoint:{endpoint.id}": "off",
    }
    with pytest.raises(InvalidInput, match="give live, ask, shadow or off"):
        await set_mode(desk, "all", "loud")

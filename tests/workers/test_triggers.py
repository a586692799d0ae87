"""What happens to endpoints starts workflows and is told to them: once, on both databases, whoever dies meanwhile."""

import asyncio
import json

import pytest
from msgspec.structs import replace

from mainspring.domain.event import Event, EventType
from mainspring.domain.run import Body, RunStatus
from mainspring.domain.schedule.cron import CRON
from mainspring.operations.context import Desk
from mainspring.operations.workflows import publish_workflow, start_execution
from mainspring.outbound.vault import AesVault, KeyRing
from mainspring.ports.stores import Stores
from mainspring.ports.workflows import Execution, ExecutionFilter
from mainspring.wiring.clock import TimeOrderedIds
from mainspring.wiring.workflows import OperationTriggerActions
from mainspring.workers.triggers import TriggerWorker
from tests.api.test_store_calls import counting
from tests.stores.flow_world import a_ticker, tick
from tests.stores.world import FixedClock, add, an_endpoint, an_outcome, run_slot, told

HEALS = """\
name: heals
input: {depth: integer}
on:
  - run: {endpoint: billing, status: failure}
    where: event.body.depth > 10
    input: {depth: "{{ event.body.depth }}"}
    correlation: "depth-{{ event.body.depth }}"
steps:
  - {id: a, wait_for: {event: well, timeout: 5d}}
"""
TOLD = """\
name: told
on:
  - alert: {kind: recovered}
    send: {event: well, to: "{{ event.endpoint }}", data: {by: "{{ event.alert }}"}}
  - rule: surge
    send: {event: surge, to: "{{ event.endpoint }}"}
steps:
  - {id: b, wait_for: {event: surge, timeout: 5d}}
  - {id: a, wait_for: {event: well, timeout: 5d}}
"""


def a_desk(stores: Stores) -> Desk:
    return Desk(stores, "default", "ada", TimeOrderedIds(), AesVault(KeyRing(bytes(32))), CRON)


def a_starter(stores: Stores) -> TriggerWorker:
    return TriggerWorker(stores, OperationTriggerActions(a_desk(stores)), "starter")


async def started(stores: Stores, workflow: str = "heals") -> list[Execution]:
    return await stores.flows.workflows.executions("default", ExecutionFilter(workflow=workflow))


async def armed(stores: Stores, document: str = HEALS) -> TriggerWorker:
    """A starter that has seen everything up to now, and a workflow with triggers."""
    await add(stores, an_endpoint("billing"))
    starter = a_starter(stores)
    await starter.run_once()
    await publish_workflow(a_desk(stores), document)
    return starter


async def fail(stores: Stores, clock: FixedClock, depth: int = 12, status: RunStatus = RunStatus.FAILURE) -> str:
    body = Body(json.dumps({"depth": depth}).encode(), "application/json")
    clock.tick(minutes=5)
    (claim,) = await run_slot(stores, clock, an_outcome(status, status_code=500, body=body))
    return claim.run_id


async def test_run_that_matches_starts_one_execution_with_what_it_answered(stores: Stores, clock: FixedClock) -> None:
    starter = await armed(stores)
    run_id = await fail(stores, clock)

    while await starter.run_once():
        pass
    (execution,) = await started(stores)
    assert (execution.state.input, execution.correlation) == ({"depth": 12}, "depth-12")
    assert (execution.idempotency_key, execution.actor) == (f"run:{run_id}", "trigger:heals")


@pytest.mark.parametrize(("depth", "status"), [(10, RunStatus.FAILURE), (12, RunStatus.SUCCESS)])
async def test_run_that_does_not_match_starts_nothing(
    stores: Stores, clock: FixedClock, depth: int, status: RunStatus
) -> None:
    starter = await armed(stores)
    await fail(stores, clock, depth, status)
    await starter.run_once()

    assert await started(stores) == []


async def test_what_happened_before_publication_starts_nothing(stores: Stores, clock: FixedClock) -> None:
    await add(stores, an_endpoint("billing"))
    starter = a_starter(stores)
    await starter.run_once()
    await fail(stores, clock)
    clock.tick(seconds=1)
    await publish_workflow(a_desk(stores), HEALS)
    await starter.run_once()

    assert await started(stores) == []


async def test_look_without_triggers_reads_no_events(stores: Stores) -> None:
    starter = a_starter(stores)
    await starter.run_once()
    calls: list[str] = []
    starter = a_starter(counting(stores, calls))
    await starter.run_once()
    calls.clear()

    assert await starter.run_once() == 0
    assert not [call for call in calls if call.startswith("runs.")]


async def test_many_starters_and_one_that_dies_before_it_notes_start_one(
    stores: Stores, other_stores: Stores, clock: FixedClock
) -> None:
    """The position is the last thing written: whoever dies before leaves all of it to the next."""

    class Forgetful:
        position = stores.flows.triggers.position
        stamp = stores.flows.triggers.stamp
        triggered = stores.flows.triggers.triggered

        async def advance(self, before: str, after: str) -> bool:
            return False

    await armed(stores)
    await fail(stores, clock)
    dying = a_starter(replace(stores, flows=replace(stores.flows, triggers=Forgetful())))
    await asyncio.gather(*[each.run_once() for each in (dying, a_starter(stores), a_starter(other_stores), dying)])
    await a_starter(stores).run_once()

    assert len(await started(stores)) == 1


async def test_alerts_and_rules_are_told_to_those_that_run_under_the_key_once(
    stores: Stores, clock: FixedClock
) -> None:
    starter = await armed(stores, TOLD)
    waiting = await start_execution(a_desk(stores), "told", {}, correlation="billing")
    await tick(a_ticker(stores), clock)
    billing = (await stores.endpoints.endpoint("default", "billing")) or an_endpoint()
    happened = [
        Event(EventType.RULE_FIRED, clock.now(), "default", billing.id, "run_1", "rule:surge", {"rule": "surge"}),
        Event(EventType.RULE_FIRED, clock.now(), "default", billing.id, "run_1", "rule:calm", {"rule": "calm"}),
        *(
            Event(EventType.ALERT_FIRED, clock.now(), "default", billing.id, "", "x", {"alert": "ops", "kind": kind})
            for kind in ("failing", "recovered")
        ),
    ]
    await stores.runs.add_events(happened)
    await starter.run_once()
    await tick(a_ticker(stores, "ticker-2"), clock, 40)

    (execution,) = await started(stores, "told")
    assert execution.id == waiting.id
    assert execution.state.outcome == "completed"
    assert execution.state.events.keys() == {"surge", "well"}
    assert "'data': {'by': 'ops'}" in str(execution.state.steps["a"])


async def test_runs_that_executions_and_tests_make_trigger_nothing(stores: Stores, clock: FixedClock) -> None:
    starter = await armed(stores, "name: heals\non: [{run: billing}]\nsteps: [{id: a, wait: 1d}]\n")
    billing = (await stores.endpoints.endpoint("default", "billing")) or an_endpoint()
    for by in ("workflow", "test", "schedule"):
        data: dict[str, object] = {"status": "failure", "trigger": by}
        await stores.runs.add_events([Event(EventType.RUN_FINISHED, clock.now(), "default", billing.id, by, "x", data)])
    await starter.run_once()

    assert [each.idempotency_key for each in await started(stores)] == ["run:schedule"]


async def test_start_that_is_refused_is_told(stores: Stores, clock: FixedClock) -> None:
    starter = await armed(stores, HEALS.replace('depth: "{{ event.body.depth }}"', "depth: '{{ event.error }}'"))
    await fail(stores, clock)
    await starter.run_once()

    assert await started(stores) == []
    (refused,) = [each for each in await told(stores) if each.type is EventType.TRIGGER_REFUSED]
    assert "needs integer" in str(refused.data["reason"])


async def test_condition_that_cannot_be_judged_is_told(stores: Stores, clock: FixedClock) -> None:
    starter = await armed(stores, HEALS.replace("event.body.depth > 10", "event.body.width > 10"))
    await fail(stores, clock)
    await starter.run_once()

    (refused,) = [each for each in await told(stores) if each.type is EventType.TRIGGER_REFUSED]
    assert str(refused.data["reason"]).startswith("on[0].where")

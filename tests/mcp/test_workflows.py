"""Workflows through a real MCP client."""

from mainspring.operations.workflows import publish_workflow
from tests.mcp.conftest import Assistant, House
from tests.stores.flow_world import a_ticker, tick
from tests.stores.world import FixedClock

HALVES = "name: halves\ninput: {by: integer}\nsteps:\n  - {id: a, set: {half: 1 / input.by}}\n  - {id: b, wait: 3d}\n"


async def test_execution_is_started_looked_at_and_helped(assistant: Assistant, house: House, clock: FixedClock) -> None:
    await publish_workflow(house.desk(), HALVES)
    rehearsed = await assistant("order_execution", verb="start", workflow="halves", data={"by": 0}, dry_run=True)
    started = await assistant("order_execution", verb="start", workflow="halves", data={"by": 0}, key="k")
    again = await assistant("order_execution", verb="start", workflow="halves", data={"by": 0}, key="k")
    ticker = a_ticker(house.stores)
    await tick(ticker, clock)
    listed = await assistant("get_executions", in_need=True)
    name = started["execution"]["id"]
    skipped = await assistant("order_execution", verb="skip", execution=name, reason="no half is needed")
    sent = await assistant("order_execution", verb="send", execution=name, event="hello", data={"a": 1})
    await tick(ticker, clock, 2)
    shown = await assistant("get_executions", execution=name)

    assert (rehearsed["new"], rehearsed["execution"]) == (True, None)
    assert (started["new"], again["new"], again["execution"]["id"]) == (True, False, name)
    assert [each["name"] for each in listed["workflows"]] == ["halves"]
    assert [(each["id"], each["allows"]) for each in listed["executions"]] == [(name, ["retry", "skip", "cancel"])]
    assert (skipped["ordered"], sent["new"]) == ("skip", 1)
    assert (shown["execution"]["status"], shown["execution"]["step"]) == ("waiting", "b")
    assert "key:a ordered skip: no half is needed" in shown["timeline"]["text"]
    assert shown["knows"]["untrusted"] is True


async def test_order_that_makes_no_sense_is_refused(assistant: Assistant, house: House) -> None:
    assert "give its name as workflow" in await assistant.refused("order_execution", verb="start")
    assert "give its id as execution" in await assistant.refused("order_execution", verb="pause")
    assert "no execution 'x'" in await assistant.refused("order_execution", verb="pause", execution="x")
    assert "verb" in await assistant.refused("order_execution", verb="cancel", execution="x")

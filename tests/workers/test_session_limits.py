"""What stops a session: people, modes, the switch, and budgets."""

import asyncio
from datetime import timedelta

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models.function import AgentInfo

from mainspring.domain import changes
from mainspring.domain.endpoint import Endpoint
from mainspring.domain.event import Event, EventType
from mainspring.domain.schedule import CRON
from mainspring.ports.stores import Stores
from tests.stores.world import START, FixedClock, change, get
from tests.workers.sessions import DONE, Scripted, analyst, only_session


async def test_proposal_against_a_person_is_refused_in_words_and_on_the_endpoint(
    stores: Stores, watched: Endpoint, clock: FixedClock
) -> None:
    until = clock.now() + timedelta(hours=1)
    sibling = await stores.endpoints.endpoint("default", "sibling")
    assert sibling is not None
    await change(stores, sibling, lambda each, now: changes.pause(each, until, "rebuild", now, "user:ann", CRON))
    script = Scripted(("pause_until", {"until": None, "reason": "needed", "target": "sibling"}), DONE)

    await analyst(stores, script).run_once()

    call = (await only_session(stores)).detail.tool_calls[0]
    found = await get(stores, sibling)
    assert call.result.startswith("refused: ann paused 'sibling' until ")
    assert (found.paused_until, found.pause_reason) == (until, "rebuild")
    assert found.refused_advice is not None
    assert (found.refused_advice.author, found.refused_advice.does) == ("model:scripted", "wake")


@pytest.mark.parametrize("mode", ["off", "shadow"])
async def test_mode_protects_the_target_whoever_the_session_is_about(
    stores: Stores, watched: Endpoint, mode: str
) -> None:
    sibling = await stores.endpoints.endpoint("default", "sibling")
    assert sibling is not None
    await stores.planner.set_mode(f"endpoint:{sibling.id}", mode, Event(EventType.PLANNER_MODE_SET, START, "default"))
    script = Scripted(
        ("pause_until", {"until": "2025-01-01T00:30:00Z", "reason": "rest", "target": "sibling"}),
        ("propose_interval", {"interval_ms": 20_000, "reason": "deep"}),
        DONE,
    )

    await analyst(stores, script).run_once()

    said = {"off": "refused: the planner is off for 'sibling'", "shadow": "recorded in shadow mode, not applied"}[mode]
    assert (await only_session(stores)).detail.tool_calls[0].result.startswith(said)
    assert await get(stores, sibling) == sibling
    assert (await get(stores, watched)).interval_hint is not None


async def test_switch_stops_a_session_in_progress_and_what_it_proposes(stores: Stores, watched: Endpoint) -> None:
    reached = asyncio.Event()

    async def endless(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        reached.set()
        await asyncio.Event().wait()
        raise AssertionError("never answered")

    looking = asyncio.create_task(analyst(stores, endless, switch_s=0.01).look(watched))
    async with asyncio.timeout(5):
        await reached.wait()
        await stores.planner.set_mode("all", "off", Event(EventType.PLANNER_MODE_SET, START, "default"))
        session = await looking

    assert session is not None
    assert (session.status, session.detail.warnings[-1]) == ("stopped", "stopped")
    assert session.detail.note == "the planner was switched off here"


async def test_proposal_after_the_switch_changes_nothing(stores: Stores, watched: Endpoint) -> None:
    steps = [("propose_interval", {"interval_ms": 20_000, "reason": "deep"}), DONE]

    async def late(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        await stores.planner.set_mode("tenant:default", "off", Event(EventType.PLANNER_MODE_SET, START, "default"))
        return ModelResponse([ToolCallPart(*steps.pop(0))])

    await analyst(stores, late, switch_s=3_600.0).run_once()

    assert (await get(stores, watched)).interval_hint is None
    assert (await only_session(stores)).detail.tool_calls[0].result.startswith("refused: the planner is off for")

"""What stops a session: people, modes, the switch, and budgets."""

import asyncio
from datetime import timedelta

import pytest
from msgspec.structs import replace
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo
from pydantic_ai.usage import RequestUsage

from mainspring.domain.endpoint import POWERS, Endpoint, Power
from mainspring.domain.event import Event, EventType
from mainspring.domain.model.session import TOOL_CALLS_MAX, estimated_tokens, fair_tokens
from mainspring.domain.schedule import changes
from mainspring.domain.schedule.cron import CRON
from mainspring.outbound.watched_model import REPLY_CHARS_MAX
from mainspring.ports.planner import Conversation, ProposalFilter
from mainspring.ports.stores import Stores
from mainspring.simulation.vault import NoVault
from mainspring.wiring.clock import TimeOrderedIds
from mainspring.workers.analyst import Analyst, AnalystOptions
from mainspring.workers.circuit_breaker import CircuitBreaker
from mainspring.workers.session_tools import REPLY_CHARS_MAX as TOLD_CHARS_MAX
from mainspring.workers.session_tools import RESULT_MAX
from mainspring.workers.throttle import Throttle
from tests.stores.world import START, FixedClock, add, an_endpoint, change, edited, get
from tests.workers.sessions import DONE, Scripted, Step, analyst, only_session


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


@pytest.mark.parametrize("mode", ["shadow", "ask"])
async def test_refusal_is_not_noted_where_nothing_is_applied(stores: Stores, watched: Endpoint, mode: str) -> None:
    await change(stores, watched, lambda each, now: changes.pause(each, None, "rebuild", now, "user:ann", CRON))
    await stores.planner.set_mode("all", mode, Event(EventType.PLANNER_MODE_SET, START, "default"))
    before = await get(stores, watched)

    await analyst(stores, Scripted(("pause_until", {"until": None, "reason": "needed"}), DONE)).run_once()

    assert (await only_session(stores)).detail.tool_calls[0].result.startswith("refused: ann paused 'watched'")
    assert await get(stores, watched) == before


async def test_proposal_leaves_a_parked_sibling_as_it_is(stores: Stores, watched: Endpoint) -> None:
    sibling = await stores.endpoints.endpoint("default", "sibling")
    assert sibling is not None
    await change(stores, sibling, lambda each, now: changes.Change(replace(each, parked_at=now, next_run_at=None)))
    parked = await get(stores, sibling)
    given = {"interval_ms": 20_000, "reason": "deep", "target": "sibling"}

    await analyst(stores, Scripted(("propose_interval", given), DONE)).run_once()

    assert await get(stores, sibling) == parked


@pytest.mark.parametrize("mode", ["off", "shadow", "ask"])
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

    said = {
        "off": "refused: the planner is off for 'sibling'",
        "shadow": "recorded in shadow mode, not applied",
        "ask": "proposed; a person decides, nothing was applied; next run ",
    }[mode]
    assert (await only_session(stores)).detail.tool_calls[0].result.startswith(said)
    assert await get(stores, sibling) == sibling
    assert (await get(stores, watched)).interval_hint is not None
    assert len(await stores.proposals.proposals("default", ProposalFilter(sibling.id))) == (mode == "ask")


@pytest.mark.parametrize("mode", ["live", "ask", "shadow"])
async def test_session_about_an_endpoint_that_may_not_reach_siblings_changes_only_itself(
    stores: Stores, watched: Endpoint, mode: str
) -> None:
    sibling = await stores.endpoints.endpoint("default", "sibling")
    assert sibling is not None
    own = tuple(each for each in POWERS if each != Power.SIBLINGS)
    await stores.endpoints.change_endpoints("default", [watched.id], edited(advice=own))
    await stores.planner.set_mode(f"endpoint:{sibling.id}", mode, Event(EventType.PLANNER_MODE_SET, START, "default"))
    script = Scripted(
        ("propose_interval", {"interval_ms": 20_000, "reason": "deep", "target": "sibling"}),
        ("propose_interval", {"interval_ms": 20_000, "reason": "deep"}),
        DONE,
    )

    await analyst(stores, script).run_once()

    refused, done = (call.result for call in (await only_session(stores)).detail.tool_calls)
    assert refused == "refused: the owner of 'watched' does not allow advice: siblings; allowed: " + ", ".join(own)
    assert done.startswith("done; ")
    assert (await get(stores, sibling)).interval_hint is None
    assert await stores.proposals.proposals("default", ProposalFilter(sibling.id)) == []


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


@pytest.mark.parametrize("mode", ["off", "shadow", "ask"])
async def test_switch_of_the_sessions_own_endpoint_also_protects_its_siblings(
    stores: Stores, watched: Endpoint, mode: str
) -> None:
    sibling = await stores.endpoints.endpoint("default", "sibling")
    assert sibling is not None
    steps = [("propose_interval", {"interval_ms": 20_000, "reason": "deep", "target": "sibling"}), DONE]

    async def late(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        scope = f"endpoint:{watched.id}"
        await stores.planner.set_mode(scope, mode, Event(EventType.PLANNER_MODE_SET, START, "default"))
        return ModelResponse([ToolCallPart(*steps.pop(0))])

    await analyst(stores, late, switch_s=3_600.0).run_once()

    assert await get(stores, sibling) == sibling
    assert len((await only_session(stores)).detail.tool_calls) == 1


@pytest.mark.parametrize("mode", ["shadow", "ask"])
async def test_session_that_began_in_a_stricter_mode_stays_in_it(stores: Stores, watched: Endpoint, mode: str) -> None:
    """Its record says in which mode it ran."""
    steps = [("propose_interval", {"interval_ms": 20_000, "reason": "deep"}), DONE]
    await stores.planner.set_mode("all", mode, Event(EventType.PLANNER_MODE_SET, START, "default"))
    before = await get(stores, watched)

    async def late(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        await stores.planner.set_mode("all", "live", Event(EventType.PLANNER_MODE_SET, START, "default"))
        return ModelResponse([ToolCallPart(*steps.pop(0))])

    await analyst(stores, late).run_once()

    assert await get(stores, watched) == before
    assert (await only_session(stores)).mode == mode


async def test_reply_to_the_model_is_cut_to_its_budget(stores: Stores, watched: Endpoint) -> None:
    """A job of many siblings with long descriptions; the record keeps less than the model gets."""
    await add(stores, *(an_endpoint(f"sibling-{place}", description="x" * 2_000) for place in range(99)))
    replies: list[str] = []

    async def curious(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        returned = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
        replies.extend(str(part.content) for part in returned)
        return ModelResponse([ToolCallPart(*(DONE if returned else ("get_sibling_latest_responses", {})))])

    session = await analyst(stores, curious).look(watched)

    assert session is not None
    assert replies[0].endswith(" ... cut; ask for less")
    assert len(replies[0]) == TOLD_CHARS_MAX + len(" ... cut; ask for less")
    assert len(session.detail.tool_calls[0].result) <= RESULT_MAX


async def test_every_call_is_recorded_with_its_arguments_as_json(stores: Stores, watched: Endpoint) -> None:
    script = Scripted(
        ("rm_rf", {"path": "/", "force": True}),
        ("propose_interval", {"interval_ms": 20_000, "reason": "deep", "more": [1, {"a": None}]}),
        ("submit_analysis", {"reasoning": "seen", "next_analysis_in_ms": "soon"}),
        DONE,
    )

    await analyst(stores, script).run_once()

    calls = {call.tool: call for call in (await only_session(stores)).detail.tool_calls}
    assert calls["rm_rf"].arguments == {"path": "/", "force": True}
    assert calls["rm_rf"].result == "refused: unknown tool 'rm_rf'"
    assert calls["propose_interval"].arguments["more"] == [1, {"a": None}]
    assert calls["propose_interval"].arguments["interval_ms"] == 20_000
    assert calls["submit_analysis"].result == "refused: next_analysis_in_ms must be of type integer"
    session = await only_session(stores)
    assert (session.status, session.detail.reasoning) == ("done", "seen")


@pytest.mark.parametrize(
    ("steps", "status"),
    [
        (("just talk",), "incomplete"),
        ((("get_latest_response", {}),) * 40, "incomplete"),
        ((("submit_analysis", {"reasoning": ""}), ("submit_analysis", {})), "incomplete"),
        (("just talk", DONE), "done"),
    ],
    ids=["talks only", "never stops", "never fits", "is asked again"],
)
async def test_session_is_done_only_with_an_analysis(
    stores: Stores, watched: Endpoint, steps: tuple[Step | str, ...], status: str
) -> None:
    session = await analyst(stores, Scripted(*steps)).look(watched)

    assert session is not None
    assert session.status == status


async def test_session_that_runs_out_of_time_is_not_done(stores: Stores, watched: Endpoint) -> None:
    async def endless(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        await asyncio.Event().wait()
        raise AssertionError("never answered")

    session = await analyst(stores, endless, seconds=0.05).look(watched)

    assert session is not None
    assert (session.status, session.detail.note) == ("incomplete", "no result within 0.05 s")


async def test_siblings_are_read_afresh_within_a_session(stores: Stores, watched: Endpoint) -> None:
    script = Scripted(
        ("pause_until", {"until": "2025-01-01T00:30:00Z", "reason": "rest", "target": "sibling"}),
        ("get_sibling_latest_responses", {}),
        DONE,
    )

    await analyst(stores, script).run_once()

    (_, looked) = (await only_session(stores)).detail.tool_calls
    assert "paused until 2025-01-01T00:30:00Z by model scripted" in looked.result


@pytest.mark.parametrize(("reported", "counted"), [(0, 25), (-5, 25), (10**9, 25), (1, 25), (2, 2), (30, 30)])
def test_missing_or_absurd_usage_is_replaced_by_an_estimate(reported: int, counted: int) -> None:
    assert fair_tokens(reported, estimated_tokens(100)) == counted


async def test_reply_without_usage_counts_by_its_size_in_and_out(stores: Stores, watched: Endpoint) -> None:
    long = "x" * 4_000

    async def silent_about_usage(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        given = {**DONE[1], "reasoning": long}
        return ModelResponse([ToolCallPart("submit_analysis", given)], usage=RequestUsage(output_tokens=1))

    session = await analyst(stores, silent_about_usage).look(watched)

    assert session is not None
    assert session.tokens_out >= len(long) / 4
    assert session.tokens_in > 100


async def test_only_the_analysis_is_offered_when_the_tool_calls_are_used_up(stores: Stores, watched: Endpoint) -> None:
    offered: list[int] = []

    async def curious(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        offered.append(len(info.function_tools))
        tool, given = ("get_latest_response", {}) if info.function_tools else DONE
        return ModelResponse([ToolCallPart(tool, given)])

    session = await analyst(stores, curious).look(watched)

    assert session is not None
    assert session.status == "done"
    assert offered == [7] * TOOL_CALLS_MAX + [0]


async def test_call_whose_arguments_are_no_object_is_recorded_and_refused(stores: Stores, watched: Endpoint) -> None:
    parts = [ToolCallPart("propose_interval", '[20000, "deep"'), ToolCallPart(*DONE)]

    async def malformed(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse([parts.pop(0)])

    session = await analyst(stores, malformed).look(watched)

    assert session is not None
    (call,) = session.detail.tool_calls
    assert (call.tool, call.arguments) == ("propose_interval", {"not an object": '[20000, "deep"'})
    assert call.result == "refused: its arguments are not a JSON object"
    assert (await get(stores, watched)).interval_hint is None


async def test_reply_beyond_the_allowed_characters_ends_the_session(stores: Stores, watched: Endpoint) -> None:
    async def verbose(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse([ToolCallPart("submit_analysis", {**DONE[1], "reasoning": "x" * REPLY_CHARS_MAX})])

    session = await analyst(stores, verbose).look(watched)

    assert session is not None
    assert session.status != "done"
    assert f"exceeds the limit of {REPLY_CHARS_MAX}" in session.detail.note


async def test_session_that_ends_in_silence_is_incomplete(stores: Stores, watched: Endpoint) -> None:
    class Silent:
        name = "silent"

        async def converse(self, *_: object) -> Conversation:
            return Conversation(tokens_in=5)

    looking = Analyst(stores, Silent(), NoVault(), TimeOrderedIds(), CRON, AnalystOptions("a"))

    session = await looking.look(watched)

    assert session is not None
    assert (session.status, session.detail.warnings) == ("incomplete", ("missing_final_tool", "missing_reasoning"))


async def test_failed_session_is_an_event_with_its_status_and_reason(stores: Stores, watched: Endpoint) -> None:
    """Alerts about the model are made from it."""

    class Away:
        name = "away"

        async def converse(self, *_: object) -> Conversation:
            return Conversation(fault="401 wrong key", status_code=401)

    await Analyst(stores, Away(), NoVault(), TimeOrderedIds(), CRON, AnalystOptions("a")).look(watched)

    found = [each.event for each in await stores.runs.events_after("", "default", 100)]
    (told,) = [each for each in found if each.type is EventType.PLANNER_ANALYSED]
    assert (told.data["status"], told.data["note"]) == ("failed", "401 wrong key")


def test_breaker_rests_after_refusals_and_honours_retry_after() -> None:
    breaker = CircuitBreaker()
    breaker.heard(Conversation(status_code=503, fault="503"), 0.0)
    assert breaker.rests_for_s(0.0) == 30.0
    breaker.heard(Conversation(status_code=429, fault="429", retry_after_s=300.0), 30.0)
    assert breaker.rests_for_s(30.0) == 300.0
    breaker.heard(Conversation(tokens_in=10), 400.0)
    assert breaker.rests_for_s(400.0) == 0.0
    breaker.heard(Conversation(status_code=401, fault="401"), 400.0)
    assert breaker.rests_for_s(400.0) == 900.0
    breaker.heard(Conversation(status_code=400, fault="400"), 2_000.0)  # a request that it refused, not a bad server
    assert breaker.rests_for_s(2_000.0) == 0.0


def test_breaker_rests_twice_as_long_after_each_refusal_up_to_a_bound() -> None:
    breaker, rests = CircuitBreaker(), []
    for _ in range(7):
        breaker.heard(Conversation(status_code=500, fault="500"), 0.0)
        rests.append(breaker.rests_for_s(0.0))
    assert rests == [30.0, 60.0, 120.0, 240.0, 480.0, 900.0, 900.0]

    breaker.heard(Conversation(status_code=503, fault="503", retry_after_s=10.0**9), 0.0)
    assert breaker.rests_for_s(0.0) == 86_400.0


async def test_no_session_is_begun_while_the_models_server_rests(stores: Stores, watched: Endpoint) -> None:
    class Refusing:
        name = "refusing"
        asked = 0

        async def converse(self, *_: object) -> Conversation:
            self.asked += 1
            return Conversation(fault="429", status_code=429, retry_after_s=60.0)

    refusing, at_s = Refusing(), [0.0]
    options = AnalystOptions("a", sessions_per_hour=100)
    looking = Analyst(
        stores, refusing, NoVault(), TimeOrderedIds(), CRON, options, lambda: at_s[0], Throttle(lambda: 0.0, gap_s=0.0)
    )
    assert await looking.run_once() == 1
    await add(stores, an_endpoint("other", description="watch it", last_run_at=START))

    assert await looking.run_once() == 0
    assert refusing.asked == 1

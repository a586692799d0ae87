"""Sessions with scripted models: what they may do, what is kept of them, and what never reaches a prompt."""

import asyncio
import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from random import Random

import apsw
import pytest
from msgspec.structs import replace
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models.function import AgentInfo

from mainspring.domain.endpoint import Endpoint, Tenant
from mainspring.domain.errors import Misconfigured, StoreUnavailable
from mainspring.domain.event import Event, EventType
from mainspring.domain.instant import FOREVER
from mainspring.domain.rules.judge import StoredRule
from mainspring.domain.rules.rule import read_rule
from mainspring.domain.run import Body, RunStatus
from mainspring.domain.schedule.changes import Advice, Change
from mainspring.outbound.model_process import ToolCaller
from mainspring.ports.endpoints import EndpointStore
from mainspring.ports.planner import Conversation, PlannerStore, ProposalFilter
from mainspring.ports.stores import Stores
from mainspring.simulation.vault import NoVault
from tests.harness.waiting import until
from tests.stores.databases import file_of, is_sqlite
from tests.stores.world import START, FixedClock, add, an_endpoint, an_outcome, get, run_slot, told
from tests.workers.sessions import DONE, Scripted, Step, analyst, only_session


async def test_session_writes_hints_and_is_kept_with_everything(
    stores: Stores, clock: FixedClock, watched: Endpoint
) -> None:
    script = Scripted(
        ("get_latest_response", {}),
        ("propose_interval", {"interval_ms": 20_000, "ttl_minutes": 10, "reason": "deep"}),
        ("pause_until", {"until": "2025-01-01T00:30:00Z", "reason": "rest", "target": "sibling"}),
        DONE,
    )

    assert await analyst(stores, script).run_once() == 1

    changed = await get(stores, watched)
    assert changed.interval_hint is not None
    assert (changed.interval_hint.interval_ms, changed.interval_hint.author) == (20_000, "model:scripted")
    assert changed.next_run_at == clock.now() + timedelta(seconds=20)
    session = await only_session(stores)
    assert (session.status, session.mode, session.detail.reasoning, session.detail.warnings) == (
        "done", "live", "seen", (),
    )  # fmt: skip
    assert [call.tool for call in session.detail.tool_calls] == [
        "get_latest_response", "propose_interval", "pause_until",
    ]  # fmt: skip
    assert session.next_analysis_at == clock.now() + timedelta(minutes=10)
    assert session.tokens_in > 0
    usage = await stores.sessions.token_usage("default")
    assert (usage.tokens_in, usage.sessions) == (session.tokens_in, 1)
    assert usage.cost_micros == session.tokens_in + 2 * session.tokens_out
    assert EventType.PLANNER_ANALYSED in [event.type for event in await told(stores)]


async def test_no_secret_is_in_any_prompt(stores: Stores, watched: Endpoint) -> None:
    script = Scripted(
        ("get_latest_response", {}), ("get_response_history", {"include_bodies": True}),
        ("get_sibling_latest_responses", {"include_responses": True}), DONE,
    )  # fmt: skip
    await stores.endpoints.put_tenant(Tenant("other", "other"))
    stranger = an_endpoint("intruder", tenant_id="other", job_id="job_other", description="canary-of-another-tenant")
    await add(stores, stranger)

    await analyst(stores, script).look(watched)

    seen = "".join(script.prompts)
    assert "depth" in seen
    for secret in ("hunter2hunter2", "querysecret", "Authorization", "canary-of-another-tenant", "intruder"):
        assert secret not in seen
    assert "</data> ignore" not in seen  # what strangers wrote cannot end its own marks


class LostKey(NoVault):
    def open(self, sealed: str, context: str) -> str:
        raise Misconfigured("the key is not here", setting="MAINSPRING_SECRET_KEY")


async def test_model_is_not_asked_where_a_secret_could_not_be_kept_from_it(stores: Stores, watched: Endpoint) -> None:
    script = Scripted(DONE)
    locked_out = analyst(stores, script)
    locked_out._vault = LostKey()

    session = await locked_out.look(watched)

    assert session is not None
    assert (session.status, session.detail.note) == ("skipped", "nothing was sent to the model: the key is not here")
    assert script.prompts == []


async def test_tool_calls_at_once_are_no_more_than_one_after_the_other(stores: Stores, watched: Endpoint) -> None:
    class Greedy:
        name = "greedy"
        answers: list[str]

        async def converse(
            self, instructions: str, prompt: str, tools: object, final: object, call: ToolCaller, budget: object
        ) -> Conversation:
            self.answers = await asyncio.gather(*(call("get_latest_response", {}) for _ in range(100)))
            return Conversation()

    greedy = Greedy()
    one = analyst(stores, Scripted())
    one._model = greedy

    session = await one.look(watched)

    assert session is not None
    assert len(session.detail.tool_calls) == 15
    assert sum(answer.startswith("refused: the limit of 15 tool calls") for answer in greedy.answers) == 85


async def test_session_in_mode_ask_proposes_what_a_person_may_approve(stores: Stores, watched: Endpoint) -> None:
    await stores.planner.set_mode(f"endpoint:{watched.id}", "ask", Event(EventType.PLANNER_MODE_SET, START, "default"))
    before = await get(stores, watched)
    script = Scripted(
        ("propose_interval", {"interval_ms": 20_000, "ttl_minutes": 10, "reason": "deep"}),
        ("propose_interval", {"interval_ms": 25_000, "ttl_minutes": 10, "reason": "not so deep"}),
        ("pause_until", {"until": None, "reason": "wake up"}),
        DONE,
    )

    await analyst(stores, script).run_once()

    session = await only_session(stores)
    assert (session.mode, session.status) == ("ask", "done")
    assert [call.result.partition(";")[0] for call in session.detail.tool_calls] == [
        "proposed",
        "proposed",
        "no change needed",
    ]
    assert await get(stores, watched) == before
    newest, first = sorted(
        await stores.proposals.proposals("default", ProposalFilter(watched.id)),
        key=lambda each: each.does,
        reverse=True,
    )
    assert (first.state, newest.state) == ("superseded", "pending")
    assert (newest.author, newest.action, newest.does, newest.cause) == (
        "model:scripted", "propose_interval", "every 25s for 10m", session.id,
    )  # fmt: skip
    assert newest.arguments == {
        "tool": "propose_interval", "interval_ms": 25_000, "ttl": "PT600S", "reason": "not so deep",
    }  # fmt: skip
    again = Scripted(DONE)
    await analyst(stores, again).look(watched)
    assert "- every 25s for 10m, by model scripted (<data>not so deep</data>), until " in again.prompts[0]


async def test_nothing_is_applied_in_shadow_mode_and_nothing_is_asked_when_off(
    stores: Stores, watched: Endpoint
) -> None:
    event = Event(EventType.PLANNER_MODE_SET, START, "default")
    await stores.planner.set_mode(f"endpoint:{watched.id}", "shadow", event)
    script = Scripted(("propose_interval", {"interval_ms": 20_000, "reason": "deep"}), DONE)
    await analyst(stores, script).run_once()
    assert (await get(stores, watched)).interval_hint is None
    session = await only_session(stores)
    assert session.mode == "shadow"
    assert session.detail.tool_calls[0].result.startswith("recorded in shadow mode, not applied; next run ")

    await stores.planner.set_mode("all", "off", event)
    silent = Scripted()
    skipped = await analyst(stores, silent).look(watched)

    assert skipped is not None
    assert (skipped.status, skipped.detail.note) == ("skipped", "the planner is off here")
    assert silent.prompts == []


async def test_session_is_told_why_it_runs_the_latest_response_the_rules_and_the_budget(
    stores: Stores, watched: Endpoint
) -> None:
    rule = read_rule({"name": "deep", "when": "body.depth > 5", "interval": "30s"}, "rule-1")
    stored = StoredRule("rule_1", "default", watched.job_id, watched.id, rule, START)
    await stores.planner.add_rules([stored], Event(EventType.RULES_CHANGED, START, "default"))
    await stores.endpoints.put_tenant(Tenant("default", "default", tokens_per_month=90_000))
    script = Scripted(DONE)

    await analyst(stores, script).look(watched)

    (prompt,) = script.prompts
    for words in (
        "Why this session runs now: a person asked for it.",
        "Latest response: success",
        '<data>{"depth": 7',
        "when body.depth > 5: every 30s for 1h",
        "15 tool calls, 50,000 tokens and 60 s for this session; 90,000 tokens of the tenant for 2025-01",
    ):
        assert words in prompt


async def test_no_call_is_made_over_the_token_quota(stores: Stores, watched: Endpoint) -> None:
    await stores.endpoints.put_tenant(Tenant("default", "default", tokens_per_month=0))
    script = Scripted(DONE)

    await analyst(stores, script).run_once()

    session = await only_session(stores)
    assert session.status == "skipped"
    assert "of its 0 tokens" in session.detail.note
    assert script.prompts == []


class Unread:
    """The endpoints of a store, of which the quota cannot be read."""

    def __init__(self, endpoints: EndpointStore) -> None:
        self._endpoints = endpoints

    def __getattr__(self, name: str) -> object:
        return getattr(self._planner, name)

    async def tenant(self, tenant_id: str) -> Tenant | None:
        raise StoreUnavailable("the database does not answer: told so; it is tried again")


async def test_no_call_is_made_where_the_quota_cannot_be_read(stores: Stores, watched: Endpoint) -> None:
    script = Scripted(DONE)

    with pytest.raises(StoreUnavailable):
        await analyst(replace(stores, endpoints=Unread(stores.endpoints)), script).run_once()

    assert script.prompts == []
    assert await stores.sessions.sessions("default") == []


async def test_two_analysts_never_look_at_one_endpoint_at_once(
    stores: Stores, other_stores: Stores, clock: FixedClock, watched: Endpoint
) -> None:
    found = await asyncio.gather(
        *(
            each.sessions.claim_analyses(f"w{place}", 60_000, 300_000, 10, 12)
            for place, each in enumerate((stores, other_stores, stores))
        )
    )
    assert [each for one in found for each in one] == [watched.id]

    clock.tick(seconds=61)  # its analyst died

    assert await stores.sessions.claim_analyses("w9", 60_000, 300_000, 10, 12) == [watched.id]


async def test_looking_for_what_is_due_waits_for_no_writer(stores: Stores, store_url: str, watched: Endpoint) -> None:
    """On SQLite there is one: who looks every few seconds, and mostly in vain, must not be it."""
    if not is_sqlite(store_url):
        pytest.skip("PostgreSQL has a writer for everybody")
    await analyst(stores, Scripted(DONE)).run_once()
    file = apsw.Connection(str(file_of(store_url)))
    file.execute("BEGIN IMMEDIATE")

    try:
        async with asyncio.timeout(5):
            assert await stores.sessions.claim_analyses("w", 60_000, 300_000, 10, 12) == []
    finally:
        file.close()


async def test_endpoint_is_due_by_the_description_of_its_job(stores: Stores, clock: FixedClock) -> None:
    silent, member = an_endpoint("silent"), an_endpoint("member", job_id="job_told")
    await add(stores, silent, member)
    told_job = next(job for job in await stores.endpoints.jobs("default") if job.id == "job_told")
    event = Event(EventType.JOB_UPDATED, START, "default")
    await stores.endpoints.put_job(replace(told_job, description="watch the queue"), event)
    await run_slot(stores, clock, an_outcome(), took_ms=0)

    assert await stores.sessions.claim_analyses("w", 60_000, 300_000, 10, 12) == [member.id]


async def test_endpoint_is_due_again_when_asked_when_it_fails_more_and_when_it_recovers(
    stores: Stores, clock: FixedClock, watched: Endpoint
) -> None:
    looks = []
    for status in (RunStatus.SUCCESS, RunStatus.FAILURE, RunStatus.FAILURE, RunStatus.SUCCESS, RunStatus.SUCCESS):
        clock.tick(seconds=61)
        await stores.endpoints.change_endpoints("default", [watched.id], _due)
        await run_slot(stores, clock, an_outcome(status), took_ms=0)
        final = ("submit_analysis", {"reasoning": "x", "next_analysis_in_ms": 86_400_000})
        looks.append(await analyst(stores, Scripted(final)).run_once())
    assert looks == [1, 1, 1, 1, 0]

    clock.tick(hours=25)

    assert await analyst(stores, Scripted(DONE)).run_once() == 1


async def test_endpoint_has_so_many_sessions_an_hour_however_often_it_fails(
    stores: Stores, clock: FixedClock, watched: Endpoint
) -> None:
    looks = []
    for _ in range(6):
        clock.tick(minutes=2)
        await stores.endpoints.change_endpoints("default", [watched.id], _due)
        await run_slot(stores, clock, an_outcome(RunStatus.FAILURE), took_ms=0)
        looks.append(await analyst(stores, Scripted("I am never satisfied"), sessions_per_hour=3).run_once())
    assert looks == [1, 1, 1, 0, 0, 0]

    clock.tick(minutes=51)  # an hour after the first of them, and a minute

    assert await analyst(stores, Scripted(DONE), sessions_per_hour=3).run_once() == 1
    assert await analyst(stores, Scripted(DONE), sessions_per_hour=3).look(watched) is not None  # a person asks


async def test_session_that_is_stopped_ends_at_once(stores: Stores, watched: Endpoint) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def endless(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()
        raise AssertionError("it is stopped before")

    looking = asyncio.create_task(analyst(stores, endless).look(watched))
    await until(begun.is_set, "a session has begun")
    looking.cancel()

    with pytest.raises(asyncio.CancelledError):
        await looking
    assert ended.is_set()


class Crowded:
    """The planner of a store, and how many commits of advice were under way at once at the most."""

    def __init__(self, planner: PlannerStore) -> None:
        self._planner = planner
        self._under_way = 0
        self.most = 0
        self.changes = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._planner, name)

    async def commit_advice(self, tenant_id: str, endpoint_id: str, advice: Advice) -> Change | None:
        self.changes += 1
        self._under_way += 1
        self.most = max(self.most, self._under_way)
        try:
            return await self._planner.commit_advice(tenant_id, endpoint_id, advice)
        finally:
            self._under_way -= 1


async def test_sessions_write_one_thing_at_a_time_however_many_are_held(
    stores: Stores, clock: FixedClock, watched: Endpoint
) -> None:
    others = [an_endpoint(f"other-{place}", description="watch it") for place in range(3)]
    await add(stores, *others)
    await run_slot(stores, clock, an_outcome(), took_ms=0)
    crowded = Crowded(stores.planner)
    eager = Scripted(*[("propose_interval", {"interval_ms": 20_000, "reason": "deep"})] * 20)

    await analyst(replace(stores, planner=crowded), eager).run_once()

    assert crowded.changes > 15
    assert crowded.most == 1


def _due(old: Endpoint, now: datetime) -> Change:
    return Change(replace(old, next_run_at=now))


@pytest.mark.parametrize(
    ("steps", "warnings"),
    [
        (("just talk",), ("missing_final_tool",)),
        ((("submit_analysis", {"reasoning": ""}),), ("missing_reasoning",)),
        ((("get_latest_response", {}),) * 40, ("missing_final_tool", "missing_reasoning", "budget_spent")),
    ],
    ids=["talks only", "gives no reason", "never stops"],
)
async def test_what_is_missing_is_told(
    stores: Stores, watched: Endpoint, steps: Sequence[Step | str], warnings: tuple[str, ...]
) -> None:
    session = await analyst(stores, Scripted(*steps)).look(watched)

    assert session is not None
    assert session.detail.warnings == warnings
    assert len(session.detail.tool_calls) <= 15


async def test_hostile_calls_change_only_bounded_hints_pauses_and_sessions(
    stores: Stores, clock: FixedClock, watched: Endpoint, long_run: bool
) -> None:
    """Thousands of random calls straight into the tools; configuration and other tenants are as before."""
    chance = Random(7)
    await stores.endpoints.put_tenant(Tenant("other", "other"))
    stranger = an_endpoint("stranger", tenant_id="other", job_id="job_other")
    elsewhere = an_endpoint("elsewhere", job_id="job_elsewhere")
    await add(stores, stranger, elsewhere)
    before = {each.id: await get(stores, each) for each in (watched, stranger, elsewhere)}
    scene = await analyst(stores, Scripted())._scene(await get(stores, watched), "live")
    names = ["propose_interval", "propose_next_time", "pause_until", "clear_hints", "get_response_history", "drop"]
    values: list[object] = [
        None, -1, 0, 1, 10**30, 1.5, float("nan"), True, "", "x" * 10_000, "\x00", "2025-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z", "stranger", "elsewhere", "sibling", [], {}, 20_000, 5, "2025-01-01T00:10:00+00:00",
    ]  # fmt: skip
    keys = ["interval_ms", "ttl_minutes", "next_run_at", "until", "reason", "target", "limit", "offset", "tenant_id"]

    for _ in range(10_000 if long_run else 1_000):
        scene.calls.clear()
        arguments = {key: chance.choice(values) for key in chance.sample(keys, chance.randrange(len(keys)))}
        await scene.call(chance.choice(names), {"reason": "because", **arguments})
        current = await get(stores, watched)
        for hint in (current.interval_hint, current.one_shot_hint):
            assert hint is None or hint.expires_at <= clock.now() + timedelta(hours=24)
        assert current.paused_until is None or current.paused_until <= clock.now() + timedelta(hours=24, minutes=5)
        assert current.next_run_at is not None
        assert current.next_run_at >= current.anchor_at + timedelta(seconds=5)

    after = {each.id: await get(stores, each) for each in (watched, stranger, elsewhere)}
    assert after[stranger.id] == before[stranger.id]
    assert after[elsewhere.id] == before[elsewhere.id]
    for field in ("action", "interval_ms", "min_interval_ms", "version", "name", "description", "job_id"):
        assert getattr(after[watched.id], field) == getattr(before[watched.id], field)


async def test_tool_results_are_told_in_words_a_model_can_read(stores: Stores, watched: Endpoint) -> None:
    scene = await analyst(stores, Scripted())._scene(watched, "live")

    assert "give a whole number" in await scene.call("propose_interval", {"interval_ms": "fast", "reason": "x"})
    assert "no endpoint of this job 'nobody'" in await scene.call("clear_hints", {"reason": "x", "target": "nobody"})
    assert "within 24 hours" in await scene.call("pause_until", {"until": "2031-01-01T00:00:00Z", "reason": "x"})
    history = json.loads(await scene.call("get_response_history", {"limit": 1}))
    assert (len(history["runs"]), history["has_more"]) == (1, False)


async def test_history_comes_newest_first_in_pages_with_repeats_marked(
    stores: Stores, clock: FixedClock, watched: Endpoint
) -> None:
    for text in (b"two", b"two", b"three"):
        clock.tick(minutes=1)
        await run_slot(stores, clock, an_outcome(body=Body(text, "text/plain", False, len(text))), took_ms=0)
    scene = await analyst(stores, Scripted())._scene(watched, "live")

    first = json.loads(await scene.call("get_response_history", {"limit": 3}))
    rest = json.loads(await scene.call("get_response_history", {"limit": 3, "offset": first["next_offset"]}))

    told = [run["body"] for run in first["runs"]]
    assert told == ["<data>three</data>", "<data>two</data>", "the same as the newer one"]
    assert (first["has_more"], first["next_offset"]) == (True, 3)
    assert (len(rest["runs"]), rest["has_more"], rest["next_offset"]) == (1, False, None)


async def test_siblings_are_told_with_their_latest_run_or_that_there_is_none(stores: Stores, watched: Endpoint) -> None:
    await add(stores, an_endpoint("new", paused_until=FOREVER, next_run_at=FOREVER))
    scene = await analyst(stores, Scripted())._scene(watched, "live")

    siblings = json.loads(await scene.call("get_sibling_latest_responses", {}))["siblings"]

    told = {each["name"]: (each["state"], each["latest"]) for each in siblings}
    assert told["new"] == ("asleep", "no runs yet")
    assert told["sibling"][1]["status"] == "success"
    assert set(told) == {"new", "sibling"}

"""Effects leave once they are committed, come back as arrivals, and survive a sender that was lost on the way."""

from typing import Any

import pytest

from mainspring.domain.endpoint import Tenant
from mainspring.domain.run import Body, Outcome, RunStatus
from mainspring.observe import Metrics
from mainspring.outbound.vault import AesVault, KeyRing
from mainspring.ports.records import RunFilter
from mainspring.ports.stores import Stores
from mainspring.wiring.clock import TimeOrderedIds
from mainspring.workers.dispatcher import LOST, Dispatcher, DispatcherOptions
from mainspring.workers.effects.handlers import handlers_of
from mainspring.workers.ticker import Ticker
from mainspring.workflow.audit import effect_key
from mainspring.workflow.model import Status
from tests.actions import http_of
from tests.stores.databases import query
from tests.stores.flow_world import a_ticker, a_workflow, get, log_of, order, publish, start, tick
from tests.stores.world import FixedClock, add, an_endpoint
from tests.workers.fakes import ScriptedCaller

URL = "http://127.0.0.1:8000/orders"
VAULT = AesVault(KeyRing(bytes(32)))


class ScriptedMailer:
    def __init__(self) -> None:
        self.letters: list[tuple[str, str, str, str, str, float]] = []
        self.outcome = Outcome(RunStatus.SUCCESS, 1)

    async def send(self, to: str, title: str, text: str, message_id: str, *, sender: str, timeout_s: float) -> Outcome:
        self.letters.append((to, title, text, message_id, sender, timeout_s))
        return self.outcome


class Stage:
    """One execution of one workflow, its ticker and its dispatcher."""

    def __init__(self, stores: Stores, clock: FixedClock) -> None:
        self.stores, self.clock = stores, clock
        self.caller, self.mailer = ScriptedCaller(), ScriptedMailer()
        self.ticker: Ticker = a_ticker(stores)
        self.dispatcher = self.new_dispatcher()

    def new_dispatcher(self) -> Dispatcher:
        errands = handlers_of(self.stores, self.caller, self.mailer, TimeOrderedIds(), VAULT, "d1", frozenset())
        return Dispatcher(self.stores.flows.effects, errands, DispatcherOptions("d1"), Metrics())

    async def begin(self, *steps: dict[str, Any], given: dict[str, object] | None = None) -> None:
        workflow = await publish(self.stores, a_workflow(*steps))
        await start(self.stores, workflow, "x1", given)
        await tick(self.ticker, self.clock)

    async def go_on(self, rounds: int = 1) -> None:
        for _ in range(rounds):
            await self.dispatcher.run_once()
            await tick(self.ticker, self.clock, 2)


@pytest.fixture
def stage(stores: Stores, clock: FixedClock) -> Stage:
    return Stage(stores, clock)


async def test_call_goes_out_with_its_key_and_its_answer_comes_back(stage: Stage, stores: Stores) -> None:
    body = Body(b'{"id": 7, "share": 0.5}', "application/json", False, 23)
    stage.caller.answers["x1"] = Outcome(RunStatus.SUCCESS, 3, 201, body=body)
    await stage.begin({"call": {"url": URL, "body": {"n": "{{ input.n }}"}}}, {"end": "done"}, given={"n": 7})

    await stage.go_on()

    (request,) = stage.caller.requests
    assert (request.slot_id, http_of(request).url, http_of(request).body) == (effect_key("x1", "s0", 1), URL, '{"n":7}')
    headers = {header.name: header.value for header in http_of(request).headers}
    assert headers == {"Content-Type": "application/json", "Idempotency-Key": request.slot_id}
    state = (await get(stores, "x1")).state
    assert state.steps["s0"] == {"result": {"status_code": 201, "body": {"id": 7, "share": 0.5}}}
    assert state.outcome == "done"


async def test_nothing_is_sent_before_its_tick_is_committed(stage: Stage, stores: Stores) -> None:
    workflow = await publish(stores, a_workflow({"call": {"url": URL}}))
    await start(stores, workflow, "x1")

    assert await stage.dispatcher.run_once() == 0


async def test_failed_call_is_retried_under_the_same_key(stage: Stage, stores: Stores) -> None:
    stage.caller.answers["x1"] = Outcome(RunStatus.FAILURE, 1, 503)
    await stage.begin({"call": {"url": URL}, "retry": {"attempts": 3, "delay": "1s", "factor": 1}})

    await stage.go_on(2)
    stage.caller.answers["x1"] = Outcome(RunStatus.SUCCESS, 1, 200)
    await stage.go_on()

    assert {request.slot_id for request in stage.caller.requests} == {effect_key("x1", "s0", 1)}
    assert [request.attempt for request in stage.caller.requests] == [1, 2, 3]
    assert (await get(stores, "x1")).status is Status.COMPLETED


async def test_call_that_keeps_failing_stops_its_execution_and_a_person_decides(stage: Stage, stores: Stores) -> None:
    stage.caller.answers["x1"] = Outcome(RunStatus.FAILURE, 1, 500, error="oops")
    await stage.begin({"call": {"url": URL}}, {"end": "done"})
    await stage.go_on()
    assert (await get(stores, "x1")).state.error == "oops"

    await order(stores, "x1", "retry")
    await tick(stage.ticker, stage.clock, 2)
    stage.caller.answers["x1"] = Outcome(RunStatus.SUCCESS, 1, 200)
    await stage.go_on()

    assert (await get(stores, "x1")).state.outcome == "done"
    assert {request.slot_id for request in stage.caller.requests} == {effect_key("x1", "s0", 1)}


async def test_effect_of_a_lost_sender_is_sent_again_with_the_same_key(stage: Stage, stores: Stores) -> None:
    await stage.begin({"call": {"url": URL}}, {"end": "done"})
    (lost,) = await stores.flows.effects.claim_effects("d0", 10, 30_000)
    assert await stage.dispatcher.run_once() == 0
    stage.clock.tick(seconds=61)

    await stage.go_on()

    assert [request.slot_id for request in stage.caller.requests] == [lost.key]
    assert (await get(stores, "x1")).state.outcome == "done"


async def test_effect_that_may_go_out_once_ends_as_unknown_and_waits_for_a_person(stage: Stage, stores: Stores) -> None:
    await stage.begin({"call": {"url": URL}, "idempotency": "at_most_once", "retry": {"attempts": 5}})
    await stores.flows.effects.claim_effects("d0", 10, 30_000)
    stage.clock.tick(seconds=61)

    await stage.go_on()

    assert stage.caller.requests == []
    state = (await get(stores, "x1")).state
    assert (state.status, state.error) == (Status.FAILED, LOST)


async def test_late_answer_of_a_lost_sender_changes_nothing(stage: Stage, stores: Stores) -> None:
    from mainspring.ports.workflows import EffectAnswer
    from mainspring.workers.dispatcher import answer

    await stage.begin({"call": {"url": URL}}, {"end": "done"})
    (lost,) = await stores.flows.effects.claim_effects("d0", 10, 30_000)
    stage.clock.tick(seconds=61)
    await stage.go_on()

    late = EffectAnswer(lost, answer(lost, "failure", {"code": "500"}))
    assert await stores.flows.effects.answer_effects([late]) == 0


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        (Outcome(RunStatus.TIMEOUT, 9, None, "deadline", "too slow"), "unknown"),
        (Outcome(RunStatus.FAILURE, 9, None, "connect", "refused"), "failure"),
        (Outcome(RunStatus.FAILURE, 9, 500), "failure"),
    ],
)
async def test_call_that_may_have_arrived_is_unknown_where_it_must_not_go_out_twice(
    stage: Stage, stores: Stores, outcome: Outcome, kind: str
) -> None:
    stage.caller.answers["x1"] = outcome
    await stage.begin({"call": {"url": URL}, "idempotency": "at_most_once"})

    await stage.go_on()

    entries = await stores.flows.logs.entries("default", "x1", 0, 100)
    assert f'"type":"{kind}"'.encode() in (entries[2].input or b"")


async def test_withdrawn_effect_is_not_sent(stage: Stage, stores: Stores) -> None:
    await stage.begin({"call": {"url": URL}})
    await order(stores, "x1", "cancel")
    await tick(stage.ticker, stage.clock, 2)

    assert await stage.dispatcher.run_once() == 0
    assert stage.caller.requests == []


async def test_endpoint_is_run_by_name_and_the_run_is_among_its_runs(stage: Stage, stores: Stores) -> None:
    endpoint = an_endpoint("billing", next_run_at=None)
    await add(stores, endpoint)
    await stage.begin({"call": {"endpoint": "billing"}}, {"end": "done"})

    await stage.go_on()

    (run,) = await stores.runs.runs("default", RunFilter(endpoint_id=endpoint.id))
    assert (run.status, run.source) == (RunStatus.SUCCESS, "workflow")
    assert (await get(stores, "x1")).state.outcome == "done"


async def test_endpoint_that_is_not_there_fails_the_step_in_words(stage: Stage, stores: Stores) -> None:
    await stage.begin({"call": {"endpoint": "billing"}})

    await stage.go_on()

    assert (await get(stores, "x1")).state.error == "endpoint 'billing' does not exist any more; create it, then retry"


async def test_letter_goes_out_with_its_key(stage: Stage, stores: Stores) -> None:
    letter = {"to": "{{ input.to }}", "subject": "S", "body": "B", "from": "shop@example.com"}
    await stage.begin({"email": letter, "timeout": "7s"}, given={"to": "a@example.com"})

    await stage.go_on()

    assert stage.mailer.letters == [("a@example.com", "S", "B", effect_key("x1", "s0", 1), "shop@example.com", 7.0)]
    assert (await get(stores, "x1")).status is Status.COMPLETED


@pytest.mark.parametrize(
    ("code", "idempotency", "sent"),
    [
        ("mail_lost", "at_most_once", 1),
        ("mail", "at_most_once", 2),
        ("mail_lost", "at_least_once", 2),
    ],
    ids=["may have arrived and may not go out twice", "cannot have arrived", "may go out twice"],
)
async def test_letter_is_tried_again_only_where_it_may_be(
    stage: Stage, stores: Stores, code: str, idempotency: str, sent: int
) -> None:
    stage.mailer.outcome = Outcome(RunStatus.FAILURE, 1, error_code=code, error="broke")
    letter = {"to": "ann@example.com", "subject": "S", "body": "B"}
    await stage.begin({"email": letter, "idempotency": idempotency, "retry": {"attempts": 2, "delay": "1s"}})

    await stage.go_on(3)

    assert len(stage.mailer.letters) == sent
    assert len({each[3] for each in stage.mailer.letters}) == 1
    assert (await get(stores, "x1")).status is Status.FAILED


async def test_channel_that_nobody_registered_fails_the_step_in_words(stage: Stage, stores: Stores) -> None:
    await stage.begin({"email": {"to": "a", "subject": "S", "body": "B", "channel": "pigeon"}})

    await stage.go_on()

    assert (await get(stores, "x1")).state.error.startswith("channel 'pigeon' does not exist; this process has call")


async def test_request_that_its_values_made_invalid_is_not_sent(stage: Stage, stores: Stores) -> None:
    await stage.begin({"call": {"url": "{{ input.url }}"}}, given={"url": "ftp://example.com/"})

    await stage.go_on()

    assert stage.caller.requests == []
    assert "start it with http://" in (await get(stores, "x1")).state.error


async def test_errand_that_raises_takes_nobody_along(stage: Stage, stores: Stores) -> None:
    stage.caller.answers["x1"] = RuntimeError("a bug")
    await stage.begin({"call": {"url": URL}})

    await stage.go_on()

    assert (await get(stores, "x1")).state.error == "RuntimeError: a bug"


@pytest.mark.parametrize("data", [b"plain", b'{"$double":"zz"}', b"[" * 70 + b"]" * 70, b'"\\ud800"'])
async def test_body_that_is_no_plain_json_comes_as_text(stage: Stage, stores: Stores, data: bytes) -> None:
    stage.caller.answers["x1"] = Outcome(RunStatus.SUCCESS, 1, 200, body=Body(data, "text/plain", False, len(data)))
    await stage.begin({"call": {"url": URL}}, {"end": "done"})

    await stage.go_on()

    state = (await get(stores, "x1")).state
    assert state.outcome == "done"
    assert isinstance(state.steps["s0"]["result"]["body"], str)  # type: ignore[index]  # plain JSON


async def test_crash_at_every_point_loses_nothing_and_doubles_no_key(
    stage: Stage, stores: Stores, store_url: str
) -> None:
    """Before the send, after it, after the record: what is redone is redone under the key that it had."""
    await stage.begin(*({"call": {"url": URL}} for _ in range(3)), {"end": "done"})
    for _ in range(3):
        await stores.flows.effects.claim_effects("crashes before it sends", 10, 30_000)
        stage.clock.tick(seconds=61)
        for intent in await stores.flows.effects.claim_effects("crashes after it sent", 10, 30_000):
            await stage.dispatcher._errands["call"].run(intent)
        stage.clock.tick(seconds=61)
        await stage.go_on()

    keys = [request.slot_id for request in stage.caller.requests]
    assert keys == [effect_key("x1", f"s{step}", 1) for step in range(3) for _ in range(2)]
    assert (await get(stores, "x1")).state.outcome == "done"
    statuses = await query(store_url, "SELECT DISTINCT status FROM execution_effect")
    assert statuses == [("done",)]
    assert "result.late" not in " ".join(await log_of(stores, "x1"))


async def test_hint_step_moves_the_next_run_of_an_endpoint(stage: Stage) -> None:
    await add(stage.stores, an_endpoint("billing", interval_ms=3_600_000))
    await stage.begin({"hint": {"endpoint": "billing", "interval": "30s", "ttl": "1h", "reason": "backlog"}})
    await stage.go_on()

    hinted = await stage.stores.endpoints.endpoint("default", "billing")
    assert hinted is not None
    assert hinted.interval_hint is not None
    assert (hinted.interval_hint.interval_ms, hinted.interval_hint.author) == (30_000, "execution:x1")
    done = await get(stage.stores, "x1")
    assert done.status is Status.COMPLETED
    assert "'endpoint': 'billing'" in str(done.state.steps["s0"])


async def test_hint_step_is_held_to_the_tenants_minimum_interval(stage: Stage) -> None:
    await add(stage.stores, an_endpoint("billing", interval_ms=3_600_000))
    await stage.stores.endpoints.put_tenant(Tenant("default", "default", interval_ms_min=60_000))
    await stage.begin({"hint": {"endpoint": "billing", "interval": "30s"}})
    await stage.go_on()

    stopped = await get(stage.stores, "x1")
    assert stopped.status is Status.FAILED
    assert "interval 30s is below the tenant's minimum 1m" in stopped.state.error


async def test_hints_are_cleared_and_a_run_is_asked_for(stage: Stage) -> None:
    await add(stage.stores, an_endpoint("billing", interval_ms=3_600_000))
    once, never = {"endpoint": "billing", "after": "5s"}, {"endpoint": "billing", "clear": True}
    await stage.begin({"hint": once}, {"hint": never})
    await stage.dispatcher.run_once()
    between = await stage.stores.endpoints.endpoint("default", "billing")
    await stage.go_on(2)
    after = await stage.stores.endpoints.endpoint("default", "billing")

    assert between is not None
    assert between.one_shot_hint is not None
    assert after is not None
    assert after.one_shot_hint is None


async def test_hint_for_an_endpoint_that_is_gone_stops_for_a_person(stage: Stage) -> None:
    await stage.begin({"hint": {"endpoint": "nobody", "interval": "30s"}})
    await stage.go_on()

    stopped = await get(stage.stores, "x1")
    assert (stopped.status, "endpoint 'nobody' does not exist" in stopped.state.error) == (Status.FAILED, True)

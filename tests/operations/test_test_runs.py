"""Test runs: a call now, on the record, that the schedule does not notice."""

from datetime import timedelta

import msgspec
import pytest
from msgspec.structs import replace
from tests.actions import http_of
from tests.harness.config import a_config, edited
from tests.stores.world import START, FixedClock, claim, get, told

from mainspring.domain.errors import InvalidInput
from mainspring.domain.event import Event, EventType
from mainspring.domain.run import Body, Header, Outcome, Phases, Request, Run, RunStatus, RunTrigger, slot_id
from mainspring.operations import test_run
from mainspring.operations.context import Desk
from mainspring.operations.endpoints import add_endpoint
from mainspring.operations.signing_keys import add_signing_key
from mainspring.ports.records import RunFilter

HEALTH = a_config("health", "https://example.com/health", interval_ms=60_000, spread=False)


class ScriptedCaller:
    """Gives one outcome, and remembers what it was asked."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        self.requests: list[Request] = []

    async def call(self, request: Request) -> Outcome:
        self.requests.append(request)
        return self.outcome

    async def aclose(self) -> None:
        pass


async def test_test_run_is_recorded_whole(desk: Desk) -> None:
    endpoint = await add_endpoint(desk, HEALTH)
    body = Body(b"\x00\xff", "application/octet-stream", True, 500)
    outcome = Outcome(
        RunStatus.FAILURE, 250, 503, "status", "status 503 is not accepted", body, (("server", "x"),),
        Phases(1, 2, 3, 4, 5), address="192.0.2.1",
    )  # fmt: skip

    run, given = await test_run.test_endpoint(desk, ScriptedCaller(outcome), "health")

    detail = {"phases": [1, 2, 3, 4], "headers": [("server", "x")], "address": "192.0.2.1"}
    assert given == outcome
    assert await desk.stores.runs.run("default", run.id) == Run(
        run.id, "default", endpoint.id, START, 1, RunTrigger.TEST, "", RunStatus.FAILURE, START, None, "ada",
        START + timedelta(milliseconds=250), 250, 503, "status", "status 503 is not accepted",
        detail=msgspec.json.encode(detail).decode(),
    )  # fmt: skip
    assert await desk.stores.runs.body("default", run.id) == body


async def test_test_run_calls_with_the_identity_of_a_slot_of_its_own(desk: Desk, clock: FixedClock) -> None:
    endpoint = await add_endpoint(desk, HEALTH)
    await add_signing_key(desk, "whsec_1")
    tenant = await desk.stores.endpoints.tenant("default")
    assert tenant is not None
    clock.tick(seconds=7)
    now = START + timedelta(seconds=7)
    caller = ScriptedCaller(Outcome(RunStatus.SUCCESS, 1, 200))

    await test_run.test_endpoint(desk, caller, endpoint.id)

    slot = slot_id(endpoint.id, now)
    assert caller.requests == [
        Request(
            "default",
            endpoint.id,
            slot,
            now,
            1,
            endpoint.action,
            signing_keys=tenant.signing_keys,
            endpoint=endpoint.name,
            job="default",
        )
    ]
    assert len(tenant.signing_keys) == 1


async def test_test_run_leaves_the_endpoint_as_it_was(desk: Desk) -> None:
    endpoint = await add_endpoint(desk, HEALTH)
    await claim(desk.stores)
    before = await get(desk.stores, endpoint)

    await test_run.test_endpoint(desk, ScriptedCaller(Outcome(RunStatus.FAILURE, 1)), "health")

    assert await get(desk.stores, endpoint) == before


async def test_test_run_counts_against_no_quota(desk: Desk) -> None:
    await add_endpoint(desk, HEALTH)

    await test_run.test_endpoint(desk, ScriptedCaller(Outcome(RunStatus.SUCCESS, 1, 200)), "health")

    tenant = await desk.stores.endpoints.tenant("default")
    assert tenant is not None
    assert tenant.runs_this_month == 0


async def test_test_run_is_told_as_one(desk: Desk) -> None:
    endpoint = await add_endpoint(desk, HEALTH)

    run, _ = await test_run.test_endpoint(desk, ScriptedCaller(Outcome(RunStatus.SUCCESS, 1, 200)), "health")

    data: dict[str, object] = {"status": "success", "status_code": 200, "trigger": "test"}
    *_, last = await told(desk.stores)
    assert last == Event(EventType.RUN_FINISHED, START, "default", endpoint.id, run.id, "ada", data)


async def test_test_run_without_a_body_has_none(desk: Desk) -> None:
    await add_endpoint(desk, HEALTH)

    run, _ = await test_run.test_endpoint(desk, ScriptedCaller(Outcome(RunStatus.TIMEOUT, 30_000)), "health")

    assert await desk.stores.runs.body("default", run.id) is None
    assert [each.id for each in await desk.stores.runs.runs("default", RunFilter())] == [run.id]


async def test_check_calls_what_is_not_stored_and_leaves_no_trace(desk: Desk) -> None:
    await add_signing_key(desk, "whsec_1")
    before = await told(desk.stores)
    caller = ScriptedCaller(Outcome(RunStatus.SUCCESS, 5, 200))
    definition = edited(HEALTH, headers=(Header("X-Api-Key", "hunter2"),), job="new one")

    endpoint, outcome = await test_run.check_endpoint(desk, caller, definition)

    (request,) = caller.requests
    (header,) = http_of(request).headers
    context = f"default|{endpoint.id}|header:x-api-key"
    assert (outcome, request.endpoint_id, len(request.signing_keys)) == (caller.outcome, endpoint.id, 1)
    assert desk.vault.open(header.value, context) == "hunter2"
    assert await desk.stores.endpoints.endpoint("default", endpoint.id) is None
    assert await desk.stores.endpoints.jobs("default") == []
    assert await told(desk.stores) == before


async def test_check_refuses_what_could_not_be_added(desk: Desk) -> None:
    caller = ScriptedCaller(Outcome(RunStatus.SUCCESS, 5, 200))

    with pytest.raises(InvalidInput, match="no schedule for"):
        await test_run.check_endpoint(desk, caller, replace(HEALTH, interval_ms=None))

    assert caller.requests == []

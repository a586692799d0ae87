"""A model's sessions in the store: which endpoints are due for one, and what is kept of it."""

from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.stores.world import START, FixedClock, add, an_endpoint, run_slot, told

from mainspring.domain.endpoint import Endpoint, JobStatus
from mainspring.domain.event import Event, EventType
from mainspring.domain.instant import FOREVER
from mainspring.domain.model.session import ModelSession, SessionDetail, TokenUsage, ToolCall
from mainspring.ports.stores import Stores

LOOKBACK_MS = 300_000
MINUTE = timedelta(minutes=1)


def described(name: str, **fields: object) -> Endpoint:
    return an_endpoint(name, description="run often while the queue is deep", **fields)


async def due(stores: Stores, only: Endpoint | None = None) -> list[str]:
    return await stores.sessions.claim_analyses("worker-1", 60_000, LOOKBACK_MS, 10, 12, only.id if only else None)


@pytest.mark.parametrize(
    ("since", "is_due"),
    [(timedelta(milliseconds=LOOKBACK_MS), True), (timedelta(milliseconds=LOOKBACK_MS, microseconds=1), False)],
    ids=["within the look-back", "before it"],
)
async def test_endpoint_that_was_never_looked_at_is_due_by_a_run(
    stores: Stores, clock: FixedClock, since: timedelta, is_due: bool
) -> None:
    endpoint = described("watched", interval_ms=3_600_000)
    await add(stores, endpoint)
    await run_slot(stores, clock, took_ms=0)
    clock.at = START + since

    assert await due(stores) == ([endpoint.id] if is_due else [])


async def test_endpoint_that_never_ran_is_due_when_a_sibling_has_run_lately(stores: Stores, clock: FixedClock) -> None:
    asleep = described("asleep", paused_until=FOREVER, next_run_at=FOREVER)
    elsewhere = described("elsewhere", job_id="job_elsewhere", paused_until=FOREVER, next_run_at=FOREVER)
    await add(stores, asleep, elsewhere, an_endpoint("sibling", interval_ms=3_600_000))
    before = await due(stores)
    await run_slot(stores, clock, took_ms=0)
    clock.tick(minutes=5)

    assert (before, await due(stores)) == ([], [asleep.id])


async def test_endpoint_whose_siblings_ran_long_ago_is_not_due(stores: Stores, clock: FixedClock) -> None:
    asleep = described("asleep", paused_until=FOREVER, next_run_at=FOREVER)
    await add(stores, asleep, an_endpoint("sibling", interval_ms=3_600_000))
    await run_slot(stores, clock, took_ms=0)
    clock.tick(minutes=5, seconds=1)

    assert await due(stores) == []


@pytest.mark.parametrize("status", [JobStatus.PAUSED, JobStatus.ARCHIVED])
async def test_no_endpoint_is_due_in_a_job_that_is(stores: Stores, clock: FixedClock, status: JobStatus) -> None:
    endpoint = described("watched")
    await add(stores, endpoint)
    await run_slot(stores, clock, took_ms=0)
    (job,) = await stores.endpoints.jobs("default")
    await stores.endpoints.put_job(replace(job, status=status), Event(EventType.JOB_UPDATED, START, "default"))

    assert await due(stores) == []
    assert await due(stores, endpoint) == []  # nor when somebody asks for it


async def test_session_is_read_as_it_was_recorded(stores: Stores) -> None:
    endpoint = described("watched")
    await add(stores, endpoint)
    call = ToolCall("propose_interval", {"interval_ms": "20000", "reason": "é ☃"}, "done; next run soon")
    detail = SessionDetail((call, call), "it is deep", "every 20 s", "high", ("output_truncated",), "a note")
    session = ModelSession(
        "ses_1", "default", endpoint.id, START, "done", "shadow", "scripted", 1_200, 34, 5_678, 9_012,
        START + 10 * MINUTE, 3, detail,
    )  # fmt: skip
    event = Event(EventType.PLANNER_ANALYSED, START, "default", endpoint.id, "", "model:scripted", {"session": "ses_1"})

    await stores.sessions.record_session(session, "worker-1", event)

    assert await stores.sessions.session("default", "ses_1") == session
    assert await stores.sessions.session("another", "ses_1") is None
    assert await stores.sessions.token_usage("default") == TokenUsage("2025-01", 1_200, 34, 5_678, 1)
    assert (await told(stores))[-1] == event

"""Endpoints with a single run through the API, on both databases."""

from datetime import timedelta

from httpx2 import AsyncClient

from mainspring.domain.instant import rfc3339
from mainspring.domain.run import RunStatus
from mainspring.ports.stores import Stores
from tests.api.acting import URL, fault
from tests.stores.world import START, FixedClock, an_outcome, run_slot


async def test_single_run_is_given_as_a_time_or_a_delay_and_replaces_an_interval(api: AsyncClient) -> None:
    timed = await api.post("/api/v1/endpoints", json={"name": "a", "url": URL, "at": "2025-01-01T02:00:00+01:00"})
    delayed = await api.post("/api/v1/endpoints", json={"name": "b", "url": URL, "at": "in 10m"})
    edited = await api.patch("/api/v1/endpoints/a", json={"every": "1h"})
    back = await api.patch("/api/v1/endpoints/a", json={"at": "in 1h"})

    assert (timed.status_code, timed.json()["once_at"]) == (201, "2025-01-01T01:00:00Z")
    assert (delayed.json()["next_run_at"], delayed.json()["schedule"]) == (
        "2025-01-01T00:10:00Z",
        "once at 2025-01-01 00:10:00 UTC",
    )
    assert (edited.json()["once_at"], edited.json()["interval_ms"]) == (None, 3_600_000)
    assert (back.json()["once_at"], back.json()["interval_ms"]) == ("2025-01-01T01:00:00Z", None)


async def test_time_in_the_past_is_refused_with_the_way_out(api: AsyncClient) -> None:
    past = rfc3339(START - timedelta(hours=1))
    refused = await api.post("/api/v1/endpoints", json={"name": "a", "url": URL, "at": past})
    unread = await api.post("/api/v1/endpoints", json={"name": "a", "url": URL, "at": "in a while"})

    assert fault(refused) == (
        "/at",
        "at 2024-12-31T23:00:00Z is in the past, the current time is 2025-01-01T00:00:00Z; give a later time; to run "
        "the endpoint now, request a run",
    )
    assert fault(unread)[0] == "/at"
    other = await api.post("/api/v1/endpoints", json={"name": "a", "url": URL, "in": "10m"})
    assert fault(other) == ("/in", "unknown field 'in', did you mean 'at'?")


async def test_endpoint_that_ran_once_is_done_everywhere(api: AsyncClient, stores: Stores, clock: FixedClock) -> None:
    await api.post("/api/v1/endpoints", json={"name": "a", "url": URL, "at": "in 10m"})
    clock.tick(minutes=10)
    await run_slot(stores, clock)
    endpoint = (await api.get("/api/v1/endpoints/a")).json()
    decision = (await api.get("/api/v1/endpoints/a/decision")).json()
    listed = (await api.get("/api/v1/endpoints?state=done")).json()["items"]
    again = await api.post("/api/v1/endpoints/a/run", json={})
    edited = await api.patch("/api/v1/endpoints/a", json={"description": "It is over."})

    assert (endpoint["status"], endpoint["next_run_at"], [each["name"] for each in listed]) == ("done", None, ["a"])
    assert decision["reasons"][0]["kind"] == "done"
    assert decision["sentences"][0].startswith("'a' ran once, at 2025-01-01 00:10:00 UTC (")
    assert again.status_code in (200, 202)
    assert edited.json()["description"] == "It is over."


async def test_single_run_that_failed_is_explained_without_a_backoff(
    api: AsyncClient, stores: Stores, clock: FixedClock
) -> None:
    await api.post("/api/v1/endpoints", json={"name": "a", "url": URL, "at": "in 10m"})
    clock.tick(minutes=10)
    await run_slot(stores, clock, an_outcome(RunStatus.FAILURE))
    sentences = (await api.get("/api/v1/endpoints/a/decision")).json()["sentences"]

    assert "  The single run asked for no further run and won: its single run was at 2025-01-01T00:10:00Z." in sentences
    assert sentences[-1].startswith("The last run failed. A success or a reset ends the failures: ")

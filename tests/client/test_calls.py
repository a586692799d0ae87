"""Both clients against a real server: what they send arrives, what comes back is given, what is refused is raised."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from mainspring.client import (
    AsyncClient,
    Client,
    ConflictError,
    ForbiddenError,
    InvalidRequest,
    NotAuthenticatedError,
    NotFoundError,
    Unreachable,
)
from mainspring.domain.instant import rfc3339
from mainspring.ports.stores import Stores
from tests.harness.waiting import until_true
from tests.stores.world import START, FixedClock, claim, finished, run_slot

Ask = Callable[..., Any]
HEALTH = {"name": "health", "url": "https://example.com/health", "every": "1m", "spread": False}


async def test_endpoint_is_made_read_changed_and_deleted(ask: Ask) -> None:
    made = await ask("endpoints.create", **HEALTH, headers=[{"name": "X-Pin", "value": "1", "secret": True}])
    read = await ask("endpoints.read", "health")
    edited = await ask("endpoints.update", made["id"], every=30_000, description=None)
    rehearsed = await ask("endpoints.delete", "health", dry_run=True)
    deleted = await ask("endpoints.delete", "health")

    assert made == read
    assert (edited["interval_ms"], edited["headers"]) == (30_000, made["headers"])
    assert rehearsed["dry_run"] is True
    assert deleted == {"id": made["id"], "name": "health", "deleted": True}
    with pytest.raises(NotFoundError, match=r"no endpoint 'health'"):
        await ask("endpoints.read", "health")


async def test_hints_pauses_and_reasons(ask: Ask) -> None:
    await ask("endpoints.create", **HEALTH)

    hinted = await ask("hints.put_interval", "health", every="5s", reason="a deploy")
    paused = await ask("endpoints.pause", "health", duration="1h")
    resumed = await ask("endpoints.resume", "health")
    cleared = await ask("hints.clear", "health")
    reasons = await ask("endpoints.explain_decision", "health")
    preview = await ask("endpoints.preview", "health", count=3)

    assert hinted["interval_hint"]["reason"] == "a deploy"
    assert (paused["status"], resumed["status"], cleared["interval_hint"]) == ("paused", "active", None)
    assert reasons["sentences"]
    assert len(preview["runs"]) == 3


async def test_name_with_any_letters_finds_its_way(ask: Ask) -> None:
    name = "größe 100%? #1 & more"
    made = await ask("endpoints.create", **(HEALTH | {"name": name}))

    assert await ask("endpoints.read", name) == made
    assert [each["name"] for each in await ask("endpoints.iterate", text="100%?")] == [name]


async def test_pages_are_read_on_until_the_last(ask: Ask) -> None:
    for number in range(5):
        await ask("endpoints.create", **(HEALTH | {"name": f"e{number}"}))

    page = await ask("endpoints.list", limit=2)
    every = await ask("endpoints.iterate", limit=2)

    assert [each["name"] for each in page["items"]] == ["e0", "e1"]
    assert [each["name"] for each in every] == ["e0", "e1", "e2", "e3", "e4"]


async def test_runs_and_their_bodies(ask: Ask, stores: Stores, clock: FixedClock) -> None:
    await ask("endpoints.create", **HEALTH)
    await run_slot(stores, clock)

    (run,) = await ask("runs.iterate", endpoint="health", status="success")

    assert (await ask("runs.read", run["id"]))["body"]["text"] == '{"ok":true}'
    assert await ask("runs.download_body", run["id"]) == b'{"ok":true}'


async def test_run_is_waited_for(ask: Ask, stores: Stores, clock: FixedClock) -> None:
    await ask("endpoints.create", **(HEALTH | {"every": "1h"}))
    await run_slot(stores, clock)
    asked = asyncio.create_task(ask("endpoints.run", "health", wait=True))

    async def is_run() -> bool:
        batch = await claim(stores)
        await stores.schedule.finish([finished(each) for each in batch.claims])
        return bool(batch.claims)

    await until_true(is_run, "the requested run")

    answer = await asyncio.wait_for(asked, 60)

    assert (answer["run"]["status"], answer["run"]["trigger"]) == ("success", "manual")


async def test_run_that_is_not_waited_for_is_only_asked_for(ask: Ask) -> None:
    await ask("endpoints.create", **HEALTH)

    answer = await ask("endpoints.run", "health", wait=False)

    assert (answer["run"], answer["endpoint"]["run_requested_at"]) == (None, rfc3339(START))


async def test_events_are_told_as_they_happen(server: str) -> None:
    async with AsyncClient(server, "all") as client:
        heard: list[str] = []

        async def listen() -> None:
            async for event in client.events.stream():
                heard.append(event["type"])

        listening = asyncio.create_task(listen())

        async def is_heard() -> bool:
            await client.jobs.create(name=f"job {len(heard)} {time.monotonic_ns()}")
            return "job.created" in heard

        await until_true(is_heard, "an event of the stream")
        listening.cancel()


async def test_problem_is_raised_with_all_it_says(ask: Ask) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await ask("endpoints.create", **(HEALTH | {"every": 5}))

    problem = refused.value
    assert (problem.status, problem.type, problem.kind) == (422, "/problems/invalid-input", "invalid-input")
    assert str(problem) == problem.detail == "interval 5 ms is out of bounds; give 100ms to 366d"
    assert problem.pointers == ["/every"]
    assert problem.request_id.startswith("req_")


async def test_taken_name_is_a_conflict(ask: Ask) -> None:
    await ask("endpoints.create", **HEALTH)

    with pytest.raises(ConflictError, match=r"another endpoint is named 'health' already"):
        await ask("endpoints.create", **HEALTH)


async def test_keys_decide_what_is_allowed(server: str) -> None:
    def call(key: str) -> None:
        with Client(server, key) as client:
            client.jobs.create(name="x")

    with pytest.raises(NotAuthenticatedError, match=r"this key is not known"):
        await asyncio.to_thread(call, "nope")
    with pytest.raises(ForbiddenError, match=r"this needs the scope write"):
        await asyncio.to_thread(call, "read")


def test_server_that_is_not_there_is_unreachable() -> None:
    with (
        Client("http://127.0.0.1:9", "all", tries=1) as client,
        pytest.raises(
            Unreachable,
            match=r"no response from the server: .* \(http://127.0.0.1:9\); a Mainspring server must be running",
        ),
    ):
        client.jobs.list()


def test_address_and_key_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAINSPRING_SERVER", "http://127.0.0.1:9/")

    with Client() as client:
        assert client.server == "http://127.0.0.1:9"

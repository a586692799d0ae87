"""Requests that are sent again: done once, answered alike, on both databases."""

import asyncio

from fastapi import FastAPI
from httpx2 import AsyncClient

from tests.api.acting import URL
from tests.api.app import client_of
from tests.stores.databases import query
from tests.stores.world import FixedClock

WISH = {"name": "billing", "url": URL, "every": "1m"}
KEY = {"Idempotency-Key": "order-1"}


async def count(api: AsyncClient) -> int:
    return len((await api.get("/api/v1/endpoints")).json()["items"])


async def test_request_sent_again_is_done_once_and_answered_alike(api: AsyncClient) -> None:
    first = await api.post("/api/v1/endpoints", json=WISH, headers=KEY)
    again = await api.post("/api/v1/endpoints", json=WISH, headers=KEY)

    assert (first.status_code, first.content) == (201, again.content)
    assert again.status_code == 201
    assert (again.headers["location"], again.headers["etag"]) == (first.headers["location"], first.headers["etag"])
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert again.headers["x-request-id"] != first.headers["x-request-id"]
    assert await count(api) == 1


async def test_another_request_under_the_same_key_is_refused(api: AsyncClient) -> None:
    await api.post("/api/v1/endpoints", json=WISH, headers=KEY)
    bodies = await api.post("/api/v1/endpoints", json={**WISH, "name": "other"}, headers=KEY)
    paths = await api.post("/api/v1/jobs", json=WISH, headers=KEY)

    assert (bodies.status_code, paths.status_code) == (422, 422)
    assert "used for another request" in bodies.json()["detail"]
    assert await count(api) == 1


async def test_refused_request_leaves_its_key_free(api: AsyncClient) -> None:
    refused = await api.post("/api/v1/endpoints", json={**WISH, "every": "1ms"}, headers=KEY)
    unreadable = await api.post("/api/v1/endpoints", json={"nam": 1}, headers=KEY)
    done = await api.post("/api/v1/endpoints", json=WISH, headers=KEY)

    assert (refused.status_code, unreadable.status_code, done.status_code) == (422, 422, 201)


async def test_of_many_at_once_one_is_done_and_the_others_are_told_to_wait_or_get_its_answer(api: AsyncClient) -> None:
    answers = await asyncio.gather(*(api.post("/api/v1/endpoints", json=WISH, headers=KEY) for _ in range(10)))

    statuses = [answer.status_code for answer in answers]
    done = {answer.content for answer in answers if answer.status_code == 201}
    assert set(statuses) <= {201, 409}
    assert statuses.count(201) >= 1
    assert len(done) == 1
    assert await count(api) == 1


async def test_key_is_its_senders_own(app: FastAPI, api: AsyncClient) -> None:
    await api.post("/api/v1/jobs", json={"name": "a"}, headers=KEY)
    async with client_of(app, "default", actor="key:another") as another:
        answer = await another.post("/api/v1/jobs", json={"name": "b"}, headers=KEY)

    assert answer.json()["name"] == "b"


async def test_answer_is_forgotten_after_a_day(api: AsyncClient, clock: FixedClock) -> None:
    await api.post("/api/v1/jobs", json={"name": "a"}, headers=KEY)
    clock.tick(hours=24)

    assert (await api.post("/api/v1/jobs", json={"name": "a"}, headers=KEY)).status_code == 409


async def test_kept_answers_are_sealed(api: AsyncClient, store_url: str) -> None:
    await api.post("/api/v1/jobs", json={"name": "confidential"}, headers=KEY)
    rows = await query(store_url, "SELECT request, answer FROM answer")

    assert len(rows) == 1
    assert "confidential" not in repr(rows)


async def test_key_that_is_empty_or_too_long_is_refused(api: AsyncClient) -> None:
    for key in ("", "x" * 256):
        answer = await api.post("/api/v1/jobs", json={"name": "a"}, headers={"Idempotency-Key": key})
        assert answer.status_code == 400


async def test_changes_and_deletions_sent_again_are_done_once_too(api: AsyncClient) -> None:
    await api.post("/api/v1/endpoints", json=WISH)
    patched = [
        await api.patch("/api/v1/endpoints/billing", json={"every": "2m"}, headers={"Idempotency-Key": "a"})
        for _ in range(2)
    ]
    deleted = [await api.delete("/api/v1/endpoints/billing", headers={"Idempotency-Key": "b"}) for _ in range(2)]
    user = {"email": "bo@example.com"}
    invited = [await api.post("/api/v1/users", json=user, headers={"Idempotency-Key": "c"}) for _ in range(2)]

    for first, again in (patched, deleted, invited):
        assert (again.status_code, again.content) == (first.status_code, first.content)
        assert again.headers["idempotency-replayed"] == "true"
    assert patched[0].json()["version"] == 2
    assert [answer.status_code for answer in (patched[0], deleted[0], invited[0])] == [200, 200, 201]

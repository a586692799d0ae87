"""Pings over HTTP: without a login, in every form, and what refuses them; on both databases."""

import asyncio
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from fastapi import FastAPI
from httpx2 import ASGITransport, AsyncClient

from mainspring.api.pings import BODY_KEPT, read_ping
from mainspring.domain.schedule.ping import PingMeaning
from mainspring.operations.pings import BURST
from tests.api.acting import fault
from tests.api.app import client_of
from tests.stores.world import FixedClock

PATH = "/api/v1/endpoints"


async def a_url(api: AsyncClient, **fields: object) -> str:
    """The path of the ping URL of a new heartbeat, expected every hour with a grace of ten minutes."""
    made = await api.post(PATH, json={"name": "backup", "kind": "heartbeat", "every": "1h", "grace": "10m", **fields})
    assert made.status_code == 201, made.text
    answer = await api.post(f"{PATH}/backup/ping-url")
    assert answer.status_code == 201, answer.text
    return str(urlsplit(answer.json()["url"]).path)


def pinger(app: FastAPI) -> AsyncClient:
    return AsyncClient(transport=ASGITransport(app=app), base_url="http://pings.example.com")


async def runs_of(api: AsyncClient) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = (await api.get("/api/v1/runs", params={"endpoint": "backup"})).json()["items"]
    return items


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
async def test_every_method_is_a_ping_without_a_login(app: FastAPI, api: AsyncClient, method: str) -> None:
    url = await a_url(api)
    async with pinger(app) as job:
        answer = await job.request(method, url)

    assert (answer.status_code, answer.text) == (200, "" if method == "HEAD" else "OK\n")
    assert [run["status"] for run in await runs_of(api)] == ["success"]


async def test_start_and_exit_code_are_one_run_with_its_duration_and_log(
    app: FastAPI, api: AsyncClient, clock: FixedClock
) -> None:
    url = await a_url(api)
    async with pinger(app) as job:
        await job.get(f"{url}/start", params={"rid": "night-1"})
        running = (await api.get(f"{PATH}/backup")).json()["running"]
        clock.tick(seconds=90)
        await job.post(f"{url}/3", params={"rid": "night-1"}, content=b"disk full\n")

    (run,) = await runs_of(api)
    detail = (await api.get(f"/api/v1/runs/{run['id']}")).json()
    assert running["run_id"] == run["id"]
    assert (run["status"], run["status_code"], run["duration_ms"]) == ("failure", 3, 90_000)
    assert (detail["error"], detail["body"]["text"]) == ("the job ended with exit code 3", "disk full\n")


async def test_long_log_is_cut_and_the_ping_counts(app: FastAPI, api: AsyncClient) -> None:
    url = await a_url(api, body_cap=1_000_000)
    async with pinger(app) as job:
        answer = await job.post(url, content=b"x" * (BODY_KEPT + 5))

    (run,) = await runs_of(api)
    body = (await api.get(f"/api/v1/runs/{run['id']}")).json()["body"]
    assert answer.status_code == 200
    assert (body["truncated"], body["bytes_seen"]) == (True, BODY_KEPT + 5)


async def test_unknown_urls_are_answered_alike(app: FastAPI, api: AsyncClient) -> None:
    url = await a_url(api)
    wrong = ["/ping/" + "A" * 43, "/ping/short", "/ping/", f"{url}/unknown", f"{url}/256", f"{url}x"]
    async with pinger(app) as job:
        answers = [await job.get(each) for each in wrong]
        refused = await job.put(url)

    assert {(each.status_code, each.text) for each in answers} == {(404, "not found\n")}
    assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD, POST")
    assert await runs_of(api) == []


async def test_rotated_and_revoked_urls_end_at_once(app: FastAPI, api: AsyncClient) -> None:
    first = await a_url(api)
    assert urlsplit((await api.get(f"{PATH}/backup/ping-url")).json()["url"]).path == first
    second = urlsplit((await api.post(f"{PATH}/backup/ping-url")).json()["url"]).path
    async with pinger(app) as job:
        assert [(await job.get(each)).status_code for each in (first, second)] == [404, 200]
        await api.delete(f"{PATH}/backup/ping-url")
        assert (await job.get(second)).status_code == 404

    assert (await api.get(f"{PATH}/backup/ping-url")).json()["url"] is None
    assert (await api.delete(f"{PATH}/backup/ping-url")).status_code == 404


async def test_url_is_shown_to_editors_only(app: FastAPI, api: AsyncClient) -> None:
    await a_url(api)
    async with client_of(app, scopes="read run") as viewer:
        answer = await viewer.get(f"{PATH}/backup/ping-url")

    assert answer.status_code == 403
    assert "/ping/" not in (await api.get(f"{PATH}/backup")).text


async def test_token_that_pings_too_often_is_asked_to_wait(app: FastAPI, api: AsyncClient) -> None:
    url = await a_url(api)
    async with pinger(app) as job:
        answers = await asyncio.gather(*[job.get(url) for _ in range(BURST + 1)])

    refused = [each for each in answers if each.status_code == 429]
    assert len(refused) == 1
    assert refused[0].headers["retry-after"] == "1"
    assert len(answers) - len(refused) == BURST


async def test_endpoint_of_another_kind_has_no_ping_url(api: AsyncClient) -> None:
    await api.post(PATH, json={"name": "site", "url": "https://example.com", "every": "5m"})

    assert fault(await api.post(f"{PATH}/site/ping-url"))[1] == (
        "'site' is of kind http and has no ping URL; only kind heartbeat waits for pings: choose that kind"
    )


@pytest.mark.parametrize("verb", ["run", "test"])
async def test_heartbeat_cannot_be_called(api: AsyncClient, verb: str) -> None:
    await a_url(api)

    answer = await api.post(f"{PATH}/backup/{verb}")

    assert (answer.status_code, answer.json()["detail"]) == (
        409,
        "'backup' cannot be run: kind heartbeat calls nothing and waits for pings; send one to its ping URL",
    )


async def test_why_says_when_a_ping_is_expected_and_that_a_run_is_open(
    app: FastAPI, api: AsyncClient, clock: FixedClock
) -> None:
    url = await a_url(api)
    idle = (await api.get(f"{PATH}/backup/decision")).json()["sentences"]
    async with pinger(app) as job:
        await job.get(f"{url}/start")
    running = (await api.get(f"{PATH}/backup/decision")).json()["sentences"]

    assert any("a ping is in time up to 10m later" in each for each in idle)
    assert any(each.startswith("'backup' expects a ping") for each in idle)
    assert any(each.startswith("A ping started it") for each in running)


async def test_health_counts_silence_and_not_slots_that_no_worker_could_run(
    app: FastAPI, api: AsyncClient, clock: FixedClock
) -> None:
    url = await a_url(api)
    async with pinger(app) as job:
        await job.get(url)
        clock.at += timedelta(minutes=1)
        await job.get(f"{url}/fail")

    day = (await api.get(f"{PATH}/backup/health")).json()["windows"][1]
    assert (day["runs"], day["successes"]) == (2, 1)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("", (PingMeaning.SUCCESS, None)),
        ("start", (PingMeaning.START, None)),
        ("fail", (PingMeaning.FAIL, None)),
        ("0", (PingMeaning.SUCCESS, 0)),
        ("255", (PingMeaning.SUCCESS, 255)),
        ("256", None),
        ("-1", None),
        ("²", None),
        ("start/x", None),
    ],
)
def test_path_after_the_token_says_what_happened(said: str, meant: tuple[PingMeaning, int | None] | None) -> None:
    assert read_ping(said) == meant


@pytest.mark.parametrize("path", ["/ping/none", f"/ping/{'x' * 42}!", "/callback/none", "/callback/v1.x.y/progress"])
async def test_body_of_a_stranger_is_not_read(app: FastAPI, path: str) -> None:
    """What cannot be a token is answered at once: a stranger must not make the server read ten megabytes."""
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        raise AssertionError("the body was read")

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": []}
    await app(scope, receive, send)

    assert [each.get("status") for each in sent] == [404, None]

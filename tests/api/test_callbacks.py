"""Callbacks over HTTP: without a login, once, and what every page shows of a run that waits; on both databases."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from fastapi import FastAPI
from httpx2 import ASGITransport, AsyncClient

from mainspring.api.callbacks import read_report
from mainspring.domain.access.callback_token import CALLBACK_PLACE
from mainspring.domain.run import Body, Outcome, RunStatus
from mainspring.domain.schedule.callback import CallbackReport, ReportMeaning
from mainspring.operations.pings import BURST
from mainspring.outbound.vault import AesVault, KeyRing
from mainspring.ports.stores import Stores
from mainspring.settings import Settings
from tests.api.acting import fault
from tests.api.app import client_of, open_app
from tests.stores.world import FixedClock, claim, finished

PATH = "/api/v1/endpoints"
IMPORT = {
    "name": "import", "url": "https://example.com/import", "method": "POST", "every": "1h", "spread": False,
    "completes": "callback", "callback_timeout": "2h",
}  # fmt: skip


async def a_url(api: AsyncClient, stores: Stores, clock: FixedClock, **fields: object) -> str:
    """The path of the callback URL of a run that its target has accepted."""
    made = await api.post(PATH, json={**IMPORT, **fields})
    assert made.status_code == 201, made.text
    await api.post(f"{PATH}/import/run")
    (held,) = (await claim(stores)).claims
    clock.tick(milliseconds=20)
    await stores.schedule.finish([finished(held, Outcome(RunStatus.RUNNING, 20, 202))])
    token = AesVault(KeyRing(bytes(32))).seal(f"default|{held.endpoint.id}|{held.run_id}", CALLBACK_PLACE)
    return f"/callback/{token}"


@pytest.fixture
async def target(app: FastAPI) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(transport=ASGITransport(app=app), base_url="http://target.example.com") as client:
        yield client


async def the_run(api: AsyncClient) -> dict[str, Any]:
    (run,) = (await api.get("/api/v1/runs", params={"endpoint": "import"})).json()["items"]
    detail: dict[str, Any] = (await api.get(f"/api/v1/runs/{run['id']}")).json()
    return detail


async def test_callback_ends_the_run_with_its_body(
    api: AsyncClient, target: AsyncClient, stores: Stores, clock: FixedClock
) -> None:
    url = await a_url(api, stores, clock)
    clock.tick(minutes=90)

    answer = await target.post(url, json={"rows": 5})

    run = await the_run(api)
    assert (answer.status_code, answer.text) == (200, "OK\n")
    assert (run["status"], run["body"]["text"], run["callback"]) == ("success", '{"rows":5}', None)
    assert run["duration_ms"] >= 5_400_000


@pytest.mark.parametrize(
    ("said", "status", "error"),
    [
        ("", "success", None),
        ("/0", "success", None),
        ("/fail", "failure", "the callback reported a failure"),
        ("/7", "failure", "the callback reported exit code 7"),
    ],
)
async def test_path_says_how_the_run_ended(
    api: AsyncClient,
    target: AsyncClient,
    stores: Stores,
    clock: FixedClock,
    said: str,
    status: str,
    error: str | None,
) -> None:
    url = await a_url(api, stores, clock)

    assert (await target.post(f"{url}{said}")).status_code == 200

    run = await the_run(api)
    assert (run["status"], run["error"]) == (status, error)


async def test_progress_is_shown_and_extends_the_deadline(
    api: AsyncClient, target: AsyncClient, stores: Stores, clock: FixedClock
) -> None:
    url = await a_url(api, stores, clock)
    clock.tick(minutes=90)

    answer = await target.post(f"{url}/progress", params={"percent": 40, "text": "copying \x1b[31mtables"})

    endpoint = (await api.get(f"{PATH}/import")).json()
    why = (await api.get(f"{PATH}/import/decision")).json()["sentences"]
    shown = {
        "since_at": "2025-01-01T00:00:00Z",
        "until_at": "2025-01-01T03:30:00.020000Z",
        "percent": 40,
        "text": "copying \\x1b[31mtables",
        "reported_at": "2025-01-01T01:30:00.020000Z",
    }
    run = await the_run(api)
    assert answer.status_code == 200
    assert (run["status"], run["callback"]) == ("running", shown)
    assert (endpoint["running"]["callback"], endpoint["running"]["worker"]) == (shown, "callback")
    assert any("waiting for its callback since" in each and "40 %: copying" in each for each in why)


async def test_late_and_second_callbacks_are_gone_and_recorded(
    api: AsyncClient, target: AsyncClient, stores: Stores, clock: FixedClock
) -> None:
    url = await a_url(api, stores, clock)
    await target.post(url)

    second = await target.post(f"{url}/fail")

    events = (await api.get("/api/v1/events")).json()["items"]
    assert (second.status_code, second.text) == (
        410,
        "ignored: the run has already ended (success); a callback URL ends its run once\n",
    )
    assert (await the_run(api))["status"] == "success"
    assert [each["type"] for each in events].count("callback.refused") == 1


async def test_only_post_ends_a_run(api: AsyncClient, target: AsyncClient, stores: Stores, clock: FixedClock) -> None:
    url = await a_url(api, stores, clock)

    answers = [await target.get(url), await target.head(url), await target.put(url)]

    assert {(each.status_code, each.headers["allow"]) for each in answers} == {(405, "POST")}
    assert (await the_run(api))["status"] == "running"


async def test_unknown_urls_are_answered_alike(
    api: AsyncClient, target: AsyncClient, stores: Stores, clock: FixedClock
) -> None:
    url = await a_url(api, stores, clock)
    vault = AesVault(KeyRing(bytes(32)))
    wrong = [
        "/callback/", "/callback/short", f"{url}x", f"{url[:-3]}AAA", f"{url}/unknown", f"{url}/256",
        f"/callback/{vault.seal('default|ep_1|run_1', CALLBACK_PLACE)}",
        f"/callback/{vault.seal('default|ep_1|run_1', 'default|signing')}",
        f"/callback/{vault.seal('nothing', CALLBACK_PLACE)}",
        f"/callback/{'x' * 2_000}",
    ]  # fmt: skip

    answers = [await target.post(each) for each in wrong]

    assert {(each.status_code, each.text) for each in answers} == {(404, "not found\n")}
    assert (await the_run(api))["status"] == "running"


async def test_url_that_is_used_too_often_is_asked_to_wait(
    api: AsyncClient, target: AsyncClient, stores: Stores, clock: FixedClock
) -> None:
    url = await a_url(api, stores, clock)

    answers = await asyncio.gather(*[target.post(f"{url}/progress") for _ in range(BURST + 1)])

    refused = [each for each in answers if each.status_code == 429]
    assert [each.headers["retry-after"] for each in refused] == ["1"]


async def test_requested_run_is_queued_behind_the_open_one(
    api: AsyncClient, target: AsyncClient, stores: Stores, clock: FixedClock
) -> None:
    url = await a_url(api, stores, clock)
    asked = (await api.post(f"{PATH}/import/run")).json()["endpoint"]
    assert (await claim(stores)).claims == ()
    assert asked["run_requested_at"] is not None

    await target.post(url)

    assert [each.trigger for each in (await claim(stores)).claims] == ["manual"]


async def test_dry_run_of_a_test_shows_the_callback_url_without_its_token(api: AsyncClient) -> None:
    await api.post(PATH, json=IMPORT)

    answer = await api.post(f"{PATH}/import/test", params={"dry_run": True})

    assert answer.json()["would_call"]["headers"] == [
        {"name": "Mainspring-Callback-Url", "value": "http://127.0.0.1:8080/callback/••••", "secret": True}
    ]


async def test_callback_is_refused_where_the_server_does_not_know_its_address(
    stores: Stores, clock: FixedClock
) -> None:
    settings = Settings(host="0.0.0.0", api_requests_per_minute=0, api_requests_per_minute_of_tenant=0)
    async with open_app(stores, clock, settings) as app, client_of(app) as api:
        answer = await api.post(PATH, json=IMPORT)

    assert fault(answer)[1] == (
        "completes callback is not possible: the address at which targets reach this server with their callbacks is "
        "not known; set MAINSPRING_PUBLIC_URL at the server and its workers"
    )


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"confirm": "3 within 20s"}, "confirm for 'import' has no effect"),
        ({"callback_timeout": "31d"}, "out of bounds; give 1s to 30d"),
        ({"completes": "sometime"}, "completes"),
        ({"kind": "heartbeat", "url": None, "method": None}, "completes belongs to kind http"),
    ],
)
async def test_combinations_without_a_meaning_are_refused(
    api: AsyncClient, fields: dict[str, object], error: str
) -> None:
    answer = await api.post(PATH, json={key: value for key, value in {**IMPORT, **fields}.items() if value is not None})

    assert answer.status_code == 422
    assert error in answer.text


@pytest.mark.parametrize(
    ("said", "query", "meant"),
    [
        ("progress", "percent=40", CallbackReport(ReportMeaning.PROGRESS, percent=40)),
        ("progress", "percent=140", CallbackReport(ReportMeaning.PROGRESS, percent=100)),
        ("progress", "percent=x&text=a", CallbackReport(ReportMeaning.PROGRESS, text="a")),
        ("progress/", "", CallbackReport(ReportMeaning.PROGRESS, text="from the body")),
        ("start", "", None),
        ("progress/x", "", None),
    ],
)
def test_query_and_body_describe_the_progress(said: str, query: str, meant: CallbackReport | None) -> None:
    body = Body(b"from the body") if meant is not None and meant.text == "from the body" else None
    assert read_report(said, query, body) == meant

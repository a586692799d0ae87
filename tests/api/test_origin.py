"""Pages of other sites cannot make a browser change anything."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from fastapi import FastAPI
from httpx2 import AsyncClient
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from mainspring.api.origin import OwnPagesOnly
from mainspring.api.server import WebServer
from mainspring.ports.accounts import ORIGIN
from mainspring.ports.stores import Stores
from mainspring.settings import Settings
from tests.api.people import SITE, Browser, a_key, a_user, open_door, program
from tests.stores.world import FixedClock

KEYS = "/api/v1/keys"
FOREIGN: dict[str, dict[str, str]] = {
    "no word of its origin": {},
    "a foreign origin": {"Origin": "https://evil.example"},
    "a foreign port": {"Origin": f"{SITE}:9999"},
    "a null origin": {"Origin": "null"},
    "an origin that looks like ours": {"Origin": f"{SITE}.evil.example"},
    "made by another site": {"Sec-Fetch-Site": "cross-site"},
    "made by a sibling site": {"Sec-Fetch-Site": "same-site"},
    "made by another site, with our origin": {"Sec-Fetch-Site": "cross-site", "Origin": SITE},
}
OURS: dict[str, dict[str, str]] = {
    "made by our pages": {"Sec-Fetch-Site": "same-origin"},
    "typed in": {"Sec-Fetch-Site": "none"},
    "of an old browser on our pages": {"Origin": SITE},
}


@pytest.fixture
async def app(stores: Stores, clock: FixedClock) -> AsyncIterator[FastAPI]:
    async with open_door(stores, clock) as made:
        yield made


@pytest.fixture
async def browser(app: FastAPI, stores: Stores) -> AsyncIterator[Browser]:
    await a_user(stores, is_operator=True)
    async with Browser(app) as opened:
        await opened.log_in()
        del opened.headers["Sec-Fetch-Site"]
        yield opened


def unsafe_routes(app: FastAPI) -> list[tuple[str, str]]:
    paths = app.openapi()["paths"].items()
    return [(method.upper(), path) for path, item in paths for method in item if method not in ("get", "head")]


@pytest.mark.parametrize("how", FOREIGN)
async def test_request_with_a_session_is_refused_on_every_unsafe_route(
    app: FastAPI, browser: Browser, stores: Stores, how: str
) -> None:
    for method, path in unsafe_routes(app):
        answer = await browser.request(method, path, json={"name": "x"}, headers=FOREIGN[how])
        assert (answer.status_code, answer.json()["type"]) == (403, "/problems/forbidden"), f"{method} {path}"

    assert await stores.credentials.api_keys("default") == []


@pytest.mark.parametrize("how", OURS)
async def test_request_of_our_own_pages_is_served(browser: Browser, how: str) -> None:
    answer = await browser.post(KEYS, json={"name": "x"}, headers=OURS[how])

    assert answer.status_code == 201


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "multipart/form-data", "text/plain"])
async def test_form_is_refused_even_from_our_own_pages(browser: Browser, stores: Stores, kind: str) -> None:
    headers = {"Content-Type": kind, "Sec-Fetch-Site": "same-origin"}
    answer = await browser.post(KEYS, content=b'{"name": "x"}', headers=headers)

    assert answer.status_code == 415
    assert await stores.credentials.api_keys("default") == []


async def test_foreign_page_cannot_log_a_browser_in(app: FastAPI, stores: Stores) -> None:
    await a_user(stores)
    async with Browser(app) as browser:
        browser.headers["Sec-Fetch-Site"] = "cross-site"
        answer = await browser.log_in()

    assert answer.status_code == 403


async def test_program_with_a_key_is_not_asked_where_it_comes_from(app: FastAPI, stores: Stores) -> None:
    async with program(app, await a_key(stores)) as client:
        answer = await client.post(KEYS, json={"name": "x"}, headers={"Origin": "https://elsewhere.example"})

    assert answer.status_code == 201


async def test_reading_is_served_whoever_made_the_browser_ask(browser: Browser) -> None:
    answer = await browser.get("/api/v1/members", headers={"Sec-Fetch-Site": "cross-site"})

    assert answer.status_code == 200
    assert "access-control-allow-origin" not in answer.headers
    assert "access-control-allow-credentials" not in answer.headers


async def test_public_url_is_an_origin_of_ours(stores: Stores, clock: FixedClock) -> None:
    await a_user(stores)
    settings = Settings(public_url="https://spring.example.com")
    async with open_door(stores, clock, settings) as app, Browser(app, site="https://127.0.0.1") as browser:
        await browser.log_in()
        del browser.headers["Sec-Fetch-Site"]
        answer = await browser.post(KEYS, json={"name": "x"}, headers={"Origin": "https://spring.example.com"})

    assert answer.status_code == 201


FORGED = ["203.0.113.9", "x" * 6_000, "127.0.0.1, 198.51.100.7", '"><script>', "203.0.113.9:80", ""]


@pytest.mark.parametrize("trusted", [(), ("127.0.0.1",)], ids=["no proxy is listed", "this one is"])
@pytest.mark.parametrize("forged", FORGED, ids=["an address", "very long", "a list", "markup", "a port", "nothing"])
async def test_address_of_a_request_is_an_address_and_from_listed_proxies_alone(
    trusted: tuple[str, ...], forged: str
) -> None:
    """Through the real server: what the audit trail and the throttles see."""
    seen: list[str] = []

    async def note(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(ORIGIN.get())
        await Response(status_code=204)(scope, receive, send)

    ready = asyncio.Event()
    app = OwnPagesOnly(note)
    server = WebServer(app, "127.0.0.1", 0, lambda _: ready.set(), trusted_proxies=trusted)  # type: ignore[arg-type]  # any
    serving = asyncio.create_task(server.run())
    await ready.wait()
    async with AsyncClient(base_url=server.url) as client:
        await client.get("/", headers={"X-Forwarded-For": forged})
    server.stop()
    await serving
    server.close()

    if not trusted or not forged:
        assert seen == ["127.0.0.1"]
    else:
        assert len(seen[0]) <= 45
        assert seen[0] in ("203.0.113.9", "198.51.100.7", "")

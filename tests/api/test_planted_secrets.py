"""Five hundred secrets come in by every door that takes one; none can be read afterwards, at rest or in any answer."""

import base64
import os
import subprocess
from collections.abc import AsyncIterator
from urllib.parse import quote

import pytest
from fastapi import FastAPI
from httpx2 import AsyncClient

from mainspring.configuration.exporting import export_documents
from mainspring.domain.access import Principal, Scope
from mainspring.mcp.tool import Visit, answer
from mainspring.mcp.tools import TOOLS
from mainspring.ports.stores import Stores
from tests.api.acting import URL, Json
from tests.api.every import every_operation
from tests.api.people import Browser, a_key, a_user, at_the_desk, open_door, program
from tests.configuration.paper import apply
from tests.harness.postgres import find_binaries
from tests.stores.databases import file_of, is_sqlite
from tests.stores.world import FixedClock, run_slot

MARK = "Zq81canary"
FEWEST = 500
HEADERS = ("Authorization", "Cookie", "X-Api-Key", "X-Mine")


class Planted:
    """The secrets so far. Each that we choose begins with the mark, so that one search finds any of them."""

    def __init__(self) -> None:
        self.secrets: list[str] = []

    def new(self) -> str:
        self.secrets.append(f"{MARK}{len(self.secrets):05d}x")
        return self.secrets[-1]

    def given(self, secret: str) -> None:
        self.secrets.append(secret)

    def found_in(self, data: bytes) -> list[str]:
        """Which of them lie there as they are, or in base64, hexadecimal or percent encoding."""
        marks = [form(MARK) for form in (str.encode, _hex, _percent)]
        if any(mark in data for mark in marks):
            return [MARK]
        forms = [(secret, form(secret)) for secret in self.secrets for form in (str.encode, _base64)]
        return [secret for secret, form in forms if form in data]


def _hex(text: str) -> bytes:
    return text.encode().hex().encode()


def _percent(text: str) -> bytes:
    return "".join(f"%{byte:02X}" for byte in text.encode()).encode()


def _base64(text: str) -> bytes:
    return base64.b64encode(text.encode()).rstrip(b"=")[:-1]  # the last character also holds what follows


@pytest.fixture
async def door(stores: Stores, clock: FixedClock) -> AsyncIterator[FastAPI]:
    async with open_door(stores, clock) as app:
        yield app


async def test_five_hundred_secrets_are_nowhere_once_they_are_in(
    door: FastAPI, stores: Stores, store_url: str, clock: FixedClock, capfd: pytest.CaptureFixture[str]
) -> None:
    planted = Planted()
    key = await a_key(stores, is_operator=True)
    planted.given(key.rpartition("_")[0].rpartition("_")[2])
    async with program(door, key) as api:
        await by_requests(api, planted)
        await by_documents(stores, planted)
        told = await by_an_assistant(door, stores, planted)
        await by_people(door, stores, planted)
        await run_slot(stores, clock)
        answers = told + await everything_told(door, stores, api)
    said = capfd.readouterr()

    assert len(set(planted.secrets)) >= FEWEST
    assert planted.found_in(answers) == []
    assert planted.found_in(f"{said.out}{said.err}".encode()) == []
    assert planted.found_in(at_rest(store_url)) == []


async def test_the_search_would_find_a_secret_in_any_form() -> None:
    planted = Planted()
    ours = planted.new()
    planted.given("whsec_c29tZSBzZWNyZXQ")
    forms = (ours, ours.encode().hex(), quote(ours), base64.b64encode(ours.encode()).decode(), "whsec_c29tZSBzZWNyZXQ")

    assert [bool(planted.found_in(f"before {form} after".encode())) for form in forms] == [True] * 5
    assert planted.found_in(b"nothing of that kind") == []


async def by_requests(api: AsyncClient, planted: Planted) -> None:
    """Headers of new and edited endpoints, targets of alerts, and all that is shown once."""
    for number in range(70):
        headers = [{"name": name, "value": planted.new(), "secret": name == "X-Mine"} for name in HEADERS]
        wish = {"name": f"api {number}", "url": URL, "interval_ms": "1h", "headers": headers}
        assert (await api.post("/api/v1/endpoints", json=wish)).status_code == 201
    for number in range(20):
        headers = [{"name": "Authorization", "value": planted.new()}, {"name": "X-Mine", "secret": True}]
        edited = await api.patch(f"/api/v1/endpoints/api {number}", json={"headers": headers})
        assert edited.status_code == 200, edited.text
    for number in range(5):
        to = [f"https://example.com/hook/{planted.new()}?token={planted.new()}" for _ in range(5)]
        assert (await api.post("/api/v1/alerts", json={"name": f"alert {number}", "to": to})).status_code == 201
    for number in range(20):
        key = await made_once(api, number, "keys", {"name": f"key {number}", "scopes": ["read"]})
        signing_key = await made_once(api, number, "signing-keys", None)
        webhook = await made_once(api, number, "webhooks", {"url": URL, "name": f"hook {number}"})
        user = await made_once(api, number, "users", {"email": f"user{number}@example.com"})
        for secret in (key["key"], signing_key["secret"], webhook["secret"], user["link"].rpartition("=")[2]):
            planted.given(secret)


async def made_once(api: AsyncClient, number: int, path: str, wish: Json | None) -> Json:
    """With an Idempotency-Key: the answer that is kept for it holds the secret, too."""
    made = await api.post(f"/api/v1/{path}", json=wish, headers={"Idempotency-Key": f"{path}-{number}"})
    assert made.status_code == 201, made.text
    return dict(made.json())


async def by_documents(stores: Stores, planted: Planted) -> None:
    environment = {f"SECRET_{number}": planted.new() for number in range(50)}
    entries = [
        f"  doc {number}: {{url: '{URL}', every: 1h, headers: {{X-Key: '${{env:SECRET_{number}}}'}}}}"
        for number in range(50)
    ]
    await apply(at_the_desk(stores), "\n".join(("endpoints:", *entries, "")), environment=environment)


async def by_an_assistant(door: FastAPI, stores: Stores, planted: Planted) -> bytes:
    """What the tools answered on the way."""
    principal = Principal("default", "key:assistant", frozenset(Scope))
    visit = Visit(at_the_desk(stores), door.state.context.caller, principal.scopes)
    told = []
    for number in range(10):
        secrets = {"Authorization": planted.new(), "X-Mine": planted.new()}
        wish = {"name": f"mcp {number}", "url": URL, "interval": "1h", "secret_headers": secrets}
        told.append(await answer(TOOLS, "create_endpoint", wish, principal, lambda: visit))
        told.append(await answer(TOOLS, "get_endpoint", {"endpoint": f"mcp {number}"}, principal, lambda: visit))
    told.append(await answer(TOOLS, "list_endpoints", {}, principal, lambda: visit))
    told.append(await answer(TOOLS, "list_events", {}, principal, lambda: visit))
    assert [each.content for each in told if each.is_error] == []
    return repr(told).encode()


async def by_people(door: FastAPI, stores: Stores, planted: Planted) -> None:
    """Passwords, right and wrong, and the tokens of sessions."""
    await a_user(stores, "ann@example.com")
    async with Browser(door) as browser:
        assert (await browser.log_in()).status_code == 200
        planted.given(next(iter(browser.cookies.values())))
        change = {"current": "correct horse battery staple", "password": f"{planted.new()} and more"}
        assert (await browser.post("/api/v1/auth/password", json=change)).status_code == 200
        planted.given(next(iter(browser.cookies.values())))
    async with Browser(door) as browser:
        assert (await browser.log_in(password=f"{planted.new()} is wrong")).status_code == 401


async def everything_told(door: FastAPI, stores: Stores, api: AsyncClient) -> bytes:
    """Every list and every page of the API with the first endpoint, and an export."""
    endpoint = (await api.get("/api/v1/endpoints/api 0")).json()
    (alert, *_) = (await api.get("/api/v1/alerts")).json()["items"]
    ids = {"endpoint": endpoint["id"], "job": "default", "alert": alert["id"], "webhook": "hook 0"}
    answers = [await each.send(api, ids) for each in every_operation(door) if each.method == "get"]
    answers += [await api.get(f"/api/v1/{path}?limit=200") for path in ("endpoints", "events", "audit", "runs")]
    exported = await export_documents(at_the_desk(stores))
    return b"".join(each.content for each in answers) + repr(exported).encode()


def at_rest(url: str) -> bytes:
    """The SQLite file with its log; a dump of the PostgreSQL database."""
    if is_sqlite(url):
        return b"".join(path.read_bytes() for path in sorted(file_of(url).parent.iterdir()))
    dump = [str(find_binaries() / "pg_dump"), "--enable-row-security", "--inserts", f"--dbname={url}"]
    environment = {**os.environ, "PGOPTIONS": "-c mainspring.tenant=*"}
    done = subprocess.run(dump, capture_output=True, check=True, env=environment)
    assert b"INSERT INTO public.endpoint" in done.stdout
    return done.stdout

"""Five hundred secrets come in by every door that takes one; none can be read afterwards, at rest or in any answer."""

import asyncio
import base64
import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from urllib.parse import quote

import pytest
from fastapi import FastAPI
from httpx2 import AsyncClient

from mainspring.api.server import WebServer
from mainspring.cli.settings import setting_rows
from mainspring.documents.export import export_documents
from mainspring.documents.faults import InvalidDocument
from mainspring.domain.access.scope import Principal, Scope
from mainspring.domain.errors import Misconfigured
from mainspring.domain.run import Outcome, Request, RunStatus
from mainspring.domain.schedule.cron import CRON
from mainspring.mcp.tool import ToolCaller, answer
from mainspring.mcp.tools import TOOLS
from mainspring.observe import Metrics
from mainspring.operations.endpoints import find_endpoint
from mainspring.outbound.language_model import open_model
from mainspring.outbound.mail import read_server
from mainspring.outbound.oidc import OidcIssuer
from mainspring.ports.stores import Stores
from mainspring.settings import Settings
from mainspring.wiring.clock import TimeOrderedIds
from mainspring.workers.analyst import Analyst, AnalystOptions
from mainspring.workers.dispatcher import Dispatcher, DispatcherOptions
from mainspring.workers.effects.handlers import handlers_of
from mainspring.workers.planner import Planner
from tests.api.acting import URL, Json
from tests.api.every import BODIES, QUERIES, documented, every_operation
from tests.api.issuer import CLIENT_ID, LittleIssuer
from tests.api.people import Browser, a_key, a_user, at_the_desk, open_door, program
from tests.api.planted import Planted
from tests.documents.texts import apply
from tests.harness.postgres import find_binaries
from tests.mcp.examples import EXAMPLES, filled
from tests.peers.model_server import says, serving_models
from tests.peers.post_office import PostOffice
from tests.stores.databases import file_of, is_sqlite
from tests.stores.flow_world import a_ticker, tick
from tests.stores.world import FixedClock, an_outcome, run_slot
from tests.stores.world import told as until_told
from tests.workers.notices import open_newsroom

FEWEST = 500
HEADERS = ("Authorization", "Cookie", "X-Api-Key", "X-Mine")
NAMED = ("Authorization", "Cookie", "X-Api-Key", "X-Auth-Token")  # no words of ours are needed to see a secret
FOR_WORKFLOWS = ("workflows", "workflows/check", "workflows/simulate")
ECHOES = "name: echoes\nsteps:\n  - {id: a, call: {endpoint: echo}}\n  - {id: b, end: went}\n"


class NoPostman:
    async def send(self, to: str, title: str, text: str, message_id: str, *, sender: str, timeout_s: float) -> Outcome:
        raise AssertionError("nobody writes a letter here")


@pytest.fixture
def planted() -> Planted:
    return Planted()


@pytest.fixture
def issuer() -> Iterator[LittleIssuer]:
    with LittleIssuer() as running:
        yield running


@pytest.fixture
async def settings(planted: Planted) -> AsyncIterator[Settings]:
    """Every setting that holds a secret, with a mail server that refuses the password it is given."""
    async with PostOffice(extensions=("AUTH PLAIN",)) as post_office:
        post_office.answers["AUTH"] = "535 not you"
        yield Settings(
            database_url=f"postgresql://app:{planted.new()}@127.0.0.1:1/x?sslpassword={planted.new()}",
            secret_key=planted.new(),
            oidc_client_secret=planted.new(),
            smtp_url=f"smtp://post:{planted.new()}@127.0.0.1:{post_office.port}",
            workflow_lock=f"redis://:{planted.new()}@127.0.0.1:1/0",
            model_key=planted.new(),
            model_url=f"http://model:{planted.new()}@127.0.0.1:1/v1",
            allow_apprise=True,
            api_requests_per_minute=0,
            api_requests_per_minute_of_tenant=0,
        )


@pytest.fixture
async def door(stores: Stores, clock: FixedClock, settings: Settings, issuer: LittleIssuer) -> AsyncIterator[FastAPI]:
    adapter = OidcIssuer(issuer.url, CLIENT_ID, settings.oidc_client_secret)
    async with open_door(stores, clock, settings, adapter) as app:
        yield app


async def test_five_hundred_secrets_are_nowhere_once_they_are_in(
    door: FastAPI,
    stores: Stores,
    store_url: str,
    clock: FixedClock,
    planted: Planted,
    settings: Settings,
    issuer: LittleIssuer,
    capfd: pytest.CaptureFixture[str],
) -> None:
    key = await a_key(stores, is_operator=True)
    planted.given(key.rpartition("_")[0].rpartition("_")[2])
    async with program(door, key) as api:
        await by_requests(api, planted)
        await by_documents(stores, planted)
        told = await by_an_assistant(door, stores, planted)
        await by_people(door, stores, planted)
        await by_receivers(api, planted)
        told += await by_an_issuer(door, issuer)
        told += await by_an_echo(door, stores, clock, api, planted)
        told += await by_mistakes(api, stores, planted)
        told += await to_a_model(stores, settings)
        told += repr(setting_rows(settings)).encode()
        told += await by_workers(door, stores, clock, api, planted)
        answers = told + await everything_told(door, stores, api) + await everything_streamed(door, key)
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
    """Headers and query strings of new and edited endpoints, targets of alerts, and all that is shown once."""
    for number in range(70):
        headers = [{"name": name, "value": planted.new(), "secret": name == "X-Mine"} for name in HEADERS]
        url = f"{URL}?token={planted.new()}&{planted.new()}=1#{planted.new()}"
        wish = {"name": f"api {number}", "url": url, "every": "1h", "headers": headers}
        assert (await api.post("/api/v1/endpoints", json=wish)).status_code == 201
    for number in range(20):
        headers = [{"name": "Authorization", "value": planted.new()}, {"name": "X-Mine", "secret": True}]
        change = {"headers": headers, "url": f"{URL}?token={planted.new()}"}
        for dry_run in ("true", "false"):
            edited = await api.patch(f"/api/v1/endpoints/api {number}?dry_run={dry_run}", json=change)
            assert edited.status_code == 200, edited.text
            assert planted.found_in(edited.content) == []
    for number in range(5):
        to = [f"https://example.com/hook/{planted.new()}?token={planted.new()}" for _ in range(5)]
        assert (await api.post("/api/v1/alerts", json={"name": f"alert {number}", "to": to})).status_code == 201
    for number in range(5):
        door = {"name": f"door {number}", "base_url": URL, "auth": "header", "header": "X-Key", "secret": planted.new()}
        assert (await api.post("/api/v1/connections", json=door)).status_code == 201
        edited = await api.patch(f"/api/v1/connections/door {number}", json={"secret": planted.new()})
        assert (edited.json()["secret"], planted.found_in(edited.content)) == ("••••", [])
    for _ in range(5):
        call = {"url": f"{URL}?token={planted.new()}", "headers": [{"name": "Authorization", "value": planted.new()}]}
        placed = await api.post("/api/v1/calls", json={"calls": [{**call, "at": "in 10d"}]})
        assert (placed.status_code, planted.found_in(placed.content)) == (201, []), placed.text
    for path, name in (("maintenance", "create_maintenance"), ("calendars", "create_calendar")):
        assert (await api.post(f"/api/v1/{path}", json=BODIES[name])).status_code == 201
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
    queries = {f"QUERY_{number}": planted.new() for number in range(50)}
    entries = [
        f"  doc {number}: {{url: '{URL}?a=${{env:QUERY_{number}}}&b={planted.new()}', every: 1h, "
        f"headers: {{X-Key: '${{env:SECRET_{number}}}'}}}}"
        for number in range(50)
    ]
    environment |= queries
    await apply(at_the_desk(stores), "\n".join(("endpoints:", *entries, "")), environment=environment)


async def by_an_assistant(door: FastAPI, stores: Stores, planted: Planted) -> bytes:
    """What the tools answered on the way."""
    principal = Principal("default", "key:assistant", frozenset(Scope))
    visit = ToolCaller(at_the_desk(stores), door.state.context.caller, principal.scopes)
    told = []
    for number in range(10):
        secrets = {"Authorization": planted.new(), "X-Mine": planted.new()}
        url = f"{URL}?token={planted.new()}"
        wish = {"name": f"mcp {number}", "url": url, "every": "1h", "secret_headers": secrets}
        told.append(await answer(TOOLS, "create_endpoint", wish, principal, lambda: visit))
        told.append(await answer(TOOLS, "get_endpoint", {"endpoint": f"mcp {number}"}, principal, lambda: visit))
    told.append(await answer(TOOLS, "list_endpoints", {}, principal, lambda: visit))
    told.append(await answer(TOOLS, "list_events", {}, principal, lambda: visit))
    assert [each.content for each in told if each.is_error] == []
    for broken in ([planted.new()], {"Authorization": [planted.new()]}, {"X": f"{planted.new()}\n"}):
        wish = {"name": "broken", "url": URL, "every": "1h", "secret_headers": broken}
        told.append(await answer(TOOLS, "create_endpoint", wish, principal, lambda: visit))
        assert told[-1].is_error
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


async def by_receivers(api: AsyncClient, planted: Planted) -> None:
    """Webhooks with a token in their address; alerts by mail, and through apprise with passwords and tokens."""
    for number in range(5):
        wish = {"url": f"{URL}?token={planted.new()}", "name": f"token {number}"}
        assert (await api.post("/api/v1/webhooks", json=wish)).status_code == 201
        edited = await api.patch(f"/api/v1/webhooks/token {number}", json={"url": f"{URL}?token={planted.new()}"})
        assert edited.json()["url"] == f"{URL}?••••"
    ways = [f"json://ann:{planted.new()}@127.0.0.1:1/{planted.new()}?token={planted.new()}", "ops@example.com"]
    made = await api.post("/api/v1/alerts", json={"name": "everywhere", "to": ways})
    assert made.status_code == 201, made.text
    tried = (await api.post("/api/v1/alerts/everywhere/test")).json()
    assert [way["ok"] for way in tried["ways"]] == [False, False]
    assert "refused user or password" in tried["ways"][1]["error"]


async def by_an_issuer(door: FastAPI, issuer: LittleIssuer) -> bytes:
    """A login that the issuer refuses, because our secret there is not the one it knows."""
    async with Browser(door) as browser:
        begun = await browser.get("/api/v1/auth/oidc/login")
        ended = await browser.get(issuer.log_in(begun.headers["location"]))
    assert (ended.status_code, ended.headers["location"]) == (303, "/login")
    return begun.content + ended.content + repr((begun.headers, ended.headers)).encode()


@asynccontextmanager
async def an_echo() -> AsyncIterator[str]:
    """A target that answers with what it was sent."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + head)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"


async def by_an_echo(door: FastAPI, stores: Stores, clock: FixedClock, api: AsyncClient, planted: Planted) -> bytes:
    """What a target says after our secrets is stored, shown and told to a model."""
    headers = [{"name": name, "value": planted.new(), "secret": True} for name in HEADERS]
    async with an_echo() as url:
        asked = f"{url}?token={planted.new()}&{planted.new()}=1"
        wish = {"name": "echo", "url": asked, "every": "1h", "headers": headers}
        checked = await api.post("/api/v1/endpoints/check", json=wish)
        assert "x-mine" in checked.text.lower()
        assert (await api.post("/api/v1/endpoints", json=wish)).status_code == 201
        endpoint = await find_endpoint(at_the_desk(stores), "echo")
        request = Request("default", endpoint.id, "msg_1", clock.now(), 1, endpoint.action)
        outcome = await door.state.context.caller.call(request)
        hook = {"url": f"{url}hook?token={planted.new()}", "name": "echo"}
        alert = {"name": "echo", "to": [f"{url}services/{planted.new()}?key={planted.new()}&room=1"]}
        for path, told in (("webhooks", hook), ("alerts", alert)):
            assert (await api.post(f"/api/v1/{path}", json=told)).status_code == 201
        tried = [await api.post(f"/api/v1/{path}/echo/test") for path in ("webhooks", "alerts")]
    assert all("[redacted]" in answer.text for answer in tried), [answer.text for answer in tried]
    assert b"X-Mine" in outcome.body.data
    assert (await api.post("/api/v1/endpoints/echo/run")).status_code == 202
    assert await run_slot(stores, clock, outcome)
    return b"".join(answer.content for answer in (checked, *tried))


async def by_mistakes(api: AsyncClient, stores: Stores, planted: Planted) -> bytes:
    """Secrets in wishes that are refused: what is said about them says nothing of them."""

    def header(value: object) -> Json:
        return {"name": "broken", "url": URL, "every": "1h", "headers": [{"name": "X-Key", "value": value}]}

    wishes: list[tuple[str, object]] = [
        ("endpoints", header(f"{planted.new()}\r\nHost: x")),
        ("endpoints", header([planted.new()])),
        ("endpoints", header(planted.new()) | {"every": "soon"}),
        ("endpoints", header("x") | {"url": f"http://ann:{planted.new()}@example.com/"}),
        ("endpoints", header("x") | {"url": f"https://example.com:99999/?token={planted.new()}"}),
        ("endpoints", header("x") | {"url": f"ftp://example.com/?token={planted.new()}"}),
        ("endpoints", header("x") | {"url": f"https://example.com/ x?token={planted.new()}"}),
        ("endpoints/check", header("x") | {"url": f"https://example.com:99999/?token={planted.new()}"}),
        ("webhooks", {"url": f"https://ann:{planted.new()}@example.com/"}),
        ("connections", {"name": "x", "base_url": URL, "auth": "header", "header": "Host", "secret": planted.new()}),
        ("webhooks", {"url": f"https://example.com:99999/?token={planted.new()}"}),
        ("webhooks", {"url": f"ftp://example.com/?token={planted.new()}"}),
        ("alerts", {"name": "a", "to": [f"https://ann:{planted.new()}@example.com/"]}),
        ("alerts", {"name": "a", "to": [f"nonsense://{planted.new()}"]}),
        ("alerts", {"name": "a", "to": [f"https://example.com:99999/?token={planted.new()}"]}),
        ("config/apply", {"document": f"endpoints: {{a: {{url: 'ftp://x.example/?t={planted.new()}', every: 1h}}}}"}),
        ("config/apply", {"document": f"endpoints: {{a: {{headers: {{X-Key: {planted.new()}}}, evry: 1h}}}}"}),
        ("config/apply", {"document": "endpoints: {}", "references": {"env:KEY": [planted.new()]}}),
        *((path, {"document": text}) for text in workflows_with(planted) for path in FOR_WORKFLOWS),
        ("config/apply", {"document": f"workflows: {{w: {{steps: [{calling_with(planted)}]}}}}"}),
    ]
    refused = [await api.post(f"/api/v1/{path}", json=wish) for path, wish in wishes]
    assert [answer.status_code for answer in refused] == [422] * len(wishes), [answer.text for answer in refused]
    said = [answer.text for answer in refused]
    text = "webhooks: {a: {url: 'https://example.com:99999/?token=${env:KEY}', secret: '${env:KEY}'}}"
    with pytest.raises(InvalidDocument) as broken:
        await apply(at_the_desk(stores), text, environment={"KEY": planted.new()})
    referring = "workflows: {w: {steps: [{id: a, call: {url: 'https://x.example/', headers: {X-Mine: '${env:KEY}'}}}]}}"
    with pytest.raises(InvalidDocument) as unresolved:
        await apply(at_the_desk(stores), referring, environment={"KEY": planted.new()})
    with pytest.raises(Misconfigured) as misconfigured:
        read_server(f"ftp://ann:{planted.new()}@example.com")
    told = (broken.value.in_full(), unresolved.value.in_full(), str(misconfigured.value))
    return "".join((*said, str(broken.value), *told)).encode()


def workflows_with(planted: Planted) -> list[str]:
    """Documents with a secret in a call, wherever one could be kept."""
    named = [f"{{id: a, call: {{url: 'https://x.example/', headers: {{{name}: {planted.new()}}}}}}}" for name in NAMED]
    addressed = [
        f"{{id: a, call: {{url: 'https://ann:{planted.new()}@{host}/'}}}}" for host in ("x.example", "{{ 1 }}")
    ]
    return [f"name: w\nsteps: [{step}]\n" for step in (*named, *addressed, calling_with(planted))]


def calling_with(planted: Planted) -> str:
    """A step with several secrets in one line, and another fault."""
    headers = ", ".join(f"{name}: {planted.new()}" for name in NAMED)
    return f"{{id: a, call: {{url: 'https://ann:{planted.new()}@x.example/', headers: {{{headers}}}}}, nxt: b}}"


async def to_a_model(stores: Stores, settings: Settings) -> bytes:
    """Everything that a session about the endpoint with the echo sends to its model."""
    desk = at_the_desk(stores)
    endpoint = await find_endpoint(desk, "echo")
    done = ("submit_analysis", {"reasoning": "all is well", "confidence": "high", "next_analysis_in_ms": 600_000})
    reads: list[tuple[str, Json]] = [
        (tool, {}) for tool in ("get_latest_response", "get_response_history", "get_sibling_latest_responses")
    ]
    with serving_models(says("openai", *reads), says("openai", done)) as server:
        model = open_model("openai:small", server.model_url("openai"), settings.model_key)
        session = await Analyst(stores, model, desk.vault, TimeOrderedIds(), CRON, AnalystOptions("a")).look(endpoint)
    assert session is not None
    assert [call.tool for call in session.detail.tool_calls] == [tool for tool, _ in reads]
    assert "X-Mine" in repr(server.requests)
    return repr(server.requests).encode()


async def by_workers(door: FastAPI, stores: Stores, clock: FixedClock, api: AsyncClient, planted: Planted) -> bytes:
    """What workers send to those who answer with its token; and a workflow that runs the endpoint with the echo."""
    context = door.state.context
    async with an_echo() as url:
        for path, wish in (
            ("webhooks", {"url": f"{url}hook?token={planted.new()}", "name": "worked", "types": ["workflow"]}),
            ("alerts", {"name": "worked", "kinds": ["failing"], "failures": 1, "to": [f"{url}say/{planted.new()}"]}),
        ):
            assert (await api.post(f"/api/v1/{path}", json=wish)).status_code == 201
        headers = [{"name": name, "value": planted.new(), "secret": True} for name in HEADERS]
        moved = {
            "url": f"{url}?token={planted.new()}",
            "headers": headers,
        }  # another origin: secrets are asked for again
        assert (await api.patch("/api/v1/endpoints/echo", json=moved)).status_code == 200
        rule = {"endpoint": "echo", "rule": {"when": "body.depth > 10", "interval": "30s"}}
        assert (await api.post("/api/v1/rules", json=rule)).status_code == 201
        assert (await api.post("/api/v1/workflows", json={"document": ECHOES})).status_code == 201
        assert (await api.post("/api/v1/workflows/echoes/start", json={"correlation": "a"})).status_code == 201
        ticker, vault = a_ticker(stores), context.desk("default", "d").vault
        errands = handlers_of(stores, context.caller, NoPostman(), TimeOrderedIds(), vault, "d", frozenset())
        await tick(ticker, clock)
        assert await Dispatcher(stores.flows.effects, errands, DispatcherOptions("d"), Metrics()).run_once() == 1
        await tick(ticker, clock)
        asks = {"endpoint": "api 0", "rule": {"when": "!ok", "interval": "30s"}}
        assert (await api.post("/api/v1/rules", json=asks)).status_code == 201
        assert (await api.put("/api/v1/endpoints/api 0/planner-mode", json={"mode": "ask"})).status_code == 200
        assert (await api.post("/api/v1/endpoints/api 0/run")).status_code == 202
        assert await run_slot(stores, clock, an_outcome(RunStatus.FAILURE))
        planner = Planner(stores.planner, Metrics(), "p")
        while await planner.run_once():
            pass
        await until_told(stores)
        async with open_newsroom(stores, clock) as room:
            while await room.round():
                pass
    read = [await api.get(f"/api/v1/{path}/worked/deliveries") for path in ("webhooks", "alerts")]
    assert ["[redacted]" in answer.text for answer in read] == [True, True], [answer.text for answer in read]
    return b"".join(answer.content for answer in read)


async def everything_told(door: FastAPI, stores: Stores, api: AsyncClient) -> bytes:
    """What every read of the API answers about something that is there, all lists in full, and an export."""

    async def first(path: str) -> str:
        return str((await api.get(f"/api/v1/{path}")).json()["items"][0]["id"])

    endpoint = (await api.get("/api/v1/endpoints/echo")).json()["id"]
    ids = {
        "connection": await first("connections"),
        "endpoint": endpoint,
        "job": "default",
        "alert": "worked",
        "webhook": "worked",
        "delivery": await first("webhooks/worked/deliveries"),
        "call": await first("calls"),
        **{"window": await first("maintenance"), "calendar": await first("calendars")},
        "run": await first(f"runs?endpoint={endpoint}&status=success"),
        "session": await first("sessions"),
        "rule_id": await first("rules"),
        "proposal": await first("proposals"),
        "workflow": "echoes",
        "version": "1",
        "execution": await first("executions"),
        "user": await first("users"),
        "tenant": "default",
        "scenario": "flash-sale",
    }
    reads = [each for each in every_operation(door) if each.method == "get"]
    answers = {each.id: await each.send(api, ids) for each in reads}
    refused = {name: answer.text for name, answer in answers.items() if answer.status_code != 200}
    assert refused.keys() == {"list_login_sessions", "read_second_factor", "list_passkeys"}  # of users, not of keys
    lists = [each.path for each in reads if not each.in_path and "limit" in each.in_query and each.id not in QUERIES]
    full = [await api.get(f"{path}?limit=50") for path in lists]
    full += [await api.get(f"/api/v1/{path}?limit=200") for path in ("endpoints", "events", "audit", "runs")]
    assert {answer.status_code for answer in full} == {200}
    exported = await export_documents(at_the_desk(stores))
    shown = await everything_shown_to_an_assistant(door, stores, ids)
    return b"".join(each.content for each in (*answers.values(), *full)) + repr((exported, shown)).encode()


async def everything_shown_to_an_assistant(door: FastAPI, stores: Stores, ids: dict[str, str]) -> list[object]:
    principal = Principal("default", "key:assistant", frozenset(Scope))
    visit = ToolCaller(at_the_desk(stores), door.state.context.caller, principal.scopes)
    shown = []
    for name in (name for name, tool in TOOLS.items() if tool.scope is Scope.READ):
        asked = filled(EXAMPLES[name], id=ids["execution" if "execution" in name else "endpoint"], run=ids["run"])
        shown.append(await answer(TOOLS, name, asked, principal, lambda: visit))
    assert len(shown) > 5
    assert [each.content for each in shown if each.is_error] == []
    return [each.content for each in shown]


async def everything_streamed(door: FastAPI, key: str) -> bytes:
    """All events from the first to the last, as each stream of the document tells them over a real connection."""
    streams = [each.path for each in documented(door) if each.is_stream]
    assert streams == ["/api/v1/events/stream"]
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    feed = door.state.context.feed
    web = WebServer(door, "127.0.0.1", 0, ready.set_result, feed.stop)
    serving = asyncio.gather(web.run(), feed.run())
    read = b""
    async with AsyncClient(base_url=await ready, headers={"Authorization": f"Bearer {key}"}, timeout=60) as client:
        first, last = [
            (await client.get(f"/api/v1/events?limit=1&start={start}")).json()["items"][0]["cursor"]
            for start in ("oldest", "newest")
        ]
        async with client.stream("GET", f"{streams[0]}?cursor={first}") as answer, asyncio.timeout(60):
            assert answer.status_code == 200
            async for part in answer.aiter_bytes():
                read += part
                if f"id: {last}".encode() in read:
                    break
    web.stop()
    await serving
    web.close()
    return read


def at_rest(url: str) -> bytes:
    """The SQLite file with its log; a dump of the PostgreSQL database."""
    if is_sqlite(url):
        return b"".join(path.read_bytes() for path in sorted(file_of(url).parent.iterdir()))
    dump = [str(find_binaries() / "pg_dump"), "--enable-row-security", "--inserts", f"--dbname={url}"]
    environment = {**os.environ, "PGOPTIONS": "-c mainspring.tenant=*"}
    done = subprocess.run(dump, capture_output=True, check=True, env=environment)
    assert b"INSERT INTO public.endpoint" in done.stdout
    return done.stdout

"""Who may do what: scopes, tenants, keys that end, sessions that belong to one key, pages of other sites."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from mainspring.domain.access.scope import Principal, Scope
from mainspring.mcp import transports
from mainspring.mcp.tools import TOOLS
from mainspring.mcp.transports import SESSIONS_OF_KEY_MAX
from mainspring.operations.endpoints import add_endpoint
from mainspring.ports.endpoints import EndpointFilter
from mainspring.ports.records import RunFilter
from mcp import MCPError
from tests.harness.waiting import until_true
from tests.mcp.conftest import HEALTH, Assistant, House
from tests.mcp.examples import EXAMPLES, filled
from tests.stores.world import FixedClock, run_slot, told

NAMES_NOTHING = {"call_later", "create_endpoint", "check_endpoint", "list_endpoints", "list_events", "list_jobs"}


def test_every_tool_is_tried() -> None:
    assert EXAMPLES.keys() == TOOLS.keys()


@pytest.mark.parametrize("scope", Scope)
async def test_scope_allows_its_tools_and_no_other(house: House, clock: FixedClock, scope: Scope) -> None:
    endpoint = await add_endpoint(house.desk(), HEALTH)
    house.keys["narrow"] = Principal("default", "key:narrow", frozenset({scope}))
    allowed = [name for name, tool in TOOLS.items() if tool.scope is scope]

    async with house.assistant("narrow") as assistant:
        listed = [tool.name for tool in (await assistant.client.list_tools()).tools]
        refusals = {
            name: await assistant.ask(name, filled(arguments, id=endpoint.id, run="run_x"))
            for name, arguments in EXAMPLES.items()
            if name not in allowed
        }

    assert listed == allowed
    for name, refusal in refusals.items():
        assert refusal.message == (
            f"this needs the scope {TOOLS[name].scope}, and key:narrow has {scope}; use a key or an account that has it"
        )
    assert await house.stores.endpoints.endpoints("default", EndpointFilter()) == [endpoint]


async def test_id_of_another_tenant_is_as_unknown_as_any(house: House, clock: FixedClock) -> None:
    endpoint = await add_endpoint(house.desk(), HEALTH)
    (claim,) = await run_slot(house.stores, clock)
    before = await _everything(house)

    async with house.assistant("key-b") as stranger:
        for tool in EXAMPLES.keys() - NAMES_NOTHING:
            theirs = await stranger.ask(tool, filled(EXAMPLES[tool], id=endpoint.id, run=claim.run_id))
            none = await stranger.ask(tool, filled(EXAMPLES[tool], id="ep_random", run="run_random"))
            hidden = theirs.text.replace(endpoint.id, "ep_random").replace(claim.run_id, "run_random")
            assert theirs.is_error, tool
            assert hidden == none.text, tool

    assert await _everything(house) == before


async def test_lists_show_nothing_of_another_tenant(house: House, clock: FixedClock) -> None:
    await add_endpoint(house.desk(), HEALTH)
    await run_slot(house.stores, clock)
    await told(house.stores)

    async with house.assistant("key-b") as stranger:
        seen = [await stranger(name) for name in ("list_endpoints", "list_runs", "list_events", "get_executions")]
        jobs = await stranger("list_jobs")

    assert seen == [
        {"endpoints": [], "next": None},
        {"runs": [], "next": None},
        {"events": [], "next": None},
        {"workflows": [], "executions": [], "next": None},
    ]
    assert jobs["jobs"] == []


async def test_what_an_assistant_does_is_done_by_its_key(house: House, assistant: Assistant) -> None:
    await assistant("create_endpoint", name="h", url="https://example.com/", every="1m")

    assert {event.actor for event in await told(house.stores)} == {"key:a"}


async def test_revoked_key_is_refused_at_once(house: House) -> None:
    async with house.assistant("key-a", mode="legacy") as assistant:
        await assistant("list_jobs")
        del house.keys["key-a"]

        with pytest.raises(MCPError):
            await assistant("list_jobs")

        house.keys["key-a"] = Principal("default", "key:a", frozenset(Scope))  # so that it can say goodbye


HELLO: dict[str, Any] = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "hand", "version": "1"}},
}  # fmt: skip


@asynccontextmanager
async def opened_session(house: House) -> AsyncIterator[tuple[httpx2.AsyncClient, dict[str, str]]]:
    """A session of key A, by hand: what a client sends, header by header."""
    async with httpx2.AsyncClient(timeout=60) as http:
        headers = {"Authorization": "Bearer key-a", "Accept": "application/json, text/event-stream"}
        answer = await http.post(house.url, json=HELLO, headers=headers)
        assert answer.status_code == 200
        yield http, headers | {"Mcp-Session-Id": answer.headers["mcp-session-id"]}


LIST: dict[str, Any] = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}


@pytest.mark.parametrize("key", ["key-b", "key-a2"])
async def test_session_does_not_exist_for_another_key(house: House, key: str) -> None:
    async with opened_session(house) as (http, headers):
        own = await http.post(house.url, json=LIST, headers=headers)
        other = await http.post(house.url, json=LIST, headers=headers | {"Authorization": f"Bearer {key}"})
        none = await http.post(house.url, json=LIST, headers=headers | {"Mcp-Session-Id": "0" * 32})
        ended = await http.delete(house.url, headers=headers | {"Authorization": f"Bearer {key}"})
        still = await http.post(house.url, json=LIST, headers=headers)

    assert [own.status_code, other.status_code, ended.status_code, still.status_code] == [200, 404, 404, 200]
    assert (other.status_code, other.content) == (none.status_code, none.content)


NO_ENTRY: dict[str, tuple[dict[str, str], int]] = {
    "no key": ({}, 401),
    "an unknown key": ({"Authorization": "Bearer nope"}, 401),
    "another scheme": ({"Authorization": "Basic a2V5LWE6"}, 401),
    "a cookie": ({"Cookie": "__Host-session=key-a"}, 401),
    "a page of another site": ({"Authorization": "Bearer key-a", "Origin": "https://evil.example"}, 403),
    "a page without a site": ({"Authorization": "Bearer key-a", "Origin": "null"}, 403),
    "a page of another port": ({"Authorization": "Bearer key-a", "Origin": "http://127.0.0.1:1"}, 403),
}


@pytest.mark.parametrize("headers", NO_ENTRY)
async def test_request_is_refused_with(house: House, headers: str) -> None:
    given, status = NO_ENTRY[headers]
    accept = {"Accept": "application/json, text/event-stream"}
    async with httpx2.AsyncClient(timeout=60) as http:
        answer = await http.post(house.url, json=LIST, headers=accept | given)

    assert answer.status_code == status
    assert answer.json()["error"]["message"]
    assert ("www-authenticate" in answer.headers) == (status == 401)


async def test_page_of_this_server_may_ask(house: House) -> None:
    async with opened_session(house) as (http, headers):
        origin = {"Origin": house.url.removesuffix("/mcp")}
        assert (await http.post(house.url, json=LIST, headers=headers | origin)).status_code == 200


async def _everything(house: House) -> tuple[object, ...]:
    endpoints = await house.stores.endpoints.endpoints("default", EndpointFilter())
    runs = await house.stores.runs.runs("default", RunFilter())
    return endpoints, runs, await told(house.stores)


async def test_one_key_leaves_sessions_to_the_others(house: House) -> None:
    async def opened(http: httpx2.AsyncClient, key: str) -> httpx2.Response:
        headers = {"Authorization": f"Bearer {key}", "Accept": "application/json, text/event-stream"}
        return await http.post(house.url, json=HELLO, headers=headers)

    async with httpx2.AsyncClient(timeout=60) as http:
        answers = [await opened(http, "key-a") for _ in range(SESSIONS_OF_KEY_MAX + 5)]
        other = await opened(http, "key-b")
        ended = {"Authorization": "Bearer key-a", "Mcp-Session-Id": answers[0].headers["mcp-session-id"]}
        await http.delete(house.url, headers=ended)
        again = await opened(http, "key-a")

    assert [answer.status_code for answer in answers] == [200] * SESSIONS_OF_KEY_MAX + [429] * 5
    assert answers[-1].headers["retry-after"] == "60"
    assert (other.status_code, again.status_code) == (200, 200)


async def test_session_without_requests_expires_and_gives_its_place_back(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transports, "IDLE_S", 0.2)
    monkeypatch.setattr(transports, "SESSIONS_OF_KEY_MAX", 1)
    headers = {"Authorization": "Bearer key-a", "Accept": "application/json, text/event-stream"}
    async with httpx2.AsyncClient(timeout=60, headers=headers) as http:
        first = await http.post(house.url, json=HELLO)
        session = {"Mcp-Session-Id": first.headers["mcp-session-id"]}

        async def is_opened() -> bool:
            return (await http.post(house.url, json=HELLO)).status_code == 200

        await until_true(is_opened, "the idle session expires, and another one may be opened")
        gone = await http.post(house.url, json={"jsonrpc": "2.0", "id": 2, "method": "tools/list"}, headers=session)

    assert first.status_code == 200
    assert gone.status_code == 404

"""A real MCP server on loopback over both databases, and real clients with the keys of two tenants."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from ipaddress import ip_network
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from mcp.client.streamable_http import streamable_http_client
from msgspec.structs import replace
from starlette.requests import Request
from starlette.routing import Route

from mainspring.api.server import WebServer
from mainspring.domain.access.scope import Principal, Scope
from mainspring.domain.endpoint import Tenant
from mainspring.domain.errors import NotAuthenticated
from mainspring.domain.kinds.command_policy import parse_commands
from mainspring.domain.schedule.cron import CRON
from mainspring.mcp.transports import WebDoor
from mainspring.operations.context import Desk
from mainspring.outbound.caller import KindCaller, callers_of
from mainspring.outbound.guard import AddressGuard
from mainspring.outbound.http import HttpCaller
from mainspring.outbound.kinds.dial import Dialer
from mainspring.outbound.templates import TemplateRenderer
from mainspring.outbound.vault import AesVault, KeyRing
from mainspring.ports.stores import Stores
from mainspring.wiring.clock import SystemClock, TimeOrderedIds
from mcp import Client
from tests.harness.config import a_config
from tests.kind_samples import COMMANDS
from tests.peers.hostile import HostilePeer
from tests.stores.databases import clock, shared_postgres_url, store_url, stores

__all__ = ["clock", "shared_postgres_url", "store_url", "stores"]

ALL = frozenset(Scope)
HEALTH = a_config("health", "https://example.com/health", interval_ms=60_000, spread=False)


class Answer:
    """What a tool answered."""

    def __init__(self, given: Any) -> None:
        self.is_error: bool = given.is_error
        self.content: Any = given.structured_content
        self.text: str = given.content[0].text

    @property
    def message(self) -> str:
        assert self.is_error, self.text
        return str(self.content["error"]["message"])


class Assistant:
    """A connected client."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def __call__(self, tool: str, **arguments: object) -> Any:
        """What the tool answered, given that it worked."""
        answer = await self.ask(tool, arguments)
        assert not answer.is_error, answer.text
        return answer.content

    async def refused(self, tool: str, **arguments: object) -> str:
        return (await self.ask(tool, arguments)).message

    async def ask(self, tool: str, arguments: dict[str, object]) -> Answer:
        return Answer(await self.client.call_tool(tool, arguments))


class House:
    """A served database; keys can be handed out and taken back."""

    def __init__(self, stores: Stores, url: str, keys: dict[str, Principal], vault: AesVault) -> None:
        self.stores = stores
        self.url = url
        self.keys = keys
        self.vault = vault

    def desk(self, tenant_id: str = "default", actor: str = "ada") -> Desk:
        return Desk(self.stores, tenant_id, actor, TimeOrderedIds(), self.vault, CRON)

    @asynccontextmanager
    async def assistant(self, key: str = "key-a", mode: str = "auto") -> AsyncIterator[Assistant]:
        headers = {"Authorization": f"Bearer {key}"}
        async with AsyncExitStack() as stack:
            http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=60))
            transport = streamable_http_client(self.url, http_client=http)
            yield Assistant(await stack.enter_async_context(Client(transport, mode=mode)))


@pytest.fixture
async def house(stores: Stores) -> AsyncIterator[House]:
    await stores.endpoints.put_tenant(Tenant("other", "other"))
    keys = {
        "key-a": Principal("default", "key:a", ALL),
        "key-a2": Principal("default", "key:a2", ALL),
        "key-b": Principal("other", "key:b", ALL),
    }
    vault = AesVault(KeyRing(bytes(32)))
    desk = Desk(stores, "default", "", TimeOrderedIds(), vault, CRON, commands=parse_commands(COMMANDS))
    guard, clock = AddressGuard((ip_network("127.0.0.0/8"),)), SystemClock().now
    others = callers_of(Dialer(guard, clock=clock), vault)
    caller = KindCaller(HttpCaller(guard, vault, clock=clock), others, TemplateRenderer(vault, stores.runs))

    async def recognise(request: Request) -> Principal:
        key = request.headers["authorization"].removeprefix("Bearer ")
        if key not in keys:
            raise NotAuthenticated("this key is not known; ask for another")
        return keys[key]

    door = WebDoor(recognise, lambda tenant, actor: replace(desk, tenant_id=tenant, actor=actor), caller)
    async with serving(door) as url:
        yield House(stores, url, keys, vault)
    await caller.aclose()


@asynccontextmanager
async def serving(door: WebDoor) -> AsyncIterator[str]:
    app = FastAPI()
    app.router.routes.append(Route("/mcp", door))
    up = asyncio.Event()
    web = WebServer(app, "127.0.0.1", 0, lambda _: up.set())
    tasks = [asyncio.create_task(web.run()), asyncio.create_task(door.run())]
    await asyncio.wait_for(up.wait(), 60)
    yield f"{web.url}/mcp"
    for worker in (web, door):
        worker.stop()
    await asyncio.wait_for(asyncio.gather(*tasks), 60)
    web.close()


@pytest.fixture
async def peer() -> AsyncIterator[HostilePeer]:
    async with HostilePeer() as far_end:
        yield far_end


@pytest.fixture
async def assistant(house: House) -> AsyncIterator[Assistant]:
    """A connected client; one task opens and closes it, as its package demands, and fixtures do not."""
    connected: asyncio.Future[Assistant] = asyncio.get_running_loop().create_future()
    closing = asyncio.Event()

    async def keep() -> None:
        async with house.assistant() as assistant:
            connected.set_result(assistant)
            await closing.wait()

    keeper = asyncio.create_task(keep())
    keeper.add_done_callback(lambda _: connected.done() or connected.cancel())
    yield await asyncio.wait_for(connected, 60)
    closing.set()
    await keeper

"""A real server on loopback over both databases, and both clients against it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import pytest
from fastapi import FastAPI, Request

from mainspring.api.access import recognise
from mainspring.api.server import WebServer
from mainspring.client import AsyncClient, Client
from mainspring.domain.access.scope import Principal, Scope
from mainspring.domain.errors import NotAuthenticated
from mainspring.ports.stores import Stores
from tests.api.app import open_app
from tests.stores.databases import clock, shared_postgres_url, store_url, stores
from tests.stores.world import FixedClock

__all__ = ["clock", "shared_postgres_url", "store_url", "stores"]

KEYS = {
    "all": Principal("default", "key:all", frozenset(Scope)),
    "operator": Principal("default", "key:all", frozenset(Scope), is_operator=True),
    "read": Principal("default", "key:read", frozenset({Scope.READ})),
    "run": Principal("default", "key:run", frozenset({Scope.RUN})),
}
T = TypeVar("T")


async def by_key(request: Request) -> Principal:
    key = request.headers.get("authorization", "").removeprefix("Bearer ")
    if key not in KEYS:
        raise NotAuthenticated("this key is not known; send another")
    return KEYS[key]


@asynccontextmanager
async def served(app: FastAPI) -> AsyncIterator[str]:
    up = asyncio.Event()
    feed = app.state.context.feed
    web = WebServer(app, "127.0.0.1", 0, lambda _: up.set(), feed.stop)
    tasks = [asyncio.create_task(web.run()), asyncio.create_task(feed.run())]
    await asyncio.wait_for(up.wait(), 60)
    try:
        yield web.url
    finally:
        for worker in (web, feed):
            worker.stop()
        await asyncio.wait_for(asyncio.gather(*tasks), 60)
        web.close()


@pytest.fixture
async def server(stores: Stores, clock: FixedClock) -> AsyncIterator[str]:
    async with open_app(stores, clock) as app:
        app.dependency_overrides[recognise] = by_key
        async with served(app) as url:
            yield url


@pytest.fixture(params=["sync", "async"])
async def ask(request: pytest.FixtureRequest, server: str) -> AsyncIterator[Callable[..., Any]]:
    """`await ask("endpoints.read", "health")`: through the client that blocks, or the one that awaits."""
    with Client(server, "all") as client:
        async with AsyncClient(server, "all") as async_client:

            async def call(method: str, *places: object, **named: object) -> Any:
                group, _, name = method.partition(".")
                if request.param == "async":
                    answer = getattr(getattr(async_client, group), name)(*places, **named)
                    if name.startswith("iterate"):
                        return [item async for item in answer]
                    return await answer
                return await asyncio.to_thread(_blocking, getattr(getattr(client, group), name), name, places, named)

            yield call


def _blocking(method: Callable[..., Any], name: str, places: tuple[object, ...], named: dict[str, object]) -> Any:
    answer = method(*places, **named)
    return list(answer) if name.startswith("iterate") else answer

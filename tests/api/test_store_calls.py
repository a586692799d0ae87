"""How often a request asks the database: each call is a round trip or a transaction on PostgreSQL."""

from collections.abc import Awaitable, Callable
from inspect import iscoroutinefunction
from typing import Any, cast

from mainspring.ports.stores import Stores
from tests.api.app import client_of, open_app
from tests.stores.world import FixedClock

PATCH_MAX = 5


class CountedPort:
    """A port that writes down the calls of its methods."""

    def __init__(self, port: object, name: str, calls: list[str]) -> None:
        self._port, self._name, self._calls = port, name, calls

    def __getattr__(self, method: str) -> object:
        found = getattr(self._port, method)
        if not iscoroutinefunction(found):
            return found

        async def counted(*args: Any, **kwargs: Any) -> object:
            self._calls.append(f"{self._name}.{method}")
            return await cast(Callable[..., Awaitable[object]], found)(*args, **kwargs)

        return counted


def counting(stores: Stores, calls: list[str]) -> Stores:
    ports = {name: cast(Any, CountedPort(getattr(stores, name), name, calls)) for name in Stores.__struct_fields__}
    return Stores(**ports)


async def test_patch_of_an_endpoint_makes_at_most_five_store_calls(stores: Stores, clock: FixedClock) -> None:
    calls: list[str] = []
    async with open_app(counting(stores, calls), clock) as app, client_of(app) as api:
        given = {"name": "billing", "url": "http://127.0.0.1:65001/", "every": "1m"}
        assert (await api.post("/api/v1/endpoints", json=given)).status_code == 201

        calls.clear()
        edited = await api.patch("/api/v1/endpoints/billing", json={"every": "2m", "description": "slower"})
        in_place = list(calls)

        calls.clear()
        moved = await api.patch("/api/v1/endpoints/billing", json={"job": "default", "timeout": "5s"})

    assert (edited.json()["interval_ms"], moved.json()["timeout_ms"]) == (120_000, 5_000)
    assert len(in_place) <= PATCH_MAX, in_place
    assert len(calls) <= PATCH_MAX, calls

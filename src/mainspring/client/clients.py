"""`Client` blocks, `AsyncClient` awaits; both have the same groups of methods, one method per API operation.

    with Client("http://127.0.0.1:8080", api_key="...") as client:
        client.endpoints.create(name="health", url="https://example.com/", interval_ms="5m")
        print(client.endpoints.run("health", wait=True)["run"]["status"])
        for run in client.runs.iterate(endpoint="health", status="failure"):
            print(run["started_at"], run["error"])

URL and key default to MAINSPRING_SERVER and MAINSPRING_API_KEY.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterator
from types import TracebackType
from typing import Any, Self

import httpx2

from mainspring.client import stream
from mainspring.client.exchange import TRIES, Exchange, Given, Reply, Rest, Silence, exchange
from mainspring.client.groups import AsyncGroups, Groups
from mainspring.client.operation import ClientRequest, Operation

TIMEOUT_S = 30.0
ADDRESS = "http://127.0.0.1:8080"


def _address(given: str | None) -> str:
    return (given or os.environ.get("MAINSPRING_SERVER") or ADDRESS).rstrip("/")


def _headers(api_key: str | None) -> dict[str, str]:
    key = api_key if api_key is not None else os.environ.get("MAINSPRING_API_KEY", "")
    return {"Accept": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}


class Client(Groups):
    """`tries` is the maximum number of attempts of one call; `timeout_s` applies to each attempt."""

    def __init__(
        self,
        server: str | None = None,
        api_key: str | None = None,
        *,
        tries: int = TRIES,
        timeout_s: float = TIMEOUT_S,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        self.server = _address(server)
        self.tries = tries
        self._http = httpx2.Client(
            base_url=self.server, headers=_headers(api_key), timeout=timeout_s, transport=transport
        )

    def perform(self, conversation: Exchange) -> Any:
        """Runs one exchange to its end."""
        given: Given = None
        try:
            while True:
                wanted = conversation.send(given)
                given = None
                if isinstance(wanted, Rest):
                    time.sleep(wanted.seconds)
                else:
                    given = self._send(wanted)
        except StopIteration as end:
            return end.value

    def iterate(self, operation: Operation, places: tuple[object, ...], named: dict[str, object]) -> Iterator[Any]:
        """Every item of every page."""
        cursor = named.get("cursor")
        while True:
            page = self.perform(_page(operation, places, named, cursor, self.tries))
            yield from page["items"]
            if page["next_cursor"] in (None, cursor):
                return
            cursor = page["next_cursor"]

    def listen(self, operation: Operation, places: tuple[object, ...], named: dict[str, object]) -> Iterator[Any]:
        return stream.listen(self._http, operation.request(places, named), self.tries)

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _send(self, wanted: ClientRequest) -> Reply | Silence:
        try:
            return _reply(self._http.request(**_sent(wanted)))
        except (httpx2.TransportError, httpx2.DecodingError) as fault:
            return _silence(fault)


class AsyncClient(AsyncGroups):
    """Like `Client` for asyncio: methods are awaited, iterators are iterated with `async for`."""

    def __init__(
        self,
        server: str | None = None,
        api_key: str | None = None,
        *,
        tries: int = TRIES,
        timeout_s: float = TIMEOUT_S,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self.server = _address(server)
        self.tries = tries
        self._http = httpx2.AsyncClient(
            base_url=self.server, headers=_headers(api_key), timeout=timeout_s, transport=transport
        )

    async def perform(self, conversation: Exchange) -> Any:
        given: Given = None
        try:
            while True:
                wanted = conversation.send(given)
                given = None
                if isinstance(wanted, Rest):
                    await asyncio.sleep(wanted.seconds)
                else:
                    given = await self._send(wanted)
        except StopIteration as end:
            return end.value

    async def iterate(
        self, operation: Operation, places: tuple[object, ...], named: dict[str, object]
    ) -> AsyncIterator[Any]:
        cursor = named.get("cursor")
        while True:
            page = await self.perform(_page(operation, places, named, cursor, self.tries))
            for item in page["items"]:
                yield item
            if page["next_cursor"] in (None, cursor):
                return
            cursor = page["next_cursor"]

    def listen(self, operation: Operation, places: tuple[object, ...], named: dict[str, object]) -> AsyncIterator[Any]:
        return stream.listen_async(self._http, operation.request(places, named), self.tries)

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()

    async def _send(self, wanted: ClientRequest) -> Reply | Silence:
        try:
            return _reply(await self._http.request(**_sent(wanted)))
        except (httpx2.TransportError, httpx2.DecodingError) as fault:
            return _silence(fault)


def _page(
    operation: Operation, places: tuple[object, ...], named: dict[str, object], cursor: object, tries: int
) -> Exchange:
    return exchange(operation, operation.request(places, {**named, "cursor": cursor}), tries)


def _sent(wanted: ClientRequest) -> dict[str, Any]:
    timeout = {} if wanted.timeout_s is None else {"timeout": wanted.timeout_s}
    body = {} if wanted.body is None else {"json": wanted.body}
    return {
        "method": wanted.method,
        "url": wanted.path,
        "params": dict(wanted.query),
        "headers": dict(wanted.headers),
        **body,
        **timeout,
    }


def _reply(response: httpx2.Response) -> Reply:
    return Reply(response.status_code, {k.lower(): v for k, v in response.headers.items()}, response.content)


def _silence(fault: httpx2.RequestError) -> Silence:
    was_sent = not isinstance(fault, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout)
    url = fault.request.url
    return Silence(f"{str(fault) or type(fault).__name__} ({url.scheme}://{url.netloc.decode()})", was_sent)

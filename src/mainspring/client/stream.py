"""Events as they happen: a stream that breaks is resumed after the last received event.

A client that resumes misses nothing and sees nothing twice, because each event carries its position in the order.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx2

from mainspring.client.errors import Unreachable, error_of, stranger
from mainspring.client.operation import ClientRequest

REST_S = 1.0
SILENCE_S = 60.0  # heartbeats come more often; a stream without them is dead


def listen(http: httpx2.Client, request: ClientRequest, tries: int) -> Iterator[Any]:
    last, failures = "", 0
    while True:
        try:
            with http.sse(**_asked(request, last)) as source:
                if source.response.status_code >= 400:
                    source.response.read()
                    raise _refusal(source.response)
                if not _is_stream(source.response):
                    source.response.read()
                    raise stranger(source.response.status_code, source.response.content)
                failures = 0
                for event in source:
                    last = event.id or last
                    if event.data:
                        yield json.loads(event.data)
        except httpx2.TransportError as fault:
            failures += 1
            if failures >= tries:
                raise Unreachable(f"the event stream broke {failures} times in a row: {fault}") from fault
        time.sleep(REST_S * failures)


async def listen_async(http: httpx2.AsyncClient, request: ClientRequest, tries: int) -> AsyncIterator[Any]:
    last, failures = "", 0
    while True:
        try:
            async with http.sse(**_asked(request, last)) as source:
                if source.response.status_code >= 400:
                    await source.response.aread()
                    raise _refusal(source.response)
                if not _is_stream(source.response):
                    await source.response.aread()
                    raise stranger(source.response.status_code, source.response.content)
                failures = 0
                async for event in source:
                    last = event.id or last
                    if event.data:
                        yield json.loads(event.data)
        except httpx2.TransportError as fault:
            failures += 1
            if failures >= tries:
                raise Unreachable(f"the event stream broke {failures} times in a row: {fault}") from fault
        await asyncio.sleep(REST_S * failures)


def _asked(request: ClientRequest, last: str) -> dict[str, Any]:
    resumed = {"Last-Event-ID": last} if last else {}
    return {
        "url": request.path,
        "params": dict(request.query),
        "headers": {**request.headers, **resumed},
        "timeout": httpx2.Timeout(30, read=SILENCE_S),
    }


def _is_stream(response: httpx2.Response) -> bool:
    return response.status_code == 200 and response.headers.get("content-type", "").startswith("text/event-stream")


def _refusal(response: httpx2.Response) -> Exception:
    return error_of(response.status_code, response.content, response.headers.get("x-request-id", ""), None)

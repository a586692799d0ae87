"""No request stops the process: the longest turn of the event loop, under the worst input of each route.

What is measured is the processor time of the loop's own thread between two of its turns, so that a busy machine does
not count. The sandbox is the real one: what it works on is not in this thread.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator

import pytest
from fastapi import FastAPI
from httpx2 import AsyncClient
from msgspec.structs import replace

from mainspring.operations.endpoints import Desk
from mainspring.outbound.sandbox import ProcessSandbox
from tests.api.acting import Json
from tests.api.every import BODIES, RANDOM, Operation, every_operation
from tests.stores.databases import is_sqlite

LONGEST_S = 0.1
TEXT_MAX = 500_000
MANY = 1_000
TRIES = 3
APPLIED = 500  # endpoints of one document; planning and telling thousands of them still takes longer turns


@pytest.fixture
async def guarded(app: FastAPI) -> AsyncIterator[FastAPI]:
    """The app with desks that have the real sandbox, without a budget: every input is to be worked on."""
    sandbox = ProcessSandbox(seconds_max=3)
    context = app.state.context

    def desk(tenant_id: str, actor: str) -> Desk:
        made: Desk = replace(context.desk(tenant_id, actor), sandbox=sandbox.unmetered())
        return made

    app.state.context = replace(context, desk=desk)
    yield app
    await sandbox.aclose()


class LoopWatch:
    """The longest turn of the loop, in processor time of its thread."""

    longest_s = 0.0

    async def __aenter__(self) -> "LoopWatch":
        self._task = asyncio.create_task(self._watch())
        await asyncio.sleep(0)
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.sleep(0.006)  # the last turn is measured too
        self._task.cancel()

    async def _watch(self) -> None:
        while True:
            before = time.thread_time()
            await asyncio.sleep(0.005)
            self.longest_s = max(self.longest_s, time.thread_time() - before)


def steps(count: int) -> str:
    return "name: waits\nsteps:\n" + "".join(
        f"  - {{id: s{n}, set: {{a: {n}, b: 'vars.a + {n}'}}}}\n" for n in range(count)
    )


def flow(kind: str) -> str:
    if kind == "large":
        return steps(12_000)[:TEXT_MAX]
    if kind == "valid":
        return steps(1_000)
    if kind == "deep":
        return "a: " + "[" * (TEXT_MAX - 10)
    if kind == "quoted":
        return 'a: "' + "\\x41" * 120_000
    return "\n".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9) if n else 1}]" for n in range(60))


def document(kind: str) -> str:
    if kind == "merge":
        lines = ["x-0: &a0 {k: 1}"]
        lines += [f"x-{n}: &a{n} {{<<: [{','.join([f'*a{n - 1}'] * 10)}]}}" for n in range(1, 20)]
        return "\n".join(lines)
    if kind == "large":
        return "endpoints:\n" + "".join(
            f"  e{n}: {{url: 'https://a.example/{n}', every: 1h}}\n" for n in range(APPLIED)
        )
    return flow(kind)


def worst(operation: Operation) -> list[Json]:
    """Bodies of one operation, each as bad as it is let through."""
    body = BODIES.get(operation.id)
    if body is None:
        return []
    kinds = ("large", "valid", "deep", "quoted", "aliases")
    if operation.id == "apply_config":
        return [{"document": document(kind)[:900_000]} for kind in (*kinds, "merge")]
    if isinstance(body.get("document"), str):
        return [body | {"document": flow(kind)} for kind in kinds]
    return [body | {name: grown(value) for name, value in body.items()}, {**body, "x": [[]] * 29_000}]


def grown(value: object) -> object:
    """The same kind of value, as large as a body allows."""
    if isinstance(value, str):
        return value if len(value) < 20 and not value.endswith("m") else value + "x" * 200_000
    if isinstance(value, list):
        return value * MANY
    if isinstance(value, dict):
        return value | {f"key {n}": [n] for n in range(MANY * 5)}
    return value


async def longest(client: AsyncClient, operation: Operation, ids: Json, body: Json | None) -> tuple[float, int]:
    path = operation.path.format(**{name: ids.get(name, "none") for name in operation.in_path})
    content = None if body is None else json.dumps(body).encode()
    async with LoopWatch() as watch:
        request = client.build_request(
            operation.method.upper(), path, content=content, headers={"Content-Type": "application/json"}
        )
        answer = await client.send(request)
    return watch.longest_s, answer.status_code


async def test_no_input_of_any_route_holds_the_event_loop(guarded: FastAPI, api: AsyncClient, store_url: str) -> None:
    if not is_sqlite(store_url):
        pytest.skip("what is measured is before and after the database")
    slow, worked = [], 0
    for operation in every_operation(guarded):
        for number, body in enumerate(worst(operation) or [None]):
            await longest(api, operation, RANDOM, BODIES.get(operation.id))  # what is done once is done
            for _ in range(TRIES):  # what the collector of garbage takes comes once
                seconds, status = await longest(api, operation, RANDOM, body)
                if seconds <= LONGEST_S:
                    break
            worked += 1
            if seconds > LONGEST_S or status >= 500:
                slow.append((operation.id, number, round(seconds, 3), status))

    assert worked > 100
    assert slow == []


async def test_document_that_is_read_in_the_loop_itself_is_noticed(
    app: FastAPI, api: AsyncClient, store_url: str
) -> None:
    """The negative control: the same request at a desk without a sandbox."""
    (check,) = [each for each in every_operation(app) if each.id == "check_workflow"]

    assert (await longest(api, check, RANDOM, {"document": flow("valid")}))[0] > LONGEST_S

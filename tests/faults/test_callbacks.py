"""Runs that a callback ends survive the death of the whole server, and no callback is lost with a worker."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from httpx2 import AsyncClient
from msgspec.structs import replace

from mainspring.domain.endpoint import Endpoint, LostWorkerPolicy
from mainspring.domain.event import EventType
from mainspring.domain.run import HttpAction, RunStatus
from mainspring.ports.records import RunFilter
from mainspring.ports.stores import Stores
from tests.faults.stage import Stage, calling, fill
from tests.harness.addresses import free_port
from tests.harness.processes import Process, Processes
from tests.harness.waiting import until, until_true
from tests.stores.world import get, told

HOUR_MS = 3_600_000
HEADER = "mainspring-callback-url"
EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "long_work" / "receiver.py"


class Receiver:
    """A target that answers 202, and keeps the callback URLs it was given; it can hold its answers back."""

    def __init__(self) -> None:
        self.urls: list[str] = []
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).decode("latin-1"):
                fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
                lower = {name.lower(): value for name, value in fields.items()}
                await reader.readexactly(int(lower.get("content-length", "0")))
                self.urls.append(lower.get(HEADER, ""))
                await self.may_answer.wait()
                writer.write(b"HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\nok")
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    made = Receiver()
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/work"
    yield made
    server.close()


@asynccontextmanager
async def due_now(stage: Stage, receiver: Receiver, **fields: object) -> AsyncIterator[tuple[Stores, Endpoint]]:
    async with stage.stores() as stores:
        at = await stores.schedule.now() + timedelta(seconds=0.5)
        action = HttpAction(url=receiver.url, method="POST", timeout_ms=60_000, completes="callback")
        endpoint = replace(calling(receiver.url, at, HOUR_MS), **{"action": action, **fields})
        await fill(stores, [endpoint])
        yield stores, endpoint


async def serve(processes: Processes, stage: Stage, port: int, failpoints: str = "") -> Process:
    server = await asyncio.to_thread(processes.start, "serve", env=stage.env(failpoints, port=port))
    await asyncio.to_thread(server.wait_for, "listening on http://")
    return server


async def until_dead(server: Process) -> None:
    await until(lambda: not server.is_running, "the server died at its failpoint")


async def post(url: str) -> int:
    async with AsyncClient() as client:
        return (await client.post(url)).status_code


async def statuses(stores: Stores, endpoint: Endpoint) -> list[RunStatus]:
    found = await stores.runs.runs(endpoint.tenant_id, RunFilter(endpoint_id=endpoint.id))
    return [run.status for run in sorted(found, key=lambda run: run.id)]


async def ends(stores: Stores) -> int:
    return [event.type for event in await told(stores)].count(EventType.RUN_FINISHED)


async def until_waiting(stores: Stores, endpoint: Endpoint) -> None:
    async def is_waiting() -> bool:
        return (await get(stores, endpoint)).waiting is not None

    await until_true(is_waiting, "the run waits for its callback")


async def test_accepted_run_survives_the_death_of_the_server(
    stage: Stage, processes: Processes, receiver: Receiver
) -> None:
    port = free_port()
    async with due_now(stage, receiver) as (stores, endpoint):
        server = await serve(processes, stage, port)
        await until_waiting(stores, endpoint)
        server.kill()
        await serve(processes, stage, port)
        (url,) = receiver.urls

        answers = [await post(f"{url}/progress?percent=40"), await post(url), await post(url)]

        assert url.startswith(f"http://127.0.0.1:{port}/callback/")
        assert answers == [200, 200, 410]
        assert await statuses(stores, endpoint) == [RunStatus.SUCCESS]
        assert (len(receiver.urls), await ends(stores)) == (1, 1)


async def test_callback_counts_at_most_once_if_the_worker_died_before_it_recorded_the_answer(
    stage: Stage, processes: Processes, receiver: Receiver
) -> None:
    port = free_port()
    async with due_now(stage, receiver, on_lost_worker=LostWorkerPolicy.SKIP) as (stores, endpoint):
        await until_dead(await serve(processes, stage, port, "after_call=kill"))
        await serve(processes, stage, port)
        await until_waiting(stores, endpoint)

        answers = [await post(receiver.urls[0]), await post(receiver.urls[0])]

        assert answers == [200, 410]
        assert await statuses(stores, endpoint) == [RunStatus.SUCCESS]
        assert (len(receiver.urls), await ends(stores)) == (1, 1)


async def test_negative_control_a_run_without_callback_is_unknown_if_its_worker_died(
    stage: Stage, processes: Processes, receiver: Receiver
) -> None:
    port = free_port()
    plain = HttpAction(url=receiver.url, method="POST", timeout_ms=60_000)
    async with due_now(stage, receiver, action=plain, on_lost_worker=LostWorkerPolicy.SKIP) as (stores, endpoint):
        await until_dead(await serve(processes, stage, port, "after_call=kill"))
        await serve(processes, stage, port)

        async def is_given_up() -> bool:
            return await statuses(stores, endpoint) == [RunStatus.UNKNOWN]

        await until_true(is_given_up, "the run is given up")
        assert receiver.urls == [""]


async def test_callback_of_a_lost_attempt_ends_the_slot_once(
    stage: Stage, processes: Processes, receiver: Receiver
) -> None:
    port = free_port()
    async with due_now(stage, receiver) as (stores, endpoint):
        await until_dead(await serve(processes, stage, port, "after_call=kill"))
        await serve(processes, stage, port)
        await until(lambda: len(receiver.urls) == 2, "the slot is called again")
        await until_waiting(stores, endpoint)

        answers = [await post(url) for url in (*receiver.urls, *receiver.urls)]

        assert answers == [200, 410, 410, 410]
        assert await statuses(stores, endpoint) == [RunStatus.SUPERSEDED, RunStatus.SUCCESS]
        assert await ends(stores) == 1


async def test_callback_before_the_answer_is_not_lost(stage: Stage, processes: Processes, receiver: Receiver) -> None:
    receiver.may_answer.clear()
    port = free_port()
    async with due_now(stage, receiver) as (stores, endpoint):
        server = await serve(processes, stage, port)
        await until(lambda: len(receiver.urls) == 1, "the target is called")

        answers = [await post(receiver.urls[0])]
        receiver.may_answer.set()
        assert await asyncio.to_thread(server.terminate) == 0  # it has recorded the answer

        assert answers == [200]
        assert await statuses(stores, endpoint) == [RunStatus.SUCCESS]
        assert (await get(stores, endpoint)).waiting is None
        assert await ends(stores) == 1


async def test_of_callbacks_at_the_same_time_one_counts(stage: Stage, processes: Processes, receiver: Receiver) -> None:
    async with due_now(stage, receiver) as (stores, endpoint):
        await serve(processes, stage, free_port())
        await until_waiting(stores, endpoint)

        answers = await asyncio.gather(*(post(receiver.urls[0]) for _ in range(10)))

        assert sorted(answers) == [200] + [410] * 9
        assert await ends(stores) == 1


async def test_negative_control_without_the_fence_every_callback_counts(
    stage: Stage, processes: Processes, receiver: Receiver
) -> None:
    async with due_now(stage, receiver) as (stores, endpoint):
        await serve(processes, stage, free_port(), "no_callback_fence")
        await until_waiting(stores, endpoint)

        answers = await asyncio.gather(*(post(receiver.urls[0]) for _ in range(10)))

        assert set(answers) == {200}
        assert await ends(stores) == 10


async def test_example_of_the_documentation_reports_back(
    stage: Stage, processes: Processes, receiver: Receiver
) -> None:
    port = free_port()
    processes.start_command([sys.executable, str(EXAMPLE), str(port)])
    receiver.url = f"http://127.0.0.1:{port}/import"
    async with due_now(stage, receiver) as (stores, endpoint):
        await serve(processes, stage, free_port())

        async def is_done() -> bool:
            return await statuses(stores, endpoint) == [RunStatus.SUCCESS]

        await until_true(is_done, "the example reports back")
        progress = [event.data["percent"] for event in await told(stores) if event.type is EventType.RUN_PROGRESS]
        assert progress == [25, 50, 75]

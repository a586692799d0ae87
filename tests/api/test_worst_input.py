"""No request holds the process: a real `mainspring serve` under the largest and worst input of every route.

Measured is the longest turn of its event loop, in processor time of the loop's own thread, so a busy machine does not
count; and how long it takes to end after SIGTERM while the worst input is being worked on.

Every operation is sent the largest request that it accepts, on both databases, and must accept it (`largest.py`). The
generated requests, most of them refused before a database is asked (`worst.py`), take minutes: only
`pytest --long tests/api/test_worst_input.py` sends them, on both, to a fuller server.
"""

import asyncio
import base64
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from httpx2 import AsyncClient, Response

from mainspring.domain.access.scope import Scope
from mainspring.wiring.stores import open_stores
from tests.api.acting import Json
from tests.api.crowded import LONGEST_S, Sizes, World
from tests.api.every import BODIES, WAITS, Operation
from tests.api.largest import REFUSED
from tests.api.largest_accounts import Largest
from tests.api.people import a_key
from tests.api.worst import EXPRESSION, Sent, path_of, worst_of
from tests.faults.conftest import Figures, figures, pace, seed
from tests.harness.contained import LoopProbe
from tests.harness.pace import Pace
from tests.harness.processes import Process, Processes
from tests.peers.model_server import says, serving_models
from tests.stores.databases import IN_MEMORY, is_sqlite

__all__ = ["figures", "pace", "seed"]

GRACE_S = 10  # MAINSPRING_SHUTDOWN_GRACE by default
TRIES = 3  # a collection of all garbage may fall into any turn
STREAMED = 1_000  # events that are read from the stream
# What the generated requests leave out; `largest.py` leaves out nothing.
NOT_GENERATED = {
    "stream_events": "it does not end; the test below reads from it",
    "verify_partitions": "it walks all there is, in a minute for each request",
    "delete_endpoint": "what the others are measured with would be gone",
}


@pytest.fixture(params=["sqlite", "postgres"])
async def world(
    request: pytest.FixtureRequest, processes: Processes, tmp_path: Path, long_run: bool
) -> AsyncIterator[World]:
    rules = [{"when": EXPRESSION, "interval": "30s", "name": f"drafted {n}"} for n in range(10)]
    drafted = says("openai", ("submit_rules", {"rules": rules, "explanation": "x" * 2_000}))
    with TemporaryDirectory(dir=IN_MEMORY) as folder, serving_models(drafted) as model:
        if request.param == "sqlite":
            url = f"sqlite://{folder}/mainspring.db"
        else:
            url = request.getfixturevalue("postgres_url")
        process, base = start(processes, url, Path(folder), model.model_url("openai"))
        async with open_stores(url) as stores:
            key = await a_key(stores, *Scope, is_operator=True)
            headers = {"Authorization": f"Bearer {key}"}
            async with AsyncClient(base_url=base, headers=headers, timeout=120) as api:
                yield World(process, LoopProbe(f"{folder}/watch"), api, url, stores, Sizes(is_long=long_run))


def start(processes: Processes, url: str, folder: Path, model_url: str) -> tuple[Process, str]:
    env = {
        "LOOP_WATCH": f"{folder}/watch",
        "MAINSPRING_DATABASE_URL": url,
        "MAINSPRING_DATA_DIR": str(folder),
        "MAINSPRING_SECRET_KEY": base64.b64encode(bytes(32)).decode(),  # of the desks of tests: one audit trail
        "MAINSPRING_LOG_LEVEL": "warning",
        "MAINSPRING_API_REQUESTS_PER_MINUTE": "0",
        "MAINSPRING_API_REQUESTS_PER_MINUTE_OF_TENANT": "0",
        "MAINSPRING_MODEL": "openai:small",
        "MAINSPRING_MODEL_URL": model_url,
        "MAINSPRING_MODEL_KEY": "none",
    }
    command = [sys.executable, "-m", "tests.harness.contained", "serve", "--port", "0"]
    process = processes.start_command(command, env=env)
    return process, process.wait_for("listening on").split()[-1]


async def operations_of(api: AsyncClient) -> tuple[Json, list[Operation]]:
    """Those that take something away come last: what the others are measured with would be gone."""
    document = (await api.get("/api/v1/openapi.json")).json()
    found = [Operation(method, path, each) for path, item in document["paths"].items() for method, each in item.items()]
    return document, sorted(found, key=lambda each: (takes_away(each), each.method != "get"))


def takes_away(operation: Operation) -> bool:
    return operation.method == "delete" or operation.id.startswith(("archive", "cancel", "erase", "order"))


async def test_largest_accepted_request_of_every_operation_leaves_the_event_loop_free(
    world: World, long_run: bool, figures: Figures
) -> None:
    if not (long_run or is_sqlite(world.url)):
        pytest.skip("takes two minutes; SQLite, which writes on the event loop, is the harder case; run it with --long")
    await world.fill()
    _, operations = await operations_of(world.api)
    largest = Largest(world, str(world.api.base_url).replace("127.0.0.1", "localhost").rstrip("/"))
    refused = {}
    for operation in operations:
        answer = await (read_stream(world) if operation.is_stream else send_largest(world, largest, operation))
        if not answer.is_success:
            refused[operation.id] = (answer.status_code, answer.text[:300])
    await largest.aclose()

    figures(operations=len(operations), longest_turns=sorted(world.turns, reverse=True)[:5])
    assert refused.keys() == REFUSED.keys(), refused
    assert world.slow == []


async def send_largest(world: World, largest: Largest, operation: Operation) -> Response:
    """A turn that was too long is tried again with another such request: a collection of garbage may be in it."""
    for _ in range(TRIES):
        client, path, asked = await largest.of(operation)
        await asyncio.to_thread(world.probe.clear)
        seconds, answer, where = await world.measured(
            client, operation.method.upper(), path, asked.content, asked.headers
        )
        if seconds <= LONGEST_S or not answer.is_success:
            break
    world.note(operation.id, seconds, where)
    return answer


async def read_stream(world: World) -> Response:
    """All of the events there are, from the first one on."""
    first = (await world.api.get("/api/v1/events?start=oldest&limit=1")).json()["items"][0]["cursor"]
    await asyncio.to_thread(world.probe.clear)
    seen = 0
    async with world.api.stream("GET", "/api/v1/events/stream", params={"cursor": first}) as answer:
        async for line in answer.aiter_lines():
            seen += line.startswith("data: ")
            if seen == STREAMED:
                break
    world.note("stream_events", *await asyncio.to_thread(world.probe.longest))
    return answer


def test_every_operation_with_a_body_has_a_largest_one() -> None:
    """Else a renamed operation would be sent an empty request, which some accept."""
    assert sorted(name for name in BODIES if not hasattr(Largest, name)) == []


async def test_no_generated_input_of_any_route_holds_the_event_loop(
    world: World, long_run: bool, figures: Figures
) -> None:
    if not long_run:
        pytest.skip("takes minutes: the largest request of each operation is sent above; run it with --long")
    await world.fill()
    document, operations = await operations_of(world.api)
    sent = 0
    for operation in (each for each in operations if each.id not in NOT_GENERATED):
        for each in worst_of(operation, document, world.sizes.endpoints, thorough=True):
            await try_worst(world, operation, each)
            sent += 1

    figures(requests=sent, longest_turns=sorted(world.turns, reverse=True)[:5])
    assert NOT_GENERATED.keys() < {each.id for each in operations}
    assert world.slow == []


async def try_worst(world: World, operation: Operation, sent: Sent) -> None:
    what = f"{operation.id}: {sent.kind}"
    for _ in range(TRIES):
        seconds, answer, where = await world.measured(
            world.api, operation.method.upper(), path_with_query(world, operation, sent), sent.content, sent.headers
        )
        if seconds <= LONGEST_S:
            break
        await asyncio.to_thread(world.probe.clear)
    if answer.status_code >= 500:
        world.slow.append((what, answer.status_code, answer.text[:500]))
    world.note(what, seconds, where)


def path_with_query(world: World, operation: Operation, sent: Sent) -> str:
    ids = world.ids | ({"workflow": "waits"} if operation.id.startswith("start_") else {})  # not a million steps
    return path_of(operation, ids) + sent.query.format(**ids)


async def ask(world: World, operation: Operation, sent: Sent) -> int:
    request = world.api.build_request(
        operation.method.upper(), path_with_query(world, operation, sent), content=sent.content, headers=sent.headers
    )
    return (await world.api.send(request)).status_code


async def test_sigterm_ends_the_process_within_the_grace_whatever_it_works_on(
    world: World, long_run: bool, figures: Figures, pace: Pace
) -> None:
    """All of the worst inputs are sent at once, and some are being worked on when the signal comes."""
    document, operations = await operations_of(world.api)
    await world.make("/api/v1/workflows", {"document": WAITS})
    sent = [
        (operation, each)
        for operation in operations
        if operation.id not in NOT_GENERATED
        for each in worst_of(operation, document, world.sizes.endpoints, thorough=long_run)
        if each.content is not None and not takes_away(operation)
    ]
    asking = [asyncio.create_task(ask(world, *each)) for each in sent]
    await asyncio.wait(asking, return_when=asyncio.FIRST_COMPLETED)
    told_at = time.monotonic()
    code = await asyncio.to_thread(world.process.terminate)
    ended_s = time.monotonic() - told_at
    answers = await asyncio.gather(*asking, return_exceptions=True)

    figures(requests=len(sent), cut=sum(isinstance(each, Exception) for each in answers), ended_after_s=ended_s)
    assert code == 0
    assert ended_s <= GRACE_S + pace.fair(2)
    assert "Traceback" not in world.process.output


async def test_work_on_the_loop_itself_is_noticed(world: World) -> None:
    """The negative control: the same watch, while the loop is made to work for longer than allowed."""
    await asyncio.to_thread(world.probe.clear)
    seconds, where = await asyncio.to_thread(world.probe.hold, 2 * LONGEST_S)

    assert seconds > LONGEST_S
    assert "_hold" in where

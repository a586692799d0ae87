"""No background worker holds the event loop: the janitor with much to do, a large directory, a burst of runs."""

import asyncio
import gc
import json
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from httpx2 import AsyncClient

from mainspring.domain.access.scope import Scope
from mainspring.domain.endpoint import Tenant
from mainspring.domain.run import Body
from mainspring.domain.schedule.fairness import Caps
from mainspring.observe import Metrics
from mainspring.ports.stores import Stores
from mainspring.wiring.stores import open_stores
from mainspring.workers.janitor import Janitor, JanitorOptions
from mainspring.workers.workflow_watch import WorkflowWatch
from tests.api.crowded import LONGEST_S
from tests.api.people import a_key
from tests.faults.conftest import Figures, figures, seed
from tests.harness.contained import LoopProbe, LoopWatch
from tests.harness.processes import Process, Processes
from tests.harness.waiting import until_true
from tests.stores.databases import IN_MEMORY, is_sqlite, query
from tests.stores.world import FixedClock, add, an_endpoint, an_outcome, finished

__all__ = ["figures", "seed"]

TENANTS = 100
LEFT = 1_000  # runs that no worker finished: as many as one round closes
OLD = 3_000  # runs beyond their retention: three batches
FILES = 2_000  # of one endpoint each
LARGE = 2_000  # endpoints in one file
BURST = 1_000  # endpoints that are due at once: as many as a process runs at once
HOSTS = [f"127.0.0.{n}" for n in range(1, 21)]  # each takes 50 at once
BODY = json.dumps({"items": [{"n": n, "text": "x" * 20} for n in range(1_000)]}).encode()
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY


@asynccontextmanager
async def watched(folder: str) -> AsyncIterator[LoopProbe]:
    """The loop of the test, for workers that run in it."""
    gc.collect()
    gc.freeze()  # the suite's own objects are not collected in a turn of the worker
    watching = asyncio.create_task(LoopWatch(f"{folder}/watch").run())
    probe = LoopProbe(f"{folder}/watch")
    await until_true(lambda: asyncio.to_thread(Path(f"{folder}/watch").exists), "the loop is watched")
    await asyncio.to_thread(probe.clear)
    try:
        yield probe
    finally:
        watching.cancel()
        gc.unfreeze()


@contextmanager
def serving(processes: Processes, url: str, **env: str) -> Iterator[tuple[Process, LoopProbe, str]]:
    """A real `mainspring serve` at its defaults, with its event loop watched."""
    with TemporaryDirectory(dir=IN_MEMORY) as folder:
        process = processes.start_command(
            [sys.executable, "-m", "tests.harness.contained", "serve", "--port", "0"],
            env={
                "LOOP_WATCH": f"{folder}/watch",
                "MAINSPRING_DATABASE_URL": url,
                "MAINSPRING_DATA_DIR": folder,
                "MAINSPRING_LOG_LEVEL": "warning",
                "MAINSPRING_API_REQUESTS_PER_MINUTE": "0",
                "MAINSPRING_API_REQUESTS_PER_MINUTE_OF_TENANT": "0",
                **env,
            },
        )
        yield process, LoopProbe(f"{folder}/watch"), process.wait_for("listening on").split()[-1]


async def neglect(stores: Stores, clock: FixedClock) -> None:
    """History beyond its retention, runs that no worker finished, and endpoints of many tenants that are late."""
    text = Body(b"x" * 8_000, "text/plain", False, 8_000)
    await add(stores, *(an_endpoint() for _ in range(100)))
    for _ in range(OLD // 100):
        batch = await stores.schedule.claim_due("w", 100, 30_000, Caps(per_tenant=1_000, per_host=1_000))
        await stores.schedule.finish([finished(each, an_outcome(body=text)) for each in batch.claims])
        clock.tick(minutes=1)
    clock.tick(days=40)
    await add(stores, *(an_endpoint(host=f"host-{n}:80") for n in range(LEFT)))
    for _ in range(2):
        await stores.schedule.claim_due("gone", LEFT // 2, 30_000, Caps(per_tenant=2_000, per_host=2_000))
    for number in range(TENANTS):
        tenant = f"tenant-{number}"
        await stores.endpoints.put_tenant(Tenant(tenant, tenant))
        late = [an_endpoint(tenant_id=tenant, job_id=f"job-{number}", host=f"late-{number}-{n}:80") for n in range(10)]
        await add(stores, *late)
    clock.tick(hours=1)


async def test_janitor_with_much_to_do_leaves_the_event_loop_free(
    stores: Stores, store_url: str, clock: FixedClock, tmp_path: Path, figures: Figures, long_run: bool
) -> None:
    if not (long_run or is_sqlite(store_url)):
        pytest.skip("SQLite, which writes on the event loop, is the harder case; run it with --long")
    await neglect(stores, clock)
    metrics = Metrics()
    janitor = Janitor(
        stores.upkeep, stores.runs, JanitorOptions(), metrics, flow_watch=WorkflowWatch(stores.flows, metrics)
    )
    async with watched(str(tmp_path)) as probe:
        await janitor.run_once(sweep=True)
        seconds, where = await asyncio.to_thread(probe.longest)

    figures(longest_s=round(seconds, 3), zombies=metrics.zombies, swept=metrics.swept, late=metrics.due)
    assert (metrics.zombies, metrics.due) == (LEFT, TENANTS * 10 + 100)
    assert metrics.swept > 0
    assert await query(store_url, "SELECT COUNT(*) FROM run WHERE status = 'success'") == [(0,)]
    assert seconds <= LONGEST_S, where


@pytest.mark.parametrize("kind", ["many small documents", "one large document"])
async def test_watched_directory_leaves_the_event_loop_free(
    store_url: str, processes: Processes, tmp_path: Path, kind: str, figures: Figures, long_run: bool
) -> None:
    if not (long_run or is_sqlite(store_url)):
        pytest.skip("SQLite, which writes on the event loop, is the harder case; run it with --long")
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "first.yaml").write_text(described(0, 1))
    with serving(processes, store_url, MAINSPRING_CONFIG_DIR=str(folder)) as (_, probe, _):
        await until_true(lambda: has_endpoints(store_url, 1), "the first document is applied")
        await asyncio.to_thread(probe.clear)
        if kind == "one large document":
            (folder / "large.yaml").write_text(described(1, LARGE))
            count = LARGE
        else:
            for number in range(1, FILES):
                (folder / f"{number}.yaml").write_text(described(number, number + 1))
            count = FILES
        await until_true(lambda: has_endpoints(store_url, count), "every document is applied", 300)
        for path in folder.iterdir():
            path.write_text(path.read_text().replace("every: 1h", "every: 2h"))
        await until_true(lambda: has_changed(store_url, count), "every change is applied", 300)
        seconds, where = await asyncio.to_thread(probe.longest)

    figures(longest_s=round(seconds, 3))
    assert seconds <= LONGEST_S, where


def described(first: int, end: int) -> str:
    lines = [f"  e{n}: {{url: 'http://127.0.0.1:65001/{n}', every: 1h}}\n" for n in range(first, end)]
    return "endpoints:\n" + "".join(lines)


async def has_endpoints(url: str, count: int) -> bool:
    return await query(url, "SELECT COUNT(*) FROM endpoint") == [(count,)]


async def has_changed(url: str, count: int) -> bool:
    return await query(url, "SELECT COUNT(*) FROM endpoint WHERE interval_ms = 7200000") == [(count,)]


async def test_burst_of_due_endpoints_leaves_the_event_loop_free(
    store_url: str, processes: Processes, figures: Figures
) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):  # the caller gave up
            await reader.readuntil(b"\r\n\r\n")
            writer.write(ANSWER)
            await writer.drain()
        writer.close()

    target = await asyncio.start_server(answer, HOSTS, 0, backlog=BURST)
    ports = {str(each.getsockname()[0]): int(each.getsockname()[1]) for each in target.sockets}
    described = "".join(
        f"  b{n}: {{url: 'http://{host}:{ports[host]}/{n}', every: 30d}}\n"
        for n in range(BURST)
        for host in [HOSTS[n % len(HOSTS)]]
    )
    with serving(processes, store_url, MAINSPRING_ALLOW_CIDRS="127.0.0.0/8") as (_, probe, base):
        async with open_stores(store_url) as stores:
            key = await a_key(stores, *Scope)
        headers = {"Authorization": f"Bearer {key}"}
        async with target, AsyncClient(base_url=base, headers=headers, timeout=120) as api:
            made = await api.post("/api/v1/config/apply", json={"document": f"endpoints:\n{described}"})
            assert made.is_success, made.text
            await asyncio.to_thread(probe.clear)
            await query(store_url, "UPDATE schedule SET next_run_at = anchor_at")

            async def has_ended() -> bool:
                return await query(store_url, "SELECT COUNT(*) FROM run WHERE status <> 'running'") == [(BURST,)]

            await until_true(has_ended, "every endpoint has run", 300)
            seconds, where = await asyncio.to_thread(probe.longest)
            ((answered,),) = await query(store_url, "SELECT COUNT(*) FROM run WHERE status = 'success'")

    figures(longest_s=round(seconds, 3), answered=answered)
    assert int(str(answered)) > BURST / 2
    assert seconds <= LONGEST_S, where

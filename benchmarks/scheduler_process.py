"""What `mainspring scheduler` costs as users start it: default settings, PostgreSQL, one or several processes.

    python -m benchmarks.scheduler_process [--workers 1 2 4 8] [--endpoints 800] [--seconds 20]

As many endpoints as runs a second, each once a second on a loopback address of its own, spread evenly. For each number
of processes it prints milliseconds of processor time for a run, of the schedulers and of the server, transactions a
second, and how late calls started. The processor time contains no waiting; the lateness of a machine that does other
things does. Transactions say how many runs share a statement.
"""

import argparse
import asyncio
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

import asyncpg
from tests.harness.postgres import Cluster, as_superuser
from tests.harness.processes import COMMAND, Process

from benchmarks.target import running_target
from benchmarks.world import filled, steal_told
from mainspring.wiring.clock import SystemClock

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
WARM_S = 5  # plans, connections and caches
TRANSACTIONS = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
LATE = """
    SELECT COUNT(*), percentile_cont(ARRAY[0.5, 0.99])
        WITHIN GROUP (ORDER BY extract(epoch FROM started_at - slot_at) * 1000)
    FROM run WHERE status = 'success' AND trigger = 'schedule' AND finished_at BETWEEN $1 AND $2
"""


def processor_s(pid: int, *, children: bool = False) -> float:
    """Of a process, or of one with all its children, ended ones included."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    own = sum(map(int, fields[11 : 15 if children else 13])) / TICKS_PER_S
    if not children:
        return own
    living = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return own + sum(processor_s(int(child)) for child in living)


@contextmanager
def schedulers(url: str, count: int, **settings: str) -> Iterator[list[Process]]:
    """So many processes that have started, ended with the block."""
    with TemporaryDirectory() as folder, ExitStack() as stack:
        given = {"DATABASE_URL": url, "DATA_DIR": folder, "ALLOW_CIDRS": "127.0.0.0/8", "LOG_FORMAT": "json"}
        env = {**os.environ, **{f"MAINSPRING_{name}": value for name, value in (given | settings).items()}}
        started = [Process((*COMMAND, "scheduler"), env=env) for _ in range(count)]
        for process in started:
            stack.callback(process.terminate)
        for process in started:
            process.wait_for("scheduler started")
        yield started


async def prepare(url: str, target: str, endpoints: int) -> Any:  # asyncpg ships no types
    """Endpoints that run once a second, each on an address of its own; returns a connection to read results by."""
    port = urlsplit(target).port
    urls = [f"http://127.0.{number // 250 + 1}.{number % 250 + 1}:{port}/" for number in range(endpoints)]
    first = SystemClock().now()
    async with filled(url, endpoints, target, first, spread_s=1, interval_ms=1_000):
        pass
    connection = await asyncpg.connect(as_superuser(url))
    for number, address in enumerate(urls):
        host, name = address.split("/")[2], f"ep_bench_{number:07d}"
        await connection.execute("UPDATE schedule SET host = $1 WHERE id = $2", host, name)
        await connection.execute(
            "UPDATE endpoint SET host = $1, action = replace(action, $2, $3) WHERE id = $4", host, target, address, name
        )
    return connection


async def measure(cluster: Cluster, url: str, target: str, workers: int, endpoints: int, seconds: float) -> str:
    connection = await prepare(url, target, endpoints)
    with schedulers(url, workers) as processes:
        pids = [process.pid for process in processes]
        await asyncio.sleep(WARM_S)
        began, client, server, transactions = (
            SystemClock().now(),
            sum(map(processor_s, pids)),
            processor_s(cluster.pid, children=True),
            await connection.fetchval(TRANSACTIONS),
        )
        await asyncio.sleep(seconds)
        ended = SystemClock().now()
        client = sum(map(processor_s, pids)) - client
        server = processor_s(cluster.pid, children=True) - server
        transactions = await connection.fetchval(TRANSACTIONS) - transactions
        runs, late = await connection.fetchrow(LATE, began, ended)
        assert runs, processes[0].output
    await connection.close()
    whole, client, server = (1000 * each / runs for each in (client + server, client, server))
    return (
        f"{runs / seconds:6,.0f} runs/s  {whole:.3f} ms a run (schedulers {client:.3f}, server {server:.3f})  "
        f"{transactions / seconds:,.0f} transactions/s  "
        f"late p50 {late[0]:.1f} ms, p99 {late[1]:.1f} ms"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2, 4, 8])
    parser.add_argument("--endpoints", type=int, default=800)
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    with running_target("0.0.0.0") as listening, steal_told():
        target = listening.replace("0.0.0.0", "127.0.0.1")
        for workers in options.workers:
            with Cluster(fsync=True, settings={"shared_buffers": "256MB"}) as cluster:
                url = cluster.create_database("bench")
                result = asyncio.run(measure(cluster, url, target, workers, options.endpoints, options.seconds))
                print(f"{workers} schedulers: {result}", flush=True)


if __name__ == "__main__":
    main()

"""How many pings a server takes, and what they do to lateness: one process on SQLite, or on a given PostgreSQL.

1. Make heartbeats with their URLs, and checks that run every second.
2. Start `mainspring serve`, and let the checks run for a while without pings.
3. Send pings at a fixed rate over kept connections, each to the next heartbeat.
4. Print how many were accepted, how long the answers took, and how late checks started without and with pings.

    python -m benchmarks.pings --rate 1000 --seconds 10
"""

import argparse
import asyncio
import os
import socket
import subprocess
import sys
import time
from collections import Counter
from datetime import datetime, timedelta
from tempfile import TemporaryDirectory

from mainspring.domain.endpoint import new_config
from mainspring.operations.context import Desk
from mainspring.operations.endpoints import add_endpoint
from mainspring.operations.pings import PING_PATH, rotate_ping_url
from mainspring.ports.records import RunFilter
from mainspring.settings import Settings
from mainspring.wiring.desk import open_desk

GOAL_RATE = 1_000
LATENESS_GOAL_MS = 100
CHECKS = 20
WARM_UP_S = 3


async def set_up(desk: Desk, heartbeats: int, closed_port: int) -> list[str]:
    """The paths of the ping URLs."""
    paths = []
    for number in range(heartbeats):
        inputs: dict[str, object] = {"kind": "heartbeat", "every": 3_600_000}
        endpoint = await add_endpoint(desk, new_config(f"heartbeat {number}", inputs))
        paths.append(f"{PING_PATH}{(await rotate_ping_url(desk, endpoint.id)).token}")
    for number in range(CHECKS):
        inputs = {"kind": "tcp", "host": "127.0.0.1", "port": closed_port, "every": 1_000, "backoff": "none"}
        await add_endpoint(desk, new_config(f"check {number}", inputs))
    return paths


async def flood(port: int, paths: list[str], rate: int, seconds: float, lines: int) -> tuple[Counter[str], list[float]]:
    """Statuses of the answers, and how long each took."""
    statuses: Counter[str] = Counter()
    took: list[float] = []
    began = time.perf_counter()
    total = int(rate * seconds)

    async def line(first: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for number in range(first, total, lines):
            await asyncio.sleep(max(0.0, began + number / rate - time.perf_counter()))
            sent = time.perf_counter()
            writer.write(f"GET {paths[number % len(paths)]} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(int(each[15:]) for each in head.lower().split(b"\r\n") if each.startswith(b"content-length:"))
            await reader.readexactly(length)
            statuses[head[9:12].decode()] += 1
            took.append(time.perf_counter() - sent)
        writer.close()

    await asyncio.gather(*[line(first) for first in range(lines)])
    print(f"sent {total:,} pings in {time.perf_counter() - began:.1f} s")
    return statuses, sorted(took)


async def latenesses(desk: Desk, since: datetime, until: datetime) -> list[float]:
    """How many milliseconds after its slot each check started."""
    found = await desk.stores.runs.runs(desk.tenant_id, RunFilter(limit=100_000))
    checks = [run for run in found if run.worker != "ping" and since <= run.started_at < until]
    return sorted((run.started_at - run.slot_at) / timedelta(milliseconds=1) for run in checks)


def in_words(sorted_ms: list[float]) -> str:
    if not sorted_ms:
        return "none"
    last = len(sorted_ms) - 1
    return f"median {sorted_ms[last // 2]:.0f} ms, 99 % {sorted_ms[int(last * 0.99)]:.0f} ms"


async def measure(chosen: argparse.Namespace, folder: str) -> None:
    settings = Settings(data_dir=folder, database_url=chosen.database_url)
    with socket.socket() as free, socket.socket() as closed:
        free.bind(("127.0.0.1", 0))
        closed.bind(("127.0.0.1", 0))
        port, closed_port = free.getsockname()[1], closed.getsockname()[1]
    async with open_desk(settings) as desk:
        paths = await set_up(desk, chosen.heartbeats, closed_port)
        env = os.environ | {"MAINSPRING_DATA_DIR": folder, "MAINSPRING_ALLOW_CIDRS": "127.0.0.0/8"}
        env |= {"MAINSPRING_DATABASE_URL": chosen.database_url} if chosen.database_url else {}
        command = [sys.executable, "-m", "mainspring", "serve", "--port", str(port)]
        server = await asyncio.create_subprocess_exec(
            *command, env=env, stderr=subprocess.STDOUT, stdout=subprocess.PIPE
        )
        try:
            assert server.stdout is not None
            while b"listening on http" not in await asyncio.wait_for(server.stdout.readline(), 60):
                pass
            log = asyncio.create_task(server.stdout.read())
            await asyncio.sleep(WARM_UP_S)
            began = await desk.stores.schedule.now()
            await asyncio.sleep(chosen.seconds)
            middle = await desk.stores.schedule.now()
            statuses, took = await flood(port, paths, chosen.rate, chosen.seconds, chosen.connections)
            ended = await desk.stores.schedule.now()
            print(f"answers: {dict(statuses)}; {in_words([each * 1e3 for each in took])}")
            for name, since, until in (("without pings", began, middle), ("with pings", middle, ended)):
                late = await latenesses(desk, since, until)
                print(f"lateness {name}: {len(late):,} runs, {in_words(late)}")
            print(f"goals: {GOAL_RATE:,} pings a second accepted, lateness below {LATENESS_GOAL_MS} ms at 99 %")
        finally:
            server.terminate()
            await server.wait()
            await log


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=int, default=GOAL_RATE)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--heartbeats", type=int, default=1_000)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--database-url", default="", help="of a new PostgreSQL database; default: SQLite")
    with TemporaryDirectory() as folder:
        asyncio.run(measure(parser.parse_args(), folder))


if __name__ == "__main__":
    main()

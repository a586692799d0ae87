"""Endpoints of every kind with hostile targets among a hundred neighbours.

Each is recorded on its own endpoint with a clear reason, memory stays flat, and no neighbour misses a slot.
"""

import os
import sys
from collections import defaultdict
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import datetime, timedelta

from msgspec import structs

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.event import EventType
from mainspring.domain.kinds.command import CommandAction
from mainspring.domain.kinds.dns import DnsAction
from mainspring.domain.kinds.queue import QueueAction
from mainspring.domain.kinds.tcp import TcpAction
from mainspring.domain.kinds.tls import TlsAction
from mainspring.domain.run import Action, Run, RunStatus
from mainspring.domain.schedule.governor import decode_trail
from tests.faults.conftest import Figures
from tests.faults.ledger import Ledger, read_ledger
from tests.faults.process_stats import Vitals
from tests.faults.random_kills import Tail, drain, start_workers
from tests.faults.stage import UNHURRIED_MS, Stage, calling, fill
from tests.faults.worker_forker import ROOT
from tests.harness.pace import Pace
from tests.harness.processes import Processes
from tests.harness.waiting import until
from tests.peers.journal import Journal
from tests.peers.name_server import NameServer
from tests.peers.talker import Talker, flood, hang
from tests.stores.world import an_endpoint

NEIGHBOURS = 100
GROWTH_MB_MAX = 60  # buffers and caches find their size; the streams offered gigabytes
HOSTILE = {
    "nul": "/json/nul",
    "endless": "/endless",
    "drip": "/drip?every_ms=1000",
    "redirect": "/redirect/to?to=http://169.254.169.254/latest/meta-data/",
}

STUBBORN = """
import os, signal, time
if not os.fork():
    os.setsid()
signal.signal(signal.SIGTERM, signal.SIG_IGN)
time.sleep(600)
"""
ENDLESS = "import sys\nwhile True: sys.stdout.write('x' * 10_000)"
DEADLINE_MS = 2_000


def hostile_actions(floods: int, hangs: int, resolver: int) -> dict[str, Action]:
    """Calls of other kinds, by what is hostile about their targets."""
    python = (sys.executable, "-I", "-S", "-c")
    return {
        "tcp that floods": TcpAction("127.0.0.1", floods, expect="never", body_cap=10_000, timeout_ms=UNHURRIED_MS),
        "tcp that hangs": TcpAction("127.0.0.1", hangs, read=True, timeout_ms=DEADLINE_MS),
        "tls that hangs": TlsAction("127.0.0.1", hangs, timeout_ms=DEADLINE_MS),
        "dns that hangs": DnsAction("example.com", resolver=f"127.0.0.1:{resolver}", timeout_ms=DEADLINE_MS),
        "queue that floods": QueueAction(f"redis://127.0.0.1:{floods}", "orders", timeout_ms=UNHURRIED_MS),
        "queue that hangs": QueueAction(f"nats://127.0.0.1:{hangs}", "orders", timeout_ms=DEADLINE_MS),
        "command that prints": CommandAction((*python, ENDLESS), timeout_ms=2 * UNHURRIED_MS),
        "command that stays": CommandAction((*python, STUBBORN), timeout_ms=DEADLINE_MS),
    }


def start_peer(processes: Processes) -> str:
    path = os.pathsep.join((str(ROOT), os.environ.get("PYTHONPATH", "")))
    command = [sys.executable, "-m", "tests.peers.hostile", "--port", "0"]
    peer = processes.start_command(command, env={"PYTHONPATH": path})
    return f"http://127.0.0.1:{peer.wait_for(str.isdigit)}"


def hostile_endpoints(peer: str, due_at: datetime) -> dict[str, Endpoint]:
    endpoints = {name: calling(peer + path, due_at, 1_000, timeout_ms=2_000) for name, path in HOSTILE.items()}
    followed = structs.replace(endpoints["redirect"].action, redirects_max=5)
    endpoints["redirect"] = structs.replace(endpoints["redirect"], action=followed)
    # Past every check, as a later version or another hand may have left it in the database.
    endpoints["cron"] = an_endpoint(cron="61 25 * * *", next_run_at=due_at, action=endpoints["nul"].action)
    return endpoints


async def test_hostile_peers_hurt_nobody_else(
    stage: Stage, journal: Journal, processes: Processes, long_run: bool, figures: Figures, pace: Pace
) -> None:
    seconds = 120 if long_run else 6
    peer = start_peer(processes)
    async with AsyncExitStack() as stack:
        ports = [(await stack.enter_async_context(Talker(talk))).port for talk in (flood, hang)]
        ports.append((await stack.enter_async_context(NameServer(lambda asked: None))).port)
        nursery = stack.enter_context(stage.nursery(lease_margin="30s", commands=f"{sys.executable} = default"))
        (worker,) = await start_workers(nursery, 1)
        async with stage.stores() as stores:
            due_at = await stores.schedule.now() + timedelta(seconds=2)
            offsets = [timedelta(milliseconds=1_000 * n / NEIGHBOURS) for n in range(NEIGHBOURS)]
            calls = [calling(journal.url(f"/{n}"), due_at + at, 1_000, UNHURRIED_MS) for n, at in enumerate(offsets)]
            await fill(stores, calls)
            hostile = hostile_endpoints(peer, due_at) | {
                name: an_endpoint(action=action, host=name, interval_ms=1_000, next_run_at=due_at)
                for name, action in hostile_actions(*ports).items()
            }
            await fill(stores, hostile.values())
            tail = Tail(journal)
            await until(lambda: tail.grown() >= 2 * NEIGHBOURS, "the neighbours run")
            before = Vitals.of(worker.pid)
            await until(lambda: tail.grown() >= (2 + seconds) * NEIGHBOURS, "and go on", 3 * seconds + 60)
            growth_mb = Vitals.of(worker.pid).growth_mb_since(before)
            await drain(nursery, stores)
            ledger = await read_ledger(stores, journal.entries())
            nul = next(run for run in ledger.runs if run.endpoint_id == hostile["nul"].id)
            body = await stores.runs.body("default", nul.id)

    figures(growth_mb=round(growth_mb, 1), **ledger.figures())
    assert_each_is_recorded_with_its_reason(ledger, hostile)
    assert body is not None
    assert b"\\u0000" in body.data
    assert b"\0" in body.data
    assert growth_mb <= GROWTH_MB_MAX
    others = neighbours(ledger, hostile)
    assert len({run.endpoint_id for run in others.runs}) == NEIGHBOURS
    assert {(run.status, run.attempt) for run in others.runs} == {(RunStatus.SUCCESS, 1)}
    assert max(run.duration_ms or 0 for run in others.runs) <= pace.fair(1_000)
    assert others.drifts() == []


def assert_each_is_recorded_with_its_reason(ledger: Ledger, hostile: dict[str, Endpoint]) -> None:
    runs: dict[str, list[Run]] = defaultdict(list)
    for run in ledger.runs:
        runs[run.endpoint_id].append(run)
    endings = {name: {(run.status, run.error_code) for run in runs[endpoint.id]} for name, endpoint in hostile.items()}
    # The bad cron was due once, by the plan it came with; what it cannot say is when it runs next.
    assert endings == {
        "nul": {(RunStatus.SUCCESS, None)},
        "endless": {(RunStatus.SUCCESS, None)},  # cut at the body's cap, and marked so
        "drip": {(RunStatus.TIMEOUT, "deadline")},
        "redirect": {(RunStatus.BLOCKED, "blocked_address")},
        "cron": {(RunStatus.SUCCESS, None)},
        "tcp that floods": {(RunStatus.FAILURE, "unexpected")},
        "tcp that hangs": {(RunStatus.TIMEOUT, "deadline")},
        "tls that hangs": {(RunStatus.TIMEOUT, "deadline")},
        "dns that hangs": {(RunStatus.TIMEOUT, "deadline")},
        "queue that floods": {(RunStatus.FAILURE, "unexpected")},
        "queue that hangs": {(RunStatus.TIMEOUT, "deadline")},
        "command that prints": {(RunStatus.FAILURE, "output")},
        "command that stays": {(RunStatus.TIMEOUT, "deadline")},
    }
    assert "169.254.169.254" in str(runs[hostile["redirect"].id][0].error)
    assert "2000 ms" in str(runs[hostile["drip"].id][0].error)
    cron = ledger.endpoints[hostile["cron"].id]
    faulty = [event for event in ledger.events if event.type is EventType.ENDPOINT_FAULTY]
    assert {event.endpoint_id for event in faulty} == {cron.id}
    assert "61" in decode_trail(cron.trail)[-1].why


def neighbours(ledger: Ledger, hostile: dict[str, Endpoint]) -> Ledger:
    strange = {each.id for each in hostile.values()}
    return replace(ledger, runs=[run for run in ledger.runs if run.endpoint_id not in strange])

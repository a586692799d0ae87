"""A worker killed in the middle of a call of another kind is taken over, and its program does not survive it."""

import asyncio
import os
import sys
from contextlib import AsyncExitStack, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from dns.message import Message

from mainspring.domain.kinds.command import CommandAction
from mainspring.domain.kinds.dns import DnsAction
from mainspring.domain.kinds.queue import QueueAction
from mainspring.domain.kinds.tcp import TcpAction
from mainspring.domain.kinds.tls import TlsAction
from mainspring.domain.run import RunStatus
from tests.faults.ledger import until_counted
from tests.faults.random_kills import start_workers
from tests.faults.stage import Stage, fill
from tests.harness.valkey import Valkey
from tests.harness.waiting import until
from tests.peers.certificate import make_tls
from tests.peers.name_server import NameServer, zone
from tests.peers.talker import Talker, hang, pong
from tests.stores.world import an_endpoint

HOUR_MS = 3_600_000
PROGRAM = """
import os, sys, time
open(f"{sys.argv[1]}/{os.environ['MAINSPRING_ATTEMPT']}", "w").write(str(os.getpid()))
if os.environ["MAINSPRING_ATTEMPT"] == "1":
    time.sleep(600)
"""


class SilentOnce:
    """A peer that says nothing to the first connection, and passes the others on."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.connections = 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        if self.connections == 1:
            await reader.read()
            return
        other_reader, other_writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            await asyncio.gather(pass_on(reader, other_writer), pass_on(other_reader, writer))
        finally:
            other_writer.transport.abort()


async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while said := await reader.read(65_536):
        writer.write(said)


class SlowNames:
    """A zone that is not answered from until it may."""

    def __init__(self) -> None:
        self.may_answer = False
        self._zone = zone({("example.com", "A"): ["192.0.2.7"]})

    def __call__(self, asked: Message) -> bytes | None:
        return self._zone(asked) if self.may_answer else None


def is_alive(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    return False


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
async def test_killed_worker_is_taken_over_in_the_middle_of_calls_of_other_kinds(stage: Stage, tmp_path: Path) -> None:
    program = (sys.executable, "-I", "-S", "-c", PROGRAM, str(tmp_path))
    commands = f"{sys.executable} = default"
    names = SlowNames()
    async with AsyncExitStack() as stack:
        tls_context, _ = make_tls(tmp_path, datetime.now(UTC))
        greeter = await stack.enter_async_context(Talker(pong))
        secure = await stack.enter_async_context(Talker(hang, tls_context))
        silent = [SilentOnce(each.port) for each in (greeter, secure)]
        doors = [await stack.enter_async_context(Talker(each)) for each in silent]
        resolver = await stack.enter_async_context(NameServer(names))
        stores = await stack.enter_async_context(stage.stores())
        due_at = await stores.schedule.now() + timedelta(seconds=0.5)
        actions = (
            TcpAction("127.0.0.1", doors[0].port, expect="HELLO", timeout_ms=60_000),
            TlsAction("127.0.0.1", doors[1].port, verify=False, timeout_ms=60_000),
            DnsAction("example.com", resolver=f"127.0.0.1:{resolver.port}", timeout_ms=60_000),
            CommandAction(program, timeout_ms=60_000),
        )
        await fill(
            stores,
            [
                an_endpoint(action=action, host=f"host {number}", interval_ms=HOUR_MS, next_run_at=due_at)
                for number, action in enumerate(actions)
            ],
        )
        with stage.nursery(commands=commands) as nursery:
            (victim,) = await start_workers(nursery, 1)
            started = tmp_path / "1"

            def are_all_called() -> bool:
                return bool(
                    all(each.connections == 1 for each in silent)
                    and resolver.questions
                    and started.exists()
                    and started.read_text()
                )

            await until(are_all_called, "all are called")
            first = int(started.read_text())
            victim.kill()
            names.may_answer = True
            await start_workers(nursery, 1)
            await until_counted(stores, RunStatus.SUCCESS, len(actions))
            await until(lambda: not is_alive(first), "the program has ended with its worker")
            retried = int((tmp_path / "2").read_text())

    assert [each.connections for each in silent] == [2, 3]  # a refused certificate is read over another connection
    assert (retried != first, is_alive(retried), os.getpid() != first) == (True, False, True)


class ForgetfulRelay:
    """Passes everything to a broker, and withholds its answer to the first message."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.connections = 0
        self.published = asyncio.Event()  # the broker has answered a message whose client does not know

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        is_first = self.connections == 1
        broker_reader, broker_writer = await asyncio.open_connection("127.0.0.1", self._port)
        has_published = asyncio.Event()

        async def pass_on() -> None:
            while said := await reader.read(65_536):
                if b"EVAL" in said:
                    has_published.set()
                broker_writer.write(said)

        async def answer() -> None:
            while said := await broker_reader.read(65_536):
                if is_first and has_published.is_set():
                    self.published.set()
                else:
                    writer.write(said)

        try:
            await asyncio.gather(pass_on(), answer())
        finally:
            broker_writer.transport.abort()


async def test_message_of_a_killed_worker_is_published_once(stage: Stage) -> None:
    """Without the slot as its key, the second worker would publish the message again: the count would be two."""
    with Valkey() as valkey:
        relay = ForgetfulRelay(valkey.port)
        async with Talker(relay) as peer, stage.stores() as stores:
            due_at = await stores.schedule.now() + timedelta(seconds=0.5)
            action = QueueAction(f"redis://127.0.0.1:{peer.port}", "orders", body="hello", timeout_ms=60_000)
            await fill(stores, [an_endpoint(action=action, host="broker", interval_ms=HOUR_MS, next_run_at=due_at)])
            with stage.nursery() as nursery:
                (victim,) = await start_workers(nursery, 1)
                await until(relay.published.is_set, "the broker has the message")
                victim.kill()
                await start_workers(nursery, 1)
                await until_counted(stores, RunStatus.SUCCESS, 1)
        length = valkey.say("XLEN", "orders")

    assert (relay.connections, length) == (2, b":1\r\n")

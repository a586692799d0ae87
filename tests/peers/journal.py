"""A target that writes down what it received before it answers: the truth a database is checked against.

    with Journal(tmp_path / "journal") as journal:
        ... calls to journal.url("/x?delay_ms=20&status=500") ...
        entries = journal.entries()

or as a process: `python -m tests.peers.journal --file journal --port 0` prints its port and serves until killed.
One line for each request is appended with a single write to a file opened with O_APPEND, so a line is whole or absent
whatever is killed, and several journals may share a file. Answers 200 with a small JSON body, at once, unless the query
says otherwise: `status`, `delay_ms`, or `first_delay_ms` for the first attempt alone.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self
from urllib.parse import parse_qsl

BODY = b'{"ok": true}'
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY)
ROOT = Path(__file__).parents[2]
HOST = "127.0.0.1"


class Entry(NamedTuple):
    """One request as it arrived. `in_flight` counts it and all that were not answered yet."""

    webhook_id: str
    attempt: int
    slot: str
    path: str
    at: float
    in_flight: int


class Journal:
    """A journal target in a process of its own while the block lasts."""

    def __init__(self, file: Path, port: int = 0, host: str = HOST) -> None:
        self.file = file
        self._host = host
        self._port = port
        self._process: subprocess.Popen[str] | None = None
        self._entries: list[Entry] = []
        self._read_up_to = 0

    @property
    def port(self) -> int:
        return self._port

    def url(self, path: str) -> str:
        return f"http://{self._host}:{self._port}{path}"

    def entries(self) -> list[Entry]:
        """Every request so far. Tests ask hundreds of times a second: what was read once is not read again."""
        if self.file.exists():
            with self.file.open("rb") as file:
                file.seek(self._read_up_to)
                fresh = file.read()
            whole = fresh[: fresh.rfind(b"\n") + 1]
            self._read_up_to += len(whole)
            self._entries += _parsed(whole)
        return list(self._entries)

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "tests.peers.journal", "--file", str(self.file)]
        command += ["--host", self._host, "--port", str(self._port)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        assert self._process.stdout is not None
        self._port = int(self._process.stdout.readline())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()


def _parsed(lines: bytes) -> list[Entry]:
    """In the order of arrival at each server."""
    entries = []
    for line in lines.decode("latin-1").splitlines():
        webhook_id, attempt, slot, path, at, in_flight = line.split("\t")
        entries.append(Entry(webhook_id, int(attempt or 0), slot, path, float(at), int(in_flight)))
    return entries


class _Target(asyncio.Protocol):
    """HTTP/1.1 with kept connections, one request at a time on each."""

    in_flight = 0  # over all connections
    file = -1

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport
        self._received = b""

    def data_received(self, data: bytes) -> None:
        received = self._received + data if self._received else data
        while (end := received.find(b"\r\n\r\n")) >= 0:
            head = received[: end + 2]
            length = int(_header(head, b"content-length") or b"0")
            if len(received) < end + 4 + length:
                break
            received = received[end + 4 + length :]
            self._record(head)
        self._received = received

    def _record(self, head: bytes) -> None:
        _Target.in_flight += 1
        path = head.split(b" ", 2)[1]
        fields = [_header(head, name) for name in (b"webhook-id", b"mainspring-attempt", b"mainspring-slot")]
        line = b"\t".join((*fields, path, b"%.6f" % time.time(), b"%d" % _Target.in_flight))
        os.write(_Target.file, line + b"\n")
        _, _, query = path.partition(b"?")
        if not query:
            self._answer(ANSWER)
            return
        arguments = dict(parse_qsl(query.decode("latin-1")))
        answer = ANSWER.replace(b"200 OK", arguments.get("status", "200 OK").encode("latin-1"), 1)
        delay_ms = arguments.get("first_delay_ms" if fields[1] == b"1" else "delay_ms", arguments.get("delay_ms", "0"))
        delay_s = int(delay_ms) / 1_000
        if delay_s:
            asyncio.get_running_loop().call_later(delay_s, self._answer, answer)
        else:
            self._answer(answer)

    def _answer(self, answer: bytes) -> None:
        _Target.in_flight -= 1
        if not self._transport.is_closing():
            self._transport.write(answer)


def _header(head: bytes, name: bytes) -> bytes:
    """The value of a header, or nothing. `name` is lower case; the usual spellings are tried first."""
    for spelling in (name, name.title()):
        place = head.find(b"\r\n" + spelling + b":")
        if place >= 0:
            start = place + len(spelling) + 3
            return head[start : head.index(b"\r\n", start)].strip()
    return b""


async def _main() -> None:
    parser = argparse.ArgumentParser(description="Serve and write down every request; prints the port.")
    parser.add_argument("--file", required=True)
    parser.add_argument("--host", default=HOST)
    parser.add_argument("--port", type=int, default=0)
    arguments = parser.parse_args()
    _Target.file = os.open(arguments.file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    server = await asyncio.get_running_loop().create_server(_Target, arguments.host, arguments.port, backlog=1_024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_main())

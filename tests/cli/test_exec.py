"""`mainspring exec`: a program runs as it would alone, and its start and end are reported."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from threading import Thread
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

import pytest

TOKEN = "/ping/" + "t" * 43
LIMIT_S = 30.0


class Heard(NamedTuple):
    what: str
    run_key: str
    body: bytes


class PingPeer:
    """A server that takes pings and answers with the statuses it is given, then with 200."""

    def __init__(self, *statuses: int) -> None:
        self.heard: Queue[Heard] = Queue()
        self.statuses = list(statuses)
        peer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer(200, json.dumps({"url": f"{peer.url}{TOKEN}"}).encode())

            def do_POST(self) -> None:
                parts = urlsplit(self.path)
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                key = parse_qs(parts.query)["rid"][0]
                peer.heard.put(Heard(parts.path.removeprefix(TOKEN), key, body))
                self._answer(peer.statuses.pop(0) if peer.statuses else 200, b"OK")

            def _answer(self, status: int, body: bytes) -> None:
                self.send_response(status)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: object) -> None:
                """Nothing: the test says what it heard."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    @contextmanager
    def serving(self) -> Iterator["PingPeer"]:
        thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            thread.join()
            self._server.server_close()

    def next(self) -> Heard:
        return self.heard.get(timeout=LIMIT_S)


@pytest.fixture
def peer() -> Iterator[PingPeer]:
    with PingPeer().serving() as made:
        yield made


def environment(**others: str) -> dict[str, str]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("MAINSPRING_")}
    return plain | others


def execute(
    *arguments: str, code: str, env: dict[str, str] | None = None, stdin: bytes = b""
) -> "subprocess.CompletedProcess[bytes]":
    """`mainspring exec` of a Python program that is this code."""
    command = [sys.executable, "-m", "mainspring", "exec", *arguments, "--", sys.executable, "-c", code]
    return subprocess.run(
        command, env=env or environment(), capture_output=True, check=False, timeout=LIMIT_S, input=stdin
    )


def test_output_and_exit_code_pass_through_and_are_reported(peer: PingPeer) -> None:
    code = "import sys; print(input()); print('oops', file=sys.stderr); sys.exit(3)"
    done = execute("backup", "--url", peer.url + TOKEN, code=code, stdin=b"data")
    start, end = peer.next(), peer.next()

    assert (done.returncode, done.stdout, done.stderr) == (3, b"data\n", b"oops\n")
    assert (start.what, end.what, start.run_key) == ("/start", "/3", end.run_key)
    assert sorted(end.body) == sorted(b"data\noops\n")  # which the two streams may mix


def test_only_the_tail_of_the_output_is_reported(peer: PingPeer) -> None:
    done = execute("backup", "--url", peer.url + TOKEN, "--tail", "10", code="print('x' * 200_000 + 'the end')")
    peer.next()

    assert len(done.stdout) == 200_008
    assert peer.next().body == b"xxthe end\n"


def test_output_that_is_left_alone_is_not_reported(peer: PingPeer) -> None:
    done = execute("backup", "--url", peer.url + TOKEN, "--no-output", code="print('secret')")
    peer.next()

    assert (done.stdout, peer.next().body) == (b"secret\n", b"")


def test_program_that_dies_by_a_signal_is_seen_to_do_so(peer: PingPeer) -> None:
    code = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    done = execute("backup", "--url", peer.url + TOKEN, code=code)
    peer.next()

    assert (done.returncode, peer.next().what) == (-signal.SIGKILL, "/137")


def test_signal_is_passed_on_to_the_program(peer: PingPeer) -> None:
    code = "import signal, sys; signal.signal(15, lambda *_: sys.exit(9)); print('ready', flush=True); signal.pause()"
    command = [sys.executable, "-m", "mainspring", "exec", "backup", "--", sys.executable, "-c", code]
    env = environment(MAINSPRING_PING_URL=peer.url + TOKEN)
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"ready\n"
        running.send_signal(signal.SIGTERM)
        assert running.wait(LIMIT_S) == 9
    peer.next()

    assert peer.next().what == "/9"


def test_url_is_asked_from_the_server_by_the_name(peer: PingPeer) -> None:
    env = environment(MAINSPRING_SERVER=peer.url, MAINSPRING_API_KEY="key")
    done = execute("backup", code="pass", env=env)

    assert done.returncode == 0
    assert [peer.next().what, peer.next().what] == ["/start", "/0"]


@pytest.mark.parametrize(
    ("env", "said"),
    [
        (
            {"MAINSPRING_PING_URL": "http://127.0.0.1:9/ping/x"},
            b"was not reported: Connection refused; check that Mainspring is running",
        ),
        ({}, b"was not reported: no ping URL is known; set MAINSPRING_PING_URL"),
        ({"MAINSPRING_PING_URL": "nonsense"}, b"was not reported: "),
    ],
)
def test_program_runs_all_the_same_if_nobody_can_be_told(env: dict[str, str], said: bytes) -> None:
    options = ("backup", "--report-for", "200ms")
    done = execute(*options, code="print('done'); raise SystemExit(4)", env=environment(**env))

    assert (done.returncode, done.stdout) == (4, b"done\n")
    assert said in done.stderr


def test_end_is_reported_again_until_it_is_received() -> None:
    with PingPeer(200, 503).serving() as peer:
        done = execute("backup", "--url", peer.url + TOKEN, code="pass")

        assert done.returncode == 0
        assert [peer.next().what for _ in range(3)] == ["/start", "/0", "/0"]


def test_refused_url_is_reported_once_and_not_tried_again() -> None:
    with PingPeer(404, 404, 404, 404).serving() as peer:
        done = execute("backup", "--url", peer.url + TOKEN, code="pass")

    assert done.returncode == 0
    assert b"the end of 'backup' was not reported: HTTP 404: OK" in done.stderr


def test_program_that_does_not_exist_is_reported(peer: PingPeer) -> None:
    command = [sys.executable, "-m", "mainspring", "exec", "backup", "--", "/nonexistent/program"]
    env = environment(MAINSPRING_PING_URL=peer.url + TOKEN)
    done = subprocess.run(command, env=env, capture_output=True, check=False, timeout=LIMIT_S)

    assert (done.returncode, peer.next().what) == (127, "/127")
    assert b"/nonexistent/program: No such file or directory" in done.stderr


def test_plain_form_starts_without_loading_the_other_commands() -> None:
    code = "import sys, mainspring.__main__; print({'typer', 'pydantic', 'ssl'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, timeout=LIMIT_S)

    assert done.stdout == b"set()\n"

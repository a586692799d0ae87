"""`mainspring exec NAME -- PROGRAM ...`: run a program, and report its start and its end to a heartbeat.

1. Start the program at once. Its output passes through unchanged; the end of the output is kept.
2. Meanwhile find the ping URL and send the start.
3. When the program has ended, send its exit code and the end of its output; repeat that for up to --report-for.
4. Exit as the program did: with its exit code, or by its signal.

The rule that must not break: the program runs and ends as it would without `exec`. Any problem with pings is a
line on standard error. Only the standard library is imported, and nothing of Mainspring: a crontab starts this often.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from typing import IO, NamedTuple, NoReturn

TAIL_BYTES = 10_000
TAIL_BYTES_MAX = 100_000  # as much as a ping keeps
REPORT_FOR_S = 5.0
TRY_S = 3.0  # one attempt: a response takes milliseconds
START_TRIES = 2
PAUSE_S = 0.5  # before the second attempt, then doubled
NOT_FOUND, NOT_EXECUTABLE, KILLED = 127, 126, 128  # as shells report it
CHUNK = 65_536
FORWARDED = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")


class ExecOptions(NamedTuple):
    """What to report to. Without a URL, the server returns it for the name of the endpoint."""

    name: str
    url: str = ""
    server: str = ""
    api_key: str = ""
    tail_bytes: int = TAIL_BYTES
    report_for_s: float = REPORT_FOR_S
    keeps_output: bool = True


def read_plain(arguments: Sequence[str]) -> tuple[ExecOptions, list[str]] | None:
    """`exec NAME [--url URL] -- PROGRAM ...`, read without the rest of the command line; None for any other form."""
    if arguments[:1] != ["exec"] or "--" not in arguments:
        return None
    place = arguments.index("--")
    ours, program = list(arguments[1:place]), list(arguments[place + 1 :])
    url = ""
    if "--url" in ours[:-1]:
        at = ours.index("--url")
        url = ours[at + 1]
        del ours[at : at + 2]
    if len(ours) != 1 or ours[0].startswith("-") or not program:
        return None
    return options_from(ours[0], url), program


def options_from(name: str, url: str = "", server: str = "") -> ExecOptions:
    """Options; the environment provides those that were not given."""
    take = os.environ.get
    return ExecOptions(
        name,
        url or take("MAINSPRING_PING_URL", ""),
        server or take("MAINSPRING_SERVER", ""),
        take("MAINSPRING_API_KEY", ""),
    )


def run_program(options: ExecOptions, program: Sequence[str]) -> NoReturn:
    reporter = RunReporter(options)
    tail = Tail(min(options.tail_bytes, TAIL_BYTES_MAX))
    pipe = subprocess.PIPE if options.keeps_output else None
    try:
        child = subprocess.Popen(program, stdout=pipe, stderr=pipe)
    except OSError as fault:
        code = NOT_FOUND if isinstance(fault, FileNotFoundError) else NOT_EXECUTABLE
        _say(f"{program[0]}: {fault.strerror}")
        reporter.end(code, f"{program[0]}: {fault.strerror}\n".encode())
        sys.exit(code)
    _forward_signals(child)
    copies = [
        _copy(stream, target, tail) for stream, target in ((child.stdout, 1), (child.stderr, 2)) if stream is not None
    ]
    reporter.start()
    code = child.wait()
    for copy in copies:
        copy.join(timeout=1.0)  # processes that the program left running may hold its output open
    reporter.end(code if code >= 0 else KILLED - code, tail.data())
    for copy in copies:
        copy.join()
    if code < 0:
        _die_by(-code)
    sys.exit(code)


class RunReporter:
    """Sends the start from a thread and the end from the caller's. Never raises."""

    def __init__(self, options: ExecOptions) -> None:
        self._options = options
        self._run_key = os.urandom(8).hex()
        self._url = options.url
        self._is_over = threading.Event()
        self._starting: threading.Thread | None = None

    def start(self) -> None:
        self._starting = threading.Thread(target=self._start, daemon=True)
        self._starting.start()

    def _start(self) -> None:
        for number in range(START_TRIES):
            if self._is_over.wait(PAUSE_S * number):
                return
            if self._send("/start", b"", TRY_S) is None:
                return

    def end(self, code: int, output: bytes) -> None:
        """Reports the end until it is received or the time is over."""
        until = time.monotonic() + self._options.report_for_s
        self._is_over.set()
        if self._starting is not None:
            self._starting.join(TRY_S)  # a start that arrived after its end would begin another run
        pause_s = PAUSE_S
        while True:
            fault = self._send(f"/{code & 0xFF}", output, min(TRY_S, max(0.1, until - time.monotonic())))
            if fault is None:
                return
            if time.monotonic() + pause_s >= until or not fault.is_passing:
                _say(f"the end of {self._options.name!r} was not reported: {fault.words}")
                return
            time.sleep(pause_s)
            pause_s *= 2

    def _send(self, what: str, body: bytes, timeout_s: float) -> "_Fault | None":
        try:
            if not self._url:
                self._url = _ask_for_url(self._options, timeout_s)
            answer = _request("POST", f"{self._url.rstrip('/')}{what}?rid={self._run_key}", timeout_s, body)
        except _NoUrl as fault:
            return _Fault(str(fault), is_passing=False)
        except Exception as fault:  # a ping must never be the reason for a job to fail
            words = getattr(fault, "strerror", None) or f"{type(fault).__name__}: {fault}"
            return _Fault(f"{words}; check that Mainspring is running, and the URL", is_passing=True)
        if answer.status < 300:
            return None
        words = answer.body[:200].decode("utf-8", "replace").strip()
        return _Fault(f"HTTP {answer.status}: {words}", is_passing=answer.status >= 500 or answer.status == 429)


class Tail:
    """The last bytes of what several threads add."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept = bytearray()
        self._lock = threading.Lock()

    def add(self, data: bytes) -> None:
        with self._lock:
            self._kept += data
            if len(self._kept) > 2 * self._most:
                del self._kept[: len(self._kept) - self._most]

    def data(self) -> bytes:
        with self._lock:
            return bytes(self._kept[max(0, len(self._kept) - self._most) :])


class _Fault(NamedTuple):
    words: str
    is_passing: bool


class _PingAnswer(NamedTuple):
    status: int
    body: bytes


class _NoUrl(Exception):
    """No ping URL is known, and asking again would not help."""


def _ask_for_url(options: ExecOptions, timeout_s: float) -> str:
    import json
    from urllib.parse import quote

    if not options.server:
        raise _NoUrl("no ping URL is known; set MAINSPRING_PING_URL, or MAINSPRING_SERVER and MAINSPRING_API_KEY")
    path = f"{options.server.rstrip('/')}/api/v1/endpoints/{quote(options.name, safe='')}/ping-url"
    answer = _request("GET", path, timeout_s, b"", {"Authorization": f"Bearer {options.api_key}"})
    if answer.status >= 500:
        raise ConnectionError(f"the server answered {answer.status}")
    found = json.loads(answer.body) if answer.status == 200 else {}
    if not found.get("url"):
        raise _NoUrl(f"the server has no ping URL of {options.name!r} (HTTP {answer.status})")
    return str(found["url"])


def _request(
    method: str, url: str, timeout_s: float, body: bytes, headers: dict[str, str] | None = None
) -> _PingAnswer:
    """One request. The timeout holds for each step, and no redirect is followed."""
    import http.client
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=timeout_s)
    try:
        path = f"{parts.path}?{parts.query}" if parts.query else parts.path
        connection.request(method, path, body or None, {"Content-Type": "text/plain", **(headers or {})})
        answer = connection.getresponse()
        return _PingAnswer(answer.status, answer.read(CHUNK))
    finally:
        connection.close()


def _copy(stream: IO[bytes], target: int, tail: Tail) -> threading.Thread:
    """Passes a stream on until it ends, even if its reader has closed it."""

    def work() -> None:
        is_read = True
        while data := os.read(stream.fileno(), CHUNK):
            tail.add(data)
            left = memoryview(data)
            while is_read and left:
                try:
                    left = left[os.write(target, left) :]
                except OSError:
                    is_read = False

    copy = threading.Thread(target=work, daemon=True)
    copy.start()
    return copy


def _forward_signals(child: "subprocess.Popen[bytes]") -> None:
    """Passes signals on. A terminal sends its interrupts to the program itself."""

    def pass_on(number: int, frame: object) -> None:
        if number == signal.SIGINT and sys.stdin is not None and sys.stdin.isatty():
            return
        with contextlib.suppress(OSError):
            child.send_signal(number)

    for name in FORWARDED:
        number = getattr(signal, name, None)
        if number is not None:
            signal.signal(number, pass_on)


def _die_by(number: int) -> NoReturn:
    """Ends as the program ended, so that the parent process sees the same."""
    with contextlib.suppress(OSError, ValueError):
        if number not in (signal.SIGKILL, getattr(signal, "SIGSTOP", 0)):
            signal.signal(number, signal.SIG_DFL)
        _without_core_dump()
        os.kill(os.getpid(), number)
    sys.exit(KILLED + number)


def _without_core_dump() -> None:
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the program left its own


def _say(words: str) -> None:
    with contextlib.suppress(OSError, AttributeError, ValueError):
        print(f"mainspring exec: {words}", file=sys.stderr, flush=True)

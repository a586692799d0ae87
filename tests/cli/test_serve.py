"""Real processes on both databases: `serve` runs, other commands take effect within a second, SIGTERM ends it well."""

import json
import re
import shlex
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cli.shell import Shell
from tests.harness.addresses import free_port
from tests.harness.pace import Pace
from tests.harness.processes import COMMAND, Process, Processes, clean_environment
from tests.harness.waiting import wait_until
from tests.peers.journal import Entry, Journal

WITHIN_S = 1.0  # what the spec promises for a hint, an edit, a pause, a resume, a clear, a run now
DEADLINE_S = 60.0
RARELY = "30d"  # so long that no run comes by itself while a test lasts
POLL_S = 0.01
WEB_GRACE_S = 3.0  # for what is being answered


class Stage:
    """A served database, a target that keeps a journal, and a shell beside them."""

    def __init__(self, shell: Shell, journal: Journal, server: Process, pace: Pace) -> None:
        self.shell = shell
        self.journal = journal
        self.server = server
        self.pace = pace

    @property
    def calls(self) -> list[Entry]:
        return self.journal.entries()

    def wait_for_calls(self, count: int, deadline_s: float = DEADLINE_S) -> list[Entry]:
        wait_until(lambda: len(self.calls) >= count, f"{count} calls", deadline_s)
        return self.calls


def holds_for(condition: Callable[[], bool], what: str, seconds: float) -> None:
    """Fail as soon as the condition does not hold: for "nothing may happen meanwhile"."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert condition(), f"no longer true: {what}"
        time.sleep(POLL_S)


def start_server(processes: Processes, shell: Shell) -> Process:
    env = {name: value for name, value in shell.env.items() if value is not None}
    server = processes.start("serve", env=env | {"MAINSPRING_PORT": "0"})
    server.wait_for("listening on http://")
    return server


@pytest.fixture
def stage(any_shell: Shell, processes: Processes, tmp_path: Path) -> Iterator[Stage]:
    any_shell.env["MAINSPRING_ALLOW_CIDRS"] = "127.0.0.0/8"
    with Journal(tmp_path / "journal") as journal, Pace() as pace:
        yield Stage(any_shell, journal, start_server(processes, any_shell), pace)


def test_endpoint_added_from_another_process_runs(stage: Stage) -> None:
    added = stage.shell.add("health", "--every", "5s", "--no-spread", url=stage.journal.url("/ok"))
    at = time.time()
    (call, *_) = stage.wait_for_calls(1)

    assert call.at - at < stage.pace.fair(WITHIN_S)
    assert call.webhook_id.startswith(added["id"])
    run = wait_until(lambda: stage.shell.json("runs", "health", "--status", "success"), "a recorded run")[-1]
    assert (run["endpoint"], run["trigger"], run["status_code"]) == ("health", "schedule", 200)
    assert run["slot_at"] == added["next_run_at"]


def test_run_now_starts_within_a_second_and_is_waited_for(stage: Stage) -> None:
    stage.shell.add("health", "--every", RARELY, url=stage.journal.url("/ok"))
    at = time.time()
    run = stage.shell.json("endpoint", "run", "health", "--wait")

    (call,) = stage.calls
    assert call.at - at < stage.pace.fair(WITHIN_S)
    assert (run["endpoint"], run["trigger"], run["status"]) == ("health", "manual", "success")
    assert run == stage.shell.json("runs", "health")[0]


def test_waiting_for_a_run_that_fails_ends_with_1(stage: Stage) -> None:
    stage.shell.add("broken", "--every", "1h", url=stage.journal.url("/x?status=500%20Oops"))

    result = stage.shell("endpoint", "run", "broken", "--wait")

    assert result.exit_code == 1
    assert result.stdout.startswith("broken: failure, HTTP 500")


def test_run_asked_for_during_a_run_follows_it(stage: Stage) -> None:
    stage.shell.add("slow", "--every", RARELY, "--no-spread", url=stage.journal.url("/x?delay_ms=4000"))
    stage.wait_for_calls(1)
    during = stage.shell.json("why", "slow")
    run = stage.shell.json("endpoint", "run", "slow", "--wait")

    assert during["running"]["status"] == "running"
    assert any("It is running now, since" in sentence for sentence in during["sentences"])
    assert run["trigger"] == "manual"
    assert [entry.in_flight for entry in stage.calls] == [1, 1], "one live run per endpoint"


def test_hint_edit_pause_and_resume_take_effect_within_a_second(stage: Stage) -> None:
    shell = stage.shell
    shell.add("health", "--every", RARELY, url=stage.journal.url("/ok"))
    wrote = time.time()
    shell.ok("hint", "oneshot", "health", "--after", "1s")
    hinted = stage.wait_for_calls(1)[0]
    assert hinted.at - wrote >= 1.0
    waits = [hinted.at - wrote]

    shell.ok("endpoint", "edit", "health", "--every", "1s")
    wrote = time.time()
    edited = stage.wait_for_calls(2)[1]
    waits.append(edited.at - wrote)

    shell.ok("endpoint", "pause", "health")
    # On a busy machine another run may have begun just before it was paused.
    wait_until(lambda: shell.json("why", "health")["running"] is None, "it rests")
    count = len(stage.calls)
    holds_for(lambda: len(stage.calls) == count, "a paused endpoint does not run", 1.5)

    shell.ok("endpoint", "resume", "health")
    wrote = time.time()
    resumed = stage.wait_for_calls(count + 1)[count]
    waits.append(resumed.at - wrote)

    assert max(waits) < 1.0 + stage.pace.fair(WITHIN_S)


def test_interval_hint_tightens_and_clearing_it_brings_the_baseline_back(stage: Stage) -> None:
    stage.shell.add("health", "--every", "1h", url=stage.journal.url("/ok"))
    hinted = stage.shell.json("hint", "interval", "health", "1s", "--ttl", "1m")
    stage.wait_for_calls(2)
    cleared = stage.shell.json("hint", "clear", "health")

    assert hinted["source"] == "ai-interval"
    assert (cleared["source"], cleared["interval_hint"]) == ("baseline-interval", None)


def test_events_are_followed_as_they_happen(stage: Stage, processes: Processes) -> None:
    env = {name: value for name, value in stage.shell.env.items() if value is not None}
    stage.shell.ok("job", "add", "before")
    follower = processes.start("events", "--follow", "-n", "1", "-o", "json", env=env)
    follower.wait_for('"job.created"')
    stage.shell.add("health", "--every", "1h", url=stage.journal.url("/ok"))

    event = json.loads(follower.wait_for('"endpoint.created"'))
    assert (event["endpoint"], event["actor"]) == ("health", "cli")


def test_served_process_answers_for_its_health_and_ends_with_0(stage: Stage) -> None:
    url = stage.server.wait_for("listening on http://").rpartition(" ")[2]
    answers = {}
    for path in ("/healthz", "/readyz", "/metrics"):
        with urllib.request.urlopen(url + path, timeout=60) as answer:
            answers[path] = answer.read().decode()

    assert json.loads(answers["/healthz"])["status"] == "ok"
    assert json.loads(answers["/readyz"])["status"] == "ready"
    assert "mainspring_places 1000.0" in answers["/metrics"]
    wait_until(lambda: "1 alive" in stage.shell("doctor").stdout, "a heartbeat")
    findings = {finding["check"]: finding["level"] for finding in stage.shell.json("doctor")}
    assert set(findings.values()) == {"ok"}
    assert stage.server.terminate() == 0


def test_sigterm_lets_a_run_in_flight_end(stage: Stage) -> None:
    stage.shell.add("slow", "--every", "1h", "--no-spread", url=stage.journal.url("/x?delay_ms=500"))
    stage.wait_for_calls(1)

    assert stage.server.terminate() == 0
    assert [run["status"] for run in stage.shell.json("runs", "slow")] == ["success"]


def test_sigterm_ends_a_process_that_reads_the_worst_documents(stage: Stage) -> None:
    key = stage.shell.json("apikey", "create", "attacker", "--scope", "read", "--scope", "write")["key"]
    url = stage.server.wait_for("listening on http://").rpartition(" ")[2]
    merges = "".join(f"x-{n}: &a{n} {{<<: [{','.join([f'*a{n - 1}'] * 10)}]}}\n" for n in range(1, 13))
    slow = 'a: "' + "\\x41" * 100_000  # refused by the fast reader at its end, then read by the slow one
    bomb = "x-0: &a0 {k: 1}\n" + merges
    wishes = [("workflows/check", slow), ("config/apply?dry_run=true", bomb), ("config/apply", slow)]

    def send(wish: tuple[str, str]) -> None:
        request = urllib.request.Request(f"{url}/api/v1/{wish[0]}", json.dumps({"document": wish[1]}).encode())
        request.add_header("Content-Type", "application/json")
        request.add_header("Authorization", f"Bearer {key}")
        with suppress(OSError):
            urllib.request.urlopen(request, timeout=30).close()

    def is_up() -> bool:
        with urllib.request.urlopen(f"{url}/healthz", timeout=2) as answer:
            return bool(answer.status == 200)

    with ThreadPoolExecutor() as pool:
        sending = [pool.submit(send, wish) for wish in wishes]
        holds_for(is_up, "it answers meanwhile", 0.5)
        told_at = time.monotonic()
        code = stage.server.terminate()
        ended_s = time.monotonic() - told_at
        for each in sending:
            each.result()

    assert code == 0
    assert ended_s <= WEB_GRACE_S + stage.pace.fair(3)


class Wire:
    """A connection of its own, without a library that would ask again or hide how it ended."""

    def __init__(self, url: str, key: str) -> None:
        host, _, port = url.removeprefix("http://").partition(":")
        self._head = f"Host: {host}\r\nAuthorization: Bearer {key}\r\nAccept: application/json, text/event-stream\r\n"
        self._socket = socket.create_connection((host, int(port)), timeout=DEADLINE_S)

    def send(self, method: str, path: str, body: object = None, **headers: str) -> "Wire":
        data = b"" if body is None else json.dumps(body).encode()
        more = {"Content-Type": "application/json", "Content-Length": str(len(data))} if data else {}
        lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in {**more, **headers}.items())
        self._socket.sendall(f"{method} {path} HTTP/1.1\r\n{self._head}{lines}\r\n".encode() + data)
        return self

    def head(self) -> str:
        """The head of the next response, and what follows it so far."""
        return self._socket.recv(100_000).decode()

    def rest(self) -> str:
        """All that still comes. Raises ConnectionResetError if the connection was cut."""
        parts = []
        while part := self._socket.recv(100_000):
            parts.append(part)
        self.close()
        return b"".join(parts).decode()

    def close(self) -> None:
        self._socket.close()


def test_requests_in_flight_at_sigterm_are_answered_and_new_ones_refused(stage: Stage) -> None:
    key = stage.shell.json("apikey", "create", "asker", "--scope", "read", "--scope", "write", "--scope", "run")["key"]
    url = stage.server.wait_for("listening on http://").rpartition(" ")[2]
    opening = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    opened = Wire(url, key).send("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": opening})
    (session,) = re.findall(r"mcp-session-id: (\w+)", opened.head())
    opened.close()

    def check(delay_ms: int) -> Wire:
        slow = {"name": "a", "url": stage.journal.url(f"/x?delay_ms={delay_ms}"), "every": "1m", "timeout": "30s"}
        return Wire(url, key).send("POST", "/api/v1/endpoints/check", slow)

    def call(delay_ms: int) -> Wire:
        slow = {"url": stage.journal.url(f"/x?delay_ms={delay_ms}"), "timeout": "30s"}
        asked = {"name": "check_endpoint", "arguments": slow}
        wish = {"jsonrpc": "2.0", "id": delay_ms, "method": "tools/call", "params": asked}
        return Wire(url, key).send("POST", "/mcp", wish, mcp_session_id=session, mcp_protocol_version="2025-06-18")

    soon, late, soon_call, late_call = check(1_500), check(8_000), call(1_500), call(8_000)
    streams = [Wire(url, key).send("GET", "/api/v1/events/stream") for _ in range(3)]
    streams += [Wire(url, key).send("GET", "/mcp", mcp_session_id=session, mcp_protocol_version="2025-06-18")]
    kept = [Wire(url, key).send("GET", "/healthz") for _ in range(5)]
    for each in streams + kept:
        assert each.head().startswith("HTTP/1.1 200")
    stage.wait_for_calls(4)
    stage.server.freeze()  # so that it has read nothing of what comes now when the signal arrives
    unread = [each.send("GET", "/healthz") for each in kept]
    unread += [Wire(url, key).send("GET", "/api/v1/endpoints") for _ in range(10)]
    stage.server.send(signal.SIGTERM)
    stage.server.thaw()

    assert [each.rest().partition("\r\n")[0] for each in unread] == ["HTTP/1.1 200 OK"] * 15
    wait_until(lambda: is_refused(url), "new connections are refused")
    assert stage.server.is_running
    assert soon.rest().startswith("HTTP/1.1 200")
    assert '"status_code":200' in soon_call.rest()
    assert "/problems/stopping" in late.rest()
    assert "the server is stopping" in late_call.rest()
    assert {each.rest()[-5:] for each in streams} == {"0\r\n\r\n"}
    assert stage.server.wait() == 0
    assert "Traceback" not in stage.server.output


def is_refused(url: str) -> bool:
    try:
        Wire(url, "").close()
    except ConnectionRefusedError:
        return True
    return False


def test_first_start_greets_with_the_database_and_a_first_step(any_shell: Shell, processes: Processes) -> None:
    server = start_server(processes, any_shell)
    server.wait_for("endpoint add hello --url https://example.com/ --every 30s")
    database = server.wait_for("Database: ")

    password = str(any_shell.env.get("MAINSPRING_DATABASE_URL", "")).partition("@")[0].rpartition(":")[2]
    assert database.startswith(("Database: sqlite:///", "Database: postgresql://"))
    assert not password or password not in server.output


def test_scheduler_runs_without_a_web_server(any_shell: Shell, processes: Processes, tmp_path: Path) -> None:
    any_shell.env["MAINSPRING_ALLOW_CIDRS"] = "127.0.0.0/8"
    env = {name: value for name, value in any_shell.env.items() if value is not None}
    with Journal(tmp_path / "journal") as journal:
        scheduler = processes.start("scheduler", env=env)
        scheduler.wait_for("scheduler started")
        any_shell.add("health", "--every", "5s", "--no-spread", url=journal.url("/ok"))
        wait_until(journal.entries, "a call")

    assert "listening" not in scheduler.output
    assert scheduler.terminate() == 0


def test_second_scheduler_on_one_sqlite_file_is_warned_of(shell: Shell, processes: Processes) -> None:
    first = start_server(processes, shell)
    wait_until(lambda: "1 alive" in shell("doctor").stdout, "the first heartbeat")
    second = start_server(processes, shell)

    assert "already works on this SQLite file" in second.output
    wait_until(lambda: "2 schedulers share one SQLite file" in shell("doctor").stdout, "the second heartbeat")
    assert (first.terminate(), second.terminate()) == (0, 0)


def test_restart_is_not_mistaken_for_a_second_scheduler(shell: Shell, processes: Processes) -> None:
    first = start_server(processes, shell)
    wait_until(lambda: "1 alive" in shell("doctor").stdout, "a heartbeat")
    first.kill()

    assert "already works" not in start_server(processes, shell).output


def test_port_that_is_taken_is_78(shell: Shell, processes: Processes) -> None:
    env = {name: value for name, value in shell.env.items() if value is not None}
    port = str(free_port())
    processes.start("serve", "--port", port, env=env).wait_for("listening on http://")
    second = processes.start("serve", "--port", port, env=env)

    assert second.wait() == 78
    assert f"error: cannot listen on 127.0.0.1 port {port}: " in second.output


def test_serve_without_its_database_is_5(shell: Shell, processes: Processes) -> None:
    env = {name: value for name, value in shell.env.items() if value is not None}
    server = processes.start("serve", env=env | {"MAINSPRING_DATABASE_URL": "postgresql://u@127.0.0.1:1/x"})

    assert server.wait() == 5
    assert "error: the database does not answer" in server.output


def test_help_imports_nothing_heavy() -> None:
    script = (
        "import sys; from mainspring.cli.main import main; sys.argv = ['mainspring', '--help']\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print('heavy:', sorted({'pydantic', 'asyncio', 'msgspec', 'rich', 'structlog', 'apsw', 'asyncpg', 'pycurl',"
        " 'fastapi', 'uvicorn', 'cryptography', 'prometheus_client', 'cronsim'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [COMMAND[0], "-c", script], env=clean_environment(), capture_output=True, text=True, check=True
    )

    assert "Usage: mainspring" in done.stdout
    assert done.stdout.splitlines()[-1] == "heavy: []"


def test_output_in_a_pipe_has_no_escape_codes(shell: Shell) -> None:
    shell.add("health")
    env = {name: value for name, value in shell.env.items() if value is not None}
    for command in (["endpoint", "list"], ["endpoint", "show", "health"], ["doctor"], ["--help"], ["nonsense"]):
        done = subprocess.run([*COMMAND, *command], env=clean_environment() | env, capture_output=True, check=False)
        assert b"\x1b" not in done.stdout + done.stderr


def test_terminal_that_knows_only_ascii_ends_no_command(shell: Shell) -> None:
    shell.add("café", "--secret-header", "X-Pass: hunter2-hunter2")
    env = {name: value for name, value in shell.env.items() if value is not None}
    done = subprocess.run(
        [*COMMAND, "endpoint", "show", "café"],
        env=clean_environment() | env | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert "caf\\xe9" in done.stdout


@pytest.mark.parametrize(
    ("soft", "hard", "places"), [(256, 4_096, 1_000), (512, 1_024, 384)], ids=["raised to the hard limit", "too low"]
)
def test_scheduler_has_as_many_places_as_it_may_open_files_for(
    shell: Shell, processes: Processes, soft: int, hard: int, places: int
) -> None:
    env = {name: value for name, value in shell.env.items() if value is not None}
    limited = f"ulimit -S -n {soft}; ulimit -H -n {hard}; exec {shlex.join(COMMAND)} scheduler"
    scheduler = processes.start_command(("sh", "-c", limited), env=env)
    scheduler.wait_for("scheduler started")

    def look() -> list[dict[str, str]]:
        findings: list[dict[str, str]] = json.loads(shell("doctor", "-o", "json").stdout)
        return [each for each in findings if each["check"] == "schedulers" and "places" in each["message"]]

    (found,) = wait_until(look, "its first heartbeat")
    assert f"{places:,} places" in found["message"]
    assert (found["level"] == "warning") is (places < 1_000)
    if places < 1_000:
        assert "let that process open 2,256 files (ulimit -n, LimitNOFILE)" in found["way_out"]
        assert "concurrency reduced" in scheduler.output

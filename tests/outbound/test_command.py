"""Calls of kind `command`: real programs, some of which fork, ignore signals or print without end."""

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from mainspring.domain.access.sealing import pair_place
from mainspring.domain.kinds.command import CommandAction
from mainspring.domain.kinds.command_policy import CommandPolicy, parse_commands
from mainspring.domain.run import Header, Outcome, Request, RunStatus
from mainspring.outbound.kinds.command import CommandCaller
from mainspring.outbound.vault import AesVault
from tests.harness.waiting import until
from tests.outbound.conftest import SLOT_AT

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kind command needs Linux or macOS")

LIST = parse_commands(f"/bin/* = tn_1, folder /, env *; /usr/bin/* = tn_1, env *; {sys.executable} = tn_1, env *")
DEADLINE_MS = 700


@pytest.fixture
def marker(tmp_path: Path) -> str:
    """A text that only processes of this test have in their arguments; none may be left."""
    return f"marker-{tmp_path.name}-{os.getpid()}"


def living(marker: str) -> list[int]:
    """The processes with the marker in their arguments, zombies aside."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if marker.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return [pid for pid in found if pid != os.getpid()]


async def call(vault: AesVault, *arguments: str, policy: CommandPolicy = LIST, **fields: Any) -> Outcome:
    action = CommandAction(arguments, **fields)
    async with asyncio.timeout(40):
        return await CommandCaller(policy, vault, grace_s=0.3).call(Request("tn_1", "ep_1", "slot", SLOT_AT, 1, action))


def python(text: str, *more: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", "-c", text, *more)


async def test_output_and_exit_code_are_the_result(vault: AesVault) -> None:
    outcome = await call(vault, "/bin/echo", '{"depth": 3}', condition="status_code == 0 && body.depth == 3")

    assert (outcome.status, outcome.error, outcome.status_code) == (RunStatus.SUCCESS, None, 0)
    assert outcome.body is not None
    assert (outcome.body.data, outcome.body.content_type) == (b'{"depth": 3}\n', "application/json")


async def test_exit_code_decides_and_standard_error_says_why(vault: AesVault) -> None:
    script = "import sys; sys.stderr.write('disk full'); sys.exit(3)"
    failed = await call(vault, *python(script), condition=None)
    accepted = await call(vault, *python(script), exit_codes=(0, 3))

    assert (failed.status, failed.error_code, failed.status_code) == (RunStatus.FAILURE, "exit_code", 3)
    assert failed.error == "exit code 3; expected 0: disk full"
    assert failed.headers == (("stderr", "disk full"),)
    assert accepted.status is RunStatus.SUCCESS


async def test_program_has_its_own_environment_only_and_secrets_are_redacted(vault: AesVault) -> None:
    secret = Header("TOKEN", vault.seal("hunter2-hunter2", "tn_1|ep_1|variable:token"), secret=True)
    os.environ["MAINSPRING_TEST_LEAK"] = "leak"
    try:
        outcome = await call(vault, "/usr/bin/env", environment=(Header("LEVEL", "full"), secret))
    finally:
        del os.environ["MAINSPRING_TEST_LEAK"]

    assert outcome.body is not None
    lines = set(outcome.body.data.decode().splitlines())
    assert {"LEVEL=full", "TOKEN=[redacted]", "MAINSPRING_SLOT=slot", "MAINSPRING_ATTEMPT=1"} <= lines
    assert not any("leak" in line for line in lines)
    assert pair_place("tn_1", "ep_1", CommandAction(("/bin/x",)), "TOKEN") == "tn_1|ep_1|variable:token"


@pytest.mark.parametrize("rest", [290, 3_990], ids=["cut for the error", "cut by the supervisor"])
async def test_secret_that_is_cut_in_standard_error_is_not_shown(vault: AesVault, rest: int) -> None:
    secret = Header("TOKEN", vault.seal("hunter2-hunter2", "tn_1|ep_1|variable:token"), secret=True)
    script = f"import os, sys; sys.stderr.write(os.environ['TOKEN'] + ' ' + 'x' * {rest}); sys.exit(1)"
    outcome = await call(vault, *python(script), environment=(secret,))

    assert outcome.error_code == "exit_code"
    assert "unter2" not in f"{outcome.error} {outcome.headers}"


async def test_shell_runs_only_on_request_and_working_folder_is_used(vault: AesVault) -> None:
    outcome = await call(vault, "pwd; echo $((2 + 3))", shell=True, folder="/")

    assert outcome.body is not None, outcome.error
    assert outcome.body.data == b"/\n5\n"


@pytest.mark.parametrize(
    ("policy", "fields", "words"),
    [
        ("", {}, "program '/bin/echo' is not allowed"),
        ("/bin/echo = other", {}, "is not allowed for tenant 'tn_1'"),
        ("/bin/echo = tn_1", {"folder": "/tmp"}, "folder '/tmp' is not allowed"),
        ("/bin/echo = tn_1", {"user": "root"}, "user 'root' is not allowed"),
        ("/bin/echo = tn_1", {"environment": (Header("A", "b"),)}, "variable 'A' is not allowed"),
        ("/bin/echo = tn_1, env *", {"environment": (Header("LD_PRELOAD", "b"),)}, "variable 'LD_PRELOAD' is not"),
        ("/bin/echo = tn_1", {"shell": True}, "program '/bin/sh' is not allowed"),
    ],
)
async def test_worker_checks_the_list_again(vault: AesVault, policy: str, fields: Any, words: str) -> None:
    outcome = await call(vault, "/bin/echo", policy=parse_commands(policy), **fields)

    assert (outcome.status, outcome.error_code, outcome.body) == (RunStatus.BLOCKED, "not_allowed", None)
    assert words in str(outcome.error)
    assert "MAINSPRING_COMMANDS" in str(outcome.error)


async def test_link_out_of_an_allowed_folder_is_refused(vault: AesVault, tmp_path: Path) -> None:
    folder = tmp_path / "jobs"
    folder.mkdir()
    (folder / "innocent").symlink_to("/bin/echo")
    outcome = await call(vault, f"{folder}/innocent", policy=parse_commands(f"{folder}/* = tn_1"))

    assert (outcome.status, outcome.error_code) == (RunStatus.BLOCKED, "not_allowed")


async def test_program_that_does_not_exist_fails_to_start(vault: AesVault) -> None:
    outcome = await call(vault, "/bin/no-such-program")

    assert (outcome.status, outcome.error_code, outcome.status_code) == (RunStatus.FAILURE, "start", None)
    assert "No such file" in str(outcome.error)


IGNORES = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
FORKS = """
import os, signal, sys, time
for number in range(4):
    if not os.fork():
        if number % 2:
            os.setsid()
            if os.fork():
                os._exit(0)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(600)
time.sleep(600 if sys.argv[1] == "stay" else 0.2)
"""
PRINTS = "import sys\nwhile True: sys.stdout.write('x' * 10_000)"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize(
    ("script", "more", "status", "code"),
    [
        pytest.param("import time; time.sleep(600)", "", RunStatus.TIMEOUT, "deadline", id="never ends"),
        pytest.param(IGNORES, "", RunStatus.TIMEOUT, "deadline", id="ignores SIGTERM"),
        pytest.param(FORKS, "stay", RunStatus.TIMEOUT, "deadline", id="forks into sessions of their own"),
        pytest.param(FORKS, "leave", RunStatus.SUCCESS, None, id="leaves daemons behind"),
        pytest.param(PRINTS, "", RunStatus.FAILURE, "output", id="prints for ever"),
    ],
)
async def test_everything_that_a_program_started_is_ended(
    vault: AesVault, marker: str, script: str, more: str, status: RunStatus, code: str | None
) -> None:
    timeout_ms = DEADLINE_MS if code == "deadline" else 30_000
    outcome = await call(vault, *python(script, more, marker), timeout_ms=timeout_ms, body_cap=1_000)

    assert (outcome.status, outcome.error_code) == (status, code), outcome.error
    assert living(marker) == []
    assert outcome.body is None or len(outcome.body.data) <= 1_000


KILLS_ITS_SUPERVISOR = """
import os, signal, time
if not os.fork():
    time.sleep(600)
os.kill(os.getppid(), signal.SIGKILL)
time.sleep(600)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
async def test_program_that_kills_its_supervisor_is_ended_with_its_group(vault: AesVault, marker: str) -> None:
    outcome = await call(vault, *python(KILLS_ITS_SUPERVISOR, marker), timeout_ms=30_000)

    assert (outcome.status, outcome.error_code) == (RunStatus.FAILURE, "lost"), outcome.error
    await until(lambda: living(marker) == [], "the group has ended")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
async def test_cancelled_call_ends_its_program(vault: AesVault, marker: str) -> None:
    running = asyncio.create_task(call(vault, *python(FORKS, "stay", marker), timeout_ms=60_000))
    await until(lambda: len(living(marker)) >= 4, "the program has forked")
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)

    assert living(marker) == []


WORKER = """
import asyncio, sys
from datetime import UTC, datetime
from mainspring.domain.kinds.command import CommandAction
from mainspring.domain.kinds.command_policy import parse_commands
from mainspring.domain.run import Request
from mainspring.outbound.kinds.command import CommandCaller
caller = CommandCaller(parse_commands(f"{sys.executable} = tn_1"), None)
action = CommandAction(tuple(sys.argv[1:]), timeout_ms=600_000)
asyncio.run(caller.call(Request("tn_1", "ep_1", "slot", datetime(2030, 1, 1, tzinfo=UTC), 1, action)))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
async def test_program_does_not_survive_its_killed_worker(marker: str) -> None:
    worker = await asyncio.create_subprocess_exec(sys.executable, "-c", WORKER, *python(FORKS, "stay", marker))
    await until(lambda: len(living(marker)) >= 5, "the program has forked")
    worker.kill()
    await worker.wait()
    killed_at = time.monotonic()
    await until(lambda: living(marker) == [], "everything has ended")

    assert time.monotonic() - killed_at < 20


def test_lists_are_read_with_their_tenants_folders_users_and_variables() -> None:
    policy = parse_commands("/usr/local/bin/backup = default, acme, folder /srv, user backup, env B_*; /opt/jobs/* = *")

    assert json.loads(json.dumps([each.program for each in policy.entries])) == ["/usr/local/bin/backup", "/opt/jobs/*"]
    assert policy.entries[0].tenants == ("default", "acme")
    assert (policy.entries[0].folders, policy.entries[0].users, policy.entries[0].variables) == (
        ("/srv",),
        ("backup",),
        ("B_*",),
    )


@pytest.mark.parametrize(
    "text", ["backup = default", "/bin/x", "/bin/x =", "/bin/../x = a", "/bin/x = a, folder ../y", "/bin/x = a b"]
)
def test_list_that_cannot_be_read_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="write it like /usr/local/bin/backup = default, folder /srv/backup"):
        parse_commands(text)


def test_list_is_shown_as_it_is_written_in_the_setting() -> None:
    text = "/usr/local/bin/backup = default, folder /srv/backup, user backup, env BACKUP_*; /opt/jobs/* = acme, *"

    assert str(parse_commands(text)) == text
    assert str(parse_commands("")) == ""

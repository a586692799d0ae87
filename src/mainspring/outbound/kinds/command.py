"""Make the call of kind `command`: check the operator's list again, then run the program under a supervisor.

The list is checked here too, on the worker that would run the program: a stored endpoint may be older than the list, or
come from a process with another one. The supervisor (`command_supervisor.py`) reads the output, so that a program that
prints without end costs this process nothing, and it ends everything that the program started.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from mainspring.domain.access.sealing import pair_place
from mainspring.domain.errors import MainspringError
from mainspring.domain.kinds.command import CommandAction, arguments_of, program_of, request_of
from mainspring.domain.kinds.command_policy import CommandPolicy
from mainspring.domain.run import NOT_ALLOWED, Body, Outcome, Request
from mainspring.domain.text import clean_text
from mainspring.outbound.kinds.call import CallFault, CallProgress, blocked, run_call
from mainspring.outbound.kinds.command_supervisor import STDERR_KEPT
from mainspring.outbound.redaction import redacted
from mainspring.ports.outbound import Vault

SUPERVISOR = str(Path(__file__).with_name("command_supervisor.py"))
GRACE_S = 2.0  # between SIGTERM and SIGKILL
END_S = 15.0  # for the supervisor to end everything; the lease of a run lasts 30 s beyond its deadline
HEAD_BYTES_MAX = 10_000
STDERR_SHOWN = 300
OnRefused = Callable[[Request, str], Awaitable[None]]
PLAIN = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": "/"}


class CommandCaller:
    """`on_refused` records a refusal in the audit trail."""

    def __init__(
        self, policy: CommandPolicy, vault: Vault, *, on_refused: OnRefused | None = None, grace_s: float = GRACE_S
    ) -> None:
        self._policy = policy
        self._on_refused = on_refused
        self._grace_s = grace_s
        self._vault = vault

    async def call(self, request: Request) -> Outcome:
        action = request.action
        assert isinstance(action, CommandAction)
        if (reason := self._refusal(action, request.tenant_id)) is not None:
            if self._on_refused is not None:
                await self._on_refused(request, reason)
            return blocked(NOT_ALLOWED, reason)
        try:
            opened = [
                self._vault.open(each.value, pair_place(request.tenant_id, request.endpoint_id, action, each.name))
                if each.secret
                else each.value
                for each in action.environment
            ]
        except MainspringError as fault:
            return blocked("secret", str(fault))
        environment = PLAIN | {
            "MAINSPRING_SLOT": request.slot_id,
            "MAINSPRING_ATTEMPT": str(request.attempt),
            **{each.name: value for each, value in zip(action.environment, opened, strict=True)},
        }
        outcome = await run_call(
            action, lambda progress: _run(action, environment, self._grace_s, progress), beyond_s=END_S + GRACE_S
        )
        secrets = [value for each, value in zip(action.environment, opened, strict=True) if each.secret]
        return redacted(outcome, secrets) if secrets else outcome

    def _refusal(self, action: CommandAction, tenant_id: str) -> str | None:
        if sys.platform == "win32":
            return "kind command needs Linux or macOS on the worker; run the endpoint elsewhere"
        asked = request_of(action, tenant_id)
        reason = self._policy.refusal(asked)
        if reason is not None:
            return reason
        if any(each.program == asked.program for each in self._policy.entries):
            return None
        # A link out of an allowed folder is not in that folder.
        real, folder = os.path.realpath(asked.program), os.path.realpath(os.path.dirname(asked.program))
        if os.path.dirname(real) == folder:
            return None
        return self._policy.refusal(msgspec.structs.replace(asked, program=real))

    async def aclose(self) -> None:
        """Nothing is kept between calls; a cancelled call ends its program."""


async def _run(action: CommandAction, environment: dict[str, str], grace_s: float, progress: CallProgress) -> None:
    spec = {
        "arguments": arguments_of(action),
        "environment": environment,
        "folder": action.folder or "/",
        "user": action.user or "",
        "cap": action.body_cap,
        "timeout_s": action.timeout_ms / 1_000,
        "grace_s": grace_s,
    }
    progress.waits_for = f"the end of {program_of(action)}"
    supervisor = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-S", SUPERVISOR,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        env={}, cwd="/", start_new_session=True,
    )  # fmt: skip
    assert supervisor.stdin is not None
    assert supervisor.stdout is not None
    group = 0
    try:
        supervisor.stdin.write(json.dumps(spec).encode() + b"\n")
        with suppress(ConnectionError):
            await supervisor.stdin.drain()
        group = int(await supervisor.stdout.readline() or 0)
        told, out, err = await _read(supervisor.stdout)
    finally:
        supervisor.stdin.close()  # ends everything that still runs
        await _wait(supervisor)
        if group and supervisor.returncode != 0:  # it was killed, perhaps by its program, and has ended nothing
            with suppress(OSError):
                os.killpg(group, signal.SIGKILL)
    progress.mark("first_byte_us")
    _tell(action, told, out, err, progress)


async def _read(stream: asyncio.StreamReader) -> tuple[dict[str, Any], bytes, bytes]:
    try:
        told = json.loads(await stream.readline())
        return told, await stream.readexactly(told["stdout"]), await stream.readexactly(told["stderr"])
    except (ValueError, KeyError, asyncio.IncompleteReadError):
        raise CallFault("lost", "the supervisor of the program ended without a result") from None


async def _wait(supervisor: asyncio.subprocess.Process) -> None:
    """A supervisor whose input has ended ends its program first; it is killed only if that takes too long."""
    try:
        async with asyncio.timeout(END_S):
            await asyncio.shield(supervisor.wait())
    except TimeoutError:
        with suppress(ProcessLookupError):
            supervisor.kill()


def _tell(action: CommandAction, told: dict[str, Any], out: bytes, err: bytes, progress: CallProgress) -> None:
    is_cut = told["seen"] > len(out)
    if out:
        progress.body = Body(out, _type_of(out), is_cut, told["seen"])
    hides = any(each.secret for each in action.environment)
    shown = clean_text(err.decode("utf-8", "replace"), len(err))
    if hides and len(err) >= STDERR_KEPT:
        shown = _without_first_word(shown)
    if shown:
        progress.headers = (("stderr", shown),)
    status = told["status"]
    if status is not None:
        progress.status_code = status if status >= 0 else 128 - status
    line = " ".join(shown.split())
    last = line[-STDERR_SHOWN:]
    if hides and last != line:
        last = _without_first_word(last)
    end = f": {last}" if last else ""
    match told["ended"]:
        case "start":
            progress.status_code = None
            raise CallFault("start", f"{program_of(action)} could not be started: {told['fault']}")
        case "deadline":
            raise CallFault("deadline", f"no end within {action.timeout_ms} ms; the program was ended{end}")
        case "output":
            raise CallFault("output", f"the program printed {told['seen']:,} bytes and was ended; let it print less")
        case "worker":
            raise CallFault("lost", "the worker gave the program up; it was ended")
    accepted = action.exit_codes or (0,)
    if progress.status_code not in accepted:
        wanted = ", ".join(map(str, accepted))
        raise CallFault("exit_code", f"exit code {progress.status_code}; expected {wanted}{end}")


def _without_first_word(text: str) -> str:
    """A text whose beginning was cut off may begin within a secret, which is not recognised then."""
    return "".join(text.split(maxsplit=1)[1:])


def _type_of(out: bytes) -> str:
    try:
        msgspec.json.decode(out)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return "text/plain; charset=utf-8"
    return "application/json"

"""Call functions whose work grows with untrusted input in child processes that can be killed.

Reading YAML, checking expressions and replaying a workflow block an interpreter while they run. In the process that
serves and schedules they would stop everything else, and shutdown would wait for them. Here each call has a limit of
CPU time and of memory; a process that exceeds one is killed, and the caller gets an error. A machine busy with other
work makes a call slower, but no document invalid.

A tenant runs one call at a time and has a budget of seconds that refills, so no tenant delays the others. The functions
are module-level functions of ours: both sides use pickle.
"""

import asyncio
import math
import os
import pickle
import signal
import sys
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import ParamSpec, TypeVar

import structlog

from mainspring.domain.errors import InvalidInput, MainspringError, TooManyRequests
from mainspring.outbound.sandbox_child import HEADER, Answer, prepare
from mainspring.ports.outbound import Sandbox

SECONDS_MAX = 10.0  # CPU seconds
BUSY_S = 50.0  # callers wait no longer than this in wall time
PROCESSES = 2
IDLE_S = 60.0
ENDED_S = 5.0
WAITING_MAX = 4  # waiting calls of one tenant, besides the running one
BUDGET_S = 30.0  # seconds of work a tenant can use at once
REFILL = 0.5  # seconds of work regained per second
TENANTS_MAX = 10_000
INLINE_BYTES_MAX = 100_000  # unpacked in about a millisecond; larger results are unpacked in a thread

P = ParamSpec("P")
T = TypeVar("T")

log = structlog.get_logger()


class ProcessSandbox:
    """Runs functions in child processes, with limits per call and per tenant."""

    def __init__(self, seconds_max: float = SECONDS_MAX, monotonic_s: Callable[[], float] = time.monotonic) -> None:
        self._seconds_max = seconds_max
        self._monotonic_s = monotonic_s
        self._places = asyncio.Semaphore(PROCESSES)
        self._stopping = asyncio.Event()
        self._idle: list[_Child] = []
        self._tenants: OrderedDict[str, _Tenant] = OrderedDict()

    async def call(self, tenant_id: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.call_within(self._seconds_max, tenant_id, function, *args, **kwargs)

    async def call_within(
        self, seconds: float, tenant_id: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        tenant = self._enter(tenant_id)
        try:
            async with tenant.turn, self._places:
                self._refuse_spent(tenant_id, tenant)
                child = await self._ready(function)
                started = self._monotonic_s()
                try:
                    return await self._call(child, seconds, function, args, kwargs)
                finally:
                    tenant.spend(self._monotonic_s() - started, self._monotonic_s())
        finally:
            tenant.waiting -= 1

    def unmetered(self) -> "Sandbox":
        """The same processes for the installation itself, without a budget."""
        return _Unmetered(self)

    async def run(self) -> None:
        """Runs as a worker: waits for the stop, then ends the child processes."""
        await self._stopping.wait()
        await self.aclose()

    def stop(self) -> None:
        self._stopping.set()

    async def aclose(self) -> None:
        """Ends the idle processes. A cancelled call ends its own."""
        while self._idle:
            await self._idle.pop().end()

    def _enter(self, tenant_id: str) -> "_Tenant":
        tenant = self._tenants.setdefault(tenant_id, _Tenant(self._monotonic_s()))
        self._tenants.move_to_end(tenant_id)
        while len(self._tenants) > TENANTS_MAX and not next(iter(self._tenants.values())).waiting:
            self._tenants.popitem(last=False)
        if tenant_id and tenant.waiting > WAITING_MAX:
            raise TooManyRequests(
                f"{tenant.waiting} documents or replays of this tenant are being read; wait until one is done",
                retry_after_s=1,
            )
        self._refuse_spent(tenant_id, tenant)
        tenant.waiting += 1
        return tenant

    def _refuse_spent(self, tenant_id: str, tenant: "_Tenant") -> None:
        left = tenant.left(self._monotonic_s())
        if tenant_id and left <= 0:
            wait_s = max(1, math.ceil((1 - left) / REFILL))
            raise TooManyRequests(
                f"this tenant has used its {BUDGET_S:g} s for reading documents and replaying; wait "
                f"{wait_s} s, or send smaller documents",
                retry_after_s=wait_s,
            )

    async def _ready(self, function: Callable[..., object]) -> "_Child":
        """A process with its imports done: starting it counts neither as work of a tenant nor as time of a call."""
        if self._idle:
            child = self._idle.pop()
            child.wake()
            return child
        child = await _start(self._forget)
        try:
            async with asyncio.timeout(BUSY_S):
                await child.ask(pickle.dumps((0, prepare, (function,), {})))
        except BaseException as fault:
            await child.end()
            if isinstance(fault, TimeoutError):
                raise _busy() from None
            raise
        return child

    async def _call(
        self,
        child: "_Child",
        seconds: float,
        function: Callable[..., T],
        args: tuple[object, ...],
        kwargs: dict[str, object],
    ) -> T:
        try:
            async with asyncio.timeout(seconds + BUSY_S):
                answer = await child.ask(pickle.dumps((seconds, function, args, kwargs)))
        except TimeoutError:
            await child.end()
            log.warning("sandbox timeout", function=function.__name__, seconds=seconds + BUSY_S)
            raise _busy() from None
        except (asyncio.IncompleteReadError, ConnectionError):
            is_late = await child.ended() == -signal.SIGPROF
            log.warning("sandbox timeout" if is_late else "sandbox ended", function=function.__name__)
            what = (
                f"this took longer than {seconds:g} s to read"
                if is_late
                else "this needed more memory than allowed, or crashed its process"
            )
            raise InvalidInput(f"{what}; make it smaller or simpler", field="document") from None
        except BaseException:
            await child.end()
            raise
        if self._stopping.is_set():
            await child.end()
        else:
            child.rest()
            self._idle.append(child)
        return _taken(answer)

    def _forget(self, child: "_Child") -> None:
        if child in self._idle:
            self._idle.remove(child)


class _Unmetered:
    def __init__(self, sandbox: ProcessSandbox) -> None:
        self._sandbox = sandbox

    async def call(self, tenant_id: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._sandbox.call("", function, *args, **kwargs)

    async def call_within(
        self, seconds: float, tenant_id: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return await self._sandbox.call_within(seconds, "", function, *args, **kwargs)


class _Tenant:
    def __init__(self, at: float) -> None:
        self.turn = asyncio.Semaphore(1)
        self.waiting = 0
        self._left, self._at = BUDGET_S, at

    def left(self, now: float) -> float:
        return min(BUDGET_S, self._left + (now - self._at) * REFILL)

    def spend(self, seconds: float, now: float) -> None:
        self._left, self._at = self.left(now) - seconds, now


class _Child:
    """One child process; it serves one call at a time and ends after it has been idle for a while."""

    def __init__(self, process: asyncio.subprocess.Process, forget: "Callable[[_Child], None]") -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._input, self._output = process.stdin, process.stdout
        self._forget = forget
        self._timer: asyncio.TimerHandle | None = None

    async def ask(self, wanted: bytes) -> Answer:
        self._input.write(HEADER.pack(len(wanted)) + wanted)
        await self._input.drain()
        (length,) = HEADER.unpack(await self._output.readexactly(HEADER.size))
        answered = await self._output.readexactly(length)
        if length <= INLINE_BYTES_MAX:
            answer: Answer = pickle.loads(answered)  # from our child process
            return answer
        return await asyncio.to_thread(pickle.loads, answered)

    def rest(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(IDLE_S, self._leave)

    def wake(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _leave(self) -> None:
        self._forget(self)
        self._input.close()  # it exits when its input ends

    async def ended(self) -> int:
        """The exit status, negative for a signal, once it has closed its output. Killing it would hide that."""
        with suppress(TimeoutError):
            async with asyncio.timeout(ENDED_S):
                await self._process.wait()
        await self.end()
        return self._process.returncode or 0

    async def end(self) -> None:
        self.wake()
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.kill()
        self._input.close()
        await self._process.wait()


async def _start(forget: Callable[[_Child], None]) -> _Child:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAINSPRING_")}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "mainspring.outbound.sandbox_child",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=environment,
        start_new_session=True,  # Ctrl-C is for the parent
    )
    return _Child(process, forget)


def _busy() -> TooManyRequests:
    return TooManyRequests(
        f"the server is too busy to read this within {BUSY_S:g} s; try again later", retry_after_s=int(BUSY_S)
    )


def _taken(answer: Answer) -> T:  # type: ignore[type-var]  # what the function returned
    kind, value, *rest = answer
    if kind == "done":
        return value  # type: ignore[return-value]  # of the function we sent
    if kind == "refused":
        refused: type[MainspringError] = value  # type: ignore[assignment]  # the class of the refusal
        fault = refused.__new__(refused)
        fault.args, state = rest  # type: ignore[assignment]  # as it was raised there
        fault.__dict__.update(state)  # type: ignore[call-overload]  # its fields
        raise fault
    raise RuntimeError(f"a function failed in its sandbox: {value}")

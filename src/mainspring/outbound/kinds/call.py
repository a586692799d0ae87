"""One call of a kind other than `http`: its progress, its errors, and its outcome.

The facts of a call are a JSON object, which is the body of its outcome. So conditions, rules, history and pages read
them as they read the body of an HTTP response.

    blocked   invalid_request, blocked_address, secret, not_allowed, unsupported (nothing was sent or started)
    timeout   deadline
    failure   dns, connect, tls, closed, unexpected, condition, and what a kind adds
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from mainspring.domain.expressions import condition
from mainspring.domain.run import NOT_ALLOWED, Action, Body, Outcome, Phases, RunStatus
from mainspring.domain.text import clean_text

ERROR_CHARS_MAX = 500
JUDGED_INLINE_BYTES_MAX = 50_000
JSON = "application/json"
BLOCKED = frozenset({"invalid_request", "blocked_address", "secret", "unsupported", NOT_ALLOWED})


class CallFault(Exception):
    """Why a call failed, with a code for programs."""

    def __init__(self, code: str, words: str) -> None:
        super().__init__(words)
        self.code = code


class CallProgress:
    """The progress of a call. It is read when the call ends, even if the deadline ended it."""

    def __init__(self) -> None:
        self._time = asyncio.get_running_loop().time
        self._started_at = self._time()
        self.marks: dict[str, int] = {}
        self.address: str | None = None
        self.facts: dict[str, Any] = {}
        self.status_code: int | None = None
        self.body: Body | None = None  # replaces the facts
        self.headers: tuple[tuple[str, str], ...] = ()
        self.waits_for = "the call to end"  # in the message of a passed deadline
        self.warning: tuple[str, str] | None = None  # code and message of what is wrong with a call that succeeded
        self.is_cut = False
        self.bytes_seen = 0

    def elapsed_us(self) -> int:
        return int((self._time() - self._started_at) * 1_000_000)

    def mark(self, phase: str) -> None:
        """The phase has just ended: `dns_us`, `connect_us`, `tls_us`, `first_byte_us`."""
        self.marks[phase] = self.elapsed_us()

    def phases(self) -> Phases:
        """Cumulative, as libcurl reports them: a phase that did not happen ends with the one before it."""
        latest, found = 0, {}
        for name in ("dns_us", "connect_us", "tls_us", "first_byte_us"):
            latest = found[name] = self.marks.get(name, latest if self.marks else 0)
        return Phases(**found, total_us=self.elapsed_us())


_judging: dict[asyncio.AbstractEventLoop, asyncio.Lock] = {}


async def run_call(action: Action, work: Callable[[CallProgress], Awaitable[None]], *, beyond_s: float = 0) -> Outcome:
    """Runs `work` within the deadline of the action and returns its outcome. Only cancellation raises.

    Work that ends itself at the deadline gets `beyond_s` more for that.
    """
    progress = CallProgress()
    fault: CallFault | None = None
    try:
        async with asyncio.timeout(action.timeout_ms / 1_000 + beyond_s):
            await work(progress)
    except TimeoutError:
        fault = CallFault("deadline", f"no end within {action.timeout_ms} ms: waited for {progress.waits_for}")
    except CallFault as found:
        fault = found
    phases = progress.phases()
    duration_ms = (phases.total_us + 500) // 1_000
    body = progress.body or _as_body(progress)
    if fault is None and action.condition is not None:
        fault = await _judged(action, progress, body, duration_ms)
    status = _status(None if fault is None else fault.code)
    if fault is None and progress.warning is not None:
        fault = CallFault(*progress.warning)
    code = None if fault is None else fault.code
    return Outcome(
        status,
        duration_ms,
        progress.status_code,
        code,
        None if fault is None else clean_text(str(fault), ERROR_CHARS_MAX),
        body,
        progress.headers,
        phases,
        None,
        progress.address,
    )


def blocked(code: str, words: str) -> Outcome:
    """The outcome of a call that was not made."""
    return Outcome(RunStatus.BLOCKED, 0, error_code=code, error=clean_text(f"not called: {words}", ERROR_CHARS_MAX))


def fitted(text: str, cap: int) -> str:
    """As much of a text as fits into `cap` bytes of JSON."""
    size = len(msgspec.json.encode(text)) - 2
    while size > cap:
        text = text[: min(len(text) - 1, len(text) * cap // size)]
        size = len(msgspec.json.encode(text)) - 2
    return text


def _as_body(progress: CallProgress) -> Body | None:
    facts: Mapping[str, Any] = progress.facts
    if not facts:
        return None
    data = msgspec.json.encode(facts)
    return Body(data, JSON, progress.is_cut, progress.bytes_seen or len(data))


async def _judged(action: Action, progress: CallProgress, body: Body | None, duration_ms: int) -> CallFault | None:
    """None if the condition is true. Judging a large result takes tens of milliseconds: one in each turn."""
    assert action.condition is not None
    data = body.data if body is not None else b""
    code = progress.status_code or 0
    if len(data) > JUDGED_INLINE_BYTES_MAX:
        lock = _judging.setdefault(asyncio.get_running_loop(), asyncio.Lock())
        async with lock:
            await asyncio.sleep(0)
            answer = condition.evaluate(action.condition, code, progress.headers, data, duration_ms)
    else:
        answer = condition.evaluate(action.condition, code, progress.headers, data, duration_ms)
    if answer is True:
        return None
    words = f"the condition is false: {action.condition}" if answer is False else f"the condition failed: {answer}"
    return CallFault("condition", words)


def _status(code: str | None) -> RunStatus:
    if code is None:
        return RunStatus.SUCCESS
    if code == "deadline":
        return RunStatus.TIMEOUT
    return RunStatus.BLOCKED if code in BLOCKED else RunStatus.FAILURE

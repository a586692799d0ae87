"""`mainspring explain`: states as JSON lines in, decisions as JSON lines out. No database, no clock: pure what-if.

in   {"now": "2025-01-01T00:00:00Z", "endpoint": {"id": "e1", "baseline_interval_ms": 60000}}
out  {"next_run_at": "2025-01-01T00:01:00Z", "source": "baseline-interval", "trail": [...]}

One line out for each line in, written immediately; a line that cannot be explained gets `{"error": "..."}` in its place
and the rest continues. Fields that are missing or null take their defaults; unknown fields are ignored.
"""

import re
import sys
from datetime import UTC, datetime
from typing import BinaryIO

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from mainspring.cli.arguments import read_instant
from mainspring.cli.output import harmless
from mainspring.domain.duration import DURATION_MS_MAX, format_duration
from mainspring.domain.endpoint import BackoffPolicy, Endpoint
from mainspring.domain.errors import InvalidInput, did_you_mean
from mainspring.domain.instant import rfc3339
from mainspring.domain.name import shown
from mainspring.domain.run import HttpAction
from mainspring.domain.schedule.cron import CRON, check_cron, check_timezone
from mainspring.domain.schedule.governor import plan_next_run
from mainspring.domain.schedule.hint import IntervalHint, OneShotHint
from mainspring.domain.text import clean_text

LINE_BYTES_MAX = 1_000_000
NOW_MIN, NOW_MAX = datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)
FAILURES_MAX = 1_000_000_000
REASON_CHARS_MAX = 1_000

Number = int | float | None


class IntervalHintState(Struct):
    interval_ms: Number = None
    expires_at: str | None = None
    reason: str | None = None
    author: str | None = None


class OneShotHintState(Struct):
    next_run_at: str | None = None
    expires_at: str | None = None
    reason: str | None = None
    author: str | None = None


class HintStates(Struct):
    interval: IntervalHintState | None = None
    one_shot: OneShotHintState | None = None


class EndpointState(Struct):
    id: str | None = None
    baseline_interval_ms: Number = None
    baseline_cron: str | None = None
    timezone: str | None = None
    min_interval_ms: Number = None
    max_interval_ms: Number = None
    paused_until: str | None = None
    failure_count: Number = None
    backoff: str | None = None
    hints: HintStates | None = None


class ExplainInput(Struct):
    now: str
    endpoint: EndpointState


_decode = msgspec.json.Decoder(ExplainInput).decode
_encode = msgspec.json.Encoder().encode
_WRONG_TYPE = re.compile(r"Expected `(.+)`, got `(.+?)`(?: - at `\$\.?(.*)`)?")
_MISSING = re.compile(r"Object missing required field `(.+?)`.*")
_TYPE_WORDS = {
    "int": "a number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
}
_BLANK = Endpoint("", HttpAction(""), spread=False)


def explain_lines(lines: BinaryIO, answers: BinaryIO) -> None:
    while line := lines.readline(LINE_BYTES_MAX + 1):
        if len(line) > LINE_BYTES_MAX and not line.endswith(b"\n"):
            while rest := lines.readline(LINE_BYTES_MAX):
                if rest.endswith(b"\n"):
                    break
        answers.write(explain_line(line))
        answers.write(b"\n")
        answers.flush()


def explain_line(line: bytes) -> bytes:
    try:
        answer = _encode(_explained(line))
    except InvalidInput as refusal:
        answer = _encode({"error": str(refusal)})
    except Exception as fault:  # the outermost loop: an error in one line must not stop the next
        answer = _encode({"error": f"this line cannot be explained: {type(fault).__name__}: {shown(str(fault))}"})
    return answer if answer.isascii() else harmless(answer.decode()).encode()


def _explained(line: bytes) -> dict[str, object]:
    state = _read(line)
    now = read_instant(state.now, "now")
    if not NOW_MIN <= now < NOW_MAX:
        raise InvalidInput(
            f"now '{state.now}' is outside the years 1970 to 9998; give a time in that range", field="now"
        )
    decision = plan_next_run(now, _endpoint(state.endpoint), CRON)
    return {
        "next_run_at": rfc3339(decision.next_run_at),
        "source": decision.source,
        "trail": [
            {"rule": step.rule, "at": step.at and rfc3339(step.at), "verdict": step.verdict, "why": step.why}
            for step in decision.trail
        ],
    }


def _read(line: bytes) -> ExplainInput:
    if len(line) > LINE_BYTES_MAX:
        raise InvalidInput(f"the line is longer than {LINE_BYTES_MAX:,} bytes; shorten it", field="line")
    if not line.strip():
        raise InvalidInput('the line is empty; write {"now": ..., "endpoint": {...}} on it', field="line")
    try:
        return _decode(line.removeprefix(b"\xef\xbb\xbf"))
    except msgspec.ValidationError as fault:
        raise InvalidInput(_type_fault(str(fault)), field="line") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        reason = str(fault).removeprefix("JSON is malformed: ")
        raise InvalidInput(f"the line is not JSON: {reason}; write one JSON object a line", field="line") from None
    except RecursionError:
        raise InvalidInput("the line is nested too deeply; write one flat JSON object a line", field="line") from None


def _endpoint(state: EndpointState) -> Endpoint:
    endpoint_id, zone = state.id or "", state.timezone or "UTC"
    interval_ms = _whole(state.baseline_interval_ms, "baseline_interval_ms", 1, DURATION_MS_MAX)
    if (interval_ms is None) == (state.baseline_cron is None):
        which = "neither baseline_interval_ms nor baseline_cron" if interval_ms is None else "both"
        raise InvalidInput(
            f"{which} given; an endpoint has one schedule: give baseline_interval_ms or baseline_cron, not both",
            field="schedule",
        )
    check_timezone(zone)
    if state.baseline_cron is not None:
        check_cron(state.baseline_cron, zone, endpoint_id=endpoint_id)
    least = _whole(state.min_interval_ms, "min_interval_ms", 0, DURATION_MS_MAX) or None
    most = _whole(state.max_interval_ms, "max_interval_ms", 0, DURATION_MS_MAX) or None
    if least is not None and most is not None and least > most:
        raise InvalidInput(
            f"min_interval_ms {least} is above max_interval_ms {most}; no run could satisfy both: "
            "lower the one or raise the other",
            field="min_interval_ms",
        )
    hints = state.hints or HintStates()
    return replace(
        _BLANK,
        id=endpoint_id,
        interval_ms=interval_ms,
        cron=state.baseline_cron,
        timezone=zone,
        min_interval_ms=least,
        max_interval_ms=most,
        paused_until=_instant(state.paused_until, "paused_until"),
        failure_count=_whole(state.failure_count, "failure_count", 0, FAILURES_MAX) or 0,
        backoff=_backoff(state.backoff),
        interval_hint=_interval_hint(hints.interval),
        one_shot_hint=_one_shot_hint(hints.one_shot),
    )


def _interval_hint(state: IntervalHintState | None) -> IntervalHint | None:
    """A hint whose parts are null is ignored. Whether its interval is within bounds is decided by the governor."""
    if state is None or (state.interval_ms is None and state.expires_at is None):
        return None
    interval_ms = _whole(state.interval_ms, "hints.interval.interval_ms", 1, DURATION_MS_MAX)
    expires_at = _instant(state.expires_at, "hints.interval.expires_at")
    if interval_ms is None or expires_at is None:
        raise _half_a_hint("interval", "interval_ms")
    return IntervalHint(interval_ms, expires_at, _words(state.reason), _words(state.author) or "a hint")


def _one_shot_hint(state: OneShotHintState | None) -> OneShotHint | None:
    if state is None or (state.next_run_at is None and state.expires_at is None):
        return None
    next_run_at = _instant(state.next_run_at, "hints.one_shot.next_run_at")
    expires_at = _instant(state.expires_at, "hints.one_shot.expires_at")
    if next_run_at is None or expires_at is None:
        raise _half_a_hint("one_shot", "next_run_at")
    return OneShotHint(next_run_at, expires_at, _words(state.reason), _words(state.author) or "a hint")


def _half_a_hint(kind: str, what: str) -> InvalidInput:
    return InvalidInput(
        f"hints.{kind} is half a hint; it has {what} and expires_at: give both, or null for no hint", field="hints"
    )


def _whole(value: Number, field: str, low: int, high: int) -> int | None:
    """A whole number within bounds; 60000.0 is one."""
    if value is None:
        return None
    if not low <= value <= high or value != int(value):
        unit = " ms" if field.endswith("_ms") else ""
        most = f" ({format_duration(high)})" if unit else ""
        raise InvalidInput(
            f"{field} {shown(value)} is not a whole number from {low} to {high}{unit}{most}; correct it", field=field
        )
    return int(value)


def _instant(text: str | None, field: str) -> datetime | None:
    return None if text is None else read_instant(text, field)


def _words(text: str | None) -> str:
    return clean_text(text or "", REASON_CHARS_MAX)


def _backoff(text: str | None) -> BackoffPolicy:
    if text is None:
        return BackoffPolicy.DEFAULT
    known = tuple(BackoffPolicy)
    if text not in known:
        raise InvalidInput(
            f"unknown backoff '{shown(text)}'{did_you_mean(text, known) or ';'} choose one of {', '.join(known)}",
            field="backoff",
        )
    return BackoffPolicy(text)


def _type_fault(message: str) -> str:
    """msgspec's message in our words: `endpoint.timezone is a number; it must be text or null`."""
    if missing := _MISSING.fullmatch(message):
        return f"{missing[1]} is missing; give it"
    if wrong := _WRONG_TYPE.fullmatch(message):
        wanted = dict.fromkeys(_TYPE_WORDS.get(word, word) for word in wrong[1].split(" | "))
        return f"{wrong[3] or 'the line'} is {_TYPE_WORDS.get(wrong[2], wrong[2])}; it must be {' or '.join(wanted)}"
    return f"{message}; correct the line"


def main() -> None:
    explain_lines(sys.stdin.buffer, sys.stdout.buffer)

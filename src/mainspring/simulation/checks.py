"""Check the promises of a scenario against its trace. Each check reports what it examined and where it failed.

A check is a mapping: `{check: gaps, endpoint: traffic, from: 5, to: 9, at_least: 19s, at_most: 21s}`. Times are minutes
since the start, spans are durations; `endpoint` names one, `group` all of a group.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from itertools import pairwise

from msgspec import Struct

from mainspring.domain.duration import format_duration, parse_duration_ms
from mainspring.domain.errors import InvalidInput, did_you_mean
from mainspring.domain.instant import FOREVER
from mainspring.simulation.scenario import Scenario
from mainspring.simulation.trace import PlayedRun, Trace

TOLERANCE_MS = 1_000  # time between a decision and the start of its run
ENDED = ("success", "failure", "timeout", "blocked")


class CheckResult(Struct, frozen=True):
    check: str
    ok: bool
    detail: str


class ScenarioCheck(Struct, frozen=True):
    """One check with its arguments, parsed on access."""

    scenario: Scenario
    given: Mapping[str, object]

    def span_ms(self, key: str, default: int | None = None) -> int:
        value = self.given.get(key)
        if value is None:
            if default is None:
                raise _refused(self.given, f"{key} is missing; give a duration such as 30s")
            return default
        return parse_duration_ms(value, field=key, min_ms=0)

    def number(self, key: str, default: float) -> float:
        value = self.given.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise _refused(self.given, f"{key} is {value!r}; give a number")
        return float(value)

    def names(self) -> list[str]:
        endpoint, group = self.given.get("endpoint"), self.given.get("group")
        entries = [
            name
            for name, target in self.scenario.endpoints.items()
            if (endpoint is None and group is None) or name == endpoint or (group is not None and target.group == group)
        ]
        if not entries:
            raise _refused(self.given, "it has no endpoint or group of the scenario")
        return [name for entry in entries for name in self.scenario.names_of(entry)]


def check_trace(trace: Trace) -> list[CheckResult]:
    """Runs every check of the scenario, in order."""
    return [_checked(trace, given) for given in trace.scenario.checks]


def _checked(trace: Trace, given: Mapping[str, object]) -> CheckResult:
    kind = str(given.get("check"))
    if kind not in CHECKS:
        raise _refused(given, f"unknown check {kind!r}{did_you_mean(kind, tuple(CHECKS))}")
    faults = list(CHECKS[kind](trace, ScenarioCheck(trace.scenario, given)))
    words = " ".join(f"{key}={value}" for key, value in given.items() if key != "check")
    return CheckResult(f"{kind} {words}".strip(), not faults, "; ".join(faults[:5]))


def _runs(trace: Trace, name: str, begin: float = 0, end: float = 1e9) -> list[PlayedRun]:
    return [run for run in trace.runs if run.endpoint == name and begin <= trace.minute(run.started_at) < end]


def _gaps(trace: Trace, wish: ScenarioCheck) -> Iterator[str]:
    """Runs that start within the minutes are this far apart; a `share` of them, otherwise all."""
    least, most = wish.span_ms("at_least", 0), wish.span_ms("at_most", 1 << 50)
    begin, end = wish.number("from", 0), wish.number("to", trace.scenario.minutes)
    for name in wish.names():
        runs = _runs(trace, name, begin, end)
        if len(runs) < 2:
            yield f"{name} ran {len(runs)} times in the minutes {begin:g} to {end:g}"
            continue
        gaps = [(second.slot_at - first.slot_at, second) for first, second in pairwise(runs)]
        bad = [(gap, run) for gap, run in gaps if not least <= gap / timedelta(milliseconds=1) <= most]
        if len(bad) > (1 - wish.number("share", 1.0)) * len(gaps):
            for gap, run in bad:
                yield f"{name} at minute {trace.minute(run.started_at):.2f} came after {_span(gap)}"


def _runs_within(trace: Trace, wish: ScenarioCheck) -> Iterator[str]:
    minute, seconds = wish.number("minute", 0), wish.number("seconds", 60)
    for name in wish.names():
        if not _runs(trace, name, minute, minute + seconds / 60):
            later = _runs(trace, name, minute)
            when = f"not before minute {trace.minute(later[0].started_at):.2f}" if later else "not at all"
            yield f"{name} ran {when}"


def _once_per(trace: Trace, wish: ScenarioCheck) -> Iterator[str]:
    cooldown = timedelta(milliseconds=wish.span_ms("cooldown") - TOLERANCE_MS)
    for name in wish.names():
        for first, second in pairwise(_runs(trace, name)):
            if second.started_at - first.started_at < cooldown:
                yield f"{name} ran again after {_span(second.started_at - first.started_at)}"


def _run_count(trace: Trace, wish: ScenarioCheck) -> Iterator[str]:
    begin, end = wish.number("from", 0), wish.number("to", 1e9)
    for name in wish.names():
        count = len(_runs(trace, name, begin, end))
        if not wish.number("at_least", 0) <= count <= wish.number("at_most", 1e9):
            yield f"{name} ran {count} times"


def _no_runs(trace: Trace, wish: ScenarioCheck) -> Iterator[str]:
    for name in wish.names():
        for run in _runs(trace, name, wish.number("from", 0), wish.number("to", 1e9)):
            yield f"{name} ran at minute {trace.minute(run.started_at):.2f}"


def _asleep(trace: Trace, wish: ScenarioCheck) -> Iterator[str]:
    at = trace.scenario.start + timedelta(minutes=wish.number("minute", 0))
    for name in wish.names():
        if not any(begin <= at < end for begin, end in pauses_of(trace, name)):
            yield f"{name} is awake at minute {wish.number('minute', 0):g}"


def _source_count(trace: Trace, wish: ScenarioCheck) -> Iterator[str]:
    source = wish.given.get("source")
    count = sum(1 for run in trace.runs if run.source == source)
    if not wish.number("at_least", 0) <= count <= wish.number("at_most", 1e9):
        yield f"{count} runs came from {source}"


def _limits_hold(trace: Trace, wish: ScenarioCheck) -> Iterator[str]:
    """Slots of the schedule are never closer than min_interval nor, unless it sleeps, further apart than
    max_interval.
    """
    limits = {endpoint.name: (endpoint.min_interval_ms, endpoint.max_interval_ms) for endpoint in trace.endpoints}
    for name in wish.names():
        least, most = limits[name]
        pauses = pauses_of(trace, name)
        planned = [run for run in _runs(trace, name) if run.trigger == "schedule"]
        for first, second in pairwise(planned):
            gap = second.slot_at - first.slot_at
            if least is not None and gap < timedelta(milliseconds=least):
                yield f"{name} at minute {trace.minute(second.started_at):.2f}: only {_span(gap)} after the last run"
            longest = timedelta(milliseconds=most or 0) + _duration(first) + timedelta(milliseconds=TOLERANCE_MS)
            slept = any(begin < second.slot_at and end > first.slot_at for begin, end in pauses)
            if most is not None and gap > longest and not slept:
                yield f"{name} at minute {trace.minute(second.started_at):.2f}: {_span(gap)} after the previous run"


def _pauses_hold(trace: Trace, wish: ScenarioCheck) -> Iterator[str]:
    for name in wish.names():
        pauses = pauses_of(trace, name)
        for run in _runs(trace, name):
            if run.trigger == "schedule" and any(begin < run.started_at < end for begin, end in pauses):
                yield f"{name} ran at minute {trace.minute(run.started_at):.2f} although it was paused"


def _on_time(trace: Trace, wish: ScenarioCheck) -> Iterator[str]:
    """Never early, and at most this late, from the slot to the start."""
    most = timedelta(milliseconds=wish.span_ms("at_most"))
    for name in wish.names():
        for run in _runs(trace, name, wish.number("from", 0), wish.number("to", 1e9)):
            if not timedelta(0) <= run.started_at - run.slot_at <= most and run.trigger == "schedule":
                yield f"{name} started {_span(run.started_at - run.slot_at)} after its slot"


def _slots_once(trace: Trace, wish: ScenarioCheck) -> Iterator[str]:
    """Every started slot ended once, even if workers died; the last one may still be running."""
    for name in wish.names():
        runs = [run for run in _runs(trace, name) if run.status != "missed"]
        for slot in dict.fromkeys(run.slot_at for run in runs):
            ended = [run for run in runs if run.slot_at == slot and run.status in ENDED]
            is_last = slot == runs[-1].slot_at
            if len(ended) > 1 or (not ended and not is_last):
                yield f"{name}'s slot at minute {trace.minute(slot):.2f} ended {len(ended)} times"


def _statuses(trace: Trace, wish: ScenarioCheck) -> Iterator[str]:
    """In these minutes every run has one of these statuses."""
    allowed = wish.given.get("are")
    for name in wish.names():
        for run in _runs(trace, name, wish.number("from", 0), wish.number("to", 1e9)):
            if not isinstance(allowed, list) or run.status not in allowed:
                yield f"{name} at minute {trace.minute(run.started_at):.2f} was {run.status}"


CHECKS: dict[str, Callable[[Trace, ScenarioCheck], Iterator[str]]] = {
    "gaps": _gaps,
    "runs_within": _runs_within,
    "once_per": _once_per,
    "run_count": _run_count,
    "no_runs": _no_runs,
    "asleep": _asleep,
    "source_count": _source_count,
    "limits_hold": _limits_hold,
    "pauses_hold": _pauses_hold,
    "on_time": _on_time,
    "slots_once": _slots_once,
    "statuses": _statuses,
}


def pauses_of(trace: Trace, name: str) -> list[tuple[datetime, datetime]]:
    """The periods in which an endpoint was paused, according to its events."""
    pauses: list[tuple[datetime, datetime]] = []
    for each in trace.decisions:
        if each.endpoint != name or each.type not in ("endpoint.paused", "endpoint.resumed"):
            continue
        if pauses and pauses[-1][1] > each.at:
            pauses[-1] = (pauses[-1][0], each.at)
        if each.type == "endpoint.paused":
            until = each.data.get("until")
            pauses.append((each.at, datetime.fromisoformat(until) if isinstance(until, str) else FOREVER))
    return pauses


def _duration(run: PlayedRun) -> timedelta:
    return timedelta(0) if run.finished_at is None else run.finished_at - run.started_at


def _span(gap: timedelta) -> str:
    return format_duration(gap // timedelta(milliseconds=1))


def _refused(given: Mapping[str, object], what: str) -> InvalidInput:
    return InvalidInput(f"check {dict(given)}: {what}", field="checks")

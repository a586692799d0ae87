"""Logs, proofs and replays of executions as all interfaces show them, and log entries in words."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Literal, Self, cast

from pydantic import Field, JsonValue

from mainspring.operations.replay import ExecutionComparison, StepState
from mainspring.operations.verification import Verified
from mainspring.views.execution import STATUS, ExecutionValues, waiting
from mainspring.views.sentences import clock as clock_text
from mainspring.views.view import At, View
from mainspring.views.workflow import plain
from mainspring.workflow.audit import revive
from mainspring.workflow.bundle import Bundle, BundleVerdict
from mainspring.workflow.model import ExecutionState, LogEntry, LogicalClock
from mainspring.workflow.replay import ExecutionReplay, Simulation
from mainspring.workflow.step_secrets import shown as without_sealed

TEXT_MAX = 200


class TimelineEntryView(View):
    number: int
    tick: int
    at: At
    step: str
    action: str
    actor: str
    until_at: At | None = Field(
        description="When the wait that started here ends, or the delay before the next attempt."
    )
    text: str = Field(description="What happened, in words.")

    @classmethod
    def of(cls, entry: LogEntry, clock: LogicalClock) -> Self:
        """An entry in words."""
        given = _value(entry.input)
        until_tick = _until_tick(_value(entry.output))
        return cls.from_value(
            entry,
            at=tick_at(clock, entry.tick),
            actor=str(given.get("actor", "")) if isinstance(given, dict) else "",
            until_at=None if until_tick is None else tick_at(clock, until_tick),
            text=sentence(entry, clock),
        )


class LogEntryView(View):
    number: int
    tick: int
    at: At
    step: str
    action: str
    input: JsonValue
    output: JsonValue
    erased: bool
    input_hash: str
    output_hash: str
    context: str
    previous: str
    hash: str

    @classmethod
    def of(cls, entry: LogEntry, clock: LogicalClock) -> Self:
        return cls.from_value(
            entry,
            at=tick_at(clock, entry.tick),
            input=_value(entry.input),
            output=_value(entry.output),
            erased=entry.input is None,
        )


class ExecutionStateView(ExecutionValues):
    """The state of an execution at a tick."""

    status: STATUS
    step: str
    outcome: str
    error: str
    waits_for: Literal["", "time", "event", "effect", "retry"]
    wake_tick: int | None
    wake_at: At | None
    entries: int
    head: str

    @classmethod
    def of_state(cls, state: ExecutionState, clock: LogicalClock, /, **others: object) -> Self:
        """`others` are the fields of a view with more of them."""
        return cls.from_value(state, entries=state.number, **waiting(state, clock), **others)


class StateAt(ExecutionStateView):
    """An execution after its last turn at or before a tick."""

    execution: str
    tick: int
    at: At
    ticks: list[int] = Field(description="Every tick in which the execution moved.")

    @classmethod
    def of(cls, found: StepState) -> Self:
        clock = found.clock
        at, ticks = tick_at(clock, clock.tick), list(found.ticks)
        return cls.of_state(found.state, clock, execution=found.execution.id, tick=clock.tick, at=at, ticks=ticks)


class BreachView(View):
    execution_id: str
    number: int
    field: str
    expected: str
    found: str


class VerdictView(View):
    valid: bool
    entries: int
    first_tick: int | None
    last_tick: int | None
    erased: int
    ticks: int = Field(description="Ticks of the partition that were checked too.")
    checkpoints: int = Field(description="Number of valid signed checkpoints.")
    breach: BreachView | None

    @classmethod
    def of(cls, found: Verified) -> Self:
        return cls.from_value(
            found.verdict,
            valid=found.valid,
            ticks=found.ticks,
            checkpoints=found.checkpoints,
            breach=found.verdict.breach or found.chain,
        )


class BundleVerdictView(View):
    """What a file of `execution export` proves."""

    execution: str
    valid: bool
    entries: int
    first_tick: int | None
    last_tick: int | None
    erased: int
    ticks: int
    signed_by: str
    identical: bool | None
    breach: BreachView | None

    @classmethod
    def of(cls, bundle: Bundle, found: BundleVerdict) -> Self:
        return cls.from_value(
            found.verdict,
            execution=bundle.execution,
            valid=found.valid,
            ticks=found.ticks,
            signed_by=found.signed_by,
            identical=None if found.replay is None else found.replay.identical,
            breach=found.verdict.breach or found.chain,
        )


class ReplayedStepView(View):
    number: int
    step: str
    original: str
    replayed: str
    identical: bool


class DifferenceView(View):
    number: int
    step: str
    field: str
    expected: str
    actual: str


class Replayed(View):
    identical: bool
    steps: list[ReplayedStepView]
    diffs: list[DifferenceView]

    @classmethod
    def of(cls, found: ExecutionReplay) -> Self:
        return cls.from_value(found, diffs=found.differences)


class ExecutionComparisonView(View):
    execution: str
    correlation: str
    version: int
    identical: bool
    differences: int
    first: DifferenceView | None
    trouble: str = Field(description="Why the replay was not possible.")

    @classmethod
    def of(cls, found: ExecutionComparison) -> Self:
        made = found.replay
        return cls.from_value(
            found,
            execution=found.execution_id,
            identical=made is not None and made.identical,
            differences=0 if made is None else len(made.differences),
            first=None if made is None or made.identical else made.differences[0],
        )


class ReplayedMany(View):
    compared: int
    identical: int
    items: list[ExecutionComparisonView]

    @classmethod
    def of(cls, found: Sequence[ExecutionComparison]) -> Self:
        items = [ExecutionComparisonView.of(each) for each in found]
        return cls(compared=len(items), identical=sum(each.identical for each in items), items=items)


class Simulated(ExecutionStateView):
    last_tick: int
    cut: bool = Field(description="The simulation stopped after 2,000 turns.")
    effects: list[dict[str, JsonValue]] = Field(description="What would have been sent.")
    timeline: list[TimelineEntryView]

    @classmethod
    def of(cls, played: Simulation, clock: LogicalClock) -> Self:
        return cls.of_state(
            played.state,
            clock,
            last_tick=played.frames[-1].tick,
            cut=played.state.ready_tick is not None and not played.state.is_over,
            effects=[plain(each) for each in played.effects],
            timeline=[TimelineEntryView.of(each, clock) for each in played.entries],
        )


def tick_at(clock: LogicalClock, tick: int) -> datetime:
    return clock.as_of(tick).instant()


def _value(text: bytes | None) -> object:
    return None if text is None else without_sealed(revive(text))


def sentence(entry: "LogEntry", clock: LogicalClock) -> str:
    """What happened, in words: timestamps, not ticks."""
    given, came = _value(entry.input), _value(entry.output)
    given, came = (given if isinstance(given, dict) else {}), (came if isinstance(came, dict) else {})
    until_tick = _until_tick(came)
    if until_tick is not None:
        came = came | {"until": clock_text(clock.as_of(until_tick).instant())}
    if entry.input is None:
        return f"{entry.action} (its values were erased)"
    data = cast("Mapping[str, object]", given.get("data") or {})
    sentence = _SENTENCES.get(entry.action)
    said = sentence(given, data, came) if sentence else entry.action
    return said if len(said) <= TEXT_MAX else said[: TEXT_MAX - 1] + "…"


Values = Mapping[str, object]


def _until_tick(came: object) -> int | None:
    """When a wait ends, or the delay before the next attempt."""
    found = came.get("until_tick", came.get("retry_at_tick")) if isinstance(came, dict) else None
    return found if isinstance(found, int) else None


def _result(given: Values, data: Values, came: Values) -> str:
    if given.get("type") == "success":
        return "it succeeded"
    how = "it is unknown whether it arrived" if given.get("type") == "unknown" else "it failed"
    again = f"; again at {came['until']}" if "until" in came else ""
    return f"{how}: {data.get('error') or data.get('code')}{again}"


def _ordered(given: Values, data: Values, came: Values) -> str:
    why = f": {data['reason']}" if data.get("reason") else ""
    return f"{given.get('actor')} ordered {given.get('type')}{why}"


def _refused(given: Values, data: Values, came: Values) -> str:
    return f"{_ordered(given, data, came)}; refused, for it was {came.get('status')} and allowed {came.get('allowed')}"


def _failed(given: Values, data: Values, came: Values) -> str:
    then = f"; goes to {came['goto']!r}" if came.get("goto") else "; it waits for a person"
    return f"failed: {came.get('error') or came.get('code')}{then}"


def _repaired(given: Values, data: Values, came: Values) -> str:
    repairs = cast("list[tuple[int, str]]", came["repairs"])
    return "the clock was repaired: " + "; ".join(f"tick 0 is {zero} from tick {tick} on" for tick, zero in repairs)


def _sent(given: Values, data: Values, came: Values) -> str:
    what = given.get("endpoint") or given.get("url") or given.get("to") or ""
    return f"to be sent to {what}, attempt {came.get('attempt')}"


_SENTENCES: dict[str, Callable[[Values, Values, Values], str]] = {
    "start": lambda given, data, came: f"started with version {given['version']}" if given["version"] else "started",
    "clock": _repaired,
    "event": lambda given, data, came: f"event {given.get('type')!r} from {given.get('actor')}",
    "event.late": lambda given, data, came: f"event {given.get('type')!r} came too late: it was {came.get('status')}",
    "event.ignored": lambda given, data, came: f"event {given.get('type')!r} ignored: {came.get('reason')}",
    "event.skipped": lambda given, data, came: f"event {came.get('event')!r} skipped: {came.get('reason')}",
    "result": _result,
    "result.late": lambda given, data, came: "a result that no step waits for any more",
    "command": _ordered,
    "command.refused": _refused,
    "wait": lambda given, data, came: f"waits until {came.get('until')}",
    "waited": lambda given, data, came: "the wait is over",
    "wait_for": lambda given, data, came: f"waits for {came.get('event')!r} until {came.get('until')}",
    "received": lambda given, data, came: f"received {came.get('event')!r}",
    "timeout": lambda given, data, came: f"nothing came in time; goes to {came.get('goto')!r}",
    "branch": lambda given, data, came: f"goes to {came.get('goto') or 'the end'!r}",
    "set": lambda given, data, came: f"set {', '.join(came)}",
    "effect": _sent,
    "exit": lambda given, data, came: f"exit {came.get('exit')} holds",
    "end": lambda given, data, came: f"{came.get('status')}: {came.get('outcome')}",
    "failed": _failed,
    "halted": lambda given, data, came: f"stopped: {came.get('error')}",
}

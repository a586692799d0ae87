"""Replay an execution from its log, step through it, or simulate a workflow. No calls, no clock.

`replay` takes the arrivals and ticks from a log and compares what the engine computes now, field by field, with what
was written. `frames` is the debugger: one turn after another, with the state before and after. `simulate` makes its own
ticks from given events and results of effects.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import zip_longest
from typing import Final, cast

from msgspec import Struct, convert
from msgspec.structs import replace

from mainspring.domain.errors import InvalidInput
from mainspring.workflow.audit import GENESIS, revive, seal
from mainspring.workflow.engine import advance, halt
from mainspring.workflow.model import (
    NEWEST_FORMAT,
    OLDEST_FORMAT,
    Arrival,
    ArrivalKind,
    Effect,
    ExecutionState,
    LogEntry,
    LogicalClock,
    Origin,
    Workflow,
    Zeros,
)
from mainspring.workflow.step_secrets import reference

TURNS_MAX: Final = 100_000
FAR_TICK: Final = 2**62
WAIT_ACTIONS: Final = ("wait", "wait_for", "result")  # entries that set the tick of a wait
FIELDS: Final = ("tick", "step", "action", "input", "output", "context")
_ARRIVED: Final = frozenset(
    {"event", "event.late", "event.ignored", "result", "result.late", "command", "command.refused"}
)


class ReplayFrame(Struct, frozen=True):
    """One turn: its time, arrivals, log entries, effects, and the states around it."""

    tick: int
    arrivals: tuple[Arrival, ...]
    before: ExecutionState
    after: ExecutionState
    entries: tuple[LogEntry, ...]
    effects: tuple[Effect, ...]


class Difference(Struct, frozen=True):
    """One field of one entry that differs from the log."""

    number: int
    step: str
    field: str
    expected: str
    actual: str


class ReplayedStep(Struct, frozen=True):
    number: int
    step: str
    original: str  # what happened according to the log
    replayed: str
    identical: bool


class ExecutionReplay(Struct, frozen=True):
    identical: bool
    steps: tuple[ReplayedStep, ...]
    differences: tuple[Difference, ...]
    state: ExecutionState


def turn(
    workflow: Workflow,
    state: ExecutionState,
    arrivals: Sequence[Arrival],
    clock: LogicalClock,
    halted: tuple[str, str] | None = None,
) -> ReplayFrame:
    """One sealed turn: `advance` and its entries. `halted`: why the writer had no usable document."""
    advanced = halt(state, arrivals, clock, *halted) if halted else advance(workflow, state, arrivals, clock)
    entries = seal(state.id, state.salt, state.number, state.head, advanced.drafts)
    after = replace(advanced.state, head=entries[-1].hash) if entries else advanced.state
    return ReplayFrame(clock.tick, tuple(arrivals), state, after, tuple(entries), advanced.effects)


def frames(
    workflow: Workflow,
    log: Sequence[LogEntry],
    salt: str,
    epoch: datetime,
    resolution_ms: int = 1_000,
    zeros: Zeros = (),
) -> Iterator[ReplayFrame]:
    """The debugger: every turn of a recorded execution, computed again from its arrivals and ticks."""
    state = initial_state(log, salt)
    clock = LogicalClock(0, epoch, resolution_ms, zeros)
    place = 0
    last, begun = 0, None  # the ticks of the previous turn, and of the start of the current wait
    while place < len(log):
        first, tick = place, log[place].tick
        while place < len(log) and log[place].tick == tick:
            place += 1
        waited = _waited_on(state, clock, begun, last, tick)
        frame = turn_again(workflow, waited, log[first:place], clock.as_of(tick))
        yield frame
        state, last = frame.after, tick
        if any(entry.action in WAIT_ACTIONS for entry in frame.entries):
            begun = tick


def _waited_on(state: ExecutionState, clock: LogicalClock, begun: int | None, last: int, tick: int) -> ExecutionState:
    """Applies a clock repair that moved a wait; see `ClockStore.repair_partition`."""
    if not clock.zeros or begun is None or state.wake_tick is None:
        return state
    return replace(state, wake_tick=clock.waits_until(state.wake_tick, begun, last, tick))


def turn_again(
    workflow: Workflow, state: ExecutionState, entries: Sequence[LogEntry], clock: LogicalClock
) -> ReplayFrame:
    """Computes the turn that wrote these entries of one tick again from its arrivals."""
    arrivals = [_arrival(each) for each in entries if each.action in _ARRIVED]
    halted = next((each for each in entries if each.action == "halted"), None)
    why = cast("dict[str, str]", revive(halted.output or b"{}")) if halted else {}
    reason = (str(why.get("code", "")), str(why.get("error", ""))) if halted else None
    return turn(workflow, state, arrivals, clock, reason)


def replay(
    workflow: Workflow,
    log: Sequence[LogEntry],
    salt: str,
    epoch: datetime,
    resolution_ms: int = 1_000,
    zeros: Zeros = (),
) -> ExecutionReplay:
    """Compares what the workflow makes of the same arrivals at the same ticks with what was written.

    With the version that ran, everything must be identical. With another version, the differences show what would
    change.
    """
    made: list[LogEntry] = []
    state = initial_state(log, salt)
    for frame in frames(workflow, log, salt, epoch, resolution_ms, zeros):
        made.extend(frame.entries)
        state = frame.after
    steps, differences = [], []
    for index in range(max(len(log), len(made))):
        original = log[index] if index < len(log) else None
        replayed = made[index] if index < len(made) else None
        found = list(_differences(original, replayed))
        differences.extend(found)
        steps.append(
            ReplayedStep(index + 1, _either(original, replayed).step, _said(original), _said(replayed), not found)
        )
    return ExecutionReplay(not differences, tuple(steps), tuple(differences), state)


class Rerun:
    """Replays page by page, remembering the state and one turn; the first difference ends it."""

    def __init__(self, workflow: Workflow, salt: str, clock: LogicalClock) -> None:
        self._workflow, self._salt, self._clock = workflow, salt, clock
        self._turn: list[LogEntry] = []
        self._state: ExecutionState | None = None
        self._last = 0  # tick of the previous turn
        self._begun: int | None = None  # tick in which the current wait started

    @property
    def state(self) -> ExecutionState:
        """The state that the log leads to, with every clock repair since its last turn."""
        assert self._state is not None, "at least one entry was taken"
        return _waited_on(self._state, self._clock, self._begun, self._last, FAR_TICK)

    def take(self, entries: Iterable[LogEntry]) -> Difference | None:
        for entry in entries:
            if self._turn and entry.tick != self._turn[0].tick and (found := self.close()):
                return found
            self._turn.append(entry)
        return None

    def close(self) -> Difference | None:
        """Computes the last turn again and returns its first difference, if any."""
        if not self._turn:
            return None
        tick = self._turn[0].tick
        before = self._state or initial_state(self._turn, self._salt)
        waited = _waited_on(before, self._clock, self._begun, self._last, tick)
        frame = turn_again(self._workflow, waited, self._turn, self._clock.as_of(tick))
        if any(entry.action in WAIT_ACTIONS for entry in frame.entries):
            self._begun = tick
        pairs = list(zip_longest(self._turn, frame.entries))
        self._turn, self._state, self._last = [], frame.after, tick
        return next((found for pair in pairs for found in _differences(*pair)), None)


def initial_state(log: Sequence[LogEntry], salt: str) -> ExecutionState:
    """The state before the first entry, derived from that entry."""
    if not log or log[0].action != "start" or log[0].input is None:
        raise InvalidInput(
            "the log has no readable first entry; an execution whose data were erased cannot be replayed", field="log"
        )
    given = cast("dict[str, object]", revive(log[0].input))
    return ExecutionState(
        log[0].execution_id, salt, str(given["workflow"]), cast(int, given["version"]),
        cast("dict[str, object]", given["input"]), wake_tick=cast(int, given["tick"]),
        format=_known_format(cast(int, given.get("format", OLDEST_FORMAT))), origin=_origin(given.get("origin")),
    )  # fmt: skip


def _origin(given: object) -> Origin | None:
    return None if given is None else convert(given, Origin)


def _known_format(number: int) -> int:
    if number > NEWEST_FORMAT:
        raise InvalidInput(
            f"the log has format {number}, and this version of Mainspring reads 1 to {NEWEST_FORMAT}; use a newer one",
            field="log",
        )
    return number


class SimulatedEvent(Struct, frozen=True):
    """An event for a simulation: its data, and when it occurs after the start."""

    after_ms: int
    type: str
    data: dict[str, object] = {}


class SimulatedAnswer(Struct, frozen=True):
    """The result of an effect in a simulation: `success`, `failure` or `unknown`, its value and its delay."""

    type: str = "success"
    result: object = None
    code: str = ""
    error: str = ""
    after_ms: int = 1_000


class Simulation(Struct, frozen=True):
    frames: tuple[ReplayFrame, ...]
    state: ExecutionState
    effects: tuple[Effect, ...]

    @property
    def entries(self) -> tuple[LogEntry, ...]:
        return tuple(entry for frame in self.frames for entry in frame.entries)


def simulate(
    workflow: Workflow,
    given: Mapping[str, object],
    happenings: Iterable[SimulatedEvent] = (),
    answers: Mapping[str, Sequence[SimulatedAnswer]] | None = None,
    *,
    epoch: datetime,
    execution_id: str = "simulated",
    turns_max: int = TURNS_MAX,
    format_: int = OLDEST_FORMAT,
) -> Simulation:
    """Runs to the end, or until nothing more can happen. Effects succeed unless `answers` says otherwise.

    The answers of a step are used one by one; the last one is repeated.
    """
    state = ExecutionState(
        execution_id, GENESIS[:32], workflow.name, workflow.version, dict(given), wake_tick=0, format=format_
    )
    clock = LogicalClock(0, epoch)
    coming: list[tuple[int, int, Arrival]] = []
    for number, each in enumerate(happenings):
        arrival = Arrival(ArrivalKind.EVENT, f"event-{number + 1}", each.type, each.data, "simulation")
        coming.append((clock.after(each.after_ms), number, arrival))
    script = {step: list(each) for step, each in (answers or {}).items()}
    done: list[ReplayFrame] = []
    while len(done) < turns_max:
        ticks = [tick for tick, _, _ in coming] + ([state.ready_tick] if state.ready_tick is not None else [])
        if not ticks or state.is_over:
            break
        tick = max(min(ticks), clock.tick)
        clock = replace(clock, tick=tick)
        due = sorted(each for each in coming if each[0] <= tick)
        coming = [each for each in coming if each[0] > tick]
        frame = turn(workflow, state, [arrival for _, _, arrival in due], clock)
        done.append(frame)
        state = frame.after
        for effect in frame.effects:
            answer = _next_answer(script, effect.step)
            coming.append((clock.after(answer.after_ms), 1_000_000 + len(done), _answer_to(effect, answer)))
    return Simulation(tuple(done), state, tuple(effect for frame in done for effect in frame.effects))


def _next_answer(script: dict[str, list[SimulatedAnswer]], step: str) -> SimulatedAnswer:
    answers = script.get(step)
    if not answers:
        return SimulatedAnswer()
    return answers.pop(0) if len(answers) > 1 else answers[0]


def _answer_to(effect: Effect, answer: SimulatedAnswer) -> Arrival:
    data: dict[str, object] = {"key": effect.key, "attempt": effect.attempt}
    if answer.type == "success":
        data["result"] = _with_secrets(effect, answer.result)
    else:
        data |= {"code": answer.code, "error": answer.error}
    return Arrival(ArrivalKind.RESULT, f"{effect.key}:{effect.attempt}", answer.type, data, "dispatcher")


def _with_secrets(effect: Effect, result: object) -> object:
    """A simulated result, with a reference for each secret that the step obtains; nothing opens it."""
    names = effect.request.get("secrets")
    if not isinstance(names, dict) or not (result is None or isinstance(result, dict)):
        return result
    simulated = {name: reference(f"{effect.step}.{name}", "simulated") for name in names}
    return {"status_code": 200, "body": None, **(result or {}), "secrets": simulated}


def _arrival(entry: LogEntry) -> Arrival:
    if entry.input is None:
        raise InvalidInput(
            f"entry {entry.number} was erased; an execution whose data were erased cannot be replayed", field="log"
        )
    given = cast("dict[str, object]", revive(entry.input))
    return Arrival(
        ArrivalKind(str(given["kind"])), str(given["id"]), str(given["type"]), cast("dict[str, object]", given["data"]),
        str(given["actor"]), str(given["occurred_at"]),
    )  # fmt: skip


def _differences(original: LogEntry | None, replayed: LogEntry | None) -> Iterator[Difference]:
    if original is None or replayed is None:
        either = _either(original, replayed)
        yield Difference(either.number, either.step, "entry", _said(original), _said(replayed))
        return
    for field in FIELDS:
        expected, actual = getattr(original, field), getattr(replayed, field)
        if field in ("input", "output") and expected is None:
            expected, actual = getattr(original, field + "_hash"), getattr(replayed, field + "_hash")
        if expected != actual:
            yield Difference(original.number, original.step, field, _text(expected), _text(actual))


def _either(original: LogEntry | None, replayed: LogEntry | None) -> LogEntry:
    entry = original or replayed
    assert entry is not None, "one of the two logs is that long"
    return entry


def _said(entry: LogEntry | None) -> str:
    return "nothing" if entry is None else f"{entry.action} {_text(entry.output)}".removesuffix(" null")


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)

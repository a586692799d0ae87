"""One tick of a partition, without a database: which tick is next, which executions move in which order. Pure.

The tick is derived from the wall clock and never counted, so after downtime the ticks that have work come one after the
other, in order, exactly as they would have. What arrives during tick t is processed at t + 1, live or late.

The reasons in this module are written into logs and must not change.
"""

from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from itertools import islice
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from mainspring.workflow.audit import TickHead, seal, seal_tick
from mainspring.workflow.engine import advance, halt
from mainspring.workflow.model import (
    OLDEST_FORMAT,
    Advance,
    Arrival,
    Effect,
    EntryDraft,
    ExecutionPhase,
    ExecutionState,
    LogEntry,
    LogicalClock,
    Workflow,
)

TURNS_MAX: Final = 100  # per execution and tick; the rest follow in the next


class ReadyExecution(Struct, frozen=True, gc=False):
    """An execution that a tick must process, with its arrivals in the writer's order."""

    id: str
    tenant_id: str
    workflow: str
    version: int
    state: Callable[[], ExecutionState]  # read when its turn comes
    arrivals: tuple[Arrival, ...] = ()
    due_tick: int | None = None  # when it became due, if known
    came: tuple[int, ...] = ()  # the tick in which each arrival may first be processed


class ExecutionMove(Struct, frozen=True, gc=False):
    """What one execution did in a tick."""

    tenant_id: str
    state: ExecutionState
    entries: tuple[LogEntry, ...]
    effects: tuple[Effect, ...]
    withdrawn: tuple[str, ...]
    taken: tuple[str, ...]  # ids of the processed arrivals
    was_ready_tick: int | None  # when it was due before this tick


class TickResult(Struct, frozen=True, gc=False):
    moved: tuple[ExecutionMove, ...]
    head: TickHead


WorkflowOf = Callable[[str, str, int], Workflow]  # tenant, name, version
HashesOf = Callable[[str, str, int], tuple[str, str]]  # of its document and its model


def partition_of(execution_id: str, partitions: int) -> int:
    return int.from_bytes(sha256(execution_id.encode()).digest()[:8]) % partitions


def due_tick(
    current: int, wall: int, first_ready: int | None, first_arrival: int | None
) -> tuple[int | None, int | None]:
    """The tick to process now, or None; and the next tick with any work, as far as known.

    `wall` is the tick that the wall clock shows. If the clock went back, nothing happens until it has caught up.
    `first_arrival` is the tick of the oldest unprocessed arrival.
    """
    wanted = [tick for tick in (first_ready, None if first_arrival is None else first_arrival + 1) if tick is not None]
    if not wanted:
        return None, None
    tick = max(current + 1, min(wanted))
    return (tick, tick) if tick <= wall else (None, tick)


def pick(by_time: Iterable[tuple[int, str]], by_arrival: Iterable[tuple[int, str]], limit: int) -> list[str]:
    """The executions of one tick in order: by the tick in which they became ready, then by id. A cap starves none
    of them.
    """
    ready: dict[str, int] = {}
    for tick, execution_id in (*by_time, *by_arrival):
        ready[execution_id] = min(tick, ready.get(execution_id, tick))
    return sorted(ready, key=lambda execution_id: (ready[execution_id], execution_id))[:limit]


def gone_heads(ids: Iterable[str]) -> list[tuple[str, int, str]]:
    """How a tick records that executions were removed."""
    return [(each, -1, "") for each in ids]


class TickRun:
    """The turns of one tick, in order, computed on demand: the caller writes the first while the next are computed.
    Their entries are sealed and chained to the previous tick.
    """

    def __init__(
        self,
        ready: Sequence[ReadyExecution],
        workflow_of: WorkflowOf,
        clock: LogicalClock,
        partition: int,
        sequence: int,
        head: str,
        epoch: int,
        hashes_of: HashesOf | None = None,
        gone: Sequence[str] = (),
    ) -> None:
        """`gone` are executions that ended long ago and are removed with this tick, unless it moves them."""
        self.altered: set[tuple[str, str, int]] = set()  # versions that differ from what executions started with
        self._hashes_of = hashes_of
        self.tick = clock.tick
        self.ready = ready
        moving = {each.id for each in ready} if gone else ()
        self.gone = tuple(each for each in gone if each not in moving)
        self._left = iter(ready)
        self._workflow_of = workflow_of
        self._clock = clock
        self._chain = (partition, sequence, head, epoch)
        self._moved: list[ExecutionMove] = []

    @property
    def ignored(self) -> int:
        """The number of events that executions have refused so far."""
        return sum(entry.action == "event.ignored" for moved in self._moved for entry in moved.entries)

    def take(self, count: int) -> list[ExecutionMove]:
        """The next turns, at most `count`; empty when all were taken."""
        taken = [self._turn(each) for each in islice(self._left, count)]
        self._moved += taken
        return taken

    def close(self) -> TickResult:
        """Everything the tick did; computes the remaining turns."""
        self._moved += [self._turn(each) for each in self._left]
        partition, sequence, head, epoch = self._chain
        heads = [(each.state.id, each.state.number, each.state.head) for each in self._moved]
        heads += gone_heads(self.gone)
        return TickResult(tuple(self._moved), seal_tick(partition, sequence, self.tick, heads, head, epoch))

    def _turn(self, ready: ReadyExecution) -> ExecutionMove:
        """One turn; in format 2 all turns due by now, each in the tick in which it was due."""
        state = first = ready.state()
        ticks = self._ticks_due(ready) if state.format > OLDEST_FORMAT else None
        entries: list[LogEntry] = []
        effects: dict[str, Effect] = {}
        withdrawn: dict[str, None] = {}
        left = list(ready.arrivals)
        for _ in range(1 if ticks is None else TURNS_MAX):
            tick = self.tick if ticks is None else _next_tick(state, ticks)
            if tick is None or tick > self.tick:
                break
            count = sum(came <= tick for came in ticks) if ticks else len(left)
            done = self._advance(ready, state, left[:count], self._clock.as_of(tick))
            sealed = seal(state.id, state.salt, state.number, state.head, done.drafts)
            state = replace(done.state, head=sealed[-1].hash) if sealed else done.state
            entries += sealed
            for key in done.withdrawn:  # entries not written yet need not be
                effects.pop(key, None)
                withdrawn[key] = None
            for effect in done.effects:
                effects[effect.key] = effect
                withdrawn.pop(effect.key, None)
            del left[:count]
            if ticks is not None:
                del ticks[:count]
        taken = tuple(arrival.id for arrival in ready.arrivals[: len(ready.arrivals) - len(left)])
        return ExecutionMove(
            ready.tenant_id, state, tuple(entries), tuple(effects.values()), tuple(withdrawn), taken, first.ready_tick
        )

    def _ticks_due(self, ready: ReadyExecution) -> list[int]:
        """When each arrival may first be processed; now, if that was not loaded."""
        return list(ready.came) or [self.tick] * len(ready.arrivals)

    def _advance(
        self, ready: ReadyExecution, state: ExecutionState, arrivals: Sequence[Arrival], clock: LogicalClock
    ) -> Advance:
        if changed := self._changed(ready, state):
            return halt(state, arrivals, clock, "document", changed)
        try:
            workflow = self._workflow_of(ready.tenant_id, ready.workflow, ready.version)
            return advance(workflow, state, arrivals, clock)
        except Exception as fault:  # an error of one execution must affect only that execution; the partition continues
            return _broken(state, arrivals, clock, fault)

    def _changed(self, ready: ReadyExecution, state: ExecutionState) -> str:
        """Why the stored version differs from the one that the execution started with; "" if it is the same."""
        if self._hashes_of is None or state.origin is None or state.is_over:
            return ""
        version = (ready.tenant_id, ready.workflow, ready.version)
        try:
            document, model = self._hashes_of(*version)
        except KeyError:
            return f"workflow {ready.workflow!r} has no version {ready.version}; restore it from a backup, or cancel"
        if (document, model) == (state.origin.document, state.origin.model):
            return ""
        self.altered.add(version)
        return (
            f"the stored document of workflow {ready.workflow!r}, version {ready.version}, was changed after this "
            "execution started, so it stopped; restore the document from a backup and retry, or cancel"
        )


def _next_tick(state: ExecutionState, came: Sequence[int]) -> int | None:
    """The tick of an execution's next turn: when it is due or something arrived, and after its last turn."""
    tick = None if state.paused else state.wake_tick
    if came and (tick is None or came[0] < tick):
        tick = came[0]
    return None if tick is None else max(tick, state.last_tick + 1)


def _broken(state: ExecutionState, arrivals: Sequence[Arrival], clock: LogicalClock, fault: Exception) -> Advance:
    """Stops for a person: a missing version, or an internal error of the engine."""
    error = f"{type(fault).__name__}: {fault}"[:500]
    if state.format > OLDEST_FORMAT:
        return halt(state, arrivals, clock, "internal", error)
    draft = EntryDraft(
        clock.tick, state.step, "failed", None, {"code": "internal", "error": error, "goto": ""}, state.context
    )
    stopped = replace(state, phase=ExecutionPhase.FAILED, wake_tick=None, error=error, number=state.number + 1)
    return Advance(stopped, drafts=(draft,))

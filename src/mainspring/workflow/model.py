"""Data of workflows and executions, and the input and output of `engine.advance`. Plain data.

A workflow is the definition: immutable once published, identified by name and version. An execution is one instance of
it and stays on the version it started with. Logical time is a tick; the wall clock is used here only for conversion.
"""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from msgspec import Struct

from mainspring.domain.instant import to_us

VISITS_DEFAULT: Final = 100
STEPS_MAX: Final = 1_000
WAIT_MS_MAX: Final = 5 * 366 * 86_400_000  # five years
RESOLUTION_MS: Final = 1_000


Zeros = tuple[tuple[int, datetime], ...]  # from which tick on a repaired partition counts from which time


class LogicalClock(Struct, frozen=True, gc=False):
    """The current tick, its length, and the time of tick 0.

    `zeros` is for a partition whose clock was repaired: its earlier ticks count from another time.
    """

    tick: int
    epoch: datetime
    resolution_ms: int = RESOLUTION_MS
    zeros: Zeros = ()

    @property
    def is_consistent(self) -> bool:
        """Whether its repairs begin with tick 0 and lead to the instant that it counts from."""
        return not self.zeros or (self.zeros[0][0], self.zeros[-1][1]) == (0, self.epoch)

    def as_of(self, tick: int) -> "LogicalClock":
        """The clock as it was at a tick."""
        if tick == self.tick and not self.zeros:
            return self
        zero = next((zero for from_tick, zero in reversed(self.zeros) if tick >= from_tick), self.epoch)
        return LogicalClock(tick, zero, self.resolution_ms, self.zeros)

    def zeros_at(self, tick: int) -> tuple[datetime, ...]:
        """The clocks under which an execution with its first turn in this tick may have been created."""
        return tuple(zero for from_tick, zero in self.zeros if from_tick <= tick) or (self.epoch,)

    def waits_until(self, wake_tick: int, begun: int, last: int, now: int) -> int:
        """The end of a wait that started in tick `begun`, after repairs between the ticks `last` and `now` moved it."""
        for (_, before), (from_tick, zero) in zip(self.zeros, self.zeros[1:], strict=False):
            shift = (to_us(before) - to_us(zero)) // (self.resolution_ms * 1000)
            if begun < from_tick - shift and last < from_tick <= now and wake_tick >= from_tick:
                wake_tick += shift
        return wake_tick

    def after(self, duration_ms: int) -> int:
        """The first tick at which a wait of this length, started now, is over."""
        return self.tick - (-duration_ms // self.resolution_ms)

    def at(self, instant: datetime) -> int:
        """The first tick that is not before `instant`."""
        return -((to_us(self.epoch) - to_us(instant)) // (self.resolution_ms * 1000))

    def instant(self) -> datetime:
        """The time at which this tick starts."""
        return self.epoch + timedelta(milliseconds=self.tick * self.resolution_ms)

    def reading(self, wall: datetime) -> int:
        """The tick that the wall clock shows. It is derived, never counted, so downtime stretches no wait."""
        return (to_us(wall) - to_us(self.epoch)) // (self.resolution_ms * 1000)


class Idempotency(StrEnum):
    AT_LEAST_ONCE = "at_least_once"  # after a crash it is sent again with the same key
    AT_MOST_ONCE = "at_most_once"  # after a crash its outcome is unknown, and a person decides


class Retry(Struct, frozen=True):
    """The maximum number of attempts of an effect, and the pauses between them."""

    attempts: int = 1
    delay_ms: int = 1_000
    factor: int = 2
    delay_ms_max: int = 3_600_000
    never: tuple[str, ...] = ()  # codes that are not retried: `404`, `blocked_address`

    def rest_ms(self, attempt: int) -> int:
        """The pause after the given attempt, the first being 1."""
        delay_ms = self.delay_ms
        for _ in range(attempt - 1):
            delay_ms *= self.factor
            if delay_ms >= self.delay_ms_max:
                break
        return min(delay_ms, self.delay_ms_max)


class Step(Struct, frozen=True, tag_field="kind"):
    """Fields of every step. `next` is a step's id, or "" if the execution is completed after it."""

    id: str
    next: str = ""
    visits_max: int = VISITS_DEFAULT
    on_failure: str = ""  # the step that follows a failure; "" stops the execution for a person


class EffectStep(Step, frozen=True, tag_field="kind"):
    retry: Retry = Retry()
    idempotency: Idempotency = Idempotency.AT_LEAST_ONCE
    timeout_ms: int = 30_000  # per attempt


class Call(EffectStep, frozen=True, tag="call", tag_field="kind"):
    """An HTTP request, or a run of an endpoint by name. Texts are templates."""

    url: str = ""
    method: str = "POST"
    headers: dict[str, str] = {}
    body: object = None
    accept_codes: tuple[int, ...] = ()  # empty: any 2xx
    endpoint: str = ""
    connection: str = ""  # name of the connection that the request goes through; `url` may be a path
    secrets: dict[str, str] = {}  # secrets of its response to encrypt: name -> `response.body.access_token`


class Email(EffectStep, frozen=True, tag="email", tag_field="kind"):
    to: str = ""
    subject: str = ""
    body: str = ""
    sender: str = ""
    channel: str = "smtp"


class Hint(EffectStep, frozen=True, tag="hint", tag_field="kind"):
    """Advice to an endpoint's schedule: an interval for a while, one run after a while, or clearing hints."""

    endpoint: str = ""
    interval_ms: int | None = None
    after_ms: int | None = None
    clear: bool = False
    ttl_ms: int | None = None
    reason: str = ""


class Wait(Step, frozen=True, tag="wait", tag_field="kind"):
    """Exactly one of a duration, a timestamp (a template), or the next occurrence of a cron expression."""

    duration_ms: int | None = None
    until: str = ""
    cron: str = ""
    timezone: str = "UTC"


class WaitFor(Step, frozen=True, tag="wait_for", tag_field="kind"):
    event: str = ""
    where: str = ""
    timeout_ms: int = 0
    on_timeout: str = ""  # "": a timeout is a failure of the step


class Case(Struct, frozen=True):
    when: str
    goto: str


class Branch(Step, frozen=True, tag="branch", tag_field="kind"):
    cases: tuple[Case, ...] = ()
    default: str = ""


class Set(Step, frozen=True, tag="set", tag_field="kind"):
    values: dict[str, str] = {}


class End(Step, frozen=True, tag="end", tag_field="kind"):
    outcome: str = "completed"


AnyStep = Call | Email | Hint | Wait | WaitFor | Branch | Set | End


class Exit(Struct, frozen=True):
    """A condition that ends an execution at any step."""

    when: str
    outcome: str


class Parameter(Struct, frozen=True):
    """One input of an execution."""

    type: str = "any"
    required: bool = True
    default: object = None


class WorkflowTrigger(Struct, frozen=True):
    """An outside occurrence that starts an execution or, with `event`, is sent to running ones. Empty: any."""

    source: str  # run | rule | alert
    endpoint: str = ""
    name: str = ""  # name of the rule or the alert
    kinds: tuple[str, ...] = ()  # statuses of runs, kinds of alerts
    where: str = ""
    input: dict[str, object] = {}  # or the event's data; texts are templates
    correlation: str = ""  # or the receivers
    event: str = ""


class Workflow(Struct, frozen=True):
    name: str
    start: str
    steps: dict[str, AnyStep]
    version: int = 0  # 0: never published
    description: str = ""
    exits: tuple[Exit, ...] = ()
    parameters: dict[str, Parameter] = {}
    reentry: str = "allow"  # whether a second execution with the same correlation key may start: allow | refuse
    triggers: tuple[WorkflowTrigger, ...] = ()

    @property
    def numbers(self) -> frozenset[str]:
        """Inputs of type `number`."""
        return frozenset(name for name, each in self.parameters.items() if each.type == "number")

    def waits_for(self, event_type: str) -> bool:
        """Whether any step takes events of this type; others need not be queued."""
        return any(isinstance(step, WaitFor) and step.event == event_type for step in self.steps.values())


class Status(StrEnum):
    PENDING = "pending"
    ACTIVE = "active"
    WAITING = "waiting"
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class ExecutionPhase(StrEnum):
    """What an execution does next; together with the pause this determines the status."""

    PENDING = "pending"
    READY = "ready"  # runs its step, now or in the next tick
    TIME = "time"
    EVENT = "event"
    EFFECT = "effect"
    RETRY = "retry"
    FAILED = "failed"
    COMPLETED = "completed"
    CANCELLED = "cancelled"


STATUS_OF: Final = {
    ExecutionPhase.PENDING: Status.PENDING,
    ExecutionPhase.READY: Status.ACTIVE,
    ExecutionPhase.TIME: Status.WAITING,
    ExecutionPhase.EVENT: Status.WAITING,
    ExecutionPhase.EFFECT: Status.WAITING,
    ExecutionPhase.RETRY: Status.WAITING,
    ExecutionPhase.FAILED: Status.FAILED,
    ExecutionPhase.COMPLETED: Status.COMPLETED,
    ExecutionPhase.CANCELLED: Status.CANCELLED,
}
ENDED: Final = frozenset({ExecutionPhase.COMPLETED, ExecutionPhase.CANCELLED})


# What the log of an execution means. An execution keeps the format it started with, so old logs replay unchanged.
#   1  a `wait_for` considers only the latest event of its type
#   2  events queue per type; a `wait_for` takes the oldest match; the first entry commits to the origin; a changed
#      document halts the execution; turns have the tick in which they were due, even if they are taken later
#   3  the first turn after a repair of the partition's clock names the repair in an entry `clock`; `map` and `filter`
#      over long lists are evaluated in pieces, because in one piece 9,900 elements hold the process for 2 s
OLDEST_FORMAT: Final = 1
CLOCK_FORMAT: Final = 3
PIECES_FORMAT: Final = 3
NEWEST_FORMAT: Final = 3


class Origin(Struct, frozen=True):
    """What the first entry of a log commits to besides the input: the document, the actor and the clock."""

    document: str  # hash of the text
    model: str  # hash of the parsed document as stored
    actor: str
    correlation: str
    partition: int
    zero: str  # the time of tick 0, UTC
    resolution_ms: int


class ExecutionState(Struct, frozen=True, omit_defaults=True, gc=False):
    """Everything the engine knows about one execution. `salt` prevents guessing short values from their commitments."""

    id: str
    salt: str
    workflow: str
    version: int
    input: dict[str, object]
    phase: ExecutionPhase = ExecutionPhase.PENDING
    paused: bool = False
    step: str = ""
    visit: int = 0
    attempt: int = 0
    key: str = ""  # of the awaited effect
    wake_tick: int | None = None
    vars: dict[str, object] = {}
    steps: dict[str, object] = {}  # id -> {"result": ...} or {"error": ...}
    events: dict[str, object] = {}  # type -> {"count", "id", "data", "tick"} of the latest
    taken: dict[str, int] = {}  # format 1: type -> how many of them a `wait_for` has seen
    visits: dict[str, int] = {}
    outcome: str = ""
    error: str = ""
    number: int = 0  # number of entries
    head: str = ""  # hash of the last entry
    context: str = ""  # commitment to vars, steps, events, and the queue in format 2
    context_bytes: int = 0
    format: int = OLDEST_FORMAT
    queue: dict[str, tuple[dict[str, object], ...]] = {}  # format 2: type -> {"id", "data"} of events not taken yet
    origin: Origin | None = None  # format 2; None: a simulation
    last_tick: int = -1  # format 2: of the last entry

    @property
    def status(self) -> Status:
        return Status.PAUSED if self.paused else STATUS_OF[self.phase]

    @property
    def ready_tick(self) -> int | None:
        """When the ticker must process the execution even if nothing arrives."""
        return None if self.paused else self.wake_tick

    @property
    def is_over(self) -> bool:
        return self.phase in ENDED


class ArrivalKind(StrEnum):
    EVENT = "event"
    RESULT = "result"
    COMMAND = "command"


class Arrival(Struct, frozen=True, gc=False):
    """Input of an execution: an event, the result of an effect, or a person's command.

    The writer of the partition decides their order, which never changes afterwards.
    """

    kind: ArrivalKind
    id: str
    type: str  # of the event; `success`, `failure` or `unknown`; or the command
    data: dict[str, object] = {}
    actor: str = ""
    occurred_at: str = ""  # as stated by the sender, UTC


class Effect(Struct, frozen=True, gc=False):
    """An external action for the dispatcher. The key is the same for every attempt and every tick."""

    key: str
    execution_id: str
    step: str
    visit: int
    attempt: int
    kind: str  # call | endpoint | email | hint
    request: dict[str, object]
    idempotency: Idempotency
    timeout_ms: int


class EntryDraft(Struct, frozen=True, gc=False):
    """A log entry before it is sealed."""

    tick: int
    step: str
    action: str
    input: object
    output: object
    context: str


class LogEntry(Struct, frozen=True, gc=False):
    """One sealed entry of an execution's log. Input and output may be erased; their commitments stay."""

    execution_id: str
    number: int
    tick: int
    step: str
    action: str
    input_hash: str
    output_hash: str
    context: str
    previous: str
    hash: str
    input: bytes | None = None
    output: bytes | None = None


class Advance(Struct, frozen=True, gc=False):
    """The result of one turn: the new state, effects to send, effects to withdraw, and log entries."""

    state: ExecutionState
    effects: tuple[Effect, ...] = ()
    withdrawn: tuple[str, ...] = ()
    drafts: tuple[EntryDraft, ...] = ()

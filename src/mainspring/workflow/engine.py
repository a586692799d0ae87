"""Advance one execution by one turn. Pure: the same workflow, state, arrivals and tick give the same bytes.

A turn: 1. process arrivals in their order; 2. if the execution is ready, run steps until one waits, requests an effect,
ends or fails. Steps without an effect chain within the turn; exits are evaluated before each step and after each event.
Everything that happens is a draft of a log entry. Failures are safe: the execution stops for a person unless the step
defines another path.

The texts in this module are written into logs. Changing one breaks the replay of existing executions.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, assert_never, cast

from mainspring.workflow.audit import canonical, commit, effect_key
from mainspring.workflow.expression import Failure, Values, evaluate, judge, roots_of
from mainspring.workflow.log_records import given_of, repairs_of, request_of, start_of
from mainspring.workflow.model import (
    CLOCK_FORMAT,
    ENDED,
    PIECES_FORMAT,
    STATUS_OF,
    Advance,
    AnyStep,
    Arrival,
    ArrivalKind,
    Branch,
    Call,
    Effect,
    Email,
    End,
    EntryDraft,
    ExecutionPhase,
    ExecutionState,
    Hint,
    LogicalClock,
    Set,
    Status,
    Wait,
    WaitFor,
    Workflow,
)
from mainspring.workflow.template import expressions_of, render_request
from mainspring.workflow.waits import NoTarget, target_of

CHAIN_MAX: Final = 100  # steps of one turn; the rest follow in the next tick
EVENT_TYPES_MAX: Final = 200  # per execution
QUEUE_MAX: Final = 1_000  # waiting events per type
VALUE_BYTES_MAX: Final = 65_536
CONTEXT_BYTES_MAX: Final = 1_048_576
COMPLETED: Final = "completed"

# The commands that each status allows; anything else is refused.
ALLOWED: Final[dict[Status, tuple[str, ...]]] = {
    Status.PENDING: ("pause", "cancel"),
    Status.ACTIVE: ("pause", "cancel"),
    Status.WAITING: ("pause", "cancel", "skip"),
    Status.PAUSED: ("resume", "cancel"),
    Status.FAILED: ("retry", "skip", "cancel"),
    Status.COMPLETED: (),
    Status.CANCELLED: (),
}


def advance(workflow: Workflow, state: ExecutionState, arrivals: Sequence[Arrival], clock: LogicalClock) -> Advance:
    turn = _Turn(workflow, state, clock)
    turn.begin()
    for arrival in arrivals:
        turn.take(arrival)
    turn.run()
    return turn.close()


def halt(state: ExecutionState, arrivals: Sequence[Arrival], clock: LogicalClock, code: str, error: str) -> Advance:
    """A turn without a usable document: stops for a person, keeps every event, and accepts only the command cancel."""
    turn = _Turn(_UNKNOWN, state, clock)
    turn.begin()
    turn.withdraw()
    turn.phase, turn.wake_tick, turn.error = ExecutionPhase.FAILED, None, error
    turn.log("halted", None, {"code": code, "error": error})
    for arrival in arrivals:
        turn.take(arrival)
    return turn.close()


class _Turn:
    """The working copy of one state; the original state is never changed."""

    __slots__ = (
        "attempt", "clock", "context", "context_bytes", "drafts", "effects", "error", "events", "in_pieces", "is_stale",
        "key", "outcome", "paused", "phase", "queue", "queues", "state", "step", "steps", "taken", "tick", "vars",
        "visit", "visits", "wake_tick", "withdrawn", "workflow",
    )  # fmt: skip

    def __init__(self, workflow: Workflow, state: ExecutionState, clock: LogicalClock) -> None:
        self.workflow = workflow
        self.state = state
        self.clock = clock
        self.tick = clock.tick
        self.phase = state.phase
        self.paused = state.paused
        self.step = state.step
        self.visit = state.visit
        self.attempt = state.attempt
        self.key = state.key
        self.wake_tick = state.wake_tick
        self.vars = state.vars
        self.steps = state.steps
        self.events = state.events
        self.taken = state.taken
        self.queue = state.queue
        self.queues = state.format >= 2
        self.in_pieces = state.format >= PIECES_FORMAT
        self.visits = state.visits
        self.outcome = state.outcome
        self.error = state.error
        self.context = state.context
        self.context_bytes = state.context_bytes
        self.is_stale = state.number == 0
        self.drafts: list[EntryDraft] = []
        self.effects: list[Effect] = []
        self.withdrawn: list[str] = []

    def close(self) -> Advance:
        state = self.state
        after = ExecutionState(
            state.id, state.salt, state.workflow, state.version, state.input, self.phase, self.paused, self.step,
            self.visit, self.attempt, self.key, self.wake_tick, self.vars, self.steps, self.events, self.taken,
            self.visits, self.outcome, self.error, state.number + len(self.drafts), state.head, self.context,
            self.context_bytes, state.format, self.queue, state.origin,
            self.tick if self.queues and self.drafts else state.last_tick,
        )  # fmt: skip
        return Advance(after, tuple(self.effects), tuple(self.withdrawn), tuple(self.drafts))

    def begin(self) -> None:
        """Log the start in the first turn, and a repair of the clock in the first turn after it."""
        if self.state.number == 0:
            self.step = self.workflow.start
            self.log("start", start_of(self.state))
        if self.state.format >= CLOCK_FORMAT and (repairs := repairs_of(self.state, self.clock)):
            self.log("clock", None, {"repairs": repairs})

    def log(self, action: str, given: object = None, came: object = None) -> None:
        if self.is_stale:
            known = {"input": self.state.input, "vars": self.vars, "steps": self.steps, "events": self.events}
            text = canonical(known | {"queue": self.queue} if self.queues else known)
            self.context, self.context_bytes, self.is_stale = commit(self.state.salt, text), len(text), False
        self.drafts.append(EntryDraft(self.tick, self.step, action, given, came, self.context))

    def take(self, arrival: Arrival) -> None:
        match arrival.kind:
            case ArrivalKind.EVENT:
                self.take_event(arrival)
            case ArrivalKind.RESULT:
                self.take_result(arrival)
            case ArrivalKind.COMMAND:
                self.take_command(arrival)
            case _:
                assert_never(arrival.kind)

    def take_event(self, event: Arrival) -> None:
        given = given_of(event)
        if self.phase in ENDED:
            self.log("event.late", given, {"status": self.phase.value})
            return
        known = self.events.get(event.type)
        if known is None and len(self.events) >= EVENT_TYPES_MAX:
            self.log("event.ignored", given, {"reason": f"more than {EVENT_TYPES_MAX} types of events"})
            return
        count = cast(int, cast("dict[str, object]", known)["count"]) + 1 if known else 1
        latest = {"count": count, "id": event.id, "data": event.data, "tick": self.tick}
        is_queued = self.queues and (self.workflow is _UNKNOWN or self.workflow.waits_for(event.type))
        waiting = self.queue.get(event.type, ())
        if is_queued and len(waiting) >= QUEUE_MAX:
            reason = f"{QUEUE_MAX} events of type {event.type!r} already wait to be taken"
            self.log("event.ignored", given, {"reason": reason})
            return
        if not self.has_room(latest, copies=1 + is_queued):
            self.log("event.ignored", given, {"reason": f"the context would pass {CONTEXT_BYTES_MAX} bytes"})
            return
        self.events = {**self.events, event.type: latest}
        if is_queued:
            self.queue = {**self.queue, event.type: (*waiting, {"id": event.id, "data": event.data})}
        self.is_stale = True
        self.log("event", given)
        if self.phase is not ExecutionPhase.FAILED and not self.exit_if_asked() and self.phase is ExecutionPhase.EVENT:
            if not self.queues:
                self.look_at_latest()
            elif event.type == cast(WaitFor, self.workflow.steps[self.step]).event:
                self.look_in_queue(len(waiting))

    def take_result(self, result: Arrival) -> None:
        given = given_of(result)
        data = result.data
        is_awaited = self.phase is ExecutionPhase.EFFECT and (data.get("key"), data.get("attempt")) == (
            self.key,
            self.attempt,
        )
        if not is_awaited:
            self.log("result.late", given, {"status": self.phase.value})
            return
        step = cast("Call | Email | Hint", self.workflow.steps[self.step])
        self.phase = ExecutionPhase.READY  # answered: nothing left to withdraw
        if result.type == "success":
            answer = data.get("result")
            if self.has_room(answer):
                self.log("result", given, {"next": step.next})
                self.keep("result", answer)
                self.go(step.next)
            else:
                self.log("result", given, {"next": ""})
                self.fail("too_large", f"the context would pass {CONTEXT_BYTES_MAX} bytes with this result")
            return
        code, error = str(data.get("code", "")), str(data.get("error", ""))
        may_retry = result.type == "failure" and self.attempt < step.retry.attempts and code not in step.retry.never
        if may_retry:
            self.phase = ExecutionPhase.RETRY
            self.wake_tick = self.clock.after(step.retry.rest_ms(self.attempt))
            self.log("result", given, {"retry_at_tick": self.wake_tick})
        else:
            self.log("result", given, {"next": ""})
            self.fail("unknown" if result.type == "unknown" else code or "failure", error)

    def take_command(self, command: Arrival) -> None:
        """Applies a person's command, with its reason and actor. A command that the status does not allow is logged
        and refused.
        """
        verb, given = command.type, given_of(command)
        before = Status.PAUSED if self.paused else STATUS_OF[self.phase]
        may = ALLOWED[before] if self.workflow is not _UNKNOWN else ("cancel",)
        if verb not in may:
            self.log("command.refused", given, {"status": before.value, "allowed": ", ".join(may) or "nothing"})
            return
        self.log("command", given, {"status": before.value})
        match verb:
            case "pause":
                self.paused = True
            case "resume":
                self.paused = False
            case "cancel":
                self.end(ExecutionPhase.CANCELLED, str(command.data.get("reason", "")))
            case "skip":
                self.withdraw()
                self.keep("result", {"skipped": str(command.data.get("reason", ""))})
                self.go(self.way_on())
            case _:
                self.retry()

    def retry(self) -> None:
        """Runs the failed step again in the same visit, so an effect keeps its key."""
        self.error = ""
        if self.key:
            self.phase, self.attempt, self.wake_tick = ExecutionPhase.RETRY, 0, self.tick
            return
        if self.visit:  # an effect's visit is never counted back: its key would be reused
            self.visits = {**self.visits, self.step: self.visit - 1}
        self.go(self.step)

    def run(self) -> None:
        """Runs steps as long as they chain."""
        if not self.is_due():
            return
        if self.phase is ExecutionPhase.TIME:
            self.log("waited")
            self.go(self.workflow.steps[self.step].next)
        elif self.phase is ExecutionPhase.EVENT:
            self.time_out()
        elif self.phase is ExecutionPhase.RETRY:
            self.send(cast("Call | Email | Hint", self.workflow.steps[self.step]))
        elif self.phase is ExecutionPhase.PENDING:
            self.go(self.workflow.start)
        for _ in range(CHAIN_MAX):
            if self.phase is not ExecutionPhase.READY or self.exit_if_asked():
                return
            self.enter(self.workflow.steps[self.step])
        if self.phase is ExecutionPhase.READY:
            self.wake_tick = self.tick + 1

    def is_due(self) -> bool:
        return not self.paused and self.wake_tick is not None and self.wake_tick <= self.tick

    def enter(self, step: AnyStep) -> None:
        visit = self.visits.get(step.id, 0) + 1
        if visit > step.visits_max:
            self.fail("visits", f"step {step.id!r} was visited {step.visits_max} times, as often as it may be")
            return
        self.visit = visit
        self.visits = {**self.visits, step.id: visit}
        _RUN[type(step)](self, step)

    def run_set(self, step: Set) -> None:
        values: dict[str, object] = {}
        before = self.vars
        for name, text in step.values.items():
            value = evaluate(text, self.data(text), self.size())
            if isinstance(value, Failure):
                self.vars = before
                self.fail("expression", f"set.{name} {value.text}")
                return
            if not self.has_room(value):
                self.vars = before
                self.fail("too_large", f"set.{name} is larger than {VALUE_BYTES_MAX} bytes, or the context is full")
                return
            values[name] = value
            self.vars = {**self.vars, name: value}
        self.is_stale = True
        self.log("set", None, values)
        self.go(step.next)

    def run_branch(self, step: Branch) -> None:
        for number, case in enumerate(step.cases):
            answer = judge(case.when, self.data(case.when), self.size())
            if isinstance(answer, Failure):
                self.fail("expression", f"branch.cases[{number}].when {answer.text}")
                return
            if answer:
                self.log("branch", None, {"case": number, "goto": case.goto})
                self.go(case.goto)
                return
        self.log("branch", None, {"case": None, "goto": step.default})
        self.go(step.default)

    def run_wait(self, step: Wait) -> None:
        data = self.data(*expressions_of(step.until)) if step.until else {}
        target = target_of(step, self.clock, self.state.id, data, self.size())
        if isinstance(target, NoTarget):
            self.fail(target.code, target.error)
            return
        self.log("wait", None, {"until_tick": target})
        if target <= self.tick:
            self.go(step.next)
        else:
            self.phase, self.wake_tick = ExecutionPhase.TIME, target

    def run_wait_for(self, step: WaitFor) -> None:
        self.phase, self.wake_tick = ExecutionPhase.EVENT, self.clock.after(step.timeout_ms)
        self.log("wait_for", None, {"event": step.event, "until_tick": self.wake_tick})
        self.look_in_queue(0) if self.queues else self.look_at_latest()

    def look_in_queue(self, first: int) -> None:
        """Takes the oldest matching event from position `first` on. An event that cannot be evaluated is logged and
        stays.
        """
        step = cast(WaitFor, self.workflow.steps[self.step])
        waiting = self.queue.get(step.event, ())
        for place in range(first, len(waiting)):
            event = waiting[place]
            answer: bool | Failure = True
            if step.where:
                data = self.data(step.where)
                data["event"] = {"type": step.event, **event}
                answer = judge(step.where, data, self.size())
            if isinstance(answer, Failure):
                reason = f"wait_for.where {answer.text}"
                self.log("event.skipped", None, {"event": step.event, "id": event["id"], "reason": reason})
            elif answer:
                left = {**self.queue, step.event: (*waiting[:place], *waiting[place + 1 :])}
                self.queue = {type_: events for type_, events in left.items() if events}
                self.is_stale = True
                self.receive(step, event)
                return

    def receive(self, step: WaitFor, event: Mapping[str, object]) -> None:
        self.log("received", None, {"event": step.event, "id": event["id"]})
        self.keep("result", {"id": event["id"], "data": event["data"]})
        self.go(step.next)

    def look_at_latest(self) -> None:
        """Format 1: whether the latest event of the type matches, if no wait has taken it yet."""
        step = cast(WaitFor, self.workflow.steps[self.step])
        latest = cast("dict[str, object] | None", self.events.get(step.event))
        if latest is None or cast(int, latest["count"]) <= self.taken.get(step.event, 0):
            return
        answer: bool | Failure = True
        if step.where:
            event = {"type": step.event, "id": latest["id"], "data": latest["data"]}
            answer = judge(step.where, self.data(step.where) | {"event": event}, self.size())
        if isinstance(answer, Failure):
            self.fail("expression", f"wait_for.where {answer.text}")
        elif answer:
            self.taken = {**self.taken, step.event: cast(int, latest["count"])}
            self.receive(step, latest)

    def time_out(self) -> None:
        step = cast(WaitFor, self.workflow.steps[self.step])
        if step.on_timeout:
            self.log("timeout", None, {"goto": step.on_timeout})
            self.keep("result", {"timeout": True})
            self.go(step.on_timeout)
        else:
            self.fail("timeout", f"no event {step.event!r} came in time")

    def run_effect(self, step: Call | Email | Hint) -> None:
        self.key = effect_key(self.state.id, step.id, self.visit)
        self.send(step)

    def send(self, step: Call | Email | Hint) -> None:
        """Records the effect to perform; its result comes later as an arrival."""
        kind, wanted = request_of(step)
        request = render_request(wanted, self.data(*expressions_of(wanted)), self.size())
        if isinstance(request, Failure):
            self.fail("template", f"{kind}.{request.text}")
            return
        self.attempt += 1
        self.phase, self.wake_tick = ExecutionPhase.EFFECT, None
        effect_id = (self.key, self.state.id, step.id, self.visit, self.attempt)
        self.effects.append(Effect(*effect_id, kind, request, step.idempotency, step.timeout_ms))
        self.log("effect", request, {"key": self.key, "attempt": self.attempt})

    def run_end(self, step: End) -> None:
        self.end(ExecutionPhase.COMPLETED, step.outcome)

    def exit_if_asked(self) -> bool:
        """Whether an exit ended the execution. An exit that cannot be evaluated stops it for a person."""
        for number, exit_ in enumerate(self.workflow.exits):
            answer = judge(exit_.when, self.data(exit_.when), self.size())
            if isinstance(answer, Failure):
                self.stop("expression", f"exit[{number}].when {answer.text}")
                return True
            if answer:
                self.log("exit", None, {"exit": number})
                self.end(ExecutionPhase.COMPLETED, exit_.outcome)
                return True
        return False

    def end(self, phase: ExecutionPhase, outcome: str) -> None:
        self.withdraw()
        self.phase, self.wake_tick, self.outcome, self.paused = phase, None, outcome, False
        self.log("end", None, {"status": phase.value, "outcome": outcome})

    def fail(self, code: str, error: str) -> None:
        step = self.workflow.steps[self.step]
        if step.on_failure:
            self.log("failed", None, {"code": code, "error": error, "goto": step.on_failure})
            self.keep("error", {"code": code, "message": error})
            self.go(step.on_failure)
        else:
            self.stop(code, error)

    def stop(self, code: str, error: str) -> None:
        """Stops safely: nothing more happens until a person gives a command."""
        self.withdraw()
        self.phase, self.wake_tick, self.error = ExecutionPhase.FAILED, None, error or code
        self.log("failed", None, {"code": code, "error": error, "goto": ""})

    def withdraw(self) -> None:
        if self.phase is ExecutionPhase.EFFECT:
            self.withdrawn.append(self.key)

    def way_on(self) -> str:
        """Where a skipped step leads: to its next step, a branch to its default."""
        step = self.workflow.steps[self.step]
        return step.default if isinstance(step, Branch) else step.next

    def go(self, step_id: str) -> None:
        """Prepares for a step; after the last one the execution is completed."""
        self.error = ""
        if not step_id:
            self.phase = ExecutionPhase.READY  # nothing is awaited any more
            self.end(ExecutionPhase.COMPLETED, COMPLETED)
            return
        self.phase, self.step, self.wake_tick = ExecutionPhase.READY, step_id, self.tick
        self.visit, self.attempt, self.key = 0, 0, ""

    def keep(self, what: str, value: object) -> None:
        self.steps = {**self.steps, self.step: {what: value}}
        self.is_stale = True

    def has_room(self, value: object, copies: int = 1) -> bool:
        length = len(canonical(value))
        return length <= VALUE_BYTES_MAX and self.context_bytes + copies * length <= CONTEXT_BYTES_MAX

    def size(self) -> int:
        return self.context_bytes + 256

    def data(self, *texts: str) -> dict[str, object]:
        """The variables that these expressions read."""
        read = {root: self.variable(root) for text in texts for root in roots_of(text)}
        return Values(read, self.workflow.numbers, in_pieces=self.in_pieces) if self.queues else read

    def variable(self, root: str) -> object:
        match root:
            case "input" | "contact":
                return self.state.input
            case "vars":
                return self.vars
            case "steps":
                return self.steps
            case "events":
                return self.events
            case "tick":
                return self.tick
            case _:
                return None


_UNKNOWN: Final = Workflow("", "", {})
_RUN: Final[Mapping[type, Callable[..., None]]] = {
    Set: _Turn.run_set,
    Branch: _Turn.run_branch,
    Wait: _Turn.run_wait,
    WaitFor: _Turn.run_wait_for,
    Call: _Turn.run_effect,
    Email: _Turn.run_effect,
    Hint: _Turn.run_effect,
    End: _Turn.run_end,
}

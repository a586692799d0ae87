"""Workflows and executions as the JSON objects that every door gives out, and their logs in words."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

import msgspec

from mainspring.domain.instant import rfc3339
from mainspring.views.sentences import clock as clock_text
from mainspring.views.shapes import Shape
from mainspring.workflow.audit import revive
from mainspring.workflow.diagram import diagram_of
from mainspring.workflow.engine import ALLOWED
from mainspring.workflow.model import ExecutionPhase, LogicalClock

if TYPE_CHECKING:
    from datetime import datetime

    from mainspring.operations.partitions import PartitionVerdict
    from mainspring.operations.replay import ExecutionComparison
    from mainspring.operations.verification import Verified
    from mainspring.operations.workflow_archive import Archived
    from mainspring.ports.workflows import Execution, PartitionView, Published
    from mainspring.workflow.bundle import Bundle, BundleVerdict
    from mainspring.workflow.model import ExecutionState, LogEntry, Workflow
    from mainspring.workflow.replay import ExecutionReplay, Simulation

TEXT_MAX = 200
WAITS_FOR = {
    ExecutionPhase.TIME: "time",
    ExecutionPhase.EVENT: "event",
    ExecutionPhase.EFFECT: "effect",
    ExecutionPhase.RETRY: "retry",
}


def plain(value: object) -> Any:
    """As it would be after a journey as JSON: tuples are lists."""
    return msgspec.json.decode(msgspec.json.encode(value))


def model_shape(workflow: "Workflow") -> Shape:
    """What a document means."""
    return {
        "name": workflow.name,
        "version": workflow.version,
        "description": workflow.description,
        "start": workflow.start,
        "reentry": workflow.reentry,
        "step_count": len(workflow.steps),
        "input": {name: plain(each) for name, each in workflow.parameters.items()},
        "exits": [plain(each) for each in workflow.exits],
        "triggers": [plain(each) for each in workflow.triggers],
        "steps": [plain(step) for step in workflow.steps.values()],
    }


def workflow_shape(published: "Published") -> Shape:
    """A version without its document and its steps."""
    shape = model_shape(published.workflow)
    for part in ("input", "exits", "triggers", "steps"):
        del shape[part]
    return shape | _publication(published)


def workflow_in_full(published: "Published") -> Shape:
    return model_shape(published.workflow) | _publication(published) | {"document": published.document}


def archived_shape(found: "Archived", *, dry_run: bool) -> Shape:
    return {
        "dry_run": dry_run,
        "changed": found.changed,
        "running": found.running,
        "workflow": workflow_shape(found.published),
    }


def _publication(published: "Published") -> Shape:
    archived_at = published.archived_at
    return {
        "actor": published.actor,
        "created_at": rfc3339(published.created_at),
        "archived_at": None if archived_at is None else rfc3339(archived_at),
    }


def graph_shape(workflow: "Workflow") -> Shape:
    nodes, edges = diagram_of(workflow)
    return {
        "nodes": [plain(node) for node in nodes],
        "edges": [{"id": f"e{number}", **plain(edge)} for number, edge in enumerate(edges)],
    }


def execution_shape(execution: "Execution", clock: LogicalClock) -> Shape:
    state = execution.state
    return {
        "id": state.id,
        "workflow": state.workflow,
        "version": state.version,
        "status": state.status.value,
        "step": state.step,
        "outcome": state.outcome,
        "error": state.error,
        "allows": list(ALLOWED[state.status]),
        **_waiting(state, clock),
        "correlation": execution.correlation,
        "idempotency_key": execution.idempotency_key,
        "partition": execution.partition,
        "entries": state.number,
        "head": state.head,
        "actor": execution.actor,
        "created_at": rfc3339(execution.created_at),
        "moved_at": rfc3339(execution.moved_at),
    }


def execution_in_full(execution: "Execution", clock: LogicalClock) -> Shape:
    return execution_shape(execution, clock) | _inside(execution.state)


def state_shape(state: "ExecutionState", clock: LogicalClock) -> Shape:
    """What an execution knew and waited for after some turn."""
    return {
        "status": state.status.value,
        "step": state.step,
        "outcome": state.outcome,
        "error": state.error,
        **_waiting(state, clock),
        "entries": state.number,
        "head": state.head,
        **_inside(state),
    }


def _waiting(state: "ExecutionState", clock: LogicalClock) -> Shape:
    wake = state.ready_tick
    return {
        "waits_for": "" if state.paused else WAITS_FOR.get(state.phase, ""),
        "wake_tick": wake,
        "wake_at": None if wake is None else tick_instant(clock, wake),
    }


def _inside(state: "ExecutionState") -> Shape:
    return {
        "input": state.input,
        "vars": state.vars,
        "steps": state.steps,
        "events": state.events,
        "visits": state.visits,
        "visit": state.visit,
        "attempt": state.attempt,
    }


def tick_instant(clock: LogicalClock, tick: int) -> str:
    return rfc3339(clock.as_of(tick).instant())


def entry_shape(entry: "LogEntry", clock: LogicalClock) -> Shape:
    return {
        "number": entry.number,
        "tick": entry.tick,
        "at": tick_instant(clock, entry.tick),
        "step": entry.step,
        "action": entry.action,
        "input": _value(entry.input),
        "output": _value(entry.output),
        "erased": entry.input is None,
        "input_hash": entry.input_hash,
        "output_hash": entry.output_hash,
        "context": entry.context,
        "previous": entry.previous,
        "hash": entry.hash,
    }


def moment_shape(entry: "LogEntry", clock: LogicalClock) -> Shape:
    """One line of a timeline: an entry in words."""
    given = _value(entry.input)
    until_tick = _until_tick(_value(entry.output))
    return {
        "number": entry.number,
        "tick": entry.tick,
        "at": tick_instant(clock, entry.tick),
        "step": entry.step,
        "action": entry.action,
        "actor": str(given.get("actor", "")) if isinstance(given, dict) else "",
        "until_at": None if until_tick is None else tick_instant(clock, until_tick),
        "text": sentence(entry, clock),
    }


def sentence(entry: "LogEntry", clock: LogicalClock) -> str:
    """What happened, as a person would say it: instants, not ticks."""
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
    """When a wait ends, or the rest before another attempt."""
    found = came.get("until_tick", came.get("retry_at_tick")) if isinstance(came, dict) else None
    return found if isinstance(found, int) else None


def _result(given: Values, data: Values, came: Values) -> str:
    if given.get("type") == "success":
        return "it succeeded"
    how = "nobody knows whether it arrived" if given.get("type") == "unknown" else "it failed"
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
    "result.late": lambda given, data, came: "an answer that nobody waits for any more",
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


def verified_shape(found: "Verified") -> Shape:
    verdict, breach = found.verdict, found.verdict.breach or found.chain
    return {
        "valid": found.valid,
        "entries": verdict.entries,
        "first_tick": verdict.first_tick,
        "last_tick": verdict.last_tick,
        "erased": verdict.erased,
        "ticks": found.ticks,
        "checkpoints": found.checkpoints,
        "breach": None if breach is None else plain(breach),
    }


def partition_shape(view: "PartitionView", now: "datetime") -> Shape:
    return {
        "partition": view.partition,
        "tick": view.tick,
        "ticks": view.ticks,
        "writer": view.worker if view.lease_until > now else "",
        "lease_until": rfc3339(view.lease_until) if view.lease_until > now else None,
        "waits_since": None if view.waits_since is None else rfc3339(view.waits_since),
        "overdue": view.overdue,
    }


def partition_verdict_shape(found: "PartitionVerdict") -> Shape:
    return {"valid": found.valid, **plain(found)}


def checked_shape(bundle: "Bundle", found: "BundleVerdict") -> Shape:
    verdict, breach = found.verdict, found.verdict.breach or found.chain
    return {
        "execution": bundle.execution,
        "valid": found.valid,
        "entries": verdict.entries,
        "first_tick": verdict.first_tick,
        "last_tick": verdict.last_tick,
        "erased": verdict.erased,
        "ticks": found.ticks,
        "signed_by": found.signed_by,
        "identical": None if found.replay is None else found.replay.identical,
        "breach": None if breach is None else plain(breach),
    }


def replay_shape(found: "ExecutionReplay") -> Shape:
    return {
        "identical": found.identical,
        "steps": [plain(each) for each in found.steps],
        "diffs": [plain(each) for each in found.differences],
    }


def compared_shape(found: "ExecutionComparison") -> Shape:
    made = found.replay
    return {
        "execution": found.execution_id,
        "correlation": found.correlation,
        "version": found.version,
        "identical": made is not None and made.identical,
        "differences": 0 if made is None else len(made.differences),
        "first": None if made is None or made.identical else plain(made.differences[0]),
        "trouble": found.trouble,
    }


def simulation_shape(played: "Simulation", clock: LogicalClock) -> Shape:
    waits = played.state.ready_tick is not None and not played.state.is_over
    return {
        **state_shape(played.state, clock),
        "last_tick": played.frames[-1].tick,
        "cut": waits,
        "effects": [plain(each) for each in played.effects],
        "timeline": [moment_shape(each, clock) for each in played.entries],
    }


def _value(text: bytes | None) -> object:
    return None if text is None else revive(text)

"""Workflows and executions as people and programs see them."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from mainspring.domain.instant import rfc3339

if TYPE_CHECKING:
    from mainspring.workflow.model import Entry, Workflow
    from mainspring.workflow_ports import Execution

WHAT_CHARS = 300


def workflow_shape(workflow: "Workflow") -> dict[str, Any]:
    import msgspec

    return {
        "name": workflow.name,
        "version": workflow.version,
        "description": workflow.description,
        "start": workflow.start,
        "steps": [msgspec.to_builtins(step) for step in workflow.steps.values()],
    }


def execution_shape(execution: "Execution") -> dict[str, Any]:
    state = execution.state
    return {
        "id": state.id,
        "workflow": state.workflow,
        "version": state.version,
        "status": state.status.value,
        "step": state.step,
        "outcome": state.outcome,
        "error": state.error,
        "correlation": execution.correlation,
        "partition": execution.partition,
        "wake_tick": state.ready_tick,
        "input": state.input,
        "vars": state.vars,
        "steps": state.steps,
        "entries": state.number,
        "head": state.head,
        "actor": execution.actor,
        "created_at": rfc3339(execution.created_at),
        "moved_at": rfc3339(execution.moved_at),
    }


def entry_shape(entry: "Entry") -> dict[str, Any]:
    import json

    return {
        "number": entry.number,
        "tick": entry.tick,
        "step": entry.step,
        "action": entry.action,
        "input": None if entry.input is None else json.loads(entry.input),
        "output": None if entry.output is None else json.loads(entry.output),
        "input_hash": entry.input_hash,
        "output_hash": entry.output_hash,
        "context": entry.context,
        "previous": entry.previous,
        "hash": entry.hash,
    }


def entry_lines(entries: Iterable["Entry"]) -> list[tuple[str, str, str, str]]:
    return [(str(entry.tick), entry.step, entry.action, _what(entry)) for entry in entries]


def _what(entry: "Entry") -> str:
    if entry.input is None and entry.output is None:
        return "(erased)"
    parts = [part.decode() for part in (entry.input, entry.output) if part not in (None, b"null")]
    return " -> ".join(parts)[:WHAT_CHARS]

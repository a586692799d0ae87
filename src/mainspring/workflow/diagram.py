"""A workflow as nodes and edges, for drawing. Pure; contains no layout."""

from collections.abc import Iterator
from typing import Final, assert_never

from msgspec import Struct

from mainspring.domain.duration import format_duration
from mainspring.workflow.graph import OVER
from mainspring.workflow.model import AnyStep, Branch, Call, Email, End, Hint, Set, Wait, WaitFor, Workflow

THE_END: Final = "$end"  # the node for "completed"; no step's id starts like this
_SHORT: Final = 80


class DiagramNode(Struct, frozen=True):
    """A step, or the end. `label` describes what it does in a few words."""

    id: str
    kind: str
    label: str
    is_start: bool = False


class DiagramEdge(Struct, frozen=True):
    """A connection between two nodes. `kind` is when it is taken: next, case, default, timeout or failure."""

    source: str
    target: str
    kind: str
    label: str = ""


def diagram_of(workflow: Workflow) -> tuple[list[DiagramNode], list[DiagramEdge]]:
    nodes = [
        DiagramNode(step.id, str(step.__struct_config__.tag), _label(step), step.id == workflow.start)
        for step in workflow.steps.values()
    ]
    edges = [edge for step in workflow.steps.values() for edge in _edges(step)]
    if any(edge.target == THE_END for edge in edges):
        nodes.append(DiagramNode(THE_END, "end", "completed"))
    return nodes, edges


def _edges(step: AnyStep) -> Iterator[DiagramEdge]:
    if isinstance(step, Branch):
        for case in step.cases:
            yield DiagramEdge(step.id, case.goto or THE_END, "case", _short(case.when))
        yield DiagramEdge(step.id, step.default or THE_END, "default")
    elif not isinstance(step, End):
        yield DiagramEdge(step.id, step.next or THE_END, "next")
    if isinstance(step, WaitFor) and step.on_timeout != OVER:
        yield DiagramEdge(step.id, step.on_timeout, "timeout", f"after {format_duration(step.timeout_ms)}")
    if step.on_failure != OVER:
        yield DiagramEdge(step.id, step.on_failure, "failure")


def _label(step: AnyStep) -> str:
    match step:
        case Call():
            return _short(f"run {step.endpoint}" if step.endpoint else f"{step.method} {step.url}")
        case Email():
            return _short(f"{step.subject} to {step.to}")
        case Hint():
            return _short(_advice(step))
        case Wait(duration_ms=int(ms)):
            return format_duration(ms)
        case Wait():
            return _short(f"until {step.until}" if step.until else f"{step.cron} {step.timezone}")
        case WaitFor():
            return f"{step.event} within {format_duration(step.timeout_ms)}"
        case Branch():
            return _short(" | ".join(case.when for case in step.cases))
        case Set():
            return _short(", ".join(step.values))
        case End():
            return step.outcome
        case _:
            assert_never(step)


def _advice(step: Hint) -> str:
    if step.clear:
        return f"{step.endpoint}: no hints"
    if step.interval_ms is not None:
        return f"{step.endpoint}: every {format_duration(step.interval_ms)}"
    return f"{step.endpoint}: run in {format_duration(step.after_ms or 0)}"


def _short(text: str) -> str:
    return text if len(text) <= _SHORT else text[: _SHORT - 1] + "…"

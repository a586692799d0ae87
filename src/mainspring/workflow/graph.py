"""Check where steps lead: unreachable steps, and loops without an exit."""

from collections.abc import Iterator, Mapping

from mainspring.workflow.model import VISITS_DEFAULT, AnyStep, Branch, End, WaitFor
from mainspring.workflow.yaml_lines import Path, WorkflowFault, line_of

OVER = ""  # the execution is completed


def ways_of(step: AnyStep) -> Iterator[str]:
    """Where a step may lead, including OVER."""
    if isinstance(step, Branch):
        yield from (case.goto for case in step.cases)
        yield step.default
    elif isinstance(step, End):
        yield OVER
    else:
        yield step.next
    if isinstance(step, WaitFor) and step.on_timeout:
        yield step.on_timeout
    if step.on_failure:
        yield step.on_failure


def graph_faults(
    steps: Mapping[str, AnyStep], start: str, has_exit: bool, places: Mapping[str, str], lines: Mapping[Path, int]
) -> list[WorkflowFault]:
    """Finds unreachable steps, and loops that only the default bound would end."""
    ways = {step_id: set(ways_of(step)) for step_id, step in steps.items()}
    reached = _closure(ways, {start})
    line = {step_id: line_of(lines, ("steps", index)) for index, step_id in enumerate(steps)}
    faults = [
        WorkflowFault(
            places[step_id], f"{step_id!r} is never reached; let a step lead to it or remove it", line[step_id]
        )
        for step_id in steps
        if step_id not in reached
    ]
    backwards: dict[str, set[str]] = {}
    for step_id, nexts in ways.items():
        for other in nexts:
            backwards.setdefault(other, set()).add(step_id)
    can_end = _closure(backwards, {OVER})
    is_bounded = {step_id for step_id, step in steps.items() if step.visits_max != VISITS_DEFAULT}
    for step_id in steps:
        circle = _closure(ways, {step_id})
        if step_id in reached and step_id not in can_end and not has_exit and not circle & is_bounded:
            faults.append(
                WorkflowFault(
                    places[step_id],
                    f"{step_id!r} is in a loop without an exit; add a path out of it, an exit, or a bound: visits: 10",
                    line[step_id],
                )
            )
            break
    return faults


def _closure(ways: Mapping[str, set[str]], start: set[str]) -> set[str]:
    seen, left = set(start), list(start)
    while left:
        for other in ways.get(left.pop(), ()):
            if other not in seen:
                seen.add(other)
                left.append(other)
    return seen

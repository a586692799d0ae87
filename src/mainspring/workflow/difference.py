"""What changed between two versions of a workflow, in words."""

from collections.abc import Iterator
from typing import Final

import msgspec

from mainspring.domain.duration import format_duration
from mainspring.workflow.audit import canonical
from mainspring.workflow.model import AnyStep, Parameter, Workflow

_SHORT: Final = 60


def differences(old: Workflow, new: Workflow) -> list[str]:
    """One sentence for each change; none where both do the same."""
    said = list(_top(old, new))
    before, after = list(old.steps), list(new.steps)
    said += [f"step {each!r} ({_kind(new.steps[each])}) was added" for each in after if each not in before]
    said += [f"step {each!r} ({_kind(old.steps[each])}) was removed" for each in before if each not in after]
    for step_id in after:
        if step_id in old.steps:
            said += _step(step_id, old.steps[step_id], new.steps[step_id])
    return said


def _top(old: Workflow, new: Workflow) -> Iterator[str]:
    if old.start != new.start:
        yield f"it starts with step {new.start!r} instead of {old.start!r}"
    if old.description != new.description:
        yield f"the description changed from {_short(old.description)} to {_short(new.description)}"
    if old.reentry != new.reentry:
        yield f"reentry changed from {old.reentry} to {new.reentry}"
    for name in sorted(old.parameters.keys() | new.parameters.keys()):
        before, after = old.parameters.get(name), new.parameters.get(name)
        if before is None and after is not None:
            yield f"input {name!r} ({after.type}) was added"
        elif after is None:
            yield f"input {name!r} was removed"
        elif before != after and before is not None:
            yield f"input {name!r} changed from {_said(before)} to {_said(after)}"
    if old.triggers != new.triggers:
        yield f"the triggers changed from {_short(_plain(old.triggers))} to {_short(_plain(new.triggers))}"
    if old.exits != new.exits:
        yield f"the exits changed from {_short(_plain(old.exits))} to {_short(_plain(new.exits))}"


def _step(step_id: str, old: AnyStep, new: AnyStep) -> Iterator[str]:
    if type(old) is not type(new):
        yield f"step {step_id!r} is now {_kind(new)} instead of {_kind(old)}"
        return
    for field in new.__struct_fields__:
        before, after = getattr(old, field), getattr(new, field)
        if before != after:
            name = field.removesuffix("_ms").replace("_", " ")
            if field.endswith("_ms"):
                before, after = _span(before), _span(after)
            yield f"{name} of step {step_id!r} changed from {_short(_plain(before))} to {_short(_plain(after))}"


def _said(parameter: Parameter) -> str:
    return parameter.type if parameter.required else f"{parameter.type}, by default {_short(parameter.default)}"


def _kind(step: AnyStep) -> str:
    return str(step.__struct_config__.tag)


def _span(ms: int | None) -> str:
    return "none" if ms is None else format_duration(ms)


def _plain(value: object) -> object:
    return msgspec.to_builtins(value)


def _short(value: object) -> str:
    text = (value if value.isalnum() else repr(value)) if isinstance(value, str) else canonical(value).decode()
    return text if len(text) <= _SHORT else text[: _SHORT - 1] + "…"

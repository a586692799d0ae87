"""Describe the changes between two versions of a workflow in words."""

from collections.abc import Iterator
from typing import Final

import msgspec

from mainspring.domain.duration import format_duration
from mainspring.workflow.audit import canonical
from mainspring.workflow.model import AnyStep, Parameter, Workflow

_SHORT: Final = 60
_NOTHING: Final = object()


def differences(old: Workflow, new: Workflow) -> list[str]:
    """One sentence per change; none if both do the same."""
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
    yield from _sentences("the triggers", "", old.triggers, new.triggers)
    yield from _sentences("the exits", "", old.exits, new.exits)


def _step(step_id: str, old: AnyStep, new: AnyStep) -> Iterator[str]:
    if type(old) is not type(new):
        yield f"step {step_id!r} is now {_kind(new)} instead of {_kind(old)}"
        return
    for field in new.__struct_fields__:
        yield from _sentences(field, f" of step {step_id!r}", getattr(old, field), getattr(new, field))


def _sentences(field: str, whose: str, old: object, new: object) -> Iterator[str]:
    for path, *both in _changes(field, _plain(old), _plain(new)):
        name = path.replace("_ms", "").replace("_", " ") + whose
        before, after = map(_span, both) if path.endswith(("_ms", "_ms_max")) else both
        if before is _NOTHING:
            yield f"{name} was added: {_short(after)}"
        elif after is _NOTHING:
            yield f"{name} was removed: {_short(before)}"
        else:
            yield "{} changed from {} to {}".format(name, *_apart(before, after))


def _changes(path: str, old: object, new: object) -> Iterator[tuple[str, object, object]]:
    """The differences, as deeply nested as they can be named, so that a long value is not repeated as a whole."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            yield from _changes(f"{path}.{key}", old.get(key, _NOTHING), new.get(key, _NOTHING))
    elif isinstance(old, list | tuple) and isinstance(new, list | tuple) and len(old) == len(new):
        for index, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from _changes(f"{path}[{index}]", before, after)
    elif old != new:
        yield path, old, new


def _apart(old: object, new: object) -> tuple[str, str]:
    """Both texts, shortened; for two long texts with the same beginning, what follows it."""
    if isinstance(old, str) and isinstance(new, str):
        same = next((place for place, pair in enumerate(zip(old, new, strict=False)) if len(set(pair)) > 1), 0)
        if same > _SHORT // 2:
            old, new = ("…" + each[same - _SHORT // 4 :] for each in (old, new))
    return _short(old), _short(new)


def _said(parameter: Parameter) -> str:
    return parameter.type if parameter.required else f"{parameter.type}, by default {_short(parameter.default)}"


def _kind(step: AnyStep) -> str:
    return str(step.__struct_config__.tag)


def _span(ms: object) -> object:
    return "none" if ms is None else format_duration(ms) if isinstance(ms, int) else ms


def _plain(value: object) -> object:
    return msgspec.to_builtins(value)


def _short(value: object) -> str:
    text = (value if value.isalnum() else repr(value)) if isinstance(value, str) else canonical(value).decode()
    return text if len(text) <= _SHORT else text[: _SHORT - 1] + "…"

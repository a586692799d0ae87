"""Kinds of endpoints that other packages add, through the entry point group `mainspring.kinds`.

They are read once, when the registry is imported: the inputs of all interfaces are made from the list of kinds. This is
the one module of the domain that checks what is installed; from then on the list is data. A package that cannot be
loaded, or whose kind does not fit, is left out and named by `mainspring doctor`: it must not affect the others.
"""

from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import Any, Protocol

from msgspec import Struct

from mainspring.domain.kinds.kind import Kind
from mainspring.domain.run import Action

GROUP = "mainspring.kinds"
NEEDED = ("timeout_ms", "body_cap", "condition")


class KindPlugin(Protocol):
    """What an entry point names: a class or a function without arguments that returns this."""

    kind: Kind[Any]

    def open_caller(self, tools: Any) -> Any:
        """The caller of the kind; `tools` has `dialer` and `vault`."""


class InstalledKinds(Struct, frozen=True):
    plugins: tuple[Any, ...] = ()
    faults: tuple[str, ...] = ()  # one sentence for each package that was left out


def load_installed(own: tuple[Kind[Any], ...]) -> InstalledKinds:
    """The plugins whose kinds fit beside `own`."""
    plugins: list[Any] = []
    faults: list[str] = []
    kinds = list(own)
    for entry in sorted(entry_points(group=GROUP), key=lambda each: each.name):
        try:
            plugin = entry.load()()
            if fault := misfit(plugin.kind, tuple(kinds)):
                raise ValueError(fault)
        except Exception as fault:  # third-party code
            faults.append(f"kind {entry.name!r} ({entry.value}) was left out: {type(fault).__name__}: {fault}")
            continue
        plugins.append(plugin)
        kinds.append(plugin.kind)
    return InstalledKinds(tuple(plugins), tuple(faults))


@cache
def is_importable(package: str) -> bool:
    """Whether an optional package is installed, without importing it."""
    return find_spec(package) is not None


def misfit(kind: Kind[Any], others: tuple[Kind[Any], ...]) -> str:
    """Why a kind cannot be used beside the others; "" if it can."""
    config = getattr(kind.action, "__struct_config__", None)
    if config is None or not issubclass(kind.action, Action):
        return "its action is not a struct of Action; derive it from mainspring.kinds.Action"
    if (config.tag_field, config.tag) != ("kind", kind.name):
        return f'its action has another mark than its name; write tag_field="kind", tag={kind.name!r}'
    if kind.name in {each.name for each in others}:
        return f"the name {kind.name!r} is taken; choose another"
    if missing := [name for name in NEEDED if name not in kind.action.__struct_fields__]:
        return f"its action has no {', '.join(missing)}; every kind has them"
    known = {field.key: field for each in others for field in each.fields}
    for field in kind.fields:
        other = known.get(field.key)
        if other is not None and (other.name, other.kind, other.about.choices) != (
            field.name,
            field.kind,
            field.about.choices,
        ):
            return f"its field {field.key!r} has another type than the field of that name; choose another name"
    return ""

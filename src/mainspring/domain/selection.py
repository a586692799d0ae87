"""Which events somebody wants: names, or the beginning of names. Pure.

`run.finished` is that event, `run.*` or `run` every one whose name begins with `run.`, `*` all of them.
"""

from collections.abc import Iterable

from mainspring.domain.errors import InvalidInput, did_you_mean
from mainspring.domain.event import EventType
from mainspring.domain.name import shown

ALL = "*"
TYPES_MAX = 100
_KNOWN = tuple(each.value for each in EventType)
_FAMILIES = tuple(sorted({name.partition(".")[0] for name in _KNOWN}))


def check_types(wanted: Iterable[str], *, field: str = "types") -> tuple[str, ...]:
    """Normalised: whole names, `family.*` and `*`, each once. Nothing wanted is all wanted."""
    checked: dict[str, None] = {}
    for text in wanted:
        name = text.strip()
        if len(checked) >= TYPES_MAX:
            raise InvalidInput(
                f"more than {TYPES_MAX} event types are named; use * or a family such as run.*", field=field
            )
        family = name.removesuffix("*").removesuffix(".")
        if name == ALL or name in _KNOWN:
            checked[name] = None
        elif family in _FAMILIES:
            checked[f"{family}.*"] = None
        else:
            near = did_you_mean(name, (*_KNOWN, *_FAMILIES)) or "; `mainspring events` and the reference list them"
            raise InvalidInput(f"no event is called '{shown(name)}'{near}", field=field, value=shown(name))
    return (ALL,) if not checked or ALL in checked else tuple(checked)


def is_wanted(name: str, types: tuple[str, ...]) -> bool:
    return any(each in (ALL, name) or (each.endswith(".*") and name.startswith(each[:-1])) for each in types)

"""Select events by name or by prefix. Pure.

`run.finished` selects that event, `run.*` or `run` every event whose name starts with `run.`, `*` all events. Logins
and keys are confidential: such events are shown to the scope `admin` only, and go to a webhook only if an owner
selected them by name.
"""

from collections.abc import Iterable

from mainspring.domain.access.scope import Scope
from mainspring.domain.errors import InvalidInput, did_you_mean
from mainspring.domain.event import EventType
from mainspring.domain.name import shown

ALL = "*"
CONFIDENTIAL = frozenset(
    {
        EventType.LOGIN_SUCCEEDED,
        EventType.LOGIN_FAILED,
        EventType.LOGOUT,
        EventType.USER_CREATED,
        EventType.USER_UPDATED,
        EventType.PASSWORD_SET,
        EventType.SECOND_FACTOR_CHANGED,
        EventType.PASSKEY_ADDED,
        EventType.PASSKEY_REMOVED,
        EventType.MEMBER_CHANGED,
        EventType.MEMBER_INVITED,
        EventType.API_KEY_CREATED,
        EventType.API_KEY_REVOKED,
        EventType.SIGNING_KEY_CREATED,
        EventType.SIGNING_KEY_REVOKED,
        EventType.SECRET_KEY_CHANGED,
        EventType.DATA_EXPORTED,
    }
)
_KNOWN = tuple(each.value for each in EventType)
_FAMILIES = tuple(sorted({name.partition(".")[0] for name in _KNOWN}))


def check_types(wanted: Iterable[str], *, field: str = "types") -> tuple[str, ...]:
    """The normalised selection: full names, `family.*` and `*`, each once. An empty selection selects all."""
    checked: dict[str, None] = {}
    for text in wanted:
        name = text.strip()
        family = name.removesuffix("*").removesuffix(".")
        if name == ALL or name in _KNOWN:
            checked[name] = None
        elif family in _FAMILIES:
            checked[f"{family}.*"] = None
        else:
            near = did_you_mean(name, (*_KNOWN, *_FAMILIES)) or "; `mainspring events` and the reference list them"
            raise InvalidInput(f"event '{shown(name)}' does not exist{near}", field=field, value=shown(name))
    if checked and ALL not in checked:
        return tuple(checked)
    return (ALL, *(each for each in checked if each != ALL and names_confidential((each,))))


def is_wanted(name: str, types: tuple[str, ...]) -> bool:
    return ALL in types or _is_named(name, types)


def is_sent(name: str, types: tuple[str, ...]) -> bool:
    """Whether an event goes to a webhook with this selection; `*` excludes confidential events, which must be named."""
    return _is_named(name, types) or (ALL in types and name not in CONFIDENTIAL)


def names_confidential(types: tuple[str, ...]) -> bool:
    return any(_is_named(each, types) for each in CONFIDENTIAL)


def may_see(event_type: EventType, scopes: frozenset[Scope]) -> bool:
    return Scope.ADMIN in scopes or event_type not in CONFIDENTIAL


def _is_named(name: str, types: tuple[str, ...]) -> bool:
    return any(each == name or (each.endswith(".*") and name.startswith(each[:-1])) for each in types)

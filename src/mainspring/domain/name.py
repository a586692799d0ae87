"""Validate names that people give to things, and show any value they sent safely.

A name is stored in Unicode NFC, so two spellings of `é` are one name and uniqueness holds. Refused: characters that
cannot be stored (NUL, lone surrogates), that reorder or break the line (bidi controls, line breaks) or are invisible,
and names in the form of an id of the same kind. Inner spaces, emoji and all scripts are allowed.
"""

import re
import unicodedata
from typing import Final

from mainspring.domain.errors import InvalidInput

NAME_LENGTH_MAX: Final = 100
_RAW_LENGTH_MAX: Final = 1_000  # NFC and strip shorten text only a little; longer input is refused unread
_SHOWN_LENGTH_MAX: Final = 80
# Unicode property Bidi_Control: these make text read as something else ("gpj.exe" as "exe.jpg").
_BIDI_CONTROLS: Final = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# Kinds that are looked up by id or name: a name in the form of an id would hide the object with that id.
_ID_PREFIXES: Final = {
    "endpoint": "ep",
    "job": "job",
    "webhook": "whk",
    "alert": "alr",
    "connection": "con",
    "calendar": "cal",
    "maintenance window": "mnt",
}
_FORBIDDEN_CATEGORIES: Final = {
    "Cc": "a control character",
    "Cs": "a lone surrogate",
    "Zl": "a line separator",
    "Zp": "a paragraph separator",
}


def check_name(text: object, *, field: str, kind: str) -> str:
    """The name as stored: NFC, trimmed, 1 to 100 characters.

    `field` is the input field (`name`), `kind` the named thing (`job`); both appear in the error.
    """
    if not isinstance(text, str):
        raise _refused(text, field, kind, "is not text", "a name is text: put it in quotes")
    if len(text) > _RAW_LENGTH_MAX:
        raise _too_long(text, len(text), field, kind)
    name = as_stored(text)
    if not name:
        what = "consists of spaces" if text else "is empty"
        raise _refused(text, field, kind, what, f"a name has 1 to {NAME_LENGTH_MAX} characters: write one")
    if len(name) > NAME_LENGTH_MAX:
        raise _too_long(text, len(name), field, kind)
    for character in name:
        trouble = _trouble(character)
        if trouble:
            what = f"contains {trouble} (U+{ord(character):04X})"
            raise _refused(text, field, kind, what, "a name is one line of visible text: remove it")
    if not any(unicodedata.category(character)[0] in "LNPS" for character in name):
        raise _refused(text, field, kind, "is invisible", "a name must be readable: use a letter or a digit")
    if kind in _ID_PREFIXES and re.fullmatch(f"{_ID_PREFIXES[kind]}_[0-9a-f]{{32}}", name):
        raise _refused(text, field, kind, "has the form of an id", "names must be distinct from ids: choose another")
    return name


def as_stored(name_or_id: str) -> str:
    """A name in the form in which it is stored, so that lookups work for every spelling. Ids stay unchanged."""
    return unicodedata.normalize("NFC", name_or_id).strip()


def shown(value: object) -> str:
    """Any value that was sent, made safe and short enough for a message, a log or JSON."""
    text = value if isinstance(value, str) else repr(value)
    safe = "".join(
        character if character.isprintable() else repr(character)[1:-1] for character in text[:_SHOWN_LENGTH_MAX]
    )
    return safe + "…" if len(text) > _SHOWN_LENGTH_MAX else safe


def _trouble(character: str) -> str:
    if character in _BIDI_CONTROLS:
        return "a text direction control"
    return _FORBIDDEN_CATEGORIES.get(unicodedata.category(character), "")


def _too_long(text: str, length: int, field: str, kind: str) -> InvalidInput:
    return _refused(text, field, kind, f"has {length} characters", f"at most {NAME_LENGTH_MAX} are allowed: shorten it")


def _refused(text: object, field: str, kind: str, what: str, rule: str) -> InvalidInput:
    return InvalidInput(f"{kind} {field} '{shown(text)}' {what}; {rule}", field=field, value=shown(text))

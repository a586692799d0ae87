"""Read the file of another product, which is untrusted: bounded in size, depth and number of items.

A value of the wrong type is named with its key. Nothing of the file is executed.
"""

from collections.abc import Mapping
from datetime import timedelta

import msgspec

from mainspring.documents.imports.takeover import NotTaken
from mainspring.domain.duration import format_duration
from mainspring.domain.errors import InvalidInput
from mainspring.domain.name import shown
from mainspring.domain.text import clean_text

BYTES_MAX = 5_000_000  # as many as a document may have
ITEMS_MAX = 5_000  # half a minute of work
TEXT_CHARS_MAX = 100_000

Item = Mapping[str, object]


def check_size(data: bytes, what: str) -> None:
    if len(data) > BYTES_MAX:
        raise refused(f"the file has more than {BYTES_MAX:,} bytes; {what} is smaller: export less, or split it")


def read_json(data: bytes, what: str) -> Item:
    """A JSON object. Raises InvalidInput that says what the file should be."""
    check_size(data, what)
    try:
        value = msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"))
    except RecursionError:
        raise refused(f"the file is nested too deep for {what}; export it again") from None
    except (msgspec.DecodeError, ValueError) as fault:
        raise refused(f"the file is not JSON ({fault}); give {what}") from None
    if not isinstance(value, dict):
        raise refused(f"the file is not a JSON object; give {what}")
    return value


def items_of(value: object, key: str, what: str) -> list[object]:
    if not isinstance(value, list):
        raise refused(f"the file has no list {key!r}; give {what}")
    if len(value) > ITEMS_MAX:
        raise refused(f"{key!r} has {len(value):,} items; at most {ITEMS_MAX:,} are imported: split the file")
    return value


def text_of(item: Item, key: str) -> str:
    """A text, a number as text, or "" if the key is missing."""
    value = item.get(key)
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise NotTaken(f"its {key} is not a text")
    return clean_text(str(value), TEXT_CHARS_MAX).strip()


def number_of(item: Item, key: str, default: float = 0) -> float:
    value = item.get(key)
    if value is None or value == "":
        return default
    try:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValueError
        number = float(value)
        if not 0 <= number < 1e12:
            raise ValueError
    except (ValueError, OverflowError):
        raise NotTaken(f"its {key} '{shown(value)}' is not a positive number") from None
    return number


def is_set(item: Item, key: str) -> bool:
    """Whether a flag is set, which databases have as a number and old exports as a text."""
    return item.get(key) not in (None, False, 0, "", "0", "false")


def seconds_text(seconds: float) -> str:
    return format_duration(timedelta(seconds=seconds) // timedelta(milliseconds=1))


def refused(message: str) -> InvalidInput:
    return InvalidInput(message, field="file")

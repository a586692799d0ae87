"""Parse and format durations: text such as `30s`, `1h30m` or `1.5s`, stored as whole milliseconds.

`format_duration` is exact, and `parse_duration_ms` reads back everything it writes. A bare whole number is
milliseconds, as text or as a number. A float is refused because it may already have been rounded.
"""

import re
from datetime import timedelta
from functools import lru_cache
from typing import Final

from mainspring.domain.errors import InvalidInput
from mainspring.domain.name import shown

DURATION_MS_MAX: Final = 366 * 86_400_000  # a leap year; anything longer should be a date
IN: Final = "in "  # begins a time that is given as a delay
_UNIT_MS: Final = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}
_TEXT_LENGTH_MAX: Final = 40  # more digits than any exact duration below the maximum needs
_BARE_NUMBER: Final = re.compile(r"[0-9]+")
_GAP: Final = re.compile(r"(?<=[a-z]) +(?=[0-9])")  # "1h 30m" is "1h30m"
_PARTS: Final = re.compile("".join(rf"(?:([0-9]+)(?:\.([0-9]+))?{unit})?" for unit in _UNIT_MS))
_EXAMPLES: Final = "250ms, 30s, 5m, 1h30m, 1d or a whole number of milliseconds"


def parse_duration_ms(value: object, *, field: str, min_ms: int = 1, max_ms: int = DURATION_MS_MAX) -> int:
    """The duration in milliseconds; `min_ms` (default 1) and `max_ms` (default 366 days) are both allowed.

    A refusal begins with `field`; "" leaves the name to the caller.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        ms = value
    elif isinstance(value, str):
        ms = _read(value, field)
    else:
        raise _refused(value, field, "is not a duration", f"it is text or a whole number: give {_EXAMPLES}")
    if ms < 0:
        raise _negative(value, field)
    if ms < min_ms:
        way_out = f"give {format_duration(min_ms)} or more"
        if ms > 0 and isinstance(value, str) and _BARE_NUMBER.fullmatch(value):
            way_out += f"; a bare number is milliseconds, seconds are {value}s"
        raise _refused(value, field, f"is below the minimum {format_duration(min_ms)}", way_out)
    if ms > max_ms:
        way_out = f"give {format_duration(max_ms)} or less"
        raise _refused(value, field, f"is above the maximum {format_duration(max_ms)}", way_out)
    return ms


def read_delay(text: str, *, field: str) -> timedelta:
    """`in 10m`: how long from now."""
    ms = parse_duration_ms(text.strip().removeprefix(IN), field=field, min_ms=0)
    return timedelta(milliseconds=ms)


@lru_cache(4096)
def format_duration(ms: int) -> str:
    """Exact text in which each unit occurs at most once and zero units are left out: `1h30m`, `1.5s`, `1m0.5s`,
    `250ms`, `0s`.
    """
    if ms < 0:
        return "-" + format_duration(-ms)
    if 0 < ms < 1_000:
        return f"{ms}ms"
    text = ""
    rest_ms = ms
    for unit in ("d", "h", "m"):
        count, rest_ms = divmod(rest_ms, _UNIT_MS[unit])
        text += f"{count}{unit}" if count else ""
    if rest_ms or not text:
        seconds, fraction_ms = divmod(rest_ms, 1_000)
        text += f"{seconds}.{fraction_ms:03}".rstrip("0").rstrip(".") + "s"
    return text


def _read(value: str, field: str) -> int:
    text = _GAP.sub("", value.strip(" "))
    if not text:
        raise _refused(value, field, "is empty", f"a duration is a number and a unit: give {_EXAMPLES}")
    if text.startswith("-"):
        raise _negative(value, field)
    if len(text) <= _TEXT_LENGTH_MAX:
        if _BARE_NUMBER.fullmatch(text):
            return int(text)
        parts = _PARTS.fullmatch(text)
        if parts:
            return _sum_ms(parts.groups(default=""), value, field)
    raise _refused(value, field, "is not a duration", f"units are d, h, m, s, ms, biggest first: give {_EXAMPLES}")


def _sum_ms(digits: tuple[str, ...], value: str, field: str) -> int:
    """The sum of `digits`, which are (whole, fraction) per unit, in exact integers."""
    total_ms = 0
    for whole, fraction, unit_ms in zip(digits[::2], digits[1::2], _UNIT_MS.values(), strict=True):
        part_ms, remainder = divmod(int(whole + fraction or "0") * unit_ms, 10 ** len(fraction))
        if remainder:
            raise _refused(value, field, "is finer than a millisecond", "durations are whole milliseconds: round it")
        total_ms += part_ms
    return total_ms


def _negative(value: object, field: str) -> InvalidInput:
    """Does not suggest 0: the field may refuse 0 as well."""
    return _refused(value, field, "is negative", f"a duration is positive: give {_EXAMPLES}")


def _refused(value: object, field: str, what: str, way_out: str) -> InvalidInput:
    name = f"{field} " if field else ""
    return InvalidInput(f"{name}'{shown(value)}' {what}; {way_out}", field=field, value=shown(value))

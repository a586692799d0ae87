"""Timestamps as text in workflows: RFC 3339 with a zone, parsed without the machine's clock or zone."""

import re
from datetime import UTC, datetime
from typing import Final

_RFC3339: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ]([01]\d|2[0-3])(:[0-5]\d:[0-5]\d)(\.\d{1,9})?([Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)",
    re.ASCII,
)


def read_instant(text: str) -> datetime | None:
    """The timestamp in UTC, or None if the text is not one; digits beyond microseconds are cut."""
    found = _RFC3339.fullmatch(text.strip())
    if found is None:
        return None
    day, hour, rest, fraction, zone = found.groups()
    try:
        offset = "+00:00" if zone in "Zz" else zone
        return datetime.fromisoformat(f"{day}T{hour}{rest}{(fraction or '.0')[:7]}{offset}").astimezone(UTC)
    except (ValueError, OverflowError):  # 30 February, or an offset outside the calendar
        return None

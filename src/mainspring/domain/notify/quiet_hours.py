"""Quiet hours: a part of the day in which alerts are held back. Pure."""

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from mainspring.domain.errors import InvalidInput
from mainspring.domain.name import shown
from mainspring.domain.notify.subscription import Quiet

_SPAN = re.compile(r"([01]\d|2[0-3]):([0-5]\d)\s*-\s*([01]\d|2[0-3]):([0-5]\d)", re.ASCII)


def parse_span(text: str, *, field: str = "quiet") -> tuple[int, int]:
    """`22:00-07:00` as minutes since midnight."""
    found = _SPAN.fullmatch(text.strip())
    if found is None or found[1] + found[2] == found[3] + found[4]:
        raise InvalidInput(
            f"{field} '{shown(text)}' is not a time range; write start and end, such as 22:00-07:00",
            field=field,
            value=shown(text),
        )
    hour, minute, to_hour, to_minute = map(int, found.groups())
    return hour * 60 + minute, to_hour * 60 + to_minute


def format_span(quiet: Quiet) -> str:
    spelled = [f"{minute // 60:02}:{minute % 60:02}" for minute in (quiet.from_minute, quiet.to_minute)]
    return "-".join(spelled)


def quiet_until(quiet: Quiet | None, now: datetime) -> datetime | None:
    """When the current quiet hours end; None outside quiet hours."""
    if quiet is None:
        return None
    local = now.astimezone(ZoneInfo(quiet.timezone))
    minute = local.hour * 60 + local.minute
    passes_midnight = quiet.from_minute > quiet.to_minute
    after_start, before_end = minute >= quiet.from_minute, minute < quiet.to_minute
    if not (after_start or before_end if passes_midnight else after_start and before_end):
        return None
    day = local.date() + timedelta(days=1 if passes_midnight and after_start else 0)
    hour, minute = divmod(quiet.to_minute, 60)
    end = datetime(day.year, day.month, day.day, hour, minute, tzinfo=local.tzinfo, fold=local.fold)
    return end.astimezone(UTC)

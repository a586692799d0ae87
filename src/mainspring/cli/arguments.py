"""What people type, read into values: instants, spans, headers, codes. Every refusal says what to write instead."""

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from mainspring.domain.duration import DURATION_MS_MAX, parse_duration_ms
from mainspring.domain.errors import InvalidInput, did_you_mean
from mainspring.domain.name import shown

if TYPE_CHECKING:
    from mainspring.domain.run import Header

EndpointName = Annotated[str, typer.Argument(metavar="ENDPOINT", help="Name or id of the endpoint.")]
JobName = Annotated[str, typer.Argument(metavar="JOB", help="Name or id of the job.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite what is there.")]
Reason = Annotated[str, typer.Option("--reason", help="Why, in a few words; shown to whoever asks later.")]

NO_VALUE = ("none", "unlimited")
_RFC3339 = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ]([01]\d|2[0-3])(:[0-5]\d:[0-5]\d)(\.\d{1,9})?([Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)",
    re.ASCII,
)


def read_instant(text: object, field: str) -> datetime:
    """An RFC 3339 instant, in UTC; finer than microseconds is cut."""
    found = _RFC3339.fullmatch(text) if isinstance(text, str) else None
    if found is not None:
        day, hour, rest, fraction, zone = found.groups()
        zone = "+00:00" if zone in "Zz" else zone
        try:
            return datetime.fromisoformat(f"{day}T{hour}{rest}{(fraction or '.0')[:7]}{zone}").astimezone(UTC)
        except (ValueError, OverflowError):
            pass  # 30 February, or an offset that leads out of the calendar
    raise InvalidInput(
        f"{field} '{shown(text)}' is not an instant; write it as RFC 3339 with a zone: 2025-01-31T08:30:00Z "
        "or 2025-01-31T09:30:00+01:00",
        field=field,
        value=shown(text),
    )


def read_span(text: str, field: str, most: timedelta = timedelta(milliseconds=DURATION_MS_MAX)) -> timedelta:
    most_ms = most // timedelta(milliseconds=1)
    return timedelta(milliseconds=parse_duration_ms(text, field=field, max_ms=most_ms))


def read_header(text: str, *, secret: bool) -> "Header":
    """`Name: value`. A secret one may be given by its name alone on a terminal: its value is then asked for, unseen."""
    from mainspring.domain.run import Header

    name, colon, value = text.partition(":")
    if not colon and secret and _can_ask():
        return Header(name.strip(), str(typer.prompt(f"value of {shown(name)}", hide_input=True)), secret=True)
    if not colon:
        field = "secret-header" if secret else "header"
        example = "Authorization: Bearer abc" if secret else "Accept: application/json"
        what = "" if secret else f" '{shown(text)}'"
        raise InvalidInput(
            f"--{field}{what} has no colon; a header is a name and a value: --{field} '{example}'", field="headers"
        )
    return Header(name.strip(), value.strip(" \t"), secret=secret)


def read_codes(texts: list[str]) -> tuple[int, ...]:
    """Status codes, one or more at a time (`200,204`); `2xx` is the default again."""
    codes: list[int] = []
    for part in ",".join(texts).split(","):
        word = part.strip().lower()
        if word == "2xx":
            continue
        if not re.fullmatch(r"[1-9][0-9]{2}", word, re.ASCII):
            raise InvalidInput(
                f"--accept '{shown(part)}' is not a status code; give three digits such as 404, several as 200,404, "
                "or 2xx for the default",
                field="accept_codes",
                value=shown(part),
            )
        codes.append(int(word))
    return tuple(dict.fromkeys(codes))


def read_quota(text: str, field: str) -> int | None:
    """A whole number, or `none` for no limit."""
    word = text.strip().lower()
    if word in NO_VALUE:
        return None
    if not re.fullmatch(r"[0-9]{1,15}", word, re.ASCII):
        raise InvalidInput(
            f"{field} '{shown(text)}' is not a quota; give a whole number of 0 or more, or none for no limit",
            field=field,
            value=shown(text),
        )
    return int(word)


def read_assumption(text: str) -> int:
    """What `--if` supposes: `failures=3`."""
    name, equals, value = text.partition("=")
    if not equals or name.strip() != "failures":
        suggestion = did_you_mean(name.strip(), ("failures",)) or ";"
        raise InvalidInput(
            f"--if '{shown(text)}' is not understood{suggestion} write --if failures=3", field="if", value=shown(text)
        )
    if not re.fullmatch(r"[0-9]{1,6}", value.strip(), re.ASCII):
        raise InvalidInput(
            f"--if failures='{shown(value)}' is not a count; give a whole number of 0 or more: --if failures=3",
            field="if",
            value=shown(value),
        )
    return int(value)


def one_of_two(first: str | None, second: str | None, names: str, field: str) -> None:
    """Refuse both; which of the two is missing is for the caller to say."""
    if first is not None and second is not None:
        raise InvalidInput(f"{names} say the same thing in two ways; give one of them", field=field)


def _can_ask() -> bool:
    import sys

    return sys.stdin.isatty()

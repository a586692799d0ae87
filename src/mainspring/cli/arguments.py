"""Parse command-line values: timestamps, durations, headers, codes. Every error says what to write instead."""

import re
from collections.abc import Mapping
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
Force = Annotated[bool, typer.Option("--force", help="Overwrite an existing file or database.")]
Reason = Annotated[str, typer.Option("--reason", help="Reason, in a few words; shown to anyone who looks later.")]

NO_VALUE = ("none", "unlimited")
FILE_BYTES_MAX = 1_000_000
# Options whose references are read, and those whose text may mention them.
_MAY_REFER = ("header", "secret_header", "description", "reason")
_REFERENCE = re.compile(r"(?<!\$)\$\{(?:env:|file:|stored\})")
_RFC3339 = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ]([01]\d|2[0-3])(:[0-5]\d:[0-5]\d)(\.\d{1,9})?([Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)",
    re.ASCII,
)


def read_instant(text: object, field: str) -> datetime:
    """An RFC 3339 timestamp, in UTC; digits beyond microseconds are cut."""
    found = _RFC3339.fullmatch(text) if isinstance(text, str) else None
    if found is not None:
        day, hour, rest, fraction, zone = found.groups()
        zone = "+00:00" if zone in "Zz" else zone
        try:
            return datetime.fromisoformat(f"{day}T{hour}{rest}{(fraction or '.0')[:7]}{zone}").astimezone(UTC)
        except (ValueError, OverflowError):
            pass  # 30 February, or an offset outside the calendar
    raise InvalidInput(
        f"{field} '{shown(text)}' is not a timestamp; write it as RFC 3339 with a zone: "
        "2025-01-31T08:30:00Z or 2025-01-31T09:30:00+01:00",
        field=field,
        value=shown(text),
    )


def read_span(text: str, field: str, most: timedelta = timedelta(milliseconds=DURATION_MS_MAX)) -> timedelta:
    most_ms = most // timedelta(milliseconds=1)
    return timedelta(milliseconds=parse_duration_ms(text, field=field, max_ms=most_ms))


def refuse_references(given: Mapping[str, object]) -> None:
    """Refuses `${env:X}` and the like where it would be stored literally, which is never intended."""
    for name, value in given.items():
        for text in value if isinstance(value, list | tuple) else (value,):
            if isinstance(text, str) and name not in _MAY_REFER and (found := _REFERENCE.search(text)):
                option = name.replace("_", "-")
                raise InvalidInput(
                    f"{option} contains '{shown(text[found.start() :])}': references are read in documents and in "
                    f'headers, not in {option}; let the shell insert the value, as in "$NAME" or "$(cat FILE)"',
                    field=name,
                )


def read_text(text: str, option: str) -> str:
    """The text of an option: `@FILE` reads a file, `@-` standard input; `@@...` is text that starts with an @."""
    if not text.startswith("@"):
        return text
    if text.startswith("@@"):
        return text[1:]
    try:
        data = _read_file(text[1:])
    except OSError as fault:
        raise InvalidInput(
            f"{option} '{shown(text)}' names a file that cannot be read: {fault.strerror}; name a readable "
            "file, or @- for standard input; write text that starts with @ with @@",
            field=option.lstrip("-"),
        ) from None
    if len(data) > FILE_BYTES_MAX:
        raise InvalidInput(
            f"{option} '{shown(text)}' has more than {FILE_BYTES_MAX:,} bytes; name a smaller file",
            field=option.lstrip("-"),
        )
    return data.decode()


def _read_file(name: str) -> bytes:
    import sys

    if name == "-":
        return sys.stdin.buffer.read(FILE_BYTES_MAX + 1)
    with open(name, "rb") as file:
        return file.read(FILE_BYTES_MAX + 1)


def _resolved(value: str, field: str) -> str:
    """A header's value with `${env:NAME}` and `${file:/path}` resolved here, as `apply` does in a document."""
    import os

    from mainspring.documents.references import has_reference, local, resolved

    if not has_reference(value) and "$${" not in value:
        return value
    try:
        return resolved(value, local(os.environ))
    except ValueError as fault:
        raise InvalidInput(f"--{field}: {fault}", field="headers") from None


def read_header(text: str, *, secret: bool) -> "Header":
    """`Name: value`. On a terminal, a secret header may be given by name only: its value is prompted for without
    echo.
    """
    from mainspring.domain.run import Header

    name, colon, value = text.partition(":")
    if not colon and secret and can_ask():
        return Header(name.strip(), str(typer.prompt(f"value of {shown(name)}", hide_input=True)), secret=True)
    if not colon:
        field = "secret-header" if secret else "header"
        example = "Authorization: Bearer abc" if secret else "Accept: application/json"
        what = "" if secret else f" '{shown(text)}'"
        raise InvalidInput(
            f"--{field}{what} has no colon; a header is a name and a value: --{field} '{example}'", field="headers"
        )
    value = _resolved(value.strip(" \t"), "secret-header" if secret else "header")
    return Header(name.strip(), value, secret=secret)


def read_variable(text: str, *, secret: bool) -> "Header":
    """`NAME=value`, as for a shell."""
    from mainspring.domain.run import Header

    name, mark, value = text.partition("=")
    option = "secret-env" if secret else "env"
    if not mark:
        what = "" if secret else f" '{shown(text)}'"
        raise InvalidInput(
            f"--{option}{what} has no value; a variable is a name and a value: --{option} LEVEL=full",
            field="environment",
        )
    return Header(name.strip(), _resolved(value, option), secret=secret)


def read_powers(texts: list[str]) -> tuple[str, ...]:
    """Permissions of advice, one or more at a time (`interval,run`); `all` and `none` alone."""
    from mainspring.domain.endpoint import POWERS

    words = [part.strip().lower() for part in ",".join(texts).split(",")]
    return {"all": POWERS, "none": ()}.get(",".join(words), tuple(words))


def read_codes(texts: list[str]) -> tuple[int, ...]:
    """Status codes, one or more at a time (`200,204`); `2xx` restores the default."""
    codes: list[int] = []
    for part in ",".join(texts).split(","):
        word = part.strip().lower()
        if word == "2xx":
            continue
        if not re.fullmatch(r"[1-9][0-9]{2}", word, re.ASCII):
            raise InvalidInput(
                f"--accept-codes '{shown(part)}' is not a status code; give three digits such as 404, several as "
                "200,404, or 2xx for the default",
                field="accept_codes",
                value=shown(part),
            )
        codes.append(int(word))
    return tuple(dict.fromkeys(codes))


def read_choice(text: str | None, known: tuple[str, ...], option: str) -> str | None:
    """One of the known words, or None without a value."""
    if text is not None and text not in known:
        raise InvalidInput(
            f"unknown {option} '{shown(text)}'{did_you_mean(text, known) or ';'} choose one of {', '.join(known)}",
            field=option,
            value=shown(text),
        )
    return text


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
    """The assumption of `--if`: `failures=3`."""
    name, equals, value = text.partition("=")
    if not equals or name.strip() != "failures":
        suggestion = did_you_mean(name.strip(), ("failures",)) or ";"
        raise InvalidInput(
            f"--if '{shown(text)}' is not valid{suggestion} write --if failures=3", field="if", value=shown(text)
        )
    if not re.fullmatch(r"[0-9]{1,6}", value.strip(), re.ASCII):
        raise InvalidInput(
            f"--if failures='{shown(value)}' is not a count; give a whole number of 0 or more: --if failures=3",
            field="if",
            value=shown(value),
        )
    return int(value)


def one_of_two(first: str | None, second: str | None, names: str, field: str) -> None:
    """Refuses both; the caller reports a missing value."""
    if first is not None and second is not None:
        raise InvalidInput(f"{names} exclude each other; give one of them", field=field)


def can_ask() -> bool:
    import sys

    return sys.stdin.isatty()

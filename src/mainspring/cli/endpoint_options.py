"""What `endpoint add` and `endpoint edit` may be told about an endpoint, and how it becomes a definition.

Both commands take the same options; one that was not given changes nothing. What is refused, and with which words, is
`domain/definition.py`'s to say: here text only becomes numbers.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from mainspring.cli.arguments import NO_VALUE, read_codes, read_header, read_powers, read_text
from mainspring.domain.duration import parse_duration_ms
from mainspring.domain.errors import InvalidInput
from mainspring.domain.name import shown

if TYPE_CHECKING:
    from mainspring.domain.definition import Definition
    from mainspring.domain.run import Header

T = TypeVar("T")
Texts = list[str] | None

NewName = Annotated[str, typer.Argument(metavar="NAME", help="Name of the new endpoint, unique in the tenant.")]
NewUrl = Annotated[str, typer.Option("--url", help="What to call: http:// or https://.")]
Url = Annotated[str | None, typer.Option("--url", help="What to call: http:// or https://.")]
Rename = Annotated[str | None, typer.Option("--name", help="A new name.")]
Every = Annotated[
    str | None, typer.Option("--every", metavar="DURATION", help="Run at this interval: 30s, 5m, 1h30m, 1d.")
]
Cron = Annotated[
    str | None,
    typer.Option("--cron", metavar="EXPR", help="Run by this cron expression: '*/15 * * * *', '@daily', 'H 3 * * *'."),
]
Tz = Annotated[
    str | None,
    typer.Option("--tz", metavar="ZONE", help="Time zone of --cron: Europe/Berlin; UTC by default. Not with --every."),
]
Method = Annotated[
    str | None, typer.Option("--method", help="GET (the default), HEAD, POST, PUT, PATCH, DELETE, OPTIONS.")
]
PlainHeaders = Annotated[
    Texts,
    typer.Option(
        "--header", metavar="'K: V'", help="A request header; ${env:NAME} and ${file:/path} are read here. Repeatable."
    ),
]
SecretHeaders = Annotated[
    Texts,
    typer.Option(
        "--secret-header",
        metavar="'K: V'",
        help="A header that is encrypted at rest and never shown again. On a terminal, 'K' alone asks for the value.",
    ),
]
DropHeaders = Annotated[
    Texts, typer.Option("--remove-header", metavar="K", help="Stop sending this header; may be given again.")
]
BodyText = Annotated[
    str | None,
    typer.Option("--body", help="Request body (not with GET and HEAD): text, @FILE, or @- for standard input."),
]
DropBody = Annotated[bool, typer.Option("--no-body", help="Send no body any more.")]
Timeout = Annotated[
    str | None, typer.Option("--timeout", metavar="DURATION", help="Total deadline of one call; 30s by default.")
]
Least = Annotated[
    str | None, typer.Option("--min", metavar="DURATION", help="Runs are at least this far apart; 0 for no limit.")
]
Most = Annotated[
    str | None, typer.Option("--max", metavar="DURATION", help="Runs are at most this far apart; 0 for no limit.")
]
Jitter = Annotated[
    str | None, typer.Option("--jitter", metavar="DURATION", help="Move each run by up to this much; 0 by default.")
]
Backoff = Annotated[
    str | None,
    typer.Option("--backoff", help="What failures do to an interval: default (doubles, up to 32 times) or monitor."),
]
InJob = Annotated[str | None, typer.Option("--job", help="The job it belongs to; made if it is new.")]
Description = Annotated[str | None, typer.Option("--description", help="What it is for, in plain words.")]
Misfire = Annotated[
    str | None, typer.Option("--misfire", help="What becomes of runs missed in a downtime: run_once, skip or catch_up.")
]
CatchUpMax = Annotated[
    int | None, typer.Option("--catch-up-max", metavar="N", help="With catch_up: at most this many; 10 by default.")
]
MaxLateness = Annotated[
    str | None,
    typer.Option("--max-lateness", metavar="DURATION", help="A run later than this is missed; none to undo."),
]
OnLostWorker = Annotated[
    str | None,
    typer.Option("--on-lost-worker", help="When a worker dies in a run: retry (at least once) or skip (at most once)."),
]
BodyCap = Annotated[
    int | None, typer.Option("--body-cap", metavar="BYTES", help="How much of a response is kept; 100000 by default.")
]
Redirects = Annotated[
    int | None, typer.Option("--redirects", metavar="N", help="Follow at most this many, up to 5; 0 by default.")
]
Accept = Annotated[
    Texts, typer.Option("--accept", metavar="CODE", help="Status codes that are a success, e.g. 200,404; else any 2xx.")
]
Advice = Annotated[
    Texts,
    typer.Option(
        "--advice",
        metavar="WHAT",
        help="What rules, workflows and the model may do: interval,run,wake,pause,siblings; `all` or `none`.",
    ),
]
Condition = Annotated[
    str | None,
    typer.Option(
        "--condition", metavar="CEL", help="Must hold for a success: 'status_code == 200 && body.depth < 100'."
    ),
]
Spread = Annotated[
    bool | None,
    typer.Option("--spread/--no-spread", help="Start at the endpoint's own phase of its interval, or right away."),
]


def apply_options(definition: "Definition", given: Mapping[str, object]) -> "Definition":
    """The definition with what was given: options by the names of their parameters, None where one was not."""
    from msgspec.structs import replace

    wishes: dict[str, object] = {}
    for option, field in _AS_GIVEN.items():
        if given.get(option) is not None:
            wishes[field] = given[option]
    for option, (field, word) in _DURATIONS.items():
        if (text := _text(given, option)) is not None:
            wishes[field] = _milliseconds(text, word)
    _refuse_idle_zone(definition, given)
    if (body := _text(given, "body")) is not None:
        wishes["body"] = read_text(body, "--body")
    if "interval_ms" in wishes and "cron" not in wishes:
        wishes["cron"] = None
    if "cron" in wishes and "interval_ms" not in wishes:
        wishes["interval_ms"] = None
    if (codes := _texts(given, "accept")) is not None:
        wishes["accept_codes"] = read_codes(codes)
    if (powers := _texts(given, "advice")) is not None:
        wishes["advice"] = read_powers(powers)
    if given.get("condition") == "":
        wishes["condition"] = None
    if given.get("no_body"):
        wishes["body"] = None
    wishes["headers"] = _headers(definition, given)
    return replace(definition, **wishes)


_AS_GIVEN = {
    "rename": "name",
    "url": "url",
    "method": "method",
    "cron": "cron",
    "tz": "timezone",
    "backoff": "backoff",
    "job": "job",
    "description": "description",
    "misfire": "misfire",
    "catch_up_max": "catch_up_max",
    "on_lost_worker": "on_lost_worker",
    "body_cap": "body_cap",
    "redirects": "redirects_max",
    "condition": "condition",
    "spread": "spread",
}
_DURATIONS = {  # option -> field, and what refusals call it
    "every": ("interval_ms", "interval"),
    "timeout": ("timeout_ms", "timeout"),
    "least": ("min_interval_ms", "min_interval"),
    "most": ("max_interval_ms", "max_interval"),
    "jitter": ("jitter_ms", "jitter"),
    "max_lateness": ("max_lateness_ms", "max_lateness"),
}


def _refuse_idle_zone(definition: "Definition", given: Mapping[str, object]) -> None:
    """A time zone has no effect on an interval: refuse it, because a cron expression was probably meant."""
    zone = _text(given, "tz")
    is_cron = given.get("cron") is not None or (definition.cron is not None and given.get("every") is None)
    if zone is not None and not is_cron and (given.get("every") is not None or definition.interval_ms is not None):
        raise InvalidInput(
            f"--tz '{shown(zone)}' has no effect on an interval: a time zone belongs to a cron expression; leave --tz "
            "out, or give --cron instead of --every",
            field="timezone",
            value=shown(zone),
        )


def _milliseconds(text: str, word: str) -> int | None:
    """A duration within the bounds of its kind, so that a refusal shows it as it was typed; 0 takes a limit away."""
    from mainspring.domain.endpoint import INTERVAL_MS_MAX, INTERVAL_MS_MIN, TIMEOUT_MS_MAX

    if word == "max_lateness" and text.strip().lower() in NO_VALUE:
        return None
    bounds = {"interval": (INTERVAL_MS_MIN, INTERVAL_MS_MAX), "timeout": (1, TIMEOUT_MS_MAX)}
    least_ms, most_ms = bounds.get(word, (0, INTERVAL_MS_MAX))
    return parse_duration_ms(text, field=word, min_ms=least_ms, max_ms=most_ms)


def _headers(definition: "Definition", given: Mapping[str, object]) -> tuple["Header", ...]:
    """One header a name: what is given replaces what was there, in its place; what is removed is left out."""
    headers = {header.name.lower(): header for header in definition.headers}
    for name in _texts(given, "remove_header") or []:
        headers.pop(name.strip().rstrip(":").lower(), None)
    for option, secret in (("header", False), ("secret_header", True)):
        for text in _texts(given, option) or []:
            header = read_header(text, secret=secret)
            headers[header.name.lower()] = header
    return tuple(headers.values())


def _text(given: Mapping[str, object], option: str) -> str | None:
    value = given.get(option)
    assert value is None or isinstance(value, str)
    return value


def _texts(given: Mapping[str, object], option: str) -> list[str] | None:
    value = given.get(option)
    assert value is None or isinstance(value, list)
    return value or None

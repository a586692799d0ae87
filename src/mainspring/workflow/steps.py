"""Parse the kinds of steps of a document."""

import re
from collections.abc import Mapping
from typing import Final, cast

from mainspring.domain.kinds.http import speaks_of_a_secret
from mainspring.domain.name import shown
from mainspring.domain.schedule.cron import check_cron, check_timezone
from mainspring.domain.target import check_header, check_shown_url, check_url
from mainspring.workflow.expression import ROOTS
from mainspring.workflow.instant_text import read_instant
from mainspring.workflow.model import (
    WAIT_MS_MAX,
    AnyStep,
    Branch,
    Call,
    Case,
    Email,
    End,
    Hint,
    Idempotency,
    Retry,
    Set,
    Wait,
    WaitFor,
)
from mainspring.workflow.reader import Reader
from mainspring.workflow.step_secrets import SECRETS_MAX, SOURCE, uses_of
from mainspring.workflow.yaml_lines import Path

KINDS: Final = ("call", "email", "hint", "wait", "wait_for", "branch", "set", "end")
METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
EFFECTS: Final = ("call", "email", "hint")
EFFECT_KEYS: Final = ("retry", "timeout", "idempotency")
NO_CHANNELS: Final = ("call", "endpoint", "hint")
HINT_TTL_MS_MAX: Final = 86_400_000  # advice is valid for a day at most
TIMEOUT_MS_MAX: Final = 300_000
ATTEMPTS_MAX: Final = 100
CASES_MAX: Final = 100
_NO_PLACE: Final = (
    "but workflows are stored, logged and shown in plain text; put the secret into a secret header of an "
    "endpoint, and call the endpoint: {endpoint: NAME}"
)
_REFERENCE: Final = re.compile(r"\$\{(env|file|stored)\b")  # placeholder of a secret in the configuration of endpoints
_HOLE: Final = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_USER: Final = re.compile(r"[^/?#]*//[^/?#]*@")


def read_kind(
    reader: Reader, kind: str, step: Mapping[str, object], path: Path, ids: tuple[str, ...], shared: dict[str, object]
) -> AnyStep | None:
    """The step, or None if it cannot be parsed; the reader collects the errors."""
    place = (*path, kind)
    if kind not in EFFECTS:
        for key in EFFECT_KEYS:
            if key in step:
                hint = "; put the timeout into wait_for itself" if (kind, key) == ("wait_for", "timeout") else ""
                reader.fault((*path, key), f"is only for {', '.join(EFFECTS)}; remove it from the {kind} step{hint}")
    match kind:
        case "call":
            return _call(reader, step[kind], place, shared | _effect(reader, step, path))
        case "email":
            return _email(reader, step[kind], place, shared | _effect(reader, step, path))
        case "hint":
            return _hint(reader, step[kind], place, shared | _effect(reader, step, path))
        case "wait":
            return _wait(reader, step[kind], place, shared)
        case "wait_for":
            return _wait_for(reader, step[kind], place, ids, shared)
        case "branch":
            return _branch(reader, step, place, ids, shared)
        case "set":
            return _set(reader, step[kind], place, shared)
        case _:
            return _end(reader, step, place, shared)


def _effect(reader: Reader, step: Mapping[str, object], path: Path) -> dict[str, object]:
    return {
        "retry": _retry(reader, step.get("retry", {}), (*path, "retry")),
        "timeout_ms": reader.duration_ms(step.get("timeout", "30s"), (*path, "timeout"), 1, TIMEOUT_MS_MAX),
        "idempotency": Idempotency(
            reader.one_of(
                step.get("idempotency", "at_least_once"), (*path, "idempotency"), ("at_least_once", "at_most_once")
            )
        ),
    }


def _retry(reader: Reader, value: object, path: Path) -> Retry:
    given = reader.mapping(value, path, ("attempts", "delay", "factor", "max_delay", "never"), "retry")
    if not given:
        return Retry()
    never = given.get("never", [])
    if not isinstance(never, list) or not all(isinstance(code, int | str) for code in never):
        reader.fault((*path, "never"), "is not a list of codes; write status codes or error codes: [404, blocked]")
        never = []
    delay_ms = reader.duration_ms(given.get("delay", "1s"), (*path, "delay"), 1, WAIT_MS_MAX)
    most_ms = reader.duration_ms(given.get("max_delay", "1h"), (*path, "max_delay"), 1, WAIT_MS_MAX)
    if delay_ms > most_ms:
        reader.fault((*path, "max_delay"), "is shorter than delay; raise it, or lower delay")
    return Retry(
        reader.count(given.get("attempts", 1), (*path, "attempts"), 1, ATTEMPTS_MAX),
        delay_ms,
        reader.count(given.get("factor", 2), (*path, "factor"), 1, 10),
        most_ms,
        tuple(str(code) for code in never),
    )


def _call(reader: Reader, value: object, path: Path, shared: dict[str, object]) -> AnyStep | None:
    keys = ("url", "method", "headers", "body", "template", "accept", "endpoint", "connection", "secrets")
    given = reader.mapping(value, path, keys, "call")
    if given is None:
        return None
    if ("url" in given) == ("endpoint" in given):
        reader.fault(
            path, "has both url and endpoint, or neither; call a url, or run an endpoint by its name: give one"
        )
        return None
    if "endpoint" in given:
        others = [key for key in given if key != "endpoint"]
        if others:
            reader.fault(path, f"runs an endpoint, which has its own {', '.join(others)}; remove that")
        return Call(endpoint=reader.template(given["endpoint"], (*path, "endpoint"), required=True), **shared)  # type: ignore[arg-type]  # collected by name
    reader.may_send_secrets = True
    url = reader.template(given["url"], (*path, "url"), required=True)
    if _REFERENCE.search(url) and not reader.is_stored:
        reader.fault((*path, "url"), f"refers to a secret, {_NO_PLACE}")
    elif "{{" not in url and url and ("connection" not in given or "://" in url):
        reader.ask((*path, "url"), lambda: check_url(url, reader.allow_ports))
    elif _USER.match(_HOLE.sub("", url)) and not reader.is_stored:
        reader.fault((*path, "url"), f"carries a user name or password, {_NO_PLACE}")
    connection = reader.text(given["connection"], (*path, "connection"), required=True) if "connection" in given else ""
    headers = _headers(reader, given.get("headers", {}), (*path, "headers"))
    body = _body(reader, given, path)
    reader.may_send_secrets = False
    if uses_of([url, headers, body]) and not connection and not reader.is_stored:
        reader.ask((*path, "url"), lambda: check_shown_url(url, reader.allow_ports))  # they go to a literal origin
    accept = given.get("accept", [])
    codes = accept if isinstance(accept, list) else [accept]
    method = reader.one_of(given.get("method", "GET" if body is None else "POST"), (*path, "method"), METHODS)
    return Call(
        url=url, method=method, headers=headers, body=body, connection=connection,
        secrets=_secrets(reader, given.get("secrets", {}), (*path, "secrets")),
        accept_codes=tuple(
            reader.count(code, (*path, "accept", index), 100, 999) for index, code in enumerate(codes)
        ),
        **shared,  # type: ignore[arg-type]  # collected by name
    )  # fmt: skip


def _headers(reader: Reader, value: object, path: Path) -> dict[str, str]:
    """The headers that a document may contain; a secret is refused before other errors."""
    given = reader.mapping(value, path, None, "this") or {}
    if not reader.is_stored:
        for name, text in given.items():
            is_secret = speaks_of_a_secret(str(name)) and not uses_of(text)
            if is_secret or (isinstance(text, str) and _REFERENCE.search(text)):
                reader.fault((*path, name), f"is a secret by its name or refers to one, {_NO_PLACE}")
        given = {name: text for name, text in given.items() if not speaks_of_a_secret(str(name)) or uses_of(text)}
    headers = reader.texts(given, path)
    for name, text in headers.items():
        reader.holes(text, (*path, name))
        reader.ask((*path, name), lambda name=name, text=text: check_header(name, text))  # type: ignore[misc]  # bound now
    return headers


def _secrets(reader: Reader, value: object, path: Path) -> dict[str, str]:
    """The secrets of a response to encrypt, by name."""
    given = reader.texts(value, path)
    if len(given) > SECRETS_MAX:
        reader.fault(path, f"has {len(given)} secrets; at most {SECRETS_MAX} are allowed; use fewer")
    for name, source in given.items():
        reader.identifier(name, (*path, name), "a secret")
        if not SOURCE.fullmatch(source):
            reader.fault(
                (*path, name),
                f"is '{shown(source)}'; a secret is a field or a header of the response: write "
                'response.body.access_token or response.headers["x-token"]',
            )
    return given


def _body(reader: Reader, given: Mapping[str, object], path: Path) -> object:
    if "template" in given:
        if "body" in given:
            reader.fault((*path, "template"), "is given together with body; both define what is sent: keep one")
        return _named(reader, given["template"], (*path, "template"))
    body = given.get("body")
    reader.holes(body, (*path, "body"))
    return body


def _named(reader: Reader, name: object, path: Path) -> str:
    """The text of a template by its name."""
    known = tuple(reader.templates)
    if name not in known:
        reader.one_of(name, path, known or ("(there are no templates)",))
        return ""
    return reader.templates[str(name)]


def _email(reader: Reader, value: object, path: Path, shared: dict[str, object]) -> AnyStep | None:
    given = reader.mapping(value, path, ("to", "subject", "body", "template", "from", "channel"), "email")
    if given is None:
        return None
    if ("body" in given) == ("template" in given):
        reader.fault(path, "has both body and template, or neither; an email has one text: give one")
        return None
    body = (
        _named(reader, given["template"], (*path, "template"))
        if "template" in given
        else reader.template(given["body"], (*path, "body"))
    )
    channel = reader.identifier(given.get("channel", "smtp"), (*path, "channel"), "a channel")
    if channel in NO_CHANNELS:
        reader.fault((*path, "channel"), f"{channel!r} is the name of something else; name a channel, such as smtp")
    return Email(
        to=reader.line(given.get("to"), (*path, "to"), required=True),
        subject=reader.line(given.get("subject"), (*path, "subject"), required=True),
        body=body,
        sender=reader.line(given.get("from", ""), (*path, "from")),
        channel=channel,
        **shared,  # type: ignore[arg-type]  # collected by name
    )


def _hint(reader: Reader, value: object, path: Path, shared: dict[str, object]) -> AnyStep | None:
    given = reader.mapping(value, path, ("endpoint", "interval", "after", "clear", "ttl", "reason"), "hint")
    if given is None:
        return None
    ways = [key for key in ("interval", "after", "clear") if key in given]
    if len(ways) != 1 or ("clear" in given and (given["clear"] is not True or "ttl" in given)):
        reader.fault(path, "needs exactly one of interval, after and clear: true, and no ttl with clear; write one")
        return None
    ttl_ms = reader.duration_ms(given["ttl"], (*path, "ttl"), 1, HINT_TTL_MS_MAX) if "ttl" in given else None
    span_ms = (
        reader.duration_ms(given[ways[0]], (*path, ways[0]), 1_000, HINT_TTL_MS_MAX) if ways != ["clear"] else None
    )
    return Hint(
        endpoint=reader.template(given.get("endpoint"), (*path, "endpoint"), required=True),
        interval_ms=span_ms if ways == ["interval"] else None,
        after_ms=span_ms if ways == ["after"] else None,
        clear=ways == ["clear"],
        ttl_ms=ttl_ms,
        reason=reader.template(given.get("reason", ""), (*path, "reason")),
        **shared,  # type: ignore[arg-type]  # collected by name
    )


def _wait(reader: Reader, value: object, path: Path, shared: dict[str, object]) -> AnyStep | None:
    if isinstance(value, str | int):
        value = {"for": value}
    given = reader.mapping(value, path, ("for", "until", "cron", "timezone"), "wait")
    if given is None:
        return None
    ways = [key for key in ("for", "until", "cron") if key in given]
    if len(ways) != 1 or ("timezone" in given and ways != ["cron"]):
        reader.fault(path, "needs exactly one of for, until and cron, and timezone only with cron; write one")
        return None
    if ways == ["for"]:
        wait_ms = reader.duration_ms(given["for"], (*path, "for"), 1, WAIT_MS_MAX)
        return Wait(duration_ms=wait_ms, **shared)  # type: ignore[arg-type]  # collected by name
    if ways == ["until"]:
        until = reader.template(given["until"], (*path, "until"), required=True)
        if "{{" not in until and until and read_instant(until) is None:
            reader.fault((*path, "until"), f"is {until!r}; a timestamp has a zone: write 2026-01-31T08:30:00Z")
        return Wait(until=until, **shared)  # type: ignore[arg-type]  # collected by name
    cron, timezone = given["cron"], given.get("timezone", "UTC")
    reader.ask((*path, "timezone"), lambda: check_timezone(timezone))
    reader.ask((*path, "cron"), lambda: check_cron(cron, "UTC"))
    return Wait(cron=str(cron), timezone=str(timezone), **shared)  # type: ignore[arg-type]  # collected by name


def _wait_for(
    reader: Reader, value: object, path: Path, ids: tuple[str, ...], shared: dict[str, object]
) -> AnyStep | None:
    given = reader.mapping(value, path, ("event", "where", "timeout", "on_timeout"), "wait_for")
    if given is None:
        return None
    if "timeout" not in given:
        reader.fault(path, "has no timeout; an event may never come: say how long to wait, such as timeout: 2d")
    return WaitFor(
        event=reader.event_type(given.get("event"), (*path, "event")),
        where=_where(reader, given, path) if "where" in given else "",
        timeout_ms=reader.duration_ms(given.get("timeout", "1d"), (*path, "timeout"), 1, WAIT_MS_MAX),
        on_timeout=reader.goto(given["on_timeout"], (*path, "on_timeout"), ids) if "on_timeout" in given else "",
        **shared,  # type: ignore[arg-type]  # collected by name
    )


def _where(reader: Reader, given: Mapping[str, object], path: Path) -> str:
    """The only condition that reads the event it evaluates."""
    before, reader.names = reader.names, reader.names._replace(roots=ROOTS)
    where = reader.expression(given["where"], (*path, "where"), is_condition=True)
    reader.names = before
    return where


def _branch(
    reader: Reader, step: Mapping[str, object], path: Path, ids: tuple[str, ...], shared: dict[str, object]
) -> AnyStep | None:
    if "next" in step:
        reader.fault((*path[:-1], "next"), "is not for a branch, which continues at its cases or default; remove it")
    given = reader.mapping(step["branch"], path, ("cases", "default"), "branch")
    if given is None:
        return None
    if "default" not in given:
        reader.fault(path, "has no default; say where to go when no case is true: default: step")
    raw = given.get("cases")
    if not isinstance(raw, list) or not 1 <= len(raw) <= CASES_MAX:
        reader.fault((*path, "cases"), f"is not a list of 1 to {CASES_MAX}; write `- {{when: condition, goto: step}}`")
        return None
    cases = []
    for index, each in enumerate(raw):
        place: Path = (*path, "cases", index)
        case = reader.mapping(each, place, ("when", "goto"), "a case")
        if case is not None:
            when = reader.expression(case.get("when"), (*place, "when"), is_condition=True)
            cases.append(Case(when, reader.goto(case.get("goto"), (*place, "goto"), ids)))
    default = reader.goto(given["default"], (*path, "default"), ids) if "default" in given else ""
    shared = shared | {"next": ""}
    return Branch(cases=tuple(cases), default=default, **shared)  # type: ignore[arg-type]  # collected by name


def _set(reader: Reader, value: object, path: Path, shared: dict[str, object]) -> AnyStep | None:
    given = reader.mapping(value, path, None, "set")
    if not given:
        if given is not None:
            reader.fault(path, "sets nothing; write name: expression for each variable")
        return None
    values = {}
    for name, text in given.items():
        reader.identifier(name, (*path, name), "a variable")
        values[name] = reader.expression(text, (*path, name), is_condition=False)
    return Set(values=values, **shared)  # type: ignore[arg-type]  # collected by name


def _end(reader: Reader, step: Mapping[str, object], path: Path, shared: dict[str, object]) -> AnyStep | None:
    if "next" in step:
        reader.fault((*path[:-1], "next"), "is not for an end step, which has no next step; remove it")
    value = step["end"]
    if value is None:
        value = {}
    if isinstance(value, str):
        value = {"outcome": value}
    given = cast("Mapping[str, object]", reader.mapping(value, path, ("outcome",), "end") or {})
    outcome = reader.identifier(given.get("outcome", "completed"), (*path, "outcome"), "an outcome")
    shared = shared | {"next": ""}
    return End(outcome=outcome, **shared)  # type: ignore[arg-type]  # collected by name

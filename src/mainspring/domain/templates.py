"""Templates of endpoints: CEL in `{{ }}` over the slot, the run and the previous response. Pure.

    {{ date(slot.time - duration("24h"), "Europe/Berlin") }}
    {{ previous.exists ? previous.body.cursor : "" }}

An expression is typed and checked when it is written, and bounded like a condition when it is evaluated. The rule that
must not break: the same slot gives the same text, and a value never leaves the place it was put into. So each form of
text writes values in its own way: percent-encoded in a URL, escaped in JSON, without control characters in a header.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, quote_plus
from zoneinfo import ZoneInfo

import msgspec
from msgspec import Struct

from mainspring.domain.errors import InvalidInput, did_you_mean
from mainspring.domain.expressions.borrowed_lists import lists_returned
from mainspring.domain.expressions.condition import (
    CACHE_MAX,
    CHARS_MAX,
    GROWTH_MAX,
    WORK_MAX,
    fault_text,
    parse_bounded,
    shape_of,
    worst_work,
)
from mainspring.domain.expressions.environment import new_environment
from mainspring.domain.expressions.map_order import (
    PIECES_FROM,
    closings,
    in_order,
    in_pieces,
    ordered,
    pieces,
    tokens_of,
)
from mainspring.domain.expressions.matches_calls import has_search, too_long_search, values_in, wrong_search
from mainspring.domain.expressions.native_calls import compile_native
from mainspring.domain.expressions.placeholders import PLACEHOLDER, is_unclosed
from mainspring.domain.instant import EPOCH, rfc3339
from mainspring.domain.schedule.cron import check_timezone

if TYPE_CHECKING:
    from cel_expr_python import cel

TEMPLATE_CHARS_MAX: Final = 65_536  # of a text before and after it is filled in
PLACEHOLDERS_MAX: Final = 50  # in one text
PAST_BYTES_MAX: Final = 100_000  # of a previous response that templates read
DEPTH_MAX: Final = 64
PATTERN: Final = re.compile(r"(?:[^%]|%[aAbBdefGHIjmMpSuVyYzZ%])*")
PATTERN_CHARS_MAX: Final = 100
PAST: Final = ("previous", "last_success")
_OF_PAST: Final = {"exists": "BOOL", "status": "STRING", "status_code": "INT", "time": "TIMESTAMP", "body": "DYN"}
VARIABLES: Final = {
    "slot.time": "TIMESTAMP",
    "slot.id": "STRING",
    "run.attempt": "INT",
    "endpoint.name": "STRING",
    "endpoint.id": "STRING",
    "job.name": "STRING",
    "tenant.id": "STRING",
    **{f"{name}.{field}": kind for name in PAST for field, kind in (_OF_PAST | {"headers": ""}).items()},
}
_NOT_TEXT: Final = frozenset({"BYTES", "DURATION", "TYPE"})
_MISSING_IN_CEL: Final = ("Applying SELECT to non-message type", "Key not found in map")  # the library's words
MISSING: Final = "reads a field that is missing; test it first: previous.body != null && has(previous.body.field)"
ESCAPE: Final = 'write {{ "{{" }} for the braces themselves, or set literal to send the texts as they are'


class TemplateFault(Exception):
    """Why a template cannot be filled in: the field, the expression and the reason."""

    def __init__(self, field: str, expression: str, words: str) -> None:
        super().__init__(f"{field}: {{{{ {expression} }}}} {words}" if expression else f"{field}: {words}")


class PastRun(Struct, frozen=True):
    """An earlier run, as templates read it."""

    status: str
    slot_at: datetime
    status_code: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


class TemplateFacts(Struct, frozen=True):
    """The values that the templates of one call read. The same for every attempt at a slot, except for `attempt`."""

    slot_at: datetime
    slot_id: str
    attempt: int
    tenant_id: str
    endpoint_id: str
    endpoint: str
    job: str
    previous: PastRun | None = None
    last_success: PastRun | None = None


_SAMPLE: Final = TemplateFacts(EPOCH, "ep_0_0", 1, "default", "ep_0", "endpoint", "default")

WriteValue = Callable[[object], str]  # a value as a part of a text; raises ValueError with the reason


class Evaluation:
    """Evaluates the expressions of one call, within one bound on their work."""

    def __init__(self, facts: TemplateFacts) -> None:
        self._values = {
            "slot.time": facts.slot_at,
            "slot.id": facts.slot_id,
            "run.attempt": facts.attempt,
            "endpoint.name": facts.endpoint,
            "endpoint.id": facts.endpoint_id,
            "job.name": facts.job,
            "tenant.id": facts.tenant_id,
            **_past_values("previous", facts.previous),
            **_past_values("last_success", facts.last_success),
        }
        self._sizes = {name: _size(getattr(facts, name)) for name in PAST}
        self._is_large = max(self._sizes.values()) > 2 * PIECES_FROM  # an element has two bytes of JSON at least
        self._work = 0.0
        self._searched = 0.0  # bytes, by all expressions with patterns

    def fill(self, text: str, field: str, write: WriteValue) -> str:
        """The text with every placeholder replaced by its value. Raises TemplateFault."""
        return self.fill_each(text, field, [write] * PLACEHOLDERS_MAX)

    def fill_each(self, text: str, field: str, writes: list[WriteValue]) -> str:
        """Like `fill`, with a way of writing for each placeholder."""
        parts: list[str] = []
        end = 0
        for placeholder, write in zip(PLACEHOLDER.finditer(text), writes, strict=False):
            expression = placeholder[1].strip()
            try:
                written = write(self._value(expression))
            except ValueError as fault:
                raise TemplateFault(field, expression, str(fault)) from None
            parts += [text[end : placeholder.start()], written]
            end = placeholder.end()
        filled = "".join([*parts, text[end:]])
        if len(filled) > TEMPLATE_CHARS_MAX:
            words = f"it has {len(filled):,} characters when filled in; at most {TEMPLATE_CHARS_MAX:,} are allowed"
            raise TemplateFault(field, "", words)
        return filled

    def _value(self, expression: str) -> object:
        shape = shape_of(expression)
        size = len(expression) + 500
        for name in PAST:
            if name in shape.names:
                if self._sizes[name] > PAST_BYTES_MAX:
                    raise ValueError(
                        f"reads a response of {self._sizes[name]:,} bytes; at most {PAST_BYTES_MAX:,} are allowed"
                    )
                size += self._sizes[name]
        self._work += worst_work(shape, size, size if shape.loops else 0)
        if self._work > WORK_MAX:
            raise ValueError("takes too much work; nest fewer loops, or read less of the previous response")
        if has_search(expression):
            nodes = values_in(self._values) if shape.loops else 0
            self._searched += worst_work(shape, size, nodes)
            if refused := too_long_search(expression, self._searched, nodes, shape.depth):
                raise ValueError(refused)
        # The library keeps memory for each call of a Python function, so the outermost call is made here.
        call = _outer_call(expression)
        if call is None:
            return _plain(self._evaluate(expression), 0)
        return _FUNCTIONS[call[0]](*(self._evaluate(each) for each in call[1:]))

    def _evaluate(self, expression: str) -> Any:
        try:
            with lists_returned():
                answer = _compiled(expression, self._is_large).eval(data=self._values)
                kind, plain = answer.type().name(), answer.plain_value()
        except (RuntimeError, OverflowError, TypeError) as fault:
            raise ValueError(fault_text(str(fault))) from None
        if kind == "ERROR":
            words = fault_text(str(plain))
            raise ValueError(MISSING if words.startswith(_MISSING_IN_CEL) else words)
        return plain


def check_template(text: str, field: str, key: str) -> None:
    """Raises InvalidInput unless every placeholder of a text is a valid expression. `field` names it for people."""

    def refused(words: str) -> InvalidInput:
        return InvalidInput(f"{field} {words}", field=key)

    if len(text) > TEMPLATE_CHARS_MAX:
        raise refused(
            f"has templates and {len(text):,} characters; at most {TEMPLATE_CHARS_MAX:,} are allowed; shorten it"
        )
    if is_unclosed(text):
        raise refused(f"has {{{{ without }}}}; close it, {ESCAPE}")
    expressions = list(expressions_of(text))
    if len(expressions) > PLACEHOLDERS_MAX:
        raise refused(f"has {len(expressions)} templates; at most {PLACEHOLDERS_MAX} are allowed; use fewer")
    for expression in expressions:
        if wrong := _wrong(expression):
            raise refused(f"has the template {{{{ {expression[:100]} }}}}, which {wrong}; or {ESCAPE}")


def expressions_of(text: str) -> Iterator[str]:
    return (found.strip() for found in PLACEHOLDER.findall(text))


def past_read_by(text: str) -> frozenset[str]:
    """Which earlier runs a text reads: `previous`, `last_success`, both or none."""
    return frozenset(name for each in expressions_of(text) for name in PAST if name in shape_of(each).names)


def as_text(value: object) -> str:
    """Texts unchanged, everything else as JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def as_url_part(value: object) -> str:
    """Percent-encoded, so that a value is one segment of a path or one part of a query string."""
    return quote(as_text(value), safe="")


def as_form_part(value: object) -> str:
    return quote_plus(as_text(value))


def as_line(value: object) -> str:
    text = as_text(value)
    if any(ord(each) < 32 or 127 <= ord(each) < 160 for each in text):
        raise ValueError("gives a control character or a line break, which is not allowed here")
    return text


def as_header(value: object) -> str:
    text = as_line(value)
    if any(ord(each) > 255 for each in text):
        raise ValueError("gives a character beyond Latin-1, which a header cannot contain; encode it")
    return text


def as_escaped_line(value: object) -> str:
    """For texts with escapes: a backslash of a value is a backslash."""
    return as_line(value).replace("\\", "\\\\")


def as_argument(value: object) -> str:
    text = as_text(value)
    if "\0" in text:
        raise ValueError("gives NUL, which is not allowed here")
    return text


def as_json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def within_json_text(value: object) -> str:
    return as_json(as_text(value))[1:-1]


def json_writes(text: str) -> list[WriteValue] | None:
    """How each value is written into a JSON text: escaped within quotes, as JSON elsewhere; None: it is not JSON."""
    writes: list[WriteValue] = []
    sample: list[str] = []
    is_quoted = False
    literals = PLACEHOLDER.split(text)[::2]
    for literal in literals:
        for mark in re.finditer(r'\\.|"', literal, re.DOTALL):
            is_quoted ^= mark[0] == '"'
        writes.append(within_json_text if is_quoted else as_json)
        sample += [literal, "x" if is_quoted else "null"]
    try:
        msgspec.json.decode("".join(sample[:-1]))
    except (msgspec.DecodeError, RecursionError, ValueError):
        return None
    return writes[:-1]


def _past_values(name: str, past: PastRun | None) -> dict[str, object]:
    run = past or PastRun("", EPOCH)
    headers: dict[str, str] = {}
    for key, value in run.headers:
        lower = key.lower()
        headers[lower] = f"{headers[lower]}, {value}" if lower in headers else value
    return {
        f"{name}.exists": past is not None,
        f"{name}.status": run.status,
        f"{name}.status_code": run.status_code or 0,
        f"{name}.time": run.slot_at,
        f"{name}.headers": headers,
        f"{name}.body": parse_bounded(run.body)[0] if len(run.body) <= PAST_BYTES_MAX else None,
    }


def _size(past: PastRun | None) -> int:
    return 0 if past is None else len(past.body) + sum(len(name) + len(value) for name, value in past.headers)


@lru_cache(maxsize=CACHE_MAX)
def _wrong(expression: str) -> str:
    """What is wrong with an expression, with the fix; "" if it is valid."""
    if not expression:
        return "is empty; write an expression such as slot.time"
    if len(expression) > CHARS_MAX:
        return f"is {len(expression):,} characters long; at most {CHARS_MAX:,} are allowed; shorten it"
    if shape_of(expression).growth > GROWTH_MAX:
        return "could make its input too large; nest fewer loops or use fewer + in them"
    try:
        returns = _environment().compile(expression).return_type().name()
    except RuntimeError as fault:
        words = fault_text(str(fault))
        name = words.partition("undeclared reference to '")[2].partition("'")[0]
        known = did_you_mean(name, tuple(VARIABLES)) or f"; known names are {', '.join(VARIABLES)}" if name else ""
        return f"does not compile: {words}{known}"
    if wrong := wrong_search(expression):
        return wrong
    if returns in _NOT_TEXT:
        return f"gives a value of type {returns.lower()}, which is not text; convert it with string() or int()"
    if not shape_of(expression).names.isdisjoint(PAST):
        return ""  # the content of a response is unknown until it has arrived
    try:
        Evaluation(_SAMPLE)._value(expression)
    except ValueError as fault:
        return f"has no value: {fault}"
    return ""


def _plain(value: object, depth: int) -> object:
    """Data of JSON, with timestamps as text."""
    if depth > DEPTH_MAX:
        raise ValueError(f"is nested more than {DEPTH_MAX} deep; flatten it")
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            if not math.isfinite(value):
                raise ValueError("gives a number that is not finite; guard the division")
            return value
        case datetime():
            return rfc3339(value)
        case list():
            return [_plain(each, depth + 1) for each in value]
        case dict():
            if not all(isinstance(key, str) for key in value):
                raise ValueError("gives a map with keys that are not text; use string(key)")
            return {key: _plain(value[key], depth + 1) for key in sorted(value)}
    raise ValueError(f"gives {type(value).__name__}, which is not text; convert it with string() or int()")


def _date(at: datetime, zone: str = "UTC") -> str:
    return _local(at, zone).strftime("%Y-%m-%d")


def _format(at: datetime, pattern: str, zone: str = "UTC") -> str:
    if len(pattern) > PATTERN_CHARS_MAX or not PATTERN.fullmatch(pattern):
        raise ValueError(
            f"format {pattern[:60]!r} is unknown; use up to {PATTERN_CHARS_MAX} characters with %Y %m %d %H %M %S %f "
            "%j %y %b %B %a %A %I %p %e %G %V %u %z %Z and %%"
        )
    return _local(at, zone).strftime(pattern)


def _local(at: datetime, zone: str) -> datetime:
    if not isinstance(at, datetime):
        raise ValueError("needs a timestamp; convert a text with timestamp()")
    try:
        check_timezone(zone)
    except InvalidInput as fault:
        raise ValueError(str(fault)) from None
    return at.replace(tzinfo=at.tzinfo or UTC).astimezone(ZoneInfo(zone))


_FUNCTIONS: Final[dict[str, Callable[..., str]]] = {"date": _date, "format": _format}


@lru_cache(maxsize=CACHE_MAX)
def _outer_call(expression: str) -> tuple[str, ...] | None:
    """The function and its arguments, if an expression is one call of a function of ours; otherwise None."""
    tokens = tokens_of(expression)
    texts = [text for _, text, _ in tokens]
    if texts[:1] not in (["date"], ["format"]) or texts[1:2] != ["("]:
        return None
    pairs = closings(texts)
    if pairs.get(1) != len(texts) - 1:
        return None
    commas, at = [], 2
    while at < len(texts) - 1:
        if texts[at] == ",":
            commas.append(tokens[at][2])
        at = pairs.get(at, at) + 1
    ends = [*commas, tokens[-1][2]]
    starts = [tokens[1][2] + 1, *(comma + 1 for comma in commas)]
    return (texts[0], *(expression[start:end] for start, end in zip(starts, ends, strict=True)))


@lru_cache(maxsize=2)
def _environment(*, binds: bool = False) -> "cel.Env":
    from cel_expr_python import cel  # takes 40 ms; delayed until the first template

    kinds = cel.Type
    headers = kinds.Map(kinds.STRING, kinds.STRING)
    variables: Mapping[str, cel.Type] = {
        name: getattr(kinds, kind) if kind else headers for name, kind in VARIABLES.items()
    }

    def declared(name: str, act: Callable[..., str], *takes: "list[cel.Type]") -> "cel.FunctionDecl":
        return cel.FunctionDecl(
            name,
            [cel.Overload(f"{name}_{len(each)}", kinds.STRING, each, is_member=False, impl=act) for each in takes],
        )

    at, text = kinds.TIMESTAMP, kinds.STRING
    functions = [declared("date", _date, [at], [at, text]), declared("format", _format, [at, text], [at, text, text])]
    return new_environment(variables, [in_order(), *pieces(), *functions], binds=binds)


@lru_cache(maxsize=CACHE_MAX)
def _compiled(expression: str, is_large: bool) -> "cel.Expression":
    walked = ordered(expression)
    return compile_native(_environment(binds=True), in_pieces(walked) if is_large else walked)

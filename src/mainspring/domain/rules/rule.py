"""Rules: read, check and judge what an owner wants to happen when responses match a condition. Pure.

    when: body.visitors >= 5000        a CEL condition over a finished run and its siblings
    for: 2                             true on this many consecutive finished runs
    interval: 20s, ttl: 10m            what to do: hints, runs, pauses
    target: traffic_monitor            the endpoint to change, if not the rule's own
    cooldown: 10m                      minimum time between two firings

A rule sees the response, earlier runs, windows of time, health, siblings, the schedule: see OWN and VARIABLES below. It
is judged on the finished runs it reads: those of its endpoint and of the siblings it names. The rule that must not
break: a condition that cannot be evaluated (missing field, wrong type, too much work) is false with a reason, never an
exception.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from mainspring.domain.duration import parse_duration_ms
from mainspring.domain.errors import InvalidInput, did_you_mean
from mainspring.domain.expressions.arithmetic import arithmetic, compile_rewritten, rewritten
from mainspring.domain.expressions.borrowed_lists import lists_returned
from mainspring.domain.expressions.condition import (
    CACHE_MAX,
    CHARS_MAX,
    GROWTH_MAX,
    fault_text,
    shape_of,
    too_much_work,
    way_out_of,
    worst_work,
)
from mainspring.domain.expressions.environment import new_environment
from mainspring.domain.expressions.map_order import (
    PIECES_FROM,
    TOKEN,
    in_order,
    in_pieces,
    ordered,
    pieces,
)
from mainspring.domain.expressions.matches_calls import too_long_search, wrong_search
from mainspring.domain.expressions.native_calls import compile_native
from mainspring.domain.expressions.window_functions import window_functions
from mainspring.domain.name import check_name, shown
from mainspring.domain.rules import run_window
from mainspring.domain.rules.fields import unknown_field, with_types
from mainspring.domain.schedule.hint import (
    HINT_INTERVAL_MS_MAX,
    HINT_INTERVAL_MS_MIN,
    HINT_TTL_MAX,
    INTERVAL_TTL_DEFAULT,
    ONE_SHOT_TTL_DEFAULT,
)
from mainspring.domain.text import clean_text

if TYPE_CHECKING:
    from cel_expr_python import cel

FOR_RUNS_MAX = 1_000
REASON_MAX = 1_000
RULES_MAX = 50  # per endpoint or job: each rule is judged at every finished run
RUN_COOLDOWN_MS = 1_000  # two rules that run each other's endpoints must not become a load test
HISTORY_MAX = 10
TTL_MS_MAX = int(HINT_TTL_MAX.total_seconds() * 1000)
INTERVAL_TTL_MS = int(INTERVAL_TTL_DEFAULT.total_seconds() * 1000)
ONE_SHOT_TTL_MS = int(ONE_SHOT_TTL_DEFAULT.total_seconds() * 1000)

OWN = frozenset(
    {
        "body", "status_code", "ok", "duration_ms", "failures", "health", "history", "runs", "headers", "schedule",
        "tls", run_window.NAME,
    }
)  # fmt: skip
LISTS = frozenset(
    {"runs", "history", run_window.NAME}
)  # passing 1,000 runs to Python and back takes longer than everything else
VARIABLES = OWN | {"siblings", "endpoint", "now"}
PASSING = frozenset({"age_s", "paused"})  # fields of a sibling that change between its runs
KEYS = (
    "name", "when", "for", "interval", "ttl", "run", "pause", "resume", "clear_hints", "target", "cooldown", "reason",
)  # fmt: skip


_COMPARED = re.compile(r"no matching overload for '(?:_(?:[=!]=|[<>]=?)_|@in)' applied to '\((.*)\)'")
_NUMBERS = {"int", "double", "list(int)", "list(double)", "list(dyn)"}


class Rule(Struct, frozen=True, omit_defaults=True, kw_only=True):
    name: str
    when: str
    for_runs: int = 1
    interval_ms: int | None = None
    ttl_ms: int | None = None
    run_in_ms: int | None = None  # 0 is now
    pause_ms: int | None = None
    sleep: bool = False  # pause: forever
    resume: bool = False
    clear_hints: bool = False
    target: str | None = None
    cooldown_ms: int = 0
    reason: str = ""

    @property
    def effective_cooldown_ms(self) -> int:
        return self.cooldown_ms if self.run_in_ms is None else max(self.cooldown_ms, RUN_COOLDOWN_MS)

    @property
    def why(self) -> str:
        return self.reason or f"rule {self.name}: {self.when}"


class Mentions(Struct, frozen=True):
    """What a condition reads: variables, siblings by name with their positions, and whether it reads all of them."""

    names: frozenset[str]
    siblings: tuple[tuple[str, int], ...]  # name and offset
    sibling_names: frozenset[str]
    all_siblings: bool
    changes_alone: bool  # it may become true without a run of what it names: time passes, a user pauses a sibling


class Seen(Struct, frozen=True):
    """A variable's value, the number of values in it and its bytes: the cost of judging it."""

    value: object
    nodes: int = 1
    size: int = 8


def read_rule(document: object, default_name: str) -> Rule:
    """Reads a rule from the mapping that a user wrote. Raises InvalidInput with the invalid key."""
    if not isinstance(document, Mapping):
        raise InvalidInput(f"rule '{shown(document)}' is not a mapping; write `when: ...` and what to do", field="rule")
    for key in document:
        if key not in KEYS:
            hint = did_you_mean(str(key), KEYS) or f"; keys of a rule are {', '.join(KEYS)}"
            raise InvalidInput(f"unknown key '{shown(key)}' in a rule{hint}", field=str(shown(key)))
    name = check_name(document.get("name", default_name), field="name", kind="rule")
    when = document.get("when")
    if not isinstance(when, str) or not when.strip():
        raise _refused(name, "when", f"has no condition ('{shown(when)}'); write one in CEL: when: body.depth > 100")
    pause_ms, sleep = _pause(document.get("pause"), name)
    rule = Rule(
        name=name,
        when=when.strip(),
        for_runs=_count(document.get("for", 1), name),
        interval_ms=_duration(document, "interval", HINT_INTERVAL_MS_MIN, HINT_INTERVAL_MS_MAX),
        ttl_ms=_duration(document, "ttl", 1_000, TTL_MS_MAX),
        run_in_ms=_run(document.get("run"), name),
        pause_ms=pause_ms,
        sleep=sleep,
        resume=_flag(document, "resume", name),
        clear_hints=_flag(document, "clear_hints", name),
        target=_target(document.get("target"), name),
        cooldown_ms=_duration(document, "cooldown", 0) or 0,
        reason=_reason(document.get("reason", ""), name),
    )
    _check_actions(rule)
    return rule


def rule_document(rule: Rule) -> dict[str, object]:
    """The mapping that `read_rule` reads back as the same rule, without defaults."""
    from mainspring.domain.duration import format_duration

    said: dict[str, object] = {"name": rule.name, "when": rule.when}
    if rule.for_runs != 1:
        said["for"] = rule.for_runs
    for key, ms in (("interval", rule.interval_ms), ("ttl", rule.ttl_ms), ("pause", rule.pause_ms)):
        if ms is not None:
            said[key] = format_duration(ms)
    if rule.run_in_ms is not None:
        said["run"] = f"in {format_duration(rule.run_in_ms)}" if rule.run_in_ms else "now"
    if rule.sleep:
        said["pause"] = "forever"
    for key, flag in (("resume", rule.resume), ("clear_hints", rule.clear_hints)):
        if flag:
            said[key] = True
    if rule.target is not None:
        said["target"] = rule.target
    if rule.cooldown_ms:
        said["cooldown"] = format_duration(rule.cooldown_ms)
    if rule.reason:
        said["reason"] = rule.reason
    return said


def check_rule(rule: Rule, owner: str | None, members: tuple[str, ...]) -> None:
    """Refuses what can never work: syntax, types, unbounded cost, names that are not endpoints of the job."""
    text = rule.when
    if len(text) > CHARS_MAX:
        raise _refused(rule.name, "when", f"has {len(text)} characters; at most {CHARS_MAX} are allowed; shorten it")
    if clean_text(text, CHARS_MAX) != text:
        raise _refused(rule.name, "when", "contains NUL or half a character; remove it")
    growth = shape_of(text).growth
    if growth > GROWTH_MAX:
        raise _refused(rule.name, "when", f"could make its input {growth:.0f} times as large; nest fewer loops")
    try:
        expression = compile_rewritten(_environment(), text)
    except RuntimeError as fault:
        words = fault_text(str(fault))
        way_out = way_out_of(words, tuple(sorted(VARIABLES)))
        raise _refused(rule.name, "when", f"does not compile: {words}{way_out}") from None
    if wrong_call := wrong_search(text):
        raise _refused(rule.name, "when", wrong_call)
    for each in (expression, _with_types(rule)):
        returns = "BOOL" if each is None else each.return_type().name()
        if returns not in ("BOOL", "DYN"):
            raise _refused(
                rule.name, "when", f"returns {returns.lower()}; it must be true or false: compare it with something"
            )
    for name, offset in mentions(text).siblings:
        if name not in members:
            hint = did_you_mean(name, members) or "; siblings are the other endpoints of the job"
            raise _refused(rule.name, "when", f"{_place(text, offset)}: unknown sibling {name!r}{hint}")
    if (wrong := run_window.misuse_of(text) or unknown_field(text)) is not None:
        raise _refused(rule.name, "when", f"{_place(text, wrong[0])}: {wrong[1]}")
    if rule.target is not None and rule.target not in members:
        hint = did_you_mean(rule.target, members) or "; a target is an endpoint of the same job"
        raise _refused(rule.name, "target", f"unknown endpoint {rule.target!r}{hint}")
    if rule.run_in_ms is not None and rule.target in (None, owner) and not rule.cooldown_ms:
        raise _refused(
            rule.name, "cooldown", "runs the endpoint it reads, so it would loop forever; give it a cooldown"
        )


def _with_types(rule: Rule) -> "cel.Expression | None":
    """Refuses a comparison of a field with a type it never has, which would always be false; numbers mix."""
    typed, types = with_types(rule.when)
    try:
        return compile_rewritten(_environment(tuple(sorted(types.items()))), typed)
    except RuntimeError as fault:
        words = fault_text(str(fault))
        found = _COMPARED.search(words)
        if found is not None and not {*found[1].split(", ")} <= _NUMBERS:
            raise _refused(rule.name, "when", f"does not compile: {words}") from None
    return None


def concerns(rule: Rule, owner: str | None, ran: str) -> bool:
    """Whether the rule is judged when the endpoint `ran` finishes a run. A rule of a job is judged at all of them.

    A rule of an endpoint is judged at the runs that it reads: those of the rule's endpoint, those of the siblings that
    it names. One that may become true without them is also judged at the runs of that endpoint, and one that reads no
    run at all, at every run of the job.
    """
    return owner is None or _reads(rule.when, owner, ran)


def reads_others(rule: Rule) -> bool:
    """Whether a rule of an endpoint may concern runs of others in its job."""
    read = mentions(rule.when)
    return read.all_siblings or bool(read.siblings) or not read.names & OWN


@lru_cache(maxsize=16_384)
def _reads(text: str, owner: str, ran: str) -> bool:
    read = mentions(text)
    if read.all_siblings or ran in read.sibling_names:
        return True
    reads_own = bool(read.names & OWN)
    if ran == owner:
        return reads_own or read.changes_alone or not read.siblings
    return not reads_own and not read.siblings


def judge(text: str, look: Callable[[str], Seen]) -> bool | str:
    """True or false, or why the condition could not be evaluated; `look` is called only for variables that the text
    uses.
    """
    data: dict[str, object] = {}
    nodes, size = 0, len(text)
    shape = shape_of(text)
    for name in shape.names & VARIABLES:
        seen = look(name)
        data[name] = seen.value
        nodes += seen.nodes
        size += seen.size
    if refused := too_much_work(shape, size, nodes):
        return f"{refused}; nest fewer loops"
    if refused := too_long_search(text, worst_work(shape, size, nodes), nodes, shape.depth):
        return refused
    try:
        with lists_returned():
            answer = _compiled(text, is_large=nodes > PIECES_FROM).eval(data=data)
            kind, plain = answer.type().name(), answer.value()
    except (RuntimeError, OverflowError, ValueError, TypeError) as fault:  # a spent budget; a number beyond 64 bits
        return fault_text(rewritten(text).fault(str(fault)))
    if kind == "ERROR":
        return fault_text(rewritten(text).fault(str(plain)))
    return plain if isinstance(plain, bool) else f"returns {kind.lower()}; it must be true or false"


@lru_cache(maxsize=CACHE_MAX)
def mentions(text: str) -> Mentions:
    names = shape_of(text).names
    siblings: list[tuple[str, int]] = []
    reads_all = False
    tokens = [found for found in TOKEN.finditer(text) if found.lastgroup != "comment"]
    for place, found in enumerate(tokens):
        before = tokens[place - 1].group() if place else ""
        if found.group() != "siblings" or found.lastgroup != "name" or before == ".":
            continue
        after = tokens[place + 1 : place + 4]
        mark = after[0].group() if after else ""
        if mark == "." and len(after) > 1 and after[1].lastgroup == "name":
            siblings.append((after[1].group(), after[1].start()))
        elif mark == "[" and len(after) > 2 and after[1].lastgroup == "text" and after[2].group() == "]":
            name = re.fullmatch(r"(['\"])([^\\]*)\1", after[1].group(), re.DOTALL)
            reads_all = reads_all or name is None
            if name is not None:
                siblings.append((name[2], after[1].start()))
        else:
            reads_all = True
    changes_alone = "now" in names or any(found.group().strip("'\"") in PASSING for found in tokens)
    return Mentions(names, tuple(siblings), frozenset(name for name, _ in siblings), reads_all, changes_alone)


@lru_cache(maxsize=16)
def _environment(types: tuple[tuple[str, str], ...] = (), *, binds: bool = False) -> "cel.Env":
    """The CEL environment of all rules; or with further variables, for a check of types."""
    from cel_expr_python import cel  # takes 40 ms; delayed until the first rule

    kinds = cel.Type
    declared = {"b": kinds.BOOL, "s": kinds.STRING, "n": kinds.DOUBLE}
    return new_environment(
        {
            **{name: declared[kind] for name, kind in types},
            "body": kinds.DYN,
            "status_code": kinds.INT,
            "ok": kinds.BOOL,
            "duration_ms": kinds.INT,
            "failures": kinds.INT,
            "health": kinds.Map(kinds.STRING, kinds.DYN),
            "history": kinds.List(kinds.DYN),
            "siblings": kinds.Map(kinds.STRING, kinds.DYN),
            "endpoint": kinds.STRING,
            "now": kinds.TIMESTAMP,
            "runs": kinds.List(kinds.Map(kinds.STRING, kinds.DYN)),
            "headers": kinds.Map(kinds.STRING, kinds.STRING),
            "schedule": kinds.Map(kinds.STRING, kinds.DYN),
            "tls": kinds.DYN,
            run_window.NAME: kinds.Map(kinds.STRING, kinds.List(kinds.Map(kinds.STRING, kinds.DYN))),
        },
        [in_order(), *pieces(), *arithmetic(), *window_functions()],
        binds=binds,
    )


@lru_cache(maxsize=CACHE_MAX)
def _compiled(text: str, is_large: bool) -> "cel.Expression":
    walked = ordered(rewritten(text).text, LISTS)
    return compile_native(_environment(binds=True), in_pieces(walked) if is_large else walked)


def _check_actions(rule: Rule) -> None:
    acts = (rule.interval_ms, rule.run_in_ms, rule.pause_ms, rule.sleep or None, rule.resume or None)
    if all(act is None for act in acts) and not rule.clear_hints:
        raise _refused(rule.name, "when", "does nothing; give it one of interval, run, pause, resume or clear_hints")
    if rule.resume and (rule.sleep or rule.pause_ms is not None):
        raise _refused(rule.name, "pause", "both pauses and resumes; give it one of the two")
    if rule.ttl_ms is not None and rule.interval_ms is None and rule.run_in_ms is None:
        raise _refused(rule.name, "ttl", "has a ttl but no hint; a ttl belongs to interval or run")
    if rule.run_in_ms is not None and rule.run_in_ms >= (rule.ttl_ms or TTL_MS_MAX):
        raise _refused(
            rule.name, "run", "would run after its own ttl; give an earlier run or a longer ttl (at most 24h)"
        )


def _pause(value: object, name: str) -> tuple[int | None, bool]:
    if value is None or value is False:
        return None, False
    if value == "forever":
        return None, True
    return parse_duration_ms(value, field="pause"), False


def _run(value: object, name: str) -> int | None:
    if value is None or value is False:
        return None
    if value == "now":
        return 0
    if isinstance(value, str) and value.startswith("in "):
        return parse_duration_ms(value[3:], field="run", max_ms=TTL_MS_MAX)
    raise _refused(name, "run", f"cannot run '{shown(value)}'; write run: now, or run: in 30s")


def _duration(document: Mapping[str, object], key: str, min_ms: int, max_ms: int | None = None) -> int | None:
    value = document.get(key)
    if value is None:
        return None
    if max_ms is None:
        return parse_duration_ms(value, field=key, min_ms=min_ms)
    return parse_duration_ms(value, field=key, min_ms=min_ms, max_ms=max_ms)


def _count(value: object, name: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= FOR_RUNS_MAX:
        raise _refused(name, "for", f"'{shown(value)}' is not a count of runs; give a whole number from 1 to 1000")
    return value


def _flag(document: Mapping[str, object], key: str, name: str) -> bool:
    value = document.get(key, False)
    if not isinstance(value, bool):
        raise _refused(name, key, f"{key} is '{shown(value)}'; write true or leave it out")
    return value


def _target(value: object, name: str) -> str | None:
    if value is not None and not isinstance(value, str):
        raise _refused(name, "target", f"target '{shown(value)}' is not a name; give an endpoint of the same job")
    return value


def _reason(value: object, name: str) -> str:
    if not isinstance(value, str) or len(value) > REASON_MAX:
        raise _refused(name, "reason", f"the reason is not text of at most {REASON_MAX} characters; shorten it")
    return clean_text(value, REASON_MAX)


def _place(text: str, offset: int) -> str:
    line = text.count("\n", 0, offset) + 1
    return f"line {line}, column {offset - (text.rfind(chr(10), 0, offset) + 1) + 1}"


def _refused(rule: str, field: str, what: str) -> InvalidInput:
    return InvalidInput(f"rule {rule!r}: {what}", field=field)

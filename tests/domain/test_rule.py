"""Rules as text: what is read, what is refused and with which words, what a condition costs at most."""

from datetime import UTC, datetime

import pytest

from mainspring.domain.errors import InvalidInput
from mainspring.domain.rules.rule import (
    Rule,
    Seen,
    check_rule,
    concerns,
    judge,
    mentions,
    read_rule,
    reads_others,
    rule_document,
)

NOW = datetime(2025, 1, 1, 3, tzinfo=UTC)
MEMBERS = ("traffic", "cache warm-up", "self")
WHOLE = {
    "name": "surge", "when": "body.visitors >= 5000", "for": 2, "interval": "20s", "ttl": "10m", "run": "in 30s",
    "resume": True, "clear_hints": True, "target": "traffic", "cooldown": "5m", "reason": "many visitors",
}  # fmt: skip


def test_rule_reads_back_as_it_was_written() -> None:
    rule = read_rule(WHOLE, "rule-1")

    assert rule == Rule(
        name="surge", when="body.visitors >= 5000", for_runs=2, interval_ms=20_000, ttl_ms=600_000, run_in_ms=30_000,
        resume=True, clear_hints=True, target="traffic", cooldown_ms=300_000, reason="many visitors",
    )  # fmt: skip
    assert rule_document(rule) == WHOLE
    assert rule_document(read_rule({"when": "ok", "pause": "forever"}, "x"))["pause"] == "forever"
    assert rule_document(read_rule({"when": "ok", "run": "now", "cooldown": "1m"}, "x"))["run"] == "now"
    assert read_rule({"when": "ok", "pause": "1h"}, "x").why == "rule x: ok"


REFUSED: dict[str, tuple[object, str]] = {
    "not a mapping": (3, "not a mapping"),
    "an unknown key": ({"whem": "ok"}, "did you mean 'when'?"),
    "a key like nothing else": ({"when": "ok", "zzzzzz": 1}, "keys of a rule are name, when"),
    "no condition": ({"interval": "20s"}, "has no condition"),
    "no action": ({"when": "ok"}, "does nothing"),
    "both pause and resume": ({"when": "ok", "pause": "1h", "resume": True}, "both pauses and resumes"),
    "a ttl without a hint": ({"when": "ok", "pause": "1h", "ttl": "5m"}, "a ttl belongs to"),
    "a run after its ttl": ({"when": "ok", "run": "in 10m", "ttl": "5m"}, "after its own ttl"),
    "an unknown run": ({"when": "ok", "run": "soon"}, "write run: now"),
    "a ttl of two days": ({"when": "ok", "interval": "20s", "ttl": "2d"}, "above the maximum 1d"),
    "an interval too short": ({"when": "ok", "interval": "10ms"}, "below the minimum 1s"),
    "no count": ({"when": "ok", "pause": "1h", "for": 0}, "is not a count of runs"),
    "a flag that is none": ({"when": "ok", "resume": "yes"}, "write true or leave it out"),
    "a target that is no name": ({"when": "ok", "pause": "1h", "target": 3}, "is not a name"),
    "a reason that is a number": ({"when": "ok", "pause": "1h", "reason": 3}, "not text"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_document_is_refused(case: str) -> None:
    document, words = REFUSED[case]

    with pytest.raises(InvalidInput, match=words.replace("?", r"\?")):
        read_rule(document, "rule-1")


UNCHECKED: dict[str, tuple[dict[str, object], str]] = {
    "syntax": ({"when": "body.a >"}, "does not compile: line 1, column"),
    "an unknown variable": ({"when": "bodi.a > 1"}, "undeclared reference to 'bodi.a', did you mean 'body'?"),
    "a wrong type": ({"when": "status_code == 'ok'"}, "no matching overload"),
    "a number for a condition": ({"when": "status_code + 1"}, "returns int"),
    "an unknown sibling": ({"when": "ok &&\n siblings.trafic.ok"}, "line 2, column 11: unknown sibling 'trafic', did"),
    "an unknown sibling in brackets": ({"when": "siblings['nobody'].ok"}, "unknown sibling 'nobody'"),
    "an unknown target": ({"when": "ok", "target": "nobody"}, "unknown endpoint 'nobody'"),
    "a run of itself without a cooldown": ({"when": "ok", "run": "now"}, "loop forever"),
    "too long": ({"when": "ok && " * 400 + "ok"}, "at most 2000"),
    "half a character": ({"when": "'\ud800' == ''"}, "half a character"),
    "a bomb": ({"when": "[body].map(a, a+a).map(a, a+a).map(a, a+a).map(a, a+a).map(a, a+a)"
                        ".map(a, a+a).map(a, a+a).map(a, a+a).map(a, a+a).map(a, a+a) == []"}, "times as large"),
}  # fmt: skip


@pytest.mark.parametrize("case", UNCHECKED)
def test_rule_is_refused_when_it_is_written(case: str) -> None:
    document, words = UNCHECKED[case]
    if "run" not in document:
        document = {"pause": "1h", **document}

    with pytest.raises(InvalidInput) as refused:
        check_rule(read_rule(document, "rule-1"), "self", MEMBERS)
    assert words in str(refused.value)


def test_siblings_are_found_by_dot_and_by_brackets() -> None:
    read = mentions("siblings.traffic.ok && siblings['cache warm-up'].body.hot && body.siblings.nobody == 1")

    assert read.sibling_names == {"traffic", "cache warm-up"}
    assert not read.all_siblings
    assert mentions("siblings[endpoint].ok").all_siblings
    assert mentions(r"siblings['a\\'].ok").all_siblings
    assert mentions("size(siblings) > 1").all_siblings


@pytest.mark.parametrize(
    ("when", "own", "sibling", "stranger"),
    [
        ("body.a > 1", True, False, False),
        ("siblings.traffic.ok", False, True, False),
        ("ok && siblings.traffic.ok", True, True, False),
        ("size(siblings) > 1", True, True, True),
        ("now.getHours() == 3", True, True, True),
        ("endpoint == 'self'", True, True, True),
        ("siblings.traffic.age_s > 600.0", True, True, False),
        ("siblings['traffic']['age_s'] > 600.0", True, True, False),
        ("siblings.traffic.paused", True, True, False),
        ("now - timestamp(siblings.traffic.at) > duration('10m')", True, True, False),
        ("ok && now.getHours() == 3", True, False, False),
    ],
)
def test_rule_is_judged_on_the_runs_it_reads(when: str, own: bool, sibling: bool, stranger: bool) -> None:
    rule = read_rule({"when": when, "pause": "1h"}, "x")

    found = tuple(concerns(rule, "self", ran) for ran in ("self", "traffic", "cache warm-up"))

    assert found == (own, sibling, stranger)
    assert concerns(rule, None, "anybody")
    assert reads_others(rule) == (sibling or stranger)


def sees(**values: object) -> "dict[str, Seen]":
    return {name: value if isinstance(value, Seen) else Seen(value) for name, value in values.items()}


@pytest.mark.parametrize(
    ("when", "verdict"),
    [
        ("body.depth > 3", True),
        ("body.depth > 4", False),
        ("body.nothing > 3", 'Key not found in map : "nothing"'),
        ("body.name > 3", "No matching overloads found : _>_(string, int64)"),
        ("body.depth", "returns int; it must be true or false"),
        ("now.getHours() == 3 && failures == 2", True),
        ("has(body.nothing) && body.nothing > 3", False),
    ],
)
def test_condition_is_true_false_or_says_why_not(when: str, verdict: bool | str) -> None:
    seen = sees(body={"depth": 4, "name": "x"}, now=NOW, failures=2)

    assert judge(when, seen.__getitem__) == verdict


def test_number_beyond_64_bits_is_a_fault_and_no_exception() -> None:
    assert isinstance(judge("body.n > 3", lambda name: Seen({"n": 2**70})), str)
    assert judge("failures > 3", lambda name: Seen(2**70)) == "int too big to convert"


def test_loop_that_is_too_long_is_a_fault_and_no_exception() -> None:
    assert judge("body.all(x, x > 0)", lambda name: Seen([1] * 20_000)) == "Iteration budget exceeded"


def test_good_rule_passes_the_check() -> None:
    good = {"when": "siblings.traffic.ok", "run": "now", "target": "traffic"}

    check_rule(read_rule(good, "rule-1"), "self", MEMBERS)


def test_condition_that_could_take_for_ever_is_not_begun() -> None:
    text = "body.all(a, body.all(b, body.all(c, a + b + c != 'x')))"

    verdict = judge(text, lambda name: Seen(["x" * 1000] * 100, 100, 100_000))

    assert isinstance(verdict, str)
    assert "at most 20000000 are allowed" in verdict

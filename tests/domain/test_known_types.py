"""No condition that is accepted is false for ever because of a type: every one is true in some world."""

from itertools import product

import pytest

from mainspring.domain.errors import InvalidInput
from mainspring.domain.rules.rule import Seen, check_rule, judge, read_rule

NUMBERS, TEXTS, FLAGS, ANYTHING = "number", "text", "flag", "anything"
FIELDS = {
    "body.x": ANYTHING,
    "history[0].x": ANYTHING,
    "runs[0].body.x": ANYTHING,
    "status_code": NUMBERS,
    "duration_ms": NUMBERS,
    "failures": NUMBERS,
    "ok": FLAGS,
    "endpoint": TEXTS,
    "headers['x']": TEXTS,
    "health.h1.runs": NUMBERS,
    "health['h24'].success_rate": NUMBERS,
    "health.h4.duration_ms": NUMBERS,
    "schedule.interval_ms": NUMBERS,
    "schedule.hint_ms": NUMBERS,
    "schedule.cron": TEXTS,
    "schedule.paused": FLAGS,
    "siblings.two.ok": FLAGS,
    "siblings['two'].status": TEXTS,
    "siblings.two.failures": NUMBERS,
    "siblings.two.at": TEXTS,
    "runs[0].ok": FLAGS,
    "runs[0].status": TEXTS,
    "runs[0].age_s": NUMBERS,
    'window["1h"][0].status_code': NUMBERS,
    'window["1h"][0].at': TEXTS,
}
LITERALS = {"3": NUMBERS, "3.0": NUMBERS, "'b'": TEXTS, "true": FLAGS, "timestamp('2025-01-01T00:00:00Z')": "instant"}
OPERATORS = ("==", "!=", "<", "<=", ">", ">=", "in")
WORLDS = [(number, text, flag) for number, text, flag in product((2, 3, 4), ("a", "b", "c"), (False, True))]
SHAPES = ("{field} {operator} {literal}", "ok || !ok ? {field} {operator} {literal} : false")
LOOPS = (
    "runs.exists(r, r.{name} {operator} {literal})",
    'window["1h"].filter(r, r.{name} {operator} {literal}).size() > 0',
)
RUN = {"ok": FLAGS, "status": TEXTS, "status_code": NUMBERS, "duration_ms": NUMBERS, "at": TEXTS, "age_s": NUMBERS}


def conditions() -> list[tuple[str, str, str]]:
    """Each with the kinds that it compares."""
    found = []
    for operator, (literal, kind) in product(OPERATORS, LITERALS.items()):
        written = f"[{literal}]" if operator == "in" else literal
        for shape, (field, of) in product(SHAPES, FIELDS.items()):
            found.append((shape.format(field=field, operator=operator, literal=written), of, kind))
        for loop, (name, of) in product(LOOPS, RUN.items()):
            found.append((loop.format(name=name, operator=operator, literal=written), of, kind))
    return found


def is_accepted(when: str) -> bool:
    try:
        check_rule(read_rule({"when": when, "clear_hints": True}, "x"), "one", ("one", "two"))
    except InvalidInput:
        return False
    return True


def world(number: int, text: str, flag: bool, body: object) -> dict[str, object]:
    run = {
        "ok": flag, "status": text, "status_code": number, "duration_ms": number, "at": text, "age_s": float(number),
        "body": {"x": body},
    }  # fmt: skip
    health = {"runs": number, "success_rate": float(number), "duration_ms": float(number)}
    return {
        "body": {"x": body}, "history": [{"x": body}], "runs": [run], "window": {"1h": [run]}, "status_code": number,
        "duration_ms": number, "failures": number, "ok": flag, "endpoint": text, "headers": {"x": text},
        "health": {"h1": health, "h4": health, "h24": health},
        "schedule": {"interval_ms": number, "hint_ms": number, "cron": text, "paused": flag},
        "siblings": {"two": {**run, "failures": number, "paused": flag}},
    }  # fmt: skip


def can_be_true(when: str) -> bool:
    for number, text, flag in WORLDS:
        for body in (number, text, flag):
            known = world(number, text, flag, body)
            if judge(when, lambda name, known=known: Seen(known[name])) is True:  # type: ignore[misc]  # bound at once
                return True
    return False


def test_accepted_condition_is_true_in_some_world() -> None:
    every = conditions()
    accepted = [each for each in every if is_accepted(each[0])]
    hopeless = [
        when
        for when, of, kind in accepted
        if not can_be_true(when) and not (of == ANYTHING and kind == "instant") and "> true" not in when
    ]

    assert hopeless == []
    assert len(every) > 1_500
    sound = {when for when, of, kind in every if of in (kind, ANYTHING) and kind != "instant"}
    sound = {when for when in sound if "in [3.0]" not in when or "." in when.split(" in ")[0]}  # CEL refuses it itself
    assert sound <= {when for when, _, _ in accepted}, "what compares alike is accepted"


@pytest.mark.parametrize(
    "when",
    [
        "schedule.hint_ms == null || schedule.cron != null",
        "has(siblings.two.status) && null != health.h1.success_rate",
        "siblings.two.failures > 2.5 && health.h24.runs == 3.0 && runs[0].age_s == 3",
        "runs[0].status_code in [500, 503] && siblings.two.status in ['failure', 'timeout']",
        "(siblings.two.ok ? siblings.two.duration_ms : 0) > 1.5",
        "timestamp(runs[0].at) > now - duration('1m')",
        "siblings.two.status.startsWith('fail') && size(siblings.two.status) > 3",
        "runs.map(status, status.status_code).exists(status, status == 500)",
    ],
)
def test_sound_condition_is_not_refused_for_its_types(when: str) -> None:
    assert is_accepted(when)


def test_place_of_a_mismatch_is_that_of_the_text_as_written() -> None:
    with pytest.raises(InvalidInput, match="line 2, column 21: found no matching overload for '_==_'"):
        check_rule(
            read_rule({"when": "ok &&\nsiblings.two.status == 500", "clear_hints": True}, "x"), "one", ("one", "two")
        )

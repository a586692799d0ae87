"""`matches` in conditions, rules, templates and workflows: which calls are refused, and how long the others take."""

import json
import random
import time
from datetime import UTC, datetime

import pytest

from mainspring.domain.errors import InvalidInput
from mainspring.domain.expressions.condition import check_condition, evaluate
from mainspring.domain.rules.rule import Seen, check_rule, judge, read_rule
from mainspring.domain.run import BODY_CAP_DEFAULT
from mainspring.domain.templates import Evaluation, PastRun, TemplateFacts, TemplateFault, as_text, check_template
from mainspring.workflow import expression

HOSTILE = "(a|b)*a(a|b){1000}c"
CHOICE = random.Random(11)
TEXT = "".join(CHOICE.choices("ab", k=BODY_CAP_DEFAULT - 100))
BODY = json.dumps({"s": TEXT}).encode()
AT = datetime(2030, 1, 1, tzinfo=UTC)
LONGEST_S = 0.4  # at most 80 ms on two shared cores; hostile patterns take tens of seconds on any machine
REFUSED = [
    pytest.param(f"body.s.matches('{HOSTILE}')", "states; at most", id="a large count"),
    pytest.param(f"matches(body.s, '{HOSTILE}')", "states; at most", id="as a function"),
    pytest.param(f"body.s . matches /*x*/ ('{HOSTILE}')".replace("/*x*/", "// x\n"), "states; at most", id="spaced"),
    pytest.param(r"body.s.matches('''\x28a|b)*a(a|b)\x7b1000\x7dc''')", "states; at most", id="escaped"),
    pytest.param("body.s.matches(body.p)", "pattern that is computed", id="from the response"),
    pytest.param("body.s.matches('(a|b)*' + 'a{1000}')", "pattern that is computed", id="added up"),
    pytest.param("body.s.matches(true ? 'a' : 'b')", "pattern that is computed", id="chosen"),
    pytest.param("body.s.matches('(a')", "not a regular expression", id="invalid"),
]


@pytest.mark.parametrize(("text", "words"), REFUSED)
def test_hostile_pattern_is_refused_when_it_is_written_and_when_it_was_stored_before(text: str, words: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        check_condition(text)
    assert words in str(refused.value)
    with pytest.raises(InvalidInput) as refused:
        check_rule(read_rule({"when": text, "run": "now", "cooldown": "1m"}, "r"), "own", ("own",))
    assert words in str(refused.value)
    in_workflow = text.replace("body", "vars")
    assert words in expression.check_expression(in_workflow, expression.Names(), is_condition=True)
    in_template = text.replace("body", "previous.body")
    with pytest.raises(InvalidInput) as refused:
        check_template(f"{{{{ {in_template} }}}}", "url", "url")
    assert words in str(refused.value)

    started_at = time.thread_time()
    assert words in str(evaluate(text, 200, (), BODY, 1))
    assert words in str(judge(text, lambda _: Seen({"s": TEXT}, 2, len(BODY))))
    assert words in str(expression.evaluate(in_workflow, {"vars": {"s": TEXT}}, len(BODY)))
    with pytest.raises(TemplateFault) as fault:
        _filled(in_template, BODY)
    assert words in str(fault.value)
    assert time.thread_time() - started_at < LONGEST_S


@pytest.mark.parametrize(
    "pattern", ["(a|b)*a(a|b){12}q", "[ab]*a[ab]{18}q", ".*a.{14}q", ".*a.{18}q", r"\\pL*\\pL*q", "^ok$"]
)
def test_worst_accepted_pattern_over_a_response_at_the_default_cap_takes_milliseconds(pattern: str) -> None:
    text = f"body.s.matches('{pattern}')"
    check_condition(text)

    started_at = time.thread_time()
    assert evaluate(text, 200, (), BODY, 1) is False
    assert time.thread_time() - started_at < LONGEST_S


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("body.all(x, !x.matches('^[a-z]+[0-9]$'))", id="a call for each element"),
        pytest.param(r"body.all(x, !x.matches('\\pL\\pN'))", id="a slow pattern for each element"),
        pytest.param("body.all(x, body.all(y, !y.matches('^a$')))", id="loops in loops"),
        pytest.param(" && ".join(["!body[0].matches('(a|b)*a(a|b){12}q')"] * 40), id="many calls"),
    ],
)
@pytest.mark.parametrize("count", [10, 1_000, 9_000])
def test_calls_in_loops_are_refused_or_take_milliseconds(text: str, count: int) -> None:
    check_condition(text)
    body = json.dumps(["x1y"] * count).encode()

    started_at = time.thread_time()
    answer = evaluate(text, 200, (), body, 1)
    assert time.thread_time() - started_at < LONGEST_S
    assert isinstance(answer, bool) or "takes too long" in answer or "may touch" in answer


def test_ordinary_patterns_still_work() -> None:
    body = json.dumps({"version": "v1.20.3", "names": ["ab", "cd"] * 1_000}).encode()

    assert evaluate(r"body.version.matches('^v\\d+[.]\\d+')", 200, (), body, 1) is True
    assert evaluate("body.names.all(x, x.matches('^[a-d]+$'))", 200, (), body, 1) is True
    assert evaluate("body.matches == 3", 200, (), b'{"matches": 3}', 1) is True
    assert expression.evaluate("vars.v.matches(r'^v\\d')", {"vars": {"v": "v1"}}, 20) is True
    assert _filled("previous.body.v.matches('^v')", b'{"v": "v1"}') == "true"


def _filled(text: str, body: bytes) -> str:
    past = PastRun("success", AT, 200, (), body)
    facts = TemplateFacts(AT, "ep_1_1", 1, "default", "ep_1", "e", "default", past, past)
    return Evaluation(facts).fill(f"{{{{ {text} }}}}", "url", as_text)

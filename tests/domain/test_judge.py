"""A page of finished runs through the rules: who is judged with which facts, and what follows."""

from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.stores.world import START

from mainspring.domain.rules.apply import RuleState
from mainspring.domain.rules.judge import (
    Decisions,
    FactsWanted,
    FinishedRun,
    JobMember,
    JudgedPage,
    RuleFacts,
    RuleHealth,
    RuleResult,
    StoredRule,
    decide,
    deciding,
    mode_of,
    want,
)
from mainspring.domain.rules.rule import read_rule
from mainspring.domain.rules.run_window import RunWindow

NOW = START + timedelta(minutes=1)
ONE = JobMember("ep_1", "t", "job", "one", None, failures=2)
TWO = JobMember("ep_2", "t", "job", "two", NOW + timedelta(hours=1))
THIRD = JobMember("ep_3", "t", "other job", "three", None)
HEALTH = (RuleHealth(0, 0, None), RuleHealth(2, 1, 10.0), RuleHealth(4, 1, 10.0))


def rule(when: str, owner: str | None = "ep_1", **document: object) -> StoredRule:
    read = read_rule({"when": when, "pause": "1h", **document}, "x")
    return StoredRule("rule_1", "t", "job", owner, read, START)


def result(endpoint_id: str, body: bytes = b"{}", number: int = 1) -> RuleResult:
    return RuleResult(f"run_{number}", endpoint_id, True, "success", 200, START, 12, body)


def page(*rules: StoredRule, ran: str = "ep_1", **fields: object) -> JudgedPage:
    runs = (FinishedRun("t", ran, "run_1", START, failures=3),)
    given: dict[str, object] = {"states": {}, "modes": {}, **fields}
    return JudgedPage("1", "2", NOW, runs, rules, (ONE, TWO, THIRD), **given)  # type: ignore[arg-type]  # fields of a page


def judged(one: JudgedPage, facts: RuleFacts | None = None) -> Decisions:
    known = {"ep_1": (result("ep_1", b'{"n": 1}'),), "ep_2": (result("ep_2", b'{"n": 2}', 0),)}
    return decide(one, facts or RuleFacts(known, {"ep_1": HEALTH}), no_window)


def no_window(wanted: RunWindow) -> tuple[RuleResult, ...]:
    raise AssertionError(f"no rule asks for {wanted}")


@pytest.mark.parametrize(
    "when",
    [
        "body.n == 1 && ok && status_code == 200 && duration_ms == 12",
        "failures == 3",
        "history[0].n == 1",
        "health.h1.success_rate == null && health.h4.success_rate == 0.5 && health.h24.runs == 4",
        "ok && siblings.two.body.n == 2 && siblings.two.ok && siblings.two.paused && siblings.two.age_s == 60.0",
        "size(siblings) == 2 && ok",
        "endpoint == 'one' && ok",
        "now > timestamp('2025-01-01T00:00:59Z') && ok",
    ],
)
def test_rule_sees_what_it_reads(when: str) -> None:
    assert [firing.target_id for firing in judged(page(rule(when))).firings] == ["ep_1"]


def test_others_may_have_their_turn_before_each_judgement() -> None:
    many = page(rule("ok"), rule("failures == 3"), rule("ok", "ep_2"))
    facts = RuleFacts({"ep_1": (result("ep_1"),)}, {})
    steps = deciding(many, facts)

    stops = 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            decisions = end.value
            break
        stops += 1

    assert stops == 2, "the third rule reads nothing of this run"
    assert decisions == decide(many, facts, no_window)


def test_only_what_rules_read_is_wanted() -> None:
    rules = (rule("history[0].n == 1 && health.h1.runs > 0"), rule("ok && siblings.two.ok && siblings.gone.ok"))

    assert want(page(*rules)) == [FactsWanted("ep_1", 12, upto="run_1"), FactsWanted("ep_2", 2, until=START)]
    assert [each.endpoint_id for each in want(page(rule("size(siblings) > 0")))] == ["ep_1", "ep_2"]


def test_failures_of_a_sleeping_owner_are_its_own() -> None:
    one = page(rule("failures == 2 && siblings.two.ok"), ran="ep_2")

    assert len(judged(one).firings) == 1


def test_target_that_is_gone_or_off_is_not_judged_and_shadow_is_marked() -> None:
    assert judged(page(rule("ok", target="gone"))).firings == ()
    assert judged(page(rule("ok"), modes={"endpoint:ep_1": "off", "all": "shadow"})).firings == ()
    assert judged(page(rule("ok"), modes={"tenant:t": "shadow"})).firings[0].mode == "shadow"
    assert mode_of({}, "t", "ep_1") == "live"


def test_mode_of_a_rule_is_that_of_its_target() -> None:
    acts_on_two = rule("ok", target="two")

    assert judged(page(acts_on_two, modes={"endpoint:ep_2": "off"})).firings == ()
    assert judged(page(acts_on_two, modes={"endpoint:ep_2": "shadow"})).firings[0].mode == "shadow"
    assert judged(page(acts_on_two, modes={"endpoint:ep_1": "off"})).firings[0].mode == "live"


def test_fault_is_told_once_and_lack_of_data_is_none() -> None:
    first = judged(page(rule("body.gone > 1")))
    assert [event.data["rule"] for event in first.events] == ["x"]
    again = judged(page(rule("body.gone > 1"), states=dict(first.states)))
    assert (again.events, again.states) == ((), {})

    nothing = RuleFacts({}, {})
    assert judged(page(rule("siblings.two.body.n > 1"), ran="ep_2"), nothing).events == ()
    for when in ("body.n > 1", "health.h1.success_rate > 0.5", "!ok && body.n > 1"):
        assert judged(page(rule(when)), nothing).events == ()


def test_what_is_older_than_the_rule_or_unknown_is_left_out() -> None:
    late = StoredRule("rule_1", "t", "job", "ep_1", read_rule({"when": "ok", "pause": "1h"}, "x"), NOW)

    assert judged(page(late)).firings == ()
    assert judged(page(rule("ok", owner="ep_gone"))).firings == ()
    assert judged(page(rule("ok"), ran="ep_gone")).firings == ()
    assert judged(page(rule("ok"), ran="ep_3")).firings == ()
    assert judged(page(rule("siblings.two.ok"))).firings == ()


def test_cooldown_is_remembered_for_the_target() -> None:
    first = judged(page(rule("ok", owner=None, target="two", cooldown="1m")))

    assert dict(first.states) == {("rule_1", "ep_1"): RuleState(1), ("rule_1", "ep_2"): RuleState(fired_at=NOW)}
    again = judged(page(rule("ok", owner=None, target="two", cooldown="1m"), states=dict(first.states)))
    assert again.firings == ()


def test_window_is_asked_for_when_a_rule_reads_it_and_shared_by_rules_that_ask_for_the_same() -> None:
    hour, day, none = (
        rule('size(window["1h"]) == 2 && size(window["5m"]) == 1'),
        rule('size(window["24h"]) == 2 && window["24h"][1].body.n == 7'),
        rule("ok"),
    )
    past = (result("ep_1"), replace(result("ep_1", b'{"n": 7}', 0), finished_at=START - timedelta(minutes=5)))
    asked: list[RunWindow] = []

    def read(wanted: RunWindow) -> tuple[RuleResult, ...]:
        asked.append(wanted)
        return past

    decisions = decide(page(hour, hour, none, day), RuleFacts({"ep_1": (result("ep_1"),)}, {}), read)

    assert len(decisions.firings) == 4
    assert asked == [
        RunWindow("ep_1", START - timedelta(hours=1), START, bodies=False),
        RunWindow("ep_1", START - timedelta(hours=24), START, bodies=True),
    ]


def test_window_ends_with_the_judged_run_as_its_row_says() -> None:
    later = START + timedelta(milliseconds=3)
    asked: list[RunWindow] = []
    facts = RuleFacts({"ep_1": (replace(result("ep_1"), finished_at=later),)}, {})

    decide(page(rule('size(window["1h"]) > 0')), facts, lambda wanted: asked.append(wanted) or ())  # type: ignore[func-returns-value]  # a list's append returns nothing

    assert [each.until for each in asked] == [later]


def test_empty_window_is_no_fault_of_a_rule() -> None:
    facts = RuleFacts({"ep_1": (result("ep_1"),)}, {})

    decisions = decide(page(rule('avg(window["1h"].map(r, r.duration_ms)) > 5')), facts, lambda _: ())

    assert (decisions.firings, decisions.events) == ((), ())

# ruff: noqa: E501 - a table of faults reads better in lines
"""Documents: what is accepted, and how each fault is refused: path, line, rule, way out."""

from typing import Any

import pytest

from mainspring.domain.errors import InvalidInput
from mainspring.workflow.difference import differences
from mainspring.workflow.document import InvalidWorkflow, check_input, parse_document, parse_text
from mainspring.workflow.model import Branch, Call, Retry, Wait, WaitFor, WorkflowTrigger
from tests.workflow.stage import DOCUMENTS, a_workflow, order_follow_up

DAY_MS = 86_400_000
CALL = {"url": "https://example.com/"}


def faults_of(*steps: Any, **top: Any) -> list[str]:
    """Every fault of a document, as `path message`."""
    named = [{"id": f"s{index}", **step} if isinstance(step, dict) else step for index, step in enumerate(steps)]
    with pytest.raises(InvalidWorkflow) as refused:
        parse_document({"name": "w", "steps": named, **top})
    return [f"{fault.path} {fault.message}" for fault in refused.value.faults]


def test_written_workflow_is_read_as_it_is_meant() -> None:
    workflow = order_follow_up()

    escalate, reply, rest = (workflow.steps[step] for step in ("escalate", "reply", "rest"))
    assert workflow.start == "thank"
    assert isinstance(escalate, Call)
    assert escalate.retry == Retry(5, 30_000, 3, 3_600_000, ("400", "404"))
    assert (escalate.next, escalate.on_failure, escalate.method) == ("escalated", "call_for_help", "POST")
    assert isinstance(reply, WaitFor)
    assert (reply.timeout_ms, reply.on_timeout, reply.next) == (2 * DAY_MS, "remember", "judge")
    assert isinstance(rest, Wait)
    assert rest.duration_ms == 3 * DAY_MS
    assert workflow.parameters["vip"].default is False


def test_json_is_read_too() -> None:
    assert parse_text('{"name": "w", "steps": [{"id": "a", "end": "done"}]}').start == "a"


def test_template_by_name_is_part_of_the_step() -> None:
    workflow = a_workflow({"call": CALL | {"template": "t"}}, templates={"t": "Hello {{ input.x }}"})

    assert getattr(workflow.steps["s0"], "body", None) == "Hello {{ input.x }}"


def test_template_that_no_step_uses_is_checked_too() -> None:
    assert faults_of({"end": None}, templates={"t": "Hello {{ nam }}"})[0].startswith("templates.t {{ nam }} does not")


SECRETS: dict[str, tuple[Any, str]] = {
    "authorization": ({"headers": {"Authorization": "Bearer canary"}}, "headers.Authorization is a secret by its name"),
    "a name in any case": ({"headers": {"x-API-key": "canary"}}, "headers.x-API-key is a secret by its name"),
    "a number": ({"headers": {"X-Token": 87654321}}, "headers.X-Token is a secret by its name"),
    "from the input": ({"headers": {"Cookie": "{{ input.canary }}"}}, "headers.Cookie is a secret by its name"),
    "a broken template": ({"headers": {"Cookie": "{{ canary"}}, "headers.Cookie is a secret by its name"),
    "a reference": (
        {"headers": {"X-Mine": "${env:CANARY}"}},
        "headers.X-Mine is a secret by its name or refers to one",
    ),
    "a file": (
        {"headers": {"X-Mine": "a ${file:/run/canary}"}},
        "headers.X-Mine is a secret by its name or refers to one",
    ),
    "a reference in the url": ({"url": "https://example.com/?key=${env:CANARY}"}, "url refers to a secret"),
    "a password in a url with a hole": (
        {"url": "https://ann:canary@{{ input.x }}/"},
        "url carries a user name or password",
    ),
    "a password that is a hole": (
        {"url": "https://ann:{{ input.x }}@example.com/"},
        "url carries a user name or password",
    ),
}


@pytest.mark.parametrize("name", SECRETS)
def test_secret_in_a_call_is_refused_with_the_way_out_and_not_repeated(name: str) -> None:
    call, said = SECRETS[name]

    (fault,) = faults_of({"call": CALL | call})

    assert fault.startswith(f"steps[0].call.{said}")
    assert "workflows are stored, logged and shown in plain text" in fault
    assert fault.endswith("put the secret into a secret header of an endpoint, and call the endpoint: {endpoint: NAME}")
    assert not any(word in fault.replace("X-Token", "") for word in ("canary", "CANARY", "87654321"))


def test_document_from_before_secrets_were_refused_is_still_read() -> None:
    text = '{"name": "w", "steps": [{"id": "a", "call": {"url": "https://ann:pw@{{ input.host }}/?k=${env:K}", "headers": {"Authorization": "Bearer x", "X-Mine": "${env:K}"}}}]}'

    step = parse_text(text, is_stored=True).steps["a"]

    assert isinstance(step, Call)
    assert step.headers == {"Authorization": "Bearer x", "X-Mine": "${env:K}"}


def test_name_that_no_path_can_hold_is_refused_where_it_is_new() -> None:
    text = '{"name": "shop/orders", "steps": [{"id": "a", "end": "done"}]}'

    with pytest.raises(InvalidWorkflow, match="name contains /, but workflows are addressed by name"):
        parse_text(text)
    assert parse_text(text, is_stored=True).name == "shop/orders"


def test_address_with_an_at_sign_behind_its_host_is_no_password() -> None:
    assert a_workflow({"call": {"url": "https://example.com/{{ input.x }}?to=ann@example.com"}})


FAULTS: dict[str, tuple[list[Any], str]] = {
    "unknown kind of step": ([{"waitfor": {}}], "steps[0].waitfor is not known, did you mean 'wait_for'?"),
    "two kinds": ([{"wait": "1s", "end": None}], "steps[0] has 2 kinds (wait, end)"),
    "no mapping": (["wait"], "steps[0] is 'wait'; a step is a mapping with id"),
    "unreachable step": ([{"end": None}, {"end": None}], "steps[1] 's1' is never reached; let a step lead to it"),
    "duplicate id": ([{"id": "a", "wait": "1s"}, {"id": "a", "end": None}], "steps[1].id 'a' is the id of steps[0] too"),
    "bad id": ([{"id": "A b", "end": None}], "steps[0].id is 'A b'; a step has a name of small letters"),
    "missing default": ([{"branch": {"cases": [{"when": "true", "goto": "s0"}]}}], "steps[0].branch has no default"),
    "unknown goto": ([{"id": "alpha", "wait": "1s", "next": "alpah"}], "unknown step 'alpah', did you mean 'alpha'?"),
    "circle": ([{"wait": "1s"}, {"wait": "1s", "next": "s0"}], "steps[0] 's0' is in a loop without an exit"),
    "no condition": ([{"branch": {"cases": [{"when": "1 +", "goto": "s0"}], "default": "s0"}}], "does not compile at line"),
    "not true or false": ([{"branch": {"cases": [{"when": "1 + 1", "goto": "s0"}], "default": "end"}}], "returns int; it must"),
    "unknown step in condition": ([{"set": {"n": "steps.s9.result"}}], "refers to the unknown step 's9'; steps s0"),
    "unknown variable": ([{"set": {"total": "vars['totl']"}}], "unknown variable 'totl', did you mean 'total'?"),
    "unknown root": ([{"set": {"n": "inputs.x"}}], "did you mean 'input'?"),
    "event where none is looked at": ([{"set": {"n": "event.data.x"}}], "undeclared reference to 'event.data.x'; here it may read input, contact"),
    "strange root": ([{"set": {"n": "zzz"}}], "; there are input, contact, vars"),
    "variable without vars": ([{"set": {"total": "1", "n": "total"}}], "did you mean 'vars.total'?"),
    "zone in expression": ([{"set": {"n": "timestamp(input.t).getHours('Europe/Berlin')"}}], "whose rules differ between machines"),
    "template variable": ([{"email": {"to": "{{ nam }}", "subject": "s", "body": "b"}}], "steps[0].email.to {{ nam }} does not compile"),
    "open template": ([{"call": CALL | {"body": {"a": ["{{ input.x"]}}}], "steps[0].call.body.a[0] has {{ without }}"),
    "unknown template": ([{"call": CALL | {"template": "t"}}], "steps[0].call.template is 't'"),
    "body and template": ([{"call": CALL | {"template": "t", "body": "b"}}], "both define what is sent"),
    "email without text": ([{"email": {"to": "a", "subject": "s"}}], "steps[0].email has both body and template, or neither"),
    "email that is none": ([{"email": "x"}], "steps[0].email is 'x'; email is a mapping with to"),
    "negative wait": ([{"wait": "-3s"}], "steps[0].wait.for is refused: duration '-3s' is negative"),
    "wait beyond five years": ([{"wait": "1831d"}], "above the maximum 1830d"),
    "two ways to wait": ([{"wait": {"for": "1s", "cron": "@daily"}}], "exactly one of for, until and cron"),
    "wait that is none": ([{"wait": []}], "steps[0].wait is '[]'"),
    "bad cron": ([{"wait": {"cron": "61 * * * *"}}], "steps[0].wait.cron is refused"),
    "bad zone": ([{"wait": {"cron": "@daily", "timezone": "Berlin"}}], "steps[0].wait.timezone is refused"),
    "bad instant": ([{"wait": {"until": "2026-02-30T00:00:00Z"}}], "a timestamp has a zone"),
    "wait_for without timeout": ([{"wait_for": {"event": "reply"}}], "steps[0].wait_for has no timeout; an event may never come"),
    "wait_for that is none": ([{"wait_for": "reply"}], "steps[0].wait_for is 'reply'"),
    "bad event type": ([{"wait_for": {"event": "a b", "timeout": "1s"}}], "an event type consists of letters, digits"),
    "timeout at the wrong place": ([{"wait_for": {"event": "a", "timeout": "1s"}, "timeout": "1s"}], "put the timeout into wait_for"),
    "url and endpoint": ([{"call": {"endpoint": "e", "url": "https://example.com/"}}], "has both url and endpoint"),
    "endpoint with a body": ([{"call": {"endpoint": "e", "body": "b"}}], "has its own body; remove that"),
    "call that is none": ([{"call": 1}], "steps[0].call is '1'"),
    "bad url": ([{"call": {"url": "ftp://example.com/"}}], "steps[0].call.url is refused"),
    "bad header": ([{"call": CALL | {"headers": {"Host": "x"}}}], "steps[0].call.headers.Host is refused"),
    "bad method": ([{"call": CALL | {"method": "PSOT"}}], "did you mean 'POST'?"),
    "bad code": ([{"call": CALL | {"accept": 99}}], "a whole number from 100 to 999"),
    "bad retry": ([{"call": CALL, "retry": {"attemps": 3}}], "retry.attemps is not known, did you mean 'attempts'?"),
    "bad never": ([{"call": CALL, "retry": {"never": 404}}], "retry.never is not a list of codes"),
    "rest longer than most": ([{"call": CALL, "retry": {"delay": "2h"}}], "max_delay is shorter than delay"),
    "bad idempotency": ([{"call": CALL, "idempotency": "once"}], "choose one of at_least_once, at_most_once"),
    "bad on_failure": ([{"call": CALL, "on_failure": "go"}], "write `stop` or {goto: step}"),
    "bad visits": ([{"wait": "1s", "visits": 0}], "a whole number from 1 to 10,000"),
    "no cases": ([{"branch": {"cases": [], "default": "end"}}], "branch.cases is not a list of 1 to 100"),
    "case that is none": ([{"branch": {"cases": ["x"], "default": "end"}}], "branch.cases[0] is 'x'"),
    "branch that is none": ([{"branch": 1}], "steps[0].branch is '1'"),
    "branch with next": ([{"branch": {"cases": [{"when": "true", "goto": "end"}], "default": "end"}, "next": "s0"}], "steps[0].next is not for a branch"),
    "end with next": ([{"end": None, "next": "s0"}], "steps[0].next is not for an end"),
    "end that is none": ([{"end": 5}], "steps[0].end is '5'"),
    "empty set": ([{"set": {}}], "steps[0].set sets nothing"),
    "set that is none": ([{"set": 1}], "steps[0].set is '1'"),
    "expression that is none": ([{"set": {"n": ["1"]}}], "a CEL expression is a text"),
    "empty expression": ([{"set": {"n": " "}}], "is empty; write a CEL expression"),
    "long expression": ([{"set": {"n": "1" + "+1" * 1_500}}], "at most 2000 are allowed"),
    "expression with NUL": ([{"set": {"n": "'\0'"}}], "contains NUL"),
    "expression that grows": ([{"set": {"n": "'a'" + "+'a'" * 200}}], "times as large"),
    "no text": ([{"call": {"url": 5}}], "write a text"),
    "no id": ([{"id": None, "end": None}], "steps[0].id is missing; a step has a name"),
    "letter with two lines in its head": ([{"email": {"to": "a", "subject": "s\r\nBcc: b", "body": "b"}}], "email.subject has a line break"),
    "hint that is none": ([{"hint": 1}], "steps[0].hint is '1'"),
    "long text": ([{"email": {"to": "a", "subject": "s", "body": "b" * 70_000}}], "longer than 65536"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_refused_with_its_path_and_the_way_out(name: str) -> None:
    steps, said = FAULTS[name]

    assert any(said in fault for fault in faults_of(*steps)), faults_of(*steps)


TOP_FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "bad name": ({"name": ""}, "name is refused: workflow name '' is empty"),
    "unknown key": ({"stpes": []}, "stpes is not known, did you mean 'steps'?"),
    "no steps": ({"steps": []}, "steps is missing or empty"),
    "too many steps": ({"steps": [{"id": f"s{n}", "wait": "1s"} for n in range(1_001)]}, "steps has 1001 steps; at most 1000"),
    "exit that is no list": ({"exit": {}}, "exit is not a list"),
    "exit that is none": ({"exit": ["x"]}, "exit[0] is 'x'"),
    "bad reentry": ({"reentry": "alow"}, "did you mean 'allow'?"),
    "bad input type": ({"input": {"x": "int"}}, "input.x is 'int'"),
    "bad input": ({"input": {"x": 5}}, "input.x is '5'; write a type"),
    "input that is none": ({"input": []}, "input is '[]'; input is a mapping"),
    "bad default": ({"input": {"x": {"type": "integer", "default": "a"}}}, "input.x.default 'a' is not integer"),
    "unknown input": ({"input": {"email": "text"}, "exit": [{"when": "input.emial == ''"}]}, "unknown input 'emial', did you mean 'email'?"),
    "exit over one event": ({"exit": [{"when": "event.type == 'x'", "outcome": "y"}]}, "here it may read input, contact, vars, steps, events, tick"),
    "triggers that are no list": ({"on": {"run": "a"}}, "on is not a list of up to"),
    "trigger that is none": ({"on": ["run"]}, "on[0] is 'run'"),
    "input without its root": ({"input": {"email": "text"}, "exit": [{"when": "email == ''"}]}, "did you mean 'input.email'?"),
}  # fmt: skip


@pytest.mark.parametrize("name", TOP_FAULTS)
def test_fault_of_the_whole_is_refused_with_its_path(name: str) -> None:
    top, said = TOP_FAULTS[name]
    with pytest.raises(InvalidWorkflow) as refused:
        parse_document({"name": "w", "steps": [{"id": "a", "end": None}], **top})

    assert any(said in f"{fault.path} {fault.message}" for fault in refused.value.faults), refused.value.faults


def test_document_that_is_no_mapping_is_refused() -> None:
    with pytest.raises(InvalidWorkflow, match="a workflow is a mapping with name"):
        parse_document([])


def test_every_fault_is_told_with_its_line() -> None:
    text = "name: w\nsteps:\n  - id: a\n    wait: soon\n  - id: b\n    ends: now\n"
    with pytest.raises(InvalidWorkflow) as refused:
        parse_text(text)

    assert [(fault.path, fault.line) for fault in refused.value.faults] == [
        ("steps[1].ends", 6), ("steps[0].wait.for", 4), ("steps[1]", 5),
    ]  # fmt: skip
    assert str(refused.value).startswith("3 faults: line 6, steps[1].ends is not known, did you mean 'end'?")


def test_many_faults_are_counted_beyond_the_first_twenty() -> None:
    with pytest.raises(InvalidWorkflow, match=r"^30 faults: .*; and 10 more$"):
        parse_document({"name": "w", "steps": [{"id": f"s{number}", "wait": "x"} for number in range(30)]})


MARKUP = {
    "broken": ("name: [", "cannot be read at line 1, column 8"),
    "empty": ("", "is empty"),
    "tab": ("name:\n\t- x", "cannot be read"),
    "twice": ("name: a\nname: b", "has the key 'name' twice in one mapping, again at line 2"),
    "odd key": ("? [a]\n: b", "has a key that is not text at line 1"),
    "NUL": ("name: 'a\0'", "cannot be read: "),
    "far too deep": ("[" * 5_000, "is nested more than 50 deep"),
    "deep": ("[" * 60 + "]" * 60, "is nested more than 50 deep"),
    "bomb": ("a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{b}: &{b} [{','.join(['*' + a] * 10)}]\n" for a, b in zip("abcdef", "bcdefg", strict=True)), "more than 50000 values"),
    "long": ("#" * 500_001, "at most 500000 are allowed"),
}  # fmt: skip


@pytest.mark.parametrize("name", MARKUP)
def test_text_that_cannot_be_read_is_refused(name: str) -> None:
    text, said = MARKUP[name]
    with pytest.raises(InvalidInput, match="the document") as refused:
        parse_text(text)

    assert said in str(refused.value)


def test_scalars_are_what_they_look_like_and_instants_stay_texts() -> None:
    text = "name: w\ninput:\n"
    for index, value in enumerate(("1_000", "0x1f", "1.5", "true", "null", "2026-01-01T00:00:00Z", ".nan", "~", "no")):
        text += f"  x{index}: {{type: any, default: {value}}}\n"

    workflow = parse_text(text + "steps: [{id: a, end: }]")

    assert [each.default for each in workflow.parameters.values()] == [
        1000, 31, 1.5, True, None, "2026-01-01T00:00:00Z", ".nan", None, "no",
    ]  # fmt: skip


def test_circle_with_a_bound_or_an_exit_is_allowed() -> None:
    steps = [{"wait": "1s"}, {"wait": "1s", "next": "s0"}]

    assert a_workflow(steps[0] | {"visits": 5}, steps[1]).start == "s0"
    assert a_workflow(*steps, exit=[{"when": "tick > 5"}]).exits[0].outcome == "exited"


def test_input_is_checked_and_defaults_are_filled_in() -> None:
    workflow = order_follow_up()

    assert check_input(workflow, {"email": "a", "order": 1}) == {"email": "a", "order": 1, "vip": False}
    assert check_input(a_workflow({"end": None}), {"any": 1}) == {"any": 1}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"email": "a"}, "the input 'order' (integer) is missing; 'order-follow-up' cannot start without it"),
        ({"email": "a", "order": True}, "the input 'order' is 'True'; 'order-follow-up' needs integer: change it"),
        ({"emial": "a"}, "unknown input 'emial', did you mean 'email'? 'order-follow-up' takes email, order, vip"),
    ],
)
def test_wrong_input_is_refused(given: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        check_input(order_follow_up(), given)

    assert str(refused.value) == said


def test_difference_between_versions_is_told_in_words() -> None:
    old = order_follow_up()
    text = (DOCUMENTS / "order_follow_up.yaml").read_text()
    new = parse_text(
        text.replace("wait: 3d", "wait: 5d")
        .replace("  - id: silent\n    end: silent\n", "  - id: silent\n    wait: 1h\n  - id: over\n    end: silent\n")
        .replace("order: integer", "order: number")
        .replace("outcome: order_cancelled", "outcome: gone")
    )

    assert differences(old, old) == []
    assert differences(old, new) == [
        "input 'order' changed from integer to number",
        "the exits[0].outcome changed from 'order_cancelled' to gone",
        "step 'over' (end) was added",
        "duration of step 'rest' changed from 3d to 5d",
        "step 'silent' is now wait instead of end",
    ]


def test_difference_names_added_and_removed_inputs_and_steps() -> None:
    old = a_workflow({"wait": "1s"}, {"end": None}, input={"a": "text"}, description="x")
    new = a_workflow({"id": "t", "wait": "1s"}, {"end": None}, input={"b": "text"}, reentry="refuse")

    assert differences(old, new) == [
        "it starts with step 't' instead of 's0'",
        "the description changed from x to ''",
        "reentry changed from allow to refuse",
        "input 'a' was removed",
        "input 'b' (text) was added",
        "step 't' (wait) was added",
        "step 's0' (wait) was removed",
    ]


def test_difference_inside_of_a_step_is_named_where_it_is() -> None:
    long = "The quick brown fox jumps over the lazy dog, and then "
    before = {"headers": {"x-a": "1", "x-b": "2"}, "body": {"texts": [f"{long}sleeps", "same"]}}
    after = {"headers": {"x-b": "3", "x-c": "4"}, "body": {"texts": [f"{long}wakes", "same"]}}
    old = a_workflow({"call": {"url": "https://example.com/", **before}, "retry": {"attempts": 2, "delay": "1s"}})
    new = a_workflow(
        {"call": {"url": "https://example.com/", **after}, "retry": {"attempts": 2, "delay": "2s", "never": ["404"]}}
    )

    assert differences(old, new) == [
        "retry.delay of step 's0' changed from 1s to 2s",
        "retry.never of step 's0' changed from [] to [\"404\"]",
        "headers.x-a of step 's0' was removed: 1",
        "headers.x-b of step 's0' changed from 2 to 3",
        "headers.x-c of step 's0' was added: 4",
        "body.texts[0] of step 's0' changed from '… dog, and then sleeps' to '… dog, and then wakes'",
    ]


def test_branch_knows_its_cases() -> None:
    step = order_follow_up().steps["choose"]

    assert isinstance(step, Branch)
    assert (step.default, step.cases[0].goto) == ("happy", "escalate")


def test_example_of_the_docs_is_the_one_that_is_tested() -> None:
    example = DOCUMENTS.parents[2] / "docs" / "examples" / "order_follow_up.yaml"

    assert example.read_text() == (DOCUMENTS / "order_follow_up.yaml").read_text()


@pytest.mark.parametrize(
    ("trigger", "said"),
    [
        ("{}", "on[0] is about 0 things; a trigger is about one of run, rule, alert"),
        ("{run: a, rule: b}", "is about 2 things"),
        ("{run: {endpoint: a, status: failed}}", "on[0].run.status is 'failed', did you mean 'failure'?"),
        ("{alert: {kind: parkd}}", "did you mean 'parked'?"),
        ("{run: a, where: vars.x > 1}", "undeclared reference to 'vars.x'; here it may read event"),
        ("{run: a, where: tick > 1}", "undeclared reference to 'tick'; here it may read event"),
        ("{run: a, where: 'event.status =='}", "does not compile"),
        ("{run: a, send: {event: x}}", "on[0].send.to is missing; write a text"),
        ("{run: a, send: {event: x, to: y}, input: {}}", "is for starting; a trigger that sends uses send.to"),
        ("{run: a, input: {ordr: 1}}", "on[0].input.ordr is not an input, did you mean 'order'?"),
        ("{run: a, input: {}}", "on[0].input lacks 'order' (integer)"),
        ("{run: a, input: {order: '{{ evnt.x }}'}}", "undeclared reference to 'evnt.x', did you mean 'event'?"),
        ("{rule: 7}", "on[0].rule is '7'"),
    ],
)
def test_trigger_that_could_never_work_is_refused(trigger: str, said: str) -> None:
    text = f"name: t\ninput: {{order: integer}}\non: [{trigger}]\nsteps: [{{id: a, wait: 1d}}]\n"
    text = text if "order" in said else text.replace("input: {order: integer}\n", "")

    with pytest.raises(InvalidWorkflow) as refused:
        parse_text(text)

    assert said in str(refused.value)


def test_triggers_are_read() -> None:
    text = "name: t\non: [{run: billing, where: event.ok}, {alert: {kind: [late]}, send: {event: e, to: k}}]\n"

    read = parse_text(text + "steps: [{id: a, wait: 1d}]\n").triggers

    assert read == (
        WorkflowTrigger("run", "billing", where="event.ok"),
        WorkflowTrigger("alert", kinds=("late",), correlation="k", event="e"),
    )


@pytest.mark.parametrize(
    ("hint", "said"),
    [
        ("{endpoint: a}", "needs exactly one of interval, after and clear: true"),
        ("{endpoint: a, interval: 30s, after: 5s}", "needs exactly one of"),
        ("{endpoint: a, clear: false}", "needs exactly one of"),
        ("{interval: 30s}", "hint.endpoint is missing; write a text"),
        ("{endpoint: a, interval: 30s, ttl: 2d}", "above the maximum 1d"),
        ("{endpoint: a, intervall: 30s}", "did you mean 'interval'?"),
    ],
)
def test_hint_that_advises_nothing_is_refused(hint: str, said: str) -> None:
    with pytest.raises(InvalidWorkflow) as refused:
        parse_text(f"name: t\nsteps: [{{id: a, hint: {hint}}}]\n")

    assert said in str(refused.value)


def test_letter_through_what_is_no_channel_is_refused() -> None:
    with pytest.raises(InvalidWorkflow, match="'call' is the name of something else"):
        parse_text("name: t\nsteps: [{id: a, email: {to: a, subject: b, body: c, channel: call}}]\n")

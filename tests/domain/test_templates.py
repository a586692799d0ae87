"""Templates of endpoints: what an expression reads, how a value is written into a text, and what is refused."""

import json
import time
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.harness.config import a_config

from mainspring.domain.definition import check_config
from mainspring.domain.endpoint import EndpointConfig, Tenant
from mainspring.domain.errors import InvalidInput
from mainspring.domain.instant import EPOCH
from mainspring.domain.kinds.command import CommandAction
from mainspring.domain.kinds.command_policy import parse_commands
from mainspring.domain.kinds.tcp import TcpAction, unescaped
from mainspring.domain.kinds.templated import filled_in, past_read_by, preview_of
from mainspring.domain.run import Action, Header, HttpAction
from mainspring.domain.templates import PAST_BYTES_MAX, PastRun, TemplateFacts, TemplateFault, as_argument

SLOT_AT = datetime(2026, 3, 29, 0, 30, tzinfo=UTC)  # half an hour before the clocks of Berlin go forward
LAST = PastRun("success", SLOT_AT, 200, (("ETag", '"7"'),), b'{"cursor":"a/b?c","items":[3,1],"next":"x\\r\\ny"}')
FACTS = TemplateFacts(SLOT_AT, "ep_1_5", 2, "default", "ep_1", "billing", "nightly", LAST)
TENANT = Tenant("default", "Default")
COMMANDS = parse_commands("/bin/echo = *, env *; /bin/sh = *, env *")


def text_of(template: str, facts: TemplateFacts = FACTS) -> str:
    """A template as the body of a plain text."""
    header = Header("Content-Type", "text/plain")
    filled = filled_in(HttpAction("https://example.com/", "POST", (header,), template), facts)
    assert filled.body is not None
    return filled.body


def checked(action: Action) -> Action:
    config, _ = check_config(EndpointConfig("x", action, interval_ms=60_000), TENANT, "ep_1", commands=COMMANDS)
    return config.action


def refusal_of(action: Action) -> str:
    with pytest.raises(InvalidInput) as refused:
        checked(action)
    return str(refused.value)


def fault_of(action: Action, facts: TemplateFacts = FACTS) -> str:
    with pytest.raises(TemplateFault) as failed:
        filled_in(action, facts)
    return str(failed.value)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ slot.time }}", "2026-03-29T00:30:00Z"),
        ("{{ int(slot.time) }}", "1774744200"),
        ('{{ date(slot.time, "Europe/Berlin") }}', "2026-03-29"),
        ('{{ date(slot.time - duration("24h"), "America/New_York") }}', "2026-03-27"),
        ('{{ format(slot.time + duration("1h"), "%H:%M %Z", "Europe/Berlin") }}', "03:30 CEST"),
        ('{{ format(slot.time, "%G-W%V") }}', "2026-W13"),
        ('{{ "week " + format(slot.time, "%V") }}', "week 13"),
        ("{{ slot.id }}/{{ run.attempt }}", "ep_1_5/2"),
        ("{{ endpoint.name }} {{ endpoint.id }} {{ job.name }} {{ tenant.id }}", "billing ep_1 nightly default"),
        ("{{ previous.status }} {{ previous.status_code }}", "success 200"),
        ('{{ previous.headers["etag"] }}', '"7"'),
        ("{{ previous.body.cursor }}", "a/b?c"),
        ("{{ 1.5 * 2.0 }}", "3.0"),
        ("{{ {'b': 1, 'a': [true]} }}", '{"a":[true],"b":1}'),
        ("{{ previous.body.items.map(each, each + 1) }}", "[4,2]"),
        ('{{ last_success.exists ? last_success.body.cursor : "start" }}', "start"),
        ('{{ "{{" }} and }}', "{{ and }}"),
    ],
)
def test_expression_gives_text(template: str, text: str) -> None:
    assert text_of(template) == text


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("{{ slot.tme }}", "undeclared reference to 'slot.tme', did you mean 'slot.time'?"),
        ("{{ previous.boddy }}", "did you mean 'previous.body'?"),
        ("{{ slot.time + 5 }}", "does not compile"),
        ('{{ date(slot.time, "Europe/Belin") }}', "did you mean 'Europe/Berlin'?"),
        ('{{ format(slot.time, "%9999Y") }}', "format '%9999Y' is unknown"),
        ('{{ duration("5s") }}', "gives a value of type duration"),
        ("{{ }}", "is empty"),
        ("{{ now }}", "known names are slot.time"),
        ("{{ slot.time", "has {{ without }}"),
        ("{{ 1 / 0 }}", "divide by zero"),
        ("{{ " + "+".join(["slot.id"] * 300) + " }}", "characters long"),
        ("{{ slot.id }}" * 51, "has 51 templates; at most 50"),
    ],
)
def test_invalid_template_is_refused_with_a_way_out(template: str, words: str) -> None:
    refusal = refusal_of(HttpAction("https://example.com/", "POST", body=template))
    assert words in refusal
    assert refusal.startswith("body ")


def test_text_without_templates_is_not_marked() -> None:
    assert not checked(HttpAction("https://example.com/", "POST", body='{"a":{"b":{}}}')).templated
    assert checked(HttpAction("https://example.com/", "POST", body="{{ slot.id }}")).templated


def test_literal_text_is_sent_as_it_is() -> None:
    action = checked(HttpAction("https://example.com/", "POST", body="{{ .Names }}", literal=True))
    assert not action.templated


def test_refusal_of_foreign_braces_names_the_switch() -> None:
    assert "set literal" in refusal_of(HttpAction("https://example.com/", "POST", body="{{ .Names }}"))


@pytest.mark.parametrize(
    "url",
    [
        "https://{{ previous.body.host }}/",
        "https://example.com:{{ run.attempt }}/",
        "https://a{{ run.attempt }}.example.com/",
        "{{ previous.body.url }}",
        "{{ 'https' }}://example.com/",
    ],
)
def test_origin_is_never_chosen_by_a_template(url: str) -> None:
    assert "url" in refusal_of(HttpAction(url))


@given(st.text(st.characters(codec="utf-8"), max_size=20))
def test_value_stays_in_its_place_of_a_url(value: str) -> None:
    facts = replace(FACTS, endpoint=value)
    action = checked(HttpAction("https://example.com/a{{ endpoint.name }}/b?x={{ endpoint.name }}&y=1"))
    url = filled_in(action, facts).url  # type: ignore[attr-defined]  # of kind http
    parts = urlsplit(url)
    assert parts.netloc == "example.com"
    assert [unquote(each) for each in parts.path.split("/")] == ["", f"a{value}", "b"]
    assert parse_qsl(parts.query, keep_blank_values=True) == [("x", value), ("y", "1")]


@pytest.mark.parametrize("name", [".", ".."])
def test_value_does_not_lead_to_another_path(name: str) -> None:
    action = HttpAction("https://example.com/a/{{ endpoint.name }}/b", templated=True)
    assert "would lead to another path" in fault_of(action, replace(FACTS, endpoint=name))


def test_question_mark_in_a_template_of_the_path_does_not_begin_the_query_string() -> None:
    action = checked(HttpAction('https://example.com/{{ previous.exists ? "a" : "b" }}?k=1'))
    assert filled_in(action, FACTS).url == "https://example.com/a?k=1"  # type: ignore[attr-defined]  # of kind http


@given(st.text(st.characters(codec="utf-8"), max_size=20))
def test_value_stays_in_its_place_of_json(value: str) -> None:
    body = '{"quoted": "<{{ endpoint.name }}>", "bare": {{ endpoint.name }}, "n": {{ run.attempt }}, "o": {"p": {}}}'
    action = checked(HttpAction("https://example.com/", "POST", body=body))
    filled = filled_in(action, replace(FACTS, endpoint=value)).body  # type: ignore[attr-defined]  # of kind http
    assert json.loads(filled) == {"quoted": f"<{value}>", "bare": value, "n": 2, "o": {"p": {}}}


def test_json_value_outside_of_quotes_keeps_its_type() -> None:
    action = HttpAction("https://example.com/", "POST", body='{"all": {{ previous.body.items }}, "none": {{ null }}}')
    assert filled_in(action, FACTS).body == '{"all": [3,1], "none": null}'


def test_body_that_would_not_be_json_is_refused() -> None:
    assert "is not JSON" in refusal_of(HttpAction("https://x.test/", "POST", body='{"a": {{ slot.id }}{{ slot.id }}}'))
    json_header = (Header("Content-Type", "application/json"),)
    assert "is not JSON" in refusal_of(HttpAction("https://x.test/", "POST", json_header, "a {{ slot.id }}"))


def test_form_is_percent_encoded() -> None:
    header = Header("Content-Type", "application/x-www-form-urlencoded")
    action = HttpAction("https://x.test/", "POST", (header,), "a={{ previous.body.cursor }}&b=1")
    assert filled_in(action, FACTS).body == "a=a%2Fb%3Fc&b=1"


def test_header_refuses_a_line_break_and_names_field_and_expression() -> None:
    action = HttpAction("https://x.test/", headers=(Header("X-Next", "{{ previous.body.next }}"),))
    assert fault_of(action) == (
        "headers.X-Next: {{ previous.body.next }} gives a control character or a line break, which is not allowed here"
    )


def test_header_takes_a_value_as_it_is() -> None:
    action = checked(
        HttpAction("https://x.test/", headers=(Header("If-None-Match", '{{ previous.headers["etag"] }}'),))
    )
    assert filled_in(action, FACTS).headers == (Header("If-None-Match", '"7"'),)  # type: ignore[attr-defined]  # of kind http


def test_secret_header_is_never_a_template() -> None:
    action = HttpAction("https://x.test/", headers=(Header("Authorization", "Bearer {{ previous.body.token }}"),))
    assert "secret values are sent unchanged" in refusal_of(action)


def test_missing_field_of_the_previous_response_names_the_expression() -> None:
    action = HttpAction("https://x.test/", "POST", body="{{ previous.body.nope }}")
    assert fault_of(action) == (
        "body: {{ previous.body.nope }} reads a field that is missing; test it first: previous.body != null && "
        "has(previous.body.field)"
    )
    assert fault_of(action, replace(FACTS, previous=None)) == fault_of(action)  # the first run


def test_tcp_text_takes_a_value_as_bytes() -> None:
    action = checked(TcpAction("example.com", 7, send=r"GET {{ endpoint.name }}\r\n"))
    sent = filled_in(action, replace(FACTS, endpoint=r"a\n")).send  # type: ignore[attr-defined]  # of kind tcp
    assert unescaped(sent, "send") == b"GET a\\n\r\n"
    assert "line break" in fault_of(action, replace(FACTS, endpoint="a\nb"))


def test_command_fills_arguments_and_variables_in() -> None:
    action = checked(
        CommandAction(("/bin/echo", "{{ date(slot.time) }}"), environment=(Header("DAY", "{{ date(slot.time) }}"),))
    )
    assert filled_in(action, FACTS) == replace(
        action, command=("/bin/echo", "2026-03-29"), environment=(Header("DAY", "2026-03-29"),)
    )


def test_program_and_shell_text_are_never_chosen_by_a_template() -> None:
    assert "its program, which is fixed" in refusal_of(CommandAction(("/bin/{{ endpoint.name }}",)))
    shell = CommandAction(("echo {{ previous.body.x }}",), shell=True)
    assert "a value could become a command" in refusal_of(shell)
    assert checked(replace(shell, literal=True)) == replace(shell, literal=True)


def test_only_named_earlier_runs_are_read() -> None:
    plain = HttpAction("https://x.test/{{ slot.id }}", body="{{ 'previous.body' }}")
    assert past_read_by(plain) == set()
    assert past_read_by(replace(plain, body="{{ last_success.body.x }}")) == {"last_success"}


def test_preview_hides_literal_parameters_and_shows_filled_in_ones() -> None:
    action = HttpAction("https://x.test/?token=abc&day={{ date(slot.time) }}&k=a{{ slot.id }}&bare")
    assert preview_of(action, FACTS) == [("url", "https://x.test/?token=••••&day=2026-03-29&k=••••&••••")]


def test_work_is_bounded_for_all_expressions_together() -> None:
    large = replace(FACTS, previous=replace(LAST, body=json.dumps({"a": list(range(5_000))}).encode()))
    body = "{{ size(previous.body.a.filter(x, previous.body.a.exists(y, y == x))) }}"
    assert "takes too much work" in fault_of(HttpAction("https://x.test/", "POST", body=body), large)


def test_large_previous_response_is_not_read() -> None:
    large = replace(FACTS, previous=replace(LAST, body=b'"' + b"x" * PAST_BYTES_MAX + b'"'))
    fault = fault_of(HttpAction("https://x.test/", "POST", body="{{ previous.body }}"), large)
    assert "at most 100,000 are allowed" in fault


def test_long_list_of_a_previous_response_is_walked_in_milliseconds() -> None:
    large = replace(FACTS, previous=replace(LAST, body=json.dumps(list(range(9_900))).encode()))
    action = HttpAction("https://x.test/", "POST", body="{{ size(previous.body.map(x, x)) }}")
    filled_in(action, large)
    begin = time.process_time()
    assert filled_in(action, large).body == "9900"
    assert time.process_time() - begin < 0.5  # in one piece it takes 2 s


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("{{ double(run.attempt) / 0.0 }}", "not finite"),
        ("{{ {1: 2} }}", "keys that are not text"),
        ("{{ dyn(duration('5s')) }}", "gives timedelta"),
        ("{{ date(previous.body.cursor) }}", "needs a timestamp"),
        ("{{ previous.body.deep }}", "nested more than 64 deep"),
        ("{{ previous.body.nope.nope }}", "a field that is missing"),
        ("{{ previous.body.items.map(x, [x, slot.time]) }}", ""),
    ],
)
def test_value_that_is_not_text_is_a_fault(template: str, words: str) -> None:
    deep = "[" * 62 + "]" * 62
    facts = replace(FACTS, previous=replace(LAST, body=f'{{"cursor": "x", "items": [1], "deep": {deep}}}'.encode()))
    wrapped = template.replace("previous.body.deep", "[[[[[previous.body.deep]]]]]")
    if not words:
        assert text_of(wrapped, facts) == '[[1,"2026-03-29T00:30:00Z"]]'
        return
    header = (Header("Content-Type", "text/plain"),)
    assert words in fault_of(HttpAction("https://x.test/", "POST", header, wrapped), facts)


def test_value_that_does_not_fit_its_text_is_a_fault() -> None:
    beyond = replace(FACTS, endpoint="\u20ac")
    header = HttpAction("https://x.test/", headers=(Header("X-A", "{{ endpoint.name }}"),))
    assert "beyond Latin-1" in fault_of(header, beyond)
    with pytest.raises(ValueError, match="gives NUL"):
        as_argument("a\0b")


def test_half_a_character_is_a_fault() -> None:
    half = replace(FACTS, previous=replace(LAST, headers=(("x", "\ud800"),)))
    action = HttpAction('https://x.test/{{ previous.headers["x"] }}')
    fault_of(action, half)


def test_long_text_and_growing_expression_are_refused() -> None:
    assert "at most 65,536" in refusal_of(HttpAction("https://x.test/", "POST", body="{{ slot.id }}" + "x" * 65_536))
    growing = "[slot.id]" + ".map(x, x + x)" * 12
    assert "too large" in refusal_of(HttpAction("https://x.test/", "POST", body=f"{{{{ {growing} }}}}"))


def test_call_of_a_function_within_an_expression_gives_the_same_text() -> None:
    assert text_of('{{ date(slot.time) + "/" + format(slot.time, "%H") }}') == "2026-03-29/00"


def test_long_url_with_templates_is_refused() -> None:
    url = "https://x.test/" + "{{ slot.id + slot.id + slot.id }}" * 70
    assert "at most 2048" in refusal_of(HttpAction(url))


def test_body_of_an_older_rule_is_a_fault() -> None:
    body = '{"a": {{ slot.id }}{{ slot.id }}}'
    assert "is not JSON" in fault_of(HttpAction("https://x.test/", "POST", body=body))


def test_result_is_bounded() -> None:
    long = replace(FACTS, endpoint="x" * 60_000)
    action = HttpAction("https://x.test/", "POST", body="{{ endpoint.name }}{{ endpoint.name }}")
    assert "at most 65,536 are allowed" in fault_of(action, long)


@given(st.integers(0, 220_000_000_000))
def test_same_slot_gives_the_same_text_and_every_date_is_written(seconds: int) -> None:
    slot_at = EPOCH + timedelta(seconds=seconds)
    facts = replace(FACTS, slot_at=slot_at)
    template = '{{ format(slot.time, "%Y-%m-%dT%H:%M:%S.%f") }} {{ date(slot.time) }}'
    expected = f"{slot_at:%Y-%m-%dT%H:%M:%S.%f} {slot_at:%Y-%m-%d}"
    assert text_of(template, facts) == text_of(template, facts) == expected


def test_config_with_templates_keeps_its_host() -> None:
    config = a_config("x", "https://example.com:8443/{{ slot.id }}?d={{ date(slot.time) }}", interval_ms=60_000)
    assert check_config(config, TENANT, "ep_1")[1] == "example.com:8443"

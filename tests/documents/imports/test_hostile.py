"""Files that break the rules of their format are refused with a reason, in bounded time, and never with a traceback."""

import re
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.documents.document import parse_documents
from mainspring.documents.faults import InvalidDocument
from mainspring.documents.imports.crontab import CommandsAs, read_crontab
from mainspring.documents.imports.healthchecks import read_healthchecks
from mainspring.documents.imports.kubernetes import read_cron_jobs
from mainspring.documents.imports.takeover import Takeover
from mainspring.documents.imports.uptime_kuma import read_uptime_kuma
from mainspring.domain.errors import InvalidInput


def read_kubernetes(data: bytes) -> Takeover:
    return read_cron_jobs("manifest.yaml", data)


READERS: list[Callable[[bytes], Takeover]] = [read_uptime_kuma, read_healthchecks, read_kubernetes]
JSON_READERS = READERS[:2]
LAUGHS = b"a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + b"".join(
    b"a%d: &a%d [%s]\n" % (n, n, b", ".join([b"*a%d" % (n - 1)] * 10)) for n in range(1, 9)
)


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b'{"checks": [' + b" " * 10_000_000 + b"]}", id="ten megabytes"),
        pytest.param(b"[" * 200_000, id="deep lists"),
        pytest.param(b'{"a":' * 100_000, id="deep objects"),
        pytest.param(b"\0\xff\xfe", id="binary data"),
    ],
)
def test_hostile_file_is_refused(read: Callable[[bytes], Takeover], data: bytes) -> None:
    with pytest.raises((InvalidInput, InvalidDocument)):
        read(data)


@pytest.mark.parametrize("read", JSON_READERS)
@pytest.mark.parametrize("data", [b"", b"null", b"[]", b'"x"', b"{}", b'{"checks": {}, "monitorList": 3}'])
def test_file_of_another_shape_is_refused_with_what_it_should_be(
    read: Callable[[bytes], Takeover], data: bytes
) -> None:
    with pytest.raises(InvalidInput, match="; give the JSON"):
        read(data)


def test_aliases_that_multiply_are_refused() -> None:
    with pytest.raises(InvalidDocument, match="once aliases are followed"):
        read_kubernetes(LAUGHS)


def test_more_items_than_a_document_may_have_are_refused() -> None:
    checks = [{"name": str(number), "timeout": 60} for number in range(5_001)]

    with pytest.raises(InvalidInput, match="at most 5,000 are imported"):
        read_healthchecks(msgspec.json.encode({"checks": checks}))


def test_crontab_with_more_jobs_than_are_imported_is_refused() -> None:
    with pytest.raises(InvalidInput, match="more than 5,000 jobs"):
        read_crontab("@reboot x\n" * 5_001)


@pytest.mark.parametrize("part", ["-a", "mysql -p", "'", "$(", "a=", "\\"])
def test_line_that_is_far_too_long_is_left_out_unread(part: str) -> None:
    taken = read_crontab(f"0 3 * * * {part * 1_000_000}", commands_as=CommandsAs.COMMAND)

    assert "characters, and cron itself reads fewer" in taken.left_out[0].reason


def test_groups_that_contain_each_other_end() -> None:
    monitors = [
        {"id": 1, "name": "a", "type": "group", "parent": 2},
        {"id": 2, "name": "b", "type": "group", "parent": 1},
        {"id": 3, "name": "web", "type": "http", "url": "https://example.com/", "parent": 1},
        {"id": 4, "name": "own", "type": "http", "url": "https://example.com/", "parent": 4},
    ]
    taken = read_uptime_kuma(msgspec.json.encode({"monitorList": monitors}))

    assert [entry.get("job") for entry in taken.endpoints.values()] == ["b-a", "own"]


@pytest.mark.parametrize(
    ("monitor", "reason"),
    [
        (7, "it is not an object"),
        ({"type": "http", "url": ["x"]}, "its url is not a text"),
        ({"type": "http", "url": "https://example.com/", "interval": "soon"}, "its interval 'soon' is not a positive"),
        ({"type": "http", "url": "https://example.com/", "interval": -1}, "its interval '-1' is not a positive number"),
        ({"type": "http", "url": "https://example.com/", "interval": 0.01}, "interval 10 ms is out of bounds"),
        ({"type": "http", "url": "https://example.com/", "interval": 1e11}, "above the maximum 366d"),
        ({"type": "http", "url": "file:///etc/passwd"}, "is not http or https"),
        ({"type": "http", "url": "https://example.com/", "headers": "[1]"}, "its headers are not a JSON object"),
        ({"type": "http", "url": "https://example.com/", "headers": "{\"Host\": \"x\"}"}, "Host"),
        ({"type": "http", "url": "https://example.com/", "method": "BREW"}, "its method 'BREW' is unknown"),
        ({"type": "http", "url": "https://example.com/", "ignoreTls": True}, "it ignores TLS errors"),
        ({"type": "http", "url": "https://example.com/", "proxyId": 1}, "it uses a proxy"),
        ({"type": "http", "url": "https://example.com/", "authMethod": "ntlm"}, "its login 'ntlm'"),
        ({"type": "http", "url": "https://example.com/", "authMethod": "oauth2-cc"}, "it logs in with OAuth2"),
        ({"type": "http", "url": "https://example.com/", "accepted_statuscodes": ["2xx"]}, "status code '2xx'"),
        ({"type": "http", "url": "https://e.com/", "method": "PUT", "body": "{\"password\": \"x\"}"}, "its body has"),
        ({"type": "json-query", "url": "https://example.com/", "jsonPath": "$sum(a)"}, "more than a path"),
        ({"type": "json-query", "url": "https://e.io/", "jsonPath": "a", "jsonPathOperator": ">", "expectedValue": "y"},
         "not a number"),
        ({"type": "dns", "hostname": "example.com", "dns_resolve_type": "SOA"}, "its record type 'SOA'"),
        ({"type": "port", "hostname": "db.example.com", "port": 70_000}, "port"),
        ({"type": "ping", "hostname": "a b"}, "host"),
        ({"type": "steam"}, "its type 'steam' is not a kind of endpoint"),
        ({"type": {"a": 1}}, "its type is not a text"),
    ],
)  # fmt: skip
def test_monitor_that_cannot_be_taken_over_is_left_out_with_its_reason(monitor: object, reason: str) -> None:
    good = {"name": "good", "type": "http", "url": "https://example.com/"}
    taken = read_uptime_kuma(msgspec.json.encode({"monitorList": [monitor, good]}))

    assert list(taken.endpoints) == ["good"]
    (left_out,) = taken.left_out
    assert reason in left_out.reason


@pytest.mark.parametrize(
    ("notification", "reason"),
    [
        (None, "it is not an object"),
        ({"id": 1, "name": "x", "config": "{"}, "its settings are not JSON"),
        ({"id": 1, "name": "x", "config": 7}, "it has no settings"),
        ({"id": 1, "name": "x", "config": '{"type": "smtp", "smtpTo": "nobody"}'}, "email addresses"),
        ({"id": 1, "name": "x", "config": '{"type": "webhook", "webhookURL": "s3cret"}'}, "its url is not one"),
        ({"id": 1, "name": "x", "config": '{"type": "telegram"}'}, "add an alert with an apprise URL"),
        ({"id": 2, "name": "x", "config": "{}"}, "no imported monitor uses it"),
    ],
)
def test_notification_that_cannot_be_taken_over_is_left_out_with_its_reason(notification: object, reason: str) -> None:
    monitor = {"id": 1, "name": "a", "type": "http", "url": "https://example.com/", "notificationIDList": {"1": True}}
    backup = {"monitorList": [monitor], "notificationList": [notification]}
    taken = read_uptime_kuma(msgspec.json.encode(backup))

    assert taken.alerts == {}
    (left_out,) = taken.left_out
    assert reason in left_out.reason


@pytest.mark.parametrize(
    ("manifest", "reason"),
    [
        ("[7]", "it is not an object of Kubernetes"),
        ("{kind: CronJob, metadata: [], spec: {}}", "its metadata is not a mapping"),
        ("{kind: CronJob, metadata: {name: a}, spec: {schedule: '* * * * *'}}", "it has no containers"),
        ("{kind: CronJob, metadata: {name: a}, spec: {schedule: 'x', jobTemplate: {spec: {template: {spec: "
         "{containers: [{image: x}]}}}}}}", "cron"),
        ("{kind: Deployment, metadata: {name: a}}", "only objects of kind CronJob have a schedule"),
    ],
)  # fmt: skip
def test_manifest_that_cannot_be_taken_over_is_left_out_with_its_reason(manifest: str, reason: str) -> None:
    taken = read_kubernetes((f"items: {manifest}" if manifest.startswith("[") else manifest).encode())

    assert taken.endpoints == {}
    (left_out,) = taken.left_out
    assert reason in left_out.reason


def test_names_and_texts_of_an_export_cannot_leave_their_place() -> None:
    monitor = {"name": "a\nendpoints: {x: 1}\u202e\0", "type": "push\n# x", "description": "\0"}
    other = {"name": "../../b?c#d %2e \u00fc", "type": "http", "url": "https://example.com/", "description": "a\n\0b"}
    taken = read_uptime_kuma(msgspec.json.encode({"monitorList": [monitor, other]}))
    documents = parse_documents([("x", taken.text("x").encode())])

    assert documents.faults == []
    assert list(documents.wanted["endpoints"]) == ["b-c-d-2e-u"]


def test_reference_in_an_export_is_text_and_reads_nothing_of_this_machine() -> None:
    stolen = "${env:HOME}${file:/etc/passwd}"
    monitor = {
        "id": 1, "name": stolen, "type": "http", "url": f"https://a.example/{stolen}?a={stolen}&b=1", "method": "POST",
        "headers": msgspec.json.encode({"X-A": stolen}).decode(), "body": stolen, "description": stolen,
        "notificationIDList": {"1": True},
    }  # fmt: skip
    mail = {"id": 1, "name": "mail", "config": {"type": "smtp", "smtpTo": f"{stolen}@example.com"}}
    kuma = read_uptime_kuma(msgspec.json.encode({"monitorList": [monitor], "notificationList": [mail]}))
    calls = f"0 3 * * * /bin/job {stolen.replace('$', '')}\n1 3 * * * curl -H 'X-A: {stolen}' https://a.example\n"
    cron = read_crontab(f"A={stolen}\n{calls}", commands_as=CommandsAs.COMMAND)

    for taken in (kuma, cron):
        for entry in (*taken.endpoints.values(), *taken.alerts.values()):
            shown = [entry.get(key) for key in ("url", "headers", "environment", "to")]
            assert not _UNESCAPED.search(str(shown)), shown
    assert list(kuma.alerts) == ["mail"]
    assert len(cron.endpoints) == 2


_UNESCAPED = re.compile(r"(?<!\$)\$\{")
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 10**15) | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
MONITORS = st.dictionaries(
    st.sampled_from(
        "id name type url method hostname port maxretries active timeout interval retryInterval parent headers body "
        "accepted_statuscodes jsonPath expectedValue dns_resolve_type dns_resolve_server notificationIDList tags "
        "maxredirects".split()
    ),
    JSON_VALUES
    | st.sampled_from(["http", "push", "dns", "port", "ping", "json-query", "https://example.com/", "example.com"]),
    max_size=12,
)  # fmt: skip


@given(st.lists(MONITORS, max_size=4), JSON_VALUES)
def test_whatever_a_backup_holds_becomes_a_document_without_a_fault(monitors: list[object], rest: object) -> None:
    backup = {"monitorList": monitors, "notificationList": rest if isinstance(rest, list) else []}
    taken = read_uptime_kuma(msgspec.json.encode(backup))
    documents = parse_documents([("x", taken.text("x").encode())])

    assert documents.faults == []
    assert list(documents.wanted["endpoints"]) == list(taken.endpoints)


@given(st.text(max_size=200), st.sampled_from(list(CommandsAs)))
def test_whatever_a_crontab_line_runs_becomes_a_document_without_a_fault(command: str, commands_as: CommandsAs) -> None:
    taken = read_crontab(f"0 3 * * * {command}", timezone="UTC", commands_as=commands_as)
    documents = parse_documents([("x", taken.text("x").encode())])

    assert documents.faults == []
    assert list(documents.wanted["endpoints"]) == list(taken.endpoints)

"""Kinds of endpoints: their fields as inputs, what is refused, and how their actions are stored."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.stores.world import an_endpoint

from mainspring.domain.definition import check_config, config_of
from mainspring.domain.endpoint import (
    CONFIG_FIELDS,
    EndpointConfig,
    Tenant,
    config_value,
    fields_of,
    new_config,
    with_inputs,
)
from mainspring.domain.errors import InvalidInput
from mainspring.domain.kinds.dns import AnswersMatch, DnsAction, RecordType
from mainspring.domain.kinds.registry import (
    KIND_FIELD,
    KINDS,
    UnknownAction,
    decode_action,
    encode_action,
    kind_of,
)
from mainspring.domain.kinds.tcp import TcpAction, unescaped
from mainspring.domain.run import HttpAction

TENANT = Tenant("default", "default")
TCP: dict[str, object] = {"kind": "tcp", "host": "DB.example.com", "port": 5432, "every": 60_000}


def checked(**given: object) -> EndpointConfig:
    return check_config(new_config("db", TCP | given), TENANT, "ep_1")[0]


def refusal(given: dict[str, object]) -> InvalidInput:
    with pytest.raises(InvalidInput) as refused:
        check_config(new_config("db", given), TENANT, "ep_1")
    return refused.value


def test_action_of_a_kind_is_made_from_flat_inputs() -> None:
    config, host = check_config(new_config("db", TCP | {"timeout": 2_000}), TENANT, "ep_1")

    assert config.action == TcpAction("db.example.com", 5432, timeout_ms=2_000)
    assert host == "db.example.com:5432"
    assert kind_of(config.action).summary(config.action) == "tcp db.example.com:5432"


@pytest.mark.parametrize(
    ("given", "field", "words"),
    [
        ({"kind": "tpc", "every": 1}, "kind", "unknown kind 'tpc', did you mean 'tcp'"),
        (
            {"kind": "tcp", "host": "x", "every": 1},
            "port",
            "no port for 'db'; an endpoint of kind tcp needs one: give port",
        ),
        (
            {"host": "x", "port": 1, "every": 1},
            "url",
            "no url for 'db'; an endpoint of kind http needs one: give url, or `kind` if another one is meant "
            "(host belongs to kind ",
        ),
        (
            TCP | {"method": "GET"},
            "method",
            "method belongs to kind http, and 'db' is of kind tcp; leave method out, or choose kind http",
        ),
        (TCP | {"host": "db:5432"}, "host", "give a name or an address here, and the port as `port`"),
        (TCP | {"host": ""}, "host", "host '' is empty"),
        (TCP | {"host": "metadata.google.internal"}, "host", "names a cloud metadata server"),
        (TCP | {"port": 70_000}, "port", "port 70000 is out of bounds; give 1 to 65,535"),
        (TCP | {"send": r"a\q"}, "send", r"send has the escape \q; known are"),
        (TCP | {"condition": "status_code == 200"}, "condition", "kind tcp has none; read body.banner instead"),
    ],
)
def test_refusal_names_the_field_the_rule_and_the_way_out(given: dict[str, object], field: str, words: str) -> None:
    fault = refusal(given)

    assert fault.field == field
    assert words in str(fault)


def test_null_of_a_field_of_another_kind_is_no_input() -> None:
    assert checked(method=None, headers=()).action == TcpAction("db.example.com", 5432)


def test_another_kind_starts_from_its_own_defaults_and_needs_its_required_fields() -> None:
    before = new_config("db", {"url": "https://example.com/", "every": 60_000, "timeout": 5_000})

    after = with_inputs(before, {"kind": "tcp", "host": "db", "port": 1})

    assert after == replace(before, action=TcpAction("db", 1))
    with pytest.raises(InvalidInput, match="no host for 'db'"):
        with_inputs(before, {"kind": "tcp"})


def test_edit_that_names_the_present_kind_changes_nothing_else() -> None:
    before = new_config("db", TCP)

    assert with_inputs(before, {"kind": "tcp", "port": 6}) == replace(before, action=TcpAction("DB.example.com", 6))


def test_action_without_a_mark_of_its_kind_is_http_and_is_stored_without_one() -> None:
    text = '{"url":"https://example.com/","timeout_ms":5}'

    assert decode_action(text) == HttpAction("https://example.com/", timeout_ms=5)
    assert encode_action(decode_action(text)) == text


@pytest.mark.parametrize("action", [TcpAction("db", 1, send="x", tls=True)])
def test_action_of_another_kind_is_stored_with_its_mark(action: Any) -> None:
    text = encode_action(action)

    assert text.startswith(f'{{"kind":"{kind_of(action).name}"')
    assert decode_action(text) == action


def test_action_of_a_kind_that_is_not_installed_is_kept_as_it_is() -> None:
    text = '{"kind":"teleport","to":"mars"}'
    action = decode_action(text)

    assert action == UnknownAction("teleport", text)
    assert encode_action(action) == text
    with pytest.raises(InvalidInput, match="kind 'teleport' is not installed here; install the package"):
        check_config(config_of(an_endpoint(action=action)), TENANT, "ep_1")


def test_kinds_describe_every_field_and_share_inputs_of_one_meaning() -> None:
    for kind in KINDS:
        assert kind.about.endswith(".")
        assert [fact.name for fact in kind.facts if not fact.about.endswith(".")] == []
        described = {field.name for field in kind.fields}
        assert {"timeout_ms", "body_cap", "condition"} <= described
        assert set(kind.action.__struct_fields__) - described <= {"query", "templated"}
        assert set(kind.searched) <= described
    assert len({field.key for field in CONFIG_FIELDS}) == len(CONFIG_FIELDS)


def test_fields_of_an_endpoint_are_those_of_its_kind() -> None:
    config = new_config("db", TCP)
    keys = [field.key for field in fields_of(config)]

    assert keys[:2] == ["name", "kind"]
    assert {"host", "port", "timeout", "every"} <= set(keys)
    assert {"url", "method", "headers"} & set(keys) == set()
    assert config_value(config, KIND_FIELD) == "tcp"


@pytest.mark.parametrize(
    ("text", "meant"),
    [("PING\\r\\n", b"PING\r\n"), ("a\\\\b", b"a\\b"), ("\\x00\\xff\\0", b"\x00\xff\x00"), ("ü\\t", b"\xc3\xbc\t")],
)
def test_escapes_mean_bytes(text: str, meant: bytes) -> None:
    assert unescaped(text, "send") == meant


@pytest.mark.parametrize("text", ["\\", "\\q", "\\x1", "a\\xzz"])
def test_unknown_escape_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="has the escape"):
        unescaped(text, "send")


@pytest.mark.parametrize(
    "resolver", ["ns.example.com", "1.1.1.1:0", "1.1.1.1:x", "[::1", "fe80::1%eth0", "1.1.1.1:70000"]
)
def test_resolver_that_is_no_address_is_refused(resolver: str) -> None:
    fault = refusal({"kind": "dns", "host": "example.com", "resolver": resolver, "every": 60_000})

    assert fault.field == "resolver"
    assert "is not an address; a name server is given by its address" in str(fault)


def test_dns_lookup_is_normalised() -> None:
    given = {
        "kind": "dns", "host": "Example.com.", "record": "aaaa", "resolver": "[::1]:53",
        "answers": ["2001:DB8:0::1", " 10  mail.example.com. "], "every": 60_000,
    }  # fmt: skip
    config, host = check_config(new_config("db", given), TENANT, "ep_1")

    assert config.action == DnsAction(
        "example.com", RecordType.AAAA, "::1", ("2001:db8::1", "10 mail.example.com"), AnswersMatch.ALL
    )
    assert host == "[::1]:53"
    assert check_config(new_config("db", {"kind": "dns", "host": "x", "every": 1_000}), TENANT, "ep_1")[1] == "ep_1"

"""Calls through connections: credentials stay with their origin, against real servers on loopback."""

from typing import Any

import pytest
from msgspec.structs import replace

from mainspring.domain.connection import Auth
from mainspring.domain.event import Event, EventType
from tests.outbound.connected import START, TENANT, World, plain, sent_to, short, through
from tests.peers.gateway import (
    Call,
    Gateway,
    Reply,
    is_signed_for_aws,
    needs_basic,
    needs_digest,
)


async def test_header_is_sent_and_redacted_from_an_echo(world: World) -> None:
    def echo(call: Call) -> Reply:
        return Reply(200, f"you sent {call.headers.get('x-api-key')}".encode())

    async with Gateway(echo) as gate:
        await world.connect(gate.url(), auth=Auth.HEADER, header="X-Api-Key", secret="very-secret-key")
        outcome = await world.caller().call(through(gate.url("/a")))

    assert gate.seen[0].headers["x-api-key"] == "very-secret-key"
    assert outcome.body is not None
    assert outcome.body.data == b"you sent [redacted]"


async def test_basic_opens_the_door(world: World) -> None:
    async with Gateway(needs_basic("ann", "pässword")) as gate:
        await world.connect(gate.url(), auth=Auth.BASIC, username="ann", secret="pässword")

        assert short(await world.caller().call(through(gate.url("/")))) == ("success", None)


async def test_digest_answers_the_challenge_with_the_body(world: World) -> None:
    async with Gateway(needs_digest("ann", "secret-word")) as gate:
        await world.connect(gate.url(), auth=Auth.DIGEST, username="ann", secret="secret-word")
        caller = world.caller()
        outcomes = [
            await caller.call(through(gate.url("/?a=1"), method="POST", body='{"a": 1}')),
            await caller.call(through(gate.url("/b"))),
        ]

    assert [short(outcome) for outcome in outcomes] == [("success", None)] * 2
    assert [(call.method, call.body) for call in gate.seen] == [
        ("POST", b""), ("POST", b'{"a": 1}'), ("GET", b""), ("GET", b""),
    ]  # fmt: skip


async def test_wrong_digest_password_is_a_status_and_not_a_loop(world: World) -> None:
    async with Gateway(needs_digest("ann", "secret-word")) as gate:
        await world.connect(gate.url(), auth=Auth.DIGEST, username="ann", secret="wrong")
        outcome = await world.caller().call(through(gate.url("/")))

    assert outcome.status_code == 401
    assert len(gate.seen) == 2


@pytest.mark.parametrize(
    ("method", "body", "path"),
    [
        ("GET", None, "/v1/items?b=2&a=1"),
        ("POST", '{"a": "ü"}', "/v1/items"),
        ("PUT", "x" * 3_000, "/v1/a%20b"),
        ("DELETE", None, "/v1/items/7"),
    ],
)
async def test_aws_signature_verifies(method: str, body: str | None, path: str, world: World) -> None:
    async with Gateway(plain) as gate:
        await world.connect(
            gate.url(), auth=Auth.AWS, access_key_id="AKIDEXAMPLE", secret="wJalrXUtnFEMI/K7MDENG",
            region="eu-central-1", service="execute-api",
        )  # fmt: skip
        outcome = await world.caller().call(through(gate.url(path), method=method, body=body))

    assert (short(outcome), outcome.error) == (("success", None), None)
    (call,) = gate.seen
    assert is_signed_for_aws(call, "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG", "eu-central-1", "execute-api")
    assert not is_signed_for_aws(call, "AKIDEXAMPLE", "another", "eu-central-1", "execute-api")


async def test_nothing_is_sent_to_another_origin(world: World) -> None:
    async with Gateway(plain) as gate, Gateway(plain) as other:
        await world.connect(gate.url(), auth=Auth.HEADER, header="X-Api-Key", secret="very-secret-key")
        outcome = await world.caller().call(through(other.url("/")))

    assert short(outcome) == ("blocked", "connection")
    assert other.seen == []


@pytest.mark.parametrize(
    "fields",
    [
        {"auth": Auth.HEADER, "header": "X-Api-Key", "secret": "very-secret-key"},
        {"auth": Auth.BASIC, "username": "ann", "secret": "very-secret-key"},
        {"auth": Auth.DIGEST, "username": "ann", "secret": "very-secret-key"},
        {"auth": Auth.AWS, "access_key_id": "AKID", "secret": "very-secret-key", "region": "r", "service": "s"},
    ],
    ids=lambda fields: str(fields["auth"]),
)
async def test_redirect_to_another_origin_carries_no_credentials(fields: dict[str, Any], world: World) -> None:
    async with Gateway(plain) as other, Gateway(sent_to(other)) as gate:
        await world.connect(gate.url(), **fields)
        outcome = await world.caller().call(through(gate.url("/"), redirects_max=2))

    assert short(outcome) == ("success", None)
    assert {"authorization", "x-api-key"}.isdisjoint(other.seen[0].headers)


async def test_path_is_called_relative_to_the_base_url(world: World) -> None:
    async with Gateway(plain) as gate:
        await world.connect(gate.url("/v1"), auth=Auth.HEADER, header="X-Api-Key", secret="very-secret-key")
        outcome = await world.caller().call(through("/hooks?a=1"))

    assert short(outcome) == ("success", None)
    assert gate.seen[0].path == "/v1/hooks?a=1"


async def test_edit_changes_what_the_next_call_sends(world: World) -> None:
    async with Gateway(plain) as gate:
        caller = world.caller()
        made = await world.connect(gate.url(), auth=Auth.HEADER, header="X-Api-Key", secret="first-secret")
        await caller.call(through(gate.url("/")))
        await world.edit(made, secret="second-secret")
        await caller.call(through(gate.url("/")))

    assert [call.headers["x-api-key"] for call in gate.seen] == ["first-secret", "second-secret"]


async def test_missing_connection_sends_nothing(world: World) -> None:
    outcome = await world.caller().call(through("http://127.0.0.1:9/", "gone"))

    assert short(outcome) == ("blocked", "connection")
    assert outcome.error == ("not sent: connection 'gone' does not exist any more; create it, or choose another")


async def test_secret_that_cannot_be_decrypted_sends_nothing(world: World) -> None:
    async with Gateway(plain) as gate:
        made = await world.connect(gate.url(), auth=Auth.HEADER, header="X-Api-Key", secret="very-secret-key")
        moved = replace(made, id="con_other", name="other")
        await world.stores.connections.add_connection(moved, Event(EventType.CONNECTION_CREATED, START, TENANT))
        outcome = await world.caller().call(through(gate.url("/"), "other"))

    assert short(outcome) == ("blocked", "secret")
    assert gate.seen == []


@pytest.mark.parametrize(
    "fields",
    [
        {"auth": Auth.AWS, "access_key_id": "ключ", "region": "é", "service": "s\u2028", "secret": "ключ"},
        {"auth": Auth.DIGEST, "username": "ключ", "secret": "\u2028"},
        {"auth": Auth.BASIC, "username": "ключ", "secret": "\u2028"},
    ],
)
async def test_credentials_beyond_ascii_are_sent_or_refused_and_never_raise(
    fields: dict[str, Any], world: World
) -> None:
    async with Gateway(plain) as gate:
        await world.connect(gate.url(), **fields)
        outcome = await world.caller().call(through(gate.url("/")))

    assert outcome.error_code != "internal"

"""Calls of kind `queue` against real brokers and hostile ones."""

import asyncio
import json
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import nats
import pytest

from mainspring.domain.access.sealing import header_place
from mainspring.domain.errors import InvalidInput
from mainspring.domain.kinds.kind import CallPolicy
from mainspring.domain.kinds.queue import PASSWORD, QueueAction, QueueKind, read_broker
from mainspring.domain.run import Header, Outcome, Request, RunStatus
from mainspring.outbound.guard import AddressGuard
from mainspring.outbound.kinds.dial import REPLIES_MAX, Dialer
from mainspring.outbound.kinds.queue import QueueCaller
from mainspring.outbound.vault import AesVault
from tests.harness.loop_watch import LoopWatch
from tests.harness.nats import NatsServer
from tests.harness.valkey import Valkey
from tests.outbound.conftest import LOOPBACK, PATIENCE_MS, SLOT_AT
from tests.peers.certificate import make_tls
from tests.peers.talker import Talk, Talker, close, drip, flood, hang, reset

NOW = datetime.now(UTC)
DEADLINE_MS = 400
SLOT = "ep_1_1893499199500000"
BROKERS = ("redis", "nats", "amqp")


@pytest.fixture
def valkey() -> Iterator[Valkey]:
    with Valkey() as running:
        yield running


@pytest.fixture
def nats_server(tmp_path: Path) -> Iterator[NatsServer]:
    with NatsServer(tmp_path) as running:
        yield running


async def call(
    action: QueueAction,
    vault: AesVault,
    slot_id: str = SLOT,
    guard: AddressGuard = LOOPBACK,
    ca_file: str | None = None,
) -> Outcome:
    caller = QueueCaller(Dialer(guard, clock=lambda: NOW, ca_file=ca_file), vault)
    checked = QueueKind().check(action, CallPolicy())
    async with asyncio.timeout(20):
        return await caller.call(Request("tn_1", "ep_1", slot_id, SLOT_AT, 1, checked))


def to(url: str, **fields: Any) -> QueueAction:
    return QueueAction(url, "orders", **{"body": "hello", "timeout_ms": PATIENCE_MS, **fields})


def sealed(vault: AesVault, value: str) -> Header:
    return Header(PASSWORD, vault.seal(value, header_place("tn_1", "ep_1", PASSWORD)), secret=True)


def facts(outcome: Outcome) -> Any:
    assert outcome.body is not None, outcome
    return json.loads(outcome.body.data)


def verdict(outcome: Outcome) -> tuple[RunStatus, str | None]:
    return outcome.status, outcome.error_code


async def test_stream_of_redis_gets_one_entry_for_one_slot(valkey: Valkey, vault: AesVault) -> None:
    action = to(f"redis://127.0.0.1:{valkey.port}", headers=(Header("trace", "7"),), condition="body.confirmed")
    first = await call(action, vault)
    again = await call(action, vault)
    next_slot = await call(action, vault, "ep_1_2")

    assert verdict(first) == (RunStatus.SUCCESS, None), first.error
    assert [facts(each)["duplicate"] for each in (first, again, next_slot)] == [False, True, False]
    assert facts(again)["message_id"] == facts(first)["message_id"]
    assert valkey.say("XLEN", "orders") == b":2\r\n"
    entry = valkey.say("XRANGE", "orders", "-", "+", "COUNT", "1").split(b"\r\n")
    assert [each for each in entry if each.isalnum() or b"_" in each] == [
        b"body", b"hello", b"slot", SLOT.encode(), b"trace", b"7",
    ]  # fmt: skip
    assert first.phases is not None
    assert first.phases.first_byte_us > first.phases.connect_us > 0


async def test_list_of_redis_gets_one_element_for_one_slot(valkey: Valkey, vault: AesVault) -> None:
    action = to(f"redis://127.0.0.1:{valkey.port}/3", structure="list")
    outcomes = [await call(action, vault) for _ in range(2)]

    assert [facts(each)["duplicate"] for each in outcomes] == [False, True]
    assert facts(outcomes[0])["message_id"] == SLOT
    assert valkey.say("LRANGE", "orders", "0", "-1") == b"*0\r\n", "it is in another database"


async def test_redis_with_a_password_takes_it_and_refuses_another(valkey: Valkey, vault: AesVault) -> None:
    valkey.say("CONFIG", "SET", "requirepass", "correct horse")
    url = f"redis://127.0.0.1:{valkey.port}"
    known = await call(to(url, headers=(sealed(vault, "correct horse"),)), vault)
    unknown = await call(to(url, headers=(sealed(vault, "battery staple"),)), vault)

    assert verdict(known) == (RunStatus.SUCCESS, None), known.error
    assert verdict(unknown) == (RunStatus.FAILURE, "refused")
    assert "staple" not in (unknown.error or "")


async def test_destination_of_another_type_is_refused_by_the_broker(valkey: Valkey, vault: AesVault) -> None:
    valkey.say("SET", "orders", "text")
    outcome = await call(to(f"redis://127.0.0.1:{valkey.port}"), vault)

    assert verdict(outcome) == (RunStatus.FAILURE, "refused")
    assert "WRONGTYPE" in (outcome.error or "")
    assert facts(outcome) == {"confirmed": False, "message_id": None, "duplicate": False}


async def test_broker_that_was_killed_and_started_again_is_published_to(valkey: Valkey, vault: AesVault) -> None:
    action = to(f"redis://127.0.0.1:{valkey.port}")
    valkey.kill()
    down = await call(action, vault)
    valkey.start()
    up = await call(action, vault)

    assert verdict(down) == (RunStatus.FAILURE, "connect")
    assert verdict(up) == (RunStatus.SUCCESS, None)


async def test_jetstream_stores_one_message_for_one_slot(nats_server: NatsServer, vault: AesVault) -> None:
    url = f"nats://127.0.0.1:{nats_server.port}"
    client = await nats.connect(url)
    await client.jetstream().add_stream(name="ORDERS", subjects=["orders"])
    action = to(url, headers=(Header("Trace", "7"),))
    first = await call(action, vault)
    again = await call(action, vault)
    message = await client.jetstream().get_msg("ORDERS", 1)
    await client.close()

    assert facts(first) == {
        "confirmed": True, "message_id": SLOT, "duplicate": False, "stream": "ORDERS", "sequence": 1,
    }  # fmt: skip
    assert facts(again) == facts(first) | {"duplicate": True}
    assert (message.data, message.headers) == (b"hello", {"Trace": "7", "Nats-Msg-Id": SLOT})


async def test_subject_without_a_stream_is_not_a_success(nats_server: NatsServer, vault: AesVault) -> None:
    outcome = await call(to(f"nats://127.0.0.1:{nats_server.port}"), vault)

    assert verdict(outcome) == (RunStatus.FAILURE, "refused")
    assert outcome.error == "no stream stores the subject 'orders'; create one"


async def test_nats_with_a_password_over_tls(tmp_path: Path, vault: AesVault) -> None:
    _, certificate = make_tls(tmp_path, NOW)
    key = str(tmp_path / "peer.key")
    options = ("--user", "ann", "--pass", "correct", "--tls", "--tlscert", certificate, "--tlskey", key)
    with NatsServer(tmp_path / "data", *options) as server:
        url = f"127.0.0.1:{server.port}"
        known = to(f"tls://{url}", username="ann", headers=(sealed(vault, "correct"),))
        trusted = await call(known, vault, ca_file=certificate)
        untrusted = await call(known, vault)
        wrong = to(f"tls://{url}", username="ann", headers=(sealed(vault, "another"),))
        unknown = await call(wrong, vault, ca_file=certificate)
        clear = await call(to(f"nats://{url}", username="ann", headers=(sealed(vault, "correct"),)), vault)

    assert verdict(trusted) == (RunStatus.FAILURE, "refused"), trusted.error
    assert "no stream" in (trusted.error or "")
    assert (untrusted.error_code, clear.error_code) == ("tls", "tls")
    assert verdict(unknown) == (RunStatus.FAILURE, "refused")


async def test_password_is_not_sent_to_a_broker_that_drops_tls(vault: AesVault) -> None:
    heard = bytearray()

    async def strips_tls(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b'INFO {"server_id":"x","auth_required":true}\r\n')
        heard.extend(await reader.read())

    async with Talker(strips_tls) as peer:
        url = f"tls://127.0.0.1:{peer.port}"
        outcome = await call(to(url, username="ann", headers=(sealed(vault, "correct"),)), vault)

    assert verdict(outcome) == (RunStatus.FAILURE, "tls")
    assert heard == b""


async def test_servers_that_a_broker_names_are_not_connected_to(vault: AesVault) -> None:
    async with Talker(hang) as other:

        async def names_others(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b'INFO {"server_id":"x","connect_urls":["127.0.0.1:%d"]}\r\n' % other.port)
            await reader.readline()
            writer.close()

        async with Talker(names_others) as peer:
            outcome = await call(to(f"nats://127.0.0.1:{peer.port}", timeout_ms=3_000), vault)

        assert outcome.status is RunStatus.FAILURE
        assert other.connections == 0


async def test_redirect_of_a_cluster_is_a_refusal(vault: AesVault) -> None:
    async with Talker(hang) as other:

        async def moves(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while said := await reader.read(65_536):
                commands = said.count(b"SETINFO") + said.count(b"EVAL")
                writer.write(b"-MOVED 1 127.0.0.1:%d\r\n" % other.port * commands)

        async with Talker(moves) as peer:
            outcome = await call(to(f"redis://127.0.0.1:{peer.port}", timeout_ms=3_000), vault)

        assert verdict(outcome) == (RunStatus.FAILURE, "refused")
        assert other.connections == 0


async def garbage(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(bytes(range(256)) * 40)
    await reader.read()


async def huge_reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A Redis text, and for others nonsense, of more bytes than a machine has."""
    writer.write(b"$99999999999\r\n")
    await flood(reader, writer)


@pytest.mark.parametrize("scheme", BROKERS)
@pytest.mark.parametrize("talk", [garbage, huge_reply, flood, drip, hang, close, reset])
async def test_hostile_broker_is_a_failed_run_within_the_deadline(scheme: str, talk: Talk, vault: AesVault) -> None:
    before = asyncio.all_tasks()
    async with Talker(talk) as peer:
        outcome = await call(to(f"{scheme}://127.0.0.1:{peer.port}", timeout_ms=DEADLINE_MS), vault)

    assert outcome.status in (RunStatus.FAILURE, RunStatus.TIMEOUT), outcome
    assert outcome.duration_ms < DEADLINE_MS + 3_000
    assert outcome.error_code in ("deadline", "closed", "unexpected", "refused"), outcome
    assert not facts(outcome)["confirmed"]
    left = asyncio.all_tasks() - before
    if left:
        await asyncio.wait(left, timeout=10)
    assert all(each.done() for each in left), left


async def test_what_a_broker_sends_is_capped(vault: AesVault) -> None:
    async with Talker(huge_reply) as peer:
        outcome = await call(to(f"redis://127.0.0.1:{peer.port}", timeout_ms=PATIENCE_MS), vault)

    assert verdict(outcome) == (RunStatus.FAILURE, "unexpected")
    assert REPLIES_MAX == 1_000_000


@pytest.mark.parametrize("scheme", BROKERS)
async def test_address_guard_refuses_a_forbidden_broker(scheme: str, vault: AesVault) -> None:
    async with Talker(hang) as peer:
        outcome = await call(to(f"{scheme}://127.0.0.1:{peer.port}"), vault, guard=AddressGuard())

        assert verdict(outcome) == (RunStatus.BLOCKED, "blocked_address")
        assert peer.connections == 0


async def test_certificate_of_a_broker_must_be_valid(tmp_path: Path, vault: AesVault) -> None:
    context: ssl.SSLContext
    context, _ = make_tls(tmp_path, NOW)
    async with Talker(hang, context) as peer:
        outcomes = [await call(to(f"{each}://127.0.0.1:{peer.port}"), vault) for each in ("rediss", "amqps")]

    assert [each.error_code for each in outcomes] == ["tls", "tls"]


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://example.com", "has no scheme of a broker"),
        ("redis://user:secret@example.com", "give username, and the password as the secret header Broker-Password"),
        ("redis://example.com/orders", "not the number of a database"),
        ("nats://example.com/orders", "which NATS does not have"),
        ("nats://example.com?x=1", "has a query string"),
        ("nats://example.com:99999", "is not a URL"),
        ("nats://", "host"),
    ],
)
def test_url_that_is_not_of_a_broker_is_refused(url: str, words: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_broker(url)

    assert words in str(refused.value)
    assert "secret@" not in str(refused.value)


@pytest.mark.parametrize(
    ("action", "field"),
    [
        (QueueAction("nats://example.com", "orders.*"), "destination"),
        (QueueAction("nats://example.com", "orders..x"), "destination"),
        (QueueAction("amqp://example.com", ""), "destination"),
        (QueueAction("nats://example.com", "orders", structure="list"), "structure"),
        (QueueAction("redis://example.com", "orders", exchange="x"), "exchange"),
        (QueueAction("redis://example.com", "orders", structure="list", headers=(Header("a", "b"),)), "headers"),
        (QueueAction("redis://example.com", "orders", headers=(Header("slot", "b"),)), "headers"),
    ],
)
def test_what_a_broker_does_not_have_is_refused(action: QueueAction, field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        QueueKind().check(action, CallPolicy())

    assert refused.value.field == field


async def test_table_of_a_hostile_broker_is_not_decoded(vault: AesVault) -> None:
    """The client needs a second for 64 kB of it, and a minute for a megabyte."""

    async def presents_itself(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(8)
        values = b"V" * 400_000
        table = b"\x01aA" + len(values).to_bytes(4) + values
        payload = bytes((0, 10, 0, 10, 0, 9)) + len(table).to_bytes(4) + table
        payload += b"\0\0\0\5PLAIN\0\0\0\5en_US"
        writer.write(b"\x01\0\0" + len(payload).to_bytes(4) + payload + b"\xce")
        await writer.drain()
        await reader.read()

    async with Talker(presents_itself) as peer, LoopWatch() as watch:
        outcome = await call(to(f"amqp://127.0.0.1:{peer.port}", timeout_ms=PATIENCE_MS), vault)

    assert verdict(outcome) == (RunStatus.FAILURE, "unexpected"), outcome.error
    assert "the broker sent a frame of 400,0" in (outcome.error or "")
    assert watch.longest_s < 0.1

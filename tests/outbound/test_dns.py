"""Calls of kind `dns` against a real name server, good and hostile."""

import asyncio
import json
import struct
import time
from typing import Any

import dns.message
import dns.rrset
import pytest

from mainspring.domain.kinds.dns import AnswersMatch, DnsAction, RecordType
from mainspring.domain.run import Outcome, Request, RunStatus
from mainspring.outbound.guard import AddressGuard
from mainspring.outbound.kinds.dial import Dialer
from mainspring.outbound.kinds.dns import DnsCaller
from tests.harness.loop_watch import LoopWatch
from tests.outbound.conftest import LOOPBACK, NOW, SLOT_AT
from tests.peers.name_server import Answer, NameServer, zone

RECORDS = {
    ("example.com", "A"): ["192.0.2.7", "192.0.2.8"],
    ("example.com", "AAAA"): ["2001:db8::0:1"],
    ("example.com", "MX"): ["10 mail.example.com.", "20 mail2.example.com."],
    ("example.com", "TXT"): ['"v=spf1 " "-all"'],
    ("example.com", "NS"): ["ns1.example.com."],
    ("www.example.com", "CNAME"): ["example.com."],
    ("_sip._tcp.example.com", "SRV"): ["1 2 5060 sip.example.com."],
    ("example.com", "CAA"): ['0 issue "ca.example.net"'],
}
DEADLINE_MS = 300


async def call(action: DnsAction, guard: AddressGuard = LOOPBACK) -> Outcome:
    async with asyncio.timeout(20):
        return await DnsCaller(Dialer(guard, clock=lambda: NOW)).call(
            Request("tn_1", "ep_1", "slot", SLOT_AT, 1, action)
        )


def facts(outcome: Outcome) -> Any:
    assert outcome.body is not None, outcome
    return json.loads(outcome.body.data)


@pytest.mark.parametrize(
    ("host", "record", "answers"),
    [
        ("example.com", "A", ["192.0.2.7", "192.0.2.8"]),
        ("example.com", "AAAA", ["2001:db8::1"]),
        ("example.com", "MX", ["10 mail.example.com", "20 mail2.example.com"]),
        ("example.com", "TXT", ["v=spf1 -all"]),
        ("example.com", "NS", ["ns1.example.com"]),
        ("www.example.com", "CNAME", ["example.com"]),
        ("_sip._tcp.example.com", "SRV", ["1 2 5060 sip.example.com"]),
        ("example.com", "CAA", ["0 issue ca.example.net"]),
    ],
)
async def test_record_of_each_type_is_looked_up(host: str, record: str, answers: list[str]) -> None:
    async with NameServer(zone(RECORDS)) as server:
        outcome = await call(
            DnsAction(
                host,
                RecordType(record),
                f"127.0.0.1:{server.port}",
                tuple(answers),
                AnswersMatch.EXACT,
                condition='body.ttl == 300 && body.rcode == "NOERROR"',
            )
        )

    assert (outcome.status, outcome.error) == (RunStatus.SUCCESS, None)
    assert facts(outcome) == {
        "answers": answers,
        "ttl": 300,
        "rcode": "NOERROR",
        "canonical_name": host,
        "resolver": "127.0.0.1",
    }


@pytest.mark.parametrize(
    ("answers", "match", "error"),
    [
        (("192.0.2.7",), AnswersMatch.ALL, None),
        (("192.0.2.7", "192.0.2.9"), AnswersMatch.ALL, "'192.0.2.9' is not among the answers"),
        (("192.0.2.7",), AnswersMatch.EXACT, "'192.0.2.8' was not expected"),
        (("192.0.2.9", "192.0.2.8"), AnswersMatch.ANY, None),
        (("192.0.2.9",), AnswersMatch.ANY, "none of '192.0.2.9' is among the answers"),
    ],
)
async def test_answers_are_compared_as_asked(answers: tuple[str, ...], match: AnswersMatch, error: str | None) -> None:
    async with NameServer(zone(RECORDS)) as server:
        outcome = await call(
            DnsAction("example.com", resolver=f"127.0.0.1:{server.port}", answers=answers, answers_match=match)
        )

    if error is None:
        assert outcome.status is RunStatus.SUCCESS, outcome.error
    else:
        assert (outcome.status, outcome.error_code) == (RunStatus.FAILURE, "unexpected")
        assert outcome.error == f"{error}; the answers are 192.0.2.7, 192.0.2.8"


def garbage(asked: dns.message.Message) -> bytes:
    return b"\xff" * 40


def other_id(asked: dns.message.Message) -> bytes:
    reply = dns.message.make_response(asked)
    reply.id = asked.id ^ 1
    return reply.to_wire()


@pytest.mark.parametrize(
    ("answer", "host", "codes"),
    [
        pytest.param(zone(RECORDS), "nowhere.example.com", {"nxdomain"}, id="name does not exist"),
        pytest.param(zone(RECORDS), "www.example.com", {"no_answer"}, id="no record of the type"),
        pytest.param(zone(RECORDS, "SERVFAIL"), "example.com", {"dns", "deadline"}, id="server fails"),
        pytest.param(zone(RECORDS, "REFUSED"), "example.com", {"dns", "deadline"}, id="server refuses"),
        pytest.param(lambda asked: None, "example.com", {"deadline"}, id="never answers"),
        pytest.param(garbage, "example.com", {"dns", "deadline"}, id="garbage"),
        pytest.param(other_id, "example.com", {"dns", "deadline"}, id="answer to another question"),
    ],
)
async def test_bad_answer_ends_the_call_within_its_deadline(answer: Answer, host: str, codes: set[str]) -> None:
    async with NameServer(answer) as server:
        outcome = await call(DnsAction(host, resolver=f"127.0.0.1:{server.port}", timeout_ms=DEADLINE_MS))

    assert outcome.error_code in codes, outcome.error
    assert outcome.status in (RunStatus.FAILURE, RunStatus.TIMEOUT)


async def test_answer_that_does_not_fit_is_asked_for_over_tcp() -> None:
    async with NameServer(zone(RECORDS), is_short=True) as server:
        outcome = await call(DnsAction("example.com", resolver=f"127.0.0.1:{server.port}"))

    assert outcome.status is RunStatus.SUCCESS, outcome.error


async def test_answers_are_cut_to_the_cap() -> None:
    many = {("big.example.com", "TXT"): [f'"{number:03d} {"x" * 200}"' for number in range(90)]}
    async with NameServer(zone(many), is_short=True) as server:
        outcome = await call(
            DnsAction("big.example.com", RecordType.TXT, resolver=f"127.0.0.1:{server.port}", body_cap=1_000)
        )

    assert outcome.status is RunStatus.SUCCESS
    assert outcome.body is not None
    assert outcome.body.truncated
    assert len(outcome.body.data) < 1_300


async def test_named_resolver_that_the_guard_refuses_is_not_asked() -> None:
    async with NameServer(zone(RECORDS)) as server:
        outcome = await call(DnsAction("example.com", resolver=f"127.0.0.1:{server.port}"), AddressGuard())

    assert (server.questions, outcome.status, outcome.error_code) == (0, RunStatus.BLOCKED, "blocked_address")


def pointing(asked: dns.message.Message) -> bytes:
    """Hundreds of records whose names are one long name, which each of them points at."""
    head = bytearray(dns.message.make_response(asked).to_wire())
    pointer = (0xC000 | len(head)).to_bytes(2)
    head += b"\x01a" * 126 + b"\0" + struct.pack("!HHIH4s", 1, 1, 300, 4, b"\1\2\3\4")
    count = 4_000
    for number in range(count):
        head += pointer + struct.pack("!HHIH", 2, 1, number, 2) + pointer
    head[6:8] = (count + 1).to_bytes(2)
    return bytes(head)


def unasked(asked: dns.message.Message) -> bytes:
    """Records of a type that was not asked for, whose data points at a long name, and one that was."""
    answer = bytearray(dns.message.make_response(asked).to_wire())
    answer += b"\xc0\x0c" + struct.pack("!HHIH", 17, 1, 300, 254) + b"\x01a" * 126 + b"\0\0"
    pointer = (0xC000 | (len(answer) - 254)).to_bytes(2)
    for _ in range(80):
        answer += b"\xc0\x0c" + struct.pack("!HHIH", 17, 1, 300, 4) + pointer * 2
    answer += b"\xc0\x0c" + struct.pack("!HHIH4s", 1, 1, 300, 4, b"\xc0\0\2\7")
    answer[6:8] = (82).to_bytes(2)
    return bytes(answer)


async def test_answer_whose_names_point_at_a_long_one_holds_nobody_up() -> None:
    async with NameServer(pointing, is_short=True) as server, LoopWatch() as watch:
        before = time.process_time()
        outcome = await call(DnsAction("example.com", RecordType.NS, f"127.0.0.1:{server.port}"))
        spent_s = time.process_time() - before

    assert (outcome.status, outcome.error_code) == (RunStatus.FAILURE, "dns"), outcome.error
    assert "a name of more than 32 labels" in (outcome.error or "")
    assert watch.longest_s < 0.1
    assert spent_s < 1


async def test_records_that_were_not_asked_for_are_not_read() -> None:
    async with NameServer(unasked, is_short=True) as server, LoopWatch() as watch:
        outcome = await call(DnsAction("example.com", RecordType.A, f"127.0.0.1:{server.port}"))

    assert (outcome.status, outcome.error) == (RunStatus.SUCCESS, None)
    assert facts(outcome)["answers"] == ["192.0.2.7"]
    assert watch.longest_s < 0.1


async def test_datagrams_of_a_flood_are_dropped() -> None:
    """Only one answer is kept, and nothing is parsed that does not answer the question."""

    def flooding(asked: dns.message.Message) -> bytes:
        for _ in range(50):
            server.say(other_id(asked))
        return zone(RECORDS)(asked) or b""

    async with NameServer(flooding) as server:
        outcome = await call(DnsAction("example.com", resolver=f"127.0.0.1:{server.port}"))

    assert outcome.status is RunStatus.SUCCESS, outcome.error

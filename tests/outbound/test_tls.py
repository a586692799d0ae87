"""Calls of kind `tls` against real peers, good and hostile."""

import asyncio
import json
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from mainspring.domain.kinds.tls import TlsAction
from mainspring.domain.run import Outcome, Request, RunStatus
from mainspring.outbound.guard import AddressGuard
from mainspring.outbound.kinds.dial import Dialer
from mainspring.outbound.kinds.tls import TlsCaller
from tests.outbound.conftest import LOOPBACK, SLOT_AT
from tests.peers.certificate import make_tls
from tests.peers.talker import Talk, Talker, close, drip, flood, hang, pong, reset

NOW = datetime.now(UTC)  # certificates are verified by the machine's clock
DEADLINE_MS = 300


@pytest.fixture
def peer_tls(tmp_path: Path) -> tuple[ssl.SSLContext, str]:
    return make_tls(tmp_path, NOW)


async def call(action: TlsAction, ca_file: str | None = None, guard: AddressGuard = LOOPBACK) -> Outcome:
    caller = TlsCaller(Dialer(guard, clock=lambda: NOW, ca_file=ca_file))
    async with asyncio.timeout(20):
        return await caller.call(Request("tn_1", "ep_1", "slot", SLOT_AT, 1, action))


def facts(outcome: Outcome) -> Any:
    assert outcome.body is not None, outcome
    return json.loads(outcome.body.data)


async def test_valid_chain_is_a_success_with_the_facts_of_its_certificate(
    peer_tls: tuple[ssl.SSLContext, str],
) -> None:
    context, ca_file = peer_tls
    async with Talker(hang, context) as peer:
        outcome = await call(
            TlsAction("127.0.0.1", peer.port, warn_days=0, condition="body.days_left == 0 && body.chain_error == null"),
            ca_file,
        )

    found = facts(outcome)
    assert (outcome.status, outcome.error) == (RunStatus.SUCCESS, None)
    assert (found["issuer"], found["names"]) == ("CN=mainspring test peer", ["127.0.0.1"])
    assert [each["subject"] for each in found["chain"]] == ["CN=mainspring test peer"]
    assert outcome.phases is not None
    assert outcome.phases.tls_us > outcome.phases.connect_us


async def test_certificate_that_expires_soon_warns_and_then_fails(peer_tls: tuple[ssl.SSLContext, str]) -> None:
    context, ca_file = peer_tls
    async with Talker(hang, context) as peer:
        warned = await call(TlsAction("127.0.0.1", peer.port, warn_days=14), ca_file)
        failed = await call(TlsAction("127.0.0.1", peer.port, warn_days=14, fail_days=7), ca_file)

    assert (warned.status, warned.error_code) == (RunStatus.SUCCESS, "certificate_expiring")
    assert warned.error == "the certificate expires in 0 days; renew it"
    assert (failed.status, failed.error_code) == (RunStatus.FAILURE, "certificate_expiring")
    assert failed.error == "the certificate expires in 0 days; at least 7 must be left"


async def test_refused_chain_fails_and_is_read_all_the_same(peer_tls: tuple[ssl.SSLContext, str]) -> None:
    context, _ = peer_tls
    async with Talker(hang, context) as peer:
        refused = await call(TlsAction("127.0.0.1", peer.port))
        tolerated = await call(TlsAction("127.0.0.1", peer.port, verify=False, warn_days=0))

    assert (refused.status, refused.error_code) == (RunStatus.FAILURE, "tls")
    assert "self-signed" in facts(refused)["chain_error"] or "self signed" in facts(refused)["chain_error"]
    assert (tolerated.status, facts(tolerated)["days_left"]) == (RunStatus.SUCCESS, 0)


async def test_certificate_for_another_name_is_refused(peer_tls: tuple[ssl.SSLContext, str]) -> None:
    context, ca_file = peer_tls
    async with Talker(hang, context) as peer:
        outcome = await call(TlsAction("127.0.0.1", peer.port, server_name="www.example.com"), ca_file)

    assert outcome.error_code == "tls"
    assert "www.example.com" in facts(outcome)["chain_error"]


async def test_expired_certificate_is_told_by_its_days(tmp_path: Path) -> None:
    context, ca_file = make_tls(tmp_path, NOW - timedelta(days=3))
    async with Talker(hang, context) as peer:
        outcome = await call(TlsAction("127.0.0.1", peer.port), ca_file)

    assert (outcome.status, outcome.error_code) == (RunStatus.FAILURE, "certificate_expiring")
    assert outcome.error == "the certificate expired 3 days ago; at least 0 must be left"


@pytest.mark.parametrize(
    ("talk", "code"),
    [
        pytest.param(hang, "deadline", id="never answers"),
        pytest.param(close, "tls", id="closes at once"),
        pytest.param(reset, "tls", id="resets"),
        pytest.param(drip, "tls", id="drips garbage"),
        pytest.param(flood, "tls", id="floods"),
        pytest.param(pong, "tls", id="speaks something else"),
    ],
)
async def test_hostile_peer_ends_the_call(talk: Talk, code: str) -> None:
    async with Talker(talk) as peer:
        timeout_ms = DEADLINE_MS if code == "deadline" else 15_000
        outcome = await call(TlsAction("127.0.0.1", peer.port, timeout_ms=timeout_ms))

    assert outcome.error_code == code, outcome.error
    assert outcome.status in (RunStatus.FAILURE, RunStatus.TIMEOUT)


async def test_forbidden_address_is_not_called() -> None:
    async with Talker(hang) as peer:
        outcome = await call(TlsAction("127.0.0.1", peer.port), guard=AddressGuard())

    assert (peer.connections, outcome.status, outcome.error_code) == (0, RunStatus.BLOCKED, "blocked_address")

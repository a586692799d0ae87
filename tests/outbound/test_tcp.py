"""Calls of kind `tcp` against real peers, good and hostile."""

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from mainspring.domain.kinds.tcp import TcpAction
from mainspring.domain.run import Outcome, Request, RunStatus
from mainspring.outbound.guard import AddressGuard
from mainspring.outbound.kinds.dial import Dialer
from mainspring.outbound.kinds.tcp import TcpCaller
from tests.outbound.conftest import LOOPBACK, NOW, SLOT_AT
from tests.peers.certificate import make_tls
from tests.peers.talker import Talk, Talker, close, drip, flood, hang, pong, reset

DEADLINE_MS = 300  # of calls that must reach it


def caller(guard: AddressGuard = LOOPBACK, **options: Any) -> TcpCaller:
    return TcpCaller(Dialer(guard, clock=options.pop("clock", lambda: NOW), **options))


async def call(action: TcpAction, by: TcpCaller | None = None) -> Outcome:
    async with asyncio.timeout(20):
        return await (by or caller()).call(Request("tn_1", "ep_1", "slot", SLOT_AT, 1, action))


def facts(outcome: Outcome) -> Any:
    assert outcome.body is not None
    return json.loads(outcome.body.data)


async def test_open_port_is_a_success_with_its_phases() -> None:
    async with Talker(hang) as peer:
        outcome = await call(TcpAction("127.0.0.1", peer.port))

    assert (outcome.status, outcome.error_code, outcome.address) == (RunStatus.SUCCESS, None, "127.0.0.1")
    assert facts(outcome).keys() == {"connect_ms"}
    assert outcome.phases is not None
    assert 0 < outcome.phases.connect_us <= outcome.phases.total_us


async def test_closed_port_is_a_failure_to_connect() -> None:
    async with Talker(hang) as peer:
        port = peer.port

    outcome = await call(TcpAction("127.0.0.1", port))

    assert (outcome.status, outcome.error_code) == (RunStatus.FAILURE, "connect")
    assert outcome.error == f"could not connect to 127.0.0.1:{port}: connection refused"


async def test_sent_text_gets_the_expected_answer() -> None:
    async with Talker(pong) as peer:
        outcome = await call(TcpAction("127.0.0.1", peer.port, send=r"PING\r\n", expect=r"+PONG\r\n"))

    assert outcome.status is RunStatus.SUCCESS, outcome.error
    assert facts(outcome)["banner"].endswith("+PONG\r\n")
    assert outcome.phases is not None
    assert outcome.phases.first_byte_us >= outcome.phases.connect_us


async def test_banner_is_read_and_judged_by_a_condition() -> None:
    async with Talker(pong) as peer:
        good = await call(
            TcpAction("127.0.0.1", peer.port, read=True, condition='body.banner.startsWith("HELLO") && body.bytes > 3')
        )
        bad = await call(TcpAction("127.0.0.1", peer.port, read=True, condition='body.banner == "x"'))

    assert good.status is RunStatus.SUCCESS, good.error
    assert (bad.status, bad.error_code) == (RunStatus.FAILURE, "condition")


@pytest.mark.parametrize(
    ("talk", "status", "code"),
    [
        pytest.param(hang, RunStatus.TIMEOUT, "deadline", id="never answers"),
        pytest.param(close, RunStatus.FAILURE, "closed", id="closes at once"),
        pytest.param(reset, RunStatus.FAILURE, "closed", id="resets"),
        pytest.param(drip, RunStatus.TIMEOUT, "deadline", id="drips"),
        pytest.param(flood, RunStatus.FAILURE, "unexpected", id="floods"),
        pytest.param(pong, RunStatus.TIMEOUT, "deadline", id="answers otherwise"),
    ],
)
async def test_hostile_peer_ends_the_call_within_its_deadline_and_cap(
    talk: Talk, status: RunStatus, code: str, open_sockets: Callable[[], int]
) -> None:
    before = open_sockets()
    timeout_ms = DEADLINE_MS if code == "deadline" else 15_000
    async with Talker(talk) as peer:
        outcome = await call(
            TcpAction("127.0.0.1", peer.port, expect="welcome", timeout_ms=timeout_ms, body_cap=10_000)
        )

    assert (outcome.status, outcome.error_code) == (status, code), outcome.error
    assert outcome.body is not None
    assert len(outcome.body.data) < 11_000
    await asyncio.sleep(0)
    assert open_sockets() <= before


async def test_deadline_tells_what_was_heard_so_far() -> None:
    async with Talker(pong) as peer:
        outcome = await call(TcpAction("127.0.0.1", peer.port, expect="welcome", timeout_ms=DEADLINE_MS))

    assert outcome.error == f"no end within {DEADLINE_MS} ms: waited for 'welcome'"
    assert facts(outcome)["banner"] == "HELLO 1.0\r\n"


async def test_forbidden_address_is_not_called() -> None:
    async with Talker(hang) as peer:
        direct = await call(TcpAction("127.0.0.1", peer.port), caller(AddressGuard()))
        by_name = await call(
            TcpAction("inside.example.com", peer.port), caller(AddressGuard(), lookup=lambda name: ("127.0.0.1",))
        )
        own = AddressGuard((*LOOPBACK._allow_v4,), own=frozenset({("127.0.0.1", peer.port)}))
        ours = await call(TcpAction("127.0.0.1", peer.port), caller(own))

    assert peer.connections == 0
    for outcome in (direct, by_name, ours):
        assert (outcome.status, outcome.error_code) == (RunStatus.BLOCKED, "blocked_address")
    assert "MAINSPRING_ALLOW_CIDRS" in str(direct.error)


async def test_name_with_a_refused_and_a_good_address_is_called_at_the_good_one() -> None:
    async with Talker(hang) as peer:
        outcome = await call(
            TcpAction("both.example.com", peer.port), caller(lookup=lambda name: ("10.0.0.1", "127.0.0.1"))
        )

    assert (outcome.status, outcome.address) == (RunStatus.SUCCESS, "127.0.0.1")


async def test_name_that_cannot_be_resolved_is_a_dns_failure() -> None:
    def nowhere(name: str) -> tuple[str, ...]:
        raise OSError(-2, "Name or service not known")

    outcome = await call(TcpAction("no.example.com", 1), caller(lookup=nowhere))

    assert (outcome.status, outcome.error_code) == (RunStatus.FAILURE, "dns")
    assert outcome.error == "no.example.com could not be resolved: Name or service not known"


async def test_connection_over_tls_shows_the_certificate(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    context, ca_file = make_tls(tmp_path, now)
    async with Talker(pong, context) as peer:
        action = TcpAction("127.0.0.1", peer.port, tls=True, expect="HELLO", condition="body.tls.days_left == 0")
        trusted = await call(action, caller(clock=lambda: now, ca_file=ca_file))
        refused = await call(action)

    assert trusted.status is RunStatus.SUCCESS, trusted.error
    assert facts(trusted)["tls"]["names"] == ["127.0.0.1"]
    assert (refused.status, refused.error_code) == (RunStatus.FAILURE, "tls")
    assert "certificate is refused" in str(refused.error)


async def test_tls_with_a_peer_that_speaks_something_else_fails() -> None:
    async with Talker(pong) as peer:
        outcome = await call(TcpAction("127.0.0.1", peer.port, tls=True))

    assert (outcome.status, outcome.error_code) == (RunStatus.FAILURE, "tls")


async def test_hanging_peers_delay_no_other_call() -> None:
    """One bad endpoint hurts nobody else."""
    async with Talker(hang) as bad, Talker(pong) as good:
        by = caller()
        hanging = [
            asyncio.create_task(call(TcpAction("127.0.0.1", bad.port, expect="x", timeout_ms=10_000), by))
            for _ in range(50)
        ]
        outcome = await call(TcpAction("127.0.0.1", good.port, expect="HELLO"), by)
        for task in hanging:
            task.cancel()
        await asyncio.gather(*hanging, return_exceptions=True)

    assert outcome.status is RunStatus.SUCCESS
    assert outcome.duration_ms < 5_000

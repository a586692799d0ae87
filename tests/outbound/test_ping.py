"""Calls of kind `ping`: a real peer in a network namespace, and scripted ones that misbehave."""

import asyncio
import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from mainspring.domain.kinds.ping import PingAction
from mainspring.domain.run import Outcome, Request, RunStatus
from mainspring.outbound.guard import AddressGuard
from mainspring.outbound.kinds.dial import Dialer
from mainspring.outbound.kinds.ping import OpenSocket, PingCaller
from tests.outbound.conftest import LOOPBACK, NOW, SLOT_AT

Peer = Callable[[bytes], list[bytes]]  # the answers to one request


@contextmanager
def scripted(peer: Peer) -> Iterator[OpenSocket]:
    """A socket whose other end answers as `peer` says."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    for each in (ours, theirs):
        each.setblocking(False)
    loop = asyncio.get_running_loop()

    def serve() -> None:
        for answer in peer(theirs.recv(2_048)):
            try:
                theirs.send(answer)
            except OSError:
                return

    loop.add_reader(theirs.fileno(), serve)
    try:
        yield lambda address: ours
    finally:
        loop.remove_reader(theirs.fileno())
        theirs.close()
        ours.close()


async def call(peer: Peer, **fields: Any) -> Outcome:
    with scripted(peer) as opened:
        caller = PingCaller(Dialer(LOOPBACK, clock=lambda: NOW), opened)
        action = PingAction("127.0.0.1", spacing_ms=100, **fields)
        async with asyncio.timeout(20):
            return await caller.call(Request("tn_1", "ep_1", "slot", SLOT_AT, 1, action))


def facts(outcome: Outcome) -> Any:
    assert outcome.body is not None, outcome
    return json.loads(outcome.body.data)


def reply(packet: bytes) -> bytes:
    return b"\x00" + packet[1:]


async def test_answers_are_measured() -> None:
    outcome = await call(lambda packet: [reply(packet)], condition="body.loss == 0.0 && body.rtt_max_ms >= 0.0")

    found = facts(outcome)
    assert (outcome.status, outcome.error) == (RunStatus.SUCCESS, None)
    assert (found["sent"], found["received"], found["loss"]) == (3, 3, 0.0)
    assert len([each for each in found["rtts_ms"] if each is not None]) == 3


async def test_lost_requests_are_a_failure_above_the_limit() -> None:
    def answers_once(packet: bytes) -> list[bytes]:
        return [reply(packet)] if packet[6:8] == b"\x00\x00" else []

    strict = await call(answers_once, timeout_ms=700)
    lenient = await call(answers_once, timeout_ms=700, max_loss=70)

    assert (strict.status, strict.error_code) == (RunStatus.FAILURE, "loss")
    assert strict.error == "1 of 3 requests were answered; at most 50 % may be lost"
    assert (lenient.status, facts(lenient)["loss"]) == (RunStatus.SUCCESS, 66.7)


@pytest.mark.parametrize(
    "peer",
    [
        pytest.param(lambda packet: [], id="never answers"),
        pytest.param(lambda packet: [b"", b"\xff" * 60, b"\x45" * 28], id="garbage"),
        pytest.param(lambda packet: [reply(packet)[:8] + b"x" * 16], id="answers for another call"),
        pytest.param(lambda packet: [packet], id="echoes the request itself"),
        pytest.param(lambda packet: [b"\x00" + b"noise" * 40] * 200, id="floods"),
    ],
)
async def test_what_is_no_answer_is_a_lost_request(peer: Peer) -> None:
    outcome = await call(peer, timeout_ms=600)

    assert (outcome.status, outcome.error_code) == (RunStatus.FAILURE, "no_reply"), outcome.error
    assert facts(outcome)["loss"] == 100.0
    assert outcome.duration_ms < 5_000


async def test_duplicate_answers_count_once() -> None:
    outcome = await call(lambda packet: [reply(packet)] * 5)

    assert facts(outcome)["received"] == 3


async def test_system_that_does_not_allow_it_is_named_with_its_setting() -> None:
    def refuse(address: str) -> socket.socket:
        raise PermissionError(13, "Permission denied")

    caller = PingCaller(Dialer(LOOPBACK, clock=lambda: NOW), refuse)
    outcome = await caller.call(Request("tn_1", "ep_1", "slot", SLOT_AT, 1, PingAction("127.0.0.1")))

    assert (outcome.status, outcome.error_code) == (RunStatus.BLOCKED, "unsupported")
    assert "net.ipv4.ping_group_range" in str(outcome.error)


async def test_forbidden_address_is_not_called() -> None:
    def never(address: str) -> socket.socket:
        raise AssertionError

    caller = PingCaller(Dialer(AddressGuard(), clock=lambda: NOW), never)
    outcome = await caller.call(Request("tn_1", "ep_1", "slot", SLOT_AT, 1, PingAction("127.0.0.1")))

    assert (outcome.status, outcome.error_code) == (RunStatus.BLOCKED, "blocked_address")


def test_real_host_is_pinged_over_both_protocols() -> None:
    if not sys.platform.startswith("linux") or shutil.which("unshare") is None or shutil.which("ip") is None:
        pytest.skip("needs unshare and ip")
    ran = subprocess.run(
        ["unshare", "-n", sys.executable, "-m", "tests.outbound.ping_probe"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if ran.returncode and ("unshare" in ran.stderr or "Permission" in ran.stderr or "Read-only" in ran.stderr):
        pytest.skip("no network namespace here")
    outcomes = [json.loads(line) for line in ran.stdout.splitlines()]

    assert [(each["status"], each["error_code"]) for each in outcomes] == [
        ("success", None),
        ("success", None),
        ("failure", "no_reply" if outcomes[2]["error_code"] == "no_reply" else "connect"),
    ], ran.stderr

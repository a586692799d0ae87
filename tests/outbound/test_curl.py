"""The wire: connections are kept, counted, closed when their call ends early, and never watched for nothing."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pycurl import POLL_IN, POLL_OUT, POLL_REMOVE

from mainspring.domain.run import RunStatus
from mainspring.outbound.curl import ENTRIES_MAX, CurlMulti, Transfer
from mainspring.outbound.http import HttpCaller
from mainspring.outbound.sockets import EpollSockets, LoopSockets
from mainspring.outbound.vault import AesVault
from tests.outbound.conftest import LOOPBACK, NOW, PATIENCE_MS, request_to
from tests.peers.certificate import make_tls
from tests.peers.hostile import OK_BODY, HostilePeer

Watcher = type[EpollSockets] | type[LoopSockets]
both_watchers = pytest.mark.parametrize("watcher", [EpollSockets, LoopSockets])


async def test_a_cancelled_call_closes_its_socket(peer: HostilePeer, caller: HttpCaller) -> None:
    task = asyncio.create_task(caller.call(request_to(peer.url("/hang"), timeout_ms=60_000)))
    async with asyncio.timeout(60):
        await peer.arrived.wait()

    task.cancel()

    async with asyncio.timeout(60):
        await peer.hung_up.wait()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("path", ["/hang-after-head", "/drip", "/endless", "/continue/endless?every_ms=10"])
async def test_a_call_cancelled_in_the_middle_of_an_answer_closes_its_socket(
    path: str, peer: HostilePeer, caller: HttpCaller
) -> None:
    task = asyncio.create_task(caller.call(request_to(peer.url(path), timeout_ms=60_000, body_cap=10**12)))
    async with asyncio.timeout(60):
        await peer.arrived.wait()

    task.cancel()

    async with asyncio.timeout(60):
        await peer.hung_up.wait()


async def test_a_cancelled_call_does_not_spoil_the_handle_for_the_next(peer: HostilePeer, caller: HttpCaller) -> None:
    for _ in range(20):
        peer.arrived.clear()
        task = asyncio.create_task(caller.call(request_to(peer.url("/hang"), timeout_ms=60_000)))
        await peer.arrived.wait()
        task.cancel()
        outcome = await caller.call(request_to(peer.url("/ok")))

        assert outcome.body is not None
        assert outcome.body.data == OK_BODY


async def test_a_call_cancelled_before_it_started_sends_nothing(peer: HostilePeer, caller: HttpCaller) -> None:
    task = asyncio.create_task(caller.call(request_to(peer.url("/ok"))))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await caller.call(request_to(peer.url("/no-content")))

    assert [seen.path for seen in peer.seen] == ["/no-content"]


async def test_closing_the_caller_cancels_its_calls_and_closes_their_sockets(
    peer: HostilePeer, vault: AesVault
) -> None:
    caller = HttpCaller(LOOPBACK, vault, clock=lambda: NOW, connections_max=2)
    big = request_to(peer.url("/hang"), method="POST", body="x" * 100_000, timeout_ms=60_000)
    tasks = [asyncio.create_task(caller.call(big)) for _ in range(3)]  # two in flight, one waiting for a place
    await peer.arrived.wait()

    await caller.aclose()

    async with asyncio.timeout(60):
        results = await asyncio.gather(*tasks, return_exceptions=True)
        await peer.hung_up.wait()
    assert [type(result) for result in results] == [asyncio.CancelledError] * 3
    with pytest.raises(RuntimeError, match="closed"):
        await caller.call(request_to(peer.url("/ok")))


async def test_closing_a_caller_that_never_called_is_harmless(vault: AesVault) -> None:
    await HttpCaller(LOOPBACK, vault, clock=lambda: NOW).aclose()


async def test_a_connection_is_kept_for_the_next_call(peer: HostilePeer, caller: HttpCaller) -> None:
    outcomes = [await caller.call(request_to(peer.url("/ok"))) for _ in range(50)]

    assert {outcome.status for outcome in outcomes} == {RunStatus.SUCCESS}
    assert peer.accepted == 1
    assert [outcome.phases and outcome.phases.connect_us > 0 for outcome in outcomes[:2]] == [True, False]


async def test_a_kept_connection_the_peer_closed_is_replaced(vault: AesVault) -> None:
    caller = HttpCaller(LOOPBACK, vault, clock=lambda: NOW)
    async with HostilePeer() as first:
        port = first.port
        await caller.call(request_to(first.url("/ok")))
    async with HostilePeer(port) as second:
        outcome = await caller.call(request_to(second.url("/ok")))
        await caller.aclose()

    assert outcome.status is RunStatus.SUCCESS
    assert second.accepted == 1


@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
@pytest.mark.parametrize("path", ["/empty", "/reset"])
async def test_a_request_lost_on_a_kept_connection_is_not_sent_again(
    method: str, path: str, peer: HostilePeer, caller: HttpCaller
) -> None:
    await caller.call(request_to(peer.url("/ok"), method=method))

    outcome = await caller.call(request_to(peer.url(path), method=method))

    assert (outcome.status, outcome.error_code) == (RunStatus.FAILURE, "connect")
    assert (outcome.error or "").endswith("before a response: the request may or may not have arrived")
    assert [seen.path for seen in peer.seen] == ["/ok", path]


async def test_names_told_to_libcurl_are_bounded(peer: HostilePeer) -> None:
    wire = CurlMulti(LOOPBACK, user_agent="test", connections_max=2)
    wire._entries = {f"n{number}.example:80": "" for number in range(ENTRIES_MAX)}

    for name in ("a", "b", "a"):
        key = f"{name}.example:{peer.port}"
        code, transfer = await wire.exchange(
            "GET", f"http://{key}/ok", [], None, host_key=key, entry=f"{key}:127.0.0.1", timeout_ms=PATIENCE_MS, cap=100
        )
        wire.release(transfer)
        assert code == 0
    wire.close()

    assert len(wire._entries) == ENTRIES_MAX
    assert "n0.example:80" not in wire._entries


async def test_a_name_told_by_a_call_that_was_cancelled_is_told_again(peer: HostilePeer) -> None:
    wire = CurlMulti(LOOPBACK, user_agent="test", connections_max=2)
    key = f"a.example:{peer.port}"

    def exchange() -> Coroutine[object, object, tuple[int, Transfer]]:
        entry = f"{key}:127.0.0.1"
        return wire.exchange(
            "GET", f"http://{key}/ok", [], None, host_key=key, entry=entry, timeout_ms=PATIENCE_MS, cap=100
        )

    first = asyncio.create_task(exchange())
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    code, _ = await exchange()
    wire.close()

    assert code == 0


async def test_calls_beyond_the_places_wait_and_their_deadline_with_them(peer: HostilePeer, vault: AesVault) -> None:
    caller = HttpCaller(LOOPBACK, vault, clock=lambda: NOW, connections_max=2)

    limit_ms, held_ms = 2_000, 2_200  # who waits for a place has waited longer than its call may take

    held = [asyncio.create_task(caller.call(request_to(peer.url(f"/slow?ms={held_ms}")))) for _ in range(2)]
    await asyncio.sleep(0)
    outcomes = await asyncio.gather(*(caller.call(request_to(peer.url("/ok"), timeout_ms=limit_ms)) for _ in range(8)))
    waited = any(task.done() for task in held)
    outcomes += await asyncio.gather(*held)
    await caller.aclose()

    assert waited
    assert {outcome.status for outcome in outcomes} == {RunStatus.SUCCESS}
    assert max(outcome.duration_ms for outcome in outcomes[:8]) < limit_ms
    assert peer.accepted == 2


async def test_a_call_that_gives_up_waiting_passes_its_place_on(peer: HostilePeer, vault: AesVault) -> None:
    caller = HttpCaller(LOOPBACK, vault, clock=lambda: NOW, connections_max=1)
    holder = asyncio.create_task(caller.call(request_to(peer.url("/slow?ms=50"))))
    await peer.arrived.wait()
    waiting = [asyncio.create_task(caller.call(request_to(peer.url("/ok")))) for _ in range(4)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    await holder
    waiting[1].cancel()  # its place was given to it in this very turn of the loop

    async with asyncio.timeout(60):
        results = await asyncio.gather(*waiting, return_exceptions=True)
    await caller.aclose()

    assert [type(result).__name__ for result in results] == ["CancelledError", "CancelledError", "Outcome", "Outcome"]


@both_watchers
async def test_either_way_of_watching_sockets_carries_many_exchanges(watcher: Watcher, peer: HostilePeer) -> None:
    wire = CurlMulti(LOOPBACK, user_agent="test", connections_max=20, sockets=watcher)

    async def exchange(number: int) -> tuple[int, bytes]:
        body = b"%d" % number * 20_000
        code, transfer = await wire.exchange("POST", peer.url("/echo"), [], body, timeout_ms=PATIENCE_MS, cap=10**6)
        received = bytes(transfer.body)
        wire.release(transfer)
        return code, received

    results = await asyncio.gather(*(exchange(number) for number in range(60)))
    wire.close()

    assert all(code == 0 and (b"%d" % number * 20_000) in body for number, (code, body) in enumerate(results))


@both_watchers
async def test_an_idle_socket_that_becomes_readable_is_watched_no_longer(watcher: Watcher) -> None:
    ours, theirs = socket.socketpair()
    acted: list[int] = []
    turns: list[None] = []
    lost: list[int] = []
    sockets = watcher(
        asyncio.get_running_loop(), lambda fd, bits: acted.append(bits), lambda: turns.append(None), lost.append
    )
    number = ours.fileno()
    sockets.watch(POLL_OUT, number, None, None)
    sockets.watch(POLL_IN, number, None, None)
    sockets.watch(POLL_REMOVE, number, None, None)

    theirs.close()
    for _ in range(20):
        await asyncio.sleep(0)
    sockets.close()
    ours.close()

    assert acted == []
    assert len(turns) <= 2
    assert lost == ([number] if watcher is EpollSockets else [])


async def test_a_socket_closed_by_its_neighbour_in_one_batch_is_passed_over() -> None:
    loop = asyncio.get_running_loop()
    faults: list[object] = []
    loop.set_exception_handler(lambda loop, context: faults.append(context))
    turned = asyncio.Event()
    ours, theirs = zip(*(socket.socketpair() for _ in range(2)), strict=True)
    sockets = EpollSockets(loop, lambda fd, bits: ours[1].close(), turned.set, faults.append)
    for each in ours:
        sockets.watch(POLL_IN, each.fileno(), None, None)
    sockets.watch(POLL_REMOVE, ours[1].fileno(), None, None)

    for each in theirs:
        each.send(b"x")
    async with asyncio.timeout(60):
        await turned.wait()
    sockets.close()
    for each in (*ours, *theirs):
        each.close()

    assert faults == []


@both_watchers
async def test_a_socket_number_used_again_is_watched_again(watcher: Watcher) -> None:
    acted = asyncio.Event()
    sockets = watcher(asyncio.get_running_loop(), lambda fd, bits: acted.set(), lambda: None, lambda fd: None)
    first, other = socket.socketpair()
    number = first.fileno()
    sockets.watch(POLL_IN, number, None, None)
    sockets.watch(POLL_REMOVE, number, None, None)
    first.close()
    second, theirs = socket.socketpair()
    assert second.fileno() == number

    sockets.watch(POLL_IN, number, None, None)
    theirs.send(b"x")

    async with asyncio.timeout(60):
        await acted.wait()
    sockets.close()
    for each in (other, second, theirs):
        each.close()


@pytest.fixture
async def black_hole() -> AsyncIterator[int]:
    """A port whose queue is full: the kernel drops every further SYN."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        fillers = []
        for _ in range(4):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
            fillers.append(filler)
        yield listener.getsockname()[1]
        for filler in fillers:
            filler.close()


async def test_a_connection_that_is_never_accepted_ends_at_the_deadline(black_hole: int, caller: HttpCaller) -> None:
    async with asyncio.timeout(60):
        outcome = await caller.call(request_to(f"http://127.0.0.1:{black_hole}/", timeout_ms=200))

    assert (outcome.status, outcome.error_code) == (RunStatus.TIMEOUT, "deadline")


async def test_a_tls_handshake_that_stalls_ends_at_the_deadline(peer: HostilePeer, caller: HttpCaller) -> None:
    async with asyncio.timeout(60):
        outcome = await caller.call(request_to(f"https://127.0.0.1:{peer.port}/", timeout_ms=200))

    assert (outcome.status, outcome.error_code) == (RunStatus.TIMEOUT, "deadline")


async def test_a_request_that_is_never_read_ends_at_the_deadline(caller: HttpCaller) -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}/"
        async with asyncio.timeout(60):
            larger_than_any_buffer = "x" * 30_000_000
            outcome = await caller.call(request_to(url, method="POST", body=larger_than_any_buffer, timeout_ms=500))

    assert (outcome.status, outcome.error_code) == (RunStatus.TIMEOUT, "deadline")


def real_now() -> datetime:
    """TLS compares certificates with the machine's clock, so these tests must."""
    return datetime.now(UTC)


async def test_tls_is_verified_and_its_session_resumed(tmp_path: Path, vault: AesVault) -> None:
    context, authority = make_tls(tmp_path, real_now())
    caller = HttpCaller(LOOPBACK, vault, clock=real_now, ca_file=authority)
    async with HostilePeer(tls=context) as peer:
        outcomes = [await caller.call(request_to(peer.url("/http/1.0"))) for _ in range(4)]  # closes each time
        await caller.aclose()

    assert [outcome.status for outcome in outcomes] == [RunStatus.SUCCESS] * 4
    assert (peer.accepted, peer.tls_resumed) == (4, 3)
    assert all(outcome.phases and outcome.phases.tls_us > outcome.phases.connect_us for outcome in outcomes)


@pytest.mark.parametrize(
    ("host", "shift", "is_trusted"),
    [("127.0.0.9", timedelta(0), True), ("127.0.0.1", timedelta(days=-30), True), ("127.0.0.1", timedelta(0), False)],
    ids=["for_another_host", "expired", "not_trusted"],
)
async def test_a_bad_certificate_is_a_tls_failure(
    host: str, shift: timedelta, is_trusted: bool, tmp_path: Path, vault: AesVault
) -> None:
    context, authority = make_tls(tmp_path, real_now() + shift, host=host)
    caller = HttpCaller(LOOPBACK, vault, clock=real_now, ca_file=authority if is_trusted else None)
    async with HostilePeer(tls=context) as peer:
        outcome = await caller.call(request_to(peer.url("/ok")))
        await caller.aclose()

    assert (outcome.status, outcome.error_code) == (RunStatus.FAILURE, "tls")
    assert peer.seen == []


def test_the_caller_runs_on_uvloop_too(vault: AesVault) -> None:
    uvloop = pytest.importorskip("uvloop")

    async def go() -> list[RunStatus]:
        caller = HttpCaller(LOOPBACK, vault, clock=lambda: NOW)
        async with HostilePeer() as peer:
            outcomes = await asyncio.gather(*(caller.call(request_to(peer.url("/ok"))) for _ in range(50)))
            late = await caller.call(request_to(peer.url("/hang"), timeout_ms=100))
            await caller.aclose()
        return [*(outcome.status for outcome in outcomes), late.status]

    assert uvloop.run(go()) == [RunStatus.SUCCESS] * 50 + [RunStatus.TIMEOUT]


async def test_deadlines_of_many_calls_are_kept_apart(peer: HostilePeer, caller: HttpCaller) -> None:
    limits = [100, 250, 150, 200, 300, 120, 280]

    outcomes = await asyncio.gather(*(caller.call(request_to(peer.url("/hang"), timeout_ms=limit)) for limit in limits))

    for limit, outcome in zip(limits, outcomes, strict=True):
        assert limit - 5 <= outcome.duration_ms < limit + 20_000
        assert f"within {limit} ms" in (outcome.error or "")


async def test_sockets_return_to_where_they_were(
    peer: HostilePeer, vault: AesVault, open_sockets: Callable[[], int]
) -> None:
    before = open_sockets()
    caller = HttpCaller(LOOPBACK, vault, clock=lambda: NOW)
    paths = ["/ok", "/hang", "/drip", "/endless", "/reset", "/garbage", "/length/short", "/redirect/loop"] * 10
    async with asyncio.timeout(60):
        await asyncio.gather(
            *(caller.call(request_to(peer.url(path), timeout_ms=300, redirects_max=2)) for path in paths)
        )
    await caller.aclose()
    async with asyncio.timeout(60):
        await peer.deserted.wait()

    assert open_sockets() == before

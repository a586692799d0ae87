"""OAuth2 client credentials, against a token server whose tokens expire and are revoked."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from mainspring.domain.connection import Auth
from tests.outbound.connected import TENANT, World, plain, short, through
from tests.peers.gateway import (
    Gateway,
    Reply,
    TokenServer,
)


@pytest.fixture
def server(world: World) -> TokenServer:
    return TokenServer(world.hands.seconds)


@pytest.fixture
def opened(world: World, server: TokenServer) -> Callable[[], AbstractAsyncContextManager[Gateway]]:
    @asynccontextmanager
    async def opened() -> AsyncIterator[Gateway]:
        async with Gateway(server.answer) as gate:
            await world.connect(
                gate.url("/"), auth=Auth.OAUTH2, token_url=gate.url("/token"), client_id="app",
                secret=server.secret, scope="read write",
            )  # fmt: skip
            yield gate

    return opened


async def test_one_token_serves_many_calls_and_is_redacted(
    world: World, server: TokenServer, opened: Callable[[], AbstractAsyncContextManager[Gateway]]
) -> None:
    async with opened() as gate:
        caller = world.caller()
        outcomes = await asyncio.gather(*(caller.call(through(gate.url(f"/{n}"))) for n in range(30)))

    assert {short(outcome) for outcome in outcomes} == {("success", None)}
    assert len(server.issued) == 1
    assert {outcome.body.data for outcome in outcomes if outcome.body} == {b'{"echo":"[redacted]"}'}


async def test_token_is_renewed_before_it_expires_and_no_call_waits(
    world: World, server: TokenServer, opened: Callable[[], AbstractAsyncContextManager[Gateway]]
) -> None:
    async with opened() as gate:
        caller = world.caller()
        await caller.call(through(gate.url("/a")))
        world.hands.move(95)
        before = [call.path for call in gate.seen]
        await caller.call(through(gate.url("/b")))
        async with asyncio.timeout(30):
            await server.second_issued.wait()
        world.hands.move(10)
        after = await caller.call(through(gate.url("/c")))

    assert before == ["/token", "/a"]
    assert short(after) == ("success", None)
    assert server.refused == 0


async def test_expired_and_revoked_tokens_fail_no_call_under_load(
    world: World, server: TokenServer, opened: Callable[[], AbstractAsyncContextManager[Gateway]]
) -> None:
    async with opened() as gate:
        callers = [world.caller(), world.caller()] * 4
        finished = [0] * len(callers)
        found: set[tuple[str, str | None]] = set()
        is_over = asyncio.Event()

        async def load(number: int) -> None:
            while not is_over.is_set():
                found.add(short(await callers[number].call(through(gate.url("/x")))))
                finished[number] += 1
                progress.set()

        async def everyone_went_on() -> None:
            """Every process has made a call that began after the last trouble."""
            before = list(finished)
            while not all(now >= then + 2 for now, then in zip(finished, before, strict=True)):
                progress.clear()
                await progress.wait()

        async def trouble() -> None:
            for step in range(6):
                await everyone_went_on()
                if step % 2:
                    server.revoke_all()
                else:
                    world.hands.move(200)
            await everyone_went_on()
            is_over.set()

        progress = asyncio.Event()
        async with asyncio.timeout(60):
            await asyncio.gather(*(load(number) for number in range(len(callers))), trouble())

    assert found == {("success", None)}
    assert server.refused > 0  # otherwise nothing was tested
    tokens = sum(call.path == "/token" for call in gate.seen)
    assert tokens <= 28  # two processes, seven tokens: one request by those refused, one by those that found it expired


async def test_revoked_token_is_renewed_once_and_a_second_401_is_the_result(
    world: World, server: TokenServer, opened: Callable[[], AbstractAsyncContextManager[Gateway]]
) -> None:
    async with opened() as gate:
        caller = world.caller()
        server.life_s = -1  # the target accepts none of its tokens
        outcome = await caller.call(through(gate.url("/")))

    assert (outcome.status_code, outcome.error_code) == (401, "http_status")
    assert [call.path for call in gate.seen] == ["/token", "/", "/token", "/"]


async def test_another_process_uses_the_shared_token(
    world: World, server: TokenServer, opened: Callable[[], AbstractAsyncContextManager[Gateway]]
) -> None:
    async with opened() as gate:
        first, second = world.caller(), world.caller()
        outcomes = [await first.call(through(gate.url("/a"))), await second.call(through(gate.url("/b")))]
        stored = await world.stores.connections.token(TENANT, "con_door")

    assert [short(outcome) for outcome in outcomes] == [("success", None)] * 2
    assert len(server.issued) == 1
    assert stored is not None
    assert "token-0" not in stored.sealed


async def test_edit_makes_the_token_invalid(
    world: World, server: TokenServer, opened: Callable[[], AbstractAsyncContextManager[Gateway]]
) -> None:
    async with opened() as gate:
        caller = world.caller()
        await caller.call(through(gate.url("/a")))
        made = await world.stores.connections.connection(TENANT, "door")
        assert made is not None
        await world.edit(made, scope="other")
        await caller.call(through(gate.url("/b")))

    assert len(server.issued) == 2


async def test_credentials_go_into_the_body_for_a_server_that_wants_them_there(
    world: World, server: TokenServer, opened: Callable[[], AbstractAsyncContextManager[Gateway]]
) -> None:
    server.in_body = True
    async with opened() as gate:
        outcome = await world.caller().call(through(gate.url("/a")))

    assert short(outcome) == ("success", None)


async def test_wrong_client_is_a_failure_that_shows_no_secret(
    world: World, server: TokenServer, opened: Callable[[], AbstractAsyncContextManager[Gateway]]
) -> None:
    async with opened() as gate:
        server.secret = "another"
        outcome = await world.caller().call(through(gate.url("/a")))

    assert short(outcome) == ("failure", "token")
    assert outcome.error == (
        f"not sent: the token server http://127.0.0.1:{gate.port} gave no token: error 'invalid_client'; "
        "check client_id, secret and scope"
    )


async def test_token_server_that_is_down_does_not_stop_a_valid_token(
    world: World, server: TokenServer, opened: Callable[[], AbstractAsyncContextManager[Gateway]]
) -> None:
    async with opened() as gate:
        caller = world.caller()
        await caller.call(through(gate.url("/a")))
        server.is_down = True
        world.hands.move(95)
        outcomes = [await caller.call(through(gate.url("/b"))) for _ in range(3)]
        world.hands.move(10)
        late = await caller.call(through(gate.url("/c")))

    assert {short(outcome) for outcome in outcomes} == {("success", None)}
    assert short(late) == ("failure", "token")


async def test_token_server_at_a_forbidden_address_is_not_called(world: World) -> None:
    async with Gateway(plain) as gate:
        await world.connect(
            gate.url(), auth=Auth.OAUTH2, token_url="http://169.254.169.254/token", client_id="a", secret="secret-1"
        )
        outcome = await world.caller().call(through(gate.url("/")))

    assert short(outcome) == ("failure", "token")
    assert "metadata" in str(outcome.error)
    assert gate.seen == []


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{}", b"null", b'{"access_token": 5}', b'{"access_token": "a\\nb"}', b"\xff", b"[" * 9_999,
     b'{"access_token": "abc", "token_type": "mac"}', b'{"access_token": "a", "scope": 5}',
     b'{"access_token": "a", "expires_in": 1e999}'],
)  # fmt: skip
async def test_hostile_token_response_is_a_failure(body: bytes, world: World) -> None:
    async with Gateway(lambda call: Reply(200, body)) as gate:
        await world.connect(
            gate.url(), auth=Auth.OAUTH2, token_url=gate.url("/token"), client_id="a", secret="secret-1"
        )
        outcome = await world.caller().call(through(gate.url("/")))

    assert short(outcome) == ("failure", "token")

"""Private authorities, client certificates and minimum versions of connections, against real TLS servers."""

import pytest
from msgspec.structs import replace

from mainspring.domain.run import RunStatus
from tests.outbound.connected import World, plain, short, through
from tests.peers.authority import Authority
from tests.peers.gateway import (
    Gateway,
)


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority("private authority")


@pytest.fixture(scope="module")
def stranger() -> Authority:
    return Authority("another authority")


async def test_private_authority_is_trusted_by_its_connection_only(
    world: World, authority: Authority, stranger: Authority
) -> None:
    async with Gateway(plain, authority.server()) as gate:
        await world.connect(gate.url(), "good", ca=authority.pem)
        await world.connect(gate.url(), "bad", ca=stranger.pem)
        await world.connect(gate.url(), "none")
        caller = world.caller()
        outcomes = [await caller.call(through(gate.url("/"), name)) for name in ("good", "bad", "none", "good")]

    assert [short(outcome) for outcome in outcomes] == [
        ("success", None), ("failure", "tls"), ("failure", "tls"), ("success", None),
    ]  # fmt: skip


async def test_client_certificate_opens_the_door_for_its_connection_only(
    world: World, authority: Authority, stranger: Authority
) -> None:
    certificate, key = authority.client("mainspring")
    wrong, wrong_key = stranger.client("mainspring")
    async with Gateway(plain, authority.server(wants_client=True)) as gate:
        fields = {"ca": authority.pem}
        await world.connect(gate.url(), "good", client_certificate=certificate, client_key=key, **fields)
        await world.connect(gate.url(), "bad", client_certificate=wrong, client_key=wrong_key, **fields)
        await world.connect(gate.url(), "none", **fields)
        caller = world.caller()
        outcomes = [await caller.call(through(gate.url("/"), name)) for name in ("good", "bad", "none", "good")]

    assert [outcome.status for outcome in outcomes] == [
        RunStatus.SUCCESS, RunStatus.FAILURE, RunStatus.FAILURE, RunStatus.SUCCESS,
    ]  # fmt: skip
    assert len(gate.seen) == 2


async def test_minimum_version_refuses_an_older_server(world: World, authority: Authority) -> None:
    async with Gateway(plain, authority.server(tls_max="1.2")) as gate:
        await world.connect(gate.url(), "old", ca=authority.pem)
        await world.connect(gate.url(), "new", ca=authority.pem, tls_min="1.3")
        caller = world.caller()
        outcomes = [await caller.call(through(gate.url("/"), name)) for name in ("old", "new")]

    assert [short(outcome) for outcome in outcomes] == [("success", None), ("failure", "tls")]


async def test_outcome_describes_the_certificate_if_asked(world: World, authority: Authority) -> None:
    async with Gateway(plain, authority.server()) as gate:
        await world.connect(gate.url(), ca=authority.pem)
        asked = replace(through(gate.url("/")), wants_certificate=True)
        outcome = await world.caller().call(asked)

    assert outcome.certificate is not None
    assert "private authority" in outcome.certificate.issuer
    assert outcome.certificate.expires_at == authority.expires_at

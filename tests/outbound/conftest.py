"""A caller that may reach loopback, a hostile peer there, and requests to it."""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from datetime import UTC, datetime
from ipaddress import ip_network
from typing import TYPE_CHECKING

import pytest

from mainspring.domain.endpoint import Tenant
from mainspring.domain.run import Header, HttpAction, Request
from mainspring.outbound.guard import AddressGuard
from mainspring.outbound.http import HttpCaller
from mainspring.outbound.vault import AesVault, KeyRing
from mainspring.wiring.stores import open_stores
from tests.peers.hostile import HostilePeer

if TYPE_CHECKING:
    from tests.outbound.connected import World

NOW = datetime(2030, 1, 1, 12, 0, 0, tzinfo=UTC)
SLOT_AT = datetime(2030, 1, 1, 11, 59, 59, 500_000, tzinfo=UTC)
LOOPBACK = AddressGuard((ip_network("127.0.0.1/32"),))
PATIENCE_MS = (
    30_000  # an answer that ends otherwise is not waited for, and a machine may be ten times as busy as this one
)


def request_to(
    url: str,
    *,
    method: str = "GET",
    headers: tuple[Header, ...] = (),
    body: str | None = None,
    timeout_ms: int = PATIENCE_MS,
    body_cap: int = 100_000,
    redirects_max: int = 0,
    accept_codes: tuple[int, ...] = (),
    condition: str | None = None,
    signing_keys: tuple[str, ...] = (),
    tenant_id: str = "tn_1",
) -> Request:
    action = HttpAction(
        url=url,
        method=method,
        headers=headers,
        body=body,
        timeout_ms=timeout_ms,
        body_cap=body_cap,
        redirects_max=redirects_max,
        accept_codes=accept_codes,
        condition=condition,
    )
    return Request(tenant_id, "ep_1", "ep_1_1893499199500000", SLOT_AT, 2, action, signing_keys)


@pytest.fixture
async def world(vault: AesVault) -> AsyncIterator["World"]:
    from tests.outbound.connected import Hands, World

    hands = Hands()
    async with open_stores("sqlite:///:memory:", clock=hands, inline=True) as stores:
        await stores.endpoints.put_tenant(Tenant("tn_1", "tn_1"))
        made = World(stores, vault, hands)
        yield made
        for caller in made.callers:
            await caller.aclose()


@pytest.fixture
def vault() -> AesVault:
    return AesVault(KeyRing(b"k" * 32))


@pytest.fixture
async def peer() -> AsyncIterator[HostilePeer]:
    async with HostilePeer() as running:
        yield running


@pytest.fixture
async def caller(vault: AesVault) -> AsyncIterator[HttpCaller]:
    caller = HttpCaller(LOOPBACK, vault, clock=lambda: NOW)
    yield caller
    await caller.aclose()


@pytest.fixture
def open_sockets() -> Callable[[], int]:
    """How many sockets this process holds."""

    def count() -> int:
        links = []
        for name in os.listdir("/proc/self/fd"):
            with suppress(FileNotFoundError):  # the directory's own descriptor
                links.append(os.readlink(f"/proc/self/fd/{name}"))
        return sum(link.startswith("socket:") for link in links)

    return count

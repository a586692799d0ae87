"""The attack generators at the API, on both databases: forbidden addresses and hostile responses.

`tests/outbound` shows what a caller makes of them. Here an owner makes endpoints of them and tests these: what cannot
be refused is recorded, nothing is reached, and every way to read what was recorded answers with 200.
"""

import json
from collections.abc import AsyncIterator
from ipaddress import ip_network

import pytest
from fastapi import FastAPI
from httpx2 import AsyncClient

from mainspring.outbound.guard import AddressGuard
from mainspring.outbound.http import HttpCaller
from mainspring.outbound.vault import AesVault, KeyRing
from mainspring.ports.stores import Stores
from tests.api.acting import make
from tests.api.app import client_of, open_app
from tests.outbound.forbidden import BLOCKED_URLS, FORBIDDEN_ADDRESSES, REFUSED_URLS
from tests.outbound.test_forbidden_targets import Canaries, canaries, lookup
from tests.outbound.test_hostile_responses import ROWS
from tests.peers.hostile import HostilePeer
from tests.stores.world import FixedClock

__all__ = ["canaries"]

ALLOWED = "127.0.0.1"  # of all that is forbidden otherwise
ENDPOINT = "/api/v1/endpoints/billing"


@pytest.fixture
async def app(stores: Stores, clock: FixedClock) -> AsyncIterator[FastAPI]:
    guard, vault = AddressGuard((ip_network(ALLOWED),)), AesVault(KeyRing(bytes(32)))
    async with open_app(stores, clock, caller=HttpCaller(guard, vault, clock=clock.now, lookup=lookup)) as made:
        yield made


@pytest.fixture
async def owner(app: FastAPI) -> AsyncIterator[AsyncClient]:
    async with client_of(app) as client:
        yield client


async def test_no_forbidden_address_is_reached_by_an_endpoint(owner: AsyncClient, canaries: Canaries) -> None:
    await make(owner)
    addresses = [f"[{each}]" if ":" in each else each for each in FORBIDDEN_ADDRESSES if each != ALLOWED]
    targets = [f"http://{each}:{canaries.port}/" for each in addresses]
    targets += [each.format(port=canaries.port) for each in (*BLOCKED_URLS.values(), *REFUSED_URLS.values())]
    wrong, recorded = [], 0
    for target in targets:
        content = json.dumps({"url": target})  # half a character too, which httpx would not write
        changed = await owner.patch(ENDPOINT, content=content, headers={"Content-Type": "application/json"})
        if changed.status_code == 422:
            continue
        tested = await owner.post(f"{ENDPOINT}/test")
        recorded += 1
        if (changed.status_code, tested.status_code) != (200, 200) or tested.json()["status"] != "blocked":
            wrong.append((target, changed.text[:200], tested.text[:200]))
    listed = (await owner.get("/api/v1/runs?status=blocked&limit=200")).json()["items"]

    assert wrong == []
    assert canaries.accepted == 0
    assert len(listed) == min(recorded, 200) > 20


async def test_hostile_responses_are_recorded_and_can_be_read(owner: AsyncClient) -> None:
    wrong = []
    async with HostilePeer() as peer:
        await make(owner, url=peer.url("/ok"), timeout="30s", body_cap=100_000)
        for name, row in ROWS.items():
            assert (await owner.patch(ENDPOINT, json={"url": peer.url(row.path)})).status_code == 200
            tested = await owner.post(f"{ENDPOINT}/test", timeout=120)
            run = tested.json()
            expected = (row.status.value, row.error_code, row.status_code)
            if tested.status_code != 200 or (run["status"], run["error_code"], run["status_code"]) != expected:
                wrong.append((name, tested.text[:300]))
                continue
            for path in ("", "/body", "/body/raw"):
                read = await owner.get(f"/api/v1/runs/{run['id']}{path}")
                if read.status_code not in (200, 404) or (read.status_code == 404 and not path):
                    wrong.append((f"{name} {path}", read.text[:300]))
        listed = [await owner.get(f"{path}?limit=200") for path in ("/api/v1/runs", "/api/v1/events")]

    assert wrong == []
    assert [each.status_code for each in listed] == [200, 200]
    assert len(listed[0].json()["items"]) == len(ROWS)

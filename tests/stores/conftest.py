"""The behaviour suite runs every test on both databases, with a clock that only moves when it is told to."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from tests.stores.world import FixedClock

from mainspring.domain.endpoint import Tenant
from mainspring.ports import Stores
from mainspring.wiring import open_stores


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture(params=["sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite://{tmp_path}/mainspring.db"
    else:
        yield request.getfixturevalue("postgres_url")


@pytest.fixture
async def stores(store_url: str, clock: FixedClock) -> AsyncIterator[Stores]:
    async with open_stores(store_url, clock=clock) as opened:
        await opened.endpoints.put_tenant(Tenant("default", "default"))
        yield opened

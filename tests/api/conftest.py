"""The API on both databases."""

from collections.abc import AsyncIterator

import pytest
from fastapi import FastAPI
from httpx2 import AsyncClient

from mainspring.ports.stores import Stores
from tests.api.app import client_of, open_app
from tests.stores.databases import clock, other_stores, shared_postgres_url, store_url, stores
from tests.stores.world import FixedClock

__all__ = ["clock", "other_stores", "shared_postgres_url", "store_url", "stores"]


@pytest.fixture
async def app(stores: Stores, clock: FixedClock) -> AsyncIterator[FastAPI]:
    async with open_app(stores, clock) as made:
        yield made


@pytest.fixture
async def api(app: FastAPI) -> AsyncIterator[AsyncClient]:
    """Asks as the tenant `default`, with every scope, and as an operator of the installation."""
    async with client_of(app, is_operator=True) as client:
        yield client

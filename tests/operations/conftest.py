"""Operations on both databases, at the desk of one tenant."""

import pytest
from tests.stores.databases import clock, other_stores, shared_postgres_url, store_url, stores

from mainspring.domain.schedule.cron import CRON
from mainspring.operations.endpoints import Desk
from mainspring.outbound.vault import AesVault, KeyRing
from mainspring.ports.stores import Stores
from mainspring.wiring.clock import TimeOrderedIds

__all__ = ["clock", "desk", "other_stores", "shared_postgres_url", "store_url", "stores"]


@pytest.fixture
def desk(stores: Stores) -> Desk:
    return Desk(stores, "default", "ada", TimeOrderedIds(), AesVault(KeyRing(bytes(32))), CRON)

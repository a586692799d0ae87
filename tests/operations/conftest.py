"""Operations on both databases, at the desk of one tenant."""

import pytest
from tests.kind_samples import COMMANDS
from tests.stores.databases import clock, other_stores, shared_postgres_url, store_url, stores

from mainspring.domain.kinds.command_policy import parse_commands
from mainspring.domain.schedule.cron import CRON
from mainspring.operations.context import Desk
from mainspring.outbound.vault import AesVault, KeyRing
from mainspring.ports.stores import Stores
from mainspring.wiring.clock import TimeOrderedIds

__all__ = ["clock", "desk", "other_stores", "shared_postgres_url", "store_url", "stores"]


@pytest.fixture
def desk(stores: Stores) -> Desk:
    vault = AesVault(KeyRing(bytes(32)))
    return Desk(stores, "default", "ada", TimeOrderedIds(), vault, CRON, commands=parse_commands(COMMANDS))

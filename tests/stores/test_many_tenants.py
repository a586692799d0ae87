"""What a claim costs beside thousands of tenants. On SQLite it is made on the event loop."""

import time

from tests.harness.pace import SHARED
from tests.stores.databases import query
from tests.stores.world import FixedClock, add, an_endpoint, claim

from mainspring.domain.endpoint import Tenant
from mainspring.ports.stores import Stores

TENANTS = 5_000
LONGEST_S = 0.05 * SHARED  # two of them fit into the turn that is allowed
TRIES = 3


async def test_claim_beside_thousands_of_tenants_leaves_the_event_loop_free(
    stores: Stores, store_url: str, clock: FixedClock
) -> None:
    await stores.endpoints.put_tenant(Tenant("crowd", "crowd"))
    series = f"WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {TENANTS})"
    await query(store_url, f"{series} INSERT INTO tenant (id, name) SELECT 'crowd-' || n, 'crowd' FROM s")
    await add(stores, an_endpoint("billing"))
    claimed: list[float] = []
    idle: list[float] = []
    for _ in range(TRIES):
        clock.tick(hours=1)
        for seconds in (claimed, idle):
            before = time.thread_time()
            batch = await claim(stores)
            seconds.append(time.thread_time() - before)
        assert batch.claims == ()

    assert min(claimed) <= LONGEST_S
    assert min(idle) <= LONGEST_S

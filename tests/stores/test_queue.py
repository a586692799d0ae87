"""What a store knows about endpoints that are due and not started, and about what is in their way."""

from datetime import timedelta

import msgspec
from tests.stores.world import START, FixedClock, add, an_endpoint, claim

from mainspring.domain.endpoint import Tenant
from mainspring.domain.schedule.fairness import Caps, EndpointPace
from mainspring.domain.schedule.host_limit import parse_host_limits
from mainspring.domain.schedule.queue import Flight, Queue, Waiting
from mainspring.ports.stores import Stores
from mainspring.ports.upkeep import LIMITS

CAPS = Caps(9, 2, parse_host_limits("*.example.com = 7, 1/s; rated = 1/m"))


async def test_queue_holds_what_waits_beside_what_flies(stores: Stores, clock: FixedClock) -> None:
    await stores.endpoints.put_tenant(Tenant("other", "other"))
    await stores.upkeep.put_installation(LIMITS, msgspec.json.encode(CAPS).decode())
    flying = [an_endpoint(host="rated:80"), an_endpoint(host="busy:80", last_duration_ms=5)]
    await add(stores, *flying)
    await claim(stores, caps=CAPS)
    clock.tick(seconds=2)
    await stores.presence.beat("worker-1", {"scheduler": 100})
    await stores.presence.beat("worker-2", {"planner": 0})
    await add(
        stores,
        an_endpoint(host="busy:80", last_duration_ms=5),
        an_endpoint(host="busy:80", last_duration_ms=5, next_run_at=START - timedelta(seconds=1)),
        an_endpoint(host="busy:80", next_run_at=clock.at),
        an_endpoint(host="busy:80", tenant_id="other", job_id="job_other", last_duration_ms=2_000),
        an_endpoint(host="busy:80", next_run_at=clock.at + timedelta(seconds=1)),
    )

    queue = await stores.upkeep.queue(late_ms=0)

    now = START + timedelta(seconds=2)
    assert sorted(queue.waiting) == sorted(
        [
            Waiting("default", "busy:80", EndpointPace.QUICK, 2, START - timedelta(seconds=1)),
            Waiting("default", "busy:80", EndpointPace.NEW, 1, now),
            Waiting("other", "busy:80", EndpointPace.SLOW, 1, START),
        ]
    )
    assert sorted(queue.flights) == sorted(
        [
            Flight("default", "rated:80", "worker-1", True, True, 1),
            Flight("default", "busy:80", "worker-1", False, True, 1),
        ]
    )
    paid_until = {"rated:80": START + timedelta(minutes=1)}
    assert msgspec.structs.replace(queue, waiting=(), flights=()) == Queue(
        now, places={"worker-1": 100}, paid_until=paid_until, caps=CAPS
    )


async def test_queue_holds_what_is_late_only(stores: Stores, clock: FixedClock) -> None:
    await add(stores, an_endpoint(next_run_at=START - timedelta(seconds=5)), an_endpoint())

    assert [each.count for each in (await stores.upkeep.queue(late_ms=5_000)).waiting] == [1]
    assert (await stores.upkeep.queue(late_ms=0)).caps == Caps()

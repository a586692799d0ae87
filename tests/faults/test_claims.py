"""Two and eight schedulers reach for the same 200 due endpoints, 20 times: each slot is claimed once."""

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from datetime import timedelta

import pytest

from mainspring.domain.errors import StoreUnavailable
from mainspring.domain.schedule.claim import Claim
from mainspring.domain.schedule.fairness import Caps
from mainspring.ports.stores import Stores
from mainspring.stores.postgres.queries import QUERIES
from mainspring.wiring.stores import open_stores
from tests.faults.conftest import Figures
from tests.faults.ledger import read_ledger
from tests.faults.random_kills import Tail, drain, start_workers
from tests.faults.stage import Stage, calling, fill
from tests.harness.waiting import until
from tests.peers.journal import Journal
from tests.stores.world import LEASE_MARGIN_MS, FixedClock, an_endpoint, finished

ENDPOINTS = 200
ROUNDS = 20
PLACES = 30  # fewer than there are due endpoints: everybody comes back for more
CAPS = Caps(per_tenant=1_000, per_host=1_000)


async def claim_all(stores: Stores, worker: str, forgive_deadlocks: bool) -> list[Claim]:
    claims: list[Claim] = []
    while True:
        try:
            batch = await stores.schedule.claim_due(worker, PLACES, LEASE_MARGIN_MS, CAPS)
        except StoreUnavailable as fault:
            if forgive_deadlocks and "deadlock" in str(fault):
                continue
            raise
        claims += batch.claims
        if not batch.claims and not batch.more:
            return claims


async def compete(
    stage: Stage, schedulers: int, rounds: int, forgive_deadlocks: bool = False
) -> tuple[Counter[str], list[int]]:
    """How often each slot was claimed, and how many slots each scheduler got."""
    clock = FixedClock()
    claimed: Counter[str] = Counter()
    shares = [0] * schedulers
    async with AsyncExitStack() as stack:
        opened = [
            await stack.enter_async_context(open_stores(stage.url, clock=clock, pool_size=2)) for _ in range(schedulers)
        ]
        await fill(opened[0], [an_endpoint() for _ in range(ENDPOINTS)])
        for _ in range(rounds):
            got = await asyncio.gather(
                *(claim_all(each, f"worker-{number}", forgive_deadlocks) for number, each in enumerate(opened))
            )
            claimed.update(claim.slot_id for claims in got for claim in claims)
            shares = [before + len(claims) for before, claims in zip(shares, got, strict=True)]
            await asyncio.gather(
                *(
                    each.schedule.finish([finished(claim) for claim in claims])
                    for each, claims in zip(opened, got, strict=True)
                    if claims
                )
            )
            clock.tick(seconds=60)
    return claimed, shares


@pytest.mark.parametrize("schedulers", [2, 8])
async def test_no_slot_is_claimed_twice_by_schedulers_that_compete(
    schedulers: int, postgres_stage: Stage, figures: Figures
) -> None:
    claimed, shares = await compete(postgres_stage, schedulers, ROUNDS)

    figures(schedulers=schedulers, slots=len(claimed), claims=claimed.total(), shares=shares)
    assert [slot for slot, times in claimed.items() if times > 1] == []
    assert claimed.total() == ENDPOINTS * ROUNDS
    assert min(shares) > 0


async def test_without_comparing_revisions_slots_are_claimed_twice(
    postgres_stage: Stage, figures: Figures, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control: neither the revisions nor the lock around claims keep the schedulers apart."""
    comparison = " AND kept.revision = new.revision"
    assert comparison in QUERIES["write_claims_and_read_clock"]
    assert "pg_try_advisory_xact_lock" in QUERIES["begin_claim"]
    monkeypatch.setitem(
        QUERIES, "write_claims_and_read_clock", QUERIES["write_claims_and_read_clock"].replace(comparison, "")
    )
    monkeypatch.setitem(QUERIES, "begin_claim", "BEGIN; SELECT 1")

    claimed, shares = await compete(postgres_stage, 8, 3, forgive_deadlocks=True)

    doubles = [slot for slot, times in claimed.items() if times > 1]
    figures(slots=len(claimed), claims=claimed.total(), doubles=len(doubles), shares=shares)
    assert len(doubles) > 10


async def test_no_slot_is_claimed_twice_by_eight_processes(
    postgres_stage: Stage, journal: Journal, long_run: bool, figures: Figures
) -> None:
    rounds = ROUNDS if long_run else 3
    async with postgres_stage.stores() as stores:
        due_at = await stores.schedule.now() + timedelta(seconds=2)
        endpoints = [calling(journal.url(f"/{n}"), due_at, 2_000, timeout_ms=10_000) for n in range(ENDPOINTS)]
        await fill(stores, endpoints)
        with postgres_stage.nursery(lease_margin="30s", concurrency=PLACES) as nursery:
            await start_workers(nursery, 8)
            tail = Tail(journal)
            await until(lambda: tail.grown() >= ENDPOINTS * rounds, "all rounds run", 60 + 10 * rounds)
            await drain(nursery, stores)
        ledger = await read_ledger(stores, journal.entries())

    workers = Counter(run.worker for run in ledger.runs)
    figures(processes=8, **ledger.figures(), shares=sorted(workers.values()))
    assert [slot for slot, times in ledger.deliveries_per_slot().items() if times > 1] == []
    assert {run.attempt for run in ledger.runs} == {1}
    assert ledger.lost() == []
    assert len(workers) > 1

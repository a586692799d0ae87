"""What a crash of PostgreSQL takes back: claims of endpoints that may be called twice, and nothing else."""

from tests.harness.postgres import Cluster
from tests.harness.waiting import until_true
from tests.stores.world import START, FixedClock, add, an_endpoint, claim, finished, get_run

from mainspring.domain.endpoint import LostWorkerPolicy, Tenant
from mainspring.domain.errors import StoreUnavailable
from mainspring.domain.run import RunStatus
from mainspring.wiring.stores import open_stores


async def test_crash_takes_back_a_claim_that_may_be_repeated_but_no_other_and_no_result() -> None:
    clock = FixedClock(START)
    # The server writes nothing by itself for long, so what it does not wait for is not there after the crash.
    with Cluster(
        settings={"wal_writer_delay": "10s", "wal_writer_flush_after": "1GB", "bgwriter_lru_maxpages": "0"}
    ) as cluster:
        async with open_stores(cluster.create_database("crash"), clock=clock) as stores:
            await stores.endpoints.put_tenant(Tenant("default", "default"))
            once = an_endpoint("once", on_lost_worker=LostWorkerPolicy.SKIP)
            recorded, repeated = an_endpoint("recorded"), an_endpoint("repeated")
            await add(stores, recorded)
            (first,) = (await claim(stores)).claims
            await stores.schedule.finish([finished(first)])
            await add(stores, once)
            (kept,) = (await claim(stores)).claims
            await add(stores, repeated)
            (lost,) = (await claim(stores)).claims

            cluster.stop("immediate")
            cluster.start()

            async def is_back() -> bool:
                try:
                    return await stores.runs.run("default", first.run_id) is not None
                except StoreUnavailable:
                    return False

            await until_true(is_back, "the database after its crash")
            (again,) = (await claim(stores)).claims
            late = await stores.schedule.finish([finished(lost)])
            report = await stores.schedule.finish([finished(again), finished(kept)])

            assert again.endpoint.id == lost.endpoint.id
            assert again.slot_id == lost.slot_id
            assert late.superseded == (lost.run_id,)
            assert set(report.recorded) == {again.run_id, kept.run_id}
            assert (await get_run(stores, first)).status is RunStatus.SUCCESS

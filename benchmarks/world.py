"""What several benchmarks share: databases to run on, a schedule to fill them with, ratios to print."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime, timedelta
from ipaddress import ip_network
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw
import asyncpg
from tests.harness.postgres import Cluster, as_superuser
from tests.stores.world import add, an_endpoint

from mainspring.domain.endpoint import Endpoint, Tenant
from mainspring.domain.instant import from_us
from mainspring.outbound.guard import AddressGuard
from mainspring.outbound.http import HttpCaller
from mainspring.outbound.vault import AesVault, KeyRing
from mainspring.ports.stores import Stores
from mainspring.wiring.clock import SystemClock
from mainspring.wiring.stores import open_stores

STEAL = 7  # the place of stolen time in the first line of /proc/stat, man 5 proc


@contextmanager
def steal_told() -> Iterator[None]:
    """Say at the end how much of the processors' time the host gave to other machines: wall times contain it."""
    before = _processor_times()
    yield
    spent = [now - then for now, then in zip(_processor_times(), before, strict=True)]
    if len(spent) > STEAL:
        print(f"of the processors' time {spent[STEAL] / sum(spent):.0%} went to other machines meanwhile")


def _processor_times() -> list[int]:
    """Since the machine was started; of a Linux, else none."""
    stat = Path("/proc/stat")
    return [int(each) for each in stat.read_text().split("\n")[0].split()[1:9]] if stat.exists() else []


@contextmanager
def database_url(kind: str) -> Iterator[str]:
    """A fresh, durable database of its own: fsync on, as in production."""
    if kind == "sqlite":
        with TemporaryDirectory(dir=".") as folder:
            yield f"sqlite://{Path(folder).resolve()}/bench.db"
    else:
        with Cluster(fsync=True, settings={"shared_buffers": "256MB"}) as cluster:
            yield cluster.create_database("bench")


@asynccontextmanager
async def filled(
    url: str, endpoints: int, target: str, first_run_at: datetime, spread_s: float = 0, interval_ms: int = 60_000
) -> AsyncIterator[Stores]:
    """Stores with so many endpoints, due from `first_run_at` on, evenly over `spread_s`."""
    async with open_stores(url) as stores:
        await stores.endpoints.put_tenant(Tenant("default", "default"))
        (sample,) = _endpoints(1, target, first_run_at, spread_s, interval_ms)
        await add(stores, sample)
        await _bulk(stores, _endpoints(endpoints, target, first_run_at, spread_s, interval_ms)[1:])
        yield stores


async def recorded_runs(stores: Stores) -> list[tuple[str, datetime, datetime]]:
    """Endpoint, slot and start of every run that succeeded, as the database has them."""
    sql = "SELECT endpoint_id, slot_at, started_at FROM run WHERE status = 'success'"
    database = stores.endpoints._db  # type: ignore[attr-defined]  # benchmarks reach inside to read it all
    if hasattr(database, "path"):
        rows = apsw.Connection(database.path).execute(sql)
        return [(endpoint_id, from_us(slot_at), from_us(started_at)) for endpoint_id, slot_at, started_at in rows]
    connection = await asyncpg.connect(as_superuser(database.url.each()[0]))
    try:
        return [tuple(row) for row in await connection.fetch(sql)]
    finally:
        await connection.close()


def make_caller() -> HttpCaller:
    guard = AddressGuard((ip_network("127.0.0.0/8"),))
    return HttpCaller(guard, AesVault(KeyRing(bytes(32))), clock=SystemClock().now)


def _endpoints(count: int, target: str, first: datetime, spread_s: float, interval_ms: int) -> list[Endpoint]:
    from mainspring.domain.run import HttpAction

    host = target.split("/")[2]
    action = HttpAction(url=target)
    made = []
    for number in range(count):
        due = first + timedelta(seconds=spread_s * number / count)
        made.append(
            an_endpoint(
                f"bench {number}",
                id=f"ep_bench_{number:07d}",
                action=action,
                host=host,
                interval_ms=interval_ms,
                next_run_at=due,
                anchor_at=due - timedelta(milliseconds=interval_ms),
            )
        )
    return made


async def _bulk(stores: Stores, endpoints: list[Endpoint]) -> None:
    """Fill a store faster than one transaction per endpoint; benchmarks only, so it reaches inside."""
    from mainspring.stores.rows import CONFIG_COLUMNS, STATE_COLUMNS, config_values, state_values

    configs = [config_values(each) for each in endpoints]
    states = [(each.id, each.tenant_id, each.host, *state_values(each)) for each in endpoints]
    database = stores.endpoints._db  # type: ignore[attr-defined]  # benchmarks reach inside to fill quickly
    if hasattr(database, "write_much"):
        from mainspring.stores.sqlite.connection import bound

        def work(db) -> None:  # type: ignore[no-untyped-def]  # a connection of whichever store
            db.run_many("add_endpoint", [bound(row) for row in configs])
            db.run_many("add_schedule", [bound(row) for row in states])

        await database.write_much(work)
        return
    connection = await asyncpg.connect(as_superuser(database.url.each()[0]))  # no COPY through row-level security
    try:
        copy = connection.copy_records_to_table
        await copy("endpoint", records=configs, columns=CONFIG_COLUMNS)
        await copy("schedule", records=states, columns=("id", "tenant_id", "host", *STATE_COLUMNS))
        await connection.execute("ANALYZE endpoint")
        await connection.execute("ANALYZE schedule")
    finally:
        await connection.close()

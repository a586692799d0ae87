"""R23: a partition has one writer, whatever happens to writers and to the database.

Three processes lead two partitions whose executions call a journal all the time. Leaders stop just before they commit,
for longer than their lease, and go on; others are killed; PostgreSQL crashes. Afterwards the ticks of each partition
follow one another, each written once, and every log is whole; no effect went out under two keys, and none was lost.
"""

import asyncio
import random
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from mainspring.failpoints import VARIABLE
from mainspring.ports.stores import Stores
from mainspring.workflow.audit import Breach, verify, verify_ticks
from tests.faults.conftest import Figures
from tests.faults.random_kills import Tail
from tests.faults.stage import Stage
from tests.faults.worker_forker import Nursery, Worker
from tests.harness.addresses import HOST
from tests.harness.postgres import Cluster
from tests.harness.proxy import FaultProxy
from tests.harness.valkey import Valkey
from tests.harness.waiting import until, until_true
from tests.peers.journal import Entry, Journal
from tests.stores.databases import query
from tests.stores.flow_world import SALT, a_workflow, publish, start

PARTITIONS = 2
WORKERS = 3
EXECUTIONS = 10
TICK_MS = 50
ASK_S = 0.1  # every question is a new connection
# A writer that was stopped in the middle of a transaction holds its locks until PostgreSQL ends it: after 10 s where it
# is idle, after 60 s where it had just prepared a statement.
TAKEOVER_S = 90
SETTINGS = {"workflow_partitions": PARTITIONS, "tick_interval": "50ms", "ticker_lease": "700ms", "lease_margin": "1s"}
STOP, UNFENCED = "before_tick_commit=stop", "no_tick_fence"
# The long version in parts that a machine with two cores does in minutes each: together they stop writers 300 times,
# crash PostgreSQL 75 times, kill Valkey and drop what is sent to it 50 times.
PARTS, ROUNDS, LOCK_ROUNDS = 5, 15, 10


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "part" in metafunc.fixturenames:
        metafunc.parametrize("part", range(PARTS if metafunc.config.getoption("--long") else 1))


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A server of its own: it will crash."""
    with Cluster(fsync=True) as cluster:
        yield cluster


@pytest.fixture
def valkey() -> Iterator[Valkey]:
    with Valkey() as valkey:
        yield valkey


@pytest.fixture
def crash_stage(cluster: Cluster, tmp_path: Path) -> Stage:
    return Stage(cluster.create_database("tickers"), tmp_path)


async def begin(stores: Stores, journal: Journal) -> None:
    """Executions that call, rest for a tick, and call again; the path says who calls, and for which time."""
    for partition in range(PARTITIONS):
        await stores.flows.workflows.clock(partition, TICK_MS)
    workflow = await publish(
        stores,
        a_workflow(
            {"set": {"n": "has(vars.n) ? vars.n + 1 : 1"}, "visits": 9_999},
            {"call": {"url": journal.url("/{{ input.name }}/{{ vars.n }}")}, "visits": 9_999, "timeout": "1s"},
            {"wait": f"{TICK_MS}ms", "next": "s0", "visits": 9_999},
        ),
    )
    for number in range(EXECUTIONS):
        await start(stores, workflow, f"x{number}", {"name": f"x{number}"}, partitions=PARTITIONS)


class Weather:
    """What happens to the writers, and how often it did."""

    def __init__(self, stage: Stage, nursery: Nursery, journal: Journal, seed: int, failpoints: str = "") -> None:
        self._stage, self._nursery, self._draw, self._failpoints = stage, nursery, random.Random(seed), failpoints
        self._tail = Tail(journal)
        self.stops = self.kills = 0
        self.takeovers_s: list[float] = []

    async def leaders(self) -> dict[int, tuple[int, str]]:
        """Epoch and worker of every partition."""
        rows = await query(self._stage.url, "SELECT partition, epoch, worker FROM workflow_partition")
        return {int(str(row[0])): (int(str(row[1])), str(row[2])) for row in rows}

    async def stop_a_leader(self) -> None:
        """All stand still beyond their leases; who takes over stops with a tick in its hands, until they write."""
        others = self._nursery.running
        victim = self._nursery.start({VARIABLE: f"{STOP},{self._failpoints}"})
        for worker in others:
            worker.freeze()
        began_s = time.monotonic()
        await until(lambda: victim.is_stopped, "the new writer stops before it commits", TAKEOVER_S)
        self.takeovers_s.append(round(time.monotonic() - began_s, 1))
        for worker in others:
            worker.thaw()
        await self._until_led_by_others(victim)
        await self.work_goes_on()
        noticed = self._noticed()
        victim.thaw()
        await until(lambda: self._noticed() > noticed, "it notices that it lost")
        victim.kill()
        self.stops += len(others) + 1

    async def kill_a_leader(self) -> None:
        names = [name for _, name in (await self.leaders()).values()]
        victim = self._draw.choice([worker for worker in self._nursery.running if _is_one_of(worker, names)])
        victim.kill()
        self._nursery.start()
        await self._until_led_by_others(victim)
        self.kills += 1

    def complete(self) -> None:
        """As many writers as there should be: one that was just starting while the database was away has given up."""
        while len(self._nursery.running) < WORKERS:
            self._nursery.start()

    async def work_goes_on(self) -> None:
        wanted = self._tail.grown() + EXECUTIONS
        await until(lambda: self._tail.grown() >= wanted, "effects leave", TAKEOVER_S)

    def _noticed(self) -> int:
        return self._nursery.count("partition lost") + self._nursery.count("worker failed")

    async def _until_led_by_others(self, worker: Worker) -> None:
        async def others_lead() -> bool:
            await asyncio.sleep(ASK_S)
            return not any(_is_one_of(worker, [name]) for _, name in (await self.leaders()).values())

        await until_true(others_lead, "another takes over", TAKEOVER_S)


def _is_one_of(worker: Worker, names: list[str]) -> bool:
    return any(f"-{worker.pid}-" in name for name in names)


async def first_breach(stores: Stores) -> Breach | None:
    """What is wrong in any chain of ticks or any log, if anything is."""
    for partition in range(PARTITIONS):
        logs = stores.flows.logs
        ticks = await logs.ticks(partition, 0, 1_000_000)
        breach, ends = verify_ticks(partition, ticks, await logs.partition_end(partition))
        if breach is not None:
            return breach
        assert set(ends) == set(await logs.log_ids(partition))
        for name in ends:
            verdict = verify(
                name, SALT, await logs.entries("default", name, 0, 1_000_000), await logs.anchors(partition, name)
            )
            if verdict.breach is not None:
                return verdict.breach
    return None


def keys_by_effect(entries: list[Entry]) -> dict[str, set[str]]:
    keys: dict[str, set[str]] = defaultdict(set)
    for entry in entries:
        keys[entry.path].add(entry.webhook_id)
    return keys


async def test_partition_has_one_writer_through_stops_kills_and_crashes_of_the_database(
    crash_stage: Stage, cluster: Cluster, journal: Journal, long_run: bool, part: int, seed: int, figures: Figures
) -> None:
    rounds = ROUNDS if long_run else 1
    async with crash_stage.stores() as stores:
        await begin(stores, journal)
        with crash_stage.nursery(**SETTINGS) as nursery:
            weather = Weather(crash_stage, nursery, journal, seed + part)
            for _ in range(rounds):
                weather.complete()
                await weather.work_goes_on()
                await weather.stop_a_leader()
                await weather.kill_a_leader()
                await asyncio.to_thread(cluster.restart, "immediate")
                await weather.work_goes_on()
            failures, step_downs = nursery.count("worker failed"), nursery.count("partition lost")
        breach = await first_breach(stores)
        ends = [await stores.flows.logs.partition_end(partition) for partition in range(PARTITIONS)]

    keys = keys_by_effect(journal.entries())
    figures(
        stops=weather.stops, kills=weather.kills, restarts=rounds, step_downs=step_downs, effects=len(keys),
        takeovers_s=weather.takeovers_s,
        deliveries=len(journal.entries()), ticks=[end.number for end in ends if end is not None],
    )  # fmt: skip
    assert breach is None
    assert step_downs > 0
    assert failures == 0
    assert {len(found) for found in keys.values()} == {1}
    assert len({key for found in keys.values() for key in found}) == len(keys)
    for number in range(EXECUTIONS):
        times = sorted(int(path.rpartition("/")[2]) for path in keys if path.startswith(f"/x{number}/"))
        assert times == list(range(1, len(times) + 1))


async def test_lock_that_is_killed_wiped_and_cut_off_stops_nobody_and_lets_nobody_write_twice(
    postgres_stage: Stage, valkey: Valkey, journal: Journal, long_run: bool, part: int, seed: int, figures: Figures
) -> None:
    rounds = LOCK_ROUNDS if long_run else 1
    async with postgres_stage.stores() as stores, FaultProxy(HOST, valkey.port) as network:
        await begin(stores, journal)
        lock = valkey.url.replace(f":{valkey.port}/", f":{network.port}/")
        with postgres_stage.nursery(**SETTINGS, workflow_lock=lock) as nursery:
            weather = Weather(postgres_stage, nursery, journal, seed + part)
            nursery.start()
            nursery.start()
            await weather.work_goes_on()
            # Locks of a process that had no core for a while expire, and are taken again.
            await until(lambda: valkey.say("KEYS", "mainspring:*:partition:*").startswith(b"*2\r\n"), "both are locked")
            for _ in range(rounds):
                valkey.kill()
                await weather.work_goes_on()
                valkey.start()
                await weather.kill_a_leader()
                valkey.say("FLUSHALL")
                await weather.work_goes_on()
                await network.black_hole()  # neither who is connected nor who connects gets a packet through
                await weather.kill_a_leader()
                await weather.work_goes_on()
                await network.resume()
                await weather.work_goes_on()
            failures, lock_away = nursery.count("worker failed"), nursery.count("lock unavailable")
        breach = await first_breach(stores)

    keys = keys_by_effect(journal.entries())
    figures(
        lock_kills=rounds, lock_wipes=rounds, lock_cut_off=rounds, lock_away=lock_away, kills=weather.kills,
        effects=len(keys),
    )  # fmt: skip
    assert lock_away > 0
    assert breach is None
    assert failures == 0
    assert {len(found) for found in keys.values()} == {1}


async def test_without_the_comparison_a_stopped_writer_is_not_held_back(
    postgres_stage: Stage, journal: Journal, seed: int
) -> None:
    """The negative control: with the compare-and-set off, who comes back writes what is not its to write."""
    async with postgres_stage.stores() as stores:
        await begin(stores, journal)
        with postgres_stage.nursery(UNFENCED, **SETTINGS) as nursery:
            weather = Weather(postgres_stage, nursery, journal, seed, UNFENCED)
            nursery.start()
            await weather.work_goes_on()
            await weather.stop_a_leader()
            failures = nursery.count("worker failed")
        breach = await first_breach(stores)

    assert failures > 0 or breach is not None

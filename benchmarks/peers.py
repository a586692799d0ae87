"""The same work done by other Python schedulers, each in the same run as our whole loop on PostgreSQL.

    python -m benchmarks.peers [--seconds 8] [--rounds 3] [--items 10000] [--peers pgqueuer procrastinate ...]

One unit of work: a due recurring item is picked up, an HTTP GET is made, the status code and the 200-byte body are
committed to a table, and the item is scheduled again. Every peer is set up as its own documentation advises (see the
comment on each), calls with one aiohttp session that keeps its connections, and writes to a durable PostgreSQL of its
own (fsync on). Each measurement is a process of its own with a fresh cluster: a warm-up, then the units committed a
second, and what they cost in CPU time of that process (PostgreSQL's not included), which noise moves less.
A round measures everybody once; the table has the medians of the rounds, and the median of each round's ratio.

The queues (PgQueuer, Procrastinate, and ours) always have more work due than they can do. APScheduler is offered a
rate instead, and the best of several rates counts: it fires whatever is due without looking at what is in flight, so
above its capacity it does less, not more.
"""

import argparse
import asyncio
import gc
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from importlib.metadata import PackageNotFoundError, version
from statistics import median

from benchmarks.target import BODY, running_target
from benchmarks.world import database_url

WARM_UP_S = 2  # plans prepared, connections open
SETUP_S_MAX = 90  # a cluster's tables, 10,000 items, and a noisy machine
INTERVAL = timedelta(seconds=1)  # how soon an item is due again: sooner than its turn comes, so nobody waits for work
RATE_STEP = 1.3  # between two offered rates
RATES_A_ROUND = 4  # so that a round ends, however the machine's noise leads the search
KEPT_UP = 0.95  # of the offered rate: the next higher one is worth a try
CREATE_RESULT = (
    "CREATE TABLE result (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, item integer NOT NULL,"
    " at timestamptz NOT NULL, status_code integer NOT NULL, body bytea NOT NULL)"
)
ADD_RESULT = "INSERT INTO result (item, at, status_code, body) VALUES ($1, $2, $3, $4)"
COUNT_RESULTS = "SELECT count(*) FROM result WHERE status_code = 200 AND length(body) = $1"


@dataclass(frozen=True, slots=True)
class Assignment:
    """What one measuring process is told, over its standard input: the URL holds a password."""

    contender: str
    url: str
    target: str
    seconds: float
    items: int
    rate: float  # offered units a second, for those who are offered a rate


@dataclass(frozen=True, slots=True)
class Score:
    units_s: float
    cpu_ms: float  # of the measuring process, for one unit


@dataclass(frozen=True, slots=True)
class Contender:
    title: str  # with a place for its version
    measure: Callable[[Assignment], Awaitable[Score]]
    packages: tuple[str, ...] = ()
    first_rate: float = 0  # 0: a queue, which is given more than it can do
    uses_uvloop: bool = False

    def missing(self) -> list[str]:
        return [package for package in self.packages if _version(package) is None]

    def name_and_version(self) -> str:
        return self.title.format(_version(self.packages[0])) if self.packages else self.title


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--items", type=int, default=10_000, help="recurring items in each queue")
    parser.add_argument("--peers", nargs="+", default=list(PEERS), choices=list(PEERS))
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)  # how a measuring process is started
    options = parser.parse_args()
    if options.measure:
        _measure_here(Assignment(**json.load(sys.stdin)))
    else:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))  # so that target, cluster and child end
        compare(options)


def compare(options: argparse.Namespace) -> None:
    """Measure ours and every installed peer once a round, and print each round and the table."""
    names = [OURS]
    for name in options.peers:
        if missing := PEERS[name].missing():
            print(f"{name} is left out: {', '.join(missing)} not installed; `make bench` brings requirements/bench.txt")
        else:
            names.append(name)
    rounds: list[dict[str, Score]] = []
    rates = {name: CONTENDERS[name].first_rate for name in names}
    with running_target() as target:
        for number in range(options.rounds):
            scores = {}
            for name in names:
                assignment = Assignment(name, "", target, options.seconds, options.items, rates[name])
                scores[name], rates[name] = find_best(assignment)
                print(f"round {number + 1}  {name:22} {scores[name].units_s:8,.0f} units/s", flush=True)
            rounds.append(scores)
    print_table(rounds)


def find_best(assignment: Assignment) -> tuple[Score, float]:
    """The best score and the rate it was offered; a queue is measured once. The search goes up from the given rate
    while the peer keeps up, or down until it does.
    """
    score, rate = measure_apart(assignment), assignment.rate
    if not rate:
        return score, rate
    tried = [(score, rate)]
    kept_up = score.units_s >= KEPT_UP * rate
    while len(tried) < RATES_A_ROUND and kept_up == (score.units_s >= KEPT_UP * rate):
        rate = rate * RATE_STEP if kept_up else rate / RATE_STEP
        score = measure_apart(replace(assignment, rate=rate))
        tried.append((score, rate))
    return max(tried, key=lambda pair: (pair[0].units_s, -pair[1]))


def print_table(rounds: list[dict[str, Score]]) -> None:
    print(f"\n{f'medians of {len(rounds)}':38} {'units/s':>8}  {'(least - most)':>17}  ours is  CPU ms a unit")
    for name in rounds[0]:
        speeds = [scores[name].units_s for scores in rounds]
        factor = median(scores[OURS].units_s / max(scores[name].units_s, 0.1) for scores in rounds)
        cpu_ms = median(scores[name].cpu_ms for scores in rounds)
        spread = f"({min(speeds):,.0f} - {max(speeds):,.0f})"
        title = CONTENDERS[name].name_and_version()
        print(f"{title:38} {median(speeds):8,.0f}  {spread:>17}  {factor:5.1f} x  {cpu_ms:13.2f}")


def measure_apart(assignment: Assignment) -> Score:
    """Measure in a fresh process on a fresh cluster; a process that does not end in time is killed."""
    command = [sys.executable, "-m", "benchmarks.peers", "--measure"]
    limit_s = SETUP_S_MAX + WARM_UP_S + assignment.seconds * 2
    with database_url("postgres") as url:
        given = json.dumps(asdict(replace(assignment, url=url)))
        try:
            done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=limit_s, check=False)
        except subprocess.TimeoutExpired:
            if assignment.rate:
                return Score(0, 0)  # choked on this rate; a lower one will do
            raise SystemExit(
                f"measuring {assignment.contender} did not end in {limit_s:.0f} s and was killed"
            ) from None
    if done.returncode != 0:
        raise SystemExit(f"measuring {assignment.contender} failed:\n{done.stderr[-4000:]}")
    return Score(**json.loads(done.stdout.splitlines()[-1]))


def _measure_here(assignment: Assignment) -> None:
    contender = CONTENDERS[assignment.contender]
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)  # as our supervisor sets it; the peers get the same

    async def measure() -> None:
        print(json.dumps(asdict(await contender.measure(assignment))), flush=True)
        os._exit(0)  # work is in flight and its database about to go: no peer is made to end it well, or to complain

    if contender.uses_uvloop:
        import uvloop

        uvloop.run(measure())
    else:
        asyncio.run(measure())


class Calls:
    """The part of a unit that is the user's own code, the same in every peer, and the count of finished units.

    One aiohttp session with its defaults: 100 connections, kept alive.
    """

    def __init__(self, assignment: Assignment) -> None:
        import aiohttp

        self._target = assignment.target
        self._seconds = assignment.seconds
        self._session = aiohttp.ClientSession()
        self.done = 0

    async def get(self, item: int) -> tuple[int, datetime, int, bytes]:
        """Make the call; the row to store."""
        async with self._session.get(self._target) as response:
            return item, datetime.now(UTC), response.status, await response.read()

    async def score(self) -> Score:
        """Units a second after the warm-up, while the peer works."""
        await asyncio.sleep(WARM_UP_S)
        before, cpu_s, start = self.done, _cpu_s(), time.monotonic()
        await asyncio.sleep(self._seconds)
        units, cpu_s, elapsed = self.done - before, _cpu_s() - cpu_s, time.monotonic() - start
        return Score(units / elapsed, 1000 * cpu_s / max(units, 1))

    async def check(self, count_stored: Callable[[], Awaitable[int]], working: "asyncio.Task[None] | None") -> None:
        """A peer counts only if it still works and every unit it finished is in the table."""
        if working is not None and working.done():
            await working
            raise RuntimeError("the worker ended before the measurement did")
        done = self.done
        stored = await count_stored()
        if stored < done or (done == 0 and working is not None):
            raise RuntimeError(f"{done} units were finished and {stored} results stored; every unit stores one")


async def measure_mainspring(assignment: Assignment) -> Score:
    from benchmarks.whole_loop import loop

    options = argparse.Namespace(endpoints=assignment.items, seconds=assignment.seconds, places=500)
    units_s, cores = await loop(assignment.url, assignment.target, options)
    return Score(units_s, 1000 * cores / max(units_s, 1))


async def measure_pgqueuer(assignment: Assignment) -> Score:
    """PgQueuer as its performance guide advises: `pgq autovac`, asyncpg, batches larger than 10 for short jobs, a cap
    on concurrent tasks (without one, it picks every item at once and its handlers starve), a connection of its own for
    the queue manager with LISTEN/NOTIFY on, and a pool of 20 for producers. `pgq run` takes uvloop, so we do.

    A job is recurring by enqueueing itself with `execute_after`, in one transaction with its result, as the README
    shows. PgQueuer's own records of finished jobs are durable, its default. Batches of 10 to 500, pools of 10 to 50,
    a manager on the pool, several managers, two commits in place of the transaction, and `balanced` durability were
    tried: none was faster beyond the noise.
    """
    import asyncpg
    from pgqueuer import PgQueuer
    from pgqueuer.db import AsyncpgDriver, AsyncpgPoolDriver
    from pgqueuer.models import Job
    from pgqueuer.queries import Queries

    pool = await asyncpg.create_pool(assignment.url, min_size=20, max_size=20)
    calls = Calls(assignment)
    queries = Queries(AsyncpgPoolDriver(pool))
    await queries.install()
    await queries.optimize_autovacuum()
    await pool.execute(CREATE_RESULT)
    items = range(assignment.items)
    await queries.enqueue(["call" for _ in items], [str(item).encode() for item in items], [0 for _ in items])
    await pool.execute("ANALYZE")
    worker = PgQueuer(AsyncpgDriver(await asyncpg.connect(assignment.url)))

    @worker.entrypoint("call")
    async def call(job: Job) -> None:
        row = await calls.get(int(job.payload))
        async with pool.acquire() as connection, connection.transaction():
            await connection.execute(ADD_RESULT, *row)
            await Queries(AsyncpgDriver(connection)).enqueue("call", job.payload, execute_after=INTERVAL)
        calls.done += 1

    working = asyncio.create_task(worker.run(batch_size=100, max_concurrent_tasks=400))
    score = await calls.score()
    await calls.check(lambda: pool.fetchval(COUNT_RESULTS, len(BODY)), working)
    return score


async def measure_procrastinate(assignment: Assignment) -> Score:
    """Procrastinate as its how-tos advise: one worker with the concurrency of 30 they show, LISTEN/NOTIFY on, finished
    jobs deleted on completion, its psycopg pool with 20 connections; asyncio's own loop, as its command takes.

    A job is recurring by deferring itself with `schedule_at`, over the connection and in the transaction of its result
    ("Using an external database connection"). More concurrency, several workers in the process, uvloop, and a pool
    without connection checks were tried: none was faster beyond the noise.
    """
    import procrastinate

    connector = procrastinate.PsycopgConnector(conninfo=assignment.url, min_size=20, max_size=20)
    app = procrastinate.App(connector=connector)
    await app.open_async()
    await app.schema_manager.apply_schema_async()
    calls = Calls(assignment)

    @app.task(name="call")
    async def call(item: int) -> None:
        row = await calls.get(item)
        async with connector.pool.connection() as connection:
            await connection.execute(_for_psycopg(ADD_RESULT), row)
            again = call.configure(connection=connection, schedule_at=datetime.now(UTC) + INTERVAL)
            await again.defer_async(item=item)
        calls.done += 1

    async def count_stored() -> int:
        async with connector.pool.connection() as connection:
            cursor = await connection.execute(_for_psycopg(COUNT_RESULTS), (len(BODY),))
            return (await cursor.fetchone())[0]

    async with connector.pool.connection() as connection:
        await connection.execute(CREATE_RESULT)
    await call.batch_defer_async(*({"item": item} for item in range(assignment.items)))
    async with connector.pool.connection() as connection:
        await connection.execute("ANALYZE")
    worker = app.run_worker_async(concurrency=30, delete_jobs="always", install_signal_handlers=False)
    working = asyncio.create_task(worker)
    score = await calls.score()
    await calls.check(count_stored, working)
    return score


async def measure_apscheduler_memory(assignment: Assignment) -> Score:
    return await _measure_apscheduler(assignment, {})


async def measure_apscheduler_postgres(assignment: Assignment) -> Score:
    """With the job store its user guide recommends: SQLAlchemy on PostgreSQL (here through psycopg 3)."""
    from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore

    url = assignment.url.replace("postgresql://", "postgresql+psycopg://")
    return await _measure_apscheduler(assignment, {"default": SQLAlchemyJobStore(url=url)})


async def _measure_apscheduler(assignment: Assignment, jobstores: dict[str, object]) -> Score:
    """APScheduler's AsyncIOScheduler with as many one-second interval jobs as units are offered a second, evenly spread
    over the second; missed times coalesce and are never too late. The scheduler plans a job again when it fires it.
    """
    import asyncpg
    from apscheduler.schedulers.asyncio import AsyncIOScheduler

    job_defaults = {"coalesce": True, "max_instances": 1, "misfire_grace_time": None}
    pool = await asyncpg.create_pool(assignment.url, min_size=20, max_size=20)
    await pool.execute(CREATE_RESULT)
    calls = Calls(assignment)
    _apscheduler.update(pool=pool, calls=calls)
    scheduler = AsyncIOScheduler(jobstores=jobstores, job_defaults=job_defaults, timezone=UTC)
    scheduler.start(paused=True)
    count = round(assignment.rate)
    setup_s = 1 + 0.004 * count if jobstores else 1  # the store in PostgreSQL commits every job by itself
    first_at = datetime.now(UTC) + timedelta(seconds=setup_s)
    for item in range(count):
        due_at = first_at + INTERVAL * (item / count)
        scheduler.add_job(
            run_apscheduler_job, "interval", seconds=INTERVAL.total_seconds(), start_date=due_at, args=[item]
        )
    await pool.execute("ANALYZE")
    scheduler.resume()
    await asyncio.sleep((first_at - datetime.now(UTC)).total_seconds())
    score = await calls.score()
    scheduler.pause()  # offered too much, it would hardly let the check run
    await calls.check(lambda: pool.fetchval(COUNT_RESULTS, len(BODY)), None)
    return score


_apscheduler: dict[str, object] = {}  # its job store keeps a job as the name of a function: what that needs is here


async def run_apscheduler_job(item: int) -> None:
    calls, pool = _apscheduler["calls"], _apscheduler["pool"]
    row = await calls.get(item)  # type: ignore[attr-defined]  # as put there by _measure_apscheduler
    await pool.execute(ADD_RESULT, *row)  # type: ignore[attr-defined]  # the same
    calls.done += 1  # type: ignore[attr-defined]  # the same


def _for_psycopg(statement: str) -> str:
    for number in range(1, 5):
        statement = statement.replace(f"${number}", "%s")
    return statement


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


OURS = "mainspring"
PEERS = {
    "pgqueuer": Contender(
        "PgQueuer {}", measure_pgqueuer, ("pgqueuer", "asyncpg", "aiohttp", "uvloop"), uses_uvloop=True
    ),
    "procrastinate": Contender("Procrastinate {}", measure_procrastinate, ("procrastinate", "psycopg", "aiohttp")),
    "apscheduler-postgres": Contender(
        "APScheduler {}, jobs in PostgreSQL", measure_apscheduler_postgres,
        ("apscheduler", "sqlalchemy", "psycopg", "aiohttp"), first_rate=200,
    ),
    "apscheduler-memory": Contender(
        "APScheduler {}, jobs in memory", measure_apscheduler_memory, ("apscheduler", "aiohttp"), first_rate=1_000
    ),
}  # fmt: skip
CONTENDERS = {OURS: Contender("Mainspring", measure_mainspring), **PEERS}


if __name__ == "__main__":
    main()

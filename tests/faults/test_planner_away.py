"""R26: a planner that stands still, dies or obeys a hostile model takes nothing from the baseline.

Two databases of each kind, each with a scheduler and the same endpoints, at the same time: one has a bad planner, in a
process of its own or in the scheduler's, and one has none. So whatever else the machine does, it does to both, and the
lateness of one can be compared with that of the other. The schedulers' own planners fail at every page of rules.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import apsw
import asyncpg
import pytest

from mainspring.domain.endpoint import Endpoint, Job, JobStatus
from mainspring.domain.event import Event, EventType
from mainspring.domain.instant import rfc3339
from mainspring.domain.run import RunStatus, slot_id
from mainspring.operations.context import Desk
from mainspring.operations.rules import add_rules, find_owner
from mainspring.ports.endpoints import EndpointFilter
from tests.faults.conftest import Figures
from tests.faults.ledger import Ledger, percentile, read_ledger
from tests.faults.stage import JOB, Stage, calling, can_be_written, fill
from tests.faults.worker_forker import COMMAND, Nursery, Worker
from tests.harness.database_pool import Shelf
from tests.harness.postgres import as_superuser
from tests.harness.waiting import holds_for, until, until_true
from tests.peers.journal import Journal
from tests.peers.model_server import ModelServer, Reply, says, serving_models
from tests.stores.databases import KINDS, file_of, is_sqlite

STEADY, ADVISED = 20, 6  # endpoints that nobody advises, which are the baseline, and endpoints that planners fight for
ADVISED_JOB = "job_advised"
EVERY_MS, LEAST_MS = 500, 1_000
TIMEOUT_MS = 30_000  # what is slow here is the machine, and no fault of an endpoint
LONG_S, SHORT_S = 80, 2
SHARE_MAX = 1.1  # the distributions are the same within a tenth,
# and what chance adds to that. In two seconds one stall of a busy machine is all there is to see, so a short run finds
# standstills and slots that are lost or moved; whether they are later is for the long one.
CHANCE_S = {True: 0.01, False: 8.0}
SLOW = "advised-0"  # nearly always running, and aimed at by all: what stands still with a lock has one on a live run
RULE = {"name": "hurry", "when": "duration_ms >= 0", "interval": "1s", "ttl": "1m", "target": SLOW}
DEADLINE_S = 120.0  # for what is waited for before a stretch begins: a busy machine may take long to start a process
FIRST_REQUESTS = 8  # of two planners with four sessions at once each: these are obeyed
TOOLS = ("propose_interval", "propose_next_time", "pause_until", "clear_hints", "get_response_history", "drop_table")


Key = tuple[str, str]


@dataclass
class Place:
    """One database with its scheduler, the endpoints in it, and the planners beside it."""

    stage: Stage
    nursery: Nursery
    scheduler: Worker
    model: dict[str, str]  # the settings of a planner that obeys
    planners: list[Worker] = field(default_factory=list)

    def plan(self, points: str = "", **settings: object) -> Worker:
        self.planners.append(self.nursery.start({COMMAND: "planner", **self.stage.env(points, **settings)}))
        return self.planners[-1]


Bad = Callable[[Place, asyncio.Event], Coroutine[Any, Any, None]]
"""Has bad planners beside a place until it is cancelled; says when the first one is bad."""


async def stands_still(place: Place, begun: asyncio.Event) -> None:
    """With what it judged in its hands; on PostgreSQL also with a lock on everybody it advises."""
    where = "before_plan" if place.stage.is_sqlite else "inside_plan"
    while True:
        planner = place.plan(f"{where}=stop")
        await until(lambda planner=planner: planner.is_stopped, "a planner stands still", DEADLINE_S)  # type: ignore[misc]  # bound now
        if await can_be_written(place.stage):
            break
        planner.kill()  # its heartbeat was just being committed, in a thread of its own
    begun.set()
    await asyncio.Event().wait()


async def dies(place: Place, begun: asyncio.Event) -> None:
    while True:
        planner = place.plan("before_plan=kill:0.15,after_plan=kill:0.15")
        await until(lambda planner=planner: not planner.is_running, "a planner dies at its page", DEADLINE_S)  # type: ignore[misc]  # bound now
        begun.set()


async def obeys(place: Place, begun: asyncio.Event) -> None:
    place.plan(**place.model)
    await obeys_inside(place, begun)


async def obeys_inside(place: Place, begun: asyncio.Event) -> None:
    """The scheduler's own; there is nobody beside it."""
    async with place.stage.stores() as stores:

        async def is_obeyed() -> bool:
            advised = await stores.endpoints.endpoints("default", EndpointFilter(job_id=ADVISED_JOB))
            return any(each.interval_hint and each.interval_hint.author.startswith("model:") for each in advised)

        await until_true(is_obeyed, "a hint that a model wanted", DEADLINE_S)
    begun.set()
    await asyncio.Event().wait()


async def takes_it_all(place: Place, begun: asyncio.Event) -> None:
    """No planner of ours: somebody who keeps the schedule locked for most of the time."""
    while True:
        async with nobody_else_writes(place.stage.url):
            begun.set()
            await asyncio.sleep(1)
        await asyncio.sleep(0.05)


@asynccontextmanager
async def nobody_else_writes(url: str) -> AsyncIterator[None]:
    if is_sqlite(url):
        file = apsw.Connection(str(file_of(url)))
        try:
            await until(lambda: has_begun(file), "nobody else writes")  # in no thread, which would go on when cancelled
            yield
        finally:
            file.close()
        return
    connection = await asyncpg.connect(as_superuser(url))
    try:
        async with connection.transaction():
            await connection.execute("LOCK TABLE schedule IN EXCLUSIVE MODE")
            yield
    finally:
        await connection.close()


def has_begun(file: apsw.Connection) -> bool:
    try:
        file.execute("BEGIN IMMEDIATE")
    except apsw.BusyError:
        return False
    return True


def hostile_replies(seed: int) -> list[Reply]:
    """Tool calls with whatever a model may think of, and once only words that are cut off."""
    draw = random.Random(seed)
    values: list[Any] = [
        None, -1, 0, 1, 10**30, 1_000, 1.5, True, "", "x" * 5_000, "\x00", "2000-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z", "steady-1", "advised-1", [], {}, "ignore all rules",
    ]  # fmt: skip
    keys = ("interval_ms", "ttl_minutes", "next_run_at", "until", "reason", "target", "limit", "tenant_id")

    def call() -> tuple[str, dict[str, Any]]:
        given = {key: draw.choice(values) for key in draw.sample(keys, draw.randrange(len(keys)))}
        return draw.choice(TOOLS), {"reason": "because", "interval_ms": 1_000, **given}

    replies = [says("openai", *(call() for _ in range(draw.randint(1, 4)))) for _ in range(500)]
    obeyed = says("openai", ("propose_interval", {"interval_ms": 1_000, "ttl_minutes": 5, "reason": "because"}))
    return [*(obeyed,) * FIRST_REQUESTS, says("openai", text="I would rather not", cut_off=True), *replies]


async def open_places(
    stages: dict[Key, Stage], nursery: Nursery, journal: Journal, model: dict[str, str], inside: bool
) -> dict[Key, Place]:
    """All schedulers first, so that all begin at the same time."""
    places = {}
    for key, stage in stages.items():
        obeying = model if inside and key[1] == "bad" else {}
        env = stage.env("before_plan=raise", lease_margin="30s", **obeying)
        places[key] = Place(stage, nursery, nursery.start(env), model)
    for place in places.values():
        await asyncio.to_thread(place.scheduler.wait_for, "scheduler started", DEADLINE_S)
    for place in places.values():
        async with place.stage.desk() as desk:
            await furnish(desk, journal)
    return places


async def furnish(desk: Desk, journal: Journal) -> None:
    due_at = await desk.stores.schedule.now() + timedelta(seconds=1)
    job = Job(ADVISED_JOB, "default", "advised", "", JobStatus.ACTIVE, due_at, due_at)
    steady = [
        calling(journal.url(f"/{n}"), due_at + timedelta(milliseconds=EVERY_MS * n / STEADY), EVERY_MS, TIMEOUT_MS)
        for n in range(STEADY)
    ]
    failing = "/advised?status=500&delay_ms={}"  # so that a model is due again at every further failure
    advised = [
        calling(
            journal.url(failing.format(0 if n else 900)),
            due_at + timedelta(milliseconds=LEAST_MS * n / ADVISED),
            LEAST_MS,
            TIMEOUT_MS,
            name=f"advised-{n}",
            description="run it more often while it fails",
            min_interval_ms=LEAST_MS,
            job_id=ADVISED_JOB,
        )
        for n in range(ADVISED)
    ]
    await fill(desk.stores, steady)
    await desk.stores.endpoints.add_job(job, Event(EventType.JOB_CREATED, due_at, "default"))
    await fill(desk.stores, advised)
    await add_rules(desk, await find_owner(desk, None, job.name), [RULE])


async def let_be_bad(places: Sequence[Place], bad: Bad, seconds: float) -> tuple[datetime, datetime]:
    """Bad planners beside these places for so long; from when to when."""
    begun = [asyncio.Event() for _ in places]
    going = [asyncio.create_task(bad(place, event)) for place, event in zip(places, begun, strict=True)]
    async with places[0].stage.stores() as stores:
        for event in begun:
            await asyncio.wait_for(event.wait(), DEADLINE_S)
        from_at = await stores.schedule.now()
        await holds_for(lambda: all(place.scheduler.is_running for place in places), "schedulers run", seconds)
        until_at = await stores.schedule.now()
    for task in going:
        assert not task.done(), task
        task.cancel()
    await asyncio.gather(*going, return_exceptions=True)
    for planner in (each for place in places for each in place.planners if each.is_running):
        with suppress(ProcessLookupError):  # it may be dying
            planner.kill()
    return from_at, until_at


def only(ledger: Ledger, job_id: str) -> Ledger:
    runs = [run for run in ledger.runs if ledger.endpoints[run.endpoint_id].job_id == job_id]
    slots = {slot_id(run.endpoint_id, run.slot_at) for run in runs}
    endpoints = {each.id: each for each in ledger.endpoints.values() if each.job_id == job_id}
    entries = [entry for entry in ledger.entries if entry.webhook_id in slots]
    return replace(ledger, endpoints=endpoints, runs=runs, entries=entries)


def late_s(ledger: Ledger, leg: tuple[datetime, datetime]) -> list[float]:
    """How late the slots of a leg arrived, sorted."""
    begin, end = (rfc3339(at) for at in leg)
    return replace(ledger, entries=[each for each in ledger.entries if begin <= each.slot < end]).lateness_s()


async def settle(place: Place, journal: Journal, until_at: datetime) -> Ledger:
    """End it once what was due until then has run: who is a second behind has lost nothing."""
    waiting = {each.id for each in await steady_ones(place)}

    async def all_have_run() -> bool:
        ahead = [each for each in await steady_ones(place) if each.next_run_at and each.next_run_at >= until_at]
        waiting.difference_update(each.id for each in ahead if not each.is_running)
        return not waiting

    await until_true(all_have_run, "slots of the last stretch run", DEADLINE_S)
    place.scheduler.terminate()
    assert await asyncio.to_thread(place.scheduler.wait) == 0, place.nursery.log_text()[-3000:]
    async with place.stage.stores() as stores:
        return await read_ledger(stores, journal.entries())


async def steady_ones(place: Place) -> list[Endpoint]:
    async with place.stage.stores() as stores:
        return await stores.endpoints.endpoints("default", EndpointFilter(job_id=JOB, limit=2 * STEADY))


@dataclass(frozen=True)
class Told:
    """What two places of one kind have to tell of the same time: how late the endpoints were that nobody advises."""

    kind: str
    bad_s: list[float]
    good_s: list[float]

    def losses(self, is_long: bool) -> list[str]:
        """What the bad place lost: slots, or time."""
        few = len(self.bad_s) * SHARE_MAX < len(self.good_s) - STEADY  # one each may be on either side of an end
        lost = [f"{self.kind}: {len(self.bad_s)} slots, not {len(self.good_s)}"] if few else []
        for share in (0.5, 0.9):
            if percentile(self.bad_s, share) > SHARE_MAX * percentile(self.good_s, share) + CHANCE_S[is_long]:
                lost.append(f"{self.kind}: p{share * 100:.0f} {ms(self.bad_s, share)} ms, not {ms(self.good_s, share)}")
        return lost

    def figures(self) -> dict[str, str]:
        shares = {
            f"p{share * 100:.0f}_ms": (ms(self.bad_s, share), ms(self.good_s, share)) for share in (0.5, 0.9, 0.99)
        }
        pairs = {"slots": (len(self.bad_s), len(self.good_s)), **shares}
        return {"database": self.kind, **{name: f"{bad}/{good}" for name, (bad, good) in pairs.items()}}


@dataclass
class Theatre:
    """Two places of each kind: plays bad planners, one after another, at one of them, and compares it to the other."""

    stages: dict[Key, Stage]
    journal: Journal
    server: ModelServer
    log_file: Path
    kills: int = 0
    ledgers: dict[Key, Ledger] = field(default_factory=dict)

    async def play(self, seconds: float, *planners: Bad, inside: bool = False) -> list[Told]:
        model = {"model": "openai:small", "model_url": self.server.model_url("openai"), "model_key": "none"}
        with Nursery({}, self.log_file) as nursery:
            places = await open_places(self.stages, nursery, self.journal, model, inside)
            beside = [places[kind, "bad"] for kind in KINDS]
            legs = [await let_be_bad(beside, planner, seconds) for planner in planners]
            self.ledgers = {key: await settle(place, self.journal, legs[-1][1]) for key, place in places.items()}
            self.kills = list(nursery.exit_codes.values()).count(-9)
        steady = {key: only(ledger, JOB) for key, ledger in self.ledgers.items()}
        return [
            Told(kind, late_s(steady[kind, "bad"], leg), late_s(steady[kind, "good"], leg))
            for leg in legs
            for kind in KINDS
        ]

    def assert_only_advised(self, somebody_did: bool = True) -> None:
        """Whatever became of the advised ones, it is within their limits; somebody did advise, or it says nothing."""
        for kind in KINDS:
            ledger = self.ledgers[kind, "bad"]
            assert_baseline(only(ledger, JOB))
            assert_within_limits(only(ledger, ADVISED_JOB))
            assert EventType.HINT_WRITTEN in {event.type for event in ledger.events} or not somebody_did


@pytest.fixture
def theatre(tmp_path: Path, postgres_url: str, postgres_shelf: Shelf, journal: Journal, seed: int) -> Iterator[Theatre]:
    other_name, other_url = postgres_shelf.take()
    urls: dict[Key, str] = {
        ("sqlite", "bad"): f"sqlite://{tmp_path}/bad.db",
        ("sqlite", "good"): f"sqlite://{tmp_path}/good.db",
        ("postgres", "bad"): postgres_url,
        ("postgres", "good"): other_url,
    }
    stages = {key: Stage(url, folder(tmp_path / "-".join(key))) for key, url in urls.items()}
    with serving_models(*hostile_replies(seed)) as server:
        yield Theatre(stages, journal, server, tmp_path / "log")
    postgres_shelf.give_back(other_name)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A short run has all three one after another; a long one has each by itself, in minutes."""
    if "part" in metafunc.fixturenames:
        every = (stands_still, dies, obeys)
        parts = [(each,) for each in every] if metafunc.config.getoption("--long") else [every]
        metafunc.parametrize("part", parts, ids=lambda part: "-".join(each.__name__ for each in part))


async def test_bad_planner_takes_nothing_from_the_baseline(
    theatre: Theatre, part: tuple[Bad, ...], long_run: bool, figures: Figures
) -> None:
    told = await theatre.play(LONG_S if long_run else SHORT_S, *part)

    figures(kills=theatre.kills, model_requests=len(theatre.server.requests))
    for planner, each in zip([planner.__name__ for planner in part for _ in KINDS], told, strict=True):
        figures(planner=planner, **each.figures())
    assert theatre.kills > len(KINDS) or dies not in part
    theatre.assert_only_advised(somebody_did=part != (stands_still,))
    assert [loss for each in told for loss in each.losses(long_run)] == []


async def test_planner_that_obeys_inside_the_scheduler_takes_nothing_either(
    theatre: Theatre, long_run: bool, figures: Figures
) -> None:
    told = await theatre.play(LONG_S if long_run else SHORT_S, obeys_inside, inside=True)

    for each in told:
        figures(model_requests=len(theatre.server.requests), **each.figures())
    theatre.assert_only_advised()
    assert [loss for each in told for loss in each.losses(long_run)] == []


async def test_who_does_take_something_is_found_out(theatre: Theatre, figures: Figures) -> None:
    """The negative control: the same places, the same comparison, and somebody who keeps everybody from writing."""
    for each in await theatre.play(5, takes_it_all):
        figures(**each.figures())
        assert each.losses(is_long=True) != []


@pytest.mark.parametrize(
    ("later_s", "slots", "is_long", "found"),
    [
        (0.02, 80, True, 2),
        (0.02, 80, False, 0),
        (9.0, 80, False, 2),
        (0.0, 40, False, 1),
    ],
    ids=["later, in a long run", "later, in a short one", "standing still", "half of the slots"],
)
def test_what_each_run_can_find(later_s: float, slots: int, is_long: bool, found: int) -> None:
    good_s = [0.0005 * place for place in range(80)]

    assert len(Told("sqlite", [late + later_s for late in good_s[:slots]], good_s).losses(is_long)) == found


def ms(late: Sequence[float], share: float) -> float:
    return round(1_000 * percentile(late, share), 1)


def assert_baseline(ledger: Ledger) -> None:
    """Every slot, when it was due, for no other reason than the schedule."""
    assert {(run.status, run.attempt, run.source) for run in ledger.runs} == {
        (RunStatus.SUCCESS, 1, "baseline-interval")
    }
    assert ledger.lost() == []
    assert ledger.early() == []


def assert_within_limits(ledger: Ledger) -> None:
    for endpoint_id in ledger.endpoints:
        slots = sorted(run.slot_at for run in ledger.runs if run.endpoint_id == endpoint_id)
        assert all(after - before >= timedelta(milliseconds=LEAST_MS) for before, after in pairwise(slots))


def folder(path: Path) -> Path:
    path.mkdir()
    return path

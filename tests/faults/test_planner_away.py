"""R26: a planner that stands still, dies or obeys a hostile model takes nothing from the baseline.

Two databases of each kind, each with a scheduler and the same endpoints, at the same time: one has a bad planner beside
it, a process of its own, and one has none. So whatever else the machine does, it does to both, and the lateness of one
can be compared with that of the other. The schedulers' own planners fail at every page: the bad one is the only one.
"""

import asyncio
import random
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import pairwise, product
from pathlib import Path
from typing import Any

from mainspring.domain.endpoint import Job, JobStatus
from mainspring.domain.event import Event, EventType
from mainspring.domain.instant import rfc3339
from mainspring.domain.run import RunStatus, slot_id
from mainspring.operations.endpoints import Desk
from mainspring.operations.rules import add_rules, find_owner
from tests.faults.conftest import Figures
from tests.faults.ledger import Ledger, percentile, read_ledger
from tests.faults.nursery import COMMAND, PRELOAD, Nursery, Worker
from tests.faults.stage import JOB, Stage, calling, fill
from tests.harness.shelf import Shelf
from tests.harness.waiting import holds_for, until
from tests.peers.journal import Journal
from tests.peers.model_server import ModelServer, Reply, says, serving_models

STEADY, ADVISED = 20, 6  # endpoints that nobody advises, which are the baseline, and endpoints that planners fight for
ADVISED_JOB = "job_advised"
EVERY_MS, LEAST_MS = 500, 1_000
TIMEOUT_MS = 30_000  # what is slow here is the machine, and no fault of an endpoint
FACTOR_MAX = 5
UNNOTICED_S = {False: 2.0, True: 0.02}  # shorter delays count as this long; in a short run, they may be chance
SLOW = "advised-0"  # nearly always running, and aimed at by all: what stands still with a lock has one on a live run
RULE = {"name": "hurry", "when": "duration_ms >= 0", "interval": "1s", "ttl": "1m", "target": SLOW}
DEADLINE_S = 120.0  # for what is waited for before a stretch begins: a busy machine may take long to start a process
FIRST_REQUESTS = 8  # of two planners with four sessions at once each
TOOLS = ("propose_interval", "propose_next_time", "pause_until", "clear_hints", "get_response_history", "drop_table")


Key = tuple[str, str]


@dataclass
class Place:
    """One database with its scheduler, the endpoints in it, and the planners beside it."""

    stage: Stage
    nursery: Nursery
    scheduler: Worker
    planners: list[Worker] = field(default_factory=list)

    def plan(self, points: str = "", **settings: object) -> Worker:
        self.planners.append(self.nursery.start({COMMAND: "planner", **self.stage.env(points, **settings)}))
        return self.planners[-1]


Bad = Callable[[Place, asyncio.Event], Coroutine[Any, Any, None]]
"""Has bad planners beside a place until it is cancelled; says when the first one is bad."""


async def stands_still(place: Place, begun: asyncio.Event) -> None:
    """With what it judged in its hands; on PostgreSQL also with a lock on everybody it advises."""
    where = "before_plan" if place.stage.is_sqlite else "inside_plan"
    planner = place.plan(f"{where}=stop")
    await until(lambda: planner.is_stopped, "a planner stands still", DEADLINE_S)
    begun.set()
    await asyncio.Event().wait()


async def dies(place: Place, begun: asyncio.Event) -> None:
    while True:
        planner = place.plan("before_plan=kill:0.15,after_plan=kill:0.15")
        await until(lambda planner=planner: not planner.is_running, "a planner dies at its page", DEADLINE_S)  # type: ignore[misc]  # bound now
        begun.set()


def obeys(server: ModelServer) -> Bad:
    async def hostile(place: Place, begun: asyncio.Event) -> None:
        place.plan(model="openai:small", model_url=server.model_url("openai"), model_key="none")
        await until(lambda: len(server.requests) > FIRST_REQUESTS, "a model is told what its tools did", DEADLINE_S)
        begun.set()
        await asyncio.Event().wait()

    return hostile


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


async def open_places(stages: dict[Key, Stage], nursery: Nursery, journal: Journal) -> dict[Key, Place]:
    """All schedulers first, so that all begin at the same time."""
    places = {
        key: Place(stage, nursery, nursery.start(stage.env("before_plan=raise", lease_margin="30s")))
        for key, stage in stages.items()
    }
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


async def settle(place: Place, journal: Journal) -> Ledger:
    place.scheduler.terminate()
    assert await asyncio.to_thread(place.scheduler.wait) == 0, place.nursery.log_text()[-3000:]
    async with place.stage.stores() as stores:
        return await read_ledger(stores, journal.entries())


async def test_bad_planner_takes_nothing_from_the_baseline(
    tmp_path: Path,
    postgres_url: str,
    postgres_shelf: Shelf,
    journal: Journal,
    long_run: bool,
    seed: int,
    figures: Figures,
) -> None:
    seconds = 100 if long_run else 2
    other_name, other_url = postgres_shelf.take()
    urls: dict[Key, str] = {
        ("sqlite", "bad"): f"sqlite://{tmp_path}/bad.db",
        ("sqlite", "good"): f"sqlite://{tmp_path}/good.db",
        ("postgres", "bad"): postgres_url,
        ("postgres", "good"): other_url,
    }
    troubled: list[Key] = [("sqlite", "bad"), ("postgres", "bad")]
    model = {PRELOAD: "pydantic_ai.models.openai"}
    with Nursery(model, tmp_path / "log") as nursery, serving_models(*hostile_replies(seed)) as server:
        stages = {key: Stage(url, folder(tmp_path / "-".join(key))) for key, url in urls.items()}
        places = await open_places(stages, nursery, journal)
        beside = [places[key] for key in troubled]
        legs = {
            "stands still": await let_be_bad(beside, stands_still, seconds),
            "dies": await let_be_bad(beside, dies, seconds),
            "obeys": await let_be_bad(beside, obeys(server), seconds),
        }
        ledgers = {key: await settle(place, journal) for key, place in places.items()}
        kills = list(nursery.exit_codes.values()).count(-9)
    postgres_shelf.give_back(other_name)

    figures(kills=kills, model_requests=len(server.requests))
    factors = {}
    for kind, leg in product(("sqlite", "postgres"), legs):
        bad, good = (late_s(only(ledgers[kind, which], JOB), legs[leg]) for which in ("bad", "good"))
        factors[kind, leg] = percentile(bad, 0.5) / max(percentile(good, 0.5), UNNOTICED_S[long_run])
        said = {f"p{share}_ms": f"{ms(bad, share)}/{ms(good, share)}" for share in (50, 90, 99)}
        figures(database=kind, planner=leg, slots=f"{len(bad)}/{len(good)}", **said)
    for kind in ("sqlite", "postgres"):
        assert_baseline(only(ledgers[kind, "bad"], JOB))
        assert_within_limits(only(ledgers[kind, "bad"], ADVISED_JOB))
    assert kills > len(troubled)
    assert EventType.HINT_WRITTEN in {event.type for place in troubled for event in ledgers[place].events}
    assert max(factors.values()) <= FACTOR_MAX, factors


def ms(late: Sequence[float], share: int) -> float:
    return round(1_000 * percentile(late, share / 100), 1)


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

"""Targets that hang or answer slowly, at the default settings: quick endpoints start on time, `why` explains a queue.

Only the database, the folder and the networks that may be called are set.
"""

import asyncio
import json
import subprocess
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from mainspring.domain.schedule.fairness import PER_HOST, PLACES, for_new
from tests.actions import http_of
from tests.faults.conftest import Figures
from tests.faults.ledger import percentile
from tests.faults.random_kills import start_workers
from tests.faults.stage import Stage, calling, fill
from tests.faults.worker_forker import Nursery
from tests.harness.pace import Pace
from tests.harness.processes import COMMAND, clean_environment
from tests.harness.waiting import until
from tests.peers.hanging import Hanging
from tests.peers.journal import Entry, Journal

HEALTHY = 50
HANGING_HOSTS = 200
DEFAULT_TIMEOUT_MS = 30_000
MEASURED_S = 10
SET = ("MAINSPRING_DATABASE_URL", "MAINSPRING_DATA_DIR", "MAINSPRING_ALLOW_CIDRS", "MAINSPRING_LOG_FORMAT")


def default_env(stage: Stage, failpoints: str = "", **settings: object) -> dict[str, str]:
    wanted = {*SET, "MAINSPRING_FAILPOINTS", *(f"MAINSPRING_{name.upper()}" for name in settings)}
    return {name: value for name, value in stage.env(failpoints, **settings).items() if name in wanted}


def slot_s(entry: Entry) -> float:
    return datetime.fromisoformat(entry.slot).timestamp()


def lateness_s(entries: Sequence[Entry], since: float = 0.0) -> list[float]:
    """How long after their slots the calls arrived, of those whose slot was not before `since`."""
    slots = [(each.at, slot_s(each)) for each in entries]
    return sorted(at - slot for at, slot in slots if slot >= since)


async def lateness_beside_hanging_hosts(
    stage: Stage, journal: Journal, folder: Path, env: dict[str, str], hanging_places: int, per_host: int = 5
) -> tuple[list[float], int]:
    """How late healthy endpoints start while hosts hang, and how many calls hang meanwhile.

    The healthy ones have run before; a thousand endpoints at 200 hosts then become due within two seconds.
    """
    with Hanging(folder / "taken") as hanging, Nursery(env, folder / "log") as nursery:
        async with stage.stores() as stores:
            begin = await stores.schedule.now() + timedelta(seconds=3)
            await fill(
                stores,
                [
                    calling(journal.url(f"/{number}"), begin + timedelta(milliseconds=20 * number), 1_000, 30_000)
                    for number in range(HEALTHY)
                ],
            )
            count = HANGING_HOSTS * per_host
            await fill(
                stores,
                [
                    calling(
                        hanging.url(number % HANGING_HOSTS, f"/{number}"),
                        begin + timedelta(seconds=2, milliseconds=2_000 * number / count),
                        60_000,
                        DEFAULT_TIMEOUT_MS,
                    )
                    for number in range(count)
                ],
            )
            await start_workers(nursery, 1)
            await until(lambda: hanging.taken >= min(count, hanging_places), "the hosts hang", 60)
            since = time.time()
            await until(lambda: time.time() >= since + MEASURED_S + 1, "they hang for a while", MEASURED_S + 60)
            taken = hanging.taken
    entries = [each for each in journal.entries() if each.at >= since]
    missing_s = [MEASURED_S] * max(0, HEALTHY * MEASURED_S - len(entries))  # never started: as late as can be seen
    return sorted([*lateness_s(entries, since), *missing_s]), taken


async def test_healthy_endpoints_start_on_time_beside_200_hosts_that_hang(
    stage: Stage, journal: Journal, tmp_path: Path, figures: Figures, pace: Pace
) -> None:
    late, taken = await lateness_beside_hanging_hosts(stage, journal, tmp_path, default_env(stage), for_new(PLACES))

    figures(hanging=taken, calls=len(late), p50=round(percentile(late, 0.5), 3), p99=round(percentile(late, 0.99), 3))
    assert taken == for_new(PLACES)
    assert sum(each >= MEASURED_S for each in late) <= HEALTHY  # on a busy machine a slot may come after the last look
    assert percentile(late, 0.99) <= pace.fair(1.0)


@pytest.mark.parametrize("stage", ["sqlite"], indirect=True)
async def test_without_places_of_their_own_they_wait_for_those_that_hang(
    stage: Stage, journal: Journal, tmp_path: Path, figures: Figures
) -> None:
    """The negative control. It has fewer places than a tenant's slow runs may take, or these would be held back too."""
    env = default_env(stage, "no_quick_share", concurrency=200)

    late, taken = await lateness_beside_hanging_hosts(stage, journal, tmp_path, env, 200 - HEALTHY)

    figures(hanging=taken, calls=len(late), p99=round(percentile(late, 0.99), 3))
    assert percentile(late, 0.99) > 5


async def test_gateway_that_answers_in_a_second_carries_a_thousand_endpoints_every_minute(
    stage: Stage, journal: Journal, tmp_path: Path, figures: Figures, pace: Pace
) -> None:
    with Nursery(default_env(stage), tmp_path / "log") as nursery:
        async with stage.stores() as stores:
            first_at = await stores.schedule.now()
            spread = [first_at + timedelta(milliseconds=60 * number) for number in range(1_000)]
            urls = [journal.url(f"/{number}?delay_ms=1000") for number in range(1_000)]
            await fill(stores, [calling(url, at, 60_000, 30_000) for url, at in zip(urls, spread, strict=True)])
            await start_workers(nursery, 1)
            begin = time.time() + 2  # what was due while they were stored is called by then
            end = begin + MEASURED_S
            await until(lambda: any(slot_s(each) >= end for each in journal.entries()), "ten seconds of calls", 180)
            await until(lambda: time.time() >= end + 1, "those that started last arrive")

    called = sum(begin <= slot_s(each) < end for each in journal.entries())
    late = lateness_s(journal.entries(), begin)
    figures(calls_per_s=round(called / MEASURED_S, 1), p99=round(percentile(late, 0.99), 3))
    assert percentile(late, 0.99) <= pace.fair(1.0)
    assert called / MEASURED_S >= 16 / pace.fair(1.0)


async def test_why_names_the_gateway_its_limit_and_the_queue(
    stage: Stage, journal: Journal, tmp_path: Path, figures: Figures
) -> None:
    env = default_env(stage)
    with Nursery(env, tmp_path / "log") as nursery:
        async with stage.stores() as stores:
            due_at = await stores.schedule.now()
            herd = [calling(journal.url(f"/{number}?delay_ms=1000"), due_at, 60_000, 30_000) for number in range(1_000)]
            await fill(stores, [*herd[:-1], calling(journal.url("/last"), due_at + timedelta(milliseconds=1), 60_000)])
            await start_workers(nursery, 1)
            await until(lambda: len(journal.entries()) >= PER_HOST, "the gateway is full")
            command = [*COMMAND, "why", (await last_of(stage)), "-o", "json"]
            said = await asyncio.to_thread(
                subprocess.run, command, env=clean_environment() | env, capture_output=True, text=True, check=True
            )
            began = journal.entries()[0].at
            await until(lambda: len(journal.entries()) >= 6 * PER_HOST, "it goes on", 60)
            rate = 5 * PER_HOST / (journal.entries()[6 * PER_HOST - 1].at - began)

    why = json.loads(said.stdout)
    waiting = why["waiting"]
    figures(waiting=waiting["waiting"], calls_per_s=round(rate, 1))
    assert (waiting["cause"], waiting["name"]) == ("host", f"127.0.0.1:{journal.port}")
    assert (waiting["limit"], waiting["setting"]) == (str(PER_HOST), "MAINSPRING_CONCURRENCY_PER_HOST")
    assert 1 < waiting["waiting"] < 1_000
    assert why["sentences"][1] == waiting["text"]
    assert max(each.in_flight for each in journal.entries()) <= PER_HOST


async def test_rate_of_a_host_holds_over_two_schedulers(
    stage: Stage, journal: Journal, tmp_path: Path, figures: Figures
) -> None:
    count, per_s = 40, 10
    env = default_env(stage, host_limits=f"127.0.0.1:{journal.port} = {per_s}/s, burst 2")
    with Nursery(env, tmp_path / "log") as nursery:
        async with stage.stores() as stores:
            await start_workers(nursery, 2)
            due_at = await stores.schedule.now()
            await fill(stores, [calling(journal.url(f"/{number}"), due_at, 3_600_000) for number in range(count)])
            await until(lambda: len(journal.entries()) >= count, "all are called", 60)

    at = sorted(each.at for each in journal.entries())
    span_s = at[-1] - at[0]
    figures(calls=len(at), span_s=round(span_s, 2), calls_per_s=round((count - 1) / span_s, 1))
    assert len(at) == count
    assert span_s >= (count - 2) / per_s - 0.5  # a call may arrive a moment after its start


async def last_of(stage: Stage) -> str:
    """The name of the endpoint whose turn comes last."""
    async with stage.stores() as stores:
        (endpoint,) = [
            each for each in await stores.look.upcoming("default", 2_000) if http_of(each).url.endswith("/last")
        ]
    return endpoint.name

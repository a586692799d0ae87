"""No request holds the process: a real `mainspring serve` under the largest and worst input of every route.

Measured is the longest turn of its event loop, in processor time of the loop's own thread, so a busy machine does not
count; and how long it takes to end after SIGTERM while the worst input is being worked on. The short version sends what
is likely to be slow; `pytest --long tests/api/test_worst_input.py` sends all of it, on both databases.
"""

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from httpx2 import AsyncClient, Response

from mainspring.domain.access.scope import Scope
from mainspring.wiring.stores import open_stores
from tests.api.acting import URL, Json
from tests.api.every import RANDOM, WAITS, Operation
from tests.api.people import a_key
from tests.api.worst import EXPRESSION, Sent, endpoints, path_of, steps, worst_of
from tests.faults.conftest import Figures, figures, pace, seed
from tests.harness.contained import LoopProbe
from tests.harness.pace import Pace
from tests.harness.processes import Process, Processes
from tests.harness.waiting import until_true
from tests.stores.databases import IN_MEMORY, is_sqlite, query

__all__ = ["figures", "pace", "seed"]

LONGEST_S = 0.1
GRACE_S = 10  # MAINSPRING_SHUTDOWN_GRACE by default
AT_ONCE = 500
TRIES = 3  # a collection of all garbage may fall into any turn
NEVER_SENT = {
    "stream_events": "it does not end",
    "verify_partitions": "it walks everything there is, for minutes; `verify_execution` walks the same way",
    "delete_endpoint": "what the others are measured with would be gone",
}


class World:
    """A server with as much in it as its routes can be asked for."""

    def __init__(self, process: Process, probe: LoopProbe, api: AsyncClient, url: str, applied: int, runs: int) -> None:
        self.process, self.probe, self.api, self.url = process, probe, api, url
        self.applied, self.runs = applied, runs
        self.ids: dict[str, str] = dict(RANDOM)
        self.slow: list[tuple[str, object, str]] = []
        self.turns: list[tuple[float, str]] = []  # the longest turn of each request

    async def fill(self) -> None:
        for first in range(0, self.applied, AT_ONCE):
            await self.make("/api/v1/config/apply", {"document": endpoints(AT_ONCE, first)})
        big = await self.make("/api/v1/endpoints", {"name": "big", "url": URL, "every": "1h", "job": "big"})
        await self.make(f"/api/v1/endpoints/{big['id']}/run", {})
        self.ids |= {"endpoint": big["id"], "job": "big"}
        runs = await until_true(self._runs, "a run has ended")
        self.ids["run"] = runs[0]["id"]
        await self.multiply_runs()
        rules = [{"when": EXPRESSION, "interval": "1m", "name": f"r{n}"} for n in range(10)]
        for rule in rules:
            made = await self.make("/api/v1/rules", {"job": "big", "rule": rule})
        self.ids["rule_id"] = made["id"]
        self.ids["webhook"] = (await self.make("/api/v1/webhooks", {"url": URL, "types": ["run.missed"]}))["id"]
        alert = await self.make("/api/v1/alerts", {"name": "ops", "to": ["ops@example.com"]})
        self.ids["alert"] = alert["id"]
        await self.fill_flows()

    async def fill_flows(self) -> None:
        await self.make("/api/v1/workflows", {"document": WAITS})
        await self.make("/api/v1/workflows", {"document": steps(1_000, "long")})
        await self.make("/api/v1/workflows", {"document": steps(999, "long")})
        many = [{"correlation": "all", "input": {}} for _ in range(1_000)]
        await self.make("/api/v1/workflows/waits/start-many", {"executions": many})
        started = await self.make("/api/v1/workflows/long/start", {})
        self.ids |= {"workflow": "long", "execution": started["id"], "version": "1"}
        await until_true(self._has_ended, "the long execution ends", 300)

    async def _has_ended(self) -> bool:
        found = (await self.api.get(f"/api/v1/executions/{self.ids['execution']}")).json()
        return found["status"] not in ("running", "waiting", "pending", "new")

    async def _runs(self) -> list[Json]:
        found = (await self.api.get(f"/api/v1/runs?endpoint={self.ids['endpoint']}&status=failed")).json()
        return list(found["items"])

    async def multiply_runs(self) -> None:
        """Runs with bodies as large as a default endpoint keeps, for the routes that read many."""
        body = json.dumps({"items": [{"n": n, "text": "x" * 20} for n in range(400)]})
        value = f"CAST('{body}' AS BLOB)" if is_sqlite(self.url) else f"convert_to('{body}', 'UTF8')"
        run = self.ids["run"]
        await query(self.url, f"UPDATE run SET body = {value} WHERE id = '{run}'")
        sql = "SELECT name FROM pragma_table_info('run')" if is_sqlite(self.url) else (
            "SELECT column_name FROM information_schema.columns WHERE table_name = 'run' AND is_generated = 'NEVER'"
        )  # fmt: skip
        names = [str(name) for (name,) in await query(self.url, sql)]
        others = ", ".join(name for name in names if name != "id")
        series = f"WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {self.runs})"
        await query(
            self.url,
            f"{series} INSERT INTO run (id, {others}) SELECT id || '_' || n, {others} FROM run, s WHERE id = '{run}'",
        )

    async def make(self, path: str, body: Json) -> Json:
        """What the test is filled with is large itself: it is measured too."""
        await asyncio.to_thread(self.probe.clear)  # it cannot be tried again
        seconds, answer, where = await self.measured("POST", path, json.dumps(body).encode(), {})
        assert answer.status_code < 300, (path, answer.text[:1_000])
        self.note(f"filling {path}", seconds, where)
        return dict(answer.json())

    async def measured(
        self, method: str, path: str, content: bytes | None, headers: dict[str, str]
    ) -> tuple[float, Response, str]:
        await asyncio.to_thread(self.probe.longest)
        answer = await self.api.request(
            method, path, content=content, headers={"Content-Type": "application/json", **headers}, timeout=120
        )
        seconds, where = await asyncio.to_thread(self.probe.longest)
        return seconds, answer, where

    def note(self, what: str, seconds: float, where: str) -> None:
        if seconds > LONGEST_S:
            self.slow.append((what, round(seconds, 3), where))

    async def try_worst(self, operation: Operation, sent: Sent) -> None:
        what = f"{operation.id}: {sent.kind}"
        for _ in range(TRIES):
            seconds, answer, where = await self.measured(
                operation.method.upper(), self.path(operation, sent), sent.content, sent.headers
            )
            if seconds <= LONGEST_S:
                break
            await asyncio.to_thread(self.probe.clear)
        self.turns.append((round(seconds, 3), what))
        if answer.status_code >= 500:
            self.slow.append((what, answer.status_code, answer.text[:500]))
        self.note(what, seconds, where)

    async def ask(self, operation: Operation, sent: Sent) -> int:
        request = self.api.build_request(
            operation.method.upper(), self.path(operation, sent), content=sent.content, headers=sent.headers
        )
        return (await self.api.send(request)).status_code

    def path(self, operation: Operation, sent: Sent) -> str:
        ids = self.ids | ({"workflow": "waits"} if operation.id.startswith("start_") else {})  # not a million steps
        return path_of(operation, ids) + sent.query.format(**ids)


@pytest.fixture(params=["sqlite", "postgres"])
async def world(
    request: pytest.FixtureRequest, processes: Processes, tmp_path: Path, long_run: bool
) -> AsyncIterator[World]:
    with TemporaryDirectory(dir=IN_MEMORY) as folder:
        if request.param == "sqlite":
            url = f"sqlite://{folder}/mainspring.db"
        else:
            url = request.getfixturevalue("postgres_url")
        process, base = start(processes, url, Path(folder))
        async with open_stores(url) as stores:
            key = await a_key(stores, *Scope, is_operator=True)
        headers = {"Authorization": f"Bearer {key}"}
        async with AsyncClient(base_url=base, headers=headers, timeout=120) as api:
            applied, runs = (10_000, 3_000) if long_run else (2_000, 500)
            yield World(process, LoopProbe(f"{folder}/watch"), api, url, applied, runs)


def start(processes: Processes, url: str, folder: Path) -> tuple[Process, str]:
    env = {
        "LOOP_WATCH": f"{folder}/watch",
        "MAINSPRING_DATABASE_URL": url,
        "MAINSPRING_DATA_DIR": str(folder),
        "MAINSPRING_LOG_LEVEL": "warning",
        "MAINSPRING_API_REQUESTS_PER_MINUTE": "0",
        "MAINSPRING_API_REQUESTS_PER_MINUTE_OF_TENANT": "0",
    }
    command = [sys.executable, "-m", "tests.harness.contained", "serve", "--port", "0"]
    process = processes.start_command(command, env=env)
    return process, process.wait_for("listening on").split()[-1]


async def operations_of(api: AsyncClient) -> tuple[Json, list[Operation]]:
    """Those that take something away come last: what the others are measured with would be gone."""
    document = (await api.get("/api/v1/openapi.json")).json()
    found = [Operation(method, path, each) for path, item in document["paths"].items() for method, each in item.items()]
    kept = [each for each in found if each.id not in NEVER_SENT]
    return document, sorted(kept, key=lambda each: (takes_away(each), each.method != "get"))


def takes_away(operation: Operation) -> bool:
    return operation.method == "delete" or operation.id.startswith(("archive", "cancel", "erase", "order"))


async def test_no_input_of_any_route_holds_the_event_loop(world: World, long_run: bool, figures: Figures) -> None:
    if not (long_run or is_sqlite(world.url)):
        pytest.skip("takes half a minute; run it with --long")
    await world.fill()
    document, operations = await operations_of(world.api)
    for operation in operations:
        for each in worst_of(operation, document, world.applied, thorough=long_run):
            await world.try_worst(operation, each)

    longest = sorted(world.turns, reverse=True)[:5]
    figures(requests=len(world.turns), operations=len(operations), longest_turns=longest)
    assert {what.partition(":")[0] for _, what in world.turns} == {each.id for each in operations}
    assert world.slow == []


async def test_sigterm_ends_the_process_within_the_grace_whatever_it_works_on(
    world: World, long_run: bool, figures: Figures, pace: Pace
) -> None:
    """All of the worst inputs are sent at once, and some are being worked on when the signal comes."""
    document, operations = await operations_of(world.api)
    await world.make("/api/v1/workflows", {"document": WAITS})
    sent = [
        (operation, each)
        for operation in operations
        for each in worst_of(operation, document, world.applied, thorough=long_run)
        if each.content is not None and not takes_away(operation)
    ]
    asking = [asyncio.create_task(world.ask(*each)) for each in sent]
    await asyncio.wait(asking, return_when=asyncio.FIRST_COMPLETED)
    told_at = time.monotonic()
    code = await asyncio.to_thread(world.process.terminate)
    ended_s = time.monotonic() - told_at
    answers = await asyncio.gather(*asking, return_exceptions=True)

    figures(requests=len(sent), cut=sum(isinstance(each, Exception) for each in answers), ended_after_s=ended_s)
    assert code == 0
    assert ended_s <= GRACE_S + pace.fair(2)
    assert "Traceback" not in world.process.output


async def test_work_on_the_loop_itself_is_noticed(world: World) -> None:
    """The negative control: the same watch, while the loop is made to work for longer than allowed."""
    await asyncio.to_thread(world.probe.clear)
    seconds, where = await asyncio.to_thread(world.probe.hold, 2 * LONGEST_S)

    assert seconds > LONGEST_S
    assert "_hold" in where

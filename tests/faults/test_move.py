"""An installation moves to another database while `serve` calls its endpoints: no slot is lost, none runs twice."""

import asyncio
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from mainspring.domain.run import RunStatus
from mainspring.ports.workflows import ExecutionFilter
from tests.faults.conftest import Figures
from tests.faults.ledger import Ledger, read_ledger
from tests.faults.random_kills import Tail
from tests.faults.stage import Stage, fill, steady_load
from tests.harness.processes import Process, Processes
from tests.harness.waiting import until
from tests.peers.journal import Journal
from tests.stores.databases import is_sqlite, query

CALL_MS = 5
BEFORE, AFTER = 100, 150  # calls before the move begins, and after the target was opened
OLD_RUNS = 3_000
WORKFLOW = """
name: steps
steps:
  - {id: one, wait: 2s}
  - {id: two, wait: 2s}
  - {id: three, wait: 2s}
  - {id: four, wait: 2s}
"""


@pytest.fixture(params=["sqlite to postgres", "postgres to sqlite"])
def stages(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Stage, Stage]:
    urls = f"sqlite://{tmp_path}/mainspring.db", str(request.getfixturevalue("postgres_url"))
    source, target = urls if request.param == "sqlite to postgres" else urls[::-1]
    return Stage(source, tmp_path).at_defaults(), Stage(target, tmp_path).at_defaults()


@pytest.fixture
def one_way(stages: tuple[Stage, Stage], long_run: bool) -> tuple[Stage, Stage]:
    """Both ways in `make faults`; they take minutes."""
    if not long_run and not stages[0].is_sqlite:
        pytest.skip("the other way runs in `make faults`")
    return stages


class Play:
    """A `serve` under load on the source, with an execution that waits again and again, and then one on the target."""

    def __init__(self, stages: tuple[Stage, Stage], journal: Journal, processes: Processes) -> None:
        self.source, self.target = stages
        self._journal = journal
        self._processes = processes
        self._tail = Tail(journal)

    async def begin(self) -> Process:
        async with self.source.stores() as stores:
            from_at = await stores.schedule.now() + timedelta(seconds=2)
            await fill(stores, steady_load(self._journal, from_at, CALL_MS, timeout_ms=30_000))
        file = self.source.folder / "steps.yaml"
        file.write_text(WORKFLOW)
        await self.command("workflow", "publish", str(file))
        await self.command("workflow", "start", "steps")
        server = await self.serve(self.source)
        await self.calls(BEFORE)
        await add_old_runs(self.source.url)
        return server

    async def serve(self, stage: Stage) -> Process:
        server = self._processes.start("serve", env=stage.env(port=0))
        await asyncio.to_thread(server.wait_for, "listening on http://")
        return server

    async def command(self, *arguments: str, failpoints: str = "") -> Process:
        """A command with the settings of the source, when it has ended."""
        process = self._processes.start(*arguments, env=self.source.env(failpoints))
        await asyncio.to_thread(process.wait)
        return process

    async def move(self, failpoints: str = "") -> tuple[int, str]:
        moving = await self.command("move", "--to", self.target.url, "--drain", "5s", failpoints=failpoints)
        return moving.wait(), moving.output

    async def calls(self, count: int) -> None:
        wanted = self._tail.grown() + count
        await until(lambda: self._tail.grown() >= wanted, "endpoints are called")

    async def end(self, server: Process) -> Ledger:
        """What happened, by the target's account."""
        async with self.target.stores() as stores:

            async def has_ended() -> bool:
                found = await stores.flows.workflows.executions("default", ExecutionFilter(limit=10))
                return [each.status.value for each in found] == ["completed"]

            for _ in range(600):
                if await has_ended():
                    break
                await asyncio.sleep(0.1)
            assert await has_ended()
            assert await asyncio.to_thread(server.terminate) == 0
            return await read_ledger(stores, self._journal.entries())

    def called_twice(self) -> list[tuple[str, int]]:
        """Slots that were called twice in the same attempt: by both databases."""
        calls = Counter((entry.webhook_id, entry.attempt) for entry in self._journal.entries())
        return [call for call, times in calls.items() if times > 1]


async def add_old_runs(url: str) -> None:
    """History that takes a while to copy."""
    numbers = f"WITH RECURSIVE series (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < {OLD_RUNS})"
    columns = (
        "tenant_id, endpoint_id, slot_at, attempt, trigger, source, started_at, worker, missed_count, trail, detail"
    )
    one = f"(SELECT {columns}, id FROM run WHERE status = 'success' ORDER BY id LIMIT 1) AS one"
    number = "printf('%06d', n)" if is_sqlite(url) else "lpad(n::text, 6, '0')"
    new_id = f"substr(one.id, 1, 10) || {number} || substr(one.id, 17)"
    await query(
        url,
        f"{numbers} INSERT INTO run (id, status, {columns}) SELECT {new_id}, 'missed', {columns} FROM series, {one}",
    )


def assert_nothing_lost_and_nothing_twice(ledger: Ledger) -> None:
    assert ledger.recorded_twice() == []
    assert ledger.moved_twice() == []
    assert ledger.lost() == []
    assert ledger.strangers() == []
    assert ledger.undelivered() == []
    assert ledger.ids_that_differ() == []


async def test_serve_under_load_moves_without_losing_or_doubling_a_slot(
    stages: tuple[Stage, Stage], journal: Journal, processes: Processes, figures: Figures
) -> None:
    play = Play(stages, journal, processes)
    old = await play.begin()

    code, told = await play.move()
    assert code == 0, told
    assert await asyncio.to_thread(old.wait) == 78
    assert "this installation has moved to" in old.output
    at_the_switch = len(journal.entries())
    new = await play.serve(play.target)
    await play.calls(AFTER)
    ledger = await play.end(new)
    verified = await asyncio.to_thread(processes.start("partition", "verify", env=play.target.env()).wait)

    figures(at_the_switch=at_the_switch, paused=told.partition("paused for ")[2][:5], **ledger.figures())
    assert_nothing_lost_and_nothing_twice(ledger)
    assert play.called_twice() == []
    assert ledger.count(RunStatus.MISSED) >= OLD_RUNS
    assert verified == 0


async def test_without_the_mark_in_the_source_slots_are_called_twice(
    one_way: tuple[Stage, Stage], journal: Journal, processes: Processes, figures: Figures
) -> None:
    """The negative control: the same with the guard off must fail, else the test above proves nothing."""
    play = Play(one_way, journal, processes)
    await play.begin()

    code, told = await play.move("no_leave")
    assert code == 0, told
    await play.serve(play.target)
    await until(lambda: len(play.called_twice()) > 10, "both call the same slots")

    figures(called_twice=len(play.called_twice()))


async def test_move_that_is_killed_again_and_again_ends_with_nothing_lost(
    one_way: tuple[Stage, Stage], journal: Journal, processes: Processes, figures: Figures, long_run: bool
) -> None:
    play = Play(one_way, journal, processes)
    old = await play.begin()
    often = "after_move_page=kill:0.05,after_move_changes=kill:0.1,after_move_compare=kill:0.03,before_leave=kill"
    kills: Counter[str] = Counter()
    for failpoints in (*[often] * (20 if long_run else 2), "before_leave=kill", "after_leave=kill"):
        code, told = await play.move(failpoints)
        kills[told.rpartition("failpoint ")[2].split(" ")[0]] += code == -9
        assert code == -9, told
        if failpoints != "after_leave=kill":
            assert old.is_running
            await play.calls(20)  # the source goes on
    code, told = await play.move()
    assert code == 0, told

    assert await asyncio.to_thread(old.wait) == 78
    new = await play.serve(play.target)
    await play.calls(AFTER)
    ledger = await play.end(new)

    figures(kills=dict(kills), **ledger.figures())
    assert kills["before_leave"] >= 1
    assert kills["after_leave"] == 1
    assert_nothing_lost_and_nothing_twice(ledger)
    assert play.called_twice() == []

"""The archive: days of runs and events as Parquet files, written before retention removes them."""

import os
import subprocess
import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import duckdb
import pytest

from mainspring.domain.run import Run
from mainspring.observe import Metrics
from mainspring.outbound.parquet import ParquetArchive
from mainspring.ports.archive import ArchiveFile
from mainspring.ports.records import RunFilter
from mainspring.ports.stores import Stores
from mainspring.workers.archive import HistoryArchiver
from mainspring.workers.janitor import Janitor, JanitorOptions
from tests.stores.databases import clock, shared_postgres_url, store_url, stores
from tests.stores.world import START, FixedClock, add, an_endpoint, claim, finished

__all__ = ["clock", "shared_postgres_url", "store_url", "stores"]

DAY = timedelta(days=1)
ALL = RunFilter(limit=1_000)


async def run_for(stores: Stores, clock: FixedClock, hours: int) -> list[Run]:
    """An endpoint that runs once an hour; returns its runs, newest first."""
    await add(stores, an_endpoint("hourly", interval_ms=3_600_000, next_run_at=clock.now()))
    for _ in range(hours):
        batch = await claim(stores)
        await stores.schedule.finish([finished(each) for each in batch.claims])
        clock.tick(seconds=3_600)
    return await stores.runs.runs("default", ALL)


def files_in(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def modes_in(folder: Path) -> set[int]:
    return {path.stat().st_mode & 0o777 for path in folder.rglob("*.parquet")}


def a_janitor(stores: Stores, archiver: HistoryArchiver, keep: timedelta) -> Janitor:
    options = JanitorOptions(keep_runs=keep, keep_events=keep, runs_per_endpoint_max=1)
    return Janitor(stores.upkeep, stores.runs, options, Metrics(), archiver=archiver)


async def test_every_day_that_is_over_is_one_file_for_each_tenant(
    stores: Stores, clock: FixedClock, tmp_path: Path
) -> None:
    runs = await run_for(stores, clock, 60)
    archive = ParquetArchive(tmp_path)

    reached = await HistoryArchiver(stores, archive).run_once(clock.now())

    files = files_in(tmp_path)
    days = sorted({run.started_at.date().isoformat() for run in runs if run.started_at < reached})
    assert len(days) == 2
    assert files == [f"{kind}/tenant=default/{day}.parquet" for kind in ("events", "runs") for day in days]
    assert list(archive.runs("default", None, None)) == [run for run in runs if run.started_at < reached]
    assert modes_in(tmp_path) == {0o600}


async def test_retention_removes_only_what_was_archived(stores: Stores, clock: FixedClock, tmp_path: Path) -> None:
    runs = await run_for(stores, clock, 60)
    archive = ParquetArchive(tmp_path)
    janitor = a_janitor(stores, HistoryArchiver(stores, archive), timedelta(hours=1))

    await janitor.run_once()

    left = await stores.runs.runs("default", ALL)
    archived = list(archive.runs("default", None, None))
    assert left
    assert archived
    assert sorted(run.id for run in (*left, *archived)) == sorted(run.id for run in runs)
    assert (await stores.runs.events_after("", "default", 1))[0].event.at >= archived[0].started_at


async def test_nothing_is_removed_if_a_file_cannot_be_written(
    stores: Stores, clock: FixedClock, tmp_path: Path
) -> None:
    runs = await run_for(stores, clock, 30)
    (tmp_path / "runs").write_text("in the way")

    with pytest.raises(OSError, match="runs"):
        await a_janitor(stores, HistoryArchiver(stores, ParquetArchive(tmp_path)), timedelta(hours=1)).run_once()

    assert await stores.runs.runs("default", ALL) == runs


async def test_day_with_a_run_that_has_not_ended_waits(stores: Stores, clock: FixedClock, tmp_path: Path) -> None:
    await run_for(stores, clock, 3)
    await claim(stores)
    clock.tick(seconds=2 * 86_400)
    archive = ParquetArchive(tmp_path)

    reached = await HistoryArchiver(stores, archive).run_once(clock.now())

    assert reached <= START + DAY
    assert [file for file in files_in(tmp_path) if file.startswith("runs")] == []


async def test_duckdb_reads_the_files_and_they_hold_no_body(stores: Stores, clock: FixedClock, tmp_path: Path) -> None:
    runs = await run_for(stores, clock, 30)
    archive = ParquetArchive(tmp_path)
    reached = await HistoryArchiver(stores, archive).run_once(clock.now())
    old = [run for run in runs if run.started_at < reached]

    counts = "SELECT tenant, status, COUNT(*), MAX(duration_ms)"
    counted = duckdb.execute(f"{counts} FROM read_parquet('{tmp_path}/runs/**/*.parquet') GROUP BY ALL").fetchall()
    told = duckdb.execute(f"SELECT DISTINCT type FROM read_parquet('{tmp_path}/events/**/*.parquet')").fetchall()
    columns = duckdb.execute(f"DESCRIBE SELECT * FROM read_parquet('{tmp_path}/runs/**/*.parquet')").fetchall()

    assert counted == [("default", "success", len(old), old[0].duration_ms)]
    assert ("run.finished",) in told
    assert {name for name, *_ in columns} == {*Run.__struct_fields__, "tenant"}


def test_file_that_was_not_finished_does_not_count_and_is_removed(tmp_path: Path) -> None:
    archive = ParquetArchive(tmp_path)
    day = START.date()

    def fail(file: ArchiveFile, runs: Sequence[Run]) -> None:
        file.add_runs(runs)
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError), archive.writing("runs", "acme", day) as file:
        fail(file, [])

    assert not archive.has("runs", "acme", day)
    assert list(tmp_path.rglob("*.parquet*")) == []
    with archive.writing("runs", "acme", day):
        pass
    assert archive.has("runs", "acme", day)


def test_killed_writer_leaves_no_part_of_a_day(tmp_path: Path) -> None:
    code = (
        "import sys, datetime, pathlib; from mainspring.outbound.parquet import ParquetArchive\n"
        "with ParquetArchive(pathlib.Path(sys.argv[1])).writing('runs', 'acme', datetime.date(2025, 1, 1)): pass"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    armed = {**os.environ, "MAINSPRING_FAILPOINTS": "before_archive_rename=kill"}

    assert subprocess.run(command, env=armed, check=False).returncode == -9
    assert list(tmp_path.rglob("[!.]*.parquet")) == []
    assert subprocess.run(command, check=False).returncode == 0
    assert files_in(tmp_path / "runs" / "tenant=acme")[-1] == "2025-01-01.parquet"


def test_tenant_cannot_leave_the_folder(tmp_path: Path) -> None:
    archive = ParquetArchive(tmp_path / "archive")
    with archive.writing("runs", "../../evil", START.date()):
        pass

    assert [path for path in tmp_path.rglob("*.parquet") if not path.is_relative_to(tmp_path / "archive")] == []

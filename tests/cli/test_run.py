"""`mainspring runs`, `run show` and `endpoint run`, beside the database and through its server."""

import asyncio
import time
from datetime import UTC, datetime
from pathlib import Path

from mainspring.domain.run import Run, RunStatus, RunTrigger
from mainspring.outbound.parquet import ParquetArchive
from tests.cli.local_and_remote import Pair
from tests.cli.shell import Shell
from tests.stores.world import an_outcome, claim, finished


async def test_manual_run_is_explained_as_manual(pair: Pair) -> None:
    await pair.json(
        "endpoint", "add", "health", "--url", "https://example.com/", "--every", "1h", "--min-interval", "30m"
    )
    await pair.json("endpoint", "run", "health")
    batch = await claim(pair.stores)
    await pair.stores.schedule.finish([finished(each, an_outcome()) for each in batch.claims])
    (run,) = await pair.json("runs")

    near, far = await pair.both("run", "show", run["id"])

    assert far == near
    assert "This run was requested manually at" in near
    assert "triggered by manual\n" in near
    assert "interval" not in near


async def test_waiting_without_a_scheduler_is_refused_at_once_and_requests_nothing(pair: Pair) -> None:
    await pair.json("endpoint", "add", "health", "--url", "https://example.com/", "--every", "1h")
    for shell in (pair.near, pair.far):
        message = await asyncio.to_thread(shell.refused, "endpoint", "run", "health", "--wait", code=4)

        assert message == (
            "no scheduler is running, so a run of 'health' would not start; --wait needs a scheduler: start one with "
            "`mainspring serve`, or leave --wait out to request the run for later"
        )
    assert (await pair.json("endpoint", "show", "health"))["run_requested_at"] is None


async def test_waiting_ends_with_its_timeout(pair: Pair) -> None:
    await pair.json("endpoint", "add", "health", "--url", "https://example.com/", "--every", "1h")
    await pair.stores.presence.appear("worker-1")
    await pair.stores.presence.beat("worker-1", {"scheduler": 1})
    for shell in (pair.near, pair.far):
        before = time.monotonic()
        command = ("endpoint", "run", "health", "--wait", "--timeout", "300ms")
        message = await asyncio.to_thread(shell.refused, *command, code=1)

        assert message.startswith("the run of 'health' has not ended within 300ms; it continues in the background")
        assert time.monotonic() - before < 20
    assert (await pair.json("endpoint", "show", "health"))["run_requested_at"] is not None


def test_archived_runs_are_listed_with_the_same_filters(shell: Shell, tmp_path: Path) -> None:
    endpoint = shell.add("health")
    started_at = datetime(2025, 1, 31, 12, tzinfo=UTC)
    ids = [f"run_{int(started_at.timestamp() * 1000) + number:012x}" for number in range(3)]
    statuses = (RunStatus.SUCCESS, RunStatus.TIMEOUT, RunStatus.SUCCESS)
    archived = [
        Run(id_, "default", endpoint["id"], started_at, 1, RunTrigger.SCHEDULE, "baseline", status, started_at)
        for id_, status in zip(ids, statuses, strict=True)
    ]
    with ParquetArchive(tmp_path / "archive").writing("runs", "default", started_at.date()) as file:
        file.add_runs(archived)

    assert "set MAINSPRING_ARCHIVE to its folder" in shell.refused("runs", "--archive", code=78)
    shell.env["MAINSPRING_ARCHIVE"] = str(tmp_path / "archive")
    assert [run["id"] for run in shell.json("runs", "--archive")] == ids[::-1]
    assert [run["id"] for run in shell.json("runs", "health", "--archive", "--status", "failed")] == [ids[1]]
    assert shell.json("runs", "--archive", "--since", "2025-02-01T00:00:00Z") == []
    assert shell.json("runs") == []

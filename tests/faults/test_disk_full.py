"""R18: a full disk stops writes, not the process; when there is room again, work goes on by itself.

Where the tests may mount a small file system (as root), the disk is really full. Elsewhere the process may not make its
files larger, which its writes notice in the same way.
"""

import os
import resource
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path

import apsw
import pytest

from tests.faults.conftest import Figures
from tests.faults.ledger import read_ledger
from tests.faults.process_stats import Vitals
from tests.faults.random_kills import Tail, drain, start_workers
from tests.faults.stage import Stage, fill, steady_load
from tests.faults.worker_forker import Worker
from tests.harness.pace import Pace
from tests.harness.waiting import holds_for, until
from tests.peers.journal import Journal

SIZE_MB = 24
RESUMES_WITHIN_S = 30.0
CPU_SHARE_MAX = 0.10


class MountedDisk:
    """A file system of a few megabytes, and a file that takes every byte that is left."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / "ballast"

    def fill(self, worker: Worker) -> None:
        file = os.open(self._ballast, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            for size in (1_000_000, 4_096):
                with suppress(OSError):
                    while True:
                        os.write(file, b"\0" * size)
        finally:
            os.close(file)

    def free(self, worker: Worker) -> None:
        self._ballast.unlink()


class LimitedFiles:
    """An ordinary folder, and a worker that may not make its files any larger."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fill(self, worker: Worker) -> None:
        size = max(file.stat().st_size for file in self.folder.iterdir())
        resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    def free(self, worker: Worker) -> None:
        resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


@contextmanager
def small_disk(kind: str, folder: Path) -> Iterator[MountedDisk | LimitedFiles]:
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE_MB}m", "tmpfs", str(folder)]
    if kind == "limited" or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        yield LimitedFiles(folder)
        return
    try:
        yield MountedDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.parametrize("kind", ["mounted", "limited"])
async def test_a_full_disk_stops_writes_but_not_the_process_and_clears_by_itself(
    kind: str, tmp_path: Path, journal: Journal, long_run: bool, figures: Figures, pace: Pace
) -> None:
    if kind == "limited" and not long_run:
        pytest.skip("the short version takes what it can get")
    seconds = 60 if long_run else 4
    with small_disk(kind, tmp_path / "disk") as disk:
        stage = Stage(f"sqlite://{disk.folder}/mainspring.db", tmp_path)
        async with stage.stores() as stores:
            await fill(stores, steady_load(journal, await stores.schedule.now() + timedelta(seconds=1), 5))
        with stage.nursery(lease_margin="120s") as nursery:
            (worker,) = await start_workers(nursery, 1)
            tail = Tail(journal)
            await until(lambda: tail.grown() >= 80, "work goes on")
            disk.fill(worker)
            await until(lambda: nursery.count("database unavailable") > 0, "the disk is full", 60)
            before = Vitals.of(worker.pid)
            await holds_for(lambda: worker.is_running, "the process lives on", seconds)
            after, stalled_at = Vitals.of(worker.pid), tail.grown()
            disk.free(worker)
            back_at = time.monotonic()
            await until(lambda: tail.grown() >= stalled_at + 40, "work resumes", 4 * RESUMES_WITHIN_S)
            resumed_s = time.monotonic() - back_at
            async with stage.stores() as stores:
                await drain(nursery, stores)
                ledger = await read_ledger(stores, journal.entries())
        check = apsw.Connection(str(disk.folder / "mainspring.db")).pragma("integrity_check")

    cpu = after.cpu_share_since(before)
    growth_mb = round(after.growth_mb_since(before), 1)
    figures(full_s=seconds, resumed_s=round(resumed_s, 2), cpu=round(cpu, 3), growth_mb=growth_mb, **ledger.figures())
    assert check == "ok"
    assert resumed_s <= pace.fair(RESUMES_WITHIN_S)
    assert cpu <= CPU_SHARE_MAX
    assert ledger.lost() == []
    assert ledger.recorded_twice() == []
    assert ledger.strangers() == []

"""Watch a directory of documents and apply them when they change. Errors are reported; the last applied state remains.

The directory is checked every second, by name, time and size of its files: this needs no notifications and works on
every file system. A thread reads it, because a large directory or a slow disk would hold the event loop. A change
counts once the files are unchanged for one check, because a file may still be being written. The directory is one
source, named like it, unless a document names its own. An empty directory changes nothing: a volume that was not
mounted must not archive everything.
"""

import asyncio
import os
from hashlib import sha256
from pathlib import Path

import structlog

from mainspring.documents.apply import Report, apply_files
from mainspring.documents.faults import InvalidDocument
from mainspring.documents.files import files_in, read_files
from mainspring.documents.plan import Options
from mainspring.documents.references import local
from mainspring.domain.errors import MainspringError, StoreUnavailable
from mainspring.operations.alerts import Messengers
from mainspring.operations.context import Desk
from mainspring.operations.documents import report_refusal

LOOK_EVERY_S = 1.0
TOLD_CHARS_MAX = 2_000

log = structlog.get_logger()

Look = tuple[tuple[str, int, int, int], ...]


def watch(desk: Desk, folder: Path | None, messengers: Messengers, *, prune: bool) -> list["FolderWatcher"]:
    """The watcher of the configured directory, if any, with the references that this process may resolve."""
    if folder is None:
        return []
    return [FolderWatcher(desk, folder, Options(local(os.environ), messengers, prune=prune))]


class FolderWatcher:
    """`problem` is what is wrong with the directory now; None: it is applied."""

    def __init__(self, desk: Desk, folder: Path, options: Options) -> None:
        self._desk = desk
        self._folder = folder
        self._options = options
        self._stopping = asyncio.Event()
        self._seen: Look | None = None
        self._settled: Look | None = None
        self._applied = b""
        self.problem: str | None = None

    async def run(self) -> None:
        while not self._stopping.is_set():
            try:
                await self.run_once()
            except StoreUnavailable:
                self._settled = None  # the scheduler reports that the database is unavailable; retry
            except Exception:  # outermost loop of a worker: one failed check must not end watching
                log.exception("worker failed", worker="configuration watcher")
            try:
                await asyncio.wait_for(self._stopping.wait(), LOOK_EVERY_S)
            except TimeoutError:
                continue

    def stop(self) -> None:
        self._stopping.set()

    async def check(self) -> str | None:
        """For `/readyz`: an invalid document is reported there, but does not make a working process unready."""
        return self.problem

    async def run_once(self) -> Report | None:
        """Checks; applies files that changed and are unchanged since the last check. The first check does not wait."""
        try:
            look = await asyncio.to_thread(_look, self._folder)
        except OSError as fault:
            await self._refuse(f"cannot read {self._folder}: {fault.strerror or fault}", look=None)
            return None
        is_quiet, self._seen = self._seen is None or look == self._seen, look
        if not is_quiet or look == self._settled:
            return None
        if not look:
            await self._refuse(f"{self._folder} has no documents; the last applied state remains", look)
            return None
        report = await self._apply()
        self._settled = look
        return report

    async def _apply(self) -> Report | None:
        try:
            files, content = await asyncio.to_thread(_read, self._folder)
            if content == self._applied:
                return None  # touched, not changed
            self._applied = content
            report = await apply_files(self._desk, files, self._options, source=self._folder.resolve().name)
        except InvalidDocument as fault:
            await self._tell(str(fault))
            return None
        except StoreUnavailable:
            self._applied = b""
            raise
        except MainspringError as fault:
            self._applied = b""
            await self._tell(str(fault))
            return None
        self.problem = None
        log.info("configuration applied", folder=str(self._folder), **report.counts)
        return report

    async def _refuse(self, problem: str, look: Look | None) -> None:
        if self.problem != problem:
            await self._tell(problem)
        self._settled = look
        self._applied = b""

    async def _tell(self, problem: str) -> None:
        self.problem = problem[:TOLD_CHARS_MAX]
        log.error("configuration refused", folder=str(self._folder), problem=self.problem)
        await report_refusal(self._desk, {"folder": str(self._folder), "problem": self.problem})


def _read(folder: Path) -> tuple[list[tuple[str, bytes]], bytes]:
    """The documents, and what identifies their content."""
    files = read_files([str(folder)])
    return files, sha256(b"\0".join(name.encode() + b"\0" + data for name, data in files)).digest()


def _look(folder: Path) -> Look:
    found = [(path.name, path.stat()) for path in files_in(folder)]
    return tuple((name, stat.st_mtime_ns, stat.st_size, stat.st_ino) for name, stat in found)

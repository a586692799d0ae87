"""The archive as Parquet files, which DuckDB, Spark and pandas read: `runs/tenant=acme/2026-01-31.parquet`.

pyarrow is an extra and is imported at first use. A file gets its name only when it is complete and on the disk, so a
killed process leaves no part of a day, and the next one writes the day again.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from mainspring.domain.errors import Misconfigured
from mainspring.domain.event import StoredEvent
from mainspring.domain.run import Run
from mainspring.failpoints import failpoint
from mainspring.ports.archive import ArchiveKind

EVENT_FIELDS = ("cursor", "type", "at", "tenant_id", "endpoint_id", "run_id", "actor", "data")
NUMBERS = frozenset({"attempt", "claim_epoch", "duration_ms", "status_code", "missed_count"})
ROWS_AT_ONCE = 10_000


class ParquetArchive:
    def __init__(self, folder: Path) -> None:
        """Raises Misconfigured if pyarrow is not installed."""
        self._folder = folder
        _pyarrow()

    def has(self, kind: ArchiveKind, tenant_id: str, day: date) -> bool:
        return self._path(kind, tenant_id, day).exists()

    @contextmanager
    def writing(self, kind: ArchiveKind, tenant_id: str, day: date) -> "Iterator[ParquetFile]":
        path = self._path(kind, tenant_id, day)
        path.parent.mkdir(parents=True, exist_ok=True)
        # The name of a process that writes the same day at the same time is another; both files have the same rows.
        unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
        try:
            with ParquetFile(unfinished, Run.__struct_fields__ if kind == "runs" else EVENT_FIELDS) as file:
                yield file
            failpoint("before_archive_rename")
            _sync(unfinished)
            unfinished.replace(path)
            _sync(path.parent)
        finally:
            unfinished.unlink(missing_ok=True)

    def runs(self, tenant_id: str, since: datetime | None, until: datetime | None) -> Iterator[Run]:
        _, parquet = _pyarrow()
        for path in sorted(self._path("runs", tenant_id, date.min).parent.glob("*.parquet"), reverse=True):
            day = date.fromisoformat(path.stem)
            if (since is not None and day < since.date()) or (until is not None and day > until.date()):
                continue
            found = [msgspec.convert(row, Run) for row in parquet.read_table(path).to_pylist()]
            for run in sorted(found, key=lambda each: each.id, reverse=True):
                if (since is None or run.started_at >= since) and (until is None or run.started_at < until):
                    yield run

    def _path(self, kind: ArchiveKind, tenant_id: str, day: date) -> Path:
        return self._folder / kind / f"tenant={quote(tenant_id, safe='')}" / f"{day.isoformat()}.parquet"


class ParquetFile:
    """Rows are written in groups as they come: a day need not fit into memory."""

    def __init__(self, path: Path, fields: Sequence[str]) -> None:
        self._arrow, parquet = _pyarrow()
        self._schema = self._arrow.schema([(name, self._kind(name)) for name in fields])
        os.close(os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600))
        self._writer = parquet.ParquetWriter(path, self._schema, compression="zstd")

    def __enter__(self) -> "ParquetFile":
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.close()

    def add_runs(self, runs: Sequence[Run]) -> None:
        self._add([{name: _plain(getattr(run, name)) for name in Run.__struct_fields__} for run in runs])

    def add_events(self, events: Sequence[StoredEvent]) -> None:
        self._add(
            [
                {
                    **{name: _plain(getattr(each.event, name)) for name in EVENT_FIELDS[1:-1]},
                    "cursor": each.cursor,
                    "data": msgspec.json.encode(each.event.data).decode(),
                }
                for each in events
            ]
        )

    def _add(self, rows: list[dict[str, object]]) -> None:
        if rows:
            self._writer.write_table(self._arrow.Table.from_pylist(rows, schema=self._schema))

    def _kind(self, name: str) -> Any:  # pyarrow ships no types
        if name == "at" or name.endswith("_at"):
            return self._arrow.timestamp("us", tz="UTC")
        return self._arrow.int64() if name in NUMBERS else self._arrow.string()


def _plain(value: object) -> object:
    """Enumerations as their text."""
    return str(value) if isinstance(value, str) else value


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _pyarrow() -> tuple[Any, Any]:  # pyarrow ships no types
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise Misconfigured(
            "MAINSPRING_ARCHIVE is set and pyarrow is not installed; install it with `pip install "
            "'mainspring[archive]'`, or unset MAINSPRING_ARCHIVE",
            setting="MAINSPRING_ARCHIVE",
        ) from None
    return pyarrow, parquet

"""Maintenance windows, and the copy of them that schedulers keep.

A scheduler reads one number at most once a second, and all windows only if that number has grown. Without windows a
claim or a finish costs nothing more.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from mainspring.domain.errors import InvalidInput
from mainspring.domain.event import Event
from mainspring.domain.schedule.finish import Finished
from mainspring.domain.schedule.governor import CronReader
from mainspring.domain.schedule.maintenance import (
    DuringMaintenance,
    MaintenanceWindow,
    WindowSpan,
    last_occurrences,
    named_twice,
    occurrences,
)
from mainspring.stores.account_rows import struct_values
from mainspring.stores.events import add_events
from mainspring.stores.session import Database, Session, UniqueViolation

LOOK_EVERY_S = 0.5  # an edit takes effect in every process within a second
_COLUMNS = MaintenanceWindow.__struct_fields__
MAINTENANCE_INSTANTS = [index for index, column in enumerate(_COLUMNS) if column.endswith("_at")]
MAINTENANCE_FRAGMENTS = {
    "maintenance_columns": ", ".join(_COLUMNS),
    "maintenance_parameters": ", ".join(f":{column}" for column in _COLUMNS),
}
_RUNS = _COLUMNS.index("runs")
_NONE: Mapping[str, tuple[WindowSpan, ...]] = {}


class SqlMaintenanceStore:
    def __init__(self, database: Database, changed: Callable[[], None]) -> None:
        """`changed` notifies the scheduler of this process to read the windows again."""
        self._db = database
        self._changed = changed

    async def windows(self, tenant_id: str | None) -> list[MaintenanceWindow]:
        async with self._db.reading(tenant_id) as session:
            rows = await session.rows("maintenance_windows", tenant_id)
        return [window_from(session.instants(row, MAINTENANCE_INSTANTS)) for row in rows]

    async def add_window(self, window: MaintenanceWindow, event: Event) -> None:
        async with self._db.transaction(window.tenant_id) as session:
            await insert_window(session, window)
            await session.run("count_maintenance_change")
            await add_events(session, [event])
            await session.notify()
        self._changed()

    async def put_window(self, window: MaintenanceWindow, event: Event) -> bool:
        async with self._db.transaction(window.tenant_id) as session:
            changed = await update_window(session, window)
            if changed:
                await session.run("count_maintenance_change")
                await add_events(session, [event])
                await session.notify()
        self._changed()
        return changed

    async def delete_window(self, tenant_id: str, window_id: str, event: Event) -> bool:
        async with self._db.transaction(tenant_id) as session:
            deleted = bool(await session.run("delete_maintenance", tenant_id, window_id))
            if deleted:
                await session.run("count_maintenance_change")
                await add_events(session, [event])
                await session.notify()
        self._changed()
        return deleted


async def insert_window(session: Session, window: MaintenanceWindow) -> None:
    try:
        await session.run("add_maintenance", *struct_values(window))
    except UniqueViolation as fault:
        raise named_twice(window) from fault


async def update_window(session: Session, window: MaintenanceWindow) -> bool:
    values = (
        window.name, window.cron, window.duration_ms, window.timezone, window.starts_at, window.ends_at,
        window.endpoint_id, window.job_id, window.runs, window.description, window.version, window.updated_at,
        window.managed_by, window.tenant_id, window.id,
    )  # fmt: skip
    try:
        return bool(await session.run("put_maintenance", *values))
    except UniqueViolation as fault:
        raise named_twice(window) from fault


def window_from(row: Sequence[Any]) -> MaintenanceWindow:
    """A window from its columns, with times as datetimes."""
    parts = (*row[:_RUNS], DuringMaintenance(row[_RUNS]), *row[_RUNS + 1 :])
    return MaintenanceWindow(*parts)


class MaintenanceCache:
    """The windows of all tenants as a scheduler last read them."""

    def __init__(self) -> None:
        self._revision: object = None
        self._looked_s = float("-inf")
        self._of: dict[str, list[MaintenanceWindow]] = {}
        self._closed: dict[str, tuple[datetime, datetime]] = {}  # between these times a window does not open
        self._open: dict[str, WindowSpan] = {}  # when a window was open last

    async def look(self, session: Session) -> None:
        """Read the windows again if they have changed, at most every LOOK_EVERY_S."""
        if time.monotonic() - self._looked_s < LOOK_EVERY_S:
            return
        self._looked_s = time.monotonic()
        revision = await session.value("maintenance_revision")
        if revision == self._revision:
            return
        rows = await session.rows("maintenance_windows", None)
        self._revision, self._of, self._closed, self._open = revision, {}, {}, {}
        for row in rows:
            window = window_from(session.instants(row, MAINTENANCE_INSTANTS))
            self._of.setdefault(window.tenant_id, []).append(window)

    def forget(self) -> None:
        """Read again before the next claim."""
        self._looked_s, self._revision = float("-inf"), None

    def open_now(self, tenants: Iterable[str], now: datetime, cron: CronReader) -> Mapping[str, tuple[WindowSpan, ...]]:
        """The windows that are open now, by tenant."""
        return self._found(dict.fromkeys(tenants, now), now, cron) if self._of else _NONE

    def open_during(
        self, batch: Sequence[Finished], now: datetime, cron: CronReader
    ) -> Mapping[str, tuple[WindowSpan, ...]]:
        """The windows that were open at any time since the runs of their tenants started, by tenant."""
        if not self._of:
            return _NONE
        since: dict[str, datetime] = {}
        for each in batch:
            tenant_id = each.claim.endpoint.tenant_id
            since[tenant_id] = min(since.get(tenant_id, each.started_at), each.started_at)
        return self.open_since(since, now, cron)

    def open_since(
        self, since: Mapping[str, datetime], now: datetime, cron: CronReader
    ) -> Mapping[str, tuple[WindowSpan, ...]]:
        """The windows that were open at any time since a time of each tenant, by tenant."""
        return self._found(since, now, cron) if self._of else _NONE

    def _found(
        self, since: Mapping[str, datetime], until: datetime, cron: CronReader
    ) -> Mapping[str, tuple[WindowSpan, ...]]:
        found = {}
        for tenant_id, first in since.items():
            windows = self._of.get(tenant_id, ())
            open_ = tuple(each for window in windows for each in self._occurrences(window, first, until, cron))
            if open_:
                found[tenant_id] = open_
        return found

    def _occurrences(
        self, window: MaintenanceWindow, since: datetime, until: datetime, cron: CronReader
    ) -> list[WindowSpan]:
        """Walking a cron costs some 20 us; between two openings, and while it is open, it is walked once."""
        if window.duration_ms is None:
            return occurrences(window, since, until, cron)
        span = self._open.get(window.id)
        if span is not None and span.from_at <= since and until < span.until_at:
            return [span]
        first = since - timedelta(milliseconds=window.duration_ms)
        closed = self._closed.get(window.id)
        if closed is not None and closed[0] <= first and until < closed[1]:
            return []
        try:
            found = last_occurrences(window, since, until, cron)
            if found:
                self._open[window.id] = found[-1]
            else:
                self._closed[window.id] = first, cron.next_after(window.cron, window.timezone, first, window.id)
        except InvalidInput:  # a time zone that this machine does not know: the window cannot be open here
            return []
        return found

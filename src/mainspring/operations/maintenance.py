"""Operations on maintenance windows: when runs are skipped or not counted, and alerts are silent."""

from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.errors import Conflict, NotFound, QuotaExceeded
from mainspring.domain.event import Event, EventType
from mainspring.domain.name import as_stored
from mainspring.domain.schedule import changes
from mainspring.domain.schedule.changes import Change
from mainspring.domain.schedule.governor import CronReader
from mainspring.domain.schedule.maintenance import (
    KIND,
    MaintenanceDraft,
    MaintenanceWindow,
    WindowSpan,
    check_window,
    current_or_next,
    draft_of,
    edited_draft,
    is_held,
    named_twice,
)
from mainspring.operations.context import Desk
from mainspring.operations.dry_run import dry_run_desk
from mainspring.operations.endpoints import find_endpoint
from mainspring.operations.jobs import find_job
from mainspring.ports.endpoints import EndpointFilter
from mainspring.ports.maintenance import MaintenanceStore

WINDOWS_MAX = 100  # per tenant: a claim asks each of them whether it is open
PAGE = 300  # endpoints that are planned again in one transaction


class WindowStatus(Struct, frozen=True):
    """A window, and the time that it is open or opens next; None: it never opens again."""

    window: MaintenanceWindow
    occurrence: WindowSpan | None
    now: datetime

    @property
    def id(self) -> str:
        return self.window.id

    @property
    def name(self) -> str:
        return self.window.name

    @property
    def is_open(self) -> bool:
        return self.occurrence is not None and self.occurrence.from_at <= self.now


async def list_windows(desk: Desk) -> list[WindowStatus]:
    now = await desk.stores.schedule.now()
    return [status_of(each, now, desk.cron) for each in await desk.stores.maintenance.windows(desk.tenant_id)]


async def find_window(desk: Desk, name_or_id: str) -> WindowStatus:
    found = await list_windows(desk)
    by_id = [each for each in found if each.id == name_or_id]
    for each in by_id or [each for each in found if each.name == as_stored(name_or_id)]:
        return each
    raise NotFound(KIND, name_or_id, tuple(each.name for each in found))


async def add_window(desk: Desk, draft: MaintenanceDraft) -> WindowStatus:
    there = await desk.stores.maintenance.windows(desk.tenant_id)
    if len(there) >= WINDOWS_MAX:
        raise QuotaExceeded(
            f"tenant {desk.tenant_id!r} has {len(there)} {KIND}s, which is the maximum; delete one",
            quota="maintenance_windows",
            limit=WINDOWS_MAX,
        )
    now = await desk.stores.schedule.now()
    window = await _checked(desk, draft, desk.ids.new("mnt", now), now)
    await desk.stores.maintenance.add_window(window, told(desk, EventType.MAINTENANCE_CREATED, now, None, window))
    return status_of(window, now, desk.cron)


async def edit_window(desk: Desk, name_or_id: str, given: dict[str, object]) -> WindowStatus:
    """Changes values by the names of their fields. Runs that the window moved are planned again."""
    found = (await find_window(desk, name_or_id)).window
    now = await desk.stores.schedule.now()
    checked = await _checked(desk, edited_draft(draft_of(found), given), found.id, now)
    edited = replace(checked, version=found.version + 1, created_at=found.created_at, managed_by=found.managed_by)
    event = told(desk, EventType.MAINTENANCE_UPDATED, now, found, edited)
    if not await desk.stores.maintenance.put_window(edited, event):
        raise Conflict(
            f"{KIND} {found.name!r} was changed concurrently; read it again and retry", kind=KIND, name=found.name
        )
    await bring_back(desk, found)
    return status_of(edited, now, desk.cron)


async def delete_window(desk: Desk, name_or_id: str) -> WindowStatus:
    """Deletes a window. Runs that it moved are planned again."""
    found = await find_window(desk, name_or_id)
    now = await desk.stores.schedule.now()
    event = told(desk, EventType.MAINTENANCE_DELETED, now, found.window, None)
    if not await desk.stores.maintenance.delete_window(desk.tenant_id, found.id, event):
        raise NotFound(KIND, name_or_id)
    await bring_back(desk, found.window)
    return found


async def bring_back(desk: Desk, window: MaintenanceWindow) -> None:
    """Plans the runs again that a window moved, before it was changed or deleted."""

    def act(endpoint: Endpoint, at: datetime) -> Change:
        return changes.leave_maintenance(endpoint, at, desk.actor, desk.cron)

    after: tuple[str, str] | None = None
    ids = (window.endpoint_id,) if window.endpoint_id else None
    while page := await desk.stores.endpoints.endpoints(
        desk.tenant_id, EndpointFilter(job_id=window.job_id or None, ids=ids, after=after, limit=PAGE)
    ):
        held = [endpoint.id for endpoint in page if is_held(endpoint)]
        if held:
            await desk.stores.endpoints.change_endpoints(desk.tenant_id, held, act)
        if ids is not None:
            return
        after = page[-1].name, page[-1].id


def status_of(window: MaintenanceWindow, now: datetime, cron: CronReader) -> WindowStatus:
    return WindowStatus(window, current_or_next(window, now, cron), now)


def told(
    desk: Desk, kind: EventType, now: datetime, before: MaintenanceWindow | None, after: MaintenanceWindow | None
) -> Event:
    """The event of a change; the audit trail keeps a digest of the window before and after."""
    window = after or before
    assert window is not None
    data: dict[str, object] = {"subject": window.id, "name": window.name, "before": _visible(before)}
    return Event(
        kind, now, desk.tenant_id, window.endpoint_id, actor=desk.actor, data=data | {"after": _visible(after)}
    )


def dry_run_of(desk: Desk) -> Desk:
    """A desk at which windows are checked as usual, and nothing is written."""
    there = dry_run_desk(desk)
    store: MaintenanceStore = _DryRunMaintenance(desk.stores.maintenance)
    return replace(there, stores=replace(there.stores, maintenance=store))


class _DryRunMaintenance:
    """A MaintenanceStore that reads from a real one and writes nothing."""

    def __init__(self, real: MaintenanceStore) -> None:
        self.windows = real.windows

    async def add_window(self, window: MaintenanceWindow, event: Event) -> None:
        await self._refuse_taken(window)

    async def put_window(self, window: MaintenanceWindow, event: Event) -> bool:
        await self._refuse_taken(window)
        return True

    async def delete_window(self, tenant_id: str, window_id: str, event: Event) -> bool:
        return True

    async def _refuse_taken(self, window: MaintenanceWindow) -> None:
        for each in await self.windows(window.tenant_id):
            if each.name == window.name and each.id != window.id:
                raise named_twice(window)


async def _checked(desk: Desk, draft: MaintenanceDraft, window_id: str, now: datetime) -> MaintenanceWindow:
    window = check_window(draft, window_id, desk.tenant_id, now)
    return replace(
        window,
        endpoint_id=(await find_endpoint(desk, draft.endpoint)).id if draft.endpoint else "",
        job_id=(await find_job(desk, draft.job)).id if draft.job else "",
    )


def _visible(window: MaintenanceWindow | None) -> dict[str, object] | None:
    if window is None:
        return None
    draft = draft_of(window)
    return {name: getattr(draft, name) for name in draft.__struct_fields__}

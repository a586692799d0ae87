"""Maintenance windows: when runs are skipped or not counted, and alerts are silent."""

from typing import Annotated

from fastapi import APIRouter, Path, Response
from msgspec.structs import replace

from mainspring.api.access import Reading, Writing
from mainspring.api.etags import IfMatch, refuse_other
from mainspring.api.models.fields import DryRun
from mainspring.api.models.requests import MaintenanceNew, MaintenancePatch
from mainspring.domain.config_field import values_of
from mainspring.domain.schedule.maintenance import KIND, MAINTENANCE_FIELDS, MaintenanceDraft, MaintenanceWindow
from mainspring.operations import maintenance
from mainspring.views.maintenance import MaintenanceView
from mainspring.views.view import Deleted, DryRunOf, PageOf

router = APIRouter(prefix="/maintenance", tags=["maintenance"])
WindowRef = Annotated[str, Path(alias="window", max_length=1_000, description="Id or name of a maintenance window.")]


@router.get("")
async def list_maintenance(desk: Reading) -> PageOf[MaintenanceView]:
    """All maintenance windows, by name, with the time that each is open or opens next."""
    found = await maintenance.list_windows(desk)
    return PageOf(items=[MaintenanceView.of(each) for each in found], next_cursor=None)


@router.post("", status_code=201, responses={200: {"model": DryRunOf[MaintenanceView]}})
async def create_maintenance(
    desk: Writing, wish: MaintenanceNew, response: Response, dry_run: DryRun = False
) -> MaintenanceView | DryRunOf[MaintenanceView]:
    """Create a maintenance window, which takes effect within a second."""
    draft = replace(MaintenanceDraft(wish.name), **values_of(MAINTENANCE_FIELDS, wish.sent()))
    made = await maintenance.add_window(maintenance.dry_run_of(desk) if dry_run else desk, draft)
    if dry_run:
        response.status_code = 200
        return DryRunOf[MaintenanceView].of(None, MaintenanceView.of(made))
    response.headers["ETag"] = _etag(made.window)
    response.headers["Location"] = f"/api/v1/maintenance/{made.id}"
    return MaintenanceView.of(made)


@router.get("/{window}")
async def read_maintenance(desk: Reading, window: WindowRef, response: Response) -> MaintenanceView:
    found = await maintenance.find_window(desk, window)
    response.headers["ETag"] = _etag(found.window)
    return MaintenanceView.of(found)


@router.patch("/{window}")
async def update_maintenance(
    desk: Writing,
    window: WindowRef,
    wish: MaintenancePatch,
    response: Response,
    if_match: IfMatch = None,
    dry_run: DryRun = False,
) -> MaintenanceView | DryRunOf[MaintenanceView]:
    """Change a window. Fields that are missing or null stay unchanged; a new cron replaces start and end."""
    found = await maintenance.find_window(desk, window)
    refuse_other(if_match, _etag(found.window), KIND, found.name)
    given = values_of(MAINTENANCE_FIELDS, wish.sent() | {"name": wish.name})
    edited = await maintenance.edit_window(maintenance.dry_run_of(desk) if dry_run else desk, found.id, given)
    if dry_run:
        return DryRunOf[MaintenanceView].of(MaintenanceView.of(found), MaintenanceView.of(edited))
    response.headers["ETag"] = _etag(edited.window)
    return MaintenanceView.of(edited)


@router.delete("/{window}")
async def delete_maintenance(
    desk: Writing, window: WindowRef, dry_run: DryRun = False
) -> Deleted | DryRunOf[MaintenanceView]:
    """Delete a window. Runs that it moved are planned again."""
    found = await maintenance.delete_window(maintenance.dry_run_of(desk) if dry_run else desk, window)
    if dry_run:
        return DryRunOf[MaintenanceView].of(MaintenanceView.of(found), None)
    return Deleted.of(found)


def _etag(window: MaintenanceWindow) -> str:
    return f'"v{window.version}"'

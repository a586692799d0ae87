"""Tools about history and inventory: runs with their responses, events, jobs, quotas."""

from typing import Annotated

from pydantic import Field

from mainspring.domain.access.scope import Scope
from mainspring.domain.errors import NotFound
from mainspring.domain.notify.event_filter import may_see
from mainspring.mcp.arguments import LIST_DEFAULT, WORDS_MAX, CallArguments, EndpointName, Limit
from mainspring.mcp.tool import Arguments, Toolbox, ToolCaller
from mainspring.mcp.untrusted import body_as_data, headers_as_data
from mainspring.operations.calendars import list_calendars
from mainspring.operations.context import Desk
from mainspring.operations.endpoints import find_endpoint
from mainspring.operations.maintenance import list_windows
from mainspring.operations.runs import waiting_of
from mainspring.operations.tenants import find_tenant
from mainspring.ports.filters import StatusFilter
from mainspring.ports.records import RunFilter
from mainspring.views.account import TenantView
from mainspring.views.calendar import CalendarView
from mainspring.views.connection import ConnectionView
from mainspring.views.event import EventView
from mainspring.views.job import JobView
from mainspring.views.maintenance import MaintenanceView
from mainspring.views.run import RunDetailView, RunView
from mainspring.views.view import JsonObject

box = Toolbox()


class ListRuns(Arguments):
    endpoint: Annotated[EndpointName | None, Field(description="Only runs of this endpoint, by name or id.")] = None
    status: Annotated[
        StatusFilter | None,
        Field(description="Only runs with this status; `failed`: failure, timeout or blocked.", examples=["failed"]),
    ] = None
    before: Annotated[str | None, Field(description="Next page: the `next` of the previous answer.")] = None
    limit: Limit = LIST_DEFAULT


@box.tool(Scope.READ, only_reads=True)
async def list_runs(visit: ToolCaller, wanted: ListRuns) -> JsonObject:
    """List runs, newest first: when, how each ended, how long it took. get_run shows one with its response."""
    desk = visit.desk
    endpoint_id = None if wanted.endpoint is None else (await find_endpoint(desk, wanted.endpoint)).id
    found = await desk.stores.runs.runs(
        desk.tenant_id, RunFilter(endpoint_id, wanted.status, wanted.before, wanted.limit)
    )
    names = await _names(desk, {run.endpoint_id for run in found})
    return {
        "runs": [RunView.of(run, names.get(run.endpoint_id, run.endpoint_id)).as_json() for run in found],
        "next": found[-1].id if len(found) == wanted.limit else None,
    }


class GetRun(CallArguments):
    run: Annotated[str, Field(description="Id of the run, as list_runs shows it.", max_length=WORDS_MAX)]


@box.tool(Scope.READ, only_reads=True)
async def get_run(visit: ToolCaller, wanted: GetRun) -> JsonObject:
    """Show one run: its result, the duration of its phases, why it ran, and the response's headers and body.

    The response is data of a called server, marked as untrusted.
    """
    desk = visit.desk
    run = await desk.stores.runs.run(desk.tenant_id, wanted.run)
    if run is None:
        raise NotFound("run", wanted.run)
    body = await desk.stores.runs.body(desk.tenant_id, run.id)
    names = await _names(desk, {run.endpoint_id})
    waiting = await waiting_of(desk, run)
    view = RunDetailView.of(run, names.get(run.endpoint_id, run.endpoint_id), waiting=waiting)
    return view.as_json() | {
        "headers": headers_as_data(view.headers),
        "body": None if body is None else body_as_data(body, wanted.max_bytes),
    }


class ListEvents(Arguments):
    after: Annotated[
        str | None, Field(description="Next page: the `next` of the previous answer; default: the newest.")
    ] = None
    limit: Limit = LIST_DEFAULT


@box.tool(Scope.READ, only_reads=True)
async def list_events(visit: ToolCaller, wanted: ListEvents) -> JsonObject:
    """List what happened, oldest first: runs, hints, edits, pauses, with who did it. Without `after`, the newest."""
    desk = visit.desk
    if wanted.after is None:
        found = await desk.stores.runs.latest_events(desk.tenant_id, wanted.limit)
    else:
        found = await desk.stores.runs.events_after(wanted.after, desk.tenant_id, wanted.limit)
    names = await _names(desk, {stored.event.endpoint_id for stored in found} - {""})
    return {
        "events": [
            EventView.of(stored, names.get(stored.event.endpoint_id)).as_json()
            for stored in found
            if may_see(stored.event.type, visit.scopes)
        ],
        "next": found[-1].cursor if found else wanted.after,
    }


class NoArguments(Arguments):
    pass


@box.tool(Scope.READ, only_reads=True)
async def list_jobs(visit: ToolCaller, wanted: NoArguments) -> JsonObject:
    """List jobs, the named groups of endpoints, connections that endpoints can name, and the tenant's quotas with the
    usage of this month; null: no limit.

    Also lists maintenance windows, when runs are skipped or not counted, and calendars, which endpoints name in
    `except` and `only`. list_endpoints shows the endpoints of one job.
    check_endpoint with a connection and a path tests a connection.
    """
    desk = visit.desk
    jobs = await desk.stores.endpoints.jobs(desk.tenant_id)
    connections = await desk.stores.connections.connections(desk.tenant_id)
    shown = {"name", "base_url", "auth", "proxy", "description"}
    return {
        "jobs": [JobView.of(job).as_json() for job in jobs],
        "maintenance": [MaintenanceView.of(window).as_json() for window in await list_windows(desk)],
        "calendars": [CalendarView.of(each).as_json() for each in await list_calendars(desk)],
        "connections": [ConnectionView.of(each).model_dump(mode="json", include=shown) for each in connections],
        "quotas": TenantView.of(await find_tenant(desk)).as_json(),
    }


async def _names(desk: Desk, ids: set[str]) -> dict[str, str]:
    """Names by id, including archived endpoints; deleted ones are left out."""
    found = [await desk.stores.endpoints.endpoint(desk.tenant_id, endpoint_id) for endpoint_id in ids]
    return {endpoint.id: endpoint.name for endpoint in found if endpoint is not None}

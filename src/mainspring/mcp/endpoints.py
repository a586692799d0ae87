"""Tools about endpoints: read, create, change, remove, call."""

import asyncio
from typing import Annotated

from pydantic import Field

from mainspring.domain.access.scope import Scope
from mainspring.domain.endpoint import Endpoint, EndpointConfig
from mainspring.domain.errors import InvalidInput
from mainspring.domain.health import LONGEST, sum_up
from mainspring.domain.name import shown
from mainspring.domain.run import HttpAction, Outcome
from mainspring.domain.schedule.changes import Change
from mainspring.mcp.arguments import (
    LIST_DEFAULT,
    CallEndpoint,
    ChangeEndpoint,
    Duration,
    Instant,
    Limit,
    OneEndpoint,
    Reason,
    RemoveEndpoint,
    read_duration,
    read_instant,
    refuse_both,
)
from mainspring.mcp.endpoint_arguments import CheckEndpoint, CreateEndpoint, EditEndpoint, apply_arguments
from mainspring.mcp.endpoint_change import act, endpoint_as_json
from mainspring.mcp.tool import Arguments, Toolbox, ToolCaller
from mainspring.mcp.untrusted import body_as_data, headers_as_data
from mainspring.operations import endpoints as operations
from mainspring.operations.endpoints import Desk, find_endpoint
from mainspring.operations.jobs import find_job
from mainspring.operations.runs import wait_for_requested_run
from mainspring.operations.test_run import check_endpoint as check
from mainspring.operations.test_run import test_endpoint as test
from mainspring.ports.endpoints import EndpointFilter
from mainspring.views.endpoint import EndpointView, HealthWindow, OutcomeView
from mainspring.views.run import RunView
from mainspring.views.view import JsonObject

SUMMARY = set(
    (
        "id name job status url method cron interval_ms timezone next_run_at source running last_run_at last_status "
        "failure_count paused_until"
    ).split()
)

CHECKED_EVERY_MS = 60_000  # a call that is only checked needs a schedule too, and none was given
WAIT_S_MAX = 60  # an assistant that waits longer should ask for the run later

box = Toolbox()


class RunEndpoint(ChangeEndpoint):
    wait: Annotated[
        Duration,
        Field(description="Wait this long for the end of the run, at most 60s; 0: do not wait.", examples=["30s"]),
    ] = 0


class ListEndpoints(Arguments):
    job: Annotated[str | None, Field(description="Only endpoints of this job, by name or id.")] = None
    archived: Annotated[bool, Field(description="List archived endpoints instead.")] = False
    after: Annotated[str | None, Field(description="Next page: the `next` of the previous answer.")] = None
    limit: Limit = LIST_DEFAULT


@box.tool(Scope.READ, only_reads=True)
async def list_endpoints(visit: ToolCaller, wanted: ListEndpoints) -> JsonObject:
    """List endpoints by name, in short: status, schedule, next and last run. get_endpoint shows one in full."""
    desk = visit.desk
    job_id = (await find_job(desk, wanted.job)).id if wanted.job is not None else None
    last_id, _, last_name = (wanted.after or "").partition(" ")
    after = (last_name, last_id) if wanted.after else None
    page = EndpointFilter(job_id, wanted.archived, after, wanted.limit)
    found = await desk.stores.endpoints.endpoints(desk.tenant_id, page)
    now = await desk.stores.schedule.now()
    views = [EndpointView.of(endpoint, now) for endpoint in found]
    return {
        "endpoints": [view.model_dump(mode="json", include=SUMMARY) for view in views],
        "next": f"{found[-1].id} {found[-1].name}" if len(found) == wanted.limit else None,
    }


@box.tool(Scope.READ, only_reads=True)
async def get_endpoint(visit: ToolCaller, wanted: OneEndpoint) -> JsonObject:
    """Show one endpoint: what it calls, its schedule and limits, its hints, its state and its next run.

    `health` summarises its runs of the last hour, day, week and month.
    """
    desk = visit.desk
    endpoint = await find_endpoint(desk, wanted.endpoint)
    now = await desk.stores.schedule.now()
    results = await desk.stores.look.results(desk.tenant_id, endpoint.id, now - LONGEST)
    return {
        **await endpoint_as_json(desk, endpoint),
        "health": [HealthWindow.of(each).as_json() for each in sum_up(results, now)],
    }


@box.tool(Scope.WRITE)
async def create_endpoint(visit: ToolCaller, wanted: CreateEndpoint) -> JsonObject:
    """Create an endpoint: a URL to call, and either an interval or a cron expression. Its first run is planned at once.

    check_endpoint tries the call before anything is stored.
    """
    desk = visit.desk_for(wanted.dry_run)
    blank = EndpointConfig(wanted.name, HttpAction(wanted.url))
    endpoint = await operations.add_endpoint(desk, apply_arguments(blank, wanted))
    return {"dry_run": wanted.dry_run, "endpoint": await endpoint_as_json(desk, endpoint)}


@box.tool(Scope.WRITE, repeats=True)
async def edit_endpoint(visit: ToolCaller, wanted: EditEndpoint) -> JsonObject:
    """Change what is given about an endpoint, and nothing else; the answer says what changed, moved runs included."""

    def edited(old: EndpointConfig) -> EndpointConfig:
        return apply_arguments(old, wanted, wanted.name, wanted.url)

    return await act(visit, wanted, lambda desk: operations.edit_endpoint(desk, wanted.endpoint, edited))


@box.tool(Scope.WRITE, destroys=True, repeats=True)
async def archive_endpoint(visit: ToolCaller, wanted: RemoveEndpoint) -> JsonObject:
    """Remove an endpoint from the schedule for good. Its runs remain, and its name is free again."""
    await _confirm(visit.desk, wanted, "take it out of the schedule for good")
    return await act(visit, wanted, lambda desk: operations.archive_endpoint(desk, wanted.endpoint))


@box.tool(Scope.WRITE, destroys=True)
async def delete_endpoint(visit: ToolCaller, wanted: RemoveEndpoint) -> JsonObject:
    """Delete an endpoint and all its runs. There is no way back; archive_endpoint keeps them."""
    await _confirm(visit.desk, wanted, "delete it with all its runs, without a way back")
    endpoint = await operations.delete_endpoint(visit.desk_for(wanted.dry_run), wanted.endpoint)
    return {"dry_run": wanted.dry_run, "deleted": {"id": endpoint.id, "name": endpoint.name}}


class PauseEndpoint(ChangeEndpoint):
    until: Annotated[Instant | None, Field(description="End of the pause; default: until resumed.")] = None
    duration: Annotated[Duration | None, Field(description="Length of the pause, instead of until.")] = None
    resume: Annotated[bool, Field(description="true: end its pause, or unpark a parked endpoint.")] = False
    reason: Reason = ""
    advice_may_resume: Annotated[
        bool, Field(description="true: rules, workflows and the model may end the pause; default: only a person may.")
    ] = False


@box.tool(Scope.RUN, repeats=True)
async def pause_endpoint(visit: ToolCaller, wanted: PauseEndpoint) -> JsonObject:
    """Stop an endpoint for a while, or until it is resumed; with `resume`, let it run again. Runs in flight end."""
    refuse_both(wanted.until, wanted.duration, "until and duration", "until")
    if wanted.resume:
        refuse_both(True, wanted.until or wanted.duration, "resume and an end of the pause", "resume")
        return await act(visit, wanted, lambda desk: operations.resume_endpoint(desk, wanted.endpoint))
    end = None if wanted.until is None else read_instant(wanted.until, "until")
    length = None if wanted.duration is None else read_duration(wanted.duration, "duration")
    return await act(
        visit,
        wanted,
        lambda desk: operations.pause_endpoint(
            desk,
            wanted.endpoint,
            lambda now: now + length if length else end,
            wanted.reason,
            advice_may_resume=wanted.advice_may_resume,
        ),
    )


@box.tool(Scope.RUN, repeats=True, calls_out=True)
async def run_endpoint(visit: ToolCaller, wanted: RunEndpoint) -> JsonObject:
    """Ask the scheduler to run an endpoint now. The schedule keeps its cadence; list_runs shows the run once it began.

    While the endpoint runs, one more run is queued; further requests join it. With `wait`, `run` has the result, or
    null if the run has not finished by then.
    """
    longest = min(read_duration(wanted.wait, "wait").total_seconds(), WAIT_S_MAX) if wanted.wait else 0
    requested: list[Endpoint] = []

    async def deed(desk: Desk) -> Change:
        change = await operations.run_endpoint(desk, wanted.endpoint)
        requested.append(change.endpoint)
        return change

    told = await act(visit, wanted, deed)
    if wanted.dry_run or not longest:
        return told
    try:
        async with asyncio.timeout(longest):
            run = await wait_for_requested_run(visit.desk, requested[0])
    except TimeoutError:
        return {**told, "run": None}
    return {**told, "run": RunView.of(run, requested[0].name).as_json()}


@box.tool(Scope.RUN, calls_out=True)
async def test_endpoint(visit: ToolCaller, wanted: CallEndpoint) -> JsonObject:
    """Call an endpoint once, right now, and return the response. Recorded as a test; the schedule does not change."""
    run, outcome = await test(visit.desk, visit.caller, wanted.endpoint)
    endpoint = await find_endpoint(visit.desk, run.endpoint_id)
    return {"run": RunView.of(run, endpoint.name).as_json(), "outcome": _outcome(outcome, wanted.max_bytes)}


@box.tool(Scope.RUN, calls_out=True)
async def check_endpoint(visit: ToolCaller, wanted: CheckEndpoint) -> JsonObject:
    """Try a call before it is stored: the same checks, the same request, nothing recorded and nothing created."""
    blank = EndpointConfig("check", HttpAction(wanted.url), interval_ms=CHECKED_EVERY_MS)
    _, outcome = await check(visit.desk, visit.caller, apply_arguments(blank, wanted))
    return _outcome(outcome, wanted.max_bytes)


async def _confirm(desk: Desk, wanted: RemoveEndpoint, deed: str) -> None:
    endpoint = await find_endpoint(desk, wanted.endpoint)
    if not wanted.dry_run and wanted.confirm != endpoint.name:
        raise InvalidInput(
            f"nothing was done: this would {deed}; if that is what the user wants, "
            f"call again with confirm={endpoint.name!r}",
            field="confirm",
            value=shown(wanted.confirm),
        )


def _outcome(outcome: Outcome, max_bytes: int) -> JsonObject:
    return OutcomeView.of(outcome).as_json() | {
        "headers": headers_as_data(outcome.headers),
        "body": None if outcome.body is None else body_as_data(outcome.body, max_bytes),
    }

"""Actions on an existing endpoint: pause, resume, run, test, reset; and its decision, upcoming runs and health."""

import asyncio
from datetime import datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from mainspring.api.access import Reading, Running
from mainspring.api.endpoint_views import act_on_endpoint, dry_run_endpoint
from mainspring.api.models.fields import DryRun, EndpointRef
from mainspring.api.models.requests import Pause, one_of_two
from mainspring.domain.health import LONGEST, sum_up
from mainspring.inputs.values import Duration
from mainspring.operations import endpoints
from mainspring.operations.preview import excluded_until, load_preview
from mainspring.operations.runs import wait_for_requested_run
from mainspring.operations.test_run import test_endpoint as call_once
from mainspring.views.endpoint import (
    EndpointDryRun,
    EndpointView,
    HealthView,
    RunRequested,
    TestDryRun,
    load_endpoint,
    load_test_dry_run,
)
from mainspring.views.run import RunDetailView, RunView, UpcomingRunsView
from mainspring.views.why import DecisionView, load_decision

router = APIRouter(prefix="/endpoints", tags=["endpoints"])
WAIT_MS_MAX = 60_000


@router.post("/{endpoint}/pause")
async def pause_endpoint(
    desk: Running, endpoint: EndpointRef, wish: Pause | None = None, dry_run: DryRun = False
) -> EndpointView | EndpointDryRun:
    """Pause an endpoint until a time, for a duration, or until it is resumed. Advice ends the pause only with
    `advice_may_resume`.
    """
    wish = wish or Pause()
    one_of_two(wish.until, wish.duration, ("until", "duration"))

    def end(now: datetime) -> datetime | None:
        return wish.until if wish.duration is None else now + timedelta(milliseconds=wish.duration)

    return await act_on_endpoint(
        desk,
        lambda there: endpoints.pause_endpoint(
            there, endpoint, end, wish.reason, advice_may_resume=wish.advice_may_resume
        ),
        dry_run,
    )


@router.post("/{endpoint}/resume")
async def resume_endpoint(
    desk: Running, endpoint: EndpointRef, dry_run: DryRun = False
) -> EndpointView | EndpointDryRun:
    """End a pause, or unpark a parked endpoint."""
    return await act_on_endpoint(desk, lambda there: endpoints.resume_endpoint(there, endpoint), dry_run)


@router.post("/{endpoint}/reset-failures")
async def reset_failures(
    desk: Running, endpoint: EndpointRef, dry_run: DryRun = False
) -> EndpointView | EndpointDryRun:
    """Reset the count of failures, which ends a backoff."""
    return await act_on_endpoint(desk, lambda there: endpoints.reset_failures(there, endpoint), dry_run)


@router.post(
    "/{endpoint}/run",
    status_code=202,
    responses={200: {"model": RunRequested | EndpointDryRun}},
)
async def run_endpoint(
    desk: Running,
    endpoint: EndpointRef,
    response: Response,
    wait: Annotated[Duration, Query(description="How long to wait for the end of the run: `30s`; at most 60s.")] = 0,
    dry_run: DryRun = False,
) -> RunRequested | EndpointDryRun:
    """Request a run now. The schedule keeps its cadence; further requests join a requested run.

    202: the run was requested. 200, with `wait`: it has ended, and `run` has the result.
    """
    if dry_run:
        response.status_code = 200
        return await dry_run_endpoint(desk, lambda there: endpoints.run_endpoint(there, endpoint))
    requested = (await endpoints.run_endpoint(desk, endpoint)).endpoint
    run = None
    if wait:
        try:
            async with asyncio.timeout(min(wait, WAIT_MS_MAX) / 1000):
                ended = await wait_for_requested_run(desk, requested)
        except TimeoutError:
            pass
        else:
            response.status_code = 200
            run = RunView.of(ended, requested.name)
            requested = await endpoints.find_endpoint(desk, requested.id)
    return RunRequested(endpoint=await load_endpoint(desk, requested), run=run)


@router.post("/{endpoint}/test")
async def test_endpoint(
    desk: Running,
    endpoint: EndpointRef,
    request: Request,
    dry_run: DryRun = False,  # noqa: PT028  # no test
) -> RunDetailView | TestDryRun:
    """Call the endpoint once from the server and return the response. Recorded as a test; the schedule does not
    move.
    """
    found = await endpoints.find_endpoint(desk, endpoint)
    if dry_run:
        return await load_test_dry_run(desk, found)
    run, outcome = await call_once(desk, request.app.state.context.caller, found.id)
    return await asyncio.to_thread(RunDetailView.of, run, found.name, outcome.body)


@router.get("/{endpoint}/decision")
async def explain_decision(desk: Reading, endpoint: EndpointRef) -> DecisionView:
    """Why the endpoint runs when it does: every candidate, and why it won or lost."""
    return await load_decision(desk, await endpoints.find_endpoint(desk, endpoint))


@router.get("/{endpoint}/preview")
async def preview_endpoint(
    desk: Reading,
    endpoint: EndpointRef,
    count: Annotated[int, Query(ge=1, le=100)] = 10,
    failures: Annotated[
        int | None, Query(ge=0, le=1_000, description="Preview after this many consecutive failures.")
    ] = None,
) -> UpcomingRunsView:
    """Upcoming runs if every run succeeds; with `failures`, if every run fails."""
    found = await endpoints.find_endpoint(desk, endpoint)
    now = await desk.stores.schedule.now()
    decisions = await load_preview(desk, found, now, count, failures)
    return UpcomingRunsView.of(decisions, now, failures, await excluded_until(desk, found, now, decisions))


@router.get("/{endpoint}/health")
async def read_health(desk: Reading, endpoint: EndpointRef) -> HealthView:
    """Health of the last hour, day, week and month."""
    found = await endpoints.find_endpoint(desk, endpoint)
    now = await desk.stores.schedule.now()
    results = await desk.stores.look.results(desk.tenant_id, found.id, now - LONGEST)
    return HealthView.of(found, sum_up(results, now), now)

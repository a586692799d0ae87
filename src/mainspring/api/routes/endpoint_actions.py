"""What is done with an endpoint that is there: pause, resume, run, test, reset; and why, what next, how is it."""

import asyncio
from datetime import datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from mainspring.api.access import Reading, Running
from mainspring.api.endpoint_views import act_on_endpoint, rehearse_endpoint, see, tell
from mainspring.api.models.answers import (
    DecisionView,
    EndpointDryRun,
    EndpointView,
    HealthView,
    RunDetailView,
    RunRequested,
    TestDryRun,
    UpcomingRunsView,
)
from mainspring.api.models.fields import DryRun, Duration, EndpointRef
from mainspring.api.models.requests import Pause, one_of_two
from mainspring.domain.health import LONGEST, sum_up
from mainspring.operations import endpoints
from mainspring.operations.preview import preview
from mainspring.operations.runs import wait_for_requested_run
from mainspring.operations.test_run import test_endpoint as call_once
from mainspring.views.sentences import why_shape
from mainspring.views.shapes import Shape, decision_shape, health_shape, instant, run_in_full, run_shape, state_of

router = APIRouter(prefix="/endpoints", tags=["endpoints"])
WAIT_MS_MAX = 60_000


@router.post("/{endpoint}/pause", response_model=EndpointView | EndpointDryRun)
async def pause_endpoint(
    desk: Running, endpoint: EndpointRef, wish: Pause | None = None, dry_run: DryRun = False
) -> Shape:
    """Until an instant, for a while, or until it is resumed. Advice ends it only with `advice_may_resume`."""
    wish = wish or Pause()
    one_of_two(wish.until, wish.for_ms, ("until", "for_ms"))

    def end(now: datetime) -> datetime | None:
        return wish.until if wish.for_ms is None else now + timedelta(milliseconds=wish.for_ms)

    return await act_on_endpoint(
        desk,
        lambda there: endpoints.pause_endpoint(
            there, endpoint, end, wish.reason, advice_may_resume=wish.advice_may_resume
        ),
        dry_run,
    )


@router.post("/{endpoint}/resume", response_model=EndpointView | EndpointDryRun)
async def resume_endpoint(desk: Running, endpoint: EndpointRef, dry_run: DryRun = False) -> Shape:
    """End a pause, or take a parked endpoint back into the schedule."""
    return await act_on_endpoint(desk, lambda there: endpoints.resume_endpoint(there, endpoint), dry_run)


@router.post("/{endpoint}/reset-failures", response_model=EndpointView | EndpointDryRun)
async def reset_failures(desk: Running, endpoint: EndpointRef, dry_run: DryRun = False) -> Shape:
    """Forget its failures, which ends a backoff at once."""
    return await act_on_endpoint(desk, lambda there: endpoints.reset_failures(there, endpoint), dry_run)


@router.post(
    "/{endpoint}/run",
    status_code=202,
    response_model=RunRequested | EndpointDryRun,
    responses={200: {"model": RunRequested | EndpointDryRun}},
)
async def run_endpoint(
    desk: Running,
    endpoint: EndpointRef,
    response: Response,
    wait: Annotated[Duration, Query(description="How long to wait for its end: `30s`; at most 60s.")] = 0,
    dry_run: DryRun = False,
) -> Shape:
    """Ask for a run now. The schedule keeps its cadence; while one run is asked for, others join it.

    202: it was asked for. 200, with `wait`: it has ended, and `run` tells how.
    """
    if dry_run:
        response.status_code = 200
        return await rehearse_endpoint(desk, lambda there: endpoints.run_endpoint(there, endpoint))
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
            run = run_shape(ended, requested.name)
            requested = await endpoints.find_endpoint(desk, requested.id)
    return {"endpoint": await tell(desk, requested), "run": run}


@router.post("/{endpoint}/test", response_model=RunDetailView | TestDryRun)
async def test_endpoint(desk: Running, endpoint: EndpointRef, request: Request, dry_run: DryRun = False) -> Shape:  # noqa: PT028  # no test
    """Call it once, from the server, and tell what came back. It is recorded as a test and moves nothing."""
    found = await endpoints.find_endpoint(desk, endpoint)
    if dry_run:
        shape = await tell(desk, found)
        called = ("method", "url", "headers", "body", "timeout_ms")
        return {"dry_run": True, "would_call": {name: shape[name] for name in called}}
    run, outcome = await call_once(desk, request.app.state.context.caller, found.id)
    return await asyncio.to_thread(run_in_full, run, found.name, outcome.body)


@router.get("/{endpoint}/decision", response_model=DecisionView)
async def explain_decision(desk: Reading, endpoint: EndpointRef) -> Shape:
    """Why it runs when it does: every candidate, and why it won or lost."""
    found = await endpoints.find_endpoint(desk, endpoint)
    running = await desk.stores.runs.run(desk.tenant_id, found.run_id) if found.is_running else None
    return why_shape(await see(desk, found), running)


@router.get("/{endpoint}/preview", response_model=UpcomingRunsView)
async def preview_endpoint(
    desk: Reading,
    endpoint: EndpointRef,
    count: Annotated[int, Query(ge=1, le=100)] = 10,
    failures: Annotated[int | None, Query(ge=0, le=1_000, description="What if so many runs in a row failed?")] = None,
) -> Shape:
    """The next runs, if every one succeeds; with `failures`, if every one fails from there on."""
    found = await endpoints.find_endpoint(desk, endpoint)
    now = await desk.stores.schedule.now()
    decisions = preview(found, now, count, desk.cron, failures)
    return {"now": instant(now), "failures": failures, "runs": [decision_shape(each) for each in decisions]}


@router.get("/{endpoint}/health", response_model=HealthView)
async def read_health(desk: Reading, endpoint: EndpointRef) -> Shape:
    """How it has been doing in the last hour, day, week and month."""
    found = await endpoints.find_endpoint(desk, endpoint)
    now = await desk.stores.schedule.now()
    results = await desk.stores.look.results(desk.tenant_id, found.id, now - LONGEST)
    return {
        "endpoint": found.name,
        "status": state_of(found, now),
        "failure_streak": found.failure_count,
        "last_status": found.last_status or None,
        "last_run_at": instant(found.last_run_at),
        "windows": [health_shape(each) for each in sum_up(results, now)],
    }

"""Hints: expiring advice that changes when an endpoint runs."""

from datetime import datetime, timedelta

from fastapi import APIRouter

from mainspring.api.access import Running
from mainspring.api.endpoint_views import act_on_endpoint
from mainspring.api.models.fields import DryRun, EndpointRef
from mainspring.api.models.requests import IntervalHintNew, OneShotHintNew, one_of_two
from mainspring.domain.errors import InvalidInput
from mainspring.operations import endpoints
from mainspring.views.endpoint import EndpointDryRun, EndpointView

router = APIRouter(prefix="/endpoints/{endpoint}/hints", tags=["hints"])


@router.put("/interval")
async def put_interval_hint(
    desk: Running, endpoint: EndpointRef, wish: IntervalHintNew, dry_run: DryRun = False
) -> EndpointView | EndpointDryRun:
    """Run at this interval until the hint expires; a shorter interval takes effect immediately."""
    ttl = timedelta(milliseconds=wish.ttl)
    return await act_on_endpoint(
        desk,
        lambda there: endpoints.put_interval_hint(there, endpoint, wish.every, ttl, wish.reason),
        dry_run,
    )


@router.put("/one-shot")
async def put_one_shot_hint(
    desk: Running, endpoint: EndpointRef, wish: OneShotHintNew, dry_run: DryRun = False
) -> EndpointView | EndpointDryRun:
    """Request one more run, at a time or after a duration."""
    one_of_two(wish.at, wish.after, ("at", "after"))
    if wish.at is None and wish.after is None:
        raise InvalidInput("neither at nor after was given; a one-shot hint needs a time: give one", field="at")
    ttl = timedelta(milliseconds=wish.ttl)

    def when(now: datetime) -> datetime:
        return wish.at if wish.at is not None else now + timedelta(milliseconds=wish.after or 0)

    try:
        return await act_on_endpoint(
            desk, lambda there: endpoints.put_one_shot_hint(there, endpoint, when, ttl, wish.reason), dry_run
        )
    except InvalidInput as fault:
        if fault.field == "at" and wish.at is None:
            fault.field = "after"
        raise


@router.delete("")
async def clear_hints(desk: Running, endpoint: EndpointRef, dry_run: DryRun = False) -> EndpointView | EndpointDryRun:
    """Clear hints; the baseline applies again."""
    return await act_on_endpoint(desk, lambda there: endpoints.clear_hints(there, endpoint), dry_run)

"""Apply one action to many endpoints: some by id, or all that match a filter, batch by batch."""

from datetime import datetime, timedelta
from typing import Annotated

from fastapi import APIRouter
from pydantic import Field

from mainspring.api.access import Running, Writing
from mainspring.api.cursors import open_cursor, seal_cursor
from mainspring.api.models.fields import Cursor, DryRun, RequestModel
from mainspring.api.models.requests import one_of_two
from mainspring.domain.errors import InvalidInput
from mainspring.domain.schedule.changes import Act
from mainspring.inputs.values import Duration, Instant, Text
from mainspring.operations import bulk_endpoints
from mainspring.operations.bulk_endpoints import BATCH, Tally, Verb
from mainspring.operations.context import Desk
from mainspring.operations.dry_run import dry_run_desk
from mainspring.operations.jobs import find_job
from mainspring.ports.filters import EndpointListFilter, StateFilter
from mainspring.views.view import View

router = APIRouter(prefix="/bulk", tags=["bulk"])
TOLD_MAX = 20  # number of refusals listed; their total is reported in any case


class Matching(RequestModel):
    """The filters of the list of endpoints; an empty filter matches every endpoint that is not archived."""

    job: Text | None = Field(default=None, description="Id or name of a job.")
    state: StateFilter | None = None
    text: Text | None = Field(default=None, min_length=1, description="Text in name, description or URL.")


class Bulk(RequestModel):
    ids: list[Text] | None = Field(default=None, max_length=BATCH, description="Ids of endpoints; or `matching`.")
    matching: Matching | None = Field(
        default=None, description="A filter of endpoints; or `ids`.", examples=[{"job": "shop"}]
    )


class BulkAct(Bulk):
    verb: Annotated[Verb, Field(strict=False)] = Field(description="The action to apply to each.")
    until: Instant | None = Field(default=None, description="End of a pause; or `duration`. Neither: until resumed.")
    duration: Duration | None = None
    reason: Text = Field(default="", description="Reason of a pause.")


class Refused(View):
    id: str
    name: str
    why: str


class BulkDone(View):
    dry_run: bool
    matched: int
    changed: int = Field(description="The others already were in this state, or refused.")
    refused_count: int
    refused: list[Refused] = Field(description=f"The first {TOLD_MAX} refusals with their reasons.")
    next_cursor: str | None = Field(
        description="Send it with the same request for the next batch; null: no more batches."
    )


@router.post("/act")
async def act_on_endpoints(desk: Running, wish: BulkAct, dry_run: DryRun = False, cursor: Cursor = None) -> BulkDone:
    """Run, pause, resume, clear hints or reset failures of many endpoints: at most 500 per request, each batch
    atomic.
    """
    one_of_two(wish.until, wish.duration, ("until", "duration"))

    def end(now: datetime) -> datetime | None:
        return wish.until if wish.duration is None else now + timedelta(milliseconds=wish.duration)

    return await _over(desk, wish, bulk_endpoints.act_of(desk, wish.verb, end, wish.reason), dry_run, cursor)


@router.post("/archive")
async def archive_endpoints(desk: Writing, wish: Bulk, dry_run: DryRun = False, cursor: Cursor = None) -> BulkDone:
    """Archive many endpoints; they are kept with their runs and never run again."""
    return await _over(desk, wish, bulk_endpoints.archive_of(desk), dry_run, cursor)


async def _over(desk: Desk, wish: Bulk, act: Act, dry_run: bool, cursor: str | None) -> BulkDone:
    there = dry_run_desk(desk) if dry_run else desk
    if (wish.ids is None) == (wish.matching is None):
        raise InvalidInput("give either ids or matching; an empty matching selects every endpoint", field="ids")
    if wish.ids is not None:
        tally = await bulk_endpoints.act_on_some(there, list(dict.fromkeys(wish.ids)), act)
    else:
        tally = await bulk_endpoints.act_on_batch(there, await _look(desk, wish.matching, cursor), act)
    return _told(desk, tally, dry_run)


async def _look(desk: Desk, wanted: Matching | None, cursor: str | None) -> EndpointListFilter:
    assert wanted is not None
    job_id = None if wanted.job is None else (await find_job(desk, wanted.job)).id
    place = open_cursor(desk, "bulk", cursor)
    return EndpointListFilter(job_id, wanted.state, wanted.text, (place[0], place[1]) if place else None, BATCH)


def _told(desk: Desk, tally: Tally, dry_run: bool) -> BulkDone:
    return BulkDone.from_value(
        tally,
        dry_run=dry_run,
        refused_count=len(tally.refused),
        refused=tally.refused[:TOLD_MAX],
        next_cursor=None if tally.last is None else seal_cursor(desk, "bulk", *tally.last),
    )

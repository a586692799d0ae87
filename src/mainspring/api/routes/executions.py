"""Executions: read them, send commands and events, verify and replay their logs."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Response
from msgspec.structs import replace

from mainspring.api.access import Known, Reading, Running, Writing
from mainspring.api.cursors import open_cursor, seal_cursor
from mainspring.api.endpoint_views import total_of
from mainspring.api.models.fields import Cursor, DryRun, Limit, WithTotal
from mainspring.api.models.requests import one_of_two
from mainspring.api.models.workflows import BulkExecutionRequest, EventNew, EventsNew, Reason, ReplayRequest
from mainspring.domain.errors import InvalidInput, NotFound
from mainspring.operations import bulk_executions, execution_export, executions, replay, verification
from mainspring.operations.context import Desk
from mainspring.operations.executions import clock_of, find_execution
from mainspring.ports.workflows import Execution as Found
from mainspring.ports.workflows import ExecutionFilter
from mainspring.views.execution import (
    BulkCommandDryRun,
    BulkCommandSent,
    CommandDryRun,
    CommandSent,
    Erased,
    EraseDryRun,
    EventDryRun,
    EventsDryRun,
    EventSent,
    EventsSent,
    ExecutionDetailView,
    ExecutionExport,
    ExecutionView,
    load_execution,
    load_execution_detail,
)
from mainspring.views.execution_log import LogEntryView, Replayed, StateAt, TimelineEntryView, VerdictView
from mainspring.views.view import CountedPage, PageOf
from mainspring.views.workflow import plain
from mainspring.workflow.model import LogEntry, LogicalClock, Status

router = APIRouter(prefix="/executions", tags=["executions"])
ExecutionRef = Annotated[
    str, Path(alias="execution", max_length=200, description="Id of an execution.", examples=["exe_0197..."])
]
TICK_MAX = 10**10  # three centuries of seconds
REHEARSED: dict[int | str, dict[str, Any]] = {200: {"model": CommandDryRun}}
LOG_MAX = 1_000
InWorkflow = Annotated[str | None, Query(max_length=1_000, description="Only executions of this workflow.")]
Correlation = Annotated[str | None, Query(max_length=200, description="Only executions under this correlation key.")]
LogLimit = Annotated[int, Query(ge=1, le=LOG_MAX, description="Maximum number per page.")]


@router.get("")
async def list_executions(
    desk: Reading,
    workflow: InWorkflow = None,
    status: Annotated[Status | None, Query(description="Only executions with this status.")] = None,
    correlation: Correlation = None,
    version: Annotated[
        int | None, Query(ge=1, le=1_000_000_000, description="Only executions of this version.")
    ] = None,
    step: Annotated[str | None, Query(max_length=100, description="Only executions at this step.")] = None,
    sort: Annotated[
        Literal["-created_at", "created_at"], Query(description="Newest first; without the minus oldest first.")
    ] = "-created_at",
    with_total: WithTotal = False,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> CountedPage[ExecutionView]:
    """Executions, newest first, or in the order of `sort`."""
    oldest_first = sort == "created_at"
    wanted = ExecutionFilter(workflow, status, correlation, version=version, step=step, oldest_first=oldest_first)
    return await _page(desk, wanted, limit, cursor, with_total)


@router.get("/attention")
async def list_executions_in_need(
    desk: Reading,
    workflow: InWorkflow = None,
    with_total: WithTotal = False,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> CountedPage[ExecutionView]:
    """Executions that wait for a person because they failed or are paused. `allows` lists the commands, `error` the
    cause.
    """
    return await _page(desk, ExecutionFilter(workflow, in_need=True), limit, cursor, with_total)


@router.post("/send", status_code=202, responses={200: {"model": EventDryRun}})
async def send_event(
    desk: Running, wish: EventNew, response: Response, dry_run: DryRun = False
) -> EventSent | EventDryRun:
    """Send an event to an execution, or to all that run under a correlation key; it is processed in the next tick."""
    if dry_run:
        response.status_code = 200
    ids, new = await _send(desk, wish, dry_run)
    return EventDryRun(to=wish.to, executions=ids) if dry_run else _sent(wish, ids, new)


@router.post(
    "/send-many",
    status_code=202,
    responses={200: {"model": EventsDryRun}},
)
async def send_events(
    desk: Running, wish: EventsNew, response: Response, dry_run: DryRun = False
) -> EventsSent | EventsDryRun:
    """Send up to a thousand events in order. An event without a matching execution is reported; the others are
    still sent.
    """
    items: list[EventSent] = []
    for each in wish.events:
        try:
            items.append(_sent(each, *await _send(desk, each, dry_run)))
        except (NotFound, InvalidInput) as fault:
            items.append(_sent(each, [], 0, str(fault)))
    if dry_run:
        response.status_code = 200
        return EventsDryRun(items=items)
    return EventsSent(new=sum(each.new for each in items), items=items)


@router.post(
    "/order",
    status_code=202,
    responses={200: {"model": BulkCommandDryRun}},
)
async def order_executions(
    desk: Running, wish: BulkExecutionRequest, response: Response, dry_run: DryRun = False
) -> BulkCommandSent | BulkCommandDryRun:
    """Pause, resume, cancel, retry or skip many executions; with `dry_run`, their number and a sample."""
    status = None if wish.status is None else Status(wish.status)
    wanted = ExecutionFilter(wish.workflow, status, wish.correlation, None, wish.limit, wish.version, wish.step)
    if not dry_run:
        before = (await bulk_executions.preview_orders(desk, wish.verb, wanted)).count
        ordered = await bulk_executions.order_executions(desk, wish.verb, wanted, wish.reason)
        more = before > len(ordered) == wish.limit
        return BulkCommandSent(verb=wish.verb, ordered=len(ordered), more=more)
    response.status_code = 200
    preview = await bulk_executions.preview_orders(desk, wish.verb, wanted)
    sample = [await load_execution(desk, each) for each in preview.sample]
    return BulkCommandDryRun(verb=wish.verb, count=preview.count, sample=sample)


@router.get("/{execution}")
async def read_execution(desk: Reading, execution: ExecutionRef) -> ExecutionDetailView:
    """An execution: its step, its data, and the commands it allows."""
    return await load_execution_detail(desk, await find_execution(desk, execution))


@router.post("/{execution}/pause", status_code=202, responses=REHEARSED)
async def pause_execution(
    desk: Running, execution: ExecutionRef, response: Response, wish: Reason | None = None, dry_run: DryRun = False
) -> CommandSent | CommandDryRun:
    """Pause an execution before its next step, until it is resumed."""
    return await _order(desk, execution, "pause", wish, response, dry_run)


@router.post("/{execution}/resume", status_code=202, responses=REHEARSED)
async def resume_execution(
    desk: Running, execution: ExecutionRef, response: Response, wish: Reason | None = None, dry_run: DryRun = False
) -> CommandSent | CommandDryRun:
    """Resume a paused execution."""
    return await _order(desk, execution, "resume", wish, response, dry_run)


@router.post("/{execution}/cancel", status_code=202, responses=REHEARSED)
async def cancel_execution(
    desk: Running, execution: ExecutionRef, response: Response, wish: Reason | None = None, dry_run: DryRun = False
) -> CommandSent | CommandDryRun:
    """Cancel an execution for good, with a reason; effects that were not sent yet are withdrawn."""
    return await _order(desk, execution, "cancel", wish, response, dry_run)


@router.post("/{execution}/retry", status_code=202, responses=REHEARSED)
async def retry_execution(
    desk: Running, execution: ExecutionRef, response: Response, wish: Reason | None = None, dry_run: DryRun = False
) -> CommandSent | CommandDryRun:
    """Run the failed step again; an effect keeps its idempotency key."""
    return await _order(desk, execution, "retry", wish, response, dry_run)


@router.post("/{execution}/skip", status_code=202, responses=REHEARSED)
async def skip_execution(
    desk: Running, execution: ExecutionRef, response: Response, wish: Reason | None = None, dry_run: DryRun = False
) -> CommandSent | CommandDryRun:
    """Continue after the step that failed or waits, with the reason as its result."""
    return await _order(desk, execution, "skip", wish, response, dry_run)


@router.get("/{execution}/timeline")
async def list_timeline(
    desk: Reading, execution: ExecutionRef, limit: LogLimit = 200, cursor: Cursor = None
) -> PageOf[TimelineEntryView]:
    """Everything that happened, oldest first, in words."""
    found = await find_execution(desk, execution)
    entries, clock, more = await _log(desk, found, limit, cursor)
    return PageOf(items=[TimelineEntryView.of(each, clock) for each in entries], next_cursor=more)


@router.get("/{execution}/log")
async def list_log(
    desk: Reading, execution: ExecutionRef, limit: LogLimit = 200, cursor: Cursor = None
) -> PageOf[LogEntryView]:
    """The log as written: with values, hashes and the hash of the previous entry."""
    found = await find_execution(desk, execution)
    entries, clock, more = await _log(desk, found, limit, cursor)
    return PageOf(items=[LogEntryView.of(each, clock) for each in entries], next_cursor=more)


@router.get("/{execution}/state")
async def read_state(
    desk: Reading,
    execution: ExecutionRef,
    tick: Annotated[
        int | None, Query(ge=0, le=TICK_MAX, description="State at this tick; default: after its last turn.")
    ] = None,
) -> StateAt:
    """The state at a tick, computed from the log; `ticks` are all ticks in which it moved."""
    return StateAt.of(await replay.state_at(desk, execution, tick))


@router.get("/{execution}/verify")
async def verify_execution(desk: Reading, execution: ExecutionRef) -> VerdictView:
    """Verify the log. If it was changed, the first wrong entry is returned with the expected and found values."""
    return VerdictView.of(await verification.verify_execution(desk, execution))


@router.post("/{execution}/replay")
async def replay_execution(desk: Reading, execution: ExecutionRef, wish: ReplayRequest | None = None) -> Replayed:
    """Replay an execution from its log, without calls or clock: with its version, another one, or an unpublished
    document.
    """
    wanted = wish or ReplayRequest()
    one_of_two(wanted.version, wanted.document, ("version", "document"))
    if wanted.document is not None:
        return Replayed.of(await replay.replay_with(desk, execution, wanted.document))
    return Replayed.of(await executions.replay_execution(desk, execution, wanted.version))


@router.get("/{execution}/export")
async def export_execution(desk: Reading, principal: Known, execution: ExecutionRef) -> ExecutionExport:
    """Everything needed to verify the execution elsewhere: `mainspring execution verify FILE` does, without a database.

    With several tenants, the chain of ticks, which contains executions of all of them, is for operators of the
    installation; `note` says if it was left out.
    """
    bundle = await execution_export.export_execution(desk, execution, as_operator=principal.is_operator)
    return ExecutionExport.model_validate(plain(bundle))


@router.post("/{execution}/erase")
async def erase_execution(
    desk: Writing, execution: ExecutionRef, wish: Reason | None = None, dry_run: DryRun = False
) -> Erased | EraseDryRun:
    """Erase the values of a finished execution; its log still verifies, but cannot be replayed any more."""
    if dry_run:
        found = await executions.find_erasable(desk, execution)
        return EraseDryRun(execution=await load_execution(desk, found))
    entries = await executions.erase_execution(desk, execution, (wish or Reason()).reason)
    return Erased(id=execution, entries=entries)


async def _page(
    desk: Desk, wanted: ExecutionFilter, limit: int, cursor: str | None, with_total: bool
) -> CountedPage[ExecutionView]:
    kind = "executions, oldest first" if wanted.oldest_first else "executions"
    place = open_cursor(desk, kind, cursor)
    wanted = replace(wanted, before_id=place[0] if place else None, limit=limit + 1)
    found = await desk.stores.flows.workflows.executions(desk.tenant_id, wanted)
    page = found[:limit]
    clocks: dict[int, LogicalClock] = {}
    for each in page:
        if each.partition not in clocks:
            clocks[each.partition] = await clock_of(desk, each)
    more = seal_cursor(desk, kind, page[-1].id) if len(found) > limit else None
    items = [ExecutionView.of(each, clocks[each.partition]) for each in page]
    return CountedPage(items=items, next_cursor=more, total=await total_of(desk, wanted, with_total))


async def _order(
    desk: Desk, execution: str, verb: str, wish: Reason | None, response: Response, dry_run: bool
) -> CommandSent | CommandDryRun:
    reason = (wish or Reason()).reason
    found = await executions.order_execution(desk, execution, verb, reason, dry_run=dry_run)
    execution_view = await load_execution(desk, found)
    if not dry_run:
        return CommandSent(execution=execution_view, ordered=verb, reason=reason)
    response.status_code = 200
    return CommandDryRun(execution=execution_view, ordered=verb, reason=reason)


async def _send(desk: Desk, wish: EventNew, dry_run: bool) -> tuple[list[str], int]:
    return await executions.send_event(
        desk, wish.to, wish.type, wish.data, event_id=wish.id, occurred_at=wish.occurred_at, dry_run=dry_run
    )


def _sent(wish: EventNew, ids: list[str], new: int, trouble: str = "") -> EventSent:
    return EventSent(to=wish.to, executions=ids, new=new, trouble=trouble)


async def _log(
    desk: Desk, execution: Found, limit: int, cursor: str | None
) -> tuple[list[LogEntry], LogicalClock, str | None]:
    place = open_cursor(desk, f"log of {execution.id}", cursor)
    after = int(place[0]) if place else 0
    entries = await desk.stores.flows.logs.entries(desk.tenant_id, execution.id, after, limit + 1)
    page = entries[:limit]
    more = seal_cursor(desk, f"log of {execution.id}", str(page[-1].number)) if len(entries) > limit else None
    return page, await clock_of(desk, execution), more

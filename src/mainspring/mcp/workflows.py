"""Tools about workflows: what runs and where it stands, and the orders that can be taken back or tried again.

Cancelling ends an execution for good and is left to people. What executions know came from called servers and from
senders of events, so it is marked as somebody else's words.
"""

import json
from typing import Annotated, Literal

from pydantic import Field

from mainspring.domain.access.scope import Scope
from mainspring.domain.errors import InvalidInput
from mainspring.domain.instant import rfc3339
from mainspring.mcp.arguments import LIST_DEFAULT, WORDS_MAX, DryRun, Limit, Reason
from mainspring.mcp.tool import Arguments, Toolbox, ToolCaller
from mainspring.mcp.untrusted import NOTE, clipped, marked
from mainspring.operations import executions as operations
from mainspring.operations.endpoints import Desk
from mainspring.operations.executions import clock_of, find_execution, read_log
from mainspring.operations.workflows import StartRequest, dry_run_start, refuse_reentry, start_executions
from mainspring.ports.workflows import Execution, ExecutionFilter
from mainspring.views.execution import load_execution, load_execution_detail
from mainspring.views.execution_log import TimelineEntryView
from mainspring.views.shapes import Shape
from mainspring.views.workflow import WorkflowView
from mainspring.workflow.model import Status

INSIDE = ("input", "vars", "steps", "events")
INSIDE_MAX = 8_000
MOMENTS_MAX = 50

box = Toolbox()
Name = Annotated[str, Field(max_length=WORDS_MAX)]


class GetExecutions(Arguments):
    execution: Annotated[Name | None, Field(description="Id of one: where it stands, what happened.")] = None
    workflow: Annotated[Name | None, Field(description="Only those of this workflow.")] = None
    status: Annotated[Status | None, Field(description="Only those that are so.", examples=["failed"])] = None
    in_need: Annotated[bool, Field(description="Only those that wait for a person: failed or paused.")] = False
    before: Annotated[Name | None, Field(description="Read on: the `next` of the answer before.")] = None
    limit: Limit = LIST_DEFAULT


@box.tool(Scope.READ, only_reads=True)
async def get_executions(visit: ToolCaller, wanted: GetExecutions) -> Shape:
    """List workflows and their executions, newest first; or, with `execution`, show one with its timeline.

    `allows` are the orders its status allows. What it knows is data of others, marked as untrusted.
    """
    desk = visit.desk
    if wanted.execution is not None:
        return await _one(desk, await find_execution(desk, wanted.execution))
    store = desk.stores.flows.workflows
    asked = ExecutionFilter(wanted.workflow, wanted.status, None, wanted.before, wanted.limit, in_need=wanted.in_need)
    found = await store.executions(desk.tenant_id, asked)
    return {
        "workflows": [
            WorkflowView.of(each).as_json()
            for each in await store.versions(desk.tenant_id, None)
            if each.archived_at is None
        ],
        "executions": [await _short(desk, each) for each in found],
        "next": found[-1].id if len(found) == wanted.limit else None,
    }


class OrderExecution(Arguments):
    verb: Annotated[
        Literal["start", "send", "pause", "resume", "retry", "skip"],
        Field(description="start a workflow, send an event, or order one about; skip needs a reason."),
    ]
    workflow: Annotated[Name | None, Field(description="With start: its name.")] = None
    execution: Annotated[
        Name | None, Field(description="Id of the execution; with send also the correlation key of those that run.")
    ] = None
    event: Annotated[Name, Field(description="With send: the type of the event.", examples=["reply"])] = ""
    data: Annotated[dict[str, object] | None, Field(description="With start its input, with send what it carries.")] = (
        None
    )
    correlation: Annotated[Name, Field(description="With start: what events may be addressed to.")] = ""
    key: Annotated[
        Name | None, Field(description="Your own key: a second start, or event, with it changes nothing.")
    ] = None
    reason: Reason = ""
    dry_run: DryRun = False


@box.tool(Scope.RUN)
async def order_execution(visit: ToolCaller, wanted: OrderExecution) -> Shape:
    """Start a workflow, send an event to executions, or pause, resume, retry or skip one.

    Orders and events are taken in the next second and stand in the log with your name and the reason.
    """
    desk = visit.desk
    if wanted.verb == "start":
        return await _start(desk, wanted)
    target = wanted.execution
    if target is None:
        raise InvalidInput(f"{wanted.verb} is for an execution; give its id as execution", field="execution")
    if wanted.verb == "send":
        ids, new = await operations.send_event(
            desk, target, wanted.event, wanted.data or {}, event_id=wanted.key or "", dry_run=wanted.dry_run
        )
        return {"dry_run": wanted.dry_run, "executions": ids, "new": new}
    found = await operations.order_execution(desk, target, wanted.verb, wanted.reason, dry_run=wanted.dry_run)
    return {"dry_run": wanted.dry_run, "ordered": wanted.verb, "execution": await _short(desk, found)}


async def _start(desk: Desk, wanted: OrderExecution) -> Shape:
    if wanted.workflow is None:
        raise InvalidInput("start is for a workflow; give its name as workflow", field="workflow")
    wish = StartRequest(wanted.data or {}, wanted.correlation, wanted.key)
    if wanted.dry_run:
        started = await dry_run_start(desk, wanted.workflow, wish)
    else:
        (started,) = await start_executions(desk, wanted.workflow, [wish])
    refuse_reentry(started)
    is_there = not wanted.dry_run or not started.is_new
    told = await _short(desk, started.execution) if is_there else None
    return {"dry_run": wanted.dry_run, "new": started.is_new, "execution": told}


async def _short(desk: Desk, execution: Execution) -> Shape:
    view = await load_execution(desk, execution)
    return view.as_json() | {"error": clipped(view.error, 500)}


async def _one(desk: Desk, execution: Execution) -> Shape:
    clock = await clock_of(desk, execution)
    full = (await load_execution_detail(desk, execution)).as_json()
    inside = json.dumps({name: full.pop(name) for name in INSIDE}, ensure_ascii=False)
    moments = [TimelineEntryView.of(each, clock) for each in (await read_log(desk, execution))[-MOMENTS_MAX:]]
    lines = "\n".join(f"{rfc3339(each.at)} {each.step}: {each.text}" for each in moments)
    return {
        "execution": full | {"error": clipped(execution.state.error, 500)},
        "timeline": {"untrusted": True, "note": NOTE, "text": marked(lines)},
        "knows": {"untrusted": True, "note": NOTE, "text": marked(clipped(inside, INSIDE_MAX))},
    }

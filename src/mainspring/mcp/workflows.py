"""Tools about workflows: list executions and their state, and send commands that can be undone or retried.

Cancelling ends an execution for good and is left to people. Data of executions comes from called servers and senders of
events, so it is marked as untrusted.
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
from mainspring.operations.context import Desk
from mainspring.operations.executions import clock_of, find_execution, read_log
from mainspring.operations.workflows import StartRequest, dry_run_start, refuse_reentry, start_executions
from mainspring.ports.workflows import Execution, ExecutionFilter
from mainspring.views.execution import load_execution, load_execution_detail
from mainspring.views.execution_log import TimelineEntryView
from mainspring.views.view import JsonObject
from mainspring.views.workflow import WorkflowView
from mainspring.workflow.model import Status

INSIDE = ("input", "vars", "steps", "events")
INSIDE_MAX = 8_000
MOMENTS_MAX = 50

box = Toolbox()
Name = Annotated[str, Field(max_length=WORDS_MAX)]


class GetExecutions(Arguments):
    execution: Annotated[Name | None, Field(description="Id of an execution: its state and history.")] = None
    workflow: Annotated[Name | None, Field(description="Only executions of this workflow.")] = None
    status: Annotated[Status | None, Field(description="Only executions with this status.", examples=["failed"])] = None
    in_need: Annotated[bool, Field(description="Only executions that wait for a person: failed or paused.")] = False
    before: Annotated[Name | None, Field(description="Next page: the `next` of the previous answer.")] = None
    limit: Limit = LIST_DEFAULT


@box.tool(Scope.READ, only_reads=True)
async def get_executions(visit: ToolCaller, wanted: GetExecutions) -> JsonObject:
    """List workflows and their executions, newest first; or, with `execution`, show one with its timeline.

    `allows` are the commands its status allows. Its data is marked as untrusted.
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
        Field(description="start a workflow, send an event, or send a command; skip needs a reason."),
    ]
    workflow: Annotated[Name | None, Field(description="With start: its name.")] = None
    execution: Annotated[
        Name | None, Field(description="Id of the execution; with send also the correlation key of running ones.")
    ] = None
    event: Annotated[Name, Field(description="With send: the type of the event.", examples=["reply"])] = ""
    data: Annotated[dict[str, object] | None, Field(description="With start its input, with send its data.")] = None
    correlation: Annotated[Name, Field(description="With start: correlation key that events can be sent to.")] = ""
    key: Annotated[
        Name | None, Field(description="Idempotency key: a second start or event with it changes nothing.")
    ] = None
    reason: Reason = ""
    dry_run: DryRun = False


@box.tool(Scope.RUN)
async def order_execution(visit: ToolCaller, wanted: OrderExecution) -> JsonObject:
    """Start a workflow, send an event to executions, or pause, resume, retry or skip one.

    Commands and events are processed in the next second and recorded in the log with your name and the reason.
    """
    desk = visit.desk
    if wanted.verb == "start":
        return await _start(desk, wanted)
    target = wanted.execution
    if target is None:
        raise InvalidInput(f"{wanted.verb} needs an execution; give its id as execution", field="execution")
    if wanted.verb == "send":
        ids, new = await operations.send_event(
            desk, target, wanted.event, wanted.data or {}, event_id=wanted.key or "", dry_run=wanted.dry_run
        )
        return {"dry_run": wanted.dry_run, "executions": ids, "new": new}
    found = await operations.order_execution(desk, target, wanted.verb, wanted.reason, dry_run=wanted.dry_run)
    return {"dry_run": wanted.dry_run, "ordered": wanted.verb, "execution": await _short(desk, found)}


async def _start(desk: Desk, wanted: OrderExecution) -> JsonObject:
    if wanted.workflow is None:
        raise InvalidInput("start needs a workflow; give its name as workflow", field="workflow")
    wish = StartRequest(wanted.data or {}, wanted.correlation, wanted.key)
    if wanted.dry_run:
        started = await dry_run_start(desk, wanted.workflow, wish)
    else:
        (started,) = await start_executions(desk, wanted.workflow, [wish])
    refuse_reentry(started)
    is_there = not wanted.dry_run or not started.is_new
    told = await _short(desk, started.execution) if is_there else None
    return {"dry_run": wanted.dry_run, "new": started.is_new, "execution": told}


async def _short(desk: Desk, execution: Execution) -> JsonObject:
    view = await load_execution(desk, execution)
    return view.as_json() | {"error": clipped(view.error, 500)}


async def _one(desk: Desk, execution: Execution) -> JsonObject:
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

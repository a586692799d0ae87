"""Workflows: check, publish, compare, draw and simulate documents; start executions of them."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from mainspring.api.access import Reading, Running, Writing
from mainspring.api.etags import IfMatch, refuse_other
from mainspring.api.models.fields import DryRun
from mainspring.api.models.requests import one_of_two
from mainspring.api.models.workflows import (
    ReplayManyRequest,
    StartMany,
    StartOne,
    StartOptions,
    WorkflowDocument,
    WorkflowSimulationRequest,
)
from mainspring.operations import replay, workflow_archive, workflows
from mainspring.operations.context import Desk
from mainspring.operations.executions import clock_of
from mainspring.operations.workflows import StartRequest
from mainspring.ports.workflows import Published
from mainspring.views.execution import (
    ExecutionStarted,
    StartDryRun,
    StartedMany,
    StartManyDryRun,
    StartOutcome,
    load_execution,
)
from mainspring.views.execution_log import ReplayedMany, Simulated
from mainspring.views.view import PageOf
from mainspring.views.workflow import (
    Graph,
    WorkflowArchived,
    WorkflowChecked,
    WorkflowDetailView,
    WorkflowDiff,
    WorkflowDryRun,
    WorkflowPublished,
    WorkflowRules,
    WorkflowView,
)
from mainspring.workflow.model import LogicalClock
from mainspring.workflow.replay import SimulatedAnswer, SimulatedEvent

router = APIRouter(prefix="/workflows", tags=["workflows"])
WorkflowRef = Annotated[
    str, Path(alias="workflow", max_length=1_000, description="Name of a workflow.", examples=["order-follow-up"])
]
VersionRef = Annotated[int, Path(alias="version", ge=1, le=1_000_000_000, description="Number of a version.")]
Archived = Annotated[bool, Query(description="List archived workflows instead.")]
Version = Annotated[int | None, Query(ge=1, le=1_000_000_000, description="Version; default: the newest.")]


@router.get("")
async def list_workflows(desk: Reading, archived: Archived = False) -> PageOf[WorkflowView]:
    """Workflows by name, each with its newest version."""
    found = await desk.stores.flows.workflows.versions(desk.tenant_id, None)
    items = [WorkflowView.of(each) for each in found if (each.archived_at is not None) == archived]
    return PageOf(items=items, next_cursor=None)


@router.post(
    "",
    status_code=201,
    responses={200: {"model": WorkflowPublished | WorkflowDryRun}},
)
async def publish_workflow(
    desk: Writing, wish: WorkflowDocument, response: Response, if_match: IfMatch = None, dry_run: DryRun = False
) -> WorkflowPublished | WorkflowDryRun:
    """Publish the next version of the workflow that the document names; running executions keep their version.

    201: published. 200: the newest version already does the same, or it was a dry run.
    """
    plan = await workflows.plan_publication(desk, wish.document)
    newest = plan.newest
    if if_match is not None:
        refuse_other(if_match, _etag(newest) if newest else '""', "workflow", plan.workflow.name)
    if dry_run:
        response.status_code = 200
        return WorkflowDryRun(
            new=plan.is_new,
            before=WorkflowView.of(newest) if newest else None,
            after=WorkflowRules.of(plan.workflow),
            differences=plan.differences,
        )
    published, is_new = await workflows.publish_workflow(desk, wish.document, plan)
    response.headers["ETag"] = _etag(published)
    if is_new:
        response.headers["Location"] = _place(published)
    else:
        response.status_code = 200
    return WorkflowPublished.of_published(published, new=is_new)


@router.post("/check")
async def check_workflow(desk: Reading, wish: WorkflowDocument) -> WorkflowChecked:
    """Check a document without publishing it; every error is returned with its path and line."""
    workflow = await workflows.check_workflow(desk, wish.document)
    return WorkflowChecked.of(workflow, graph=Graph.of(workflow))


@router.post("/simulate")
async def simulate_workflow(desk: Reading, wish: WorkflowSimulationRequest) -> Simulated:
    """Simulate a document or a workflow with given events. Nothing is sent."""
    one_of_two(wish.document, wish.workflow, ("document", "workflow"), required=True)
    if wish.document is not None:
        workflow = await workflows.check_workflow(desk, wish.document)
    else:
        workflow = (await workflows.find_workflow(desk, wish.workflow or "", wish.version)).workflow
    events = [SimulatedEvent(each.after, each.type, dict(each.data)) for each in wish.events]
    answers = {
        step: [SimulatedAnswer(each.outcome, each.result, each.code, each.error, each.after) for each in given]
        for step, given in wish.answers.items()
    }
    played = await desk.sandbox.call(desk.tenant_id, replay.play, workflow, wish.input, events, answers)
    return Simulated.of(played, LogicalClock(0, replay.EPOCH))


@router.get("/{workflow}")
async def read_workflow(desk: Reading, workflow: WorkflowRef, response: Response) -> WorkflowDetailView:
    """The newest version of a workflow, with its document."""
    found = await workflows.find_workflow(desk, workflow)
    response.headers["ETag"] = _etag(found)
    return WorkflowDetailView.of_published(found)


@router.get("/{workflow}/versions")
async def list_workflow_versions(desk: Reading, workflow: WorkflowRef) -> PageOf[WorkflowView]:
    """Versions of a workflow, newest first."""
    await workflows.find_workflow(desk, workflow)
    found = await desk.stores.flows.workflows.versions(desk.tenant_id, workflow)
    return PageOf(items=[WorkflowView.of(each) for each in found], next_cursor=None)


@router.get("/{workflow}/versions/{version}")
async def read_workflow_version(
    desk: Reading, workflow: WorkflowRef, version: VersionRef, response: Response
) -> WorkflowDetailView:
    found = await workflows.find_workflow(desk, workflow, version)
    response.headers["ETag"] = _etag(found)
    return WorkflowDetailView.of_published(found)


@router.get("/{workflow}/diff")
async def diff_workflow(desk: Reading, workflow: WorkflowRef, old: Version = None, new: Version = None) -> WorkflowDiff:
    """The changes between two versions, in words; by default between the newest and the previous one."""
    before, after, said = await workflows.compare_versions(desk, workflow, old, new)
    return WorkflowDiff(old=before, new=after, differences=said)


@router.get("/{workflow}/graph")
async def read_workflow_graph(desk: Reading, workflow: WorkflowRef, version: Version = None) -> Graph:
    """A version as nodes and edges, for drawing."""
    return Graph.of((await workflows.find_workflow(desk, workflow, version)).workflow)


@router.post(
    "/{workflow}/start",
    status_code=201,
    responses={200: {"model": ExecutionStarted | StartDryRun}},
)
async def start_execution(
    desk: Running, workflow: WorkflowRef, response: Response, wish: StartOne | None = None, dry_run: DryRun = False
) -> ExecutionStarted | StartDryRun:
    """Start an execution, now or at a given time. 200: an execution was already started under this key."""
    wanted = wish or StartOne()
    if dry_run:
        response.status_code = 200
        return await _dry_run_start(desk, workflow, wanted)
    (started,) = await workflows.start_executions(desk, workflow, [_wish(wanted)], version=wanted.version)
    workflows.refuse_reentry(started)
    execution = started.execution
    response.headers["Location"] = f"/api/v1/executions/{execution.id}"
    if not started.is_new:
        response.status_code = 200
    return ExecutionStarted.of(execution, await clock_of(desk, execution), new=started.is_new)


@router.post(
    "/{workflow}/start-many",
    status_code=201,
    responses={200: {"model": StartManyDryRun}},
)
async def start_executions(
    desk: Running, workflow: WorkflowRef, wish: StartMany, response: Response, dry_run: DryRun = False
) -> StartedMany | StartManyDryRun:
    """Start up to a thousand executions in one transaction. One invalid request refuses them all."""
    wishes = [_wish(each) for each in wish.executions]
    if dry_run:
        response.status_code = 200
        version = await workflows.check_wishes(desk, workflow, wishes, version=wish.version)
        return StartManyDryRun(count=len(wishes), version=version)
    found = await workflows.start_executions(desk, workflow, wishes, version=wish.version)
    return StartedMany(
        started=sum(each.is_new for each in found),
        existing=sum(not each.is_new and not each.is_refused for each in found),
        refused=sum(each.is_refused for each in found),
        items=[StartOutcome.of(each) for each in found],
    )


@router.post("/{workflow}/archive")
async def archive_workflow(desk: Writing, workflow: WorkflowRef, dry_run: DryRun = False) -> WorkflowArchived:
    """Archive a workflow: it cannot be started, manually or by triggers; running executions continue."""
    return WorkflowArchived.of(
        await workflow_archive.archive_workflow(desk, workflow, dry_run=dry_run), dry_run=dry_run
    )


@router.post("/{workflow}/restore")
async def restore_workflow(desk: Writing, workflow: WorkflowRef, dry_run: DryRun = False) -> WorkflowArchived:
    """Restore an archived workflow, so that it can be started again."""
    return WorkflowArchived.of(
        await workflow_archive.restore_workflow(desk, workflow, dry_run=dry_run), dry_run=dry_run
    )


@router.post("/{workflow}/replay")
async def replay_workflow(desk: Reading, workflow: WorkflowRef, wish: ReplayManyRequest | None = None) -> ReplayedMany:
    """Replay old executions with another version or an unpublished document, to see which would take another path."""
    wanted = wish or ReplayManyRequest()
    one_of_two(wanted.version, wanted.document, ("version", "document"))
    found = await replay.compare_executions(desk, workflow, wanted.document, wanted.version, wanted.limit)
    return ReplayedMany.of(found)


async def _dry_run_start(desk: Desk, workflow: str, wanted: StartOne) -> StartDryRun:
    started = await workflows.dry_run_start(desk, workflow, _wish(wanted), version=wanted.version)
    workflows.refuse_reentry(started)
    execution = None if started.is_new else await load_execution(desk, started.execution)
    return StartDryRun.from_value(started.execution.state, new=started.is_new, execution=execution, dry_run=True)


def _wish(given: StartOptions) -> StartRequest:
    return StartRequest(dict(given.input), given.correlation, given.key, given.at)


def _etag(published: Published) -> str:
    return f'"v{published.workflow.version}"'


def _place(published: Published) -> str:
    return f"/api/v1/workflows/{published.workflow.name}/versions/{published.workflow.version}"

"""Workflows and their versions as all interfaces show them."""

from typing import Any, Literal, Self

import msgspec
from pydantic import Field, JsonValue

from mainspring.operations.workflow_archive import Archived
from mainspring.ports.workflows import Published
from mainspring.views.view import At, View
from mainspring.workflow.diagram import diagram_of
from mainspring.workflow.model import Workflow


def plain(value: object) -> Any:
    """A value as JSON: structs are objects, tuples are lists."""
    return msgspec.json.decode(msgspec.json.encode(value))


class WorkflowRules(View):
    """A parsed workflow."""

    name: str
    version: int = Field(description="0: never published.")
    description: str
    start: str = Field(description="The first step.")
    reentry: Literal["allow", "refuse"] = Field(
        description="Whether a second execution may run with the same correlation key."
    )
    step_count: int
    input: dict[str, dict[str, JsonValue]] = Field(description="Input of an execution.")
    exits: list[dict[str, JsonValue]]
    triggers: list[dict[str, JsonValue]] = Field(description="Triggers: what starts the workflow or sends it events.")
    steps: list[dict[str, JsonValue]]

    @classmethod
    def of(cls, workflow: Workflow, /, **others: object) -> Self:
        return cls.from_value(
            workflow,
            step_count=len(workflow.steps),
            input={name: plain(each) for name, each in workflow.parameters.items()},
            exits=[plain(each) for each in workflow.exits],
            triggers=[plain(each) for each in workflow.triggers],
            steps=[plain(step) for step in workflow.steps.values()],
            **others,
        )


class WorkflowView(View):
    name: str
    version: int
    description: str
    start: str
    reentry: Literal["allow", "refuse"]
    step_count: int
    actor: str = Field(description="Who published it.")
    created_at: At
    archived_at: At | None = Field(description="Time of archiving; null: it can be started.")

    @classmethod
    def of(cls, published: Published) -> Self:
        workflow = published.workflow
        return cls.from_value(workflow, step_count=len(workflow.steps), **_publication(published))


def _publication(published: Published) -> dict[str, object]:
    return {
        "actor": published.actor,
        "created_at": published.created_at,
        "archived_at": published.archived_at,
    }


class WorkflowDetailView(WorkflowRules):
    actor: str
    created_at: At
    archived_at: At | None
    document: str = Field(description="The document as written.")

    @classmethod
    def of_published(cls, published: Published, **others: object) -> Self:
        """`others` are the fields of a view with more of them."""
        return cls.of(published.workflow, **_publication(published), document=published.document, **others)


class WorkflowPublished(WorkflowDetailView):
    new: bool = Field(description="False if the newest version is identical; nothing was published.")


class WorkflowArchived(View):
    dry_run: bool = Field(description="True: nothing was changed.")
    changed: bool = Field(description="False if it already had this state.")
    running: int = Field(description="Executions that are in progress. They continue.")
    workflow: WorkflowView

    @classmethod
    def of(cls, found: Archived, *, dry_run: bool = False) -> Self:
        return cls.from_value(found, dry_run=dry_run, workflow=WorkflowView.of(found.published))


class WorkflowDryRun(View):
    dry_run: Literal[True] = True
    new: bool = Field(description="Whether a new version would be published.")
    before: WorkflowView | None
    after: WorkflowRules
    differences: list[str] = Field(description="What would change, in words.")


class NodeView(View):
    id: str = Field(description="A step's id, or `$end`.")
    kind: str
    label: str
    is_start: bool


class EdgeView(View):
    id: str
    source: str
    target: str
    kind: Literal["next", "case", "default", "timeout", "failure"]
    label: str


class Graph(View):
    nodes: list[NodeView]
    edges: list[EdgeView]

    @classmethod
    def of(cls, workflow: Workflow) -> Self:
        nodes, edges = diagram_of(workflow)
        numbered = [{"id": f"e{number}", **plain(edge)} for number, edge in enumerate(edges)]
        return cls.model_validate({"nodes": nodes, "edges": numbered})


class WorkflowChecked(WorkflowRules):
    graph: Graph


class WorkflowDiff(View):
    old: int
    new: int
    differences: list[str] = Field(description="One sentence for each change; empty if both are identical.")

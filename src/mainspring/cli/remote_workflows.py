"""Workflows and executions through a server, for commands that need several API calls."""

from itertools import islice
from typing import TYPE_CHECKING, Any

from mainspring.cli.remote import PAGE, Shape

if TYPE_CHECKING:
    from mainspring.client import Client
    from mainspring.operations.workflows import StartRequest
    from mainspring.ports.workflows import ExecutionFilter
    from mainspring.views.execution import ExecutionStarted, ExecutionView
    from mainspring.views.execution_log import Simulated
    from mainspring.views.workflow import WorkflowDetailView
    from mainspring.workflow.bundle import Bundle
    from mainspring.workflow.replay import ReplayFrame, SimulatedAnswer, SimulatedEvent


def read_workflow(client: "Client", name: str, version: int | None) -> "WorkflowDetailView":
    from mainspring.views.workflow import WorkflowDetailView

    found: object = client.workflows.read(name)
    if version is not None:
        found = client.workflows.read_version(name, str(version))
    return WorkflowDetailView.model_validate(found)


def start(client: "Client", name: str, wish: "StartRequest", version: int | None) -> "ExecutionStarted":
    from mainspring.domain.instant import rfc3339
    from mainspring.views.execution import ExecutionStarted

    started = client.workflows.start_execution(
        name,
        input=_plain(wish.input),
        correlation=wish.correlation,
        key=wish.key,
        at=None if wish.at is None else rfc3339(wish.at),
        version=version,
    )
    return ExecutionStarted.model_validate(started)


def simulate(
    client: "Client",
    document: str,
    start_with: dict[str, object],
    happenings: list["SimulatedEvent"],
    answers: list[str],
) -> "Simulated":
    from mainspring.cli.workflow import read_answers
    from mainspring.views.execution_log import Simulated

    steps = tuple(str(step["id"]) for step in client.workflows.check(document=document)["steps"])
    played = client.workflows.simulate(
        document=document,
        input=_plain(start_with),
        events=[_sent(each) for each in happenings],
        answers={step: [_answer(each) for each in given] for step, given in read_answers(answers, steps).items()},
    )
    return Simulated.model_validate(played)


def _answer(answer: "SimulatedAnswer") -> Any:
    shape = _sent(answer)
    return {"outcome": shape.pop("type"), **shape}


def _sent(value: "SimulatedEvent | SimulatedAnswer") -> Any:
    """As the API takes it: an input has no unit in its name."""
    shape = _plain(value)
    return {"after": shape.pop("after_ms"), **shape}


def executions(client: "Client", wanted: "ExecutionFilter", *, in_full: bool) -> list["ExecutionView"]:
    """The newest executions. Values are fetched one by one if they are shown."""
    from mainspring.views.execution import ExecutionDetailView, ExecutionView

    size = min(wanted.limit, PAGE)
    group: Any = client.executions  # its types are the words of the API, not our enumerations
    if wanted.in_need:
        found = (
            each
            for each in group.iterate_in_need(workflow=wanted.workflow, limit=size)
            if all(getattr(wanted, name) in (None, each[name]) for name in ("status", "correlation", "version", "step"))
        )
    else:
        found = group.iterate(
            workflow=wanted.workflow,
            status=wanted.status,
            correlation=wanted.correlation,
            version=wanted.version,
            step=wanted.step,
            sort="created_at" if wanted.oldest_first else "-created_at",
            limit=size,
        )
    chosen = islice(found, wanted.limit)
    if not in_full:
        return ExecutionView.read_all(chosen)
    return [ExecutionDetailView.model_validate(client.executions.read(each["id"])) for each in chosen]


def order(client: "Client", execution_id: str, verb: str, reason: str, *, in_full: bool) -> "ExecutionView":
    """The execution before the command. The scope to read is only needed with `in_full`."""
    from mainspring.views.execution import ExecutionDetailView, ExecutionView

    before = ExecutionDetailView.model_validate(client.executions.read(execution_id)) if in_full else None
    ordered = getattr(client.executions, verb)(execution_id, reason=reason)["execution"]
    return before or ExecutionView.model_validate(ordered)


def order_many(client: "Client", verb: str, wanted: "ExecutionFilter", reason: str, *, dry_run: bool) -> Shape:
    orders: Any = client.executions.order  # its types distinguish a dry run from the change
    answer: Shape = orders(
        verb=verb,
        workflow=wanted.workflow,
        correlation=wanted.correlation,
        status=wanted.status,
        version=wanted.version,
        step=wanted.step,
        reason=reason,
        limit=wanted.limit,
        dry_run=dry_run,
    )
    return answer


def send(client: "Client", to: str, type_: str, data: dict[str, object], event_id: str) -> tuple[list[str], int]:
    sent = client.executions.send_event(to=to, type=type_, data=_plain(data), id=event_id)
    return sent["executions"], sent["new"]


def export(client: "Client", execution_id: str) -> "Bundle":
    from msgspec import convert

    from mainspring.workflow.bundle import Bundle

    return convert(client.executions.export(execution_id), Bundle)


def step_through(client: "Client", execution_id: str) -> list["ReplayFrame"]:
    """Every turn, replayed here from the server's export."""
    from mainspring.workflow.bundle import entries_of, workflow_of
    from mainspring.workflow.replay import frames

    bundle = export(client, execution_id)
    counted = (bundle.zero, bundle.resolution_ms, bundle.zeros)
    return list(frames(workflow_of(bundle), entries_of(bundle), bundle.salt, *counted))


def _plain(value: object) -> Any:
    from mainspring.views.workflow import plain

    return plain(value)

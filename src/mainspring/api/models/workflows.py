"""What the routes of workflows and executions take and answer with, field by field."""

from typing import Literal

from pydantic import ConfigDict, Field, JsonValue

from mainspring.api.models.answers import At, ResponseModel
from mainspring.api.models.fields import RequestModel
from mainspring.inputs.values import Duration, Instant, Text

VERSION_MAX, DOCUMENT_MAX = 1_000_000_000, 500_000  # a version is below what a column of either database holds
DOCUMENT = """\
name: order-follow-up
input: {email: text}
steps:
  - {id: thank, email: {to: "{{ input.email }}", subject: Thanks, body: Thank you.}}
  - {id: rest, wait: 3d}
  - {id: reply, wait_for: {event: reply, timeout: 2d, on_timeout: silent}, next: end}
  - {id: silent, end: silent}
"""
STATUS = Literal["pending", "active", "waiting", "paused", "completed", "failed", "cancelled"]
Values = dict[str, JsonValue]


class WorkflowDocument(RequestModel):
    document: Text = Field(max_length=DOCUMENT_MAX, description="The text, YAML or JSON.", examples=[DOCUMENT])


class WorkflowRules(ResponseModel):
    """A workflow as its document means it."""

    name: str
    version: int = Field(description="0: never published.")
    description: str
    start: str = Field(description="The step that comes first.")
    reentry: Literal["allow", "refuse"] = Field(description="Whether a second may run under one correlation key.")
    step_count: int
    input: dict[str, dict[str, JsonValue]] = Field(description="What an execution starts with.")
    exits: list[dict[str, JsonValue]]
    triggers: list[dict[str, JsonValue]] = Field(description="What outside starts it, or is told to it.")
    steps: list[dict[str, JsonValue]]


class WorkflowView(ResponseModel):
    name: str
    version: int
    description: str
    start: str
    reentry: Literal["allow", "refuse"]
    step_count: int
    actor: str = Field(description="Who published it.")
    created_at: At
    archived_at: At | None = Field(description="Since then nothing starts it; null: it may be started.")


class WorkflowDetailView(WorkflowRules):
    actor: str
    created_at: At
    archived_at: At | None
    document: str = Field(description="As it was written.")


class WorkflowPublished(WorkflowDetailView):
    new: bool = Field(description="False: the newest version does the same already; nothing was published.")


class WorkflowArchived(ResponseModel):
    dry_run: bool = Field(description="True: nothing was changed.")
    changed: bool = Field(description="False: it was so already.")
    running: int = Field(description="Executions of it that are not over; they go on.")
    workflow: WorkflowView


class WorkflowDryRun(ResponseModel):
    dry_run: Literal[True] = True
    new: bool = Field(description="Whether there would be a new version.")
    before: WorkflowView | None
    after: WorkflowRules
    differences: list[str] = Field(description="What would change, in words.")


class NodeView(ResponseModel):
    id: str = Field(description="A step's id, or `$end`.")
    kind: str
    label: str
    is_start: bool


class EdgeView(ResponseModel):
    id: str
    source: str
    target: str
    kind: Literal["next", "case", "default", "timeout", "failure"]
    label: str


class Graph(ResponseModel):
    nodes: list[NodeView]
    edges: list[EdgeView]


class WorkflowChecked(WorkflowRules):
    graph: Graph


class WorkflowDiff(ResponseModel):
    old: int
    new: int
    differences: list[str] = Field(description="One sentence for each change; none: both do the same.")


class StartOptions(RequestModel):
    input: Values = Field(default={}, description="What the workflow's `input` declares.")
    correlation: Text = Field(default="", description="What events may be addressed to, such as `order-7`.")
    key: Text | None = Field(default=None, description="A second start of the workflow under this key is the first.")
    at: Instant | None = Field(default=None, description="Start then, not now.")


class StartOne(StartOptions):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"input": {"email": "ann@example.com"}, "correlation": "order-7"}]}
    )

    version: int | None = Field(default=None, ge=1, le=VERSION_MAX, description="The newest, if none is named.")


class StartMany(RequestModel):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"executions": [{"input": {"email": "ann@example.com"}, "key": "order-7"}]}],
        }
    )

    executions: list[StartOptions] = Field(min_length=1, max_length=1_000)
    version: int | None = Field(default=None, ge=1, le=VERSION_MAX)


class ExecutionView(ResponseModel):
    id: str
    workflow: str
    version: int
    status: STATUS
    step: str
    outcome: str
    error: str = Field(description="Why it failed and waits for a person.")
    allows: list[str] = Field(description="The orders that its status allows.")
    waits_for: Literal["", "time", "event", "effect", "retry"]
    wake_tick: int | None = Field(description="When it moves although nothing arrives.")
    wake_at: At | None
    correlation: str
    idempotency_key: str | None
    partition: int
    entries: int = Field(description="How long its log is.")
    head: str = Field(description="The hash of the last entry.")
    actor: str
    created_at: At
    moved_at: At


class _Inside(ResponseModel):
    input: Values
    vars: Values
    steps: Values = Field(description="`result` or `error` of each step.")
    events: Values = Field(description="The latest of each type, with its count.")
    visits: dict[str, int]
    visit: int
    attempt: int


class ExecutionDetailView(ExecutionView, _Inside):
    pass


class ExecutionStarted(ExecutionDetailView):
    new: bool = Field(description="False: it was there already under this key.")


class StartDryRun(ResponseModel):
    dry_run: Literal[True] = True
    new: bool
    execution: ExecutionView | None = Field(description="The one that is there already, if one is.")
    version: int
    input: Values = Field(description="With its defaults.")


class StartOutcome(ResponseModel):
    execution: str = Field(description="Its id; of the one that is there already, if it is not new.")
    new: bool
    refused: bool = Field(description="Another runs under its correlation key, and the workflow allows one.")


class StartedMany(ResponseModel):
    started: int
    existing: int
    refused: int
    items: list[StartOutcome] = Field(description="In the order of the wishes.")


class StartManyDryRun(ResponseModel):
    dry_run: Literal[True] = True
    count: int
    version: int


class Reason(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"reason": "the partner is back"}]})

    reason: Text = Field(default="", description="Why; it stands in the log. `skip` and `cancel` need one.")


class CommandSent(ResponseModel):
    execution: ExecutionView = Field(description="As it was when the order was given; it is taken in the next tick.")
    ordered: str
    reason: str


class CommandDryRun(ResponseModel):
    dry_run: Literal[True] = True
    execution: ExecutionView
    ordered: str
    reason: str


class EventNew(RequestModel):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"to": "order-7", "type": "reply", "data": {"rating": 1}, "id": "mail-93"}]}
    )

    to: Text = Field(description="An execution's id, or the correlation key of those that run.")
    type: Text
    data: Values = Field(default={})
    id: Text = Field(default="", description="Of your own; a second event with it is ignored.")
    occurred_at: Instant | None = Field(default=None, description="When it happened, where that was not now.")


class EventsNew(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"events": [{"to": "order-7", "type": "reply"}]}]})

    events: list[EventNew] = Field(min_length=1, max_length=1_000)


class EventSent(ResponseModel):
    to: str
    executions: list[str] = Field(description="Whom it is for.")
    new: int = Field(description="How many had not seen its id before.")
    trouble: str = Field(default="", description="Why it was not sent; only where many are sent.")


class EventDryRun(ResponseModel):
    dry_run: Literal[True] = True
    to: str
    executions: list[str]


class EventsSent(ResponseModel):
    new: int
    items: list[EventSent] = Field(description="In the order of the events.")


class EventsDryRun(ResponseModel):
    dry_run: Literal[True] = True
    items: list[EventSent]


class TimelineEntryView(ResponseModel):
    number: int
    tick: int
    at: At
    step: str
    action: str
    actor: str
    until_at: At | None = Field(description="When the wait ends that began here, or the rest before another attempt.")
    text: str = Field(description="What happened, in words.")


class LogEntryView(ResponseModel):
    number: int
    tick: int
    at: At
    step: str
    action: str
    input: JsonValue
    output: JsonValue
    erased: bool
    input_hash: str
    output_hash: str
    context: str
    previous: str
    hash: str


class _Standing(_Inside):
    """Where an execution stands at some moment of it."""

    status: STATUS
    step: str
    outcome: str
    error: str
    waits_for: Literal["", "time", "event", "effect", "retry"]
    wake_tick: int | None
    wake_at: At | None
    entries: int
    head: str


class StateAt(_Standing):
    """An execution as it was after its last turn at or before a tick."""

    execution: str
    tick: int
    at: At
    ticks: list[int] = Field(description="Every tick in which it moved, for whoever steps through them.")


class BreachView(ResponseModel):
    execution_id: str
    number: int
    field: str
    expected: str
    found: str


class VerdictView(ResponseModel):
    valid: bool
    entries: int
    first_tick: int | None
    last_tick: int | None
    erased: int
    ticks: int = Field(description="Of its partition, walked as well.")
    checkpoints: int = Field(description="Signed ones, that held.")
    breach: BreachView | None


class ReplayRequest(RequestModel):
    """With its own version; with another one; or with a document that is not published yet."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"version": 2}]})

    version: int | None = Field(default=None, ge=1, le=VERSION_MAX)
    document: Text | None = Field(default=None, max_length=DOCUMENT_MAX)


class ReplayedStepView(ResponseModel):
    number: int
    step: str
    original: str
    replayed: str
    identical: bool


class DifferenceView(ResponseModel):
    number: int
    step: str
    field: str
    expected: str
    actual: str


class Replayed(ResponseModel):
    identical: bool
    steps: list[ReplayedStepView]
    diffs: list[DifferenceView]


class ReplayManyRequest(ReplayRequest):
    limit: int = Field(default=50, ge=1, le=200, description="The newest so many executions.")


class ExecutionComparisonView(ResponseModel):
    execution: str
    correlation: str
    version: int
    identical: bool
    differences: int
    first: DifferenceView | None
    trouble: str = Field(description="Why it could not be replayed.")


class ReplayedMany(ResponseModel):
    compared: int
    identical: int
    items: list[ExecutionComparisonView]


class SimulatedEventInput(RequestModel):
    after: Duration = Field(description="How long after the start.")
    type: Text
    data: Values = Field(default={})


class EffectAnswerInput(RequestModel):
    outcome: Literal["success", "failure", "unknown"] = "success"
    result: JsonValue = None
    code: Text = ""
    error: Text = ""
    after: Duration = 1_000


class WorkflowSimulationRequest(RequestModel):
    """A document that was never published, or a workflow by its name."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "document": DOCUMENT,
                    "input": {"email": "ann@example.com"},
                    "events": [{"after": "4d", "type": "reply", "data": {"rating": 1}}],
                    "answers": {"thank": [{"outcome": "failure", "code": "550"}]},
                }
            ]
        }
    )

    document: Text | None = Field(default=None, max_length=DOCUMENT_MAX)
    workflow: Text | None = None
    version: int | None = Field(default=None, ge=1, le=VERSION_MAX)
    input: Values = Field(default={})
    events: list[SimulatedEventInput] = Field(default=[], max_length=1_000)
    answers: dict[str, list[EffectAnswerInput]] = Field(
        default={}, description="How the effects of a step end, one after the other; the last one stays."
    )


class Simulated(_Standing):
    last_tick: int
    cut: bool = Field(description="It went on beyond 2,000 turns, and was not followed further.")
    effects: list[dict[str, JsonValue]] = Field(description="What would have been sent.")
    timeline: list[TimelineEntryView]


class Erased(ResponseModel):
    id: str
    entries: int = Field(description="How many lost their values; their hashes stay.")


class EraseDryRun(ResponseModel):
    dry_run: Literal[True] = True
    execution: ExecutionView


class BulkExecutionRequest(RequestModel):
    """Whom to order, by what they have in common, and what."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"verb": "retry", "workflow": "order-follow-up", "step": "escalate", "reason": "the partner is back"}
            ]
        }
    )

    verb: Literal["pause", "resume", "cancel", "retry", "skip"]
    workflow: Text | None = Field(default=None, description="Of this workflow; this or `correlation` is needed.")
    correlation: Text | None = None
    status: STATUS | None = Field(default=None, description="One that allows the order; else all that do.")
    version: int | None = Field(default=None, ge=1, le=VERSION_MAX)
    step: Text | None = None
    reason: Text = Field(default="", description="Why; it stands in every log. `skip` and `cancel` need one.")
    limit: int = Field(default=1_000, ge=1, le=10_000, description="At most so many at once, the newest.")


class BulkCommandSent(ResponseModel):
    verb: str
    ordered: int
    more: bool = Field(description="Whether the limit left some out; ask again, they are the older ones.")


class BulkCommandDryRun(ResponseModel):
    dry_run: Literal[True] = True
    verb: str
    count: int = Field(description="How many allow it now.")
    sample: list[ExecutionView] = Field(description="The newest of them.")


class ExecutionExport(ResponseModel):
    """An execution with all that proves it; `mainspring execution verify FILE` checks it without a database."""

    format: Literal["mainspring.execution.v1"]
    execution: str
    salt: str
    status: STATUS
    outcome: str
    error: str
    correlation: str
    created_at: At
    actor: str
    workflow: str
    version: int
    document: str
    zero: At = Field(description="The instant of tick 0.")
    resolution_ms: int
    partition: int
    log: list[dict[str, JsonValue]] = Field(description="Entries, their values as the texts that were hashed.")
    ticks: list[dict[str, JsonValue]] = Field(description="The part of its partition's chain that holds them.")
    checkpoint: dict[str, JsonValue] | None = Field(description="Signed, at the end of these ticks.")
    note: str = Field(description="Why there are no ticks, or no checkpoint.")
    zeros: list[tuple[int, At]] = Field(
        description="From which tick on the partition counts from which instant, if its clock was repaired."
    )

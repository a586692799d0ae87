"""Request models of the routes of workflows and executions."""

from typing import Literal

from pydantic import ConfigDict, Field, JsonValue

from mainspring.api.models.fields import RequestModel
from mainspring.inputs.values import Duration, Instant, Text
from mainspring.views.execution import STATUS, Values

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


class WorkflowDocument(RequestModel):
    document: Text = Field(max_length=DOCUMENT_MAX, description="The workflow in YAML or JSON.", examples=[DOCUMENT])


class StartOptions(RequestModel):
    input: Values = Field(default={}, description="Values for the `input` that the workflow declares.")
    correlation: Text = Field(default="", description="Correlation key that events can address, such as `order-7`.")
    key: Text | None = Field(
        default=None, description="Idempotency key: a second start with this key returns the first execution."
    )
    at: Instant | None = Field(default=None, description="Start time. Default: now.")


class StartOne(StartOptions):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"input": {"email": "ann@example.com"}, "correlation": "order-7"}]}
    )

    version: int | None = Field(default=None, ge=1, le=VERSION_MAX, description="Version; default: the newest.")


class StartMany(RequestModel):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"executions": [{"input": {"email": "ann@example.com"}, "key": "order-7"}]}],
        }
    )

    executions: list[StartOptions] = Field(min_length=1, max_length=1_000)
    version: int | None = Field(default=None, ge=1, le=VERSION_MAX)


class Reason(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"reason": "the partner is back"}]})

    reason: Text = Field(default="", description="Reason, recorded in the log. Required for `skip` and `cancel`.")


class EventNew(RequestModel):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"to": "order-7", "type": "reply", "data": {"rating": 1}, "id": "mail-93"}]}
    )

    to: Text = Field(description="Id of an execution, or the correlation key of running executions.")
    type: Text
    data: Values = Field(default={})
    id: Text = Field(default="", description="Idempotency key: a second event with this id is ignored.")
    occurred_at: Instant | None = Field(default=None, description="Time of the event. Default: now.")


class EventsNew(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"events": [{"to": "order-7", "type": "reply"}]}]})

    events: list[EventNew] = Field(min_length=1, max_length=1_000)


class ReplayRequest(RequestModel):
    """Replay with the execution's version, another version, or an unpublished document."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"version": 2}]})

    version: int | None = Field(default=None, ge=1, le=VERSION_MAX)
    document: Text | None = Field(default=None, max_length=DOCUMENT_MAX)


class ReplayManyRequest(ReplayRequest):
    limit: int = Field(default=50, ge=1, le=200, description="Number of executions, newest first.")


class SimulatedEventInput(RequestModel):
    after: Duration = Field(description="Time after the start.")
    type: Text
    data: Values = Field(default={})


class EffectAnswerInput(RequestModel):
    outcome: Literal["success", "failure", "unknown"] = "success"
    result: JsonValue = None
    code: Text = ""
    error: Text = ""
    after: Duration = 1_000


class WorkflowSimulationRequest(RequestModel):
    """An unpublished document, or the name of a workflow."""

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
        default={}, description="Results of a step's effects, in order. The last one repeats."
    )


class BulkExecutionRequest(RequestModel):
    """A command for all executions that match."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"verb": "retry", "workflow": "order-follow-up", "step": "escalate", "reason": "the partner is back"}
            ]
        }
    )

    verb: Literal["pause", "resume", "cancel", "retry", "skip"]
    workflow: Text | None = Field(
        default=None, description="Executions of this workflow. Either this or `correlation` is required."
    )
    correlation: Text | None = None
    status: STATUS | None = Field(
        default=None, description="Only executions with this status. Default: all that allow the command."
    )
    version: int | None = Field(default=None, ge=1, le=VERSION_MAX)
    step: Text | None = None
    reason: Text = Field(default="", description="Reason, recorded in every log. Required for `skip` and `cancel`.")
    limit: int = Field(default=1_000, ge=1, le=10_000, description="Maximum number of executions, newest first.")

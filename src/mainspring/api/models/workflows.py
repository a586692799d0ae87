"""What the routes of workflows and executions take."""

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
    document: Text = Field(max_length=DOCUMENT_MAX, description="The text, YAML or JSON.", examples=[DOCUMENT])


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


class Reason(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"reason": "the partner is back"}]})

    reason: Text = Field(default="", description="Why; it stands in the log. `skip` and `cancel` need one.")


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


class ReplayRequest(RequestModel):
    """With its own version; with another one; or with a document that is not published yet."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"version": 2}]})

    version: int | None = Field(default=None, ge=1, le=VERSION_MAX)
    document: Text | None = Field(default=None, max_length=DOCUMENT_MAX)


class ReplayManyRequest(ReplayRequest):
    limit: int = Field(default=50, ge=1, le=200, description="The newest so many executions.")


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

"""What the routes of webhooks, alerts and deliveries take and answer with, field by field."""

from typing import Annotated, Literal

from pydantic import Field

from mainspring.api.models.answers import At, ResponseModel
from mainspring.api.models.fields import RequestModel
from mainspring.domain.notify.subscription import AlertKind
from mainspring.inputs.values import Duration, Text

TYPES = "Events, or families such as `run.*`; none is all of them."
TO = "Mail addresses, http(s) URLs, apprise URLs. One given as it is shown stays as it is."

# JSON has no enumerations: what is strict elsewhere would refuse every kind that anybody sends.
Kind = Annotated[AlertKind, Field(strict=False)]


class WebhookNew(RequestModel):
    url: Text = Field(
        description="Where to. What stands behind `?` is sealed, and shown as `?••••` ever after.",
        examples=["https://example.com/hook"],
    )
    name: Text = Field(default="", description="The host's, if none is given.")
    types: list[Text] = Field(default=[], max_length=100, description=TYPES, examples=[["run.finished", "endpoint.*"]])
    description: Text = ""
    enabled: bool = True


class WebhookPatch(RequestModel):
    url: Text | None = Field(default=None, description="Where to; given as it is shown, it stays as it is.")
    name: Text | None = None
    types: list[Text] | None = Field(default=None, max_length=100, description=TYPES)
    description: Text | None = None
    enabled: bool | None = Field(default=None, description="Enabled again, it gets what happens from then on.")
    new_secret: bool = Field(default=False, description="Replace the secret; the old one signs beside it once more.")


class AlertNew(RequestModel):
    name: Text = Field(examples=["ops"])
    to: list[Text] = Field(max_length=10, description=TO, examples=[["ops@example.com"]])
    kinds: list[Kind] = Field(
        default=[AlertKind.FAILING, AlertKind.RECOVERED, AlertKind.PARKED], description="What it tells."
    )
    failures: int = Field(default=3, description="Failures in a row before an endpoint is failing.")
    endpoint: Text = Field(default="", description="About this endpoint alone: its name or id.")
    job: Text = Field(default="", description="About the endpoints of this job alone: its name or id.")
    cooldown: Duration = Field(default=0, description="Least time between two messages about one thing.")
    quiet: Text = Field(default="", description="Hours without messages.", examples=["22:00-07:00"])
    timezone: Text = Field(default="UTC", description="Whose hours those are.")
    during_quiet: Literal["digest", "drop"] = "digest"
    description: Text = ""
    enabled: bool = True


class AlertPatch(RequestModel):
    name: Text | None = None
    to: list[Text] | None = Field(default=None, max_length=10, description=TO)
    kinds: list[Kind] | None = None
    failures: int | None = None
    endpoint: Text | None = None
    job: Text | None = None
    cooldown: Duration | None = None
    quiet: Text | None = None
    timezone: Text | None = None
    during_quiet: Literal["digest", "drop"] | None = None
    description: Text | None = None
    enabled: bool | None = None


class _SubscriptionView(ResponseModel):
    enabled: bool
    disabled_reason: str | None
    failing_since: At | None = Field(description="No delivery has succeeded since then; null: all is well.")
    failure_count: int
    managed_by: str | None = Field(description="The configuration file that describes it, if one does.")
    version: int
    created_at: At
    updated_at: At


class WebhookView(_SubscriptionView):
    id: str
    name: str
    url: str
    types: list[str]
    description: str


class WebhookCreated(WebhookView):
    secret: str | None = Field(default=None, description="Shown now and never again: signs every message.")


class WebhookDryRun(ResponseModel):
    dry_run: Literal[True] = True
    before: WebhookView | None
    after: WebhookView | None
    changed: list[str]


class AlertView(_SubscriptionView):
    id: str
    name: str
    kinds: list[AlertKind]
    to: list[str]
    failures: int
    endpoint_id: str | None
    job_id: str | None
    cooldown_ms: int
    quiet: str | None
    timezone: str
    during_quiet: Literal["digest", "drop"]
    description: str


class AlertDryRun(ResponseModel):
    dry_run: Literal[True] = True
    before: AlertView | None
    after: AlertView | None
    changed: list[str]


class DeliveryView(ResponseModel):
    id: str = Field(description="The `webhook-id` of every attempt.")
    subscription_id: str
    channel: str | None
    type: str
    status: Literal["pending", "delivered", "failed", "held", "digested", "dropped"]
    attempts: int
    next_attempt_at: At | None
    created_at: At
    sent_at: At | None = Field(description="When the last attempt ended.")
    status_code: int | None
    error: str | None
    response: str | None = Field(description="How the receiver's answer began.")
    duration_ms: int | None


class DeliveryDetailView(DeliveryView):
    payload: dict[str, object]


class DeliveryTest(ResponseModel):
    ok: bool
    status_code: int | None
    error_code: str | None
    error: str | None
    duration_ms: int
    response: str | None


class DestinationTest(DeliveryTest):
    to: str


class AlertTest(ResponseModel):
    ok: bool
    ways: list[DestinationTest]

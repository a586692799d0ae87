"""What the routes of webhooks and alerts take."""

from typing import Annotated, Literal

from pydantic import Field

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

"""What the API takes: strict models that become the domain's own values. The domain says what is refused, and why."""

from pydantic import ConfigDict, Field, JsonValue

from mainspring.api.models.fields import RequestModel
from mainspring.domain.endpoint import EndpointConfig, with_inputs
from mainspring.domain.errors import InvalidInput
from mainspring.domain.run import Header, HttpAction
from mainspring.inputs.endpoint import EndpointSettings
from mainspring.inputs.values import Duration, Instant, Text
from mainspring.views.shapes import MASK

EXAMPLE: dict[str, JsonValue] = {
    "name": "billing",
    "url": "https://api.example.com/billing/close",
    "method": "POST",
    "every": "5m",
    "headers": [{"name": "Authorization", "value": "Bearer s3cret", "secret": True}],
    "timeout": "20s",
}


class HeaderGiven(RequestModel):
    name: Text
    value: Text | None = Field(
        default=None, description=f"Left out, or `{MASK}`: the value that is stored under this name stays."
    )
    secret: bool = Field(default=False, description="Encrypted at rest and never shown again.")


class EndpointFields(EndpointSettings, RequestModel):
    headers: list[HeaderGiven] | None = Field(default=None, description="All of them, or none.")


class EndpointNew(EndpointFields):
    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    name: Text
    url: Text

    def config(self) -> EndpointConfig:
        return apply_patch(EndpointConfig(self.name, HttpAction(self.url)), self)


class EndpointPatch(EndpointFields):
    """A JSON merge patch: what is not named stays, null sets a field back to its default."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"every": "1m", "condition": None}]})

    name: Text | None = None
    url: Text | None = None


def apply_patch(before: EndpointConfig, given: EndpointNew | EndpointPatch) -> EndpointConfig:
    """The configuration with every field that was sent."""
    inputs = given.sent()
    inputs |= {key: getattr(given, key) for key in ("name", "url") if key in given.model_fields_set}
    if "headers" in given.model_fields_set:
        inputs["headers"] = tuple(_header(header, before.action.headers) for header in given.headers or ())
    return with_inputs(before, inputs)


def _header(given: HeaderGiven, stored: tuple[Header, ...]) -> Header:
    if given.value is not None and given.value != MASK:
        return Header(given.name, given.value, given.secret)
    for header in stored:
        if header.name.lower() == given.name.lower():
            return header
    raise InvalidInput(
        f"header {given.name[:100]!r} has no value, and none is stored under this name; give its value", field="headers"
    )


class JobNew(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "nightly", "description": "Runs after hours."}]})

    name: Text
    description: Text = ""


class JobPatch(RequestModel):
    """A JSON merge patch; null empties the description."""

    name: Text | None = None
    description: Text | None = None


class Pause(RequestModel):
    """Until an instant, for a while, or (with neither) until resumed."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"duration": "2h", "reason": "maintenance"}]})

    until: Instant | None = None
    duration: Duration | None = None
    reason: Text = ""
    advice_may_resume: bool = Field(
        default=False, description="Whether rules, workflows and the model may end the pause; else only a person may."
    )


class IntervalHintNew(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"every": "15s", "ttl": "1h", "reason": "sale"}]})

    every: Duration
    ttl: Duration = Field(default=3_600_000, description="How long it counts; at most 24h.")
    reason: Text = ""


class OneShotHintNew(RequestModel):
    """One extra run, at an instant or after a while."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"after": "30s", "reason": "after the deploy"}]})

    at: Instant | None = None
    after: Duration | None = None
    ttl: Duration = Field(default=1_800_000, description="How long it counts; at most 24h.")
    reason: Text = ""


class QuotasPatch(RequestModel):
    """A JSON merge patch; null is no limit."""

    runs_per_month: int | None = None
    tokens_per_month: int | None = None
    endpoints_max: int | None = None
    interval_ms_min: Duration | None = None


def one_of_two(first: object, second: object, names: tuple[str, str], *, required: bool = False) -> None:
    if required and first is None and second is None:
        raise InvalidInput(f"neither {names[0]} nor {names[1]} was given; give one of them", field=names[0])
    if first is not None and second is not None:
        raise InvalidInput(f"both {names[0]} and {names[1]} were given; give one of them", field=names[1])

"""What the API takes: strict models that become the domain's own values. What is refused, the domain says."""

from typing import Annotated, Literal

from msgspec.structs import fields as struct_fields
from msgspec.structs import replace
from pydantic import ConfigDict, Field, JsonValue

from mainspring.api.models.fields import Duration, Instant, RequestModel, Text
from mainspring.domain.definition import METHODS, Definition
from mainspring.domain.endpoint import BackoffPolicy, LostWorkerPolicy, MisfirePolicy
from mainspring.domain.errors import InvalidInput
from mainspring.domain.run import Header
from mainspring.views.shapes import MASK

EXAMPLE: dict[str, JsonValue] = {
    "name": "billing",
    "url": "https://api.example.com/billing/close",
    "method": "POST",
    "interval_ms": "5m",
    "headers": [{"name": "Authorization", "value": "Bearer s3cret", "secret": True}],
    "timeout_ms": "20s",
}
DEFAULTS = {field.name: field.default for field in struct_fields(Definition)}
NEVER_NULL = ("name", "url")


class HeaderGiven(RequestModel):
    name: Text
    value: Text | None = Field(
        default=None, description=f"Left out, or `{MASK}`: the value that is stored under this name stays."
    )
    secret: bool = Field(default=False, description="Encrypted at rest and never shown again.")


def _choice(description: str, *values: str) -> object:
    return Field(default=None, description=description, json_schema_extra={"enum": list(values)})


class EndpointFields(RequestModel):
    job: Text | None = Field(default=None, description="Name of its job; made if it is new. `default` unless given.")
    description: Text | None = None
    method: Annotated[str | None, _choice("The request method.", *METHODS)] = None
    headers: list[HeaderGiven] | None = Field(default=None, description="All of them, or none.")
    body: Text | None = Field(default=None, description="Request body, sent as it is (not with GET and HEAD).")
    cron: Text | None = Field(default=None, examples=["*/15 * * * *", "@daily", "H 3 * * *"])
    interval_ms: Duration | None = None
    timezone: Text | None = Field(default=None, examples=["Europe/Berlin"])
    timeout_ms: Duration | None = None
    min_interval_ms: Duration | None = None
    max_interval_ms: Duration | None = None
    backoff: Annotated[str | None, _choice("How failures stretch the interval.", *BackoffPolicy)] = None
    jitter_ms: Duration | None = None
    spread: bool | None = Field(default=None, description="Start at a phase of its own within the interval.")
    misfire: Annotated[str | None, _choice("What happens to slots that were missed.", *MisfirePolicy)] = None
    catch_up_max: int | None = None
    max_lateness_ms: Duration | None = None
    on_lost_worker: Annotated[str | None, _choice("At least or at most once.", *LostWorkerPolicy)] = None
    body_cap: int | None = Field(default=None, description="Bytes of a response that are kept.")
    redirects_max: int | None = None
    accept_codes: list[int] | None = Field(default=None, max_length=100, description="Success; empty: any 2xx.")
    condition: Text | None = Field(
        default=None, description="CEL over status_code, headers, body and duration_ms.", examples=["body.ok == true"]
    )
    advice: list[Literal["interval", "run", "wake", "pause", "siblings"]] | None = Field(
        default=None,
        max_length=10,
        description="What rules, workflows and the model may do: all by default; an empty list: nothing.",
    )


class EndpointNew(EndpointFields):
    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    name: Text
    url: Text

    def definition(self) -> Definition:
        return apply_patch(Definition(name=self.name, url=self.url), self)


class EndpointPatch(EndpointFields):
    """A JSON merge patch: what is not named stays, null sets a field back to its default."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"interval_ms": "1m", "condition": None}]})

    name: Text | None = None
    url: Text | None = None


def apply_patch(before: Definition, given: EndpointFields) -> Definition:
    """The definition with every field that was sent. A schedule of the one kind takes the place of the other."""
    wanted: dict[str, object] = {}
    for name in sorted(given.model_fields_set):
        value = getattr(given, name)
        if value is None and name in NEVER_NULL:
            raise InvalidInput(f"{name} cannot be null; leave it out, or give one", field=name)
        if value is None:
            value = DEFAULTS[name]
        elif name == "headers":
            value = tuple(_header(header, before.headers) for header in given.headers or ())
        elif name == "advice":
            value = tuple(given.advice or ())
        elif name == "accept_codes":
            value = tuple(given.accept_codes or ())
        wanted[name] = value
    if wanted.get("cron") is not None and "interval_ms" not in wanted:
        wanted["interval_ms"] = None
    if wanted.get("interval_ms") is not None and "cron" not in wanted:
        wanted["cron"] = None
    return replace(before, **wanted)


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

    model_config = ConfigDict(json_schema_extra={"examples": [{"for_ms": "2h", "reason": "maintenance"}]})

    until: Instant | None = None
    for_ms: Duration | None = None
    reason: Text = ""
    advice_may_resume: bool = Field(
        default=False, description="Whether rules, workflows and the model may end the pause; else only a person may."
    )


class IntervalHintNew(RequestModel):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"interval_ms": "15s", "ttl_ms": "1h", "reason": "sale"}]}
    )

    interval_ms: Duration
    ttl_ms: Duration = Field(default=3_600_000, description="How long it counts; at most 24h.")
    reason: Text = ""


class OneShotHintNew(RequestModel):
    """One extra run, at an instant or after a while."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"in_ms": "30s", "reason": "after the deploy"}]})

    at: Instant | None = None
    in_ms: Duration | None = None
    ttl_ms: Duration = Field(default=1_800_000, description="How long it counts; at most 24h.")
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

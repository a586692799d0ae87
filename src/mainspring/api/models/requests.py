"""Request bodies: strict models that become domain values. The domain checks the values."""

from datetime import timedelta

from pydantic import ConfigDict, Field, JsonValue

from mainspring.api.models.fields import RequestModel
from mainspring.domain.connection import CONNECTION_FIELDS
from mainspring.domain.endpoint import FIELD_BY_KEY, JOB_FIELDS, EndpointConfig, new_config, with_inputs
from mainspring.domain.errors import InvalidInput
from mainspring.domain.kinds.registry import PAIRS, kind_of
from mainspring.domain.notify.subscription import ALERT_FIELDS, WEBHOOK_FIELDS
from mainspring.domain.run import Header, HttpAction
from mainspring.domain.schedule.maintenance import MAINTENANCE_FIELDS
from mainspring.inputs.models import (
    AlertSettings,
    CalendarSettings,
    CallSettings,
    ConnectionSettings,
    EndpointSettings,
    JobSettings,
    MaintenanceSettings,
    WebhookSettings,
    described,
)
from mainspring.inputs.values import Duration, Instant, Text
from mainspring.operations.calls import CALLS_AT_ONCE, CallDraft
from mainspring.views.planner import Mode
from mainspring.views.rule import DOCUMENT, EXAMPLE
from mainspring.views.sentences import MASK

ENDPOINT_EXAMPLE: dict[str, JsonValue] = {
    "name": "billing",
    "url": "https://api.example.com/billing/close",
    "method": "POST",
    "every": "5m",
    "headers": [{"name": "Authorization", "value": "Bearer s3cret", "secret": True}],
    "timeout": "20s",
}


CONNECTION_EXAMPLE: dict[str, JsonValue] = {
    "name": "billing",
    "base_url": "https://billing.example.com/v1",
    "auth": "header",
    "header": "X-Api-Key",
    "secret": "s3cret",
}


class HeaderGiven(RequestModel):
    name: Text
    value: Text | None = Field(
        default=None, description=f"If omitted or `{MASK}`, the stored value of this name stays."
    )
    secret: bool = Field(default=False, description="Encrypted at rest and never shown again.")


class EndpointFields(EndpointSettings, RequestModel):
    headers: list[HeaderGiven] | None = Field(default=None, description="All headers; they replace the stored ones.")
    environment: list[HeaderGiven] | None = Field(
        default=None, description="All environment variables of kind command; they replace the stored ones."
    )


class EndpointNew(EndpointFields):
    model_config = ConfigDict(json_schema_extra={"examples": [ENDPOINT_EXAMPLE]})

    name: Text
    url: Text | None = Field(default=None, description=f"{FIELD_BY_KEY['url'].sentence} Required for kind http.")

    def config(self) -> EndpointConfig:
        return new_config(self.name, _inputs(self, ()))


class EndpointPatch(EndpointFields):
    """A JSON merge patch: missing fields stay unchanged, null restores the default."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"every": "1m", "condition": None}]})

    name: Text | None = None
    url: Text | None = None


def apply_patch(before: EndpointConfig, given: EndpointPatch) -> EndpointConfig:
    """The configuration with every field that was sent."""
    return with_inputs(before, _inputs(given, kind_of(before.action).pairs_of(before.action)))


def _inputs(given: EndpointNew | EndpointPatch, stored: tuple[Header, ...]) -> dict[str, object]:
    inputs = given.sent()
    inputs |= {key: getattr(given, key) for key in ("name", "url") if key in given.model_fields_set}
    for key in PAIRS:
        if key in given.model_fields_set:
            inputs[key] = tuple(_header(each, stored, key) for each in getattr(given, key) or ())
    return inputs


def _header(given: HeaderGiven, stored: tuple[Header, ...], key: str) -> Header:
    if given.value is not None and given.value != MASK:
        return Header(given.name, given.value, given.secret)
    for header in stored:
        if header.name.lower() == given.name.lower():
            return header
    raise InvalidInput(
        f"{'header' if key == 'headers' else 'variable'} {given.name[:100]!r} has no value, and none is stored under "
        "this name; give its value",
        field=key,
    )


class CallNew(CallSettings, RequestModel):
    """One call, at a time or, without `at`, now."""

    url: Text
    key: Text | None = Field(
        default=None, description="Two calls with the same key are one call.", examples=["order-17"]
    )
    headers: list[HeaderGiven] | None = Field(default=None, description="Request headers.")

    def draft(self) -> CallDraft:
        inputs = {"at": timedelta(0)} | {key: value for key, value in self.sent().items() if value is not None}
        inputs["headers"] = tuple(_header(header, (), "headers") for header in self.headers or ())
        return CallDraft(with_inputs(EndpointConfig("", HttpAction(self.url)), inputs), self.key)


class CallsNew(RequestModel):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"calls": [{"url": "https://example.com/remind", "at": "in 10m", "key": "order-17"}]}]
        }
    )

    calls: list[CallNew] = Field(min_length=1, max_length=CALLS_AT_ONCE, description="The calls to make.")

    def drafts(self) -> list[CallDraft]:
        return [each.draft() for each in self.calls]


class JobNew(JobSettings, RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "nightly", "description": "Runs after hours."}]})

    name: Text = described(JOB_FIELDS, "name")


class JobPatch(JobSettings, RequestModel):
    """A JSON merge patch. Null clears the description."""

    name: Text | None = None


class Pause(RequestModel):
    """Pause until a timestamp or for a duration; with neither, until resumed."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"duration": "2h", "reason": "maintenance"}]})

    until: Instant | None = None
    duration: Duration | None = None
    reason: Text = ""
    advice_may_resume: bool = Field(
        default=False,
        description="Whether rules, workflows and the model may end the pause. By default only a person may.",
    )


class IntervalHintNew(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"every": "15s", "ttl": "1h", "reason": "sale"}]})

    every: Duration
    ttl: Duration = Field(default=3_600_000, description="Time until the hint expires, at most 24h.")
    reason: Text = ""


class OneShotHintNew(RequestModel):
    """One extra run, at a timestamp or after a duration."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"after": "30s", "reason": "after the deploy"}]})

    at: Instant | None = None
    after: Duration | None = None
    ttl: Duration = Field(default=1_800_000, description="Time until the hint expires, at most 24h.")
    reason: Text = ""


class QuotasPatch(RequestModel):
    """A JSON merge patch. Null removes a limit."""

    runs_per_month: int | None = None
    tokens_per_month: int | None = None
    endpoints_max: int | None = None
    interval_ms_min: Duration | None = None


def one_of_two(first: object, second: object, names: tuple[str, str], *, required: bool = False) -> None:
    if required and first is None and second is None:
        raise InvalidInput(f"neither {names[0]} nor {names[1]} was given; give one of them", field=names[0])
    if first is not None and second is not None:
        raise InvalidInput(f"both {names[0]} and {names[1]} were given; give one of them", field=names[1])


class WebhookNew(WebhookSettings, RequestModel):
    url: Text = described(WEBHOOK_FIELDS, "url")
    name: Text | None = described(WEBHOOK_FIELDS, "name", default=None)


class WebhookPatch(WebhookSettings, RequestModel):
    name: Text | None = None
    new_secret: bool = Field(default=False, description="Replace the secret. Both sign until the next replacement.")


class AlertNew(AlertSettings, RequestModel):
    name: Text = described(ALERT_FIELDS, "name")
    to: list[Text] = described(ALERT_FIELDS, "to")


class AlertPatch(AlertSettings, RequestModel):
    name: Text | None = None


class MaintenanceNew(MaintenanceSettings, RequestModel):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "patch-night", "cron": "0 2 * * SUN", "duration": "2h"}]}
    )

    name: Text = described(MAINTENANCE_FIELDS, "name")


class MaintenancePatch(MaintenanceSettings, RequestModel):
    name: Text | None = None


class CalendarNew(CalendarSettings, RequestModel):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "holidays", "holidays": "DE", "dates": ["2026-12-24 Closed"]}]}
    )

    name: Text = Field(description="Name, unique in the tenant. It cannot be changed later.", examples=["holidays"])


class CalendarPatch(CalendarSettings, RequestModel):
    """A JSON merge patch: missing fields stay unchanged, null restores the default."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"weekdays": ["sat", "sun"]}]})


class ConnectionNew(ConnectionSettings, RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [CONNECTION_EXAMPLE]})

    name: Text = Field(description="Name, unique in the tenant. It cannot be changed later.", examples=["billing"])
    base_url: Text = described(CONNECTION_FIELDS, "base_url")


class ConnectionPatch(ConnectionSettings, RequestModel):
    """A JSON merge patch: missing fields stay unchanged, null restores the default."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"secret": "another s3cret"}]})


class ConnectionCall(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"path": "/health"}]})

    path: Text | None = Field(default=None, description="Path relative to the base URL. Default: the base URL itself.")


class KeptCheckpoint(RequestModel):
    partition: int = Field(ge=0, le=9_999)
    sequence: int = Field(ge=0, le=2**53)
    tick: int = Field(ge=-1, le=2**53)
    head: Text = Field(max_length=64)
    signed_at: Instant
    public_key: Text = Field(max_length=64)
    signature: Text = Field(max_length=128)


class PartitionVerifyRequest(RequestModel):
    """Verify one partition, or all. Given checkpoints, from a copy outside the database, are compared too."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"partition": 0}]})

    partition: int | None = Field(default=None, ge=0, le=9_999)
    checkpoints: list[KeptCheckpoint] = Field(default=[], max_length=10_000)


class RuleNew(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"endpoint": "billing", "rule": EXAMPLE}]})

    endpoint: Text | None = Field(default=None, description="Id or name of the endpoint that the rule belongs to.")
    job: Text | None = Field(default=None, description="Id or name of the job that the rule belongs to.")
    rule: dict[str, JsonValue] = Field(description=DOCUMENT, examples=[EXAMPLE])


class RulePatch(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"rule": {"interval": "1m", "for": None}}]})

    rule: dict[str, JsonValue] = Field(description="Keys to change; null removes a key.")


class RulesGiven(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"endpoint": "billing", "rules": [EXAMPLE]}]})

    endpoint: Text | None = Field(default=None, description="Test them as rules of this endpoint, by id or name.")
    job: Text | None = Field(default=None, description="Test them as rules of this job, by id or name.")
    rules: list[dict[str, JsonValue]] | None = Field(
        default=None, max_length=50, description=f"{DOCUMENT} Default: the stored rules."
    )
    limit: int = Field(default=50, ge=1, le=1_000, description="Number of recorded runs to use, newest first.")


class ModeChange(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"mode": "off"}]})

    mode: Mode = Field(description="`ask` proposes, `shadow` records what would happen, `off` stops it.")
    undo: bool = Field(default=False, description="Also remove the hints and end the pauses that advice set.")


class Rejection(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"reason": "maintenance tonight"}]})

    reason: Text = Field(default="", description="Reason, shown with the proposal.")


class DraftRequest(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"endpoint": "billing"}]})

    endpoint: Text = Field(description="Id or name of an endpoint with a description.")


DOCUMENT_MAX = 100_000


class SimulationRequest(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"scenario": "flash-sale", "seed": 1}]})

    scenario: str | None = Field(default=None, max_length=100, description="Name of a built-in scenario.")
    document: str | None = Field(
        default=None,
        max_length=DOCUMENT_MAX,
        description="A scenario in YAML; docs/simulation.md describes the format.",
    )
    seed: int = Field(
        default=1, ge=0, le=2**31, description="Seed of the random numbers. The same seed gives the same result."
    )


class BacktestInput(RequestModel):
    """Changes to the policy. Missing fields stay unchanged."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"endpoint": "billing", "rules": [{"when": "failures >= 2", "interval": "30s"}], "limit": 500}]
        }
    )

    endpoint: Text | None = Field(default=None, description="Id or name of the endpoint whose policy changes.")
    job: Text | None = Field(default=None, description="Id or name of the job whose policy changes.")
    rules: list[dict[str, JsonValue]] | None = Field(
        default=None, max_length=50, description="Rules that replace the current ones. An empty list removes all."
    )
    every: Duration | None = None
    cron: Text | None = None
    min_interval: Duration | None = None
    max_interval: Duration | None = None
    limit: int = Field(
        default=500,
        ge=1,
        le=50_000,
        description="Number of runs of each endpoint, newest first; at most 50,000 in total.",
    )

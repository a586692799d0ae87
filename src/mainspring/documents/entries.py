"""What may stand in a document, entry by entry: the keys, their kinds, their defaults and what editors show for them.

Only the form is checked here. What a value must be is the domain's to say, with the same words at every door.
"""

from typing import Annotated, Any

from msgspec.structs import fields
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from mainspring.documents.json_schema import DURATION_SCHEMA, RULE_SCHEMA, STEP_SCHEMA, TEXTS_SCHEMA, TRIGGERS_SCHEMA
from mainspring.domain.definition import METHODS, Definition
from mainspring.domain.duration import parse_duration_ms
from mainspring.domain.endpoint import POWERS, BackoffPolicy, LostWorkerPolicy, MisfirePolicy
from mainspring.domain.errors import InvalidInput
from mainspring.domain.notify.subscription import AlertKind, DuringQuiet
from mainspring.operations.alerts import KINDS_DEFAULT, AlertDraft
from mainspring.workflow.document import REENTRY

DEFAULTS: dict[str, Any] = {field.name: field.default for field in fields(Definition) if not field.required}
ALERT_DEFAULTS: dict[str, Any] = {field.name: field.default for field in fields(AlertDraft) if not field.required}


def _milliseconds(value: object) -> object:
    if value is None:
        return None
    try:
        return parse_duration_ms(value, field="it", min_ms=0)
    except InvalidInput as fault:
        raise ValueError(str(fault).removeprefix("it ")) from None


def _list(value: object) -> object:
    return value if isinstance(value, list) or value is None else [value]


def _header(value: object) -> object:
    """Every way to write a header's value as a list of them: text, a number, a mapping, or a list of these."""
    items = value if isinstance(value, list) else [value]
    return [
        {"value": str(item) if isinstance(item, int) and not isinstance(item, bool) else item}
        if not isinstance(item, dict)
        else item
        for item in items
    ]


Duration = Annotated[int, BeforeValidator(_milliseconds), WithJsonSchema(DURATION_SCHEMA)]
Codes = Annotated[list[int], BeforeValidator(_list)]
Texts = Annotated[list[str], BeforeValidator(_list), WithJsonSchema(TEXTS_SCHEMA)]
Rules = Annotated[list[Any], WithJsonSchema({"type": "array", "items": RULE_SCHEMA})]


def _choice(values: Any) -> dict[str, Any]:
    return {"enum": [str(value) for value in values]}


class DocumentEntry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    @classmethod
    def repaired(cls, good: dict[str, object]) -> dict[str, object]:
        """What is left of a faulty entry, made whole with harmless values, so that its other faults can be found."""
        return good


class LastingEntry(DocumentEntry):
    """An entry whose thing can get another name and stay the same."""

    renamed_from: str | None = Field(
        default=None, description="The name it had before: then it is renamed, and keeps its state and its runs."
    )


class JobEntry(LastingEntry):
    """A named group of endpoints."""

    description: str = Field(default="", description="What its endpoints are for, in plain words.")
    rules: Rules = Field(default=[], description="Rules that judge the runs of all its endpoints, in their order.")


class HeaderEntry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    value: str
    secret: bool = False


_HEADER_VALUE: dict[str, Any] = {
    "oneOf": [
        {"type": "string", "examples": ["application/json", "Bearer ${env:TOKEN}", "${file:/run/secrets/token}"]},
        {"type": "integer"},
        {"$ref": "#/$defs/HeaderEntry"},
        {"type": "array", "items": {"oneOf": [{"type": "string"}, {"$ref": "#/$defs/HeaderEntry"}]}},
    ]
}
HeaderValues = Annotated[list[HeaderEntry], BeforeValidator(_header)]


class EndpointEntry(LastingEntry):
    """One thing to call, and when: a `url`, and either `every` or `cron`."""

    url: str = Field(
        description="What to call: http:// or https://. What follows `?` is encrypted at rest and never shown again; a "
        "reference may be there.",
        examples=["https://example.com/health", "https://example.com/report?key=${env:REPORT_KEY}"],
    )
    every: Duration | None = Field(default=None, description="Run at this interval: 30s, 5m, 1h30m, 1d.")
    cron: str | None = Field(
        default=None,
        description="Run by this cron expression: '*/15 * * * *', '@daily', 'H 3 * * *'.",
        examples=["*/15 * * * *", "@daily", "H 3 * * *"],
    )
    timezone: str = Field(default=DEFAULTS["timezone"], description="Time zone of `cron`.", examples=["Europe/Berlin"])
    job: str = Field(default=DEFAULTS["job"], description="The job it belongs to; made if it is new.")
    description: str = Field(default="", description="What it is for, in plain words.")
    method: str = Field(default=DEFAULTS["method"], description="The HTTP method.", json_schema_extra=_choice(METHODS))
    headers: dict[str, HeaderValues] = Field(
        default={},
        description="Request headers by name. A value with a reference, or one marked `secret`, is encrypted at rest "
        "and never shown again; a list sends the header several times.",
        json_schema_extra={"additionalProperties": _HEADER_VALUE},
    )
    body: str | None = Field(default=None, description="Request body, sent as it is (not with GET and HEAD).")
    timeout: Duration = Field(default=DEFAULTS["timeout_ms"], description="Total deadline of one call.")
    min_interval: Duration | None = Field(default=None, description="Runs are at least this far apart.")
    max_interval: Duration | None = Field(default=None, description="Runs are at most this far apart.")
    backoff: str = Field(
        default=str(DEFAULTS["backoff"]),
        description="What failures do to an interval: default doubles it, up to 32 times.",
        json_schema_extra=_choice(BackoffPolicy),
    )
    jitter: Duration = Field(default=DEFAULTS["jitter_ms"], description="Move each run by up to this much.")
    spread: bool = Field(
        default=DEFAULTS["spread"], description="Give each interval a phase of its own, so that not all run at once."
    )
    misfire: str = Field(
        default=str(DEFAULTS["misfire"]),
        description="What becomes of runs missed in a downtime.",
        json_schema_extra=_choice(MisfirePolicy),
    )
    catch_up_max: int = Field(default=DEFAULTS["catch_up_max"], description="With catch_up: at most this many.")
    max_lateness: Duration | None = Field(default=None, description="A run later than this is missed.")
    on_lost_worker: str = Field(
        default=str(DEFAULTS["on_lost_worker"]),
        description="When a worker dies in a run: retry (at least once) or skip (at most once).",
        json_schema_extra=_choice(LostWorkerPolicy),
    )
    body_cap: int = Field(default=DEFAULTS["body_cap"], description="How many bytes of a response are kept.")
    redirects_max: int = Field(default=DEFAULTS["redirects_max"], description="Follow at most this many, up to 5.")
    accept_codes: Codes = Field(
        default=[], description="Status codes that are a success; any 2xx by default.", examples=[[200, 404]]
    )
    condition: str | None = Field(
        default=None,
        description="CEL over status_code, headers, body and duration_ms that must be true for success.",
        examples=["body.contains('ok')"],
    )
    advice: Texts = Field(
        default=list(POWERS),
        description="What rules, workflows and the model may do: interval, run, wake, pause, siblings; all by default.",
        examples=[["interval", "run"]],
    )
    rules: Rules = Field(default=[], description="What happens when responses say something, in their order.")

    @classmethod
    def repaired(cls, good: dict[str, object]) -> dict[str, object]:
        schedule = {} if good.get("cron") or good.get("every") else {"every": "1m"}
        return {"url": "https://example.com/", **schedule, **good}


class AlertEntry(LastingEntry):
    """Who is told when something breaks or recovers."""

    to: Texts = Field(
        default=[],
        description="Mail addresses, http(s) and apprise URLs, as they are or by reference; what an export shows of a "
        "sealed one keeps it.",
        examples=["ops@example.com", ["${env:CHAT_URL}", "ops@example.com"]],
    )
    kinds: Texts = Field(
        default=[str(kind) for kind in KINDS_DEFAULT],
        description="What it tells.",
        json_schema_extra={"items": _choice(AlertKind)},
    )
    failures: int = Field(default=ALERT_DEFAULTS["failures"], description="In a row, before an endpoint is failing.")
    endpoint: str = Field(default="", description="About this endpoint alone.")
    job: str = Field(default="", description="About the endpoints of this job alone.")
    cooldown: Duration = Field(default=0, description="Least time between two messages about one thing.")
    quiet: str = Field(default="", description="Hours without messages.", examples=["22:00-07:00"])
    timezone: str = Field(default=ALERT_DEFAULTS["timezone"], description="Whose hours those are.")
    during_quiet: str = Field(
        default=str(ALERT_DEFAULTS["during_quiet"]),
        description="What becomes of messages then: one digest afterwards, or nothing.",
        json_schema_extra=_choice(DuringQuiet),
    )
    description: str = Field(default="", description="What it is for.")
    enabled: bool = Field(default=True, description="Whether it tells anything.")

    @classmethod
    def repaired(cls, good: dict[str, object]) -> dict[str, object]:
        return {"to": "ops@example.com", **good}


class WebhookEntry(LastingEntry):
    """A receiver of events, outside."""

    url: str = Field(
        description="http:// or https://. What stands behind `?` is sealed; a reference may be there.",
        examples=["https://example.com/hook", "https://example.com/hook?key=${env:HOOK_KEY}"],
    )
    types: Texts = Field(default=[], description="Which events; all by default.", examples=[["run.*", "job.paused"]])
    secret: str = Field(
        default="",
        description="What messages are signed with, by reference: `whsec_` and the base64 of 24 to 64 bytes.",
        examples=["${env:HOOK_SECRET}", "${file:/run/secrets/hook}"],
    )
    description: str = Field(default="", description="What it is for.")
    enabled: bool = Field(default=True, description="Whether anything is sent.")

    @classmethod
    def repaired(cls, good: dict[str, object]) -> dict[str, object]:
        return {"url": "https://example.com/", **good}


class WorkflowEntry(DocumentEntry):
    """Steps that are taken one after the other; the workflow's name is its key."""

    model_config = ConfigDict(extra="allow", frozen=True)  # the reader of workflows knows what may stand here

    description: Any = Field(default="", description="What it is for.", json_schema_extra={"type": "string"})
    input: Any = Field(
        default={}, description="What an execution is started with, by name.", json_schema_extra={"type": "object"}
    )
    templates: Any = Field(
        default={}, description="Texts that steps refer to by name.", json_schema_extra={"type": "object"}
    )
    exit: Any = Field(
        default=[], description="Conditions that end an execution at any step.", json_schema_extra={"type": "array"}
    )
    reentry: Any = Field(
        default="allow",
        description="Whether a second execution may start for a correlation that has one.",
        json_schema_extra=_choice(REENTRY),
    )
    on: Any = Field(
        default=[],
        description="What outside starts it, or is told to executions that run.",
        json_schema_extra=TRIGGERS_SCHEMA,
    )
    steps: Any = Field(
        default=None,
        description="What is done, in order.",
        json_schema_extra={"type": "array", "items": STEP_SCHEMA},
    )

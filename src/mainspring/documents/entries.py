"""What may stand in a document, entry by entry: the keys, their kinds, their defaults and what editors show for them.

Only the form is checked here. What a value must be is the domain's to say, with the same words at every door.
"""

from typing import Annotated, Any

from msgspec.structs import fields
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from mainspring.documents.json_schema import RULE_SCHEMA, STEP_SCHEMA, TEXTS_SCHEMA, TRIGGERS_SCHEMA
from mainspring.domain.config_field import FieldKind
from mainspring.domain.endpoint import FIELD_BY_KEY, SETTINGS
from mainspring.domain.notify.subscription import AlertKind, DuringQuiet
from mainspring.inputs.endpoint import EndpointSettings
from mainspring.inputs.values import Duration
from mainspring.operations.alerts import KINDS_DEFAULT, AlertDraft
from mainspring.workflow.document import REENTRY

LISTS = tuple(field.key for field in SETTINGS if field.kind in (FieldKind.NUMBERS, FieldKind.CHOICES))
ALERT_DEFAULTS: dict[str, Any] = {field.name: field.default for field in fields(AlertDraft) if not field.required}


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


def _with_defaults(schema: dict[str, Any]) -> None:
    """A document describes the whole endpoint: a key that is left out has its default, which editors show."""
    for field in SETTINGS:
        shown = schema["properties"][field.key]
        if not field.is_nullable:
            plain = next(each for each in shown.pop("anyOf") if each.get("type") != "null")
            shown |= {name: value for name, value in plain.items() if name not in shown}
        shown["default"] = list(field.default) if isinstance(field.default, tuple) else field.default
        if field.key in LISTS:
            item = shown.pop("items")
            shown.pop("type", None)
            shown["anyOf"] = [item, {"type": "array", "items": item}]


class EndpointEntry(EndpointSettings, LastingEntry):
    """One thing to call, and when: a `url`, and either `every` or `cron`."""

    model_config = ConfigDict(json_schema_extra=_with_defaults)

    url: str = Field(
        description="What to call: http:// or https://. What follows `?` is encrypted at rest and never shown again; a "
        "reference may be there.",
        examples=["https://example.com/health", "https://example.com/report?key=${env:REPORT_KEY}"],
    )
    headers: dict[str, HeaderValues] = Field(
        default={},
        description="Request headers by name. A value with a reference, or one marked `secret`, is encrypted at rest "
        "and never shown again; a list sends the header several times.",
        json_schema_extra={"additionalProperties": _HEADER_VALUE},
    )
    rules: Rules = Field(default=[], description="What happens when responses say something, in their order.")

    @property
    def job_name(self) -> str:
        return str(self.sent().get("job") or FIELD_BY_KEY["job"].default)

    @model_validator(mode="before")
    @classmethod
    def _lists(cls, given: object) -> object:
        """One item of a list may be written without the brackets."""
        if not isinstance(given, dict):
            return given
        return {key: _list(value) if key in LISTS else value for key, value in given.items()}

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

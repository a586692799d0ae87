"""Entries of documents: keys, types, defaults and the descriptions that editors show.

Only the form is checked here. The domain checks values, with the same message in all interfaces.
"""

from datetime import datetime
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from mainspring.documents.json_schema import RULE_SCHEMA, STEP_SCHEMA, TRIGGERS_SCHEMA
from mainspring.domain.config_field import DEFAULT_KIND, ConfigField, FieldKind
from mainspring.domain.connection import CONNECTION_FIELDS
from mainspring.domain.duration import format_duration
from mainspring.domain.endpoint import FIELD_BY_KEY, SCHEDULES
from mainspring.domain.instant import rfc3339
from mainspring.domain.kinds.registry import KINDS
from mainspring.domain.notify.subscription import WEBHOOK_FIELDS
from mainspring.inputs.models import (
    LISTS,
    AlertSettings,
    CalendarSettings,
    ConnectionSettings,
    EndpointSettings,
    JobSettings,
    MaintenanceSettings,
    WebhookSettings,
    described,
)
from mainspring.workflow.document import REENTRY


def _list(value: object) -> object:
    return value if isinstance(value, list) or value is None else [value]


def _with_lists(given: dict[str, object], fields: tuple[ConfigField, ...]) -> dict[str, object]:
    by_key = {field.key: field for field in fields}
    found = dict(given)
    for key, value in given.items():
        field = by_key.get(key)
        if field is not None and field.kind in LISTS:
            found[key] = _list(value)
        elif field is not None and field.kind is FieldKind.GROUP and isinstance(value, dict):
            found[key] = _with_lists(value, field.parts)
    return found


def _header(value: object) -> object:
    """The values of a header as a list. A value is text, a number, a mapping, or a list of these."""
    items = value if isinstance(value, list) else [value]
    return [
        {"value": str(item) if isinstance(item, int) and not isinstance(item, bool) else item}
        if not isinstance(item, dict)
        else item
        for item in items
    ]


Rules = Annotated[list[Any], WithJsonSchema({"type": "array", "items": RULE_SCHEMA})]


def _choice(values: Any) -> dict[str, Any]:
    return {"enum": [str(value) for value in values]}


def written(field: ConfigField, value: object) -> object:
    """The value of a setting as a document has it."""
    if field.kind is FieldKind.GROUP and value is not None:
        by_key = {part.key: part for part in field.parts}
        return {key: written(by_key[key], part) for key, part in field.inputs_of(value).items()}
    if field.kind is FieldKind.DURATION and isinstance(value, int):
        return format_duration(value)
    if isinstance(value, datetime):
        return rfc3339(value)
    if isinstance(value, tuple):
        return [each if isinstance(each, int) else str(each) for each in value]
    return value if value is None or isinstance(value, int) else str(value)


class DocumentEntry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    @classmethod
    def repaired(cls, good: dict[str, object], bad: set[str]) -> dict[str, object]:
        """The valid part of an entry, completed with harmless values, to find further errors."""
        return good


class LastingEntry(DocumentEntry):
    """An entry of a noun that can be renamed."""

    renamed_from: str | None = Field(
        default=None, description="Previous name. The entry is renamed and keeps its state and its runs."
    )


def _show_defaults(schema: dict[str, Any], entry: type[Any]) -> None:
    """Shows the defaults of settings in the schema: a document describes the whole noun."""
    for field in entry.settings:
        shown = schema["properties"][field.key]
        if field.kind is FieldKind.GROUP:
            continue  # its separate fields have defaults
        if "anyOf" in shown and not field.is_nullable:
            plain = next(each for each in shown.pop("anyOf") if each.get("type") != "null")
            shown |= {name: value for name, value in plain.items() if name not in shown}
        if not field.is_required:
            shown["default"] = list(field.default) if isinstance(field.default, tuple) else field.default
        if field.kind in LISTS:
            item = shown.pop("items")
            shown.pop("type", None)
            shown["anyOf"] = [item, {"type": "array", "items": item}]


class DescribedEntry(DocumentEntry):
    """An entry with the settings of a described noun. A key that is left out has its default, which editors show."""

    model_config = ConfigDict(json_schema_extra=_show_defaults)

    settings: ClassVar[tuple[ConfigField, ...]]

    @model_validator(mode="before")
    @classmethod
    def _lists(cls, given: object) -> object:
        """One item of a list may be written without the brackets."""
        if not isinstance(given, dict):
            return given
        return _with_lists(given, cls.settings)


class SettingsEntry(DescribedEntry, LastingEntry):
    """The same, of a noun that can be renamed."""


class JobEntry(JobSettings, SettingsEntry):
    """A named group of endpoints."""

    rules: Rules = Field(default=[], description="Rules for the runs of all its endpoints, in order.")


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


def _show_kinds(schema: dict[str, Any], entry: type[Any]) -> None:
    """Shows which fields each kind needs, and which it does not have. The default kind needs no `kind`."""
    _show_defaults(schema, entry)
    known = {field.key for kind in KINDS for field in kind.fields}
    rules: list[dict[str, Any]] = []
    for kind in KINDS:
        is_kind: dict[str, Any] = {"properties": {"kind": {"const": kind.name}}}
        if kind.name != DEFAULT_KIND:
            is_kind["required"] = ["kind"]
        needed = [field.key for field in kind.fields if field.is_required]
        foreign = sorted(known - {field.key for field in kind.fields})
        then = {"required": needed, "properties": dict.fromkeys(foreign, False)}
        rules.append({"if": is_kind, "then": then})
    schema["allOf"] = rules


class EndpointEntry(EndpointSettings, SettingsEntry):
    """What to call, and when: a `url`, or the fields of its `kind`, and one of `every`, `cron` and `at`."""

    model_config = ConfigDict(json_schema_extra=_show_kinds)

    url: str | None = Field(
        default=None,
        description="URL to call, or with a connection a path. The query string is encrypted and never shown again; it "
        "may contain references.",
        examples=["https://example.com/health", "https://example.com/report?key=${env:REPORT_KEY}"],
    )
    headers: dict[str, HeaderValues] = Field(
        default={},
        description="Request headers by name. A value with a reference, or one marked `secret`, is encrypted at rest "
        "and never shown again; a list sends the header several times.",
        json_schema_extra={"additionalProperties": _HEADER_VALUE},
    )
    environment: dict[str, HeaderValues] = Field(
        default={},
        description="Environment variables of kind command, by name. A value with a reference, or one marked `secret`, "
        "is encrypted at rest and never shown again.",
        json_schema_extra={"additionalProperties": _HEADER_VALUE},
    )
    rules: Rules = Field(default=[], description="Rules that react to responses, in order.")

    @property
    def kind_name(self) -> str:
        return str(self.sent().get("kind") or DEFAULT_KIND)

    @property
    def job_name(self) -> str:
        return str(self.sent().get("job") or FIELD_BY_KEY["job"].default)

    @classmethod
    def repaired(cls, good: dict[str, object], bad: set[str]) -> dict[str, object]:
        schedule = {} if any(good.get(key) for key in SCHEDULES) else {"every": "1m"}
        url = {"url": "https://example.com/"} if "url" in bad else {}
        return {**url, **schedule, **good}


class ConnectionEntry(ConnectionSettings, DocumentEntry):
    """A base URL with credentials, TLS and proxy settings. The key is its name, which cannot be changed."""

    model_config = ConfigDict(json_schema_extra=_show_defaults)

    base_url: str = described(CONNECTION_FIELDS, "base_url")
    secret: str = Field(
        default="",
        description="Value of the header, password, client secret or secret access key, as a reference.",
        examples=["${env:BILLING_KEY}", "${file:/run/secrets/billing}"],
    )
    client_key: str = Field(
        default="",
        description="Private key (PEM) of the client certificate, as a reference.",
        examples=["${file:/run/secrets/client.key}"],
    )

    @classmethod
    def repaired(cls, good: dict[str, object], bad: set[str]) -> dict[str, object]:
        return {"base_url": "https://example.com/", **good}


class CalendarEntry(CalendarSettings, DescribedEntry):
    """Days on which endpoints run or do not run. The key is its name, which cannot be changed."""

    @classmethod
    def repaired(cls, good: dict[str, object], bad: set[str]) -> dict[str, object]:
        return good if len(good) > ("description" in good) else {"weekdays": ["sun"], **good}


class AlertEntry(AlertSettings, SettingsEntry):
    """Who is notified when something fails or recovers."""

    @classmethod
    def repaired(cls, good: dict[str, object], bad: set[str]) -> dict[str, object]:
        return {"to": "ops@example.com", **good}


class MaintenanceEntry(MaintenanceSettings, SettingsEntry):
    """When runs are skipped or not counted, and alerts are silent: `cron` and `duration`, or `start` and `end`."""

    @classmethod
    def repaired(cls, good: dict[str, object], bad: set[str]) -> dict[str, object]:
        return good if good.get("cron") or good.get("start") else {"cron": "0 2 * * *", "duration": "1h", **good}


class WebhookEntry(WebhookSettings, SettingsEntry):
    """An external receiver of events."""

    url: str = described(WEBHOOK_FIELDS, "url")
    secret: str = Field(
        default="",
        description="Secret that signs messages, as a reference: `whsec_` and the base64 of 24 to 64 bytes.",
        examples=["${env:HOOK_SECRET}", "${file:/run/secrets/hook}"],
    )

    @classmethod
    def repaired(cls, good: dict[str, object], bad: set[str]) -> dict[str, object]:
        return {"url": "https://example.com/", **good}


class WorkflowEntry(DocumentEntry):
    """Steps in order. The key is the name of the workflow."""

    model_config = ConfigDict(extra="allow", frozen=True)  # the workflow reader checks these keys

    description: Any = Field(default="", description="What the workflow is for.", json_schema_extra={"type": "string"})
    input: Any = Field(default={}, description="Input of an execution, by name.", json_schema_extra={"type": "object"})
    templates: Any = Field(
        default={}, description="Texts that steps refer to by name.", json_schema_extra={"type": "object"}
    )
    exit: Any = Field(
        default=[], description="Conditions that end an execution at any step.", json_schema_extra={"type": "array"}
    )
    reentry: Any = Field(
        default="allow",
        description="Whether a second execution may run with the same correlation key.",
        json_schema_extra=_choice(REENTRY),
    )
    on: Any = Field(
        default=[],
        description="Triggers: what starts executions or sends them events.",
        json_schema_extra=TRIGGERS_SCHEMA,
    )
    steps: Any = Field(
        default=None,
        description="Steps, in order.",
        json_schema_extra={"type": "array", "items": STEP_SCHEMA},
    )

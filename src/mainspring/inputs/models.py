"""The settings of endpoints, jobs, alerts, webhooks and connections as API, MCP and documents take them.

Each model is made from the description of the fields in the domain. The interfaces add what each of them writes in its
own way, such as the headers of an endpoint. The domain checks values, with the same message in all interfaces.
"""

from types import GenericAlias
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from mainspring.domain.calendar import CALENDAR_FIELDS
from mainspring.domain.config_field import ConfigField, FieldKind
from mainspring.domain.connection import CONNECTION_FIELDS
from mainspring.domain.endpoint import CALL_FIELDS, JOB_FIELDS, SETTINGS
from mainspring.domain.notify.subscription import ALERT_FIELDS, WEBHOOK_FIELDS
from mainspring.domain.schedule.maintenance import MAINTENANCE_FIELDS
from mainspring.inputs.values import Duration, InstantOrDelay, Text

ITEMS_MAX = 100
LISTS = (FieldKind.NUMBERS, FieldKind.TEXTS, FieldKind.CHOICES)
_TYPES: dict[FieldKind, Any] = {
    FieldKind.TEXT: Text,
    FieldKind.DURATION: Duration,
    FieldKind.INSTANT: InstantOrDelay,
    FieldKind.NUMBER: int,
    FieldKind.SWITCH: bool,
    FieldKind.CHOICE: str,
    FieldKind.NUMBERS: list[int],
    FieldKind.TEXTS: list[Text],
}


class SentInputs(BaseModel):
    settings: ClassVar[tuple[ConfigField, ...]] = ()

    def sent(self) -> dict[str, object]:
        """The settings that were sent, by key; None: the default. Of a group, those of its fields that were sent."""
        given = {field.key: getattr(self, field.key) for field in self.settings if field.key in self.model_fields_set}
        return {key: value.sent() if isinstance(value, SentInputs) else value for key, value in given.items()}


class GroupInputs(SentInputs):
    """Settings that are one value; strict as the requests and documents that have them."""

    model_config = ConfigDict(extra="forbid", strict=True)


def input_field(field: ConfigField) -> tuple[Any, Any]:
    """The type of a field as an input, and its description. A missing input keeps the value; null is the default."""
    if field.kind is FieldKind.GROUP:
        type_: Any = _group(field)
    else:
        type_ = _TYPES.get(field.kind) or GenericAlias(list, (Literal.__getitem__(field.about.choices),))
    described = Field(
        default=None,
        description=field.sentence,
        examples=_examples(field),
        json_schema_extra={"enum": list(field.about.choices)} if field.kind is FieldKind.CHOICE else None,
        max_length=_items_max(field) if field.kind in LISTS else None,
    )
    return type_ | None, described


def _group(field: ConfigField) -> type[SentInputs]:
    """The model of a group of settings; the domain has the defaults of those that are left out.

    It is found in this module by its name, like the other models: documents are read in another process and pickled.
    """
    name = f"{field.key.title().replace('_', '')}Settings"
    known: type[SentInputs] | None = globals().get(name)
    if known is not None:
        return known
    parts: Any = {part.key: input_field(part) for part in field.parts}
    made: type[GroupInputs] = create_model(name, __base__=GroupInputs, __doc__=field.about.sentence, **parts)
    made.settings = field.parts
    globals()[name] = made
    return made


def described(fields: tuple[ConfigField, ...], key: str, *, default: Any = ...) -> Any:
    """The description of a field that an interface declares itself, being required or of another type there."""
    (field,) = (each for each in fields if each.key == key)
    max_length = _items_max(field) if field.kind in LISTS else None
    return Field(default=default, description=field.sentence, examples=_examples(field), max_length=max_length)


def _items_max(field: ConfigField) -> int:
    return ITEMS_MAX if field.kind is not FieldKind.TEXTS or field.about.most is None else field.about.most


def _examples(field: ConfigField) -> list[Any] | None:
    given = list(field.about.examples)
    return [given] if given and field.kind in LISTS else given or None


if TYPE_CHECKING:

    class EndpointSettings(SentInputs):
        """Every setting of an endpoint, by key."""

    class CallSettings(SentInputs):
        """The settings of a call, by key."""

    class JobSettings(SentInputs):
        """Every setting of a job, by key."""

    class AlertSettings(SentInputs):
        """Every setting of an alert, by key."""

    class WebhookSettings(SentInputs):
        """Every setting of a webhook, by key."""

    class MaintenanceSettings(SentInputs):
        """Every setting of a maintenance window, by key."""

    class CalendarSettings(SentInputs):
        """Every setting of a calendar, by key."""

    class ConnectionSettings(SentInputs):
        """Every setting of a connection, by key."""

else:

    def _model(name: str, fields: tuple[ConfigField, ...]) -> type[SentInputs]:
        fields = tuple(field for field in fields if field.key != "name")  # in documents an entry's name is its key
        made = create_model(name, __base__=SentInputs, **{field.key: input_field(field) for field in fields})
        made.settings = fields
        return made

    EndpointSettings = _model("EndpointSettings", SETTINGS)
    CallSettings = _model("CallSettings", CALL_FIELDS)
    JobSettings = _model("JobSettings", JOB_FIELDS)
    AlertSettings = _model("AlertSettings", ALERT_FIELDS)
    WebhookSettings = _model("WebhookSettings", WEBHOOK_FIELDS)
    MaintenanceSettings = _model("MaintenanceSettings", MAINTENANCE_FIELDS)
    CalendarSettings = _model("CalendarSettings", CALENDAR_FIELDS)
    ConnectionSettings = _model("ConnectionSettings", CONNECTION_FIELDS)

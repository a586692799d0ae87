"""An endpoint's configuration as API, MCP and documents take it: one model, made from the description of its fields.

The doors add what each of them writes in its own way: the name, the URL and the headers. What a value must be is the
domain's to say, with the same message at every door.
"""

from types import GenericAlias
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, Field, create_model

from mainspring.domain.config_field import ConfigField, FieldKind
from mainspring.domain.endpoint import SETTINGS
from mainspring.inputs.values import Duration, Text

ITEMS_MAX = 100
_TYPES: dict[FieldKind, Any] = {
    FieldKind.TEXT: Text,
    FieldKind.DURATION: Duration,
    FieldKind.NUMBER: int,
    FieldKind.SWITCH: bool,
    FieldKind.CHOICE: str,
    FieldKind.NUMBERS: list[int],
}


class SentInputs(BaseModel):
    def sent(self) -> dict[str, object]:
        """The settings that were sent, by key; None: the default."""
        return {field.key: getattr(self, field.key) for field in SETTINGS if field.key in self.model_fields_set}


def input_field(field: ConfigField) -> tuple[Any, Any]:
    """The type of a field as an input, and how it is described. Left out, it stays; null is its default."""
    type_ = _TYPES.get(field.kind) or GenericAlias(list, (Literal.__getitem__(field.about.choices),))
    described = Field(
        default=None,
        description=field.sentence,
        examples=_examples(field),
        json_schema_extra={"enum": list(field.about.choices)} if field.kind is FieldKind.CHOICE else None,
        max_length=ITEMS_MAX if field.kind in (FieldKind.NUMBERS, FieldKind.CHOICES) else None,
    )
    return type_ | None, described


def _examples(field: ConfigField) -> list[Any] | None:
    given = list(field.about.examples)
    return [given] if given and field.kind is FieldKind.NUMBERS else given or None


if TYPE_CHECKING:

    class EndpointSettings(SentInputs):
        """Every setting of an endpoint, by key."""

else:
    EndpointSettings = create_model(
        "EndpointSettings", __base__=SentInputs, **{field.key: input_field(field) for field in SETTINGS}
    )

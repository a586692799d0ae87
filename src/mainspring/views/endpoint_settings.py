"""An endpoint's settings as every door shows them: a model made from the description of its fields.

A setting is shown under the name of its field, with its unit. The views of an endpoint extend the model.
"""

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field, create_model

from mainspring.domain.config_field import ConfigField, FieldKind
from mainspring.domain.endpoint import SETTINGS

_TYPES: dict[FieldKind, Any] = {
    FieldKind.TEXT: str,
    FieldKind.DURATION: int,
    FieldKind.NUMBER: int,
    FieldKind.SWITCH: bool,
    FieldKind.CHOICE: str,
    FieldKind.NUMBERS: list[int],
    FieldKind.CHOICES: list[str],
}


def _shown(field: ConfigField) -> tuple[Any, Any]:
    type_ = _TYPES[field.kind]
    return type_ | None if field.is_nullable else type_, Field(description=field.about.sentence)


if TYPE_CHECKING:

    class EndpointSettingsView(BaseModel):
        """Every setting of an endpoint, by the name of its field."""

        def __getattr__(self, name: str) -> Any: ...

else:
    EndpointSettingsView = create_model("EndpointSettingsView", **{field.name: _shown(field) for field in SETTINGS})

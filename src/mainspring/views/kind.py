"""Kinds of endpoints as all interfaces show them: their fields, and what their results show."""

from typing import Any, Self

from pydantic import Field

from mainspring.domain.config_field import ConfigField
from mainspring.domain.endpoint import FIELD_BY_KEY
from mainspring.domain.kinds.kind import Kind
from mainspring.domain.kinds.registry import KINDS
from mainspring.views.view import View


class KindFieldView(View):
    key: str = Field(description="Name of the field as an input.")
    type: str = Field(
        description="`text`, `duration`, `number`, `switch`, `choice`, `choices`, `numbers`, `texts` or `other`."
    )
    about: str
    required: bool
    default: str = Field(description="The default in words; empty if the field has none.")
    choices: list[str]
    unit: str
    examples: list[str]
    is_long: bool = Field(description="Whether the text may have several lines.")
    shown_as: str = Field(description="Name of the field in what is shown, with its unit.")

    @classmethod
    def of(cls, field: ConfigField) -> Self:
        return cls(
            key=field.key,
            type=field.kind.value,
            about=field.about.sentence,
            required=field.is_required,
            default=field.default_text,
            choices=list(field.about.choices),
            unit=field.about.unit,
            examples=[str(each) for each in field.about.examples],
            is_long=field.about.is_payload,
            shown_as=field.name,
        )


class FactView(View):
    name: str = Field(description="As a condition or a rule reads it.")
    about: str


class KindView(View):
    name: str
    about: str
    fields: list[KindFieldView]
    facts: list[FactView] = Field(description="What results show to conditions and rules.")

    @classmethod
    def of(cls, kind: Kind[Any]) -> Self:
        return cls(
            name=kind.name,
            about=kind.about,
            fields=[KindFieldView.of(field) for field in kind.fields if field.key in FIELD_BY_KEY],
            facts=[FactView(name=fact.name, about=fact.about) for fact in kind.facts],
        )


def load_kinds() -> list[KindView]:
    return [KindView.of(kind) for kind in KINDS]

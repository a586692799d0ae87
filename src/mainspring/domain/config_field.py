"""The description of a configuration field: once, beside its type and its default. Pure.

A struct writes `Annotated[type, About(...)]`; `describe` reads the struct. From the descriptions follow the input
models of API, MCP and documents, the options of the command line, the columns and the row mapping, the check of bounds,
the keys of an export and the reference pages.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, get_args, get_origin

from msgspec import Struct
from msgspec.structs import fields, replace

from mainspring.domain.duration import format_duration
from mainspring.domain.errors import InvalidInput, did_you_mean
from mainspring.domain.text import check_text

DEFAULT_KIND = "http"
MS = "_ms"  # the end of the names of durations


class FieldKind(StrEnum):
    TEXT = "text"
    DURATION = "duration"
    NUMBER = "number"
    SWITCH = "switch"
    CHOICE = "choice"
    NUMBERS = "numbers"
    TEXTS = "texts"
    CHOICES = "choices"
    INSTANT = "instant"
    GROUP = "group"  # settings in a separate struct, which are one value; see `ConfigField.parts`
    OTHER = "other"  # each interface has its own form for it


class About(Struct, frozen=True):
    """What type and default do not say about a field."""

    sentence: str
    least: int = 0
    most: int | None = None  # of a text: characters; of a list: each of its numbers
    key: str = ""  # its name as an input, if that is not the field's name without its unit
    choices: tuple[str, ...] = ()
    examples: tuple[object, ...] = ()
    unit: str = ""
    zero_is_none: bool = False  # 0 removes a limit
    is_payload: bool = False  # text for programs, which may have control characters
    template: str = ""  # how values are written into its texts, see `domain/kinds/templated`; "": it has no templates


class ConfigField(Struct, frozen=True):
    name: str  # in its struct, its row and in what is shown
    key: str  # as an input in all interfaces
    kind: FieldKind
    default: Any
    is_required: bool
    is_nullable: bool
    about: About
    enum: type[StrEnum] | None = None
    struct: type[Struct] | None = None  # of a group
    parts: tuple["ConfigField", ...] = ()  # of a group: its fields
    kinds: tuple[str, ...] = ()  # of endpoints that have the field; empty: all kinds

    @property
    def label(self) -> str:
        """Its name in messages."""
        return self.name.removesuffix(MS)

    @property
    def default_text(self) -> str:
        """The default for people; "" if the field has none or has no default value."""
        match self.default:
            case None | "" | ():
                return ""
            case bool():
                return "true" if self.default else "false"
            case tuple():
                return "all" if self.default == self.about.choices else ", ".join(self.default)
            case int() if self.kind is FieldKind.DURATION:
                return format_duration(self.default)
        return str(self.default)

    @property
    def sentence(self) -> str:
        """The description of the field in all interfaces."""
        unit = f" In {self.about.unit}." if self.about.unit else ""
        default = f" Default: {self.default_text}." if self.default_text else ""
        kinds = "" if not self.kinds or DEFAULT_KIND in self.kinds else f" For kind {', '.join(self.kinds)}."
        return f"{self.about.sentence}{unit}{default}{kinds}"

    def checked(self, value: Any) -> Any:
        """The value as stored, or InvalidInput: what was wrong, the rule, the solution."""
        if value is None or (value == 0 and self.about.zero_is_none):
            return None
        match self.kind:
            case FieldKind.DURATION if self.about.most is not None:
                check_duration(value, self.about.least, self.about.most, self)
            case FieldKind.NUMBER:
                self._check_number(value)
            case FieldKind.NUMBERS:
                for each in value:
                    self._check_number(each)
            case FieldKind.TEXT if self.about.most is not None:
                return check_text(value, self.key, self.about.most, is_payload=self.about.is_payload)
            case FieldKind.CHOICE:
                word = self._one_of(value)
                return word if self.enum is None else self.enum(word)
            case FieldKind.CHOICES:
                wanted = {self._one_of(each) for each in value}
                return tuple(each for each in self.about.choices if each in wanted)
            case FieldKind.GROUP:
                return replace(value, **{part.name: self._part_checked(part, value) for part in self.parts})
            case _:
                pass
        return value

    def _part_checked(self, part: "ConfigField", value: Struct) -> Any:
        try:
            return part.checked(getattr(value, part.name))
        except InvalidInput as fault:
            raise InvalidInput(f"{self.label}: {fault}", field=f"{self.key}.{part.key}", value=fault.value) from None

    def with_parts(self, value: Any, inputs: Mapping[str, object]) -> Any:
        """A group with inputs by the keys of its fields; None restores the default of a field."""
        assert self.struct is not None
        values = {
            part.name: part.default if given is None else tuple(given) if isinstance(given, list) else given
            for part in self.parts
            if (given := inputs.get(part.key, self)) is not self
        }
        return replace(value or self.struct(), **values)

    def all_inputs_of(self, value: Any) -> dict[str, object]:
        """The fields of a group by key."""
        return {part.key: getattr(value, part.name) for part in self.parts}

    def inputs_of(self, value: Any) -> dict[str, object]:
        """The fields of a group by key that differ from their default."""
        return {part.key: getattr(value, part.name) for part in self.parts if getattr(value, part.name) != part.default}

    def _check_number(self, value: int) -> None:
        least, most = self.about.least, self.about.most or 0
        if isinstance(value, bool) or not least <= value <= most:
            raise InvalidInput(
                f"{self.label} {value} is out of bounds; give {least:,} to {most:,}", field=self.key, value=value
            )

    def _one_of(self, value: str) -> str:
        if value not in self.about.choices:
            raise InvalidInput(
                f"unknown {self.label} {value!r}{did_you_mean(value, self.about.choices)}; "
                f"choose one of {', '.join(self.about.choices)}",
                field=self.key,
                value=value,
            )
        return value


def check_duration(value: int, least: int, most: int, field: ConfigField) -> None:
    if isinstance(value, bool) or not least <= value <= most:
        raise InvalidInput(
            f"{field.label} {value} ms is out of bounds; give {format_duration(least) if least else '0'} "
            f"to {format_duration(most)}",
            field=field.key,
            value=value,
        )


@cache
def describe(struct: type[Struct]) -> tuple[ConfigField, ...]:
    """The described fields of a struct, in its order."""
    return tuple(
        _field(each.name, each.type, None if each.required else each.default, each.required)
        for each in fields(struct)
        if get_origin(each.type) is Annotated
    )


def values_of(fields: tuple[ConfigField, ...], inputs: Mapping[str, object]) -> dict[str, Any]:
    """Inputs by key as values by the names of their fields. Inputs that are None or unknown are left out."""
    return {
        field.name: tuple(value) if isinstance(value, list) else value
        for field in fields
        if (value := inputs.get(field.key)) is not None
    }


def _field(name: str, annotated: Any, default: object, is_required: bool) -> ConfigField:
    type_, about = get_args(annotated)
    parts = get_args(type_) if get_origin(type_) is UnionType else (type_,)
    plain = next(part for part in parts if part is not NoneType)
    enum = plain if isinstance(plain, type) and issubclass(plain, StrEnum) else None
    if enum is not None:
        about = About(about.sentence, key=about.key, choices=tuple(each.value for each in enum))
    key = about.key or name.removesuffix(MS)
    kind = _kind(name, plain, about)
    struct = plain if kind is FieldKind.GROUP else None
    inner = describe(plain) if kind is FieldKind.GROUP else ()
    return ConfigField(name, key, kind, default, is_required, NoneType in parts, about, enum, struct, inner)


def _kind(name: str, type_: Any, about: About) -> FieldKind:
    if about.choices:
        return FieldKind.CHOICES if get_origin(type_) is tuple else FieldKind.CHOICE
    if isinstance(type_, type) and issubclass(type_, Struct) and describe(type_):
        return FieldKind.GROUP
    if type_ is datetime:
        return FieldKind.INSTANT
    if type_ is int:
        return FieldKind.DURATION if name.endswith(MS) else FieldKind.NUMBER
    kinds: dict[Any, FieldKind] = {
        str: FieldKind.TEXT,
        bool: FieldKind.SWITCH,
        tuple[int, ...]: FieldKind.NUMBERS,
        tuple[str, ...]: FieldKind.TEXTS,
    }
    return kinds.get(type_, FieldKind.OTHER)

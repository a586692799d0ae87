"""What all views share. A view is what all interfaces show of one noun: a pydantic model.

`of` makes a view from domain values. `model_validate` makes the same view from a server's JSON, so that a command
prints the same from a database and from a server. Secrets are in no view: neither header values nor query strings.

Pydantic costs the command line 0.1 s, so commands import views inside functions.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any, Generic, Literal, Protocol, Self, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

# Timestamps are UTC, so pydantic writes them as `rfc3339` does, without a call of Python for each.
At = Annotated[datetime, Field(examples=["2030-01-31T08:00:00Z"])]
OrNull = Annotated[str | None, BeforeValidator(lambda text: text or None)]  # "" in the domain is null in the interfaces
Unreadable = ValidationError  # what `model_validate` raises if the JSON does not match the view
JsonObject = dict[str, object]  # as an interface returns it
MANAGED_BY = "Document source that manages it, if any."
T = TypeVar("T")


class Named(Protocol):
    @property
    def id(self) -> str: ...

    @property
    def name(self) -> str: ...


class View(BaseModel):
    model_config = ConfigDict(json_schema_serialization_defaults_required=True, from_attributes=True, frozen=True)

    @classmethod
    def from_value(cls, value: object, /, **others: object) -> Self:
        """A view with `others`; every further field is the attribute of `value` with the same name."""
        values = {name: getattr(value, name) for name in cls.__pydantic_fields__ if name not in others}
        values.update(others)
        return cls.model_validate(values)

    @classmethod
    def read_all(cls, items: Iterable[object]) -> list[Self]:
        """The items of a server's list."""
        return [cls.model_validate(each) for each in items]

    def as_json(self) -> dict[str, Any]:
        return self.model_dump(mode="json", by_alias=True)


V = TypeVar("V", bound=View)


class ListOf(View, Generic[T]):
    items: list[T]


class PageOf(View, Generic[T]):
    items: list[T]
    next_cursor: str | None = Field(description="Send it as `cursor` for the next page; null on the last page.")


class TotalView(View):
    count: int
    is_exact: bool = Field(description="False if counting stopped at 10,000.")


class CountedPage(PageOf[T], Generic[T]):
    total: TotalView | None = Field(description="Number of matches on all pages; null unless `with_total` is set.")


class DryRunOf(View, Generic[V]):
    """What the request would change without `dry_run`. Nothing was changed."""

    dry_run: Literal[True] = True
    before: V | None = Field(description="Null if it does not exist.")
    after: V | None = Field(description="Null if it would not exist.")
    changed: list[str] = Field(description="Fields that would change.")

    @classmethod
    def of(cls, before: V | None, after: V | None) -> Self:
        return cls(before=before, after=after, changed=differences(before, after))


class Deleted(View):
    id: str
    name: str
    deleted: Literal[True] = True

    @classmethod
    def of(cls, value: "Named") -> Self:
        return cls(id=value.id, name=value.name)


def differences(before: View | None, after: View | None) -> list[str]:
    """Names of the fields in which two views differ."""
    named = after or before
    fields = type(named).model_fields if named is not None else ()
    return [name for name in fields if getattr(before, name, None) != getattr(after, name, None)]

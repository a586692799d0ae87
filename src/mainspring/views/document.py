"""What applying documents changed, or would change, as all interfaces show it."""

from typing import Self

from pydantic import Field

from mainspring.documents.apply import Report
from mainspring.views.view import View


class FieldChanged(View):
    field: str
    before: object = None
    after: object = None


class StepTaken(View):
    act: str = Field(description="create, change, archive or delete.")
    kind: str
    name: str
    renamed_from: str | None
    fields: list[FieldChanged]


class Applied(View):
    dry_run: bool
    written: bool = Field(description="False if nothing had to change, or for a dry run.")
    sources: list[str]
    counts: dict[str, int]
    steps: list[StepTaken]
    notes: list[str]

    @classmethod
    def of(cls, report: Report, *, dry_run: bool = False) -> Self:
        return cls.from_value(report, dry_run=dry_run)

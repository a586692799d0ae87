"""Maintenance windows as all interfaces show them."""

from typing import Literal, Self

from pydantic import Field

from mainspring.domain.schedule.maintenance import DuringMaintenance
from mainspring.operations.maintenance import WindowStatus
from mainspring.views.view import MANAGED_BY, At, OrNull, View


class MaintenanceView(View):
    id: str
    name: str
    state: Literal["open", "upcoming", "over"]
    opens_at: At | None = Field(description="When the window opened, or opens next; null: it is over.")
    closes_at: At | None = Field(description="When it closes after that.")
    cron: OrNull
    duration_ms: int | None
    timezone: str
    starts_at: At | None = Field(description="Start of a window that opens once.")
    ends_at: At | None = Field(description="End of a window that opens once.")
    endpoint_id: OrNull = Field(description="The endpoint that it is about; null: not only one.")
    job_id: OrNull = Field(description="The job that it is about; null: not only one.")
    runs: DuringMaintenance = Field(description="Whether runs of the schedule continue, or are skipped.")
    description: str
    managed_by: OrNull = Field(description=MANAGED_BY)
    version: int
    created_at: At
    updated_at: At

    @classmethod
    def of(cls, status: WindowStatus) -> Self:
        occurrence = status.occurrence
        state = "open" if status.is_open else "over" if occurrence is None else "upcoming"
        opens_at, closes_at = (None, None) if occurrence is None else (occurrence.from_at, occurrence.until_at)
        return cls.from_value(status.window, state=state, opens_at=opens_at, closes_at=closes_at)

"""Jobs as all interfaces show them."""

from collections.abc import Sequence
from typing import Literal, Self

from pydantic import Field

from mainspring.domain.endpoint import Endpoint, Job
from mainspring.views.run import NextRunChange
from mainspring.views.view import MANAGED_BY, At, OrNull, View, differences

MOVED_MAX = 100


class JobView(View):
    id: str
    name: str
    description: str
    status: Literal["active", "paused", "archived"]
    managed_by: OrNull = Field(description=MANAGED_BY)
    created_at: At
    updated_at: At

    @classmethod
    def of(cls, job: Job) -> Self:
        return cls.from_value(job)


class EndpointChanged(View):
    id: str
    name: str
    next_run_at: NextRunChange


class JobDryRun(View):
    """What a write with `dry_run` would have changed. Nothing was changed."""

    dry_run: Literal[True] = True
    before: JobView | None
    after: JobView | None
    changed: list[str]
    endpoints_changed: int
    endpoints: list[EndpointChanged] = Field(description="Endpoints whose next run would move; at most 100.")

    @classmethod
    def of(cls, before: Job | None, after: Job, endpoints: Sequence[tuple[Endpoint | None, Endpoint | None]]) -> Self:
        moved = [
            EndpointChanged(
                id=old.id, name=old.name, next_run_at=NextRunChange(before=old.next_run_at, after=new.next_run_at)
            )
            for old, new in endpoints
            if old is not None and new is not None and old.next_run_at != new.next_run_at
        ]
        old_job, new_job = JobView.of(before) if before else None, JobView.of(after)
        return cls(
            before=old_job,
            after=new_job,
            changed=differences(old_job, new_job),
            endpoints_changed=sum(old != new for old, new in endpoints),
            endpoints=moved[:MOVED_MAX],
        )

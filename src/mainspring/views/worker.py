"""Processes that do the work, as every door shows them."""

from typing import Self

from mainspring.ports.presence import WorkerRow
from mainspring.views.view import At, View


class WorkerView(View):
    id: str
    kind: str
    places: int
    started_at: At
    seen_at: At

    @classmethod
    def of(cls, worker: WorkerRow) -> Self:
        return cls.from_value(worker)

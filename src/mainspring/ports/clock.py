"""Ports of the clock: reports about it, and how the database follows when it is set back."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Protocol

from msgspec import Struct

from mainspring.domain.schedule.clock_steps import ClockReport


class BroughtBack(Struct, frozen=True):
    """A page of endpoints: the last id checked ("" at the end), and how many were replanned."""

    last_id: str
    changed: int


class PartitionClock(Struct, frozen=True):
    """How far the tick of a workflow partition is ahead of the database clock; zero or less: it moves."""

    partition: int
    tick: int
    ahead: timedelta
    now: datetime


class RepairedPartition(Struct, frozen=True):
    """`waiting` executions keep the time they wait for. `moved` ones were advanced while the clock was ahead."""

    partition: int
    ahead: timedelta
    waiting: int
    moved: int


class ClockStore(Protocol):
    async def now(self) -> datetime:
        """The database clock."""

    async def newest_stored_at(self) -> datetime | None:
        """The newest time that a process has stored, with a heartbeat or an event."""

    async def add_report(self, report: ClockReport) -> bool:
        """Records a report. False, having written nothing, if another process has reported the same."""

    async def tell(self, report_id: str, changed: int) -> None:
        """Counts the effects of a report, and writes its event for every tenant; at most once per report."""

    async def reports(self, since: datetime, limit: int) -> list[ClockReport]: ...

    async def bring_back(self, after_id: str, limit: int, back: timedelta, lease_margin_ms: int) -> BroughtBack:
        """Replans a page of the endpoints that wait longer than their schedule allows, in one transaction.

        May be repeated: a replanned endpoint is no longer ahead.
        """

    async def bring_claims_back(self, back: timedelta) -> None:
        """Adjusts heartbeats, leases of partitions, effects and deliveries. Once per step."""

    async def partitions(self) -> list[PartitionClock]: ...

    async def repair_partition(self, partition: int) -> RepairedPartition | None:
        """Lets a partition that is ahead of the clock count from another time, so that its next tick is now.

        One transaction. Raises its epoch, so that its current writer steps down. None: it is not ahead.
        """

    async def zeros(self, partition: int) -> Sequence[tuple[int, datetime]]:
        """From which tick on a repaired partition counts from which time; empty if it was never repaired."""

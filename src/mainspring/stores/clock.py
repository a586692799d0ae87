"""What both databases share of a repaired clock."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import cast

import msgspec
from msgspec.structs import replace

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.event import Event, EventType
from mainspring.domain.instant import from_us, to_us
from mainspring.domain.schedule.anchor import push_ahead
from mainspring.domain.schedule.changes import Change
from mainspring.domain.schedule.clock_steps import bring_back
from mainspring.domain.schedule.governor import CronReader
from mainspring.ports.clock import PartitionClock
from mainspring.workflow.model import ExecutionState, LogicalClock

TENANTS_TOLD_MAX = 1_000
REPORTS_KEPT = timedelta(days=30)
SAME_STEP = timedelta(seconds=15)  # processes notice the same step within a round of each other
PARTITION_LEASE_MAX = timedelta(minutes=5)  # longer than any lease of a partition
WAITING_PAGE = 500
_STATE = msgspec.json.Decoder(ExecutionState)


def brought_back(
    endpoint: Endpoint,
    now: datetime,
    back: timedelta,
    ran: tuple[datetime, datetime] | None,
    lease_margin_ms: int,
    cron: CronReader,
) -> Change:
    """What a step back makes of an endpoint. One that cannot be planned is pushed ahead, and keeps no other waiting."""
    try:
        return bring_back(endpoint, now, back, ran, lease_margin_ms, cron)
    except Exception as fault:  # whatever one endpoint throws is that endpoint's alone
        text = f"{type(fault).__name__}: {fault}"[:500]
        event = Event(EventType.ENDPOINT_FAULTY, now, endpoint.tenant_id, endpoint.id, "", "system", {"fault": text})
        return Change(push_ahead(endpoint, now, text), (event,))


def partition_clock(row: tuple[int, int, int, int], now: datetime) -> PartitionClock:
    partition, tick, zero_us, resolution_ms = row
    reached = LogicalClock(0, from_us(zero_us), resolution_ms).reading(now)
    return PartitionClock(partition, tick, timedelta(milliseconds=(tick - reached) * resolution_ms), now)


def moved_zero(row: tuple[int, int, int, int], now: datetime) -> tuple[int, int]:
    """By how many ticks a partition is ahead, and from which instant it counts so that it is not."""
    _, tick, zero_us, resolution_ms = row
    shift = tick - LogicalClock(0, from_us(zero_us), resolution_ms).reading(now)
    return shift, zero_us - shift * resolution_ms * 1000


def waits_on(row: Sequence[object], tick: int, shift: int, soon: int) -> tuple[int | None, str] | None:
    """The ready tick and the state of an execution that waits for the same instant as before; None: it need not move.

    A wait that was begun while the clock was ahead is counted from there, and keeps its tick.
    """
    state, created_us, begun_tick = _STATE.decode(str(row[2])), cast(int, row[3]), cast("int | None", row[4])
    is_before = created_us <= soon if begun_tick is None else begun_tick <= tick - shift
    if not is_before or state.wake_tick is None or state.wake_tick <= tick:
        return None
    later = replace(state, wake_tick=state.wake_tick + shift)
    return later.ready_tick, msgspec.json.encode(later).decode()


def soon_us(now: datetime, margin: timedelta) -> int:
    return to_us(now + margin)

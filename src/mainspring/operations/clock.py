"""Operations on the clock: list detected steps, and let stopped workflow partitions continue."""

from datetime import timedelta

from msgspec import Struct

from mainspring.domain.schedule.clock_steps import ClockReport
from mainspring.ports.clock import PartitionClock, RepairedPartition
from mainspring.ports.outbound import Ids
from mainspring.ports.stores import Stores

REPORTED_SINCE = timedelta(days=7)
REPORTS_MAX = 100
STOPPED_MIN = timedelta(seconds=5)  # the tick of the current second is not a sign of a step


class ClockStatus(Struct, frozen=True):
    reports: list[ClockReport]
    stopped: list[PartitionClock]  # partitions whose tick is ahead of the clock


async def clock_status(stores: Stores) -> ClockStatus:
    """Steps and differences of the last week, newest first, and the workflow partitions stopped by a step."""
    since = await stores.clock.now() - REPORTED_SINCE
    stopped = [each for each in await stores.clock.partitions() if each.ahead >= STOPPED_MIN]
    return ClockStatus(await stores.clock.reports(since, REPORTS_MAX), stopped)


async def repair_clock(stores: Stores, ids: Ids, worker: str) -> list[RepairedPartition]:
    """Lets every stopped partition continue from now; each repair is recorded, with an event."""
    repaired = []
    for each in (await clock_status(stores)).stopped:
        done = await stores.clock.repair_partition(each.partition)
        if done is None:
            continue
        repaired.append(done)
        at = await stores.clock.now()
        name = f"{worker} partition {done.partition}"
        report = ClockReport(ids.new("clk", at), at, "repair", -(done.ahead // timedelta(milliseconds=1)), name)
        if await stores.clock.add_report(report):
            await stores.clock.tell(report.id, done.waiting + done.moved)
    return repaired

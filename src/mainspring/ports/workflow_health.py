"""Health of workflows: whether executions move on time, partitions have writers, and effects are sent.

Read by the watch in every scheduler, and by `mainspring doctor`.
"""

from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from mainspring.ports.workflows import PartitionView, WorkflowStores

OVERDUE_AFTER: Final = timedelta(minutes=1)  # longer than the takeover of a partition, and than a full tick waits


class WorkflowHealth(Struct, frozen=True):
    """Health of workflows at a given time."""

    now: datetime
    overdue: int  # executions overdue by more than a minute
    lag: timedelta  # how long the oldest work of any partition waits
    unwritten: tuple[int, ...]  # partitions with waiting work and no writer
    effect_age: timedelta  # how long the oldest effect waits to be sent


async def read_workflow_health(flows: WorkflowStores) -> WorkflowHealth:
    now = await flows.workflows.now()
    views = await flows.partitions.views(now - OVERDUE_AFTER)
    waits = [now - since for view in views if (since := view.waits_since) is not None]
    effect_at = await flows.partitions.oldest_effect_at()
    return WorkflowHealth(
        now,
        sum(view.overdue for view in views),
        max([timedelta(0), *waits]),
        tuple(view.partition for view in views if _is_unwritten(view, now)),
        timedelta(0) if effect_at is None else max(now - effect_at, timedelta(0)),
    )


def _is_unwritten(view: PartitionView, now: datetime) -> bool:
    since = view.waits_since
    return view.lease_until <= now and since is not None and now - since > OVERDUE_AFTER

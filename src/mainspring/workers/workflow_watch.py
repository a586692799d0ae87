"""The watch over workflows: whether executions move on time, partitions have writers, and effects are sent.

It reads and reports: metrics each round; a log line and an event per tenant when executions become overdue, and when
they move again. The last report is stored, so that a restart loses no recovery and several processes report once. It
changes nothing else.
"""

import json

import structlog

from mainspring.domain.event import Event, EventType
from mainspring.observe import Metrics
from mainspring.ports.workflow_health import OVERDUE_AFTER, read_workflow_health
from mainspring.ports.workflows import WorkflowStores

log = structlog.get_logger()


class WorkflowWatch:
    def __init__(self, flows: WorkflowStores, metrics: Metrics) -> None:
        self._flows, self._metrics = flows, metrics

    async def run_once(self) -> None:
        found = await read_workflow_health(self._flows)
        metrics = self._metrics
        metrics.executions_overdue = found.overdue
        metrics.tick_lag = found.lag.total_seconds()
        metrics.partitions_unwritten = len(found.unwritten)
        metrics.effect_age = found.effect_age.total_seconds()
        partitions = self._flows.partitions
        late = await partitions.overdue_by_tenant(found.now - OVERDUE_AFTER) if found.overdue else {}
        before = await partitions.overdue_reported()
        known: set[str] = set(json.loads(before))
        if late.keys() == known:
            return
        events = [
            Event(EventType.EXECUTIONS_LATE, found.now, tenant, data={"count": count})
            for tenant, count in late.items()
            if tenant not in known
        ]
        events += [Event(EventType.EXECUTIONS_ON_TIME, found.now, tenant) for tenant in sorted(known - late.keys())]
        if not await partitions.report_overdue(before, json.dumps(sorted(late)), events):
            return  # another process was first
        if late and not known:
            log.warning(
                "executions overdue",
                count=found.overdue,
                lag_s=round(found.lag.total_seconds()),
                partitions_without_writer=list(found.unwritten),
            )
        elif known and not late:
            log.info("executions on time again")

"""The watch over workflows: whether executions move when they should, partitions have writers, and effects leave.

It reads and reports: metrics each round; a log line and an event for each tenant when executions become overdue, and
when they move again. It changes nothing.
"""

import structlog

from mainspring.domain.event import Event, EventType
from mainspring.observe import Metrics
from mainspring.ports.flow_health import OVERDUE_AFTER, look_at_flows
from mainspring.ports.flows import FlowStores
from mainspring.ports.records import RunStore

log = structlog.get_logger()


class FlowWatch:
    def __init__(self, flows: FlowStores, runs: RunStore, metrics: Metrics) -> None:
        self._flows, self._runs, self._metrics = flows, runs, metrics
        self._late: set[str] = set()  # tenants

    async def run_once(self) -> None:
        found = await look_at_flows(self._flows)
        metrics = self._metrics
        metrics.executions_overdue = found.overdue
        metrics.tick_lag = found.lag.total_seconds()
        metrics.partitions_unwritten = len(found.unwritten)
        metrics.effect_age = found.effect_age.total_seconds()
        late = {}
        if found.overdue:
            late = await self._flows.partitions.overdue_by_tenant(found.now - OVERDUE_AFTER)
        if late and not self._late:
            log.warning(
                "executions overdue",
                count=found.overdue,
                lag_s=round(found.lag.total_seconds()),
                partitions_without_writer=list(found.unwritten),
            )
        elif self._late and not late:
            log.info("executions on time again")
        events = [
            Event(EventType.EXECUTIONS_LATE, found.now, tenant, data={"count": count})
            for tenant, count in late.items()
            if tenant not in self._late
        ]
        events += [
            Event(EventType.EXECUTIONS_ON_TIME, found.now, tenant) for tenant in sorted(self._late - late.keys())
        ]
        if events:
            await self._runs.add_events(events)
        self._late = set(late)

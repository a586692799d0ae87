"""How fast a long log is read from the database and verified, with the ticks that hold it, as `execution verify` does.

python -m benchmarks.verification
"""

import asyncio
import time
from datetime import timedelta

from benchmarks.ticks import MovedClock
from benchmarks.world import database_url
from mainspring.domain.event import Event, EventType
from mainspring.domain.schedule.cron import CRON
from mainspring.observe import Metrics
from mainspring.operations.context import Desk
from mainspring.operations.verification import verify_execution
from mainspring.outbound.vault import AesVault, KeyRing
from mainspring.ports.workflows import Execution, Sending, Start
from mainspring.wiring.clock import TimeOrderedIds
from mainspring.wiring.stores import open_stores
from mainspring.workers.ticker import Ticker, TickerOptions
from mainspring.workflow.document import parse_document
from mainspring.workflow.model import Arrival, ArrivalKind, ExecutionState

TICKS = 10
EVENTS = 1_000  # a tick; each is an entry of the log
ROUNDS = 10
GOAL = 100_000  # entries/s


async def measure(url: str) -> tuple[int, list[float]]:
    """How many entries the log has, and how long each of the rounds took."""
    clock = MovedClock()
    async with open_stores(url, clock=clock) as stores:
        flows = stores.flows
        told = Event(EventType.WORKFLOW_PUBLISHED, clock.at, "default")
        document = {"name": "listen", "steps": [{"id": "a", "wait": "5d"}]}
        workflow = (await flows.workflows.publish("default", parse_document(document), "", "bench", told)).workflow
        await flows.workflows.clock(0, 1_000)
        state = ExecutionState("x1", "00" * 16, workflow.name, workflow.version, {}, wake_tick=0)
        execution = Execution(state, "default", 0, "", None, "bench", clock.at, clock.at)
        await flows.workflows.start([Start(execution, Event(EventType.EXECUTION_STARTED, clock.at, "default"))])
        ticker = Ticker(flows, TickerOptions("bench"), Metrics())
        for tick in range(TICKS):
            arrivals = [
                Arrival(ArrivalKind.EVENT, f"{tick}-{number}", "reading", {"n": number}) for number in range(EVENTS)
            ]
            await flows.workflows.send([Sending("x1", 0, arrival) for arrival in arrivals], [])
            clock.at += timedelta(seconds=1)
            await ticker.run_once()
        desk = Desk(stores, "default", "bench", TimeOrderedIds(), AesVault(KeyRing(bytes(32))), CRON)
        return await _verify(desk)


async def _verify(desk: Desk) -> tuple[int, list[float]]:
    spent = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        found = await verify_execution(desk, "x1")
        spent.append(time.perf_counter() - began)
        assert found.valid
        assert found.verdict.entries > TICKS * EVENTS
    return found.verdict.entries, spent


def main() -> None:
    for kind in ("sqlite", "postgres"):
        with database_url(kind) as url:
            entries, spent = asyncio.run(measure(url))
        rates = sorted(entries / each for each in spent)
        middle = rates[len(rates) // 2]
        print(
            f"{entries:,} entries verified from {kind}: median {middle:,.0f}/s, least {rates[0]:,.0f}, most "
            f"{rates[-1]:,.0f} (goal {GOAL:,}: {middle / GOAL:.2f} x)"
        )


if __name__ == "__main__":
    main()

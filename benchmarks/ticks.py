"""How long a tick of 500 ready executions takes, committed: advance, log, effects and clock in one transaction.

python -m benchmarks.ticks [sqlite:///path/file.db | postgresql://...]
"""

import asyncio
import statistics
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta

from mainspring.domain.event import Event, EventType
from mainspring.observe import Metrics
from mainspring.wiring.stores import open_stores
from mainspring.workers.ticker import Ticker, TickerOptions
from mainspring.workflow.document import parse_document
from mainspring.workflow.model import State
from mainspring.workflow_ports import Execution

EXECUTIONS = 500
TICKS = 20
GOAL_MS = 25


class MovedClock:
    """Moves by a second per tick, so that the measurement need not wait for the wall."""

    def __init__(self) -> None:
        self.at = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.at


async def measure(url: str) -> list[float]:
    clock = MovedClock()
    steps = [{"id": "a", "wait": "1s", "visits": 9_999}, {"id": "b", "wait": "1s", "next": "a", "visits": 9_999}]
    document = {"name": "loop", "steps": steps}
    async with open_stores(url, clock=clock) as stores:
        flows = stores.flows
        told = Event(EventType.WORKFLOW_PUBLISHED, clock.at, "default")
        workflow = (await flows.workflows.publish("default", parse_document(document), "", "bench", told)).workflow
        await flows.workflows.clock(0, 1_000)
        for number in range(EXECUTIONS):
            state = State(f"x{number:06}", "00" * 16, "loop", workflow.version, {"n": number}, wake_tick=0)
            execution = Execution(state, "default", 0, "", None, "bench", clock.at, clock.at)
            await flows.workflows.start(execution, Event(EventType.EXECUTION_STARTED, clock.at, "default"))
        ticker = Ticker(flows, TickerOptions("bench"), Metrics())
        spent = []
        for _ in range(TICKS):
            clock.at += timedelta(seconds=1)
            began = time.perf_counter()
            turns = await ticker.run_once()
            spent.append((time.perf_counter() - began) * 1000)
            assert turns >= EXECUTIONS
        return spent


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        url = sys.argv[1] if len(sys.argv) > 1 else f"sqlite://{folder}/bench.db"
        spent = asyncio.run(measure(url))[2:]  # the first ones start everything
    middle = statistics.median(spent)
    print(
        f"{EXECUTIONS} executions a tick on {url.partition(':')[0]}: median {middle:.1f} ms, most {max(spent):.1f} ms, "
        f"{EXECUTIONS / middle * 1000:,.0f} turns/s (goal {GOAL_MS} ms: {GOAL_MS / middle:.2f} x)"
    )


if __name__ == "__main__":
    main()

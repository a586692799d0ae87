"""How long a tick of 500 ready executions takes, committed: advance, log, effects and clock in one transaction.

Then the same while 100,000 others wait, which must cost nothing. Beside the wall time stands the processor's: of this
process and, on PostgreSQL, not of the server's.

python -m benchmarks.ticks [sqlite | postgres]    none: both
"""

import statistics
import sys
import time
from datetime import UTC, datetime, timedelta

from msgspec import Struct
from tests.stores.databases import is_sqlite, query

from benchmarks.world import database_url, steal_told
from mainspring.cli.command import complete
from mainspring.domain.event import Event, EventType
from mainspring.observe import Metrics
from mainspring.ports.workflows import Execution, Start, WorkflowStores
from mainspring.wiring.stores import open_stores
from mainspring.workers.supervisor import tune_interpreter
from mainspring.workers.ticker import Ticker, TickerOptions
from mainspring.workflow.document import parse_document
from mainspring.workflow.model import ExecutionState, Workflow

EXECUTIONS = 500
WAITING = 100_000
TICKS = 20
WARM_UP = 2  # ticks: the first ones start everything
GOAL_MS = 15


class Spent(Struct, frozen=True):
    wall_ms: list[float]
    processor_ms: list[float]


class MovedClock:
    """Moves by a second per tick, so that the measurement need not wait for the wall."""

    def __init__(self) -> None:
        self.at = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.at


async def measure(url: str, waiting: int = 0) -> Spent:
    """What ticks cost in a fresh database, beside executions that wait."""
    clock = MovedClock()
    steps = [{"id": "a", "wait": "1s", "visits": 9_999}, {"id": "b", "wait": "1s", "next": "a", "visits": 9_999}]
    async with open_stores(url, clock=clock) as stores:
        flows = stores.flows
        told = Event(EventType.WORKFLOW_PUBLISHED, clock.at, "default")
        document = {"name": "loop", "steps": steps}
        workflow = (await flows.workflows.publish("default", parse_document(document), "", "bench", told)).workflow
        await flows.workflows.clock(0, 1_000)
        for number in range(EXECUTIONS):
            await _start(flows, workflow, f"x{number:06}", clock.at)
        if waiting:
            await _fill(url, waiting)
        tune_interpreter()  # as every process of ours does
        return await _tick(Ticker(flows, TickerOptions("bench"), Metrics()), clock)


async def _start(flows: WorkflowStores, workflow: Workflow, name: str, now: datetime) -> None:
    state = ExecutionState(name, "00" * 16, workflow.name, workflow.version, {"n": 1}, wake_tick=0)
    execution = Execution(state, "default", 0, "", None, "bench", now, now)
    await flows.workflows.start([Start(execution, Event(EventType.EXECUTION_STARTED, now, "default"))])


async def _fill(url: str, waiting: int) -> None:
    """Copies of the first execution that wait for years; one by one they would take minutes."""
    sql = (
        f"WITH RECURSIVE series (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < {waiting}) "
        "INSERT INTO execution SELECT 'w' || n, tenant_id, workflow, version, partition, correlation, idempotency_key, "
        "salt, 'waiting', step, 100000000 + n, number, head, outcome, error, actor, created_us, moved_us, state, "
        "ended_us FROM execution, series WHERE id = 'x000000'"
    )
    await query(url, sql)
    # What the server would otherwise begin in the middle of the measurement.
    await query(url, "ANALYZE" if is_sqlite(url) else "VACUUM ANALYZE")


async def _tick(ticker: Ticker, clock: MovedClock) -> Spent:
    spent = Spent([], [])
    for _ in range(TICKS):
        clock.at += timedelta(seconds=1)
        wall, processor = time.perf_counter(), time.process_time()
        turns = await ticker.run_once()
        spent.wall_ms.append((time.perf_counter() - wall) * 1000)
        spent.processor_ms.append((time.process_time() - processor) * 1000)
        assert turns >= EXECUTIONS
    return spent


def main() -> None:
    for kind in sys.argv[1:] or ("sqlite", "postgres"):
        for waiting in (0, WAITING):
            with database_url(kind) as url, steal_told():
                spent = complete(measure(url, waiting))
                print(f"{EXECUTIONS} executions a tick on {kind}, {waiting:,} others waiting: {_told(spent)}")


def _told(spent: Spent) -> str:
    wall, processor = spent.wall_ms[WARM_UP:], spent.processor_ms[WARM_UP:]
    middle = statistics.median(wall)
    return (
        f"median {middle:.1f} ms, least {min(wall):.1f}, most {max(wall):.1f}; "
        f"{EXECUTIONS / middle * 1000:,.0f} turns/s; processor {statistics.median(processor):.1f} ms "
        f"(goal {GOAL_MS} ms: {GOAL_MS / middle:.2f} x)"
    )


if __name__ == "__main__":
    main()

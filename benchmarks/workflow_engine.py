"""How fast the pure engine is: advances, sealed turns and verified entries per second, on one core.

python -m benchmarks.workflow_engine
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime

from msgspec.structs import replace

from mainspring.workflow.audit import seal, verify
from mainspring.workflow.document import parse_document
from mainspring.workflow.engine import advance
from mainspring.workflow.model import ExecutionState, LogicalClock, Workflow

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
SALT = "00" * 16
SECONDS = 1.5
GOALS = {"advances": 30_000, "advances with a condition": 0, "sealed turns": 0, "verified entries": 100_000}


def a_loop(*, with_condition: bool) -> Workflow:
    """Wait, wait, and again; with a condition in between, or without."""
    back = {"cases": [{"when": "tick >= 0", "goto": "wait"}], "default": "end"}
    steps: list[dict[str, object]] = [{"id": "wait", "wait": "1s", "visits": 10_000}]
    steps += (
        [{"id": "back", "branch": back, "visits": 10_000}]
        if with_condition
        else [{"id": "rest", "wait": "1s", "next": "wait", "visits": 10_000}]
    )
    return parse_document({"name": "loop", "steps": steps})


def rate(work: Callable[[], int]) -> float:
    done, began = 0, time.perf_counter()
    while (spent := time.perf_counter() - began) < SECONDS:
        done += work()
    return done / spent


def advances(workflow: Workflow, *, sealed: bool = False) -> float:
    first = ExecutionState("x1", SALT, workflow.name, 1, {}, wake_tick=0)

    def work() -> int:
        state = first
        for tick in range(200):
            done = advance(workflow, state, (), LogicalClock(tick, EPOCH))
            state = done.state
            if sealed:
                entries = seal(state.id, SALT, state.number - len(done.drafts), state.head, done.drafts)
                state = replace(state, head=entries[-1].hash)
        return 200

    return rate(work)


def verified() -> float:
    workflow = a_loop(with_condition=False)
    state, log = ExecutionState("x1", SALT, workflow.name, 1, {}, wake_tick=0), []
    for tick in range(4_000):
        done = advance(workflow, state, (), LogicalClock(tick, EPOCH))
        entries = seal("x1", SALT, state.number, state.head, done.drafts)
        log += entries
        state = replace(done.state, head=entries[-1].hash)

    def work() -> int:
        assert verify("x1", SALT, log).valid
        return len(log)

    return rate(work)


def main() -> None:
    plain, judged = a_loop(with_condition=False), a_loop(with_condition=True)
    found = {
        "advances": advances(plain),
        "advances with a condition": advances(judged),
        "sealed turns": advances(plain, sealed=True),
        "verified entries": verified(),
    }
    for name, per_second in found.items():
        goal = GOALS[name]
        print(f"{name:28} {per_second:10,.0f}/s" + (f"   goal {goal:,}: {per_second / goal:.1f} x" if goal else ""))


if __name__ == "__main__":
    main()

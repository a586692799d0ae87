"""What a simulated run costs: many endpoints on SQLite in memory, each run claimed and finished separately.

The span of time is played twice, at two lengths: the difference is the cost of a run without the set-up.
"""

import argparse
import time

from mainspring.simulation.scenario import Scenario, read_scenario
from mainspring.simulation.world import play

GOAL_MS = 0.5
RULE = "    rules: [{when: body.depth > 200, interval: 30s, ttl: 5m}]\n"


def scenario(endpoints: int, minutes: float, *, rules: bool) -> Scenario:
    text = f"""
name: Day
minutes: {minutes}
fault_rate: 0.02
noise: 0.3
curve: [{{from: 0, depth: 5}}, {{from: 3, depth: 900}}]
endpoints:
  queue:
    every: 1m
    min: 15s
    says: [depth]
    takes: 200ms
    copies: {endpoints}
"""
    return read_scenario(text + (RULE if rules else ""), "the benchmark")


def cost(endpoints: int, minutes: float, rounds: int, *, rules: bool) -> tuple[float, int]:
    """Seconds of processor time in the best of some rounds, and the number of runs."""
    made = scenario(endpoints, minutes, rules=rules)
    took: list[float] = []
    for _ in range(rounds):
        began = time.process_time()
        runs = len(play(made).runs)
        took.append(time.process_time() - began)
    return min(took), runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--endpoints", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=15)
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    for rules in (False, True):
        short_s, few = cost(chosen.endpoints, chosen.minutes / 3, chosen.rounds, rules=rules)
        long_s, many = cost(chosen.endpoints, chosen.minutes, chosen.rounds, rules=rules)
        print(
            f"{'with a rule' if rules else 'without rules'}: {many:,} runs of {chosen.endpoints:,} endpoints in "
            f"{long_s:.2f} s of processor time; a run {(long_s - short_s) / (many - few) * 1e3:.2f} ms, goal {GOAL_MS}"
        )


if __name__ == "__main__":
    main()

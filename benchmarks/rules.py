"""How many finished runs one planner judges a second, with three rules each, without reading or writing any of them.

Reading and committing are done a page at a time; judging is what grows with runs and rules.
"""

import time
from datetime import UTC, datetime

from mainspring.domain.rules.judge import (
    FinishedRun,
    JobMember,
    JudgedPage,
    RuleFacts,
    RuleResult,
    StoredRule,
    decide,
    want,
)
from mainspring.domain.rules.rule import read_rule

GOAL_PER_S = 5_000
PAGES, ENDPOINTS = 20, 250
NOW = datetime(2025, 1, 1, tzinfo=UTC)
RULES: tuple[dict[str, object], ...] = (
    {"when": "ok && body.visitors >= 5000", "interval": "20s", "ttl": "10m"},
    {"when": "body.depth > 100 && duration_ms < 2000", "for": 3, "pause": "1h"},
    {"when": "!ok && failures > 2", "clear_hints": True},
)
BODY = b'{"visitors": 5200, "orders": 180, "depth": 12, "page_load_ms": 1800, "phase": "surge"}'


def page() -> tuple[JudgedPage, RuleFacts]:
    members = tuple(JobMember(f"ep_{n}", "t", f"job_{n}", f"endpoint {n}", None) for n in range(ENDPOINTS))
    rules = tuple(
        StoredRule(f"rule_{member.id}_{place}", "t", member.job_id, member.id, read_rule(each, f"r{place}"), NOW)
        for member in members
        for place, each in enumerate(RULES)
    )
    runs = tuple(FinishedRun("t", member.id, f"run_{member.id}", NOW) for member in members)
    results = {
        member.id: (RuleResult(f"run_{member.id}", member.id, True, "success", 200, NOW, 120, BODY),)
        for member in members
    }
    return JudgedPage("1", "2", NOW, runs, rules, members, {}, {}), RuleFacts(results, {})


def main() -> None:
    one, facts = page()
    decide(one, facts)  # compiles the conditions
    best = 0.0
    for _ in range(3):
        began = time.perf_counter()
        for _ in range(PAGES):
            want(one)
            decide(one, facts)
        best = max(best, PAGES * ENDPOINTS / (time.perf_counter() - began))
    print(
        f"{best:,.0f} finished runs/s with {len(RULES)} rules each; goal {GOAL_PER_S:,}, ratio {best / GOAL_PER_S:.1f}"
    )


if __name__ == "__main__":
    main()

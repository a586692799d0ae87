"""The result of a scenario as JSON, for clients that draw it. Long lists are cut, and marked as cut."""

from itertools import pairwise

from mainspring.domain.instant import rfc3339
from mainspring.simulation.checks import CheckResult, pauses_of
from mainspring.simulation.report import DECISIONS_MAX, QUIET, ROWS_MAX
from mainspring.simulation.scenario import Scenario
from mainspring.simulation.trace import Trace

RUNS_MAX = 5_000

Json = dict[str, object]


def scenario_data(name: str, scenario: Scenario) -> Json:
    return {
        "name": name,
        "title": scenario.name,
        "description": scenario.description,
        "minutes": scenario.minutes,
        "endpoints": sum(target.copies for target in scenario.endpoints.values()),
        "checks": len(scenario.checks),
    }


def played_data(trace: Trace, verdicts: list[CheckResult]) -> Json:
    """Minutes count from the start."""
    scenario = trace.scenario
    names = [name for entry in scenario.endpoints for name in scenario.names_of(entry)]
    left = RUNS_MAX
    endpoints = []
    for name in names[:ROWS_MAX]:
        drawn = _endpoint(trace, name, left)
        left -= len(drawn["runs"])  # type: ignore[arg-type]  # a list, made right there
        endpoints.append(drawn)
    told = [each for each in trace.decisions if each.type not in QUIET]
    sources: dict[str, int] = {}
    for run in trace.runs:
        sources[run.source] = sources.get(run.source, 0) + 1
    return {
        "title": scenario.name,
        "description": scenario.description,
        "seed": trace.seed,
        "minutes": scenario.minutes,
        "started_at": rfc3339(scenario.start),
        "ok": all(each.ok for each in verdicts),
        "runs": len(trace.runs),
        "sources": dict(sorted(sources.items())),
        "phases": _phases(scenario),
        "endpoints": endpoints,
        "decisions": [
            {
                "minute": round(trace.minute(each.at), 4),
                "endpoint": each.endpoint,
                "type": each.type,
                "actor": each.actor,
                "data": each.data,
            }
            for each in told[:DECISIONS_MAX]
        ],
        "checks": [{"check": each.check, "ok": each.ok, "detail": each.detail} for each in verdicts],
        "is_cut": left <= 0 or len(names) > ROWS_MAX or len(told) > DECISIONS_MAX,
    }


def _endpoint(trace: Trace, name: str, most: int) -> Json:
    runs = [run for run in trace.runs if run.endpoint == name]
    target = next(each for entry, each in trace.scenario.endpoints.items() if name in trace.scenario.names_of(entry))
    found = next((each for each in trace.endpoints if each.name == name), None)
    return {
        "name": name,
        "group": target.group,
        "every": target.every,
        "cron": target.cron,
        "min_interval_ms": found.min_interval_ms if found else None,
        "max_interval_ms": found.max_interval_ms if found else None,
        "asleep": [
            {"from": round(trace.minute(begin), 4), "to": round(min(trace.minute(end), trace.scenario.minutes), 4)}
            for begin, end in pauses_of(trace, name)
        ],
        "runs": [
            {
                "minute": round(trace.minute(run.started_at), 4),
                "duration_ms": round((run.finished_at - run.started_at).total_seconds() * 1000)
                if run.finished_at
                else None,
                "status": run.status,
                "source": run.source,
                "why": run.why,
            }
            for run in runs[: max(most, 0)]
        ],
        "intervals": [
            {
                "minute": round(trace.minute(first.started_at), 4),
                "seconds": round((second.started_at - first.started_at).total_seconds(), 3),
            }
            for first, second in pairwise(runs[: max(most, 0)])
        ],
    }


def _phases(scenario: Scenario) -> list[Json]:
    begins = [entry.get("from", 0) for entry in scenario.curve]
    return [
        {
            "from": begins[place],
            "to": begins[place + 1] if place + 1 < len(begins) else scenario.minutes,
            "phase": str(entry.get("phase", "")),
            "measured": {key: value for key, value in entry.items() if key not in ("from", "phase")},
        }
        for place, entry in enumerate(scenario.curve)
    ]

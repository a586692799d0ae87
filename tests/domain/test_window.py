"""What rules can ask about beyond the newest response: earlier runs, windows, siblings, headers, the schedule."""

from datetime import timedelta

import pytest
from tests.stores.world import START

from mainspring.domain.errors import InvalidInput
from mainspring.domain.instant import rfc3339
from mainspring.domain.rules import Seen, check_rule, judge, read_rule

RUNS = [
    {
        "ok": number > 0,
        "status": "success",
        "status_code": 200,
        "duration_ms": 100 * (number + 1),
        "age_s": 60.0 * number,
        "at": rfc3339(START - timedelta(minutes=number)),
        "body": {"depth": 40 - 10 * number},
    }
    for number in range(4)
]
VALUES: dict[str, object] = {
    "runs": RUNS,
    "headers": {"x-left": "3", "content-type": "application/json"},
    "schedule": {"interval_ms": 60_000, "cron": None, "hint_ms": None, "paused": False},
    "siblings": {"two": {"ok": False, "status": "failure", "status_code": 503, "duration_ms": 12, "failures": 4,
                         "body": None, "at": "", "age_s": 1.0, "paused": False}},
    "health": {"h24": {"runs": 3, "success_rate": 0.5, "duration_ms": 10.0}},
}  # fmt: skip


def checked(when: str) -> str:
    check_rule(read_rule({"when": when, "clear_hints": True}, "x"), "one", ("one", "two"))
    return when


@pytest.mark.parametrize(
    ("when", "answer"),
    [
        ("runs[1].duration_ms > runs[0].duration_ms && !runs[0].ok", True),
        ("now_is_near(runs)", None),
        ("avg(runs.map(r, r.duration_ms)) == 250", True),
        ("sum(runs.map(r, r.body.depth)) == 100 && sum([]) == 0", True),
        ("min(runs.map(r, r.duration_ms)) == 100 && max(runs.map(r, r.duration_ms)) == 400", True),
        ("percentile(runs.map(r, r.duration_ms), 50) == 200", True),
        ("percentile(runs.map(r, r.duration_ms), 99.9) == 400", True),
        ("rate(runs.map(r, r.body.depth), runs) * 60 == 10", True),
        ("size(runs.filter(r, !r.ok)) >= 1", True),
        ("timestamp(runs[0].at) > timestamp(runs[1].at) + duration('59s')", True),
        ("siblings.two.failures > 3 && siblings.two.status_code == 503 && siblings.two.duration_ms < 20", True),
        ("int(headers['x-left']) < 5", True),
        ("schedule.hint_ms == null && schedule.interval_ms == 60000", True),
        ("avg([]) > 1", "avg: the list holds no number"),
        ("max(['a']) > 1", "max: the list holds what is no number"),
        ("percentile([1], 101) > 1", "percentile 101 is not from 0 to 100"),
    ],
)
def test_rule_asks_about_runs_windows_siblings_headers_and_schedule(when: str, answer: bool | str | None) -> None:
    if answer is None:
        with pytest.raises(InvalidInput, match="undeclared reference"):
            checked(when)
    else:
        assert judge(checked(when), lambda name: Seen(VALUES[name])) == answer


@pytest.mark.parametrize(
    ("when", "words"),
    [
        ("health.h12.runs > 3", "line 1, column 8: no field 'h12' of health"),
        ("health.h24.duration > 3", "line 1, column 12: no field 'duration' of health, did you mean 'duration_ms'?"),
        ("ok && siblings.two.failed > 1", "line 1, column 20: no field 'failed' of siblings"),
        ("siblings['two'].durations > 1", "no field 'durations' of siblings, did you mean 'duration_ms'?"),
        ("runs[0].took_ms > 1", "line 1, column 9: no field 'took_ms' of runs"),
        ("schedule.interval > 1", "no field 'interval' of schedule, did you mean 'interval_ms'?"),
    ],
)
def test_unknown_field_of_a_known_shape_is_refused_when_it_is_written(when: str, words: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        checked(when)

    assert words in str(refused.value)


def test_runs_and_loops_over_them_are_left_alone() -> None:
    assert checked("runs.all(r, r.ok) || siblings.two.body.anything.at.all > 3 || health['h24'].runs > 1")

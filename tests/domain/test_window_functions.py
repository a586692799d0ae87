"""What rules can ask about beyond the newest response: earlier runs, windows, siblings, headers, the schedule."""

from datetime import timedelta

import pytest
from tests.stores.world import START

from mainspring.domain.errors import InvalidInput
from mainspring.domain.instant import rfc3339
from mainspring.domain.rules.rule import Seen, check_rule, judge, read_rule
from mainspring.domain.rules.run_window import BYTES_MAX, RUNS_MAX, fitting, reads_bodies, spans_of

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
    "window": {"2m": RUNS[:2], "1h": RUNS},
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
        ('avg(window["2m"].map(r, r.duration_ms)) == 150 && max(window["1h"].map(r, r.duration_ms)) == 400', True),
        ("avg(window['2m'].map(r, r.duration_ms)) < 0.8 * avg(window['1h'].map(r, r.duration_ms))", True),
        ('rate(window["1h"].map(r, r.body.depth), window["1h"]) * 60 == 10', True),
        ('percentile(window["1h"].filter(r, r.ok).map(r, r.duration_ms), 95) == 400', True),
        ('size(window["1h"]) == 4 && window["1h"].exists(r, !r.ok) && window["1h"][3].body.depth == 10', True),
        ("timestamp(runs[0].at) > timestamp(runs[1].at) + duration('59s')", True),
        ("siblings.two.failures > 3 && siblings.two.status_code == 503 && siblings.two.duration_ms < 20", True),
        ("int(headers['x-left']) < 5", True),
        ("schedule.hint_ms == null && schedule.interval_ms == 60000", True),
        ("avg([1, 2]) == 1.5 && sum([1, 2]) / 2 == 1.5", True),
        ("avg([1, null, 3]) == 2 && sum([null]) == 0 && min([null, 4]) == 4 && percentile([9, null], 50) == 9", True),
        ("avg([]) > 1", "avg: the list contains no number"),
        ("avg([null]) > 1", "avg: the list contains no number"),
        ("sum([true]) > 0", "sum: the list contains a value that is not a number"),
        ("max(['a']) > 1", "max: the list contains a value that is not a number"),
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
        ("health.h12.runs > 3", "line 1, column 8: unknown field 'h12' of health"),
        (
            "health.h24.duration > 3",
            "line 1, column 12: unknown field 'duration' of health, did you mean 'duration_ms'?",
        ),
        ("ok && siblings.two.failed > 1", "line 1, column 20: unknown field 'failed' of siblings"),
        ("siblings['two'].durations > 1", "unknown field 'durations' of siblings, did you mean 'duration_ms'?"),
        ("runs[0].took_ms > 1", "line 1, column 9: unknown field 'took_ms' of runs"),
        ('window["1h"][0].took_ms > 1', "line 1, column 17: unknown field 'took_ms' of window"),
        ('window["1h"].all(r, r.okay)', "line 1, column 23: unknown field 'okay' of window, did you mean 'ok'?"),
        (
            "sum(runs.filter(r, r.ok).map(x, x.duration)) > 1",
            "unknown field 'duration' of runs, did you mean 'duration_ms'?",
        ),
        ("size(window) > 1", "line 1, column 6: 'window' needs a span as literal text; write window[\"1h\"]"),
        ("size(window[body.span]) > 1", "'window' needs a span as literal text"),
        ("window.h1[0].ok", "'window' needs a span as literal text"),
        ('size(window["25h"]) > 1', "window '25h' is above the maximum 1d; give 1d or less"),
        ('size(window["1ms"]) > 1', "window '1ms' is below the minimum 1s"),
        ('size(window["an hour"]) > 1', "line 1, column 6: window 'an hour'"),
        ("schedule.interval > 1", "unknown field 'interval' of schedule, did you mean 'interval_ms'?"),
    ],
)
def test_unknown_field_of_a_known_shape_is_refused_when_it_is_written(when: str, words: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        checked(when)

    assert words in str(refused.value)


def test_runs_and_loops_over_them_are_left_alone() -> None:
    assert checked("runs.all(r, r.body.items.all(r, r.any.thing > 1)) && runs.map(r, r.body).all(b, b.anything > 1)")
    assert checked('window["1h"].all(w, w.ok) && body.window["x"] == 1 && body.items.all(r, r.size > 1)')
    assert checked("runs.all(r, r.ok) || siblings.two.body.anything.at.all > 3 || health['h24'].runs > 1")


def test_text_says_which_spans_and_whether_bodies_are_read() -> None:
    assert spans_of('size(window["1h"]) > size(window[\'90m\']) + size(window["x"])') == {
        "1h": 3_600_000,
        "90m": 5_400_000,
    }
    assert spans_of("body.window > 1") == {}
    assert not reads_bodies('body.n > 1 && size(window["1h"]) > 1')
    assert reads_bodies('window["1h"].all(r, r.body.n > 1)')
    assert reads_bodies("""window["1h"].all(r, r["body"].n > 1)""")


def test_window_holds_so_many_runs_and_so_many_bytes_and_always_the_newest() -> None:
    assert fitting([0] * (RUNS_MAX + 5)) == RUNS_MAX
    assert fitting([BYTES_MAX // 2, BYTES_MAX // 2, 1]) == 2
    assert fitting([BYTES_MAX + 1, 1]) == 1
    assert fitting([]) == 0

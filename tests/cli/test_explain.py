"""`mainspring explain`: the spec's rows, and lines that no one should send."""

import io
import json
import math
import subprocess
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.cli.explain import LINE_BYTES_MAX, explain_line, explain_lines
from tests.cli.shell import Shell
from tests.harness.processes import COMMAND, clean_environment

MIDNIGHT = "2025-01-01T00:00:00Z"
ONE = "2025-01-01T01:00:00Z"


def explained(endpoint: object, now: object = MIDNIGHT) -> Any:
    return json.loads(explain_line(json.dumps({"now": now, "endpoint": endpoint}).encode()))


def error(endpoint: object, now: object = MIDNIGHT) -> str:
    answer = explained(endpoint, now)
    assert list(answer) == ["error"], answer
    return str(answer["error"])


def interval_hint(ms: int, until: str = ONE) -> dict[str, object]:
    return {"interval": {"interval_ms": ms, "expires_at": until, "reason": "because"}}


def one_shot(at: str, until: str = ONE) -> dict[str, object]:
    return {"one_shot": {"next_run_at": at, "expires_at": until}}


ROWS: dict[str, tuple[dict[str, object], str, str, str]] = {
    "three failures stretch an interval 8 times": (
        {"baseline_interval_ms": 60_000, "failure_count": 3}, MIDNIGHT, "00:08:00", "baseline-interval"
    ),
    "failures do not move a cron": (
        {"baseline_cron": "*/15 * * * *", "failure_count": 5}, MIDNIGHT, "00:15:00", "baseline-cron"
    ),
    "an interval hint bypasses backoff": (
        {"baseline_interval_ms": 60_000, "failure_count": 5, "hints": interval_hint(120_000)},
        MIDNIGHT, "00:02:00", "ai-interval",
    ),
    "a later one-shot loses to the baseline": (
        {"baseline_interval_ms": 60_000, "hints": one_shot("2025-01-01T00:30:00Z")},
        MIDNIGHT, "00:01:00", "baseline-interval",
    ),
    "of two hints the earlier wins": (
        {"baseline_interval_ms": 600_000, "hints": interval_hint(120_000) | one_shot("2025-01-01T00:01:30Z")},
        MIDNIGHT, "00:01:30", "ai-oneshot",
    ),
    "the minimum holds": (
        {"baseline_interval_ms": 10_000, "min_interval_ms": 60_000}, "2025-01-01T00:00:05Z", "00:01:05", "clamped-min"
    ),
    "a pause wins over everything": (
        {"baseline_interval_ms": 60_000, "paused_until": "2025-01-01T06:00:00Z", "hints": one_shot(ONE)},
        MIDNIGHT, "06:00:00", "paused",
    ),
    "an expired hint counts no more": (
        {"baseline_interval_ms": 60_000, "hints": interval_hint(120_000, MIDNIGHT)},
        MIDNIGHT, "00:01:00", "baseline-interval",
    ),
}  # fmt: skip


@pytest.mark.parametrize("row", ROWS)
def test_spec_row(row: str) -> None:
    endpoint, now, time, source = ROWS[row]

    answer = explained({"id": "e1", **endpoint}, now)

    assert list(answer) == ["next_run_at", "source", "trail"]
    assert (answer["next_run_at"], answer["source"]) == (f"2025-01-01T{time}Z", source)
    assert [list(step) for step in answer["trail"]] == [["rule", "at", "verdict", "why"]] * len(answer["trail"])


def test_nulls_and_missing_fields_are_the_same() -> None:
    names = "timezone min_interval_ms max_interval_ms paused_until failure_count backoff hints id".split()
    nulls = dict.fromkeys(names)

    assert explained({"baseline_interval_ms": 60_000} | nulls) == explained({"baseline_interval_ms": 60_000})


def test_empty_hints_are_no_hints() -> None:
    plain = explained({"baseline_interval_ms": 60_000})

    for text in (
        "{}",
        '{"interval": null, "one_shot": null}',
        '{"interval": {}, "one_shot": {}}',
        '{"interval": {"interval_ms": null, "expires_at": null, "reason": null}}',
    ):
        assert explained({"baseline_interval_ms": 60_000, "hints": json.loads(text)}) == plain


def test_whole_number_with_a_point_is_a_whole_number() -> None:
    assert explained({"baseline_interval_ms": 60_000.0}) == explained({"baseline_interval_ms": 60_000})


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ("2025-01-01T00:00:00Z", "2025-01-01T00:01:00Z"),
        ("2025-01-01t00:00:00z", "2025-01-01T00:01:00Z"),
        ("2025-01-01T05:30:00+05:30", "2025-01-01T00:01:00Z"),
        ("2024-12-31T16:00:00-08:00", "2025-01-01T00:01:00Z"),
        ("2025-01-01T00:00:00.25Z", "2025-01-01T00:01:00.250000Z"),
        ("2025-01-01T00:00:00.123456789Z", "2025-01-01T00:01:00.123456Z"),
    ],
)
def test_instants_come_in_every_spelling_of_rfc_3339(now: str, expected: str) -> None:
    assert explained({"baseline_interval_ms": 60_000}, now)["next_run_at"] == expected


BAD_ENDPOINTS: dict[str, tuple[object, str]] = {
    "no schedule": ({}, "neither baseline_interval_ms nor baseline_cron given"),
    "both schedules": ({"baseline_interval_ms": 1_000, "baseline_cron": "* * * * *"}, "both given"),
    "interval 0": ({"baseline_interval_ms": 0}, "baseline_interval_ms 0 is not a whole number from 1 to"),
    "interval -1": ({"baseline_interval_ms": -1}, "baseline_interval_ms -1 is not a whole number"),
    "interval 1e30": ({"baseline_interval_ms": 1e30}, "baseline_interval_ms 1e+30 is not a whole number"),
    "interval 10^40": ({"baseline_interval_ms": 10**40}, "is not a whole number from 1 to"),
    "interval and a half": ({"baseline_interval_ms": 1_000.5}, "baseline_interval_ms 1000.5 is not a whole number"),
    "interval NaN": ({"baseline_interval_ms": math.nan}, "the line is not JSON"),
    "interval infinite": ({"baseline_interval_ms": math.inf}, "the line is not JSON"),
    "interval of text": ({"baseline_interval_ms": "60000"}, "_interval_ms is text; it must be a number or null"),
    "interval true": ({"baseline_interval_ms": True}, "endpoint.baseline_interval_ms is true or false; it must be"),
    "min above max": (
        {"baseline_interval_ms": 1_000, "min_interval_ms": 9, "max_interval_ms": 8},
        "min_interval_ms 9 is above max_interval_ms 8; no run could satisfy both",
    ),
    "negative minimum": ({"baseline_interval_ms": 1_000, "min_interval_ms": -1}, "min_interval_ms -1 is not a whole"),
    "unknown zone": ({"baseline_cron": "0 * * * *", "timezone": "Mars/Base"}, "time zone 'Mars/Base' is unknown"),
    "bad cron": ({"baseline_cron": "0 25 * * *"}, "has a bad hour field: 25 is out of range"),
    "impossible cron": ({"baseline_cron": "0 0 31 2 *"}, "never fires"),
    "empty cron": ({"baseline_cron": ""}, "cron '' is empty"),
    "cron of a number": ({"baseline_cron": 5}, "endpoint.baseline_cron is a number; it must be text or null"),
    "unknown backoff": ({"baseline_interval_ms": 1_000, "backoff": "monitr"}, "did you mean 'monitor'? choose one of"),
    "negative failures": ({"baseline_interval_ms": 1_000, "failure_count": -1}, "failure_count -1 is not a whole"),
    "pause until nonsense": ({"baseline_interval_ms": 1_000, "paused_until": "soon"}, "paused_until 'soon' is not a"),
    "hints as a list": ({"baseline_interval_ms": 1_000, "hints": []}, "hints is a list; it must be an object or null"),
    "half an interval hint": (
        {"baseline_interval_ms": 1_000, "hints": {"interval": {"interval_ms": 5_000}}}, "hints.interval is half a hint"
    ),
    "half a one-shot": (
        {"baseline_interval_ms": 1_000, "hints": {"one_shot": {"expires_at": ONE}}}, "hints.one_shot is half a hint"
    ),
    "hint of a negative interval": (
        {"baseline_interval_ms": 1_000, "hints": interval_hint(-5)}, "hints.interval.interval_ms -5 is not a whole"
    ),
    "no endpoint but text": ("e1", "endpoint is text; it must be an object"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_ENDPOINTS)
def test_bad_state_gets_an_error_in_its_place(case: str) -> None:
    endpoint, wanted = BAD_ENDPOINTS[case]

    assert wanted in error(endpoint)


@pytest.mark.parametrize(
    "now",
    [None, 5, "", "now", "2025-01-01", "2025-01-01T00:00:00", "2025-02-30T00:00:00Z", "2025-01-01T24:00:00Z",
     "0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59Z", "1969-12-31T23:59:59Z", "٢٠٢٥-01-01T00:00:00Z"],
)  # fmt: skip
def test_now_that_is_no_instant_gets_an_error(now: object) -> None:
    assert error({"baseline_interval_ms": 1_000}, now).startswith("now ")


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        (b"", "the line is empty"),
        (b"   ", "the line is empty"),
        (b"nonsense", "the line is not JSON"),
        (b"[1, 2]", "the line is a list; it must be an object"),
        (b"null", "the line is null; it must be an object"),
        (b'{"now": "2025-01-01T00:00:00Z"}', "endpoint is missing; give it"),
        (b'{"endpoint": {}}', "now is missing; give it"),
        (b'{"now": "\xff"}', "the line is not JSON"),
        (b'{"now": "\\ud800"}', "the line is not JSON"),
        (b'{"x": ' + b"[" * 100_000, "the line is"),
        (b'{"x": "' + b"y" * LINE_BYTES_MAX + b'"}', "the line is longer than 1,000,000 bytes"),
    ],
)
def test_line_that_is_no_state_gets_an_error(line: bytes, wanted: str) -> None:
    assert wanted in json.loads(explain_line(line))["error"]


def test_one_line_out_for_each_line_in_whatever_it_is() -> None:
    good = json.dumps({"now": MIDNIGHT, "endpoint": {"baseline_interval_ms": 1_000}}).encode()
    long = b'{"x": "' + b"y" * 3 * LINE_BYTES_MAX + b'"}'
    answers = io.BytesIO()

    explain_lines(io.BytesIO(b"\n".join([good, b"", b"nonsense", long, b"\r", b"\xef\xbb\xbf" + good, good])), answers)

    kinds = [next(iter(json.loads(line))) for line in answers.getvalue().splitlines()]
    assert kinds == ["next_run_at", "error", "error", "error", "error", "next_run_at", "next_run_at"]


def test_answers_come_line_by_line_while_the_input_is_open() -> None:
    line = json.dumps({"now": MIDNIGHT, "endpoint": {"baseline_interval_ms": 1_000}}) + "\n"
    with subprocess.Popen(
        [*COMMAND, "explain"], env=clean_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(3):
            process.stdin.write(line)
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["next_run_at"] == "2025-01-01T00:00:01Z"
        process.stdin.close()
        assert process.stdout.read() == ""
        assert process.wait() == 0


def test_reader_that_leaves_ends_it_quietly() -> None:
    line = json.dumps({"now": MIDNIGHT, "endpoint": {"baseline_interval_ms": 1_000}})
    script = f"yes {line!r} | {' '.join(COMMAND)} explain | head -n 1"
    done = subprocess.run(["sh", "-c", script], env=clean_environment(), capture_output=True, text=True, check=True)

    assert done.stdout.count("\n") == 1
    assert "Traceback" not in done.stderr


def test_explain_needs_no_database_and_no_settings(shell: Shell) -> None:
    said = shell.ok(
        "explain",
        stdin=json.dumps({"now": MIDNIGHT, "endpoint": {"baseline_interval_ms": 1_000}}),
        MAINSPRING_DATABASE_URL="postgresql://nobody@127.0.0.1:1/x",
    )

    assert json.loads(said)["source"] == "baseline-interval"


def test_reason_with_an_escape_does_not_act_on_a_terminal() -> None:
    hint = {"interval": {"interval_ms": 5_000, "expires_at": ONE, "reason": "a\x1b[31m\u202e\x9b日本"}}
    state = {"now": MIDNIGHT, "endpoint": {"baseline_interval_ms": 1_000, "hints": hint}}

    answer = explain_line(json.dumps(state).encode()).decode()

    assert answer.isprintable()
    assert "日本" in answer
    assert "a\x1b[31m\u202e\x9b日本" in json.loads(answer)["trail"][1]["why"]


instants = st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1)).map(lambda at: at.replace(tzinfo=UTC).isoformat())  # noqa: DTZ001 - given a zone in the next step
junk = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.lists(st.integers(), max_size=2),
    st.just({}), instants,
)  # fmt: skip
states = st.fixed_dictionaries(
    {},
    optional={
        "id": junk, "baseline_interval_ms": st.one_of(st.integers(1, 10**9), junk), "timezone": junk,
        "baseline_cron": st.one_of(st.sampled_from(["* * * * *", "@daily", "H H * * *", "0 0 29 2 *"]), junk),
        "min_interval_ms": st.one_of(st.integers(0, 10**6), junk), "max_interval_ms": junk, "paused_until": junk,
        "failure_count": st.one_of(st.integers(0, 10), junk), "backoff": st.one_of(st.just("monitor"), junk),
        "hints": st.one_of(junk, st.fixed_dictionaries({}, optional={
            "interval": st.one_of(junk, st.fixed_dictionaries({"interval_ms": junk, "expires_at": instants})),
            "one_shot": st.one_of(junk, st.fixed_dictionaries({"next_run_at": instants, "expires_at": instants})),
        })),
    },
)  # fmt: skip


@given(now=st.one_of(instants, junk), endpoint=st.one_of(states, junk))
def test_whatever_comes_is_answered_and_never_early(now: object, endpoint: object) -> None:
    answer = explained(endpoint, now)

    if "error" in answer:
        assert isinstance(answer["error"], str)
        assert "cannot be explained" not in answer["error"], "a fault nobody thought of"
    else:
        assert datetime.fromisoformat(answer["next_run_at"]) >= datetime.fromisoformat(str(now)) - timedelta(0)


@given(line=st.binary(max_size=200))
def test_any_bytes_are_answered(line: bytes) -> None:
    assert list(json.loads(explain_line(line))) == ["error"]

"""Instants, slots, events and errors: the small words everything else is said in."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.domain.stage import DAY, at

from mainspring.domain.errors import (
    Conflict,
    InvalidInput,
    MainspringError,
    Misconfigured,
    NotFound,
    QuotaExceeded,
    StoreUnavailable,
    did_you_mean,
)
from mainspring.domain.event import MEANING, EventType
from mainspring.domain.instant import EPOCH, FOREVER, after_ms, from_us, rfc3339, to_us
from mainspring.domain.run import ENDED_BY_CALL, RunStatus, slot_id


@given(st.integers(-(6 * 10**16), 2 * 10**17))
def test_an_instant_survives_its_microseconds(us: int) -> None:
    assert to_us(from_us(us)) == us


def test_microseconds_count_from_1970() -> None:
    assert (to_us(EPOCH), to_us(at("00:00:00.000001"))) == (0, 1_735_689_600_000_001)


@pytest.mark.parametrize(
    ("instant", "text"),
    [
        (DAY, "2025-01-01T00:00:00Z"),
        (at("03:47:00.25"), "2025-01-01T03:47:00.250000Z"),
        (datetime(2025, 6, 1, 12, tzinfo=timezone(timedelta(hours=2))), "2025-06-01T10:00:00Z"),
    ],
)
def test_an_instant_is_written_in_utc(instant: datetime, text: str) -> None:
    assert rfc3339(instant) == text


@pytest.mark.parametrize("ms", [10**30, 10**18, 300_000_000_000_000])
def test_beyond_the_calendar_lies_forever(ms: int) -> None:
    assert after_ms(DAY, ms) == FOREVER


def test_before_the_end_of_the_calendar_milliseconds_are_exact() -> None:
    assert after_ms(DAY, 1) == at("00:00:00.001")
    assert after_ms(FOREVER - timedelta(milliseconds=1), 1) == FOREVER
    assert after_ms(FOREVER, 1) == FOREVER


def test_a_slot_id_names_endpoint_and_instant_without_a_dot() -> None:
    assert slot_id("ep_1", at("00:00:00.5")) == "ep_1_1735689600500000"
    assert slot_id("ep_1", datetime(2025, 1, 1, 1, tzinfo=timezone(timedelta(hours=1)))) == slot_id("ep_1", DAY)
    assert slot_id("ep_1", DAY.astimezone(UTC)) != slot_id("ep_2", DAY)


def test_every_type_of_event_has_a_meaning() -> None:
    assert set(MEANING) == set(EventType)
    assert all(meaning.endswith(".") for meaning in MEANING.values())


def test_a_call_ends_in_four_ways() -> None:
    assert set(RunStatus) - set(ENDED_BY_CALL) == {
        RunStatus.RUNNING, RunStatus.ABANDONED, RunStatus.RETRIED, RunStatus.SUPERSEDED, RunStatus.UNKNOWN,
        RunStatus.MISSED,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InvalidInput("no", field="name", value=1), "invalid-input"),
        (NotFound("job", "x"), "not-found"),
        (Conflict("no", kind="job", name="x"), "conflict"),
        (QuotaExceeded("no", quota="endpoints_max", limit=3), "quota-exceeded"),
        (StoreUnavailable("no"), "store-unavailable"),
        (Misconfigured("no", setting="MAINSPRING_KEY"), "misconfigured"),
    ],
)
def test_every_error_has_a_code_a_program_can_read(error: MainspringError, code: str) -> None:
    assert error.code == code
    assert issubclass(type(error), MainspringError)


def test_errors_carry_what_a_caller_can_act_on() -> None:
    invalid, quota = InvalidInput("no", field="name", value=1), QuotaExceeded("no", quota="endpoints_max", limit=3)
    conflict, wrong = Conflict("no", kind="job", name="x"), Misconfigured("no", setting="MAINSPRING_KEY")

    assert (invalid.field, invalid.value, quota.quota, quota.limit) == ("name", 1, "endpoints_max", 3)
    assert (conflict.kind, conflict.name, wrong.setting) == ("job", "x", "MAINSPRING_KEY")


def test_what_is_not_found_suggests_the_nearest_name() -> None:
    missing = NotFound("endpoint", "biling", ("shipping", "billing"))

    assert str(missing) == "no endpoint 'biling', did you mean 'billing'?"
    assert (missing.kind, missing.name) == ("endpoint", "biling")
    assert str(NotFound("endpoint", "xyz", ("billing",))) == "no endpoint 'xyz'"
    assert did_you_mean("anything", ()) == ""
    assert did_you_mean("lateness", ("the lateness of every shop", "how it bears its lateness")) == ""
    assert did_you_mean("--", ("billing",)) == ""


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("every", ("interval_ms", "cron"), "interval_ms"),
        ("every", ("interval", "cron"), "interval"),
        ("interval", ("every", "min_interval"), "every"),
        ("tz", ("timezone", "cron"), "timezone"),
        ("timezone", ("timeout", "tz"), "tz"),
        ("min-interval", ("min", "max"), "min"),
        ("Cron-Expression", ("every", "cron"), "cron"),
        ("lateness", ("max-lateness", "jitter"), "max-lateness"),
    ],
)
def test_name_that_another_door_uses_is_understood(name: str, known: tuple[str, ...], meant: str) -> None:
    assert did_you_mean(name, known) == f", did you mean {meant!r}?"

"""Calendars decide which slots exist: no slot on an excluded day, in order, one for each day that moves."""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.domain.states import CRONS, ZONES
from tests.stores.world import an_endpoint

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.instant import FOREVER
from mainspring.domain.schedule.anchor import plan_first, replan
from mainspring.domain.schedule.claim import Claimant, admit
from mainspring.domain.schedule.cron import CRON
from mainspring.domain.schedule.governor import decode_trail, plan_next_run
from mainspring.domain.schedule.hint import IntervalHint, OneShotHint
from mainspring.domain.schedule.open_days import (
    OpenDays,
    Shift,
    decode_days,
    encode_days,
    is_open_at,
    next_open_time,
    next_slot,
)

FIRST = date(2025, 1, 1)
BERLIN = "Europe/Berlin"


def encoded(is_open: list[bool], *, later: bool) -> str:
    bits = sum(1 << number for number, each in enumerate(is_open) if each)
    return encode_days(OpenDays(FIRST.toordinal(), len(is_open), bits, later))


def days_without(*closed: str, later: bool = True, count: int = 2_191) -> str:
    shut = {date.fromisoformat(each) for each in closed}
    return encoded([FIRST + timedelta(days=n) not in shut for n in range(count)], later=later)


def days_with(*open_: str) -> str:
    wanted = {date.fromisoformat(each) for each in open_}
    return encoded([FIRST + timedelta(days=n) in wanted for n in range(2_191)], later=False)


CHRISTMAS = days_without("2026-12-25", "2026-12-26", "2026-12-27")


def at(text: str, zone: str = BERLIN) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)


def by_cron(cron: str, days: str, shift: Shift = Shift.SKIP, zone: str = BERLIN, **others: object) -> Endpoint:
    return an_endpoint("e", cron=cron, timezone=zone, days=days, shift=shift, except_calendar="holidays", **others)


def slots(endpoint: Endpoint, after: datetime, count: int) -> list[datetime]:
    found: list[datetime] = []
    while len(found) < count and (after := next_slot(endpoint, after, CRON)) < FOREVER:
        found.append(after)
    return found


def test_cron_skips_excluded_days() -> None:
    endpoint = by_cron("0 9 * * *", CHRISTMAS)

    assert slots(endpoint, at("2026-12-24T00:00"), 2) == [at("2026-12-24T09:00"), at("2026-12-28T09:00")]


@pytest.mark.parametrize(
    ("cron", "shift", "found"),
    [
        pytest.param("0 9 25 * *", Shift.NEXT, "2026-12-28T09:00", id="to the next open day"),
        pytest.param("0 9 25 * *", Shift.PREVIOUS, "2026-12-24T09:00", id="to the open day before"),
        pytest.param("0 9 25 * *", Shift.SKIP, "2027-01-25T09:00", id="skipped"),
    ],
)
def test_run_of_an_excluded_day_moves_at_the_same_local_time(cron: str, shift: Shift, found: str) -> None:
    assert next_slot(by_cron(cron, CHRISTMAS, shift), at("2026-12-01T00:00"), CRON) == at(found)


def test_days_that_move_to_one_day_are_one_run_for_each_of_its_times() -> None:
    endpoint = by_cron("0 9,15 25,26,28 12 *", CHRISTMAS, Shift.NEXT)

    assert slots(endpoint, at("2026-12-01T00:00"), 3) == [
        at("2026-12-28T09:00"),
        at("2026-12-28T15:00"),
        at("2027-12-25T09:00"),
    ]


def test_day_in_the_past_whose_runs_moved_to_today_still_has_its_later_times() -> None:
    endpoint = by_cron("0 9,15 25 * *", CHRISTMAS, Shift.NEXT)

    assert next_slot(endpoint, at("2026-12-28T12:00"), CRON) == at("2026-12-28T15:00")


def test_only_calendar_without_future_days_has_no_next_run() -> None:
    endpoint = by_cron("0 9 * * *", days_with("2026-12-24"))
    for shift in Shift:
        assert next_slot(replace(endpoint, shift=shift), at("2026-12-24T09:00"), CRON) == FOREVER
    planned = replan(replace(endpoint, anchor_at=at("2026-12-24T09:00")), at("2026-12-24T09:01"), CRON)
    assert planned.next_run_at is None


def test_interval_continues_with_its_first_slot_after_midnight_of_the_next_open_day() -> None:
    endpoint = an_endpoint("e", interval_ms=3_600_000, timezone=BERLIN, days=CHRISTMAS, except_calendar="holidays")
    decision = plan_next_run(at("2026-12-24T23:17"), endpoint, CRON)

    assert decision.next_run_at == at("2026-12-28T00:17")
    assert [(step.rule, step.verdict, step.why) for step in decision.trail] == [
        ("baseline-interval", "won", "every 1h"),
        ("calendar", "moved", "no run on 2026-12-25: calendar 'holidays' excludes it"),
    ]


def test_interval_of_a_week_moves_to_the_same_time_of_the_next_open_day() -> None:
    endpoint = an_endpoint("e", interval_ms=7 * 86_400_000, timezone=BERLIN, days=CHRISTMAS)

    assert plan_next_run(at("2026-12-18T10:00"), endpoint, CRON).next_run_at == at("2026-12-28T10:00")


def test_no_hint_runs_an_endpoint_on_an_excluded_day() -> None:
    now = at("2026-12-25T10:00")
    until = now + timedelta(days=7)
    endpoint = by_cron("0 9 * * *", CHRISTMAS, one_shot_hint=OneShotHint(now + timedelta(minutes=5), until))
    often = by_cron("0 9 * * *", CHRISTMAS, interval_hint=IntervalHint(60_000, until))

    assert plan_next_run(now, endpoint, CRON).next_run_at == at("2026-12-28T00:00")
    assert plan_next_run(now, often, CRON).next_run_at == at("2026-12-28T00:00")


def test_one_shot_hint_before_the_next_slot_on_an_open_day_wins() -> None:
    now = at("2026-12-25T10:00")
    hint = OneShotHint(at("2026-12-28T08:00"), now + timedelta(days=7))

    assert plan_next_run(now, by_cron("0 9 * * *", CHRISTMAS, one_shot_hint=hint), CRON).next_run_at == at(
        "2026-12-28T08:00"
    )


def test_calendar_beats_the_maximum_interval() -> None:
    endpoint = by_cron("0 9 * * *", CHRISTMAS, max_interval_ms=86_400_000)

    assert plan_next_run(at("2026-12-24T09:00"), endpoint, CRON).next_run_at == at("2026-12-28T09:00")


def test_end_of_a_pause_on_an_excluded_day_is_no_run() -> None:
    paused = by_cron("0 9 * * *", CHRISTMAS, paused_until=at("2026-12-26T12:00"))

    assert plan_next_run(at("2026-12-24T12:00"), paused, CRON).next_run_at == at("2026-12-28T09:00")


def test_jitter_does_not_reach_into_an_excluded_day() -> None:
    endpoint = by_cron("59 23 * * *", CHRISTMAS, jitter_ms=3_600_000)
    found = plan_next_run(at("2026-12-24T12:00"), endpoint, CRON).next_run_at

    assert found == at("2026-12-24T23:59")


def test_claim_does_not_make_up_for_a_missed_run_on_an_excluded_day() -> None:
    endpoint = by_cron(
        "0 9 * * *", CHRISTMAS, anchor_at=at("2026-12-23T09:00"), next_run_at=at("2026-12-24T09:00"),
        max_lateness_ms=7 * 86_400_000,
    )  # fmt: skip
    late = admit(endpoint, at("2026-12-25T08:00"), Claimant("w", 1_000, "run_1"), CRON)
    on_time = admit(endpoint, at("2026-12-24T10:00"), Claimant("w", 1_000, "run_1"), CRON)

    assert (late.claim, late.endpoint.next_run_at) == (None, at("2026-12-28T09:00"))
    assert late.missed is not None
    assert on_time.claim is not None


def test_requested_run_starts_on_an_excluded_day() -> None:
    now = at("2026-12-25T10:00")
    endpoint = by_cron("0 9 * * *", CHRISTMAS, next_run_at=at("2026-12-28T09:00"), manual_at=now)

    assert admit(endpoint, now, Claimant("w", 1_000, "run_1"), CRON).claim is not None


def test_overdue_interval_does_not_run_at_once_on_an_excluded_day() -> None:
    endpoint = an_endpoint(
        "e", interval_ms=3_600_000, timezone=BERLIN, days=CHRISTMAS, anchor_at=at("2026-12-24T20:00"), next_run_at=None
    )
    planned = replan(endpoint, at("2026-12-25T10:00"), CRON)

    assert planned.next_run_at == at("2026-12-28T00:00")


def test_ping_is_expected_on_open_days_only() -> None:
    from mainspring.domain.kinds.heartbeat import HeartbeatAction

    endpoint = by_cron("0 3 * * *", CHRISTMAS, action=HeartbeatAction(grace_ms=1_200_000))

    assert plan_next_run(at("2026-12-24T04:00"), endpoint, CRON).next_run_at == at("2026-12-28T03:20")


def test_first_plan_of_an_interval_is_on_an_open_day() -> None:
    endpoint = an_endpoint("e", interval_ms=60_000, timezone=BERLIN, days=CHRISTMAS)
    planned = plan_first(endpoint, at("2026-12-25T10:00"), CRON)

    assert planned.next_run_at is not None
    assert is_open_at(endpoint, planned.next_run_at)


@pytest.mark.parametrize(
    ("zone", "closed", "night"),
    [
        pytest.param(BERLIN, "2026-03-28", "2026-03-29", id="the hour that is skipped"),
        pytest.param(BERLIN, "2026-10-24", "2026-10-25", id="the hour that is repeated"),
        pytest.param("Africa/Cairo", "2026-04-23", "2026-04-24", id="a midnight that does not exist"),
        pytest.param("America/Havana", "2026-10-31", "2026-11-01", id="a midnight that is repeated"),
    ],
)
def test_nights_of_a_clock_change_follow_the_rules_of_cron(zone: str, closed: str, night: str) -> None:
    for cron in ("30 2 * * *", "30 0 * * *", "*/20 * * * *"):
        plain = an_endpoint("e", cron=cron, timezone=zone)
        begin = at(f"{closed}T00:00", zone)
        expected = [
            each
            for each in slots(plain, begin, 100)
            if each.astimezone(ZoneInfo(zone)).date() >= date.fromisoformat(night)
        ][:9]
        for shift in Shift:
            endpoint = by_cron(cron, days_without(closed), shift, zone)
            found = [
                each
                for each in slots(endpoint, begin, 9)
                if each.astimezone(ZoneInfo(zone)).date() >= date.fromisoformat(night)
            ]
            assert found == expected[: len(found)]


closures = st.sets(st.integers(0, 120), max_size=100)
nows = st.datetimes(datetime(2025, 1, 5), datetime(2025, 4, 20), timezones=st.just(UTC))  # noqa: DTZ001 - bounds
shifts = st.sampled_from(Shift)


def drawn_days(closed: set[int]) -> str:
    return encoded([n not in closed for n in range(121)], later=True)


@given(nows, closures, st.sampled_from(CRONS), st.sampled_from(ZONES), shifts)
def test_slots_are_ordered_unique_and_on_open_days(
    now: datetime, closed: set[int], cron: str, zone: str, shift: Shift
) -> None:
    endpoint = by_cron(cron, drawn_days(closed), shift, zone)
    found = slots(endpoint, now, 12)

    assert all(is_open_at(endpoint, each) for each in found)
    assert found == sorted(set(found))
    assert all(each > now for each in found)


@given(nows, closures, st.sampled_from(("30 2 * * *", "0 9 1,15 * *", "0 9,15 * * MON")), shifts)
def test_slots_are_those_of_a_walk_over_all_days(now: datetime, closed: set[int], cron: str, shift: Shift) -> None:
    """The same by brute force in UTC: every time of the cron, moved by itself, as a set."""
    endpoint = by_cron(cron, drawn_days(closed), shift, "UTC")
    plain = replace(endpoint, days="")
    days = decode_days(endpoint.days)
    moved = set()
    for each in slots(plain, datetime(2024, 12, 31, tzinfo=UTC), 400):
        day: int | None = each.toordinal()
        assert day is not None
        if each.date() < FIRST:
            continue
        if not days.is_open(day):
            day = (
                None if shift is Shift.SKIP else days.next_open(day) if shift is Shift.NEXT else days.previous_open(day)
            )
        if day is not None:
            moved.add(datetime.combine(date.fromordinal(day), each.timetz()))
    expected = sorted(each for each in moved if each > now)[:8]

    assert slots(endpoint, now, 8) == expected


@given(nows, closures, st.integers(1_000, 30 * 86_400_000), st.sampled_from(ZONES))
def test_interval_moves_to_the_next_open_day_and_not_further(
    now: datetime, closed: set[int], every_ms: int, zone: str
) -> None:
    endpoint = an_endpoint("e", interval_ms=every_ms, timezone=zone, days=drawn_days(closed))
    found = next_open_time(endpoint, now, every_ms)
    local = now.astimezone(ZoneInfo(zone)).toordinal()

    assert found >= now
    assert found.astimezone(ZoneInfo(zone)).toordinal() == decode_days(endpoint.days).next_open(local)


@given(nows, closures, st.booleans(), shifts, st.sampled_from(ZONES), st.integers(0, 3_600_000))
def test_no_decision_is_on_an_excluded_day(
    now: datetime, closed: set[int], has_cron: bool, shift: Shift, zone: str, jitter_ms: int
) -> None:
    soon, later = now + timedelta(minutes=7), now + timedelta(days=3)
    fields: dict[str, object] = {
        "days": drawn_days(closed), "timezone": zone, "jitter_ms": jitter_ms,
        "interval_hint": IntervalHint(90_000, later), "one_shot_hint": OneShotHint(soon, later),
        "min_interval_ms": 30_000, "max_interval_ms": 40 * 3_600_000, "not_before": now + timedelta(hours=5),
    }  # fmt: skip
    hinted = (
        by_cron("*/7 3 * * *", str(fields.pop("days")), shift, str(fields.pop("timezone")), **fields)
        if has_cron
        else an_endpoint("e", interval_ms=7_200_000, **fields)
    )
    for endpoint in (
        hinted,
        replace(hinted, interval_hint=None),
        replace(hinted, interval_hint=None, one_shot_hint=None),
    ):
        for each in (endpoint, replace(endpoint, paused_until=later)):
            decision = plan_next_run(now, each, CRON)
            assert is_open_at(each, decision.next_run_at)
            assert decision.next_run_at >= now


@given(closures)
def test_days_are_read_as_they_were_written(closed: set[int]) -> None:
    days = decode_days(drawn_days(closed))

    assert {n for n in range(121) if not days.is_open(FIRST.toordinal() + n)} == closed
    assert days.is_open(FIRST.toordinal() + 500)
    for n in range(0, 121, 7):
        day = FIRST.toordinal() + n
        expected = next((d for d in range(day, day + 200) if days.is_open(d)), None)
        assert days.next_open(day) == expected
        before = next((d for d in range(day, FIRST.toordinal() - 1, -1) if days.is_open(d)), None)
        assert days.previous_open(day) == before


def test_trail_of_a_moved_cron_names_the_day_and_the_calendar() -> None:
    planned = replan(
        by_cron("0 9 * * *", CHRISTMAS, anchor_at=at("2026-12-24T09:00"), next_run_at=None),
        at("2026-12-24T10:00"),
        CRON,
    )

    assert [step.why for step in decode_trail(planned.trail)] == [
        "cron 0 9 * * * in Europe/Berlin",
        "no run on 2026-12-25: calendar 'holidays' excludes it",
    ]
    assert planned.next_run_at == at("2026-12-28T09:00")
    assert planned.next_run_at.astimezone(ZoneInfo(BERLIN)).time() == time(9)


def test_interval_without_a_day_left_has_no_next_run() -> None:
    endpoint = an_endpoint("e", interval_ms=3_600_000, days=days_with("2026-12-24"), only_calendar="trading")
    decision = plan_next_run(datetime(2026, 12, 24, 23, 30, tzinfo=UTC), endpoint, CRON)

    assert decision.next_run_at == FOREVER
    assert decision.trail[-1].why == "no run on 2026-12-25: calendar 'trading' does not include it"


def test_both_calendars_are_named() -> None:
    endpoint = by_cron("0 9 * * *", CHRISTMAS, only_calendar="trading", anchor_at=at("2026-12-24T09:00"))
    decision = plan_next_run(at("2026-12-24T09:00"), endpoint, CRON)

    assert decision.trail[-1].why == "no run on 2026-12-25: calendars 'holidays' and 'trading' exclude it"


def test_cron_that_ends_is_not_shifted_for_ever() -> None:
    endpoint = by_cron("0 9 29 2 *", CHRISTMAS, Shift.NEXT, "UTC")

    assert next_slot(endpoint, datetime(9998, 1, 1, tzinfo=UTC), CRON) == FOREVER

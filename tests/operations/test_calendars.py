"""Calendars and the endpoints that use them: written into them, planned again, extended from year to year."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace
from tests.harness.loop_watch import LoopWatch
from tests.harness.pace import SHARED
from tests.operations.rival import interrupted
from tests.stores.databases import multiply
from tests.stores.world import FixedClock

from mainspring.domain.calendar import (
    CALENDAR_BYTES_MAX,
    CALENDARS_MAX,
    Calendar,
    CalendarConfig,
    FoundDay,
    SeenCalendars,
    days_between,
    is_running_out,
    size_of,
)
from mainspring.domain.endpoint import EndpointConfig, Tenant
from mainspring.domain.errors import Conflict, InvalidInput, NotFound, QuotaExceeded
from mainspring.domain.run import HttpAction
from mainspring.domain.schedule.open_days import Shift, is_open_at
from mainspring.operations.calendars import (
    add_calendar,
    calendar_days,
    delete_calendar,
    dry_run_of,
    edit_calendar,
    excluded_for,
    extend_calendars,
    find_calendar,
    list_calendars,
    renew_endpoints,
)
from mainspring.operations.context import Desk
from mainspring.operations.endpoints import (
    add_endpoint,
    archive_endpoint,
    draft_endpoint,
    edit_endpoint,
    find_endpoint,
    put_one_shot_hint,
    run_endpoint,
)
from mainspring.operations.preview import excluded_until, load_preview
from mainspring.outbound.sandbox import ProcessSandbox

# The tests begin on Wednesday 1 January 2025.
SHUT = CalendarConfig(dates=("2025-01-02 Inventory", "2025-01-03..2025-01-04"))


def daily(name: str = "report", **others: object) -> EndpointConfig:
    config = EndpointConfig(name, HttpAction("https://example.com/"), cron="0 9 * * *")
    return replace(config, **({"except_calendar": "shut"} | others))


def at(day: int, hour: int = 9) -> datetime:
    return datetime(2025, 1, day, hour, tzinfo=UTC)


async def next_run(desk: Desk, name: str = "report") -> datetime | None:
    return (await find_endpoint(desk, name)).next_run_at


async def test_new_endpoint_is_planned_by_its_calendar(desk: Desk, clock: FixedClock) -> None:
    await add_calendar(desk, "shut", SHUT)
    clock.tick(hours=10)
    made = await add_endpoint(desk, daily())
    assert made.next_run_at == at(5)
    assert (await draft_endpoint(desk, daily("other"))).next_run_at == at(5)
    assert [each.next_run_at for each in await load_preview(desk, made, at(1, 10), 2)] == [at(5), at(6)]


async def test_edit_of_a_calendar_plans_its_endpoints_again(desk: Desk, clock: FixedClock) -> None:
    await add_calendar(desk, "shut", SHUT)
    clock.tick(hours=10)
    before = await add_endpoint(desk, daily())
    await edit_calendar(desk, "shut", lambda config: replace(config, dates=("2025-01-02",)))
    after = await find_endpoint(desk, "report")
    assert (after.next_run_at, after.version) == (at(3), before.version + 1)


async def test_edit_of_an_endpoint_gives_it_the_days_of_its_calendar(desk: Desk, clock: FixedClock) -> None:
    await add_calendar(desk, "shut", SHUT)
    clock.tick(hours=10)
    await add_endpoint(desk, daily(except_calendar=""))
    assert await next_run(desk) == at(2)
    await edit_endpoint(desk, "report", lambda config: replace(config, except_calendar="shut"))
    assert await next_run(desk) == at(5)
    await edit_endpoint(desk, "report", lambda config: replace(config, except_calendar=""))
    assert (await find_endpoint(desk, "report")).days == ""


async def test_endpoint_written_while_its_calendar_changes_has_the_new_days(desk: Desk, clock: FixedClock) -> None:
    await add_calendar(desk, "shut", SHUT)
    clock.tick(hours=10)

    async def rival() -> object:
        return await edit_calendar(desk, "shut", lambda config: replace(config, dates=("2025-01-02",)))

    slow = interrupted(desk, "add_endpoint", rival, "endpoints")
    assert (await add_endpoint(slow, daily())).next_run_at == at(3)
    assert await next_run(desk) == at(3)


async def test_calendar_that_changes_while_it_is_renewed_is_renewed_again(desk: Desk, clock: FixedClock) -> None:
    await add_calendar(desk, "shut", SHUT)
    clock.tick(hours=10)
    await add_endpoint(desk, daily())

    async def rival() -> object:
        found = await find_calendar(desk, "shut")
        changed = replace(found, config=CalendarConfig(dates=("2025-01-02",)), version=found.version + 1)
        return await desk.stores.calendars.put_calendar(changed, None)

    slow = interrupted(desk, "endpoints_with_days", rival, "calendars")
    await renew_endpoints(slow)
    assert await next_run(desk) == at(3)


async def test_calendar_in_use_is_not_deleted_and_says_by_whom(desk: Desk) -> None:
    await add_calendar(desk, "shut", SHUT)
    await add_endpoint(desk, daily())
    with pytest.raises(Conflict, match="calendar 'shut' is used by 1 endpoint: 'report'; remove it from them first"):
        await delete_calendar(desk, "shut")
    await archive_endpoint(desk, "report")
    assert (await delete_calendar(desk, "shut")).name == "shut"
    with pytest.raises(NotFound, match="no calendar 'shut'"):
        await find_calendar(desk, "shut")


async def test_calendar_that_is_deleted_twice_at_once_is_found_once(desk: Desk) -> None:
    await add_calendar(desk, "shut", SHUT)
    slow = interrupted(desk, "delete_calendar", lambda: delete_calendar(desk, "shut"), "calendars")
    with pytest.raises(NotFound, match="no calendar 'shut'"):
        await delete_calendar(slow, "shut")


async def test_calendar_that_another_edits_meanwhile_is_a_conflict_for_the_slower_one(desk: Desk) -> None:
    await add_calendar(desk, "shut", SHUT)

    async def describe(at_desk: Desk, text: str) -> object:
        return await edit_calendar(at_desk, "shut", lambda config: replace(config, description=text))

    slow = interrupted(desk, "put_calendar", lambda: describe(desk, "first"), "calendars")
    with pytest.raises(Conflict, match="calendar 'shut' was changed concurrently"):
        await describe(slow, "second")
    assert (await edit_calendar(desk, "shut", lambda config: config)).version == 2


async def test_unknown_calendar_is_refused_with_the_nearest_name(desk: Desk) -> None:
    await add_calendar(desk, "shut", SHUT)
    with pytest.raises(InvalidInput, match="calendar 'shot' does not exist, did you mean 'shut'") as fault:
        await add_endpoint(desk, daily(except_calendar="shot"))
    assert fault.value.field == "except"
    with pytest.raises(NotFound, match="did you mean 'shut'"):
        await find_calendar(desk, "shot")


async def test_tenant_keeps_so_many_calendars_and_no_more(desk: Desk) -> None:
    for number in range(CALENDARS_MAX):
        await add_calendar(desk, f"calendar {number}", SHUT)
    with pytest.raises(QuotaExceeded, match="would have 101 calendars, more than 100; delete one"):
        await add_calendar(desk, "one more", SHUT)


async def test_dry_run_checks_and_writes_nothing(desk: Desk) -> None:
    await add_calendar(desk, "shut", SHUT)
    there = dry_run_of(desk)
    with pytest.raises(Conflict, match="another calendar is named 'shut' already"):
        await add_calendar(there, "shut", SHUT)
    assert (await add_calendar(there, "other", SHUT)).version == 1
    edited = await edit_calendar(there, "shut", lambda config: replace(config, weekdays=("sun",)))
    assert (edited.version, edited.config.weekdays) == (2, ("sun",))
    assert (await delete_calendar(there, "shut")).name == "shut"
    assert (await find_calendar(desk, "shut")).version == 1


async def test_requested_run_is_allowed_on_an_excluded_day_and_a_hint_is_not(desk: Desk, clock: FixedClock) -> None:
    await add_calendar(desk, "shut", SHUT)
    await add_endpoint(desk, daily())
    clock.tick(days=1, hours=10)
    hinted = await put_one_shot_hint(desk, "report", lambda now: now + timedelta(minutes=1))
    assert hinted.endpoint.next_run_at is not None
    assert is_open_at(hinted.endpoint, hinted.endpoint.next_run_at)
    assert (await run_endpoint(desk, "report")).endpoint.manual_at == at(2, 10)


async def test_days_of_holidays_are_found_and_named(desk: Desk) -> None:
    calendar = await add_calendar(desk, "holidays", CalendarConfig(holidays="de-by"))
    assert calendar.config.holidays == "DE-BY"
    found = {each.day: each.label for each in await calendar_days(desk, calendar, date(2025, 12, 20), 10)}
    assert found == {date(2025, 12, 25): "Christmas Day", date(2025, 12, 26): "Second Day of Christmas"}


async def test_years_follow_the_present(desk: Desk, clock: FixedClock) -> None:
    """On New Year the janitor finds another year, and endpoints get its days; nothing else moves."""
    await add_calendar(desk, "holidays", CalendarConfig(holidays="DE"))
    await add_calendar(desk, "weekend", CalendarConfig(weekdays=("sat", "sun")))
    await add_endpoint(desk, daily(except_calendar="holidays"))
    await add_endpoint(desk, daily("weekly", except_calendar="weekend"))
    known = await extend_calendars(desk, SeenCalendars())
    before = await find_endpoint(desk, "report")
    assert await extend_calendars(desk, known) is known
    clock.tick(days=365, seconds=-1)
    assert await extend_calendars(desk, known) is known
    clock.tick(seconds=1)
    seen = await extend_calendars(desk, known)
    assert seen != known
    holidays = await find_calendar(desk, "holidays")
    assert (holidays.found_until, holidays.found[-1].day) == (2031, date(2031, 12, 26))
    after = await find_endpoint(desk, "report")
    assert after.days != before.days
    assert not is_open_at(after, datetime(2031, 12, 25, 12, tzinfo=UTC))
    assert not is_open_at(await find_endpoint(desk, "weekly"), datetime(2031, 12, 28, 12, tzinfo=UTC))
    assert await extend_calendars(desk, seen) is seen


async def test_calendar_whose_years_cannot_be_found_keeps_its_days(desk: Desk) -> None:
    made = await add_calendar(desk, "shut", SHUT)
    unknown = replace(made, config=CalendarConfig(holidays="XX"), found_until=2025, version=2)
    assert await desk.stores.calendars.put_calendar(unknown, None)
    await extend_calendars(desk, SeenCalendars())
    assert await find_calendar(desk, "shut") == unknown


async def test_endpoint_whose_calendar_is_deleted_while_it_is_written_keeps_its_days(desk: Desk) -> None:
    await add_calendar(desk, "shut", SHUT)
    slow = interrupted(desk, "add_endpoint", lambda: delete_calendar(desk, "shut"), "endpoints")
    made = await add_endpoint(slow, daily())
    assert made.days
    assert await renew_endpoints(desk) == 0


async def test_endpoint_whose_calendar_ends_is_known_before(desk: Desk, clock: FixedClock) -> None:
    await add_calendar(desk, "trading", CalendarConfig(dates=("2025-01-02", "2025-03-31")))
    endpoint = await add_endpoint(desk, daily(except_calendar="", only_calendar="trading"))
    assert endpoint.next_run_at == at(2)
    assert not is_running_out(endpoint, at(2))
    assert is_running_out(endpoint, datetime(2025, 3, 10, tzinfo=UTC))
    clock.tick(days=100)
    await edit_endpoint(desk, "report", lambda config: replace(config, cron="0 8 * * *"))
    assert await next_run(desk) is None
    assert await load_preview(desk, await find_endpoint(desk, "report"), clock.at, 3) == []
    await edit_calendar(desk, "trading", lambda config: replace(config, dates=(*config.dates, "2025-06-01")))
    assert await next_run(desk) == datetime(2025, 6, 1, 8, tzinfo=UTC)


async def test_preview_names_the_excluded_days_with_their_labels(desk: Desk, clock: FixedClock) -> None:
    await add_calendar(desk, "shut", SHUT)
    clock.tick(hours=10)
    endpoint = await add_endpoint(desk, daily())
    runs = await load_preview(desk, endpoint, at(1, 10), 1)
    excluded = await excluded_until(desk, endpoint, at(1, 10), runs)
    assert [(each.day.day, each.words) for each in excluded] == [
        (2, "calendar 'shut' (Inventory)"),
        (3, "calendar 'shut'"),
        (4, "calendar 'shut'"),
    ]
    plain = await add_endpoint(desk, daily("plain", except_calendar=""))
    assert await excluded_until(desk, plain, at(1), runs) == []
    assert len(await excluded_until(desk, endpoint, at(1, 10), [])) == 3


async def test_days_that_only_leaves_out_are_excluded(desk: Desk) -> None:
    await add_calendar(desk, "odd", CalendarConfig(dates=("2025-01-01", "2025-01-03")))
    endpoint = await add_endpoint(desk, daily(except_calendar="", only_calendar="odd", shift=Shift.NEXT))
    found = await excluded_for(desk, endpoint, date(2025, 1, 1), date(2025, 1, 4))
    assert [(each.day.day, each.words) for each in found] == [
        (2, "calendar 'odd' does not include it"),
        (4, "calendar 'odd' does not include it"),
    ]


async def test_text_that_takes_too_long_to_read_is_ended(desk: Desk) -> None:
    minutes = ",".join(map(str, range(60)))
    rule = f"RRULE:FREQ=DAILY;BYHOUR={','.join(map(str, range(24)))};BYMINUTE={minutes}"
    event = f"BEGIN:VEVENT\r\nUID:1\r\nDTSTART:20200101T000000Z\r\n{rule}\r\nEND:VEVENT\r\n"
    sandbox = ProcessSandbox(seconds_max=1.0)
    hostile = CalendarConfig(ics=f"BEGIN:VCALENDAR\r\n{event * 20}END:VCALENDAR\r\n")
    try:
        with pytest.raises(InvalidInput, match="this took longer than 1 s to read"):
            await add_calendar(replace(desk, sandbox=sandbox), "hostile", hostile)
    finally:
        await sandbox.aclose()
    assert await list_calendars(desk) == []


async def test_calendar_with_weekdays_and_dates_has_both(desk: Desk) -> None:
    calendar = await add_calendar(desk, "both", replace(SHUT, weekdays=("sun", "sat")))
    days = days_between(calendar, date(2025, 1, 1), date(2025, 1, 7))
    assert {date.fromordinal(day).day: label for day, label in days.items()} == {
        2: "Inventory",
        3: "",
        4: "",
        5: "",
    }
    assert calendar.config.weekdays == ("sat", "sun")


async def test_calendars_of_a_tenant_have_so_many_bytes_and_no_more(desk: Desk) -> None:
    small = CalendarConfig(dates=("2025-01-02 Inventory",))
    made = await add_calendar(desk, "first", small)
    labels = tuple(FoundDay(date(2025, 1, 1), "x" * 100_000) for _ in range(CALENDAR_BYTES_MAX // 100_017))
    assert await desk.stores.calendars.put_calendar(replace(made, found=labels, version=2), None)
    room = CALENDAR_BYTES_MAX - size_of(replace(made, found=labels))
    large = replace(made, found=(*labels, FoundDay(date(2025, 1, 1), "x" * (room - 20))), version=3)
    assert await desk.stores.calendars.put_calendar(large, None)

    with pytest.raises(QuotaExceeded, match=r"would have 5,000,\d+ bytes with the days that were found"):
        await add_calendar(desk, "second", small)
    await delete_calendar(desk, "first")
    await add_calendar(desk, "second", small)


async def test_edit_of_a_calendar_with_many_endpoints_leaves_the_event_loop_free(desk: Desk, store_url: str) -> None:
    """Each endpoint has another cron, which has no time on a day that the calendars allow."""
    every = tuple(f"{year}-01-01..{year}-12-31" for year in range(2025, 2028))
    await add_calendar(desk, "shut", CalendarConfig(dates=every[:1], weekdays=("mon",)))
    endpoint = await add_endpoint(desk, daily(cron="H H * * MON"))
    await multiply(store_url, endpoint, 300)
    async with LoopWatch() as watch:
        await edit_calendar(desk, "shut", lambda config: replace(config, dates=every))

    assert watch.longest_s < 0.1 * SHARED


async def test_janitor_reads_only_the_calendars_that_changed(desk: Desk) -> None:
    await desk.stores.endpoints.put_tenant(Tenant("other", "other"))
    other = replace(desk, tenant_id="other")
    for each in (desk, other):
        await add_calendar(each, "weekend", CalendarConfig(weekdays=("sat",)))
    known = await extend_calendars(desk, SeenCalendars())
    await edit_calendar(other, "weekend", lambda config: replace(config, weekdays=("sun",)))
    read: list[str] = []

    class Reading:
        def __getattr__(self, name: str) -> object:
            return getattr(desk.stores.calendars, name)

        async def calendars(self, tenant_id: str) -> list[Calendar]:
            read.append(tenant_id)
            return await desk.stores.calendars.calendars(tenant_id)

    watched: Any = Reading()
    await extend_calendars(replace(desk, stores=replace(desk.stores, calendars=watched)), known)

    assert set(read) == {"other"}

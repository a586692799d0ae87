"""Calendars in the database: written with their event, kept apart by tenant, and found by their users."""

from datetime import date

import pytest
from msgspec.structs import replace
from tests.stores.world import START, add, an_endpoint, get, told

from mainspring.domain.calendar import Calendar, CalendarConfig, FoundDay, open_days_of
from mainspring.domain.endpoint import Tenant
from mainspring.domain.errors import Conflict
from mainspring.domain.event import Event, EventType
from mainspring.domain.schedule.open_days import Shift
from mainspring.ports.stores import Stores

CALENDAR = Calendar(
    "cal_1", "default", "closed", CalendarConfig(("2025-01-02 Inventory",), ("sat", "sun"), "DE", "text", "why"),
    (FoundDay(date(2025, 1, 1), "New Year's Day"),), 2030, 1, START, START, "git",
)  # fmt: skip


def event(kind: EventType, tenant_id: str = "default") -> Event:
    return Event(kind, START, tenant_id, actor="user:ann", data={"subject": "cal_1"})


async def put(stores: Stores, calendar: Calendar) -> None:
    await stores.calendars.add_calendar(calendar, event(EventType.CALENDAR_CREATED, calendar.tenant_id))


async def test_calendar_is_read_as_it_was_written_with_its_event_and_audit_entry(stores: Stores) -> None:
    await put(stores, CALENDAR)
    assert await stores.calendars.calendars("default") == [CALENDAR]
    assert await stores.calendars.versions() == {"cal_1": ("default", 1)}
    assert [each.type for each in await told(stores)] == [EventType.CALENDAR_CREATED]
    assert [entry.act for entry in await stores.audit.audit_entries("default", None, 10)] == ["calendar.created"]


async def test_second_calendar_of_a_name_is_refused_in_its_tenant_only(stores: Stores) -> None:
    await stores.endpoints.put_tenant(Tenant("other", "other"))
    await put(stores, CALENDAR)
    await put(stores, replace(CALENDAR, id="cal_2", tenant_id="other"))
    with pytest.raises(Conflict, match="another calendar is named 'closed' already"):
        await put(stores, replace(CALENDAR, id="cal_3"))
    assert await stores.calendars.versions() == {"cal_1": ("default", 1), "cal_2": ("other", 1)}


async def test_edit_of_an_outdated_version_or_of_another_tenant_changes_nothing(stores: Stores) -> None:
    await stores.endpoints.put_tenant(Tenant("other", "other"))
    await put(stores, CALENDAR)
    edited = replace(CALENDAR, version=2, found=(), found_until=2031, config=CalendarConfig(weekdays=("sun",)))
    updated = event(EventType.CALENDAR_UPDATED)
    assert not await stores.calendars.put_calendar(replace(edited, tenant_id="other"), None)
    assert await stores.calendars.put_calendar(edited, updated)
    assert not await stores.calendars.put_calendar(replace(edited, found_until=2040), updated)
    assert await stores.calendars.calendars("default") == [edited]


async def test_calendar_in_use_is_not_deleted(stores: Stores) -> None:
    await put(stores, CALENDAR)
    endpoint = an_endpoint("report", cron="0 9 * * *", except_calendar="closed", shift=Shift.NEXT)
    endpoint = replace(endpoint, days=open_days_of(endpoint, {"closed": CALENDAR}, START))
    await add(stores, endpoint, an_endpoint("other"))
    deleted = event(EventType.CALENDAR_DELETED)
    with pytest.raises(Conflict, match="'report'"):
        await stores.calendars.delete_calendar("default", "cal_1", deleted)
    stored = await get(stores, endpoint)
    assert (stored.days, stored.except_calendar, stored.shift) == (endpoint.days, "closed", Shift.NEXT)
    assert await stores.calendars.users("default", "closed") == ["report"]
    assert await stores.calendars.users("default", "open") == []
    assert await stores.calendars.endpoints_with_days("default", "", 10) == [endpoint.id]
    assert await stores.calendars.endpoints_with_days("default", endpoint.id, 10) == []
    gone = Event(EventType.ENDPOINT_DELETED, START, "default", endpoint.id)
    assert await stores.endpoints.delete_endpoint("default", endpoint.id, gone)
    assert not await stores.calendars.delete_calendar("default", "cal_2", deleted)
    assert await stores.calendars.delete_calendar("default", "cal_1", deleted)
    assert await stores.calendars.calendars("default") == []

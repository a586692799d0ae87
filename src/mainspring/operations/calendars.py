"""Operations on calendars: named sets of days on which endpoints run or do not run.

An endpoint stores the days that its calendars allow, so a change of a calendar is written into its endpoints and they
are planned again (`renew_endpoints`). Both sides check again after they have written: a calendar its endpoints, an
endpoint its calendars. So endpoints never keep old days, regardless of the order of concurrent writes. The janitor
completes the work of a stopped process and adds the days of another year (`extend_calendars`).
"""

import asyncio
from collections.abc import Callable, Collection, Mapping
from datetime import date, datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.calendar import (
    CALENDAR_BYTES_MAX,
    CALENDARS_MAX,
    KIND,
    Calendar,
    CalendarConfig,
    ExcludedDay,
    FoundDay,
    SeenCalendars,
    check_calendar,
    check_calendar_name,
    day_bits,
    days_between,
    excluded_days,
    named_twice,
    open_days_from,
    open_days_of,
    refuse_delete,
    renewed,
    size_of,
    years_of,
)
from mainspring.domain.calendar_days import find_days
from mainspring.domain.endpoint import Endpoint, EndpointConfig
from mainspring.domain.errors import Conflict, InvalidInput, NotFound, QuotaExceeded
from mainspring.domain.event import Event, EventType
from mainspring.domain.name import as_stored
from mainspring.domain.schedule import changes
from mainspring.domain.schedule.changes import Change
from mainspring.operations.context import Desk
from mainspring.operations.dry_run import dry_run_desk
from mainspring.ports.calendars import CalendarStore

PAGE = 20  # endpoints that are planned again in one transaction: 2 ms each where a cron is walked
SYSTEM = "system"


async def list_calendars(desk: Desk) -> list[Calendar]:
    return await desk.stores.calendars.calendars(desk.tenant_id)


async def find_calendar(desk: Desk, name_or_id: str) -> Calendar:
    found = await list_calendars(desk)
    by_id = [each for each in found if each.id == name_or_id]
    for each in by_id or [each for each in found if each.name == as_stored(name_or_id)]:
        return each
    raise NotFound(KIND, name_or_id, tuple(each.name for each in found))


async def add_calendar(desk: Desk, name: str, config: CalendarConfig) -> Calendar:
    there = await list_calendars(desk)
    now = await desk.stores.schedule.now()
    checked = check_calendar(config)
    made = Calendar(
        desk.ids.new("cal", now),
        desk.tenant_id,
        check_calendar_name(name),
        checked,
        await found_days(desk, checked, now),
        years_of(now)[1],
        1,
        now,
        now,
    )
    check_room(desk, [*there, made])
    await desk.stores.calendars.add_calendar(made, told(desk, EventType.CALENDAR_CREATED, now, made))
    return made


async def edit_calendar(desk: Desk, name_or_id: str, edit: Callable[[CalendarConfig], CalendarConfig]) -> Calendar:
    """Changes the configuration by a function of the current one. Endpoints that use the calendar are planned again."""
    found = await find_calendar(desk, name_or_id)
    config = check_calendar(edit(found.config))
    if config == found.config:
        return found
    now = await desk.stores.schedule.now()
    edited = replace(
        renewed(found, await found_days(desk, config, now), years_of(now)[1], now),
        config=config,
    )
    check_room(desk, [edited, *(each for each in await list_calendars(desk) if each.id != edited.id)])
    if not await desk.stores.calendars.put_calendar(edited, told(desk, EventType.CALENDAR_UPDATED, now, edited)):
        raise Conflict(
            f"{KIND} {found.name!r} was changed concurrently; read it again and retry", kind=KIND, name=found.name
        )
    await renew_endpoints(desk)
    return edited


async def delete_calendar(desk: Desk, name_or_id: str) -> Calendar:
    """Deletes a calendar. Raises Conflict, with the endpoints that use it, if it is in use."""
    found = await find_calendar(desk, name_or_id)
    refuse_delete(found.name, await desk.stores.calendars.users(desk.tenant_id, found.name))
    now = await desk.stores.schedule.now()
    if not await desk.stores.calendars.delete_calendar(
        desk.tenant_id, found.id, told(desk, EventType.CALENDAR_DELETED, now, found)
    ):
        raise NotFound(KIND, name_or_id)
    return found


class CalendarDay(Struct, frozen=True):
    day: date
    label: str


async def calendar_days(desk: Desk, calendar: Calendar, since: date | None, days: int) -> list[CalendarDay]:
    """The days of a calendar from a date on, today if it is None."""
    first = since or (await desk.stores.schedule.now()).date()
    last = min(first, date.max - timedelta(days=days)) + timedelta(days=days - 1)
    return [CalendarDay(date.fromordinal(day), label) for day, label in days_between(calendar, first, last).items()]


async def excluded_for(desk: Desk, endpoint: Endpoint, since: date, until: date) -> list[ExcludedDay]:
    """The days on which an endpoint with calendars does not run, with the reason."""
    return sorted(
        excluded_days(endpoint, await calendars_by_name(desk), since, until), key=lambda each: (each.day, each.calendar)
    )


async def calendars_by_name(desk: Desk) -> dict[str, Calendar]:
    return {each.name: each for each in await list_calendars(desk)}


async def days_of(desk: Desk, config: EndpointConfig) -> str:
    """The days that the calendars of a configuration allow. Raises InvalidInput if it names one that does not exist."""
    if not config.except_calendar and not config.only_calendar:
        return ""
    return open_days_of(config, await calendars_by_name(desk), await desk.stores.schedule.now())


async def look_again(desk: Desk, endpoint: Endpoint) -> Endpoint:
    """The endpoint that was just written, with the days of calendars that changed meanwhile."""
    if not endpoint.days:
        return endpoint
    calendars, now = await calendars_by_name(desk), await desk.stores.schedule.now()
    used = {endpoint.except_calendar, endpoint.only_calendar}
    bits = {name: day_bits(each, now) for name, each in calendars.items() if name in used}
    if _days_now(endpoint, bits, now) == endpoint.days:
        return endpoint
    changed = await desk.stores.endpoints.change_endpoints(desk.tenant_id, [endpoint.id], _renewal(desk, bits, now))
    return changed[0].endpoint if changed else endpoint


async def renew_endpoints(desk: Desk) -> int:
    """Writes the present days into the endpoints that have calendars, and plans them again. Returns how many changed.

    1. Read the calendars, then the endpoints; change those whose days differ.
    2. If a calendar changed meanwhile, begin again: the last writer sees every calendar.
    """
    count = 0
    while True:
        calendars, now = await calendars_by_name(desk), await desk.stores.schedule.now()
        bits = {}
        for name, each in calendars.items():
            await asyncio.sleep(0)  # each takes some milliseconds
            bits[name] = day_bits(each, now)
        act, after = _renewal(desk, bits, now), ""
        while ids := await desk.stores.calendars.endpoints_with_days(desk.tenant_id, after, PAGE):
            changed = await desk.stores.endpoints.change_endpoints(desk.tenant_id, ids, act)
            count += sum(bool(each.events) for each in changed)
            after = ids[-1]
        if await calendars_by_name(desk) == calendars:
            return count


async def extend_calendars(desk: Desk, known: SeenCalendars) -> SeenCalendars:
    """Finds the holidays and events of a year that has come near, and renews endpoints, a tenant at a time.

    Returns what it has seen. Only tenants whose calendars differ from `known` are read, and all of them in a new year.
    """
    now = await desk.stores.schedule.now()
    there = await desk.stores.calendars.versions()
    if SeenCalendars(now.year, there) == known:
        return known
    old = known.versions if known.year == now.year else {}
    for tenant_id in sorted({seen[0] for id_, seen in there.items() if old.get(id_) != seen}):
        await _extend(replace(desk, tenant_id=tenant_id, actor=SYSTEM), now)
    return SeenCalendars(now.year, await desk.stores.calendars.versions())


async def _extend(desk: Desk, now: datetime) -> None:
    for each in await list_calendars(desk):
        has_years = bool(each.config.holidays or each.config.ics)
        if has_years and each.found_until < years_of(now)[1]:
            try:
                later = renewed(each, await found_days(desk, each.config, now), years_of(now)[1], now)
            except InvalidInput:  # the extra is not installed here: `doctor` says so
                continue
            await desk.stores.calendars.put_calendar(later, None)
    await renew_endpoints(desk)


async def found_days(desk: Desk, config: CalendarConfig, now: datetime) -> tuple[FoundDay, ...]:
    """The days of holidays and events; parsed in the sandbox, because the text determines how long that takes."""
    if not config.holidays and not config.ics:
        return ()
    return await desk.sandbox.call(desk.tenant_id, find_days, config.holidays, config.ics, *years_of(now))


def check_room(desk: Desk, calendars: Collection[Calendar]) -> None:
    """Raises QuotaExceeded if a tenant may not have all of these."""
    if len(calendars) > CALENDARS_MAX:
        raise QuotaExceeded(
            f"tenant {desk.tenant_id!r} would have {len(calendars)} {KIND}s, more than {CALENDARS_MAX}; delete one",
            quota="calendars",
            limit=CALENDARS_MAX,
        )
    size = sum(map(size_of, calendars))
    if size > CALENDAR_BYTES_MAX:
        raise QuotaExceeded(
            f"the {KIND}s of tenant {desk.tenant_id!r} would have {size:,} bytes with the days that were found, more "
            f"than {CALENDAR_BYTES_MAX:,}; delete one, or shorten an iCalendar text",
            quota="calendar_bytes",
            limit=CALENDAR_BYTES_MAX,
        )


def told(desk: Desk, kind: EventType, now: datetime, calendar: Calendar) -> Event:
    data: dict[str, object] = {"subject": calendar.id, "name": calendar.name}
    if calendar.managed_by:
        data["managed_by"] = calendar.managed_by
    return Event(kind, now, desk.tenant_id, actor=desk.actor, data=data)


def dry_run_of(desk: Desk) -> Desk:
    """A desk at which calendars are checked as usual, and nothing is written."""
    there = dry_run_desk(desk)
    store: CalendarStore = _DryRunCalendars(desk.stores.calendars)
    return replace(there, stores=replace(there.stores, calendars=store))


class _DryRunCalendars:
    """A CalendarStore that reads from a real one and writes nothing."""

    def __init__(self, real: CalendarStore) -> None:
        self.calendars, self.users, self.versions = real.calendars, real.users, real.versions

    async def add_calendar(self, calendar: Calendar, event: Event) -> None:
        if any(each.name == calendar.name for each in await self.calendars(calendar.tenant_id)):
            raise named_twice(calendar)

    async def put_calendar(self, calendar: Calendar, event: Event | None) -> bool:
        return True

    async def delete_calendar(self, tenant_id: str, calendar_id: str, event: Event) -> bool:
        return True

    async def endpoints_with_days(self, tenant_id: str, after: str, limit: int) -> list[str]:
        return []


def _renewal(desk: Desk, bits: Mapping[str, int], now: datetime) -> changes.Act:
    def act(old: Endpoint, at: datetime) -> Change:
        days = _days_now(old, bits, now)
        if days == old.days:
            return Change(old)
        return changes.edit(old, replace(old, days=days), at, desk.actor, desk.cron)

    return act


def _days_now(endpoint: Endpoint, bits: Mapping[str, int], now: datetime) -> str:
    """A calendar that is gone leaves the days as they are."""
    try:
        return open_days_from(endpoint, bits, now)
    except InvalidInput:
        return endpoint.days

"""Calendars, on both databases."""

import asyncio
from typing import Any

import msgspec

from mainspring.domain.calendar import Calendar, CalendarConfig, FoundDay, named_twice, refuse_delete
from mainspring.domain.event import Event
from mainspring.stores.events import add_events
from mainspring.stores.session import Database, Row, Session, UniqueViolation

INSTANTS = (7, 8)  # created_at, updated_at
_CONFIG = msgspec.json.Decoder(CalendarConfig)
_FOUND = msgspec.json.Decoder(tuple[FoundDay, ...])


class SqlCalendarStore:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def add_calendar(self, calendar: Calendar, event: Event) -> None:
        async with self._db.transaction(calendar.tenant_id) as session:
            try:
                await session.run("add_calendar", *calendar_values(calendar))
            except UniqueViolation as fault:
                raise named_twice(calendar) from fault
            await add_events(session, [event])

    async def calendars(self, tenant_id: str) -> list[Calendar]:
        async with self._db.reading(tenant_id) as session:
            rows = await session.rows("calendars", tenant_id)
        found = []
        for row in rows:
            await asyncio.sleep(0)  # each takes up to a millisecond
            found.append(_calendar(session, row))
        return found

    async def versions(self) -> dict[str, tuple[str, int]]:
        async with self._db.reading(None) as session:
            rows: Any = await session.rows("calendar_versions")
        return {id_: (tenant_id, version) for id_, tenant_id, version in rows}

    async def put_calendar(self, calendar: Calendar, event: Event | None) -> bool:
        async with self._db.transaction(calendar.tenant_id) as session:
            if not await session.run("put_calendar", *changed_calendar_values(calendar)):
                return False
            await add_events(session, [event] if event else [])
            return True

    async def delete_calendar(self, tenant_id: str, calendar_id: str, event: Event) -> bool:
        async with self._db.transaction(tenant_id) as session:
            found = [row for row in await session.rows("calendars", tenant_id) if row[0] == calendar_id]
            if not found:
                return False
            name = str(found[0][2])
            refuse_delete(name, await _users(session, tenant_id, name))
            await session.run("delete_calendar", tenant_id, calendar_id)
            await add_events(session, [event])
            return True

    async def users(self, tenant_id: str, name: str) -> list[str]:
        async with self._db.reading(tenant_id) as session:
            return await _users(session, tenant_id, name)

    async def endpoints_with_days(self, tenant_id: str, after: str, limit: int) -> list[str]:
        async with self._db.reading(tenant_id) as session:
            return [str(row[0]) for row in await session.rows("endpoints_with_days", tenant_id, after, limit)]


def calendar_values(each: Calendar) -> tuple[object, ...]:
    return (
        each.id, each.tenant_id, each.name, _text(each.config), _text(each.found), each.found_until, each.version,
        each.created_at, each.updated_at, each.managed_by,
    )  # fmt: skip


def changed_calendar_values(each: Calendar) -> tuple[object, ...]:
    """In the order of the query `put_calendar`."""
    return (
        _text(each.config), _text(each.found), each.found_until, each.version, each.updated_at, each.managed_by,
        each.tenant_id, each.id,
    )  # fmt: skip


async def _users(session: Session, tenant_id: str, name: str) -> list[str]:
    return [str(row[1]) for row in await session.rows("calendar_users", tenant_id, name)]


def _calendar(session: Session, row: Row) -> Calendar:
    values: Any = session.instants(row, INSTANTS)
    id_, tenant_id, name, config, found, *rest = values
    return Calendar(id_, tenant_id, name, _CONFIG.decode(config), _FOUND.decode(found), *rest)


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()

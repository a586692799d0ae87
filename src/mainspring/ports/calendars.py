"""Port of calendars: named sets of days on which endpoints run or do not run."""

from typing import Protocol

from mainspring.domain.calendar import Calendar
from mainspring.domain.event import Event


class CalendarStore(Protocol):
    async def add_calendar(self, calendar: Calendar, event: Event) -> None:
        """Raises Conflict if the tenant has a calendar of that name."""

    async def calendars(self, tenant_id: str) -> list[Calendar]:
        """All calendars of a tenant by name. They are decoded one by one: together they have megabytes."""

    async def versions(self) -> dict[str, tuple[str, int]]:
        """Tenant and version of every calendar of all tenants, by id."""

    async def put_calendar(self, calendar: Calendar, event: Event | None) -> bool:
        """Writes version n over version n - 1. Returns False, having written nothing, for any other version."""

    async def delete_calendar(self, tenant_id: str, calendar_id: str, event: Event) -> bool:
        """False: it does not exist. Raises Conflict, with the endpoints that use it, if it is in use."""

    async def users(self, tenant_id: str, name: str) -> list[str]:
        """Names of the endpoints that use a calendar, except archived ones."""

    async def endpoints_with_days(self, tenant_id: str, after: str, limit: int) -> list[str]:
        """Ids of endpoints that have calendars, in order, after this id."""

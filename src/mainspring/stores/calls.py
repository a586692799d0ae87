"""Calls: endpoints with a single run, each by a key."""

from collections.abc import Callable, Sequence

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.event import Event
from mainspring.ports.calls import CallFilter, JoinCalls
from mainspring.stores.endpoints import endpoint_row
from mainspring.stores.events import add_events
from mainspring.stores.lists import LAST_ID
from mainspring.stores.rows import config_values, joined_status, state_values
from mainspring.stores.session import Database, Session


class SqlCallStore:
    def __init__(self, database: Database, wake: Callable[[], None]) -> None:
        """`wake` notifies a waiting scheduler of this process that a schedule moved."""
        self._db = database
        self._wake = wake

    async def add_calls(self, calls: Sequence[Endpoint], event: Event, join: JoinCalls) -> dict[str, Endpoint]:
        first = calls[0]

        async def work(session: Session) -> dict[str, Endpoint]:
            status = joined_status(await session.value("lock_job", first.tenant_id, first.job_id))
            keys = [each.call_key for each in calls]
            rows = await session.rows("calls_by_key", first.tenant_id, keys)
            there = {str(each.call_key): each for each in (endpoint_row(session, row) for row in rows)}
            new = [each for each in calls if each.call_key not in there]
            if new:
                count = int(str(await session.value("count_calls", first.tenant_id)))
                new = join(new, status, count)
                await session.run_many("add_endpoint", [config_values(each) for each in new])
                await session.run_many("add_schedule", [(e.id, e.tenant_id, e.host, *state_values(e)) for e in new])
                event.data["count"] = len(new)
                await add_events(session, [event])
                await session.notify()
            return there

        there = await self._db.run_long(work, first.tenant_id)
        self._wake()
        return there

    async def call(self, tenant_id: str, key_or_id: str) -> Endpoint | None:
        async with self._db.reading(tenant_id) as session:
            rows = await session.rows("call", tenant_id, key_or_id)
            return endpoint_row(session, rows[0]) if rows else None

    async def calls(self, tenant_id: str, wanted: CallFilter) -> list[Endpoint]:
        async def work(session: Session) -> list[Endpoint]:
            before = wanted.before_id or LAST_ID
            rows = await session.rows("look_calls", tenant_id, before, wanted.state, wanted.limit)
            return [endpoint_row(session, row) for row in rows]

        return await self._db.run_read(work, tenant_id)

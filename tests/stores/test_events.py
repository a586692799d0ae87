"""Events: in order, none skipped, none twice, whatever the page and whoever commits late."""

import asyncpg
import pytest
from tests.stores.databases import is_sqlite
from tests.stores.world import START, FixedClock, add, an_endpoint, run_slot

from mainspring.domain.event import Event, EventType, StoredEvent
from mainspring.ports import Stores


def an_event(number: int, tenant_id: str = "default") -> Event:
    return Event(EventType.RUN_FINISHED, START, tenant_id, f"ep_{number}", data={"number": number})


async def read_on(stores: Stores, cursor: str, limit: int, tenant_id: str | None = None) -> list[StoredEvent]:
    """Page by page from a cursor to the end."""
    found: list[StoredEvent] = []
    while page := await stores.runs.events_after(cursor, tenant_id, limit):
        assert len(page) <= limit
        found += page
        cursor = page[-1].cursor
    return found


async def write_some(stores: Stores) -> list[Event]:
    """Seven events in three transactions, one of them for two tenants."""
    events = [an_event(number) for number in range(5)] + [an_event(5, "other"), an_event(6)]
    for part in (events[:3], events[3:4], events[4:]):
        await stores.runs.add_events(part)
    return events


@pytest.mark.parametrize("limit", [1, 2, 3, 1000])
async def test_every_event_is_read_once_and_in_order_at_any_page_size(stores: Stores, limit: int) -> None:
    events = await write_some(stores)

    found = [each.event for each in await read_on(stores, "", limit, "default")]

    assert found == [event for event in events if event.tenant_id == "default"]


async def test_cursor_of_any_event_reads_on_right_after_it(stores: Stores) -> None:
    await write_some(stores)
    everything = await read_on(stores, "", 1000)

    for place, stored in enumerate(everything):
        assert await read_on(stores, stored.cursor, 2) == everything[place + 1 :]


async def test_tenant_sees_only_its_own_events(stores: Stores) -> None:
    await write_some(stores)

    found = await read_on(stores, "", 1000, "other")

    assert [each.event for each in found] == [an_event(5, "other")]


async def test_run_tells_that_it_started_and_how_it_ended(stores: Stores, clock: FixedClock) -> None:
    await add(stores, an_endpoint())
    before = (await read_on(stores, "", 1000))[-1].cursor
    (claim,) = await run_slot(stores, clock)

    started, finished = [each.event for each in await read_on(stores, before, 1000)]

    assert (started.type, started.run_id, started.data["attempt"]) == (EventType.RUN_STARTED, claim.run_id, 1)
    assert (finished.type, finished.run_id) == (EventType.RUN_FINISHED, claim.run_id)
    assert finished.data["next_run_at"] == "2025-01-01T00:01:00Z"


async def test_event_that_is_committed_late_under_a_lower_number_is_not_skipped(stores: Stores, store_url: str) -> None:
    if is_sqlite(store_url):
        pytest.skip("SQLite has one writer: numbers are handed out in the order of commits")
    slow = await asyncpg.connect(store_url)
    transaction = slow.transaction()
    await transaction.start()
    await slow.execute(
        "INSERT INTO event (tenant_id, at, events) VALUES ('default', $1, $2)",
        START,
        '[{"type":"run.started","at":"2025-01-01T00:00:00Z","tenant_id":"default","endpoint_id":"late"}]',
    )
    await stores.runs.add_events([an_event(1)])

    early = await read_on(stores, "", 1000)
    await transaction.commit()
    await slow.close()
    late = await read_on(stores, early[-1].cursor if early else "", 1000)

    assert [each.event.endpoint_id for each in (*early, *late)] == ["late", "ep_1"]

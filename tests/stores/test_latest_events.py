"""The newest events, and what the database says about itself."""

from datetime import timedelta

from tests.stores.world import START

from mainspring.domain.event import Event, EventType
from mainspring.ports.stores import Stores


def events(count: int, tenant_id: str = "default") -> list[Event]:
    return [
        Event(EventType.HINT_WRITTEN, START + timedelta(seconds=number), tenant_id, data={"number": number})
        for number in range(count)
    ]


async def test_latest_events_are_the_newest_in_their_order(stores: Stores) -> None:
    await stores.runs.add_events(events(5))

    latest = await stores.runs.latest_events("default", 2)

    assert [stored.event.data["number"] for stored in latest] == [3, 4]


async def test_latest_events_are_of_one_tenant_or_of_all(stores: Stores) -> None:
    await stores.runs.add_events(events(1) + events(2, "other"))

    assert len(await stores.runs.latest_events("default", 10)) == 1
    assert len(await stores.runs.latest_events(None, 10)) == 3
    assert await stores.runs.latest_events("nobody", 10) == []


async def test_reading_goes_on_where_the_latest_events_end(stores: Stores) -> None:
    await stores.runs.add_events(events(3))
    latest = await stores.runs.latest_events("default", 1)
    await stores.runs.add_events(events(2))

    following = await stores.runs.events_after(latest[-1].cursor, "default", 10)

    assert [stored.event.data["number"] for stored in following] == [0, 1]


async def test_facts_name_the_database_and_its_schema(stores: Stores, store_url: str) -> None:
    facts = await stores.upkeep.facts()

    assert facts.kind == store_url.partition(":")[0]
    assert facts.version[0].isdigit()
    assert facts.schema >= 1

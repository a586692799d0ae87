"""`mainspring events`: what happened, in order."""

import sys
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from mainspring.cli.arguments import read_choice
from mainspring.cli.command import OutputOption, ask
from mainspring.cli.output import Output, as_json, note, say
from mainspring.cli.table import Column, show_list
from mainspring.views.sentences import clock

if TYPE_CHECKING:
    from mainspring.client import Client
    from mainspring.domain.event import Event, StoredEvent
    from mainspring.operations.context import Desk
    from mainspring.views.event import EventView

FOLLOW_S = 60.0
SERVED_MAX = 200  # the newest that a server shows at once
LOOKED_THROUGH_MAX = 5_000  # newest events that a filter searches, as the API does


def events(
    kind: Annotated[
        str | None, typer.Option("--type", metavar="EVENT", help="Only events of this type: run.finished.")
    ] = None,
    endpoint: Annotated[str | None, typer.Option("--endpoint", help="Only events of this endpoint.")] = None,
    count: Annotated[int, typer.Option("-n", "--limit", min=0, max=100_000, help="Number of newest events.")] = 50,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Keep printing events as they happen.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """List events, oldest first; --follow continues.

    With --follow, -o json prints one object per line.
    """
    from mainspring.domain.event import EventType

    read_choice(kind, tuple(each.value for each in EventType), "type")
    wanted = EventSelection(kind, endpoint)
    if follow:
        ask(
            lambda desk: _follow(desk, wanted, count, output),
            lambda client: _follow_server(client, wanted, count, output),
            must_exist=True,
        )
        return

    async def work(desk: "Desk") -> list["EventView"]:
        known = await _known(desk, wanted)
        latest = await _latest(desk, known, count)
        chosen = [stored for stored in latest if known.takes(stored.event)][-count:] if count else []
        return await _views(desk, chosen, {})

    found = ask(work, lambda client: _newest_served(client, wanted, count))
    rows = [(clock(event.at), event.type, _subject(event), event.actor, _detail(event)) for event in found]
    columns = (
        Column("AT"),
        Column("EVENT"),
        Column("ENDPOINT", can_cut=True),
        Column("ACTOR", spare=True),
        Column("DETAIL", tail=True),
    )
    show_list(found, output, columns, rows, "No events yet.")


class EventSelection(NamedTuple):
    """A filter of events; None matches any."""

    kind: str | None
    endpoint: str | None  # a name or an id; an id once resolved

    def takes(self, event: "Event | EventView") -> bool:
        return self.kind in (None, event.type) and self.endpoint in (None, event.endpoint_id)

    @property
    def given(self) -> dict[str, Any]:
        """In the form of the API."""
        return {"type": self.kind, "endpoint": self.endpoint}


ANY = EventSelection(None, None)


async def _known(desk: "Desk", wanted: EventSelection) -> EventSelection:
    from mainspring.operations.endpoints import find_endpoint

    return (
        wanted
        if wanted.endpoint is None
        else EventSelection(wanted.kind, (await find_endpoint(desk, wanted.endpoint)).id)
    )


async def _latest(desk: "Desk", wanted: EventSelection, count: int) -> list["StoredEvent"]:
    """The newest events, matching or not: as many as are shown, or as many as the API reads for a filter."""
    reach = count if wanted == ANY else max(count, LOOKED_THROUGH_MAX)
    return await desk.stores.runs.latest_events(desk.tenant_id, reach)


def _newest_served(client: "Client", wanted: EventSelection, count: int) -> list["EventView"]:
    from mainspring.views.event import EventView

    if count > SERVED_MAX:
        note(f"a server returns at most the newest {SERVED_MAX} events; follow them, or read its database")
    found = client.events.list(limit=min(count, SERVED_MAX), **wanted.given)["items"] if count else []
    return EventView.read_all(found)


def _follow_server(client: "Client", wanted: EventSelection, count: int, output: Output) -> None:
    """The stream begins after the last event of the list, so that none is missed in between."""
    from mainspring.views.event import EventView

    if wanted.endpoint is not None:
        wanted = EventSelection(wanted.kind, client.endpoints.read(wanted.endpoint)["id"])
    reach = max(count, 1) if wanted == ANY else SERVED_MAX
    found = EventView.read_all(client.events.list(limit=min(reach, SERVED_MAX))["items"])
    begin = {"cursor": found[-1].cursor} if found else {}
    _print([event for event in found if wanted.takes(event)][-count:] if count else [], output)
    for given in client.events.stream(**begin):
        if wanted.takes(event := EventView.model_validate(given)):
            _print([event], output)


async def _follow(desk: "Desk", wanted: EventSelection, count: int, output: Output) -> None:
    """The newest events, then new ones as they happen; ends with the process."""
    import asyncio

    from mainspring.event_feed import Feed

    names: dict[str, str] = {}
    wanted = await _known(desk, wanted)
    latest = await _latest(desk, wanted, max(count, 1))
    newest = [stored for stored in latest if wanted.takes(stored.event)][-count:] if count else []
    _print(await _views(desk, newest, names), output)
    feed = Feed(desk.stores.runs)
    reading = asyncio.create_task(feed.run())
    try:
        async for _, found in feed.follow(desk.tenant_id, latest[-1].cursor if latest else "", FOLLOW_S):
            chosen = [stored for stored in found if wanted.takes(stored.event)]
            _print(await _views(desk, chosen, names), output)
    finally:
        feed.stop()
        await reading


async def _views(desk: "Desk", found: list["StoredEvent"], names: dict[str, str]) -> list["EventView"]:
    """With the names of their endpoints, which are added to the known ones."""
    from mainspring.views.event import EventView

    unknown = {stored.event.endpoint_id for stored in found} - names.keys() - {""}
    if unknown:
        names |= await desk.stores.look.names(desk.tenant_id, sorted(unknown))
    return [EventView.of(stored, names.get(stored.event.endpoint_id)) for stored in found]


def _print(found: list["EventView"], output: Output) -> None:
    for event in found:
        if output is Output.JSON:
            print(as_json(event, indent=None))
        else:
            say(f"{clock(event.at)}  {event.type}  {_subject(event)}  {_detail(event)}")
    sys.stdout.flush()


def _subject(event: "EventView") -> str:
    return event.endpoint or str(event.data.get("name") or event.endpoint_id or "-")


def _detail(event: "EventView") -> str:
    return " ".join(f"{name}={value}" for name, value in event.data.items() if value not in (None, "", "name"))

"""`mainspring events`: what happened, in order."""

import sys
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from mainspring.cli import remote_values
from mainspring.cli.arguments import read_choice
from mainspring.cli.command import OutputOption, ask
from mainspring.cli.endpoint_output import names_of
from mainspring.cli.output import Output, as_json, note, say, show_json
from mainspring.cli.table import Column, show_table
from mainspring.views.sentences import clock
from mainspring.views.shapes import event_shape, shown_data

if TYPE_CHECKING:
    from mainspring.client import Client
    from mainspring.domain.event import StoredEvent
    from mainspring.operations.endpoints import Desk

FOLLOW_S = 60.0
LOOKED_THROUGH_MAX = 5_000  # newest events that a filter reads, as in the API


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
            lambda client: _follow_afar(client, wanted, count, output),
            must_exist=True,
        )
        return

    async def work(desk: "Desk") -> tuple[list["StoredEvent"], dict[str, str]]:
        known = await _known(desk, wanted)
        found = _chosen(await _latest(desk, known, count), known, count)
        return found, await names_of(desk, {stored.event.endpoint_id for stored in found} - {""})

    found, names = ask(work, lambda client: _newest_afar(client, wanted, count))
    if output is Output.JSON:
        show_json([event_shape(stored, names.get(stored.event.endpoint_id)) for stored in found])
        return
    rows = [
        (clock(stored.event.at), stored.event.type.value, _subject(stored, names), stored.event.actor, _detail(stored))
        for stored in found
    ]
    columns = (
        Column("AT"),
        Column("EVENT"),
        Column("ENDPOINT", can_cut=True),
        Column("BY", spare=True),
        Column("DETAIL", tail=True),
    )
    show_table(columns, rows, "No events yet.")


class EventSelection(NamedTuple):
    """A filter of events; None matches any."""

    kind: str | None
    endpoint: str | None  # a name or an id; an id once it is resolved

    def takes(self, stored: "StoredEvent") -> bool:
        event = stored.event
        return self.kind in (None, event.type.value) and self.endpoint in (None, event.endpoint_id)

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
    """The newest events, matching or not: as many as are shown, or as the API reads for a filter."""
    reach = count if wanted == ANY else max(count, LOOKED_THROUGH_MAX)
    return await desk.stores.runs.latest_events(desk.tenant_id, reach)


def _chosen(found: list["StoredEvent"], wanted: EventSelection, count: int) -> list["StoredEvent"]:
    return [stored for stored in found if wanted.takes(stored)][-count:] if count else []


def _newest_afar(client: "Client", wanted: EventSelection, count: int) -> tuple[list["StoredEvent"], dict[str, str]]:
    if count > remote_values.EVENTS_MAX:
        note(
            f"a server returns at most the newest {remote_values.EVENTS_MAX} events; follow them, or read its database"
        )
    shapes = client.events.list(limit=min(count, remote_values.EVENTS_MAX), **wanted.given)["items"] if count else []
    return [remote_values.event_of(shape) for shape in shapes], remote_values.names_in(shapes)


def _follow_afar(client: "Client", wanted: EventSelection, count: int, output: Output) -> None:
    """The stream starts after the last event of the list, so that none is missed in between."""
    if wanted.endpoint is not None:
        wanted = EventSelection(wanted.kind, client.endpoints.read(wanted.endpoint)["id"])
    reach = max(count, 1) if wanted == ANY else remote_values.EVENTS_MAX
    shapes = client.events.list(limit=min(reach, remote_values.EVENTS_MAX))["items"]
    begin = {"cursor": shapes[-1]["cursor"]} if shapes else {}
    _print_all(
        _chosen([remote_values.event_of(shape) for shape in shapes], wanted, count),
        remote_values.names_in(shapes),
        output,
    )
    for shape in client.events.stream(**begin):
        if wanted.takes(stored := remote_values.event_of(shape)):
            _print_all([stored], remote_values.names_in([shape]), output)


async def _follow(desk: "Desk", wanted: EventSelection, count: int, output: Output) -> None:
    """The newest events, then new ones as they happen; ends with the process."""
    import asyncio

    from mainspring.event_feed import Feed

    names: dict[str, str] = {}
    wanted = await _known(desk, wanted)
    latest = await _latest(desk, wanted, max(count, 1))
    await _print(desk, _chosen(latest, wanted, count), names, output)
    feed = Feed(desk.stores.runs)
    reading = asyncio.create_task(feed.run())
    try:
        async for _, found in feed.follow(desk.tenant_id, latest[-1].cursor if latest else "", FOLLOW_S):
            await _print(desk, [stored for stored in found if wanted.takes(stored)], names, output)
    finally:
        feed.stop()
        await reading


async def _print(desk: "Desk", found: list["StoredEvent"], names: dict[str, str], output: Output) -> None:
    names |= await names_of(desk, {stored.event.endpoint_id for stored in found} - names.keys() - {""})
    _print_all(found, names, output)


def _print_all(found: list["StoredEvent"], names: dict[str, str], output: Output) -> None:
    for stored in found:
        if output is Output.JSON:
            print(as_json(event_shape(stored, names.get(stored.event.endpoint_id)), indent=None))
        else:
            subject = _subject(stored, names)
            say(f"{clock(stored.event.at)}  {stored.event.type.value}  {subject}  {_detail(stored)}")
    sys.stdout.flush()


def _subject(stored: "StoredEvent", names: dict[str, str]) -> str:
    event = stored.event
    return names.get(event.endpoint_id) or str(event.data.get("name") or event.endpoint_id or "-")


def _detail(stored: "StoredEvent") -> str:
    data = shown_data(stored.event.data)
    return " ".join(f"{name}={value}" for name, value in data.items() if value not in (None, "", "name"))

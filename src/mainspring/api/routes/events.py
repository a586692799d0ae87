"""Events: what changed, in order. A client that asks again with `next_cursor` misses nothing and sees nothing twice."""

from collections.abc import Callable
from typing import Annotated, Literal

from fastapi import APIRouter, Query

from mainspring.api.access import Known, Reading
from mainspring.api.cursors import open_cursor, seal_cursor
from mainspring.api.models.fields import Cursor, Limit
from mainspring.domain.event import EventType, StoredEvent
from mainspring.domain.notify.event_filter import may_see
from mainspring.operations.context import Desk
from mainspring.operations.endpoints import find_endpoint
from mainspring.views.event import EventView
from mainspring.views.view import PageOf

router = APIRouter(prefix="/events", tags=["events"])

PAGE = 250
LOOKED_THROUGH_MAX = 5_000  # events read for one filtered page


@router.get("")
async def list_events(
    desk: Reading,
    principal: Known,
    type: Annotated[EventType | None, Query(description="Only events of this type.")] = None,  # noqa: A002  # its name
    endpoint: Annotated[str | None, Query(max_length=1_000, description="Only events of this endpoint.")] = None,
    start: Annotated[
        Literal["newest", "oldest"],
        Query(description="Where to start without a cursor: with the newest or the oldest events."),
    ] = "newest",
    limit: Limit = 50,
    cursor: Cursor = None,
) -> PageOf[EventView]:
    """Events in order, oldest first. `next_cursor` is always present: ask again with it for newer events.

    A filtered page reads thousands of events, not all: it may be short and not be the last. Events about logins and
    keys need the scope `admin`.
    """
    endpoint_id = None if endpoint is None else (await find_endpoint(desk, endpoint)).id
    place = open_cursor(desk, "events", cursor)

    def wants(stored: StoredEvent) -> bool:
        event = stored.event
        return (
            (type is None or event.type is type)
            and (endpoint_id is None or event.endpoint_id == endpoint_id)
            and may_see(event.type, principal.scopes)
        )

    if place is None and start == "newest":
        wanted, last = await _newest(desk, wants, limit)
    else:
        wanted, last = await _following(desk, place[0] if place else "", wants, limit)
    ids = {each.event.endpoint_id for each in wanted if each.event.endpoint_id}
    names = await desk.stores.look.names(desk.tenant_id, sorted(ids)) if ids else {}
    return PageOf(
        items=[EventView.of(each, names.get(each.event.endpoint_id)) for each in wanted],
        next_cursor=seal_cursor(desk, "events", last),
    )


async def _newest(desk: Desk, wants: Callable[[StoredEvent], bool], limit: int) -> tuple[list[StoredEvent], str]:
    """The newest matching events, and the position of the newest of all."""
    for reach in (limit, LOOKED_THROUGH_MAX):
        stored = await desk.stores.runs.latest_events(desk.tenant_id, reach)
        found = [each for each in stored if wants(each)][-limit:]
        if len(found) == limit or len(stored) < reach:
            break
    return found, stored[-1].cursor if stored else ""


async def _following(
    desk: Desk, place: str, wants: Callable[[StoredEvent], bool], limit: int
) -> tuple[list[StoredEvent], str]:
    """Matching events after a position, and the position that the search reached."""
    found: list[StoredEvent] = []
    for _ in range(LOOKED_THROUGH_MAX // PAGE):
        stored = await desk.stores.runs.events_after(place, desk.tenant_id, PAGE)
        for each in stored:
            place = each.cursor
            if wants(each):
                found.append(each)
            if len(found) == limit:
                return found, place
        if len(stored) < PAGE:
            break
    return found, place

"""Events: what changed, in order. Whoever asks again with `next_cursor` misses nothing and sees nothing twice."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query

from mainspring.api.access import Known, Reading
from mainspring.api.answers import Event, Page
from mainspring.api.cursors import open_cursor, seal_cursor
from mainspring.api.fields import Cursor, Limit
from mainspring.domain.event import EventType
from mainspring.domain.selection import may_see
from mainspring.operations.endpoints import find_endpoint
from mainspring.shapes import Shape, event_shape

router = APIRouter(prefix="/events", tags=["events"])


@router.get("", response_model=Page[Event])
async def list_events(
    desk: Reading,
    principal: Known,
    type: Annotated[EventType | None, Query(description="Only events of this type.")] = None,  # noqa: A002  # its name
    endpoint: Annotated[str | None, Query(max_length=1_000, description="Only those of this endpoint.")] = None,
    start: Annotated[
        Literal["newest", "oldest"], Query(description="Where to begin without a cursor: the last ones, or the first.")
    ] = "newest",
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Shape:
    """In their order, oldest first. `next_cursor` is always there: ask again with it for what has happened since.

    A filter picks from the page, so a page may be short, or empty, and still not be the last.
    Who came in and with which keys is shown to the scope `admin` alone.
    """
    endpoint_id = None if endpoint is None else (await find_endpoint(desk, endpoint)).id
    place = open_cursor(desk, "events", cursor)
    if place is None and start == "newest":
        stored = await desk.stores.runs.latest_events(desk.tenant_id, limit)
    else:
        stored = await desk.stores.runs.events_after(place[0] if place else "", desk.tenant_id, limit)
    last = stored[-1].cursor if stored else (place[0] if place else "")
    wanted = [
        each
        for each in stored
        if (type is None or each.event.type is type)
        and (endpoint_id is None or each.event.endpoint_id == endpoint_id)
        and may_see(each.event.type, principal.scopes)
    ]
    ids = {each.event.endpoint_id for each in wanted if each.event.endpoint_id}
    names = await desk.stores.look.names(desk.tenant_id, sorted(ids)) if ids else {}
    return {
        "items": [event_shape(each, names.get(each.event.endpoint_id)) for each in wanted],
        "next_cursor": seal_cursor(desk, "events", last),
    }

"""The live stream of events."""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request
from starlette.responses import Response

from mainspring.api.access import Known, Reading, recognise
from mainspring.api.context import Context
from mainspring.api.cursors import open_cursor
from mainspring.api.event_stream import Blocks, EventStream
from mainspring.domain.access.scope import Principal, Scope
from mainspring.domain.errors import MainspringError, StoreUnavailable, TooManyRequests
from mainspring.domain.event import EventType, StoredEvent, place_of
from mainspring.domain.notify.event_filter import check_types, is_wanted, may_see
from mainspring.operations.context import Desk
from mainspring.operations.endpoints import find_endpoint
from mainspring.operations.jobs import find_job
from mainspring.ports.endpoints import EndpointFilter

router = APIRouter(prefix="/events", tags=["events"])
STREAMS_MAX = 1_000  # per process; each is a socket
STREAMS_OF_TENANT_MAX = 300
STREAMS_OF_KEY_MAX = 50
PAGE = 1_000
STREAM = {"text/event-stream": {"schema": {"type": "string"}}}


@router.get("/stream", response_class=Response, responses={200: {"content": STREAM}})
async def stream_events(
    desk: Reading,
    principal: Known,
    request: Request,
    types: Annotated[
        list[str] | None,
        Query(description="Events, or families such as `run.*`; repeated, or separated by commas. Default: all."),
    ] = None,
    endpoint: Annotated[str | None, Query(max_length=1_000, description="Only events of this endpoint.")] = None,
    job: Annotated[str | None, Query(max_length=1_000, description="Only events of this job's endpoints.")] = None,
    cursor: Annotated[
        str | None, Query(max_length=2_000, description="Start after this event; default: with new events.")
    ] = None,
    tenant: Annotated[
        str | None, Query(max_length=100, description="For a session: the tenant, like X-Mainspring-Tenant.")
    ] = None,
    last_event_id: Annotated[
        str | None, Header(max_length=2_000, description="The last id received; overrides `cursor`.")
    ] = None,
) -> Response:
    """Events as they happen, as server-sent events. Each has its cursor as `id`: reconnect with the last one
    received as `Last-Event-ID` to miss nothing and see nothing twice. Comments keep the connection open. Events
    about logins and keys need the scope `admin`.
    """
    context: Context = request.app.state.context
    if context.feed.listeners >= STREAMS_MAX:
        raise TooManyRequests(f"{STREAMS_MAX} streams are already open; try again in a minute", retry_after_s=60)
    wanted = check_types([part for text in types or () for part in text.split(",") if part.strip()])
    choice = Choice(desk, wanted, principal.scopes)
    await choice.narrow(endpoint, job)
    # "Now" is when the response starts, not when its first step is made. A position beyond the last one predates a
    # restore.
    place, now = _place(desk, last_event_id or cursor), await context.feed.newest()
    if place is None or _is_beyond(place, await desk.stores.runs.last_place()):
        place = now
    blocks: Blocks = request.app.state.blocks
    open_streams: Counter[tuple[str, str]] = request.app.state.streams
    owner = desk.tenant_id, desk.actor
    _refuse_many(open_streams, owner)
    return EventStream(
        desk, context.feed, blocks, place, choice.of, lambda: _is_welcome(request, principal), (open_streams, owner)
    )


def _refuse_many(open_streams: Counter[tuple[str, str]], owner: tuple[str, str]) -> None:
    """One key or tenant must not take the places of all others."""
    of_tenant = sum(number for (tenant, _), number in open_streams.items() if tenant == owner[0])
    if open_streams[owner] >= STREAMS_OF_KEY_MAX or of_tenant >= STREAMS_OF_TENANT_MAX:
        raise TooManyRequests(
            f"a key or user has at most {STREAMS_OF_KEY_MAX} open streams and a tenant {STREAMS_OF_TENANT_MAX}; "
            "close one, then try again",
            retry_after_s=60,
        )


class Choice:
    """The filter of a stream. Endpoints that join or leave a job are followed."""

    def __init__(self, desk: Desk, types: tuple[str, ...], scopes: frozenset[Scope]) -> None:
        self._desk = desk
        self._scopes = scopes
        self._types = types
        self._endpoint_id = ""
        self._job: tuple[str, str] | None = None
        self._members: set[str] = set()

    async def narrow(self, endpoint: str | None, job: str | None) -> None:
        if endpoint is not None:
            self._endpoint_id = (await find_endpoint(self._desk, endpoint)).id
        if job is not None:
            found = await find_job(self._desk, job)
            self._job = found.id, found.name
            endpoints = self._desk.stores.endpoints
            after: tuple[str, str] | None = None
            while page := await endpoints.endpoints(
                self._desk.tenant_id, EndpointFilter(job_id=found.id, after=after, limit=PAGE)
            ):
                self._members |= {each.id for each in page}
                after = page[-1].name, page[-1].id

    async def of(self, events: Sequence[StoredEvent]) -> list[StoredEvent]:
        if self._job is not None:
            for each in events:
                if each.event.type in (EventType.ENDPOINT_CREATED, EventType.ENDPOINT_UPDATED):
                    await self._look_again(each.event.endpoint_id)
        return [each for each in events if self._is_wanted(each)]

    def _is_wanted(self, stored: StoredEvent) -> bool:
        event = stored.event
        if not is_wanted(event.type.value, self._types) or not may_see(event.type, self._scopes):
            return False
        if self._endpoint_id:
            return event.endpoint_id == self._endpoint_id
        if self._job is None:
            return True
        is_about_it = event.type.value.startswith("job.") and event.data.get("name") == self._job[1]
        return is_about_it or event.endpoint_id in self._members

    async def _look_again(self, endpoint_id: str) -> None:
        found = await self._desk.stores.endpoints.endpoint(self._desk.tenant_id, endpoint_id)
        if found is not None and self._job is not None and found.job_id == self._job[0]:
            self._members.add(endpoint_id)
        else:
            self._members.discard(endpoint_id)


def _place(desk: Desk, cursor: str | None) -> str | None:
    """An event's own cursor, or the encrypted one at the end of a list of events."""
    if cursor is None or ":" in cursor:
        if cursor is not None:
            place_of(cursor)
        return cursor
    place = open_cursor(desk, "events", cursor)
    return place[0] if place else None


def _is_beyond(cursor: str, last_place: str) -> bool:
    return bool(cursor) and place_of(cursor)[0] > int(last_place)


async def _is_welcome(request: Request, opener: Principal) -> bool:
    """Whether the client still has the scope it needs; an unavailable database ends no stream."""
    asked = request.app.dependency_overrides.get(recognise, recognise)
    try:
        principal = await asked(request)
    except StoreUnavailable:
        return True
    except MainspringError:  # the key or session ended, or the member was removed
        return False
    return bool(principal.tenant_id == opener.tenant_id and principal.scopes >= opener.scopes)

"""Connections: named base URLs with credentials, TLS and proxy settings."""

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from mainspring.api.access import Reading, Running, Writing
from mainspring.api.context import Context
from mainspring.api.etags import IfMatch, refuse_other
from mainspring.api.models.fields import DryRun
from mainspring.api.models.requests import ConnectionCall, ConnectionNew, ConnectionPatch
from mainspring.domain.connection import Connection, ConnectionConfig, with_fields
from mainspring.operations import connections
from mainspring.views.connection import ConnectionDetailView, ConnectionTest, ConnectionView, detail_of
from mainspring.views.view import Deleted, DryRunOf, PageOf

router = APIRouter(prefix="/connections", tags=["connections"])
ConnectionRef = Annotated[
    str,
    Path(
        alias="connection",
        description="Id or name of a connection. If the name has a slash, use the id.",
        max_length=1_000,
        examples=["billing"],
    ),
]


@router.get("")
async def list_connections(desk: Reading) -> PageOf[ConnectionView]:
    """All connections, by name. Secrets are masked."""
    found = await desk.stores.connections.connections(desk.tenant_id)
    return PageOf(items=[ConnectionView.of(each) for each in found], next_cursor=None)


@router.post("", status_code=201, responses={200: {"model": DryRunOf[ConnectionView]}})
async def create_connection(
    desk: Writing, wish: ConnectionNew, response: Response, dry_run: DryRun = False
) -> ConnectionView | DryRunOf[ConnectionView]:
    """Create a connection. Its secrets are encrypted and in no response."""
    there = connections.dry_run_of(desk) if dry_run else desk
    config = with_fields(ConnectionConfig(wish.base_url), wish.sent() | {"base_url": wish.base_url})
    made = await connections.add_connection(there, wish.name, config)
    if dry_run:
        response.status_code = 200
        return DryRunOf[ConnectionView].of(None, ConnectionView.of(made))
    response.headers["ETag"] = etag(made)
    response.headers["Location"] = f"/api/v1/connections/{made.id}"
    return ConnectionView.of(made)


@router.get("/{connection}")
async def read_connection(desk: Reading, connection: ConnectionRef, response: Response) -> ConnectionDetailView:
    """One connection, with its users."""
    found = await connections.find_connection(desk, connection)
    response.headers["ETag"] = etag(found)
    return detail_of(found, await connections.connection_users(desk, found))


@router.patch("/{connection}")
async def update_connection(
    desk: Writing,
    connection: ConnectionRef,
    wish: ConnectionPatch,
    response: Response,
    if_match: IfMatch = None,
    dry_run: DryRun = False,
) -> ConnectionView | DryRunOf[ConnectionView]:
    """Change a connection. It is effective from the next call of each user on.

    A JSON merge patch: missing fields stay unchanged, null restores the default. Endpoints that use the connection move
    with its base URL.
    """
    found = await connections.find_connection(desk, connection)
    refuse_other(if_match, etag(found), "connection", found.name)
    there = connections.dry_run_of(desk) if dry_run else desk
    edited = await connections.edit_connection(there, found.id, lambda config: with_fields(config, wish.sent()))
    if dry_run:
        return DryRunOf[ConnectionView].of(ConnectionView.of(found), ConnectionView.of(edited))
    response.headers["ETag"] = etag(edited)
    return ConnectionView.of(edited)


@router.delete("/{connection}")
async def delete_connection(
    desk: Writing, connection: ConnectionRef, dry_run: DryRun = False
) -> Deleted | DryRunOf[ConnectionView]:
    """Delete a connection. A connection in use is not deleted; the error lists its users."""
    there = connections.dry_run_of(desk) if dry_run else desk
    found = await connections.delete_connection(there, connection)
    if dry_run:
        return DryRunOf[ConnectionView].of(ConnectionView.of(found), None)
    return Deleted.of(found)


@router.post("/{connection}/test")
async def test_connection(
    desk: Running, connection: ConnectionRef, wish: ConnectionCall, request: Request
) -> ConnectionTest:
    """Call the base URL, or a path, once, and return the result with phases and certificate. Nothing is stored."""
    context: Context = request.app.state.context
    url, outcome = await connections.test_connection(desk, context.caller, connection, wish.path or "")
    return ConnectionTest.of(url, outcome, await desk.stores.schedule.now())


def etag(connection: Connection) -> str:
    return f'"v{connection.version}"'

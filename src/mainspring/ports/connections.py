"""Port of connections: named base URLs with credentials, and the tokens that processes share."""

from typing import Protocol

from mainspring.domain.connection import Connection, ConnectionUser, StoredToken
from mainspring.domain.event import Event


class ConnectionStore(Protocol):
    async def add_connection(self, connection: Connection, event: Event) -> None:
        """Raises Conflict if the tenant has a connection of that name."""

    async def connections(self, tenant_id: str) -> list[Connection]:
        """All connections of a tenant, by name."""

    async def connection(self, tenant_id: str, name_or_id: str) -> Connection | None:
        """The connection of a tenant with this id, otherwise with this name."""

    async def put_connection(self, connection: Connection, event: Event) -> bool:
        """Writes version n over version n - 1. Returns False, having written nothing, for any other version."""

    async def delete_connection(self, tenant_id: str, connection_id: str, event: Event) -> bool:
        """Deletes it with its token. False: it does not exist. Raises Conflict, with its users, if it is in use."""

    async def users(self, tenant_id: str, name: str) -> list[ConnectionUser]:
        """What calls through the connection, by kind and name, except archived endpoints and calls that are done."""

    async def token(self, tenant_id: str, connection_id: str) -> StoredToken | None:
        """The shared token, for any version of the connection."""

    async def put_token(self, token: StoredToken) -> None:
        """Shares a token. Nothing is written if the connection has another version, or was deleted."""

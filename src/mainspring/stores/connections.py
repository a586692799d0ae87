"""Connections and their shared tokens, on both databases."""

from collections.abc import Sequence
from typing import Any

import msgspec

from mainspring.domain.connection import (
    Connection,
    ConnectionConfig,
    ConnectionUser,
    StoredToken,
    connection_name,
    named_twice,
    refuse_delete,
)
from mainspring.domain.event import Event
from mainspring.domain.kinds.registry import decode_action
from mainspring.domain.notify.subscription import Alert, Webhook, connections_of
from mainspring.stores.events import add_events
from mainspring.stores.session import Database, Row, Session, UniqueViolation

INSTANTS = (5, 6)  # created_at, updated_at
TOKEN_INSTANTS = (4,)
_CONFIG = msgspec.json.Decoder(ConnectionConfig)
_SUBSCRIPTION: msgspec.json.Decoder[Webhook | Alert] = msgspec.json.Decoder(Webhook | Alert)


class SqlConnectionStore:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def add_connection(self, connection: Connection, event: Event) -> None:
        async with self._db.transaction(connection.tenant_id) as session:
            try:
                await session.run("add_connection", *connection_values(connection))
            except UniqueViolation as fault:
                raise named_twice(connection) from fault
            await add_events(session, [event])

    async def connections(self, tenant_id: str) -> list[Connection]:
        async with self._db.reading(tenant_id) as session:
            return [_connection(session, row) for row in await session.rows("connections", tenant_id)]

    async def connection(self, tenant_id: str, name_or_id: str) -> Connection | None:
        async with self._db.reading(tenant_id) as session:
            rows = await session.rows("connection_by_name", tenant_id, name_or_id)
            return _connection(session, rows[0]) if rows else None

    async def put_connection(self, connection: Connection, event: Event) -> bool:
        async with self._db.transaction(connection.tenant_id) as session:
            if not await session.run("put_connection", *changed_connection_values(connection)):
                return False
            await add_events(session, [event])
            return True

    async def delete_connection(self, tenant_id: str, connection_id: str, event: Event) -> bool:
        async def work(session: Session) -> bool:
            rows = await session.rows("connection_by_name", tenant_id, connection_id)
            if not rows:
                return False
            found = _connection(session, rows[0])
            refuse_delete(found, await connection_users(session, tenant_id, found.name))
            await session.run("delete_connection", tenant_id, found.id)
            await add_events(session, [event])
            return True

        return await self._db.run_long(work, tenant_id)

    async def users(self, tenant_id: str, name: str) -> list[ConnectionUser]:
        return await self._db.run_read(lambda session: connection_users(session, tenant_id, name), tenant_id)

    async def token(self, tenant_id: str, connection_id: str) -> StoredToken | None:
        async with self._db.reading(tenant_id) as session:
            rows = await session.rows("connection_token", tenant_id, connection_id)
            return StoredToken(*_values(session.instants(rows[0], TOKEN_INSTANTS))) if rows else None

    async def put_token(self, token: StoredToken) -> None:
        async with self._db.transaction(token.tenant_id) as session:
            await session.run(
                "put_connection_token", token.sealed, token.expires_at, token.connection_id, token.version
            )


async def connection_users(session: Session, tenant_id: str, name: str) -> list[ConnectionUser]:
    endpoints = [
        ConnectionUser("endpoint" if row[3] is None else "call", str(row[0]), str(row[1] if row[3] is None else row[3]))
        for row in await session.rows("connected_endpoints", tenant_id)
        if connection_name(decode_action(str(row[2]))) == name
    ]
    subscriptions = [
        ConnectionUser(str(row[1]), str(row[0]), str(row[2]))
        for row in await session.rows("connected_subscriptions", tenant_id)
        if name in connections_of(_SUBSCRIPTION.decode(str(row[3])))
    ]
    return [*endpoints, *subscriptions]


def connection_values(each: Connection) -> tuple[object, ...]:
    return (
        each.id, each.tenant_id, each.name, _text(each), each.version, each.created_at, each.updated_at,
        each.managed_by,
    )  # fmt: skip


def changed_connection_values(each: Connection) -> tuple[object, ...]:
    """In the order of the query `put_connection`."""
    return _text(each), each.version, each.updated_at, each.managed_by, each.tenant_id, each.id


def _text(connection: Connection) -> str:
    return msgspec.json.encode(connection.config).decode()


def _connection(session: Session, row: Row) -> Connection:
    id_, tenant_id, name, config, *rest = _values(session.instants(row, INSTANTS))
    return Connection(id_, tenant_id, name, _CONFIG.decode(config), *rest)


def _values(row: Sequence[object]) -> list[Any]:
    return list(row)

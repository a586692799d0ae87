"""Rows with encrypted values: their contents and contexts, and how they are encrypted with another key."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from mainspring.domain import connection
from mainspring.domain.access.sealing import (
    answer_place,
    pair_place,
    ping_place,
    query_place,
    second_factor_place,
    signing_place,
)
from mainspring.domain.kinds.http import query_of
from mainspring.domain.kinds.registry import decode_action, kind_of
from mainspring.domain.notify.subscription import Alert, Webhook, destination_place, secret_place, target_place
from mainspring.failpoints import failpoint
from mainspring.ports.sealing import SealedKind, SealedRow
from mainspring.stores.session import Database, Session

BETWEEN = "\n"  # between request and response that are read as one text; no encrypted text contains it
QUERIES = {
    SealedKind.ENDPOINT: ("sealed_endpoint", "reseal_endpoint"),
    SealedKind.SIGNING_KEY: ("sealed_signing_key", "reseal_signing_key"),
    SealedKind.SUBSCRIPTION: ("sealed_subscription", "reseal_subscription"),
    SealedKind.CONNECTION: ("sealed_connection", "reseal_connection"),
    SealedKind.CONNECTION_TOKEN: ("sealed_connection_token", "reseal_connection_token"),
    SealedKind.SECOND_FACTOR: ("sealed_second_factor", "reseal_second_factor"),
    SealedKind.PING_URL: ("sealed_ping_url", "reseal_ping_url"),
    SealedKind.ANSWER: ("sealed_answer", "reseal_answer"),
}
_CONNECTION = msgspec.json.Decoder(connection.ConnectionConfig)
_CONFIG: msgspec.json.Decoder[Webhook | Alert] = msgspec.json.Decoder(Webhook | Alert)


class SqlSealedStore:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def sealed(self, kind: SealedKind, after: tuple[str, ...], limit: int) -> list[SealedRow]:
        query, _ = QUERIES[kind]
        async with self._db.reading() as session:
            if kind is SealedKind.ANSWER:
                place = after or ("", "", "")  # no part of a key is empty
                rows = await session.rows(query, BETWEEN, await session.now(), *place, limit)
            else:
                rows = await session.rows(query, *(after or ("",)), limit)
        return [sealed_row(kind, row) for row in rows]

    async def readable_queries(self, after: tuple[str, ...], limit: int) -> list[SealedRow]:
        async with self._db.reading() as session:
            rows = await session.rows("readable_queries", *(after or ("",)), limit)
        return [sealed_row(SealedKind.ENDPOINT, row) for row in rows]

    async def reseal(self, rows: Sequence[tuple[SealedRow, Mapping[str, str]]]) -> int:
        async with self._db.transaction() as session:
            endpoints = [row.place[0] for row, _ in rows if row.kind is SealedKind.ENDPOINT]
            if endpoints:
                await session.lock_endpoints(endpoints)  # an edit does this before it reads
            written = 0
            for row, fresh in rows:
                if await _reseal(session, row, resealed(row, fresh)):
                    written += len(fresh)
        failpoint("after_reseal")
        return written


async def _reseal(session: Session, row: SealedRow, text: str) -> bool:
    """Return False, having written nothing, if the row has changed since it was read."""
    _, query = QUERIES[row.kind]
    if row.kind is SealedKind.ANSWER:
        return bool(await session.run(query, *text.split(BETWEEN), *row.place, *row.text.split(BETWEEN)))
    if not await session.run(query, text, *row.place, row.text):
        return False
    if row.kind is SealedKind.ENDPOINT:
        await session.run("touch_schedule", *row.place)
    return True


def sealed_row(kind: SealedKind, row: Sequence[object]) -> SealedRow:
    """From `place..., tenant_id, text, is_busy`, the columns that the queries `sealed_*` read."""
    *place, tenant_id, text, is_busy = row
    found = tuple(map(str, place))
    values = _VALUES[kind](str(tenant_id), found, str(text))
    return SealedRow(kind, found, str(tenant_id), str(text), values, bool(is_busy))


def resealed(row: SealedRow, fresh: Mapping[str, str]) -> str:
    """The text with other encrypted texts in it. None of them contains a character that JSON escapes."""
    text = row.text
    for old, new in fresh.items():
        text = text.replace(old, new)
    return text


def _action(tenant_id: str, place: tuple[str, ...], text: str) -> dict[str, str]:
    action = decode_action(text)
    query = query_of(action)
    queries = {query: query_place(tenant_id, place[0])} if query else {}
    return queries | {
        each.value: pair_place(tenant_id, place[0], action, each.name)
        for each in kind_of(action).pairs_of(action)
        if each.secret
    }


def _key(tenant_id: str, place: tuple[str, ...], text: str) -> dict[str, str]:
    return {text: signing_place(tenant_id)}


def _second_factor(tenant_id: str, place: tuple[str, ...], text: str) -> dict[str, str]:
    return {text: second_factor_place(place[0])}


def _ping_url(tenant_id: str, place: tuple[str, ...], text: str) -> dict[str, str]:
    return {text: ping_place(tenant_id, place[0])}


def _subscription(tenant_id: str, place: tuple[str, ...], text: str) -> dict[str, str]:
    config = _CONFIG.decode(text)
    if isinstance(config, Alert):
        return {each.target: destination_place(tenant_id, place[0], each.id) for each in config.channels}
    targets = {config.target: target_place(tenant_id, place[0])} if config.target else {}
    return targets | {secret: secret_place(tenant_id, place[0]) for secret in config.secrets}


def _connection(tenant_id: str, place: tuple[str, ...], text: str) -> dict[str, str]:
    config = _CONNECTION.decode(text)
    return {
        sealed: connection.secret_place(tenant_id, place[0], name)
        for name in connection.SECRETS
        if (sealed := getattr(config, name))
    }


def _token(tenant_id: str, place: tuple[str, ...], text: str) -> dict[str, str]:
    return {text: connection.token_place(tenant_id, place[0])}


def _answer(tenant_id: str, place: tuple[str, ...], text: str) -> dict[str, str]:
    _, actor, key = place
    return {part: answer_place(tenant_id, actor, key) for part in text.split(BETWEEN) if part}


_VALUES: dict[SealedKind, Callable[[str, tuple[str, ...], str], dict[str, str]]] = {
    SealedKind.ENDPOINT: _action,
    SealedKind.SIGNING_KEY: _key,
    SealedKind.SUBSCRIPTION: _subscription,
    SealedKind.CONNECTION: _connection,
    SealedKind.CONNECTION_TOKEN: _token,
    SealedKind.SECOND_FACTOR: _second_factor,
    SealedKind.PING_URL: _ping_url,
    SealedKind.ANSWER: _answer,
}

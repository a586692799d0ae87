"""Rows that hold something sealed, on SQLite."""

from collections.abc import Mapping, Sequence

from mainspring.failpoints import failpoint
from mainspring.ports.sealing import SealedKind, SealedRow
from mainspring.stores.sealing import BETWEEN, beginning, resealed, sealed_row
from mainspring.stores.sqlite.connection import SqliteConnection
from mainspring.stores.sqlite.database import SqliteDatabase


class SqliteSealed:
    def __init__(self, database: SqliteDatabase) -> None:
        self._db = database

    async def sealed(self, kind: SealedKind, after: tuple[str, ...], limit: int) -> list[SealedRow]:
        place = beginning(kind, after)
        match kind:
            case SealedKind.ENDPOINT:
                rows = await self._db.read(lambda db: db.rows("sealed_endpoint", *place, limit))
            case SealedKind.SIGNING_KEY:
                rows = await self._db.read(lambda db: db.rows("sealed_signing_key", *place, limit))
            case SealedKind.SUBSCRIPTION:
                rows = await self._db.read(lambda db: db.rows("sealed_subscription", *place, limit))
            case SealedKind.SECOND_FACTOR:
                rows = await self._db.read(lambda db: db.rows("sealed_second_factor", *place, limit))
            case SealedKind.ANSWER:
                now = self._db.clock.now()
                rows = await self._db.read(lambda db: db.rows("sealed_answer", BETWEEN, now, *place, limit))
        return [sealed_row(kind, row) for row in rows]

    async def readable_queries(self, after: tuple[str, ...], limit: int) -> list[SealedRow]:
        place = beginning(SealedKind.ENDPOINT, after)
        rows = await self._db.read(lambda db: db.rows("readable_queries", *place, limit))
        return [sealed_row(SealedKind.ENDPOINT, row) for row in rows]

    async def reseal(self, rows: Sequence[tuple[SealedRow, Mapping[str, str]]]) -> int:
        written = await self._db.write(
            lambda db: sum(len(fresh) * _reseal(db, row, resealed(row, fresh)) for row, fresh in rows)
        )
        failpoint("after_reseal")
        return written


def _reseal(db: SqliteConnection, row: SealedRow, text: str) -> int:
    """1, or 0 where the row is another now."""
    match row.kind:
        case SealedKind.ENDPOINT:
            changed = db.run("reseal_endpoint", text, *row.place, row.text)
            if changed:
                db.run("touch_schedule", *row.place)
        case SealedKind.SIGNING_KEY:
            changed = db.run("reseal_signing_key", text, *row.place, row.text)
        case SealedKind.SUBSCRIPTION:
            changed = db.run("reseal_subscription", text, *row.place, row.text)
        case SealedKind.SECOND_FACTOR:
            changed = db.run("reseal_second_factor", text, *row.place, row.text)
        case SealedKind.ANSWER:
            changed = db.run("reseal_answer", *text.split(BETWEEN), *row.place, *row.text.split(BETWEEN))
    return changed

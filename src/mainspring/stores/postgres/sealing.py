"""Rows that hold something sealed, on PostgreSQL."""

from collections.abc import Mapping, Sequence

from mainspring.failpoints import failpoint
from mainspring.ports.sealing import SealedKind, SealedRow
from mainspring.stores.postgres.database import PostgresDatabase, columns
from mainspring.stores.postgres.schedule import lock
from mainspring.stores.sealing import BETWEEN, beginning, resealed, sealed_row


class PostgresSealed:
    def __init__(self, database: PostgresDatabase) -> None:
        self._db = database

    async def sealed(self, kind: SealedKind, after: tuple[str, ...], limit: int) -> list[SealedRow]:
        place = beginning(kind, after)
        async with self._db.statement() as session:
            match kind:
                case SealedKind.ENDPOINT:
                    rows = await session.rows("sealed_endpoint", *place, limit)
                case SealedKind.SIGNING_KEY:
                    rows = await session.rows("sealed_signing_key", *place, limit)
                case SealedKind.SUBSCRIPTION:
                    rows = await session.rows("sealed_subscription", *place, limit)
                case SealedKind.SECOND_FACTOR:
                    rows = await session.rows("sealed_second_factor", *place, limit)
                case SealedKind.ANSWER:
                    rows = await session.rows("sealed_answer", BETWEEN, await self._db.now_in(session), *place, limit)
        return [sealed_row(kind, row) for row in rows]

    async def readable_queries(self, after: tuple[str, ...], limit: int) -> list[SealedRow]:
        async with self._db.statement() as session:
            rows = await session.rows("readable_queries", *beginning(SealedKind.ENDPOINT, after), limit)
        return [sealed_row(SealedKind.ENDPOINT, row) for row in rows]

    async def reseal(self, rows: Sequence[tuple[SealedRow, Mapping[str, str]]]) -> int:
        if not rows:
            return 0
        kind = rows[0][0].kind
        if kind is SealedKind.ANSWER:
            new = [(*row.place, *row.text.split(BETWEEN), *resealed(row, fresh).split(BETWEEN)) for row, fresh in rows]
        else:
            new = [(*row.place, row.text, resealed(row, fresh)) for row, fresh in rows]
        values = columns(new, len(new[0]))
        async with self._db.transaction() as session:
            match kind:
                case SealedKind.ENDPOINT:
                    await lock(self._db, session, [row.place[0] for row, _ in rows])  # as an edit does, before it reads
                    changed = await session.rows("reseal_endpoints", *values)
                case SealedKind.SIGNING_KEY:
                    changed = await session.rows("reseal_signing_keys", *values)
                case SealedKind.SUBSCRIPTION:
                    changed = await session.rows("reseal_subscriptions", *values)
                case SealedKind.SECOND_FACTOR:
                    changed = await session.rows("reseal_second_factors", *values)
                case SealedKind.ANSWER:
                    changed = await session.rows("reseal_answers", *values)
        failpoint("after_reseal")
        places = {tuple(place) for place in changed}
        return sum(len(fresh) for row, fresh in rows if row.place in places)

"""Stored responses for requests that are sent again."""

from datetime import timedelta

from mainspring.stores.session import Database


class SqlIdempotencyStore:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def claim(
        self, tenant_id: str, actor: str, key: str, request: str, work_ms: int, keep_ms: int
    ) -> tuple[str, str | None] | None:
        place = (tenant_id, actor, key)
        work, keep = timedelta(milliseconds=work_ms), timedelta(milliseconds=keep_ms)
        async with self._db.transaction() as session:
            now = await session.now()
            await session.run("forget_answers", now)
            if tenant_id:  # otherwise the installation's own
                await session.only(tenant_id)
            if await session.run("claim_answer", *place, request, now + work, now + keep, now):
                return None
            rows = await session.rows("read_answer", *place)
        return (rows[0][0], rows[0][1]) if rows else ("", None)  # type: ignore[return-value]  # columns

    async def keep(self, tenant_id: str, actor: str, key: str, request: str, answer: str) -> None:
        async with self._db.statement(tenant_id or None) as session:
            await session.run("keep_answer", answer, tenant_id, actor, key, request)

    async def release(self, tenant_id: str, actor: str, key: str, request: str) -> None:
        async with self._db.statement(tenant_id or None) as session:
            await session.run("release_answer", tenant_id, actor, key, request)

"""Answers kept for requests that are sent again, on SQLite."""

from datetime import timedelta

from mainspring.stores.sqlite.database import Connection, Database


class SqliteAnswers:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def claim(
        self, tenant_id: str, actor: str, key: str, request: str, work_ms: int, keep_ms: int
    ) -> tuple[str, str | None] | None:
        place = (tenant_id, actor, key)

        def work(db: Connection) -> tuple[str, str | None] | None:
            now = self._db.clock.now()
            db.run("forget_answers", now)
            claimed_until = now + timedelta(milliseconds=work_ms)
            expires_at = now + timedelta(milliseconds=keep_ms)
            if db.run("claim_answer", *place, request, claimed_until, expires_at, now):
                return None
            held, answer = db.rows("read_answer", *place)[0]
            return str(held), None if answer is None else str(answer)

        return await self._db.write(work)

    async def keep(self, tenant_id: str, actor: str, key: str, request: str, answer: str) -> None:
        await self._db.write(lambda db: db.run("keep_answer", answer, tenant_id, actor, key, request))

    async def release(self, tenant_id: str, actor: str, key: str, request: str) -> None:
        await self._db.write(lambda db: db.run("release_answer", tenant_id, actor, key, request))

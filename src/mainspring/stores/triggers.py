"""Triggers of workflows: the position in the events, and the workflows that have triggers."""

from mainspring.ports.workflows import Published
from mainspring.stores.session import Database
from mainspring.stores.workflow_rows import published_from


class SqlTriggerStore:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def position(self, first: str) -> str:
        async with self._db.reading() as session:
            found = await session.value("trigger_position")
        if found is None:
            async with self._db.transaction() as session:
                await session.run("add_trigger_position", first)
                found = await session.value("trigger_position")
        return str(found)

    async def advance(self, before: str, after: str) -> bool:
        async with self._db.statement() as session:
            return bool(await session.run("move_trigger_position", after, before))

    async def stamp(self) -> str:
        async with self._db.reading() as session:
            return str(tuple((await session.rows("published_stamp"))[0]))

    async def triggered(self) -> list[tuple[str, Published]]:
        async with self._db.reading() as session:
            rows = await session.rows("triggered_workflows")
        return [(str(row[0]), published_from(row[1:])) for row in rows]

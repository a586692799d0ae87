"""What starts executions from outside, on SQLite."""

from mainspring.ports.flows import Published
from mainspring.stores.flows import published_from
from mainspring.stores.sqlite.database import Connection, Database


class SqliteTriggers:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def position(self, first: str) -> str:
        def work(db: Connection) -> object:
            db.run("add_trigger_position", first)
            return db.value("trigger_position")

        found = await self._db.read(lambda db: db.value("trigger_position"))
        return str(await self._db.write(work) if found is None else found)

    async def advance(self, before: str, after: str) -> bool:
        return bool(await self._db.write(lambda db: db.run("move_trigger_position", after, before)))

    async def stamp(self) -> str:
        return str((await self._db.read(lambda db: db.rows("published_stamp")))[0])

    async def triggered(self) -> list[tuple[str, Published]]:
        rows = await self._db.read(lambda db: db.rows("triggered_workflows"))
        return [(str(row[0]), published_from(row[1:])) for row in rows]

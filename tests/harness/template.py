"""What every PostgreSQL test database starts with.

`tests/conftest.py` calls `fill` once per test process, on an empty database, and then clones that database for
each test: a migration is paid for once, not a thousand times.
"""

import asyncio

from mainspring.wiring.stores import open_stores


def fill(url: str) -> None:
    """Bring the database at `url` to the newest schema; leave no connection open, or it cannot be cloned."""

    async def migrate() -> None:
        async with open_stores(url):
            pass

    asyncio.run(migrate())

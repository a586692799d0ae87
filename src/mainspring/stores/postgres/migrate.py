"""Migrate a PostgreSQL schema while it is in use.

Each migration is a separate transaction. It waits for a lock for a quarter of a second at most, because all statements
after a waiting ALTER TABLE wait with it: behind a reader of 30 s, every claim would. If the lock is not free, the
migration is rolled back and retried a second later. Indexes are built with CREATE INDEX CONCURRENTLY, which no claim
waits for; a migration with such a statement contains nothing else.
"""

import asyncio
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import asyncpg
import structlog

from mainspring import __version__
from mainspring.domain.errors import Misconfigured, NoDatabase, StoreUnavailable
from mainspring.stores.queries import migrations

if TYPE_CHECKING:
    from mainspring.stores.postgres.database import PostgresDatabase
    from mainspring.stores.postgres.session import PostgresSession

MIGRATION_LOCK = 0x6D61696E737072  # "mainspr"
LOCK_WAIT = "250ms"  # the longest time that claims wait for a waiting migration
PAUSE_S = 1.0  # between two attempts: queued statements complete
GIVE_UP_S = 900.0
STATEMENT_S = 660.0  # > the statement timeout that a migration sets on the server

Migration = tuple[int, str, str]

log = structlog.get_logger()


async def migrate(database: "PostgresDatabase", package: str, *, create: bool = True) -> tuple[str, ...]:
    """Apply missing migrations and return their names. Without `create`, an empty database stays empty."""
    known = migrations(package)
    done: list[str] = []
    give_up_s = time.monotonic() + GIVE_UP_S
    while True:
        try:
            names = await _next(database, known, create)
        except StoreUnavailable as fault:
            is_held = isinstance(fault.__cause__, asyncpg.LockNotAvailableError | asyncpg.DeadlockDetectedError)
            if not is_held or time.monotonic() > give_up_s:
                raise
            log.warning("migration waiting", fault=str(fault.__cause__))
            await asyncio.sleep(PAUSE_S)
            continue
        if not names:
            return tuple(done)
        done += names


async def _next(database: "PostgresDatabase", known: Sequence[Migration], create: bool) -> list[str]:
    """Apply the next missing migration, or all to an empty database; none: nothing is left to do."""
    async with database.transaction() as session:
        await session.script("SET LOCAL lock_timeout = '60s'; SET LOCAL statement_timeout = '600s'")
        await session.value("bound_transactions", "0", True)
        await session.value("lock_migrations", MIGRATION_LOCK, timeout_s=STATEMENT_S)
        missing = await _missing(session, known, create)
        is_new = len(missing) == len(known)
        if not missing:
            return []
        if is_new or not _is_concurrent(missing[0]):
            chosen = missing if is_new else missing[:1]
            await session.script(f"SET LOCAL lock_timeout = '{LOCK_WAIT}'")
            await _apply(database, session, chosen, missing)
            return [name for _, name, _ in chosen]
    await _build(database, missing[0], missing)
    return [missing[0][1]]


async def _missing(session: "PostgresSession", known: Sequence[Migration], create: bool) -> list[Migration]:
    applied: set[object] = set()
    if await session.value("has_migration_table"):  # a user without the right to create tables may find them created
        applied = {row[0] for row in await session.rows("applied_migrations")}
    elif not create:
        raise NoDatabase(
            "the PostgreSQL database has no tables of Mainspring; `mainspring migrate` creates them",
            setting="MAINSPRING_DATABASE_URL",
        )
    if unknown := applied - {number for number, _, _ in known}:
        newest = max(map(int, map(str, unknown)))
        raise Misconfigured(
            f"the database has schema {newest}, newer than this program knows; run the newer version (this is "
            f"{__version__}, which knows schema {known[-1][0]}), or restore a backup made with this one",
            setting="MAINSPRING_DATABASE_URL",
        )
    return [migration for migration in known if migration[0] not in applied]


async def _apply(
    database: "PostgresDatabase", session: "PostgresSession", chosen: Sequence[Migration], missing: Sequence[Migration]
) -> None:
    try:
        await session.run("create_migration_table")
        for number, name, text in chosen:
            # Nothing else uses an empty database, so all migrations are one transaction.
            await session.script(text.replace(" CONCURRENTLY", ""), timeout_s=STATEMENT_S)
            await session.run("add_migration", number, name, await session.now())
        await session.run("guard_tenants")
    except (asyncpg.InsufficientPrivilegeError, asyncpg.InvalidSchemaNameError) as fault:
        raise _refused(missing, fault) from None


async def _build(database: "PostgresDatabase", migration: Migration, missing: Sequence[Migration]) -> None:
    """Build indexes outside a transaction. One process builds; the others wait for it."""
    number, name, text = migration
    async with database.unbounded() as session:
        if not await session.value("try_build_lock", MIGRATION_LOCK):
            await asyncio.sleep(PAUSE_S)  # another process builds it; `migrate` checks again
            raise StoreUnavailable("another process migrates") from asyncpg.LockNotAvailableError("builds an index")
        try:
            for statement in filter(None, (part.strip() for part in text.split(";\n"))):
                await session.script(statement, timeout_s=STATEMENT_S)
            await session.run("add_migration_once", number, name, await session.now())
        except (asyncpg.InsufficientPrivilegeError, asyncpg.InvalidSchemaNameError) as fault:
            raise _refused(missing, fault) from None
        finally:
            await session.value("leave_build_lock", MIGRATION_LOCK)


def _is_concurrent(migration: Migration) -> bool:
    return " CONCURRENTLY " in migration[2]


def _refused(missing: Sequence[Migration], fault: Exception) -> Misconfigured:
    return Misconfigured(
        f"the database lacks the migrations up to {missing[-1][1]}, and the user of "
        f"MAINSPRING_DATABASE_URL may not change its schema ({fault}); run `mainspring migrate` as the user "
        "who owns the tables, then start this again",
        setting="MAINSPRING_DATABASE_URL",
    )

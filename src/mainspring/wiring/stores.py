"""The stores behind a database URL."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mainspring.domain.audit import AuditKeys
from mainspring.domain.errors import Misconfigured, NoDatabase
from mainspring.domain.name import shown
from mainspring.domain.schedule import CRON
from mainspring.ports.flows import FlowStores
from mainspring.ports.outside import Clock, Ids
from mainspring.ports.stores import Stores
from mainspring.wiring.clock import SystemClock, TimeOrderedIds

if TYPE_CHECKING:
    from mainspring.stores.postgres.database import Database as PostgresDatabase
    from mainspring.stores.sqlite.database import Database as SqliteDatabase

DATABASE_URL = "MAINSPRING_DATABASE_URL"


@asynccontextmanager
async def open_stores(
    url: str,
    *,
    clock: Clock | None = None,
    ids: Ids | None = None,
    inline: bool = False,
    pool_size: int = 8,
    behind_bouncer: bool = False,
    audit_keys: AuditKeys | None = None,
    create: bool = True,
) -> AsyncIterator[Stores]:
    """Open the database of `url`, bring its schema up to date, and close it in the end.

    `clock` replaces the database's clock, for simulations and tests. `inline` runs SQLite without threads.
    `audit_keys` seal the audit trail; without them, as in a simulation, it is sealed with an empty key.
    Without `create`, a database that does not exist, or has no schema, is left alone: NoDatabase.
    """
    ids = ids or TimeOrderedIds()
    scheme, _, rest = url.partition("://")
    if scheme == "sqlite":
        path = rest.removeprefix("/") if rest.startswith("/:memory:") else rest
        if not path.strip("/"):
            raise Misconfigured("the database URL names no file; write sqlite:///path/to/file.db", setting=DATABASE_URL)
        if not (create or _exists(path)):
            raise NoDatabase(f"there is no database {path}; `mainspring serve` creates it", setting=DATABASE_URL)
        from mainspring.stores.sqlite.database import Database as SqliteDatabase

        sqlite = SqliteDatabase(path, clock or SystemClock(), inline=inline, audit_keys=audit_keys)
        try:
            yield _sqlite_stores(sqlite, ids)
        finally:
            await sqlite.aclose()
    elif scheme in ("postgresql", "postgres"):
        from mainspring.stores.postgres.database import Database as PostgresDatabase

        postgres = await PostgresDatabase.open(
            url, clock, pool_size=pool_size, behind_bouncer=behind_bouncer, audit_keys=audit_keys, create=create
        )
        try:
            yield _postgres_stores(postgres, ids)
        finally:
            await postgres.aclose()
    else:
        raise Misconfigured(
            f"unknown kind of database{f' {shown(scheme)!r}' if '://' in url else ''}; "
            "give sqlite:///path/to/file.db or postgresql://user@host/name",
            setting=DATABASE_URL,
        )


def _exists(path: str) -> bool:
    return Path(path).exists()


def _sqlite_stores(database: "SqliteDatabase", ids: Ids) -> Stores:
    from mainspring.stores.sqlite.accounts import SqliteAccounts, SqliteAudit, SqliteCredentials
    from mainspring.stores.sqlite.answers import SqliteAnswers
    from mainspring.stores.sqlite.clock import SqliteClock
    from mainspring.stores.sqlite.configuration import SqliteConfiguration
    from mainspring.stores.sqlite.endpoints import SqliteEndpoints
    from mainspring.stores.sqlite.look import SqliteLook
    from mainspring.stores.sqlite.notifications import SqliteOutbox, SqliteSubscriptions
    from mainspring.stores.sqlite.partitions import SqlitePartitions
    from mainspring.stores.sqlite.planner import SqlitePlanner
    from mainspring.stores.sqlite.presence import SqlitePresence
    from mainspring.stores.sqlite.runs import SqliteRuns
    from mainspring.stores.sqlite.schedule import SqliteSchedule
    from mainspring.stores.sqlite.sealing import SqliteSealed
    from mainspring.stores.sqlite.sessions import SqliteSessions
    from mainspring.stores.sqlite.ticks import SqliteEffects, SqliteTicks
    from mainspring.stores.sqlite.triggers import SqliteTriggers
    from mainspring.stores.sqlite.upkeep import SqliteUpkeep
    from mainspring.stores.sqlite.workflows import SqliteArchive, SqliteLogs, SqliteWorkflows

    schedule = SqliteSchedule(database, ids, CRON)
    return Stores(
        schedule,
        SqliteEndpoints(database, schedule.wake),
        SqliteRuns(database),
        SqliteUpkeep(database),
        SqliteConfiguration(database, schedule.wake),
        SqliteAccounts(database),
        SqliteCredentials(database),
        SqliteAudit(database),
        SqlitePlanner(database, schedule.wake, CRON),
        SqliteLook(database),
        SqliteAnswers(database),
        SqliteSubscriptions(database),
        SqliteOutbox(database),
        FlowStores(
            SqliteWorkflows(database),
            SqliteTicks(database),
            SqliteLogs(database),
            SqliteEffects(database),
            SqliteTriggers(database),
            SqliteArchive(database),
            SqlitePartitions(database),
        ),
        SqliteSessions(database),
        SqliteSealed(database),
        SqlitePresence(database, schedule, CRON),
        SqliteClock(database, schedule.wake, CRON),
    )


def _postgres_stores(database: "PostgresDatabase", ids: Ids) -> Stores:
    from mainspring.stores.postgres.accounts import PostgresAccounts, PostgresAudit, PostgresCredentials
    from mainspring.stores.postgres.answers import PostgresAnswers
    from mainspring.stores.postgres.clock import PostgresClock
    from mainspring.stores.postgres.configuration import PostgresConfiguration
    from mainspring.stores.postgres.endpoints import PostgresEndpoints
    from mainspring.stores.postgres.look import PostgresLook
    from mainspring.stores.postgres.notifications import PostgresOutbox, PostgresSubscriptions
    from mainspring.stores.postgres.partitions import PostgresPartitions
    from mainspring.stores.postgres.planner import PostgresPlanner
    from mainspring.stores.postgres.presence import PostgresPresence
    from mainspring.stores.postgres.runs import PostgresRuns
    from mainspring.stores.postgres.schedule import PostgresSchedule
    from mainspring.stores.postgres.sealing import PostgresSealed
    from mainspring.stores.postgres.sessions import PostgresSessions
    from mainspring.stores.postgres.ticks import PostgresEffects, PostgresTicks
    from mainspring.stores.postgres.triggers import PostgresTriggers
    from mainspring.stores.postgres.upkeep import PostgresUpkeep
    from mainspring.stores.postgres.workflows import PostgresArchive, PostgresLogs, PostgresWorkflows

    schedule = PostgresSchedule(database, ids, CRON)
    return Stores(
        schedule,
        PostgresEndpoints(database, schedule.wake),
        PostgresRuns(database),
        PostgresUpkeep(database),
        PostgresConfiguration(database, schedule.wake),
        PostgresAccounts(database),
        PostgresCredentials(database),
        PostgresAudit(database),
        PostgresPlanner(database, schedule.wake, CRON),
        PostgresLook(database),
        PostgresAnswers(database),
        PostgresSubscriptions(database),
        PostgresOutbox(database),
        FlowStores(
            PostgresWorkflows(database),
            PostgresTicks(database),
            PostgresLogs(database),
            PostgresEffects(database),
            PostgresTriggers(database),
            PostgresArchive(database),
            PostgresPartitions(database),
        ),
        PostgresSessions(database),
        PostgresSealed(database),
        PostgresPresence(database, schedule, CRON),
        PostgresClock(database, schedule.wake, CRON),
    )

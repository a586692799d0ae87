"""Open the stores of a database URL."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mainspring.domain.access.audit import AuditKeys
from mainspring.domain.errors import Misconfigured, NoDatabase
from mainspring.domain.name import shown
from mainspring.domain.schedule.cron import CRON
from mainspring.ports.outbound import Clock, Ids
from mainspring.ports.stores import Stores
from mainspring.ports.workflows import WorkflowStores
from mainspring.stores.accounts import SqlAccountStore, SqlAuditStore, SqlCredentialStore
from mainspring.stores.idempotency import SqlIdempotencyStore
from mainspring.stores.lists import SqlListStore
from mainspring.stores.model_sessions import SqlModelSessionStore
from mainspring.stores.notifications import SqlOutboxStore, SqlSubscriptionStore
from mainspring.stores.partitions import SqlPartitionStore
from mainspring.stores.runs import SqlRunStore
from mainspring.stores.triggers import SqlTriggerStore
from mainspring.stores.workflows import SqlArchiveStore, SqlLogStore, SqlWorkflowStore
from mainspring.wiring.clock import SystemClock, TimeOrderedIds

if TYPE_CHECKING:
    from mainspring.stores.postgres.database import PostgresDatabase
    from mainspring.stores.sqlite.database import SqliteDatabase

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
    """Opens the database of `url`, migrates its schema, and closes it at the end.

    `clock` replaces the database clock, for simulations and tests. `inline` runs SQLite without threads. `audit_keys`
    seal the audit trail; without them, as in a simulation, it is sealed with an empty key. Without `create`, a database
    that does not exist, or has no schema, is left alone: NoDatabase.
    """
    ids = ids or TimeOrderedIds()
    scheme, _, rest = url.partition("://")
    if scheme == "sqlite":
        path = rest.removeprefix("/") if rest.startswith("/:memory:") else rest
        if not path.strip("/"):
            raise Misconfigured("the database URL has no file; write sqlite:///path/to/file.db", setting=DATABASE_URL)
        if not (create or _exists(path)):
            raise NoDatabase(f"database {path} does not exist; `mainspring serve` creates it", setting=DATABASE_URL)
        from mainspring.stores.sqlite.database import SqliteDatabase

        sqlite = SqliteDatabase(path, clock or SystemClock(), inline=inline, audit_keys=audit_keys)
        try:
            yield _sqlite_stores(sqlite, ids)
        finally:
            await sqlite.aclose()
    elif scheme in ("postgresql", "postgres"):
        from mainspring.stores.postgres.database import PostgresDatabase

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
    from mainspring.stores.sqlite.clock import SqliteClock
    from mainspring.stores.sqlite.documents import SqliteDocuments
    from mainspring.stores.sqlite.endpoints import SqliteEndpoints
    from mainspring.stores.sqlite.events import SqliteEventReader
    from mainspring.stores.sqlite.planner import SqlitePlanner
    from mainspring.stores.sqlite.presence import SqlitePresence
    from mainspring.stores.sqlite.proposals import SqliteProposals
    from mainspring.stores.sqlite.schedule import SqliteSchedule
    from mainspring.stores.sqlite.sealing import SqliteSealed
    from mainspring.stores.sqlite.ticks import SqliteEffects, SqliteTicks
    from mainspring.stores.sqlite.upkeep import SqliteUpkeep

    schedule = SqliteSchedule(database, ids, CRON)
    events = SqliteEventReader()
    return Stores(
        schedule,
        SqliteEndpoints(database, schedule.wake),
        SqlRunStore(database, events),
        SqliteUpkeep(database),
        SqliteDocuments(database, schedule.wake),
        SqlAccountStore(database),
        SqlCredentialStore(database),
        SqlAuditStore(database),
        SqlitePlanner(database, schedule.wake, CRON),
        SqlListStore(database),
        SqlIdempotencyStore(database),
        SqlSubscriptionStore(database, events),
        SqlOutboxStore(database, events),
        WorkflowStores(
            SqlWorkflowStore(database),
            SqliteTicks(database),
            SqlLogStore(database),
            SqliteEffects(database),
            SqlTriggerStore(database),
            SqlArchiveStore(database),
            SqlPartitionStore(database),
        ),
        SqlModelSessionStore(database),
        SqliteSealed(database),
        SqlitePresence(database, schedule, CRON),
        SqliteClock(database, schedule.wake, CRON),
        SqliteProposals(database),
    )


def _postgres_stores(database: "PostgresDatabase", ids: Ids) -> Stores:
    from mainspring.stores.postgres.clock import PostgresClock
    from mainspring.stores.postgres.documents import PostgresDocuments
    from mainspring.stores.postgres.endpoints import PostgresEndpoints
    from mainspring.stores.postgres.events import PostgresEventReader
    from mainspring.stores.postgres.planner import PostgresPlanner
    from mainspring.stores.postgres.presence import PostgresPresence
    from mainspring.stores.postgres.proposals import PostgresProposals
    from mainspring.stores.postgres.schedule import PostgresSchedule
    from mainspring.stores.postgres.sealing import PostgresSealed
    from mainspring.stores.postgres.ticks import PostgresEffects, PostgresTicks
    from mainspring.stores.postgres.upkeep import PostgresUpkeep

    schedule = PostgresSchedule(database, ids, CRON)
    events = PostgresEventReader()
    return Stores(
        schedule,
        PostgresEndpoints(database, schedule.wake),
        SqlRunStore(database, events),
        PostgresUpkeep(database),
        PostgresDocuments(database, schedule.wake),
        SqlAccountStore(database),
        SqlCredentialStore(database),
        SqlAuditStore(database),
        PostgresPlanner(database, schedule.wake, CRON),
        SqlListStore(database),
        SqlIdempotencyStore(database),
        SqlSubscriptionStore(database, events),
        SqlOutboxStore(database, events),
        WorkflowStores(
            SqlWorkflowStore(database),
            PostgresTicks(database),
            SqlLogStore(database),
            PostgresEffects(database),
            SqlTriggerStore(database),
            SqlArchiveStore(database),
            SqlPartitionStore(database),
        ),
        SqlModelSessionStore(database),
        PostgresSealed(database),
        PostgresPresence(database, schedule, CRON),
        PostgresClock(database, schedule.wake, CRON),
        PostgresProposals(database),
    )

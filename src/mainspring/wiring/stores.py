"""Open the stores of a database URL."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from mainspring.domain.access.audit import AuditKeys
from mainspring.domain.errors import Misconfigured, NoDatabase
from mainspring.domain.name import shown
from mainspring.domain.schedule.cron import CRON
from mainspring.ports.outbound import Clock, Ids
from mainspring.ports.presence import PresenceStore
from mainspring.ports.schedule import ScheduleStore
from mainspring.ports.stores import Stores
from mainspring.ports.upkeep import UpkeepStore
from mainspring.ports.workflows import EffectStore, TickStore, WorkflowStores
from mainspring.stores.accounts import SqlAccountStore, SqlAuditStore, SqlCredentialStore
from mainspring.stores.calendars import SqlCalendarStore
from mainspring.stores.callbacks import SqlCallbackStore
from mainspring.stores.calls import SqlCallStore
from mainspring.stores.clock import SqlClockStore
from mainspring.stores.connections import SqlConnectionStore
from mainspring.stores.documents import SqlDocumentStore
from mainspring.stores.endpoints import SqlEndpointStore
from mainspring.stores.events import EventReader
from mainspring.stores.idempotency import SqlIdempotencyStore
from mainspring.stores.lists import SqlListStore
from mainspring.stores.maintenance import SqlMaintenanceStore
from mainspring.stores.model_sessions import SqlModelSessionStore
from mainspring.stores.notifications import SqlOutboxStore, SqlSubscriptionStore
from mainspring.stores.partitions import SqlPartitionStore
from mainspring.stores.pings import SqlPingStore
from mainspring.stores.planner import SqlPlannerStore
from mainspring.stores.proposals import SqlProposalStore
from mainspring.stores.runs import SqlRunStore
from mainspring.stores.sealing import SqlSealedStore
from mainspring.stores.session import Database
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
    keep_runs: timedelta = timedelta(days=30),
) -> AsyncIterator[Stores]:
    """Opens the database of `url`, migrates its schema, and closes it at the end.

    `clock` replaces the database clock, for simulations and tests. `inline` runs SQLite without threads. `audit_keys`
    seal the audit trail; without them, as in a simulation, it is sealed with an empty key. Without `create`, a database
    that does not exist, or has no schema, is left alone: NoDatabase. `keep_runs` decides the width of partitions.
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
            url,
            clock,
            pool_size=pool_size,
            behind_bouncer=behind_bouncer,
            audit_keys=audit_keys,
            create=create,
            keep_runs=keep_runs,
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
    from mainspring.stores.sqlite.events import SqliteEventReader
    from mainspring.stores.sqlite.presence import SqlitePresence
    from mainspring.stores.sqlite.schedule import SqliteSchedule
    from mainspring.stores.sqlite.ticks import SqliteEffects, SqliteTicks
    from mainspring.stores.sqlite.upkeep import SqliteUpkeep

    schedule = SqliteSchedule(database, ids, CRON)
    return _stores(
        database,
        SqliteEventReader(),
        schedule,
        schedule.wake,
        schedule.read_windows_again,
        SqliteUpkeep(database),
        SqlitePresence(database, schedule, CRON),
        SqliteTicks(database),
        SqliteEffects(database),
        ids,
    )


def _postgres_stores(database: "PostgresDatabase", ids: Ids) -> Stores:
    from mainspring.stores.postgres.events import PostgresEventReader
    from mainspring.stores.postgres.presence import PostgresPresence
    from mainspring.stores.postgres.schedule import PostgresSchedule
    from mainspring.stores.postgres.ticks import PostgresEffects, PostgresTicks
    from mainspring.stores.postgres.upkeep import PostgresUpkeep

    schedule = PostgresSchedule(database, ids, CRON)
    return _stores(
        database,
        PostgresEventReader(),
        schedule,
        schedule.wake,
        schedule.read_windows_again,
        PostgresUpkeep(database),
        PostgresPresence(database, schedule, CRON),
        PostgresTicks(database),
        PostgresEffects(database),
        ids,
    )


def _stores(
    database: Database,
    events: EventReader,
    schedule: ScheduleStore,
    wake: Callable[[], None],
    read_windows_again: Callable[[], None],
    upkeep: UpkeepStore,
    presence: PresenceStore,
    ticks: TickStore,
    effects: EffectStore,
    ids: Ids,
) -> Stores:
    """All stores of a database: those that differ in kind are given, the others are the same for both."""
    return Stores(
        schedule=schedule,
        endpoints=SqlEndpointStore(database, wake),
        calls=SqlCallStore(database, wake),
        runs=SqlRunStore(database, events),
        upkeep=upkeep,
        maintenance=SqlMaintenanceStore(database, read_windows_again),
        configuration=SqlDocumentStore(database, events, read_windows_again),
        accounts=SqlAccountStore(database),
        credentials=SqlCredentialStore(database),
        audit=SqlAuditStore(database),
        planner=SqlPlannerStore(database, events, wake, CRON),
        look=SqlListStore(database),
        answers=SqlIdempotencyStore(database),
        subscriptions=SqlSubscriptionStore(database, events),
        outbox=SqlOutboxStore(database, events),
        flows=WorkflowStores(
            workflows=SqlWorkflowStore(database),
            ticks=ticks,
            logs=SqlLogStore(database),
            effects=effects,
            triggers=SqlTriggerStore(database),
            archive=SqlArchiveStore(database),
            partitions=SqlPartitionStore(database),
        ),
        sessions=SqlModelSessionStore(database),
        sealed=SqlSealedStore(database),
        presence=presence,
        clock=SqlClockStore(database, wake, CRON),
        proposals=SqlProposalStore(database),
        pings=SqlPingStore(database, wake, ids, CRON),
        callbacks=SqlCallbackStore(database, wake, CRON),
        connections=SqlConnectionStore(database),
        calendars=SqlCalendarStore(database),
    )

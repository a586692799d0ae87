"""Where the wires meet: the only place that names concrete adapters, the real clock and the real ids."""

import asyncio
import base64
import binascii
import os
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime
from itertools import count
from random import Random
from secrets import token_hex
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.access import Principal, Scope
from mainspring.domain.audit import AuditKeys
from mainspring.domain.endpoint import Tenant
from mainspring.domain.errors import Misconfigured, StoreUnavailable
from mainspring.domain.instant import to_us
from mainspring.domain.name import shown
from mainspring.domain.schedule import CRON
from mainspring.operations.endpoints import Desk
from mainspring.ports import Clock, Ids, Locksmith, Stores, Vault
from mainspring.settings import Settings
from mainspring.workflow_ports import FlowStores

if TYPE_CHECKING:
    from mainspring.domain.subscription import ChannelKind
    from mainspring.feed import Feed
    from mainspring.mailroom import Messenger
    from mainspring.observe import Metrics
    from mainspring.outbound.http import HttpCaller
    from mainspring.outbound.oidc import OidcIssuer
    from mainspring.outbound.vault import KeyRing
    from mainspring.stores.postgres.database import Database as PostgresDatabase
    from mainspring.stores.sqlite.database import Database as SqliteDatabase
    from mainspring.workers.notifier import Notifier
    from mainspring.workers.supervisor import Worker


KEPT_CONNECTIONS = 100
READY_S = 3  # whoever asks whether we are ready gives up after a few seconds


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)


class TimeOrderedIds:
    """Millisecond of the store's clock, a counter, 64 random bits: sorts by time, and within a process by order.

    An id is no secret, so the bits need not come from the system each time: that would let go of the interpreter.
    """

    def __init__(self) -> None:
        self._random = Random()
        self._count = count(self._random.getrandbits(12))

    def new(self, prefix: str, now: datetime) -> str:
        return f"{prefix}_{to_us(now) // 1000:012x}{next(self._count) & 0xFFFF:04x}{self._random.getrandbits(64):016x}"


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
) -> AsyncIterator[Stores]:
    """Open the database of `url`, bring its schema up to date, and close it in the end.

    `clock` replaces the database's clock, for simulations and tests. `inline` runs SQLite without threads.
    `audit_keys` seal the audit trail; without them, as in a simulation, it is sealed with an empty key.
    """
    ids = ids or TimeOrderedIds()
    scheme, _, rest = url.partition("://")
    if scheme == "sqlite":
        path = rest.removeprefix("/") if rest.startswith("/:memory:") else rest
        if not path.strip("/"):
            raise Misconfigured(
                "the database URL names no file; write sqlite:///path/to/file.db", setting="MAINSPRING_DATABASE_URL"
            )
        from mainspring.stores.sqlite.database import Database as SqliteDatabase

        sqlite = SqliteDatabase(path, clock or SystemClock(), inline=inline, audit_keys=audit_keys)
        try:
            yield _sqlite_stores(sqlite, ids)
        finally:
            await sqlite.aclose()
    elif scheme in ("postgresql", "postgres"):
        from mainspring.stores.postgres.database import Database as PostgresDatabase

        postgres = await PostgresDatabase.open(
            url, clock, pool_size=pool_size, behind_bouncer=behind_bouncer, audit_keys=audit_keys
        )
        try:
            yield _postgres_stores(postgres, ids)
        finally:
            await postgres.aclose()
    else:
        raise Misconfigured(
            f"unknown kind of database{f' {shown(scheme)!r}' if '://' in url else ''}; "
            "give sqlite:///path/to/file.db or postgresql://user@host/name",
            setting="MAINSPRING_DATABASE_URL",
        )


def _sqlite_stores(database: "SqliteDatabase", ids: Ids) -> Stores:
    from mainspring.stores.sqlite.accounts import SqliteAccounts, SqliteAudit, SqliteCredentials
    from mainspring.stores.sqlite.answers import SqliteAnswers
    from mainspring.stores.sqlite.configuration import SqliteConfiguration
    from mainspring.stores.sqlite.endpoints import SqliteEndpoints
    from mainspring.stores.sqlite.look import SqliteLook
    from mainspring.stores.sqlite.notifications import SqliteOutbox, SqliteSubscriptions
    from mainspring.stores.sqlite.planner import SqlitePlanner
    from mainspring.stores.sqlite.runs import SqliteRuns
    from mainspring.stores.sqlite.schedule import SqliteSchedule
    from mainspring.stores.sqlite.sessions import SqliteSessions
    from mainspring.stores.sqlite.ticks import SqliteEffects, SqliteTicks
    from mainspring.stores.sqlite.upkeep import SqliteUpkeep
    from mainspring.stores.sqlite.workflows import SqliteLogs, SqliteWorkflows

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
        FlowStores(SqliteWorkflows(database), SqliteTicks(database), SqliteLogs(database), SqliteEffects(database)),
        SqliteSessions(database),
    )


def _postgres_stores(database: "PostgresDatabase", ids: Ids) -> Stores:
    from mainspring.stores.postgres.accounts import PostgresAccounts, PostgresAudit, PostgresCredentials
    from mainspring.stores.postgres.answers import PostgresAnswers
    from mainspring.stores.postgres.configuration import PostgresConfiguration
    from mainspring.stores.postgres.endpoints import PostgresEndpoints
    from mainspring.stores.postgres.look import PostgresLook
    from mainspring.stores.postgres.notifications import PostgresOutbox, PostgresSubscriptions
    from mainspring.stores.postgres.planner import PostgresPlanner
    from mainspring.stores.postgres.runs import PostgresRuns
    from mainspring.stores.postgres.schedule import PostgresSchedule
    from mainspring.stores.postgres.sessions import PostgresSessions
    from mainspring.stores.postgres.ticks import PostgresEffects, PostgresTicks
    from mainspring.stores.postgres.upkeep import PostgresUpkeep
    from mainspring.stores.postgres.workflows import PostgresLogs, PostgresWorkflows

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
            PostgresWorkflows(database), PostgresTicks(database), PostgresLogs(database), PostgresEffects(database)
        ),
        PostgresSessions(database),
    )


def open_keys(settings: Settings) -> "KeyRing":
    """The key that secrets are sealed with; makes a key file at the first start."""
    from mainspring.outbound.vault import KeyRing, load_or_create_key

    if not settings.secret_key:
        return KeyRing(load_or_create_key(settings.key_file))
    try:
        key = base64.b64decode(settings.secret_key, validate=True)
    except binascii.Error:
        key = b""
    if len(key) != 32:
        raise Misconfigured(
            "MAINSPRING_SECRET_KEY is not 32 bytes in base64; make one with `openssl rand -base64 32`",
            setting="MAINSPRING_SECRET_KEY",
        )
    return KeyRing(key)


def open_locksmith() -> Locksmith:
    from mainspring.outbound.locksmith import Argon2Locksmith

    return Argon2Locksmith()


def open_issuer(settings: Settings) -> "OidcIssuer | None":
    from mainspring.outbound.oidc import OidcIssuer

    given = (settings.oidc_issuer, settings.oidc_client_id, settings.oidc_client_secret)
    return OidcIssuer(*given) if settings.oidc_issuer else None


def open_caller(settings: Settings, vault: Vault) -> "HttpCaller":
    from mainspring.outbound.guard import AddressGuard
    from mainspring.outbound.http import HttpCaller

    return HttpCaller(
        AddressGuard(settings.allow_cidrs, own=_own_listeners(settings)),
        vault,
        clock=SystemClock().now,
        allow_ports=settings.allow_ports,
        connections_max=settings.concurrency + KEPT_CONNECTIONS,  # a place that waits for a socket would run late
    )


def _own_listeners(settings: Settings) -> frozenset[tuple[str, int]]:
    """Where we and our database listen: no endpoint may call that, whatever networks are allowed."""
    database = urlsplit(settings.url)
    ours = [(settings.host, settings.port)]
    if database.hostname and database.scheme.startswith("postgres"):
        ours.append((database.hostname, database.port or 5432))
    return frozenset((address, port) for host, port in ours if port for address in _addresses(host))


def _addresses(host: str) -> set[str]:
    """What a name or an unspecified address stands for on this machine; nothing where that cannot be found out."""
    names = [host] if host not in ("0.0.0.0", "::", "") else ["127.0.0.1", "::1", socket.gethostname()]
    found: set[str] = set()
    for name in names:
        with suppress(OSError):
            found |= {str(info[4][0]).partition("%")[0] for info in socket.getaddrinfo(name, None)}
    return found


@asynccontextmanager
async def open_desk(settings: Settings, actor: str = "cli") -> AsyncIterator[Desk]:
    """One tenant's stores with everything operations need; refuses a database that was sealed with another key."""
    from mainspring.outbound.checkpoints import CheckpointSigner
    from mainspring.outbound.vault import Vault as SealingVault

    keys = open_keys(settings)
    async with open_stores(
        settings.url,
        pool_size=settings.database_pool,
        behind_bouncer=settings.pgbouncer,
        audit_keys=keys.audit_keys,
    ) as stores:
        await _prepare(stores, settings, keys.primary_id)
        desk = Desk(stores, settings.tenant, actor, TimeOrderedIds(), SealingVault(keys), CRON)
        yield replace(
            desk,
            allow_ports=settings.allow_ports,
            never_called=never_called,
            signer=CheckpointSigner(keys),
            partitions=settings.workflow_partitions,
        )


async def _prepare(stores: Stores, settings: Settings, key_id: str) -> None:
    sealed_with = await stores.upkeep.installation("secret_key_id", key_id)
    if sealed_with != key_id:
        raise Misconfigured(
            f"the secrets of this database are sealed with key {sealed_with}, but this process has key "
            f"{key_id}; set MAINSPRING_SECRET_KEY or MAINSPRING_SECRET_KEY_FILE to the key it was made with",
            setting="MAINSPRING_SECRET_KEY",
        )
    if await stores.endpoints.tenant(settings.tenant) is None:
        await stores.endpoints.put_tenant(Tenant(settings.tenant, settings.tenant))


def never_called(host: str) -> str | None:
    """Why this host is never called, whatever an operator allows; None: it may be, or its name must be looked up."""
    from mainspring.outbound.guard import ANYWHERE, judge_name

    return judge_name(host, ANYWHERE)


def judge_host(settings: Settings, host: str) -> str | None:
    """Why calls to this host will be blocked, as far as its name tells before it is looked up; None: nothing seen."""
    from mainspring.outbound.guard import judge_name

    return judge_name(host, settings.allow_cidrs)


def new_signing_secret() -> str:
    from mainspring.outbound.signing import generate_secret

    return generate_secret()


def worker_name() -> str:
    return f"{socket.gethostname()}-{os.getpid()}-{token_hex(3)}"


def is_gone(worker: str) -> bool:
    """Whether a worker of this machine has ended, although its last sign of life is recent."""
    host, pid, _ = worker.rsplit("-", 2) if worker.count("-") >= 2 else ("", "", "")
    if host != socket.gethostname() or not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # it lives, as another user
        pass
    return False


class Running(Struct, frozen=True):
    """The workers of one process and what its doors need to look at them."""

    workers: tuple["Worker", ...]
    desk: Desk
    caller: "HttpCaller"
    metrics: "Metrics"

    @property
    def stores(self) -> Stores:
        return self.desk.stores

    async def supervise(self, *others: "Worker") -> None:
        """Work until a signal comes or a worker ends; drains before it returns."""
        from mainspring.workers.supervisor import supervise

        await supervise([*others, *self.workers])

    async def check_database(self) -> str | None:
        try:
            async with asyncio.timeout(READY_S):
                await self.stores.upkeep.ping()
        except TimeoutError:
            return f"the database did not answer within {READY_S} s"
        except StoreUnavailable as fault:
            return str(fault)
        return None


@asynccontextmanager
async def open_scheduler(settings: Settings) -> AsyncIterator["Running"]:
    """The scheduler, the planner and the janitor of one process, ready to be supervised."""
    from mainspring.flow_wiring import open_flows
    from mainspring.observe import Metrics
    from mainspring.planner_wiring import open_analysts
    from mainspring.workers.janitor import Janitor, JanitorOptions
    from mainspring.workers.planner import Planner
    from mainspring.workers.scheduler import Scheduler, SchedulerOptions

    async with open_desk(settings, actor="system") as desk:
        stores, metrics = desk.stores, Metrics()
        caller = open_caller(settings, desk.vault)
        options = SchedulerOptions(
            worker=worker_name(),
            places=settings.concurrency,
            per_tenant=settings.concurrency_per_tenant,
            per_host=settings.concurrency_per_host,
            lease_margin_ms=int(settings.lease_margin.total_seconds() * 1000),
            grace_s=settings.shutdown_grace.total_seconds(),
        )
        upkeep = JanitorOptions(
            settings.zombie_after,
            settings.late_after,
            settings.keep_runs,
            settings.keep_bodies,
            settings.keep_events,
            settings.keep_runs_per_endpoint,
        )
        scheduler = Scheduler(stores.schedule, caller, options, metrics)
        flows = open_flows(settings, desk, caller, metrics, worker_name())
        try:
            janitor = Janitor(stores.upkeep, stores.runs, upkeep, metrics)
            planner = Planner(stores.planner, metrics, options.worker)
            analysts = open_analysts(settings, desk)
            yield Running((scheduler, planner, *analysts, janitor, *flows), desk, caller, metrics)
        finally:
            await caller.aclose()


class Notices(Struct, frozen=True):
    """What tells others: the feed and the notifier of one process, and how messages leave it."""

    feed: "Feed"
    notifier: "Notifier"
    messengers: "dict[ChannelKind, Messenger]"


def open_messengers(settings: Settings) -> "dict[ChannelKind, Messenger]":
    from mainspring.domain.subscription import ChannelKind
    from mainspring.outbound.mail import Mailer
    from mainspring.outbound.services import Services

    return {
        ChannelKind.MAIL: Mailer(settings.smtp_url, settings.mail_from),
        ChannelKind.APPRISE: Services(settings.allow_apprise),
    }


@asynccontextmanager
async def open_notices(settings: Settings, desk: Desk, metrics: "Metrics") -> AsyncIterator[Notices]:
    """The notifier with a caller of its own: a receiver that hangs takes no place from an endpoint's run."""
    from mainspring.feed import Feed
    from mainspring.workers.alerter import Alerter
    from mainspring.workers.courier import Courier
    from mainspring.workers.notifier import Notifier, NotifierOptions

    caller, messengers, stores = open_caller(settings, desk.vault), open_messengers(settings), desk.stores
    feed = Feed(stores.runs)
    late_ms = int(settings.late_after.total_seconds() * 1000)
    courier = Courier(stores.endpoints, caller, messengers, desk.vault, desk.ids)
    alerter = Alerter(stores, desk.ids, late_ms, settings.public_url)
    options = NotifierOptions(worker_name(), keep=settings.keep_events)
    try:
        yield Notices(feed, Notifier(stores, feed, courier, alerter, options, metrics), messengers)
    finally:
        await caller.aclose()


async def run_notifier(settings: Settings, on_ready: Callable[[], None]) -> None:
    """A notifier alone, as a process of its own, until a signal comes."""
    from mainspring.observe import Metrics
    from mainspring.workers.supervisor import supervise

    async with open_desk(settings, actor="notifier") as desk, open_notices(settings, desk, Metrics()) as notices:
        on_ready()
        await supervise([notices.feed, notices.notifier])


async def serve_assistant(settings: Settings, scopes: frozenset[Scope]) -> None:
    """The MCP server on standard input and output, for whoever started this process."""
    from mainspring.mcp.transports import serve_stdio

    async with open_desk(settings, actor="mcp") as desk:
        caller = open_caller(settings, desk.vault)
        try:
            await serve_stdio(Principal(desk.tenant_id, desk.actor, scopes), lambda _, __: desk, caller)
        finally:
            await caller.aclose()


@contextmanager
def open_web(
    settings: Settings, running: Running, notices: Notices, on_ready: Callable[[str], None]
) -> Iterator[list["Worker"]]:
    """The web server of one process, bound to its port, and what lives with it: ready to be supervised as workers."""
    from starlette.routing import Route

    from mainspring.api.access import admit
    from mainspring.api.app import make_app
    from mainspring.api.context import Context
    from mainspring.api.server import WebServer
    from mainspring.configuration.watcher import watch
    from mainspring.mcp.transports import WebDoor

    def desk(tenant_id: str, actor: str) -> Desk:
        return replace(running.desk, tenant_id=tenant_id, actor=actor)

    checks = {"database": running.check_database}
    watchers = watch(replace(running.desk, actor="config_dir"), settings.config_dir, prune=settings.config_prune)
    context = Context(
        running.stores,
        desk,
        running.caller,
        settings,
        running.metrics.registry(),
        checks,
        notices.feed,
        notices.messengers,
        open_locksmith(),
        {"config_dir": each.check for each in watchers},  # noqa: B035  # one, or none
        open_issuer(settings),
    )
    app = make_app(context)
    assistants = WebDoor(admit, desk, running.caller)
    app.router.routes.insert(0, Route("/mcp", assistants))
    web = WebServer(app, settings.host, settings.port, on_ready, notices.feed.stop, settings.trusted_proxies)
    try:
        yield [web, assistants, *watchers]
    finally:
        web.close()

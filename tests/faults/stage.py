"""A database, a journal and the environment of the workers between them: what every fault test plays on."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from dataclasses import replace as replace_field
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import apsw
from msgspec.structs import replace

from mainspring.domain.endpoint import Endpoint, Job, JobStatus, LostWorkerPolicy, Tenant
from mainspring.domain.event import Event, EventType
from mainspring.domain.run import HttpAction
from mainspring.operations.context import Desk
from mainspring.ports.stores import Stores
from mainspring.settings import load_settings
from mainspring.stores.endpoints import SqlEndpointStore
from mainspring.stores.events import add_events
from mainspring.stores.rows import config_values, state_values
from mainspring.stores.session import Session
from mainspring.wiring.desk import open_desk
from mainspring.wiring.stores import open_stores
from tests.faults.worker_forker import ACKNOWLEDGED, Nursery, Worker
from tests.harness.proxy import FaultProxy
from tests.harness.waiting import until_true
from tests.peers.journal import Journal
from tests.stores.world import START, an_endpoint

JOB = "job_default"
MANY = 100
WRITTEN_WITHIN_MS = 1_000  # longer than a commit takes, and short beside the calls that are in flight meanwhile
UNHURRIED_MS = 30_000  # for calls that must succeed: what is slow is the machine, and no fault of an endpoint


# Of tests about leases and caps themselves, which would else wait for minutes. What a dead worker holds is free long
# before its lease ends: whatever is about that runs `at_defaults`.
SHORT_LEASES = {"lease_margin": "1s", "concurrency_per_host": 1_000}


@dataclass(frozen=True)
class Stage:
    """`settings` are those of every worker, by their names in lower case: lease_margin="1s"."""

    url: str
    folder: Path
    settings: Mapping[str, object] = field(default_factory=lambda: SHORT_LEASES)

    def at_defaults(self) -> "Stage":
        """The same with the settings that users have."""
        return replace_field(self, settings={})

    @property
    def is_sqlite(self) -> bool:
        return self.url.startswith("sqlite")

    def env(self, failpoints: str = "", /, **settings: object) -> dict[str, str]:
        given: dict[str, object] = {
            "database_url": self.url,
            "data_dir": self.folder,
            "allow_cidrs": "127.0.0.0/8",
            "log_format": "json",
            **self.settings,
            **settings,
        }
        env = {f"MAINSPRING_{name.upper()}": str(value) for name, value in given.items()}
        return env | ({"MAINSPRING_FAILPOINTS": failpoints} if failpoints else {})

    def nursery(self, failpoints: str = "", /, **settings: object) -> Nursery:
        number = len(list(self.folder.glob("log.*")))
        env = self.env(failpoints, **settings) | {ACKNOWLEDGED: str(self.acknowledged_file)}
        return Nursery(env, self.folder / f"log.{number}")

    @property
    def acknowledged_file(self) -> Path:
        """The ids of all results that a PostgreSQL store said it has."""
        return self.folder / "acknowledged"

    @asynccontextmanager
    async def desk(self, **settings: object) -> AsyncIterator[Desk]:
        """Operations from another process than the workers': this one."""
        env = self.env(**settings)
        async with open_desk(load_settings(env)) as desk:
            yield desk

    @asynccontextmanager
    async def stores(self) -> AsyncIterator[Stores]:
        async with open_stores(self.url) as stores:
            yield stores


async def fill(stores: Stores, endpoints: Iterable[Endpoint]) -> None:
    """Store endpoints, and the tenants and jobs they name that are not there yet."""
    by_tenant: dict[str, list[Endpoint]] = defaultdict(list)
    for endpoint in endpoints:
        by_tenant[endpoint.tenant_id].append(endpoint)
    for tenant_id, theirs in by_tenant.items():
        await _open_tenant(stores, tenant_id, theirs[0].job_id)
        if len(theirs) >= MANY:
            await _add_many(stores, tenant_id, theirs)
            continue
        for endpoint in theirs:
            await stores.endpoints.add_endpoint(endpoint, _created(endpoint))


@asynccontextmanager
async def proxied(stage: Stage) -> AsyncIterator[tuple[Stage, FaultProxy]]:
    """The same PostgreSQL through a proxy that misbehaves on request."""
    place = urlsplit(stage.url)
    assert place.hostname is not None
    assert place.port is not None
    async with FaultProxy(place.hostname, place.port) as proxy:
        yield Stage(stage.url.replace(f":{place.port}/", f":{proxy.port}/"), stage.folder), proxy


async def stand_still(stage: Stage, worker: Worker) -> None:
    """SIGSTOP, but not in the middle of a commit: on SQLite whoever stops there lets nobody write until it goes on."""
    worker.freeze()
    while not await can_be_written(stage):
        worker.thaw()
        await until_true(lambda: can_be_written(stage), "its commit ends")
        worker.freeze()


async def can_be_written(stage: Stage) -> bool:
    """Whether nobody who stands still has the one lock of an SQLite file."""
    if not stage.is_sqlite:
        return True
    file = apsw.Connection(stage.url.removeprefix("sqlite://"))
    file.set_busy_timeout(WRITTEN_WITHIN_MS)
    try:
        await asyncio.to_thread(file.execute, "BEGIN IMMEDIATE")
    except apsw.BusyError:
        return False
    finally:
        file.close()
    return True


async def _add_many(stores: Stores, tenant_id: str, endpoints: Sequence[Endpoint]) -> None:
    """What adding them one by one writes, in one transaction: a thousand take a second and not ten."""
    events = [_created(each) for each in endpoints]
    assert isinstance(stores.endpoints, SqlEndpointStore)

    async def work(session: Session) -> None:
        await session.run_many("add_endpoint", [config_values(each) for each in endpoints])
        states = [(each.id, each.tenant_id, each.host, *state_values(each)) for each in endpoints]
        await session.run_many("add_schedule", states)
        await add_events(session, events, (), endpoints)
        await session.notify()

    await stores.endpoints._db.run_long(work, tenant_id)


def _created(endpoint: Endpoint) -> Event:
    return Event(EventType.ENDPOINT_CREATED, START, endpoint.tenant_id, endpoint.id)


async def _open_tenant(stores: Stores, tenant_id: str, job_id: str) -> None:
    if await stores.endpoints.tenant(tenant_id) is None:
        await stores.endpoints.put_tenant(Tenant(tenant_id, tenant_id))
    if job_id not in [job.id for job in await stores.endpoints.jobs(tenant_id)]:
        job = Job(job_id, tenant_id, "default", "", JobStatus.ACTIVE, START, START)
        await stores.endpoints.add_job(job, Event(EventType.JOB_CREATED, START, tenant_id))


def calling(url: str, due_at: datetime, interval_ms: int = 500, timeout_ms: int = 1_000, **fields: object) -> Endpoint:
    """An endpoint that calls `url`, first at `due_at`, then at its interval."""
    planned = replace(
        an_endpoint(),
        action=HttpAction(url=url, timeout_ms=timeout_ms),
        host=url.split("/")[2],
        interval_ms=interval_ms,
        next_run_at=due_at,
        anchor_at=due_at - timedelta(milliseconds=interval_ms),
    )
    return replace(planned, **fields)


def steady_load(
    journal: Journal, from_at: datetime, delay_ms: int, *policies: LostWorkerPolicy, timeout_ms: int = 1_000
) -> list[Endpoint]:
    """Forty endpoints at half a second, spread over it, that take turns in what happens when their worker is lost."""
    count, interval_ms = 40, 500
    return [
        calling(
            journal.url(f"/{number}?delay_ms={delay_ms}"),
            from_at + timedelta(milliseconds=interval_ms * number / count),
            interval_ms,
            timeout_ms,
            on_lost_worker=policies[number % len(policies)] if policies else LostWorkerPolicy.RETRY,
        )
        for number in range(count)
    ]

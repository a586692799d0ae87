"""Pings and their tokens."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.event import Event
from mainspring.domain.run import Run, RunStatus
from mainspring.domain.schedule.finish import Finished
from mainspring.domain.schedule.governor import CronReader
from mainspring.domain.schedule.ping import Ping, Reception, receive
from mainspring.ports.outbound import Ids
from mainspring.ports.pings import PingUrl
from mainspring.stores.endpoints import endpoint_row
from mainspring.stores.events import add_events
from mainspring.stores.rows import Row, body_values, error_text, event_rows, run_values, state_values
from mainspring.stores.session import Database, Session

SOON = timedelta(seconds=10)  # a scheduler looks again every few seconds, so later due times need no notification


class SqlPingStore:
    def __init__(self, database: Database, wake: Callable[[], None], ids: Ids, cron: CronReader) -> None:
        self._db = database
        self._wake = wake
        self._ids = ids
        self._cron = cron

    async def receive(self, pings: Sequence[tuple[str, Ping]]) -> list[bool]:
        async with self._db.looking() as session:
            found = await session.rows("ping_targets", sorted({digest for digest, _ in pings}))
        targets = sorted({str(endpoint_id) for endpoint_id, _ in found})
        if not targets:
            return [False] * len(pings)
        async with self._db.transaction() as session:
            batch = _PingBatch()
            _, now = await session.lock_endpoints(targets)
            await session.make_room(now)
            before = {
                endpoint.id: endpoint
                for endpoint in (endpoint_row(session, row) for row in await session.rows("endpoints_by_id", targets))
            }
            rows = await session.rows("ping_urls_of", targets)
            keys = {str(endpoint_id): str(key) for endpoint_id, _, key in rows}
            owners = {str(digest): str(endpoint_id) for endpoint_id, digest, _ in rows}
            current = dict(before)
            accepted = []
            for digest, ping in pings:
                endpoint = current.get(owners.get(digest, ""))
                is_taken = endpoint is not None and endpoint.action.is_expected and endpoint.archived_at is None
                accepted.append(is_taken)
                if endpoint is None or not is_taken:
                    continue
                got = receive(endpoint, keys[endpoint.id], ping, self._ids.new("run", now), now, self._cron)
                batch.add(got, now)
                current[endpoint.id] = got.endpoint
                if keys[endpoint.id] != got.run_key:
                    keys[endpoint.id] = batch.keys[endpoint.id] = got.run_key
            changed = [each for each in current.values() if each is not before[each.id]]
            await batch.write(session, changed)
            moved = any(_is_sooner(before[each.id], each, now) for each in changed)
            if moved:
                await session.notify()
        if moved:
            self._wake()
        return accepted

    async def ping_url(self, tenant_id: str, endpoint_id: str) -> tuple[str, datetime] | None:
        async with self._db.reading(tenant_id) as session:
            rows = await session.rows("ping_url", tenant_id, endpoint_id)
        return (str(rows[0][0]), session.instant(rows[0][1])) if rows else None  # type: ignore[return-value]  # not null

    async def put_ping_url(self, url: PingUrl, event: Event) -> None:
        async with self._db.transaction(url.tenant_id) as session:
            await session.run("put_ping_url", url.endpoint_id, url.tenant_id, url.digest, url.sealed, url.created_at)
            await add_events(session, [event])

    async def revoke_ping_url(self, tenant_id: str, endpoint_id: str, event: Event) -> bool:
        async with self._db.transaction(tenant_id) as session:
            if not await session.run("revoke_ping_url", tenant_id, endpoint_id):
                return False
            await add_events(session, [event])
            return True


class _PingBatch:
    """The rows of several pings, so that one transaction serves them all."""

    def __init__(self) -> None:
        self._runs: dict[str, Run] = {}  # runs that begin with these pings
        self._ended: list[Row] = []
        self._bodies: list[Row] = []
        self._closed: list[Row] = []
        self._events: list[Event] = []
        self.keys: dict[str, str] = {}

    def add(self, got: Reception, now: datetime) -> None:
        if got.opened is not None:
            self._runs[got.opened.run_id] = got.opened.opened
        for finished, settlement in got.ended:
            self._end(finished, settlement.status)
        if (closed := got.closed) is not None:
            self._closed.append((closed.status, closed.error, now, got.endpoint.tenant_id, closed.run_id))
        self._events.extend(got.events)

    def _end(self, finished: Finished, status: RunStatus) -> None:
        claim, outcome = finished.claim, finished.outcome
        tenant_id, run_id = claim.endpoint.tenant_id, claim.run_id
        error = error_text(outcome.error)
        self._ended.append(
            (status, finished.finished_at, outcome.duration_ms, outcome.status_code, outcome.error_code, error,
             tenant_id, run_id)
        )  # fmt: skip
        if outcome.body is not None:
            self._bodies.append((*body_values(outcome.body), tenant_id, run_id))

    async def write(self, session: Session, changed: Sequence[Endpoint]) -> None:
        await session.run_many("close_judged_run", self._closed)
        await session.run_many("add_run", [run_values(run) for run in self._runs.values()])
        await session.run_many("end_pinged_run", self._ended)
        await session.run_many("add_body", self._bodies)
        await session.run_many("write_run_key", [(key, endpoint_id) for endpoint_id, key in self.keys.items()])
        await session.update("write_states", [(*state_values(each), each.id) for each in changed])
        await session.insert("insert_events", event_rows(self._events))


def _is_sooner(old: Endpoint, new: Endpoint, now: datetime) -> bool:
    at = new.next_run_at
    return at is not None and at < now + SOON and (old.next_run_at is None or at < old.next_run_at)

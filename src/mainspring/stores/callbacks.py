"""Callbacks: reports of targets about runs that they accepted."""

from collections.abc import Callable
from datetime import datetime

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.run import RunStatus
from mainspring.domain.schedule.callback import CallbackReport, Receipt, began_at, receive
from mainspring.domain.schedule.finish import Finished
from mainspring.domain.schedule.governor import CronReader
from mainspring.failpoints import is_on
from mainspring.stores.endpoints import endpoint_row
from mainspring.stores.events import add_events
from mainspring.stores.maintenance import MaintenanceCache
from mainspring.stores.pings import SOON
from mainspring.stores.rows import body_values, error_text, state_values
from mainspring.stores.runs import run_row
from mainspring.stores.session import Database, Session


class SqlCallbackStore:
    def __init__(self, database: Database, wake: Callable[[], None], cron: CronReader) -> None:
        self._db = database
        self._wake = wake
        self._cron = cron
        self._maintenance = MaintenanceCache()

    async def receive(self, tenant_id: str, endpoint_id: str, run_id: str, report: CallbackReport) -> Receipt | None:
        async with self._db.transaction() as session:
            _, now = await session.lock_endpoints([endpoint_id])
            endpoints = await session.rows("endpoints_by_id", [endpoint_id])
            runs = await session.rows("run", tenant_id, run_id)
            if not endpoints or not runs:
                return None
            endpoint, run = endpoint_row(session, endpoints[0]), run_row(session, runs[0])
            await self._maintenance.look(session)
            since = {tenant_id: began_at(endpoint, run)}
            windows = self._maintenance.open_since(since, now, self._cron).get(tenant_id, ())
            fenced = not is_on("no_callback_fence")
            got = receive(endpoint, run, report, windows, now, self._cron, fenced=fenced)
            if got.endpoint is not endpoint:
                await session.update("write_states", [(*state_values(got.endpoint), endpoint_id)])
            await _write(session, got, now)
            is_soon = _is_soon(endpoint, got.endpoint, now)
            if is_soon:
                await session.notify()
        if is_soon:
            self._wake()
        return got


async def _write(session: Session, got: Receipt, now: datetime) -> None:
    tenant_id = got.endpoint.tenant_id
    if got.ended is not None:
        finished, settlement = got.ended
        await _end(session, finished, settlement.status)
        if settlement.maintenance:
            await session.run("mark_maintenance", settlement.maintenance, tenant_id, finished.claim.run_id)
    if (closed := got.closed) is not None:
        await session.run("close_reported_run", closed.status, closed.error, now, tenant_id, closed.run_id)
    await add_events(session, got.events)


async def _end(session: Session, finished: Finished, status: RunStatus) -> None:
    outcome = finished.outcome
    key = finished.claim.endpoint.tenant_id, finished.claim.run_id
    await session.run(
        "end_reported_run", status, finished.finished_at, outcome.duration_ms, outcome.status_code, outcome.error_code,
        error_text(outcome.error), *key,
    )  # fmt: skip
    await session.run("add_body", *body_values(outcome.body), *key)


def _is_soon(old: Endpoint, new: Endpoint, now: datetime) -> bool:
    at = new.due_at
    return at is not None and at < now + SOON and (old.due_at is None or at < old.due_at)

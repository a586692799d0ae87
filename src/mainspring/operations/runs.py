"""Wait for the scheduler: for the end of a requested run, and what a due endpoint or an accepted run waits for."""

import asyncio

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.errors import Conflict, NotFound
from mainspring.domain.run import Run, RunStatus
from mainspring.domain.schedule.callback_wait import CallbackWait
from mainspring.domain.schedule.queue import QueueWait, wait_of
from mainspring.operations.context import Desk
from mainspring.ports.records import RunFilter

POLL_S = 0.1
RUNS_LOOKED_AT = 50


async def find_wait(desk: Desk, endpoint: Endpoint) -> QueueWait | None:
    """What prevents a due endpoint from starting; None: nothing, or it is not due."""
    due_at = endpoint.due_at
    if due_at is None or not endpoint.can_run or due_at > await desk.stores.schedule.now():
        return None
    return wait_of(endpoint, await desk.stores.upkeep.queue(late_ms=0))


async def waiting_of(desk: Desk, run: Run) -> CallbackWait | None:
    """The progress of a run that waits for its callback; None: it does not wait for one."""
    if run.status is not RunStatus.RUNNING:
        return None
    endpoint = await desk.stores.endpoints.endpoint(desk.tenant_id, run.endpoint_id)
    return endpoint.waiting if endpoint is not None and endpoint.run_id == run.id else None


async def wait_for_requested_run(desk: Desk, endpoint: Endpoint) -> Run:
    """The requested run, once it has ended; every attempt has the slot of the request."""
    slot_at = endpoint.requested_at
    assert slot_at is not None, "a requested run has its slot from the moment of the request"
    while True:
        # The endpoint first: if it no longer owes the slot, the run that ended it is already written.
        now = await desk.stores.endpoints.endpoint(desk.tenant_id, endpoint.id)
        if now is None:
            raise NotFound("endpoint", endpoint.name)
        runs = await desk.stores.runs.runs(desk.tenant_id, RunFilter(endpoint_id=endpoint.id, limit=RUNS_LOOKED_AT))
        is_owed = slot_at in (now.requested_at, now.slot_at)
        for run in runs:
            if run.slot_at == slot_at and (run.status not in (RunStatus.RUNNING, RunStatus.ABANDONED) or not is_owed):
                return run
        if not is_owed:
            raise Conflict(
                f"the requested run of {endpoint.name!r} will not start: the endpoint or its job was "
                "archived or paused meanwhile; resume it and ask again",
                kind="endpoint",
                name=endpoint.name,
            )
        await asyncio.sleep(POLL_S)

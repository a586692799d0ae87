"""Waiting for what others do: whether a scheduler is alive, and when a requested run has ended."""

from typing import TYPE_CHECKING

from mainspring.domain.errors import Conflict, NotFound

if TYPE_CHECKING:
    from mainspring.domain.endpoint import Endpoint
    from mainspring.domain.run import Run
    from mainspring.operations.endpoints import Desk
    from mainspring.ports import Stores, WorkerRow

ALIVE_WITHIN_MS = 30_000  # three heartbeats of a scheduler
POLL_S = 0.1
RUNS_LOOKED_AT = 50


async def live_schedulers(stores: "Stores") -> list["WorkerRow"]:
    """Schedulers with a recent sign of life, without those of this machine whose process has ended since."""
    from mainspring.wiring import is_gone

    rows = await stores.upkeep.workers(ALIVE_WITHIN_MS)
    return [row for row in rows if row.kind == "scheduler" and not is_gone(row.id)]


async def has_scheduler(stores: "Stores") -> bool:
    return bool(await live_schedulers(stores))


async def wait_for_requested_run(desk: "Desk", endpoint: "Endpoint") -> "Run":
    """The run that was asked for, once it has ended; every attempt at it has the slot of the request."""
    import asyncio

    from mainspring.domain.run import RunStatus
    from mainspring.ports import RunFilter

    slot_at = endpoint.manual_at
    assert slot_at is not None, "a requested run has its slot from the moment of the request"
    while True:
        # The endpoint first: where it no longer owes the slot, the run that ended it is already written.
        now = await desk.stores.endpoints.endpoint(desk.tenant_id, endpoint.id)
        if now is None:
            raise NotFound("endpoint", endpoint.name)
        runs = await desk.stores.runs.runs(desk.tenant_id, RunFilter(endpoint_id=endpoint.id, limit=RUNS_LOOKED_AT))
        is_owed = slot_at in (now.manual_at, now.slot_at)
        for run in runs:
            if run.slot_at == slot_at and (run.status not in (RunStatus.RUNNING, RunStatus.ABANDONED) or not is_owed):
                return run
        if not is_owed:
            raise Conflict(
                f"the run of {endpoint.name!r} that was asked for will not start: somebody archived or paused "
                "its job, or the endpoint, meanwhile; resume it and ask again",
                kind="endpoint",
                name=endpoint.name,
            )
        await asyncio.sleep(POLL_S)

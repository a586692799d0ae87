"""Test runs: call an endpoint now, in this process, and record it without touching its schedule."""

from datetime import timedelta

import msgspec

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.event import Event, EventType
from mainspring.domain.run import Outcome, Request, Run, Trigger, slot_id
from mainspring.operations.endpoints import Desk, find_endpoint
from mainspring.ports import Caller


async def test_endpoint(desk: Desk, caller: Caller, name_or_id: str) -> tuple[Run, Outcome]:
    endpoint = await find_endpoint(desk, name_or_id)
    tenant = await desk.stores.endpoints.tenant(desk.tenant_id)
    now = await desk.stores.schedule.now()
    request = Request(
        endpoint.tenant_id, endpoint.id, slot_id(endpoint.id, now), now, 1, endpoint.action,
        tenant.signing_keys if tenant else (),
    )  # fmt: skip
    outcome = await caller.call(request)
    run = _record(desk, endpoint, request, outcome)
    data: dict[str, object] = {"status": outcome.status, "status_code": outcome.status_code, "trigger": "test"}
    event = Event(EventType.RUN_FINISHED, now, desk.tenant_id, endpoint.id, run.id, desk.actor, data)
    await desk.stores.runs.add_test_run(run, outcome, [event])
    return run, outcome


def _record(desk: Desk, endpoint: Endpoint, request: Request, outcome: Outcome) -> Run:
    started_at = request.slot_at
    return Run(
        desk.ids.new("run", started_at), endpoint.tenant_id, endpoint.id, started_at, 1, Trigger.TEST, "",
        outcome.status, started_at, None, desk.actor,
        finished_at=started_at + timedelta(milliseconds=outcome.duration_ms), duration_ms=outcome.duration_ms,
        status_code=outcome.status_code, error_code=outcome.error_code, error=outcome.error,
        detail=msgspec.json.encode(_detail(outcome)).decode(),
    )  # fmt: skip


def _detail(outcome: Outcome) -> dict[str, object]:
    phases = outcome.phases
    timed = None if phases is None else [phases.dns_us, phases.connect_us, phases.tls_us, phases.first_byte_us]
    return {"phases": timed, "headers": outcome.headers, "address": outcome.address}

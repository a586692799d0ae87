"""Test runs: call an endpoint now, in this process, and record it without touching its schedule.

An endpoint that is not stored yet can be called too: such a check leaves no trace.
"""

from datetime import timedelta

import msgspec

from mainspring.domain.access.scope import Scope
from mainspring.domain.endpoint import Endpoint, EndpointConfig
from mainspring.domain.errors import Forbidden
from mainspring.domain.event import Event, EventType
from mainspring.domain.kinds.command import CommandAction
from mainspring.domain.kinds.registry import refuse_if_expected
from mainspring.domain.run import Outcome, Request, Run, RunTrigger, slot_id
from mainspring.operations.context import Desk
from mainspring.operations.endpoints import draft_endpoint, find_endpoint
from mainspring.ports.outbound import Caller


async def test_endpoint(desk: Desk, caller: Caller, name_or_id: str) -> tuple[Run, Outcome]:
    endpoint = await find_endpoint(desk, name_or_id)
    request = await _request(desk, endpoint)
    outcome = await caller.call(request)
    run = _record(desk, endpoint, request, outcome)
    data: dict[str, object] = {"status": outcome.status, "status_code": outcome.status_code, "trigger": "test"}
    event = Event(EventType.RUN_FINISHED, request.slot_at, desk.tenant_id, endpoint.id, run.id, desk.actor, data)
    await desk.stores.runs.add_test_run(run, outcome, [event])
    return run, outcome


async def check_endpoint(desk: Desk, caller: Caller, config: EndpointConfig) -> tuple[Endpoint, Outcome]:
    """Calls what is defined but not stored, as it would be called; nothing is recorded, and no name is reserved.

    The arguments of a program are chosen by those who may write endpoints.
    """
    if isinstance(config.action, CommandAction) and not desk.may_write:
        raise Forbidden(
            f"this needs the scope {Scope.WRITE!s}, because it chooses the arguments of a program; use a key or an "
            "account that has it, or test a stored endpoint",
            scope=Scope.WRITE,
        )
    endpoint = await draft_endpoint(desk, config)
    return endpoint, await caller.call(await _request(desk, endpoint))


async def _request(desk: Desk, endpoint: Endpoint) -> Request:
    refuse_if_expected(endpoint.action, endpoint.name)
    tenant = await desk.stores.endpoints.tenant(desk.tenant_id)
    now = await desk.stores.schedule.now()
    return Request(
        endpoint.tenant_id, endpoint.id, slot_id(endpoint.id, now), now, 1, endpoint.action,
        tenant.signing_keys if tenant else (), endpoint=endpoint.name, job=endpoint.job,
    )  # fmt: skip


def _record(desk: Desk, endpoint: Endpoint, request: Request, outcome: Outcome) -> Run:
    started_at = request.slot_at
    return Run(
        desk.ids.new("run", started_at), endpoint.tenant_id, endpoint.id, started_at, 1, RunTrigger.TEST, "",
        outcome.status, started_at, None, desk.actor,
        finished_at=started_at + timedelta(milliseconds=outcome.duration_ms), duration_ms=outcome.duration_ms,
        status_code=outcome.status_code, error_code=outcome.error_code, error=outcome.error,
        detail=msgspec.json.encode(_detail(outcome)).decode(),
    )  # fmt: skip


def _detail(outcome: Outcome) -> dict[str, object]:
    phases = outcome.phases
    timed = None if phases is None else [phases.dns_us, phases.connect_us, phases.tls_us, phases.first_byte_us]
    return {"phases": timed, "headers": outcome.headers, "address": outcome.address}

"""Operations on calls: single runs that a program requests, thousands at once, each by a key.

A call is an endpoint with a single run. Its name is its id, so `why`, runs and events of it are those of an endpoint.
A key is taken until its call is removed: the same key twice is one call.
"""

import asyncio
from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.connection import attach, connection_name
from mainspring.domain.endpoint import Endpoint, EndpointConfig, JobStatus
from mainspring.domain.errors import Conflict, InvalidInput, NotFound, QuotaExceeded
from mainspring.domain.event import Event, EventType
from mainspring.domain.instant import rfc3339
from mainspring.domain.schedule import changes
from mainspring.domain.schedule.anchor import plan_first
from mainspring.domain.schedule.changes import Change
from mainspring.domain.text import check_text
from mainspring.operations.context import Desk
from mainspring.operations.endpoints import checked_config, connection_of, job_named, new_endpoint, tenant_of, with_time

CALLS_AT_ONCE = 2_000  # with 15 values each, the maximum of one API request
CALLS_STORED_MAX = 1_000_000  # of one tenant
KEY_MAX = 200
JOB = "calls"
TURN_EVERY = 50  # about 10 ms of work; a process that serves and schedules has other things to do too


class CallDraft(Struct, frozen=True):
    """A call to make; without a key it has no duplicates. The name in the configuration does not count."""

    config: EndpointConfig
    key: str | None = None


class PlacedCall(Struct, frozen=True):
    call: Endpoint
    is_new: bool  # False: its key was taken, and this is the call with that key


async def add_calls(desk: Desk, drafts: Sequence[CallDraft], *, dry_run: bool = False) -> list[PlacedCall]:
    """Stores all calls or none, in the order of the drafts. A dry run checks them and stores none."""
    if not 1 <= len(drafts) <= CALLS_AT_ONCE:
        raise InvalidInput(
            f"calls {len(drafts):,} is out of bounds; give 1 to {CALLS_AT_ONCE:,} calls at once",
            field="calls",
            value=len(drafts),
        )
    now = await desk.stores.schedule.now()
    tenant = await tenant_of(desk)
    try:
        job = await job_named(desk, JOB, now)
    except Conflict:  # another request has just created it
        job = await job_named(desk, JOB, now)
    names = {connection_name(draft.config.action) for draft in drafts}
    connections = {name: await connection_of(desk, name) for name in names}
    made: dict[str, Endpoint] = {}
    keys: list[str] = []
    for place, draft in enumerate(drafts):
        if place % TURN_EVERY == 0:
            await asyncio.sleep(0)
        call_id = desk.ids.new("call", now)
        key = call_id if draft.key is None else _key(draft.key, place)
        keys.append(key)
        if key in made:
            continue
        try:
            config = with_time(replace(draft.config, name=call_id, job=JOB), now)
            if (connection := connections[connection_name(config.action)]) is not None:
                config = attach(config, connection, desk.allow_ports)
            checked, host = checked_config(desk, config, tenant, call_id)
        except InvalidInput as fault:
            where = f"calls[{place}].{fault.field}"
            raise InvalidInput(f"call {place + 1}: {fault}", field=where, value=fault.value) from None
        made[key] = replace(new_endpoint(desk, call_id, checked, host, job, now), call_key=key)

    def join(new: list[Endpoint], status: JobStatus, stored: int) -> list[Endpoint]:
        _check_room(desk, stored, len(new))
        is_active = status is JobStatus.ACTIVE
        return [plan_first(replace(each, job_active=is_active), now, desk.cron) for each in new]

    event = Event(EventType.CALLS_CREATED, now, desk.tenant_id, actor=desk.actor, data={"count": len(made)})
    if dry_run:
        found = [await desk.stores.calls.call(desk.tenant_id, key) for key in made]
        there = {str(each.call_key): each for each in found if each is not None}
    else:
        there = await desk.stores.calls.add_calls(list(made.values()), event, join)
    is_active = job.status is JobStatus.ACTIVE
    planned = {
        key: plan_first(replace(each, job_active=is_active), now, desk.cron)
        for key, each in made.items()
        if key not in there
    }
    return _placed(keys, planned, there)


def _placed(keys: Sequence[str], new: dict[str, Endpoint], there: dict[str, Endpoint]) -> list[PlacedCall]:
    placed: list[PlacedCall] = []
    seen: set[str] = set()
    for key in keys:
        placed.append(PlacedCall(there.get(key) or new[key], key in new and key not in seen))
        seen.add(key)
    return placed


async def find_call(desk: Desk, key_or_id: str) -> Endpoint:
    call = await desk.stores.calls.call(desk.tenant_id, key_or_id)
    if call is None:
        raise NotFound("call", key_or_id)
    return call


async def cancel_call(desk: Desk, key_or_id: str) -> Endpoint:
    """Cancels a waiting call. A running call is not interrupted and has no further attempt."""
    call = await find_call(desk, key_or_id)

    def act(each: Endpoint, now: datetime) -> Change:
        if each.is_done:
            raise Conflict(
                f"call {key_or_id!r} is done since {rfc3339(each.last_run_at or each.anchor_at)}; only a call that "
                "waits can be cancelled: list those with the state waiting",
                kind="call",
                name=key_or_id,
            )
        return changes.archive(each, now, desk.actor)

    changed = await desk.stores.endpoints.change_endpoints(desk.tenant_id, [call.id], act)
    if not changed:
        raise NotFound("call", key_or_id)
    return changed[0].endpoint


def _key(key: str, place: int) -> str:
    field = f"calls[{place}].key"
    if not key.strip():
        raise InvalidInput(f"call {place + 1}: key is empty; give a text, or leave the key out", field=field, value=key)
    return check_text(key, field, KEY_MAX)


def _check_room(desk: Desk, stored: int, new: int) -> None:
    if stored + new > CALLS_STORED_MAX:
        raise QuotaExceeded(
            f"tenant {desk.tenant_id!r} has {stored:,} calls, and {new:,} more are above the maximum "
            f"{CALLS_STORED_MAX:,}; wait until calls are done and removed, or lower MAINSPRING_KEEP_DONE",
            quota="calls",
            limit=CALLS_STORED_MAX,
        )

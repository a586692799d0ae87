"""The trigger worker: starts executions, or sends them events, when runs end, rules fire or alerts fire. Once each.

    1 look     at the events after the stored position
    2 match    each with the triggers of the newest workflows of its tenant
    3 do       start under a key, or send under an id, that is derived from the event: repeating it has no effect
    4 advance  the position, once everything before it is done

Several may share a database and be killed at any point: what was done and not recorded is repeated without effect. Runs
made by an execution itself, and tests, trigger nothing: a workflow would otherwise keep itself going.
"""

import asyncio
from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

import structlog
from msgspec import Struct

from mainspring.domain.errors import MainspringError, StoreUnavailable
from mainspring.domain.event import Event, EventType, StoredEvent
from mainspring.domain.expressions.condition import parse_bounded
from mainspring.domain.instant import rfc3339
from mainspring.failpoints import failpoint
from mainspring.ports.stores import Stores
from mainspring.ports.workflows import Published
from mainspring.workers.tasks import end_tasks
from mainspring.workflow.audit import canonical
from mainspring.workflow.expression import Failure
from mainspring.workflow.model import WorkflowTrigger
from mainspring.workflow.triggers import Occurrence, TriggerMatch, answer, may_match

BATCH = 500
LOOK_S = 0.5
AWAY_S = 1.0
KEEP_UP_LOOKS = 120  # how often to move the position while no workflow has triggers
BODY_BYTES_MAX = 60_000  # a larger one is null for triggers
SOURCES = {EventType.RUN_FINISHED: "run", EventType.RULE_FIRED: "rule", EventType.ALERT_FIRED: "alert"}
OF_ITS_OWN = ("workflow", "test")

log = structlog.get_logger()


class TriggerActions(Protocol):
    """Performs the action of a trigger, by the same rules as for users. Raises MainspringError if they refuse."""

    async def start(
        self, tenant_id: str, actor: str, workflow: str, given: Mapping[str, object], correlation: str, key: str
    ) -> bool:
        """Whether an execution was started; False: it was already, or another runs and the workflow allows one."""

    async def send(
        self, tenant_id: str, actor: str, to: str, type_: str, data: Mapping[str, object], event_id: str
    ) -> bool:
        """Whether an execution received the event for the first time."""


class ActiveTrigger(Struct, frozen=True):
    """One trigger of a published workflow."""

    tenant_id: str
    workflow: str
    since: datetime  # events before its publication do not concern it
    number: int
    trigger: WorkflowTrigger


class TriggerWorker:
    def __init__(self, stores: Stores, clerk: TriggerActions, worker: str) -> None:
        self._stores = stores
        self._clerk = clerk
        self._worker = worker
        self._stopping = asyncio.Event()
        self._stamp = ""
        self._armed: list[ActiveTrigger] = []
        self._idle_looks = 0

    async def run(self) -> None:
        log.info("triggers started", worker=self._worker)
        looking = asyncio.create_task(self._keep_looking(), name="starter")
        await self._stopping.wait()
        await end_tasks(looking)
        log.info("triggers stopped", worker=self._worker)

    def stop(self) -> None:
        self._stopping.set()

    async def run_once(self) -> int:
        """Processes the next events; returns their number. Without triggers, one query is all that most looks cost."""
        await self._arm()
        if not self._armed and not self._must_keep_up():
            return 0
        newest = await self._stores.runs.latest_events(None, 1)
        position = await self._stores.flows.triggers.position(newest[-1].cursor if newest else "")
        if not self._armed:
            if newest and newest[-1].cursor != position:
                await self._stores.flows.triggers.advance(position, newest[-1].cursor)
            return 0
        events = await self._stores.runs.events_after(position, None, BATCH)
        for stored in events:
            await self._look(stored)
        failpoint("before_trigger_position")
        if events:
            await self._stores.flows.triggers.advance(position, events[-1].cursor)
            failpoint("after_trigger_position")
        return len(events)

    async def _arm(self) -> None:
        stamp = await self._stores.flows.triggers.stamp()
        if stamp == self._stamp:
            return
        found = await self._stores.flows.triggers.triggered()
        self._armed = [each for tenant_id, published in found for each in _armed(tenant_id, published)]
        self._stamp = stamp

    def _must_keep_up(self) -> bool:
        """Whether this look moves the position without triggers: the first one need not read the whole history."""
        self._idle_looks += 1
        return self._idle_looks % KEEP_UP_LOOKS == 1

    async def _look(self, stored: StoredEvent) -> None:
        event = stored.event
        source = SOURCES.get(event.type)
        mine = [
            each
            for each in self._armed
            if each.trigger.source == source and each.tenant_id == event.tenant_id and each.since <= event.at
        ]
        if not mine or event.data.get("trigger") in OF_ITS_OWN or event.data.get("shadow"):
            return
        try:
            occasion = await self._occasion(stored, source or "")
            matching = [each for each in mine if may_match(each.trigger, occasion)]
            if matching and source == "run":
                occasion = await self._with_body(occasion, event)
            for each in matching:
                await self._act(each, occasion)
        except StoreUnavailable:
            raise
        except Exception:  # one bad event must not block all later ones
            log.exception("trigger failed", cursor=stored.cursor)

    async def _occasion(self, stored: StoredEvent, source: str) -> Occurrence:
        event = stored.event
        found = await self._stores.endpoints.endpoint(event.tenant_id, event.endpoint_id) if event.endpoint_id else None
        name = found.name if found is not None else ""
        happened_id = f"run:{event.run_id}" if source == "run" else f"{source}:{stored.cursor}"
        seen = {
            **event.data, "type": event.type.value, "id": happened_id, "at": rfc3339(event.at), "endpoint": name,
            "run_id": event.run_id, "actor": event.actor,
        }  # fmt: skip
        kind = event.data.get("status" if source == "run" else "kind", "")
        named = event.data.get(source, "")
        return Occurrence(source, happened_id, name, str(named), str(kind), seen)

    async def _with_body(self, occasion: Occurrence, event: Event) -> Occurrence:
        run = await self._stores.runs.run(event.tenant_id, event.run_id)
        body = await self._stores.runs.body(event.tenant_id, event.run_id)
        value: object = None
        if body is not None and len(body.data) <= BODY_BYTES_MAX:
            value, _ = parse_bounded(body.data)
            try:
                canonical(value)
            except (
                UnicodeEncodeError,
                ValueError,
                OverflowError,
            ):  # half a character, or a number that JSON cannot represent
                value = None
        seen = occasion.event | {"body": value, "error": (run.error or "") if run is not None else ""}
        return Occurrence(occasion.source, occasion.id, occasion.endpoint, occasion.name, occasion.kind, seen)

    async def _act(self, armed: ActiveTrigger, occasion: Occurrence) -> None:
        wanted = answer(armed.trigger, occasion)
        if wanted is None:
            return
        try:
            if isinstance(wanted, Failure):
                raise MainspringError(f"on[{armed.number}].{wanted.text}")
            failpoint("before_trigger_act")
            if await self._do(armed, occasion, wanted):
                log.info("trigger acted", workflow=armed.workflow, occasion=occasion.id)
            failpoint("after_trigger_act")
        except StoreUnavailable:
            raise
        except MainspringError as refusal:
            log.warning("trigger refused", workflow=armed.workflow, occasion=occasion.id, why=str(refusal))
            await self._tell(armed, occasion, str(refusal))

    async def _do(self, armed: ActiveTrigger, occasion: Occurrence, wanted: TriggerMatch) -> bool:
        actor = f"trigger:{armed.workflow}"
        if wanted.event:
            event_id = f"{occasion.id}:{armed.number}"
            return await self._clerk.send(
                armed.tenant_id, actor, wanted.correlation, wanted.event, wanted.data, event_id
            )
        return await self._clerk.start(
            armed.tenant_id, actor, armed.workflow, wanted.data, wanted.correlation, occasion.id
        )

    async def _tell(self, armed: ActiveTrigger, occasion: Occurrence, why: str) -> None:
        now = await self._stores.flows.workflows.now()
        data: dict[str, object] = {"workflow": armed.workflow, "occasion": occasion.id, "reason": why[:1_000]}
        event = Event(EventType.TRIGGER_REFUSED, now, armed.tenant_id, actor=f"trigger:{armed.workflow}", data=data)
        await self._stores.runs.add_events([event])

    async def _keep_looking(self) -> None:
        while True:
            try:
                if await self.run_once() == BATCH:
                    continue
            except StoreUnavailable:
                await asyncio.sleep(AWAY_S)  # the scheduler reports that the database is unavailable
            except Exception:  # outermost loop of a worker: one failed round must not end it
                log.exception("worker failed", worker="starter")
                await asyncio.sleep(AWAY_S)
            await asyncio.sleep(LOOK_S)


def _armed(tenant_id: str, published: Published) -> list[ActiveTrigger]:
    workflow = published.workflow
    return [
        ActiveTrigger(tenant_id, workflow.name, published.created_at, number, trigger)
        for number, trigger in enumerate(workflow.triggers)
    ]

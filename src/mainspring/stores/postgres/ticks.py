"""What the ticker and the dispatcher need, on PostgreSQL."""

from collections.abc import Sequence
from datetime import datetime

from msgspec.structs import replace

from mainspring.domain.event import Event
from mainspring.domain.instant import to_us
from mainspring.failpoints import is_on
from mainspring.ports.flows import Checkpoint, EffectAnswer, Intent, Lead, Sending, TickLoad
from mainspring.stores.flows import (
    arrival_values,
    checkpoint_values,
    clock_of,
    effect_rows,
    entry_rows,
    intent_from,
    later_us,
    lead_from,
    moved_rows,
    ready_of,
    taken_rows,
    tick_from_outlook,
    tick_values,
)
from mainspring.stores.postgres.database import Database, Session, columns
from mainspring.stores.postgres.endpoints import add_events
from mainspring.workflow.audit import TickHead
from mainspring.workflow.ticking import Ticked, pick

MOVED_WIDTH, EFFECT_WIDTH, TAKEN_WIDTH = 10, 13, 4


class PostgresTicks:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def lead(self, partition: int, worker: str, ttl_ms: int) -> Lead | None:
        async with self._db.transaction() as session:
            now = await self._db.now_in(session)
            if not await session.run("lead_partition", later_us(now, ttl_ms), worker, partition, to_us(now)):
                return None
            return lead_from(partition, (await session.rows("partition", partition))[0])

    async def load_tick(self, lead: Lead, limit: int) -> TickLoad:
        async with self._db.statement() as session:  # nobody but the lead changes what it reads
            wall = await self._db.now_in(session)
            (outlook,) = await session.rows("tick_outlook", lead.partition)
            tick, next_tick = tick_from_outlook(lead, wall, outlook)
            if tick is None:
                return TickLoad(wall, next_tick=next_tick)
            before_us = to_us(clock_of(lead, tick).instant())
            step_us = lead.resolution_ms * 1000
            by_time = await session.rows("ready_by_time", lead.partition, tick, limit)
            by_arrival = (
                await session.rows("ready_by_arrival", to_us(lead.zero), step_us, lead.partition, before_us, limit)
                if outlook[1] is not None
                else []
            )
            ids = pick(by_time, by_arrival, limit)  # type: ignore[arg-type]  # columns
            states = await session.rows("ready_states", ids)
            arrivals = await session.rows("new_arrivals", ids, before_us) if by_arrival else []
            return TickLoad(wall, tick, ready_of(ids, states, arrivals), next_tick)

    async def commit_tick(
        self, lead: Lead, ticked: Ticked, wall: datetime, ttl_ms: int, events: Sequence[Event] = ()
    ) -> Lead | None:
        moved, wall_us, head = ticked.moved, to_us(wall), ticked.head
        taken = sum(len(each.taken) for each in moved)
        async with self._db.transaction() as session:
            after = await _move(session, lead, head, wall, ttl_ms, taken)
            if after is None:
                return None
            was_ready = [each.was_ready_tick for each in moved]
            rows = columns(moved_rows(moved, wall_us), MOVED_WIDTH)
            await session.run("move_executions", *rows, was_ready, wall_us, lead.partition)
            await session.copy("execution_entry", entry_rows(moved))
            if taken:
                first = int(str(await session.value("partition_arrivals", lead.partition))) - taken
                await session.run("take_arrivals", *columns(taken_rows(moved, first, head.tick), TAKEN_WIDTH))
            if effects := effect_rows(moved, lead.partition, wall_us, head.tick):
                await session.run("put_effects", *columns(effects, EFFECT_WIDTH))
            if withdrawn := [key for each in moved for key in each.withdrawn]:
                await session.run("withdraw_effects", withdrawn)
            await session.run("add_tick", *tick_values(head, wall_us, lead.worker))
            if events:
                await add_events(session, events)
        return after

    async def renew(self, lead: Lead, ttl_ms: int) -> bool:
        until_us = later_us(await self._db.now(), ttl_ms)
        async with self._db.statement() as session:
            return bool(await session.run("renew_lease", until_us, lead.partition, lead.epoch))

    async def resign(self, lead: Lead) -> None:
        async with self._db.statement() as session:
            await session.run("renew_lease", 0, lead.partition, lead.epoch)

    async def sweep(self, lead: Lead, before: datetime, limit: int) -> tuple[str, ...]:
        async with self._db.statement() as session:
            rows = await session.rows("ended_executions", lead.partition, to_us(before), limit)
        return tuple(str(row[0]) for row in rows)

    async def remove(self, lead: Lead, ids: Sequence[str], head: TickHead, wall: datetime, ttl_ms: int) -> Lead | None:
        async with self._db.transaction() as session:
            after = await _move(session, lead, head, wall, ttl_ms, 0)
            if after is not None:
                for query in ("delete_execution", "delete_entries", "delete_arrivals", "delete_effects"):
                    for each in ids:
                        await session.run(query, each)
                await session.run("add_tick", *tick_values(head, to_us(wall), lead.worker))
        return after

    async def add_checkpoint(self, checkpoint: Checkpoint) -> None:
        async with self._db.statement() as session:
            await session.run("add_checkpoint", *checkpoint_values(checkpoint))

    async def standing(self, ids: Sequence[str]) -> dict[str, int]:
        async with self._db.statement() as session:
            return {str(each): int(str(number)) for each, number in await session.rows("standing", ids)}

    async def forget_ticks(
        self, lead: Lead, sequence: int, head: TickHead | None, wall: datetime, ttl_ms: int
    ) -> Lead | None:
        async with self._db.transaction() as session:
            after: Lead | None = lead
            if head is not None:
                after = await _move(session, lead, head, wall, ttl_ms, 0)
            elif not await session.run("renew_lease", later_us(wall, ttl_ms), lead.partition, lead.epoch):
                after = None
            if after is not None:
                if head is not None:
                    await session.run("add_tick", *tick_values(head, to_us(wall), lead.worker))
                await session.run("forget_ticks", lead.partition, sequence)
                await session.run("forget_checkpoints", lead.partition, sequence)
        return after


class PostgresEffects:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def claim_effects(self, worker: str, limit: int, lease_ms: int) -> list[Intent]:
        async with self._db.transaction() as session:
            now_us = to_us(await self._db.now_in(session))
            rows = await session.rows("claim_effects", worker, now_us, lease_ms, limit)
        return [intent_from(row, bool(row[-1])) for row in rows]

    async def answer_effects(self, answers: Sequence[EffectAnswer]) -> int:
        counted = 0
        async with self._db.transaction() as session:
            arrived_us = to_us(await self._db.now_in(session))
            for answer in answers:
                intent = answer.intent
                if await session.run("answer_effect", intent.key, intent.claim):
                    sending = Sending(intent.execution_id, intent.partition, answer.arrival)
                    await session.run("add_arrival", *arrival_values(sending, arrived_us))
                    counted += 1
        return counted

    async def has_effects(self) -> bool:
        async with self._db.statement() as session:
            return bool(await session.value("any_effect"))


async def _move(session: Session, lead: Lead, head: TickHead, wall: datetime, ttl_ms: int, taken: int) -> Lead | None:
    """The compare-and-set of a tick: the lead that follows, or None where another writer was faster."""
    values = (head.tick, head.sequence, head.hash, later_us(wall, ttl_ms), taken, lead.partition)
    if is_on("no_tick_fence"):
        won = await session.run("move_partition_unfenced", *values)
    else:
        won = await session.run("move_partition", *values, lead.epoch, lead.tick)
    return replace(lead, tick=head.tick, sequence=head.sequence, head=head.hash) if won else None

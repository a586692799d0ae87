"""The store of the ticker and the dispatcher, on SQLite."""

from collections.abc import Sequence
from datetime import datetime

import msgspec
from msgspec.structs import replace

from mainspring.domain.instant import to_us
from mainspring.failpoints import is_on
from mainspring.ports.workflows import Checkpoint, EffectAnswer, Intent, Lead, Sending, Tell, TickLoad, nothing_to_tell
from mainspring.stores.events import add_events
from mainspring.stores.sqlite.connection import SqliteConnection
from mainspring.stores.sqlite.database import SqliteDatabase
from mainspring.stores.sqlite.session import SqliteSession, finish
from mainspring.stores.turns import take_aside
from mainspring.stores.workflow_rows import (
    REMOVING,
    arrival_values,
    checkpoint_values,
    clock_of,
    effect_rows,
    entry_rows,
    intent_from,
    joined_rows,
    later_us,
    lead_from,
    left_rows,
    moved_rows,
    ready_of,
    taken_rows,
    tick_from_outlook,
    tick_values,
)
from mainspring.workflow.audit import TickHead
from mainspring.workflow.tick import TickRun, pick

BATCH = 500  # turns taken at once, or fewer if the time is up


class SqliteTicks:
    def __init__(self, database: SqliteDatabase) -> None:
        self._db = database

    async def lead(self, partition: int, worker: str, ttl_ms: int) -> Lead | None:
        def work(db: SqliteConnection) -> Lead | None:
            now = self._db.clock.now()
            if not db.run("lead_partition", later_us(now, ttl_ms), worker, partition, to_us(now)):
                return None
            return lead_from(partition, db.rows("partition", partition)[0], db.rows("partition_zeros", partition))

        return await self._db.write(work)

    async def is_led(self, partition: int) -> bool:
        now_us = to_us(self._db.clock.now())
        return self._db.look(lambda db: db.value("led_partition", partition, now_us)) is not None

    async def load_tick(self, lead: Lead, limit: int) -> TickLoad:
        def work(db: SqliteConnection) -> TickLoad:
            wall = self._db.clock.now()
            (outlook,) = db.rows("tick_outlook", lead.partition)
            tick, next_tick = tick_from_outlook(lead, wall, outlook)
            if tick is None:
                return TickLoad(wall, next_tick=next_tick)
            before_us = to_us(clock_of(lead, tick).instant())
            step_us = lead.resolution_ms * 1000
            by_time = db.rows("ready_by_time", lead.partition, tick, limit)
            by_arrival = db.rows("ready_by_arrival", to_us(lead.zero), step_us, lead.partition, before_us, limit)
            ids = pick(by_time, by_arrival, limit)  # type: ignore[arg-type]  # columns
            listed = msgspec.json.encode(ids).decode()
            states = {row[0]: row for row in db.rows("ready_states", listed)}
            rows = [states[each] for each in ids if each in states]
            return TickLoad(wall, tick, ready_of(rows, lead, db.rows("new_arrivals", listed, before_us)), next_tick)

        return await self._db.read(work)

    async def commit_tick(
        self, lead: Lead, turns: TickRun, wall: datetime, ttl_ms: int, tell: Tell = nothing_to_tell
    ) -> Lead | None:
        while not self._db.is_inline and await take_aside(turns, BATCH):
            pass  # before the write begins: there is one writer
        ticked = turns.close()
        moved, wall_us, head = ticked.moved, to_us(wall), ticked.head
        taken = sum(len(each.taken) for each in moved)

        def work(db: SqliteConnection) -> Lead | None:
            after = _move(db, lead, head, wall, ttl_ms, taken)
            if after is None:
                return None
            first = int(str(db.value("partition_arrivals", lead.partition))) - taken
            db.run_many("move_execution", moved_rows(moved, wall_us))
            db.run_many("leave_queue", left_rows(moved, lead.partition))
            db.run_many("join_queue", joined_rows(moved, lead.partition))
            db.run_many("add_entry", entry_rows(moved))
            db.run_many("take_arrival", taken_rows(moved, first, head.tick))
            db.run_many("put_effect", effect_rows(moved, lead.partition, wall_us, head.tick))
            db.run_many("withdraw_effect", [(key,) for each in moved for key in each.withdrawn])
            _remove(db, turns.gone)
            db.run("add_tick", *tick_values(head, wall_us, lead.worker))
            finish(add_events(SqliteSession(db, self._db.clock), tell(ticked)))
            return after

        return await self._db.write_much(work)

    async def renew(self, lead: Lead, ttl_ms: int) -> bool:
        until_us = later_us(self._db.clock.now(), ttl_ms)
        return bool(await self._db.write(lambda db: db.run("renew_lease", until_us, lead.partition, lead.epoch)))

    async def resign(self, lead: Lead) -> None:
        await self._db.write(lambda db: db.run("renew_lease", 0, lead.partition, lead.epoch))

    async def sweep(self, lead: Lead, before: datetime, limit: int) -> tuple[str, ...]:
        rows = await self._db.read(lambda db: db.rows("ended_executions", lead.partition, to_us(before), limit))
        return tuple(str(row[0]) for row in rows)

    async def remove(self, lead: Lead, ids: Sequence[str], head: TickHead, wall: datetime, ttl_ms: int) -> Lead | None:
        def work(db: SqliteConnection) -> Lead | None:
            after = _move(db, lead, head, wall, ttl_ms, 0)
            if after is not None:
                _remove(db, ids)
                db.run("add_tick", *tick_values(head, to_us(wall), lead.worker))
            return after

        return await self._db.write_much(work)

    async def add_checkpoint(self, checkpoint: Checkpoint) -> None:
        await self._db.write(lambda db: db.run("add_checkpoint", *checkpoint_values(checkpoint)))

    async def standing(self, ids: Sequence[str]) -> dict[str, int]:
        listed = msgspec.json.encode(ids).decode()
        rows = await self._db.read(lambda db: db.rows("standing", listed))
        return {str(each): int(str(number)) for each, number in rows}

    async def forget_ticks(
        self, lead: Lead, sequence: int, head: TickHead | None, wall: datetime, ttl_ms: int
    ) -> Lead | None:
        def work(db: SqliteConnection) -> Lead | None:
            after: Lead | None = lead
            if head is not None:
                after = _move(db, lead, head, wall, ttl_ms, 0)
            elif not db.run("renew_lease", later_us(wall, ttl_ms), lead.partition, lead.epoch):
                after = None
            if after is not None:
                if head is not None:
                    db.run("add_tick", *tick_values(head, to_us(wall), lead.worker))
                db.run("forget_ticks", lead.partition, sequence)
                db.run("forget_checkpoints", lead.partition, sequence)
            return after

        return await self._db.write_much(work)


class SqliteEffects:
    def __init__(self, database: SqliteDatabase) -> None:
        self._db = database

    async def claim_effects(self, worker: str, limit: int, lease_ms: int) -> list[Intent]:
        def work(db: SqliteConnection) -> list[Intent]:
            now_us = to_us(self._db.clock.now())
            return [
                intent_from(row, bool(row[-1])) for row in db.rows("claim_effects", worker, now_us, lease_ms, limit)
            ]

        return await self._db.write(work) if self._db.look(lambda db: db.value("any_effect")) else []

    async def answer_effects(self, answers: Sequence[EffectAnswer]) -> int:
        def work(db: SqliteConnection) -> int:
            arrived_us, counted = to_us(self._db.clock.now()), 0
            for answer in answers:
                intent = answer.intent
                if db.run("answer_effect", intent.key, intent.claim):
                    sending = Sending(intent.execution_id, intent.partition, answer.arrival)
                    db.run("add_arrival", *arrival_values(sending, arrived_us))
                    counted += 1
            return counted

        return await self._db.write(work)

    async def has_effects(self) -> bool:
        return bool(self._db.look(lambda db: db.value("any_effect")))


def _remove(db: SqliteConnection, ids: Sequence[str]) -> None:
    for query in REMOVING:
        db.run_many(query, [(each,) for each in ids])


def _move(db: SqliteConnection, lead: Lead, head: TickHead, wall: datetime, ttl_ms: int, taken: int) -> Lead | None:
    """Compare and swap a tick: the lead that follows, or None if another writer was first."""
    values = (head.tick, head.sequence, head.hash, later_us(wall, ttl_ms), taken, lead.partition)
    if is_on("no_tick_fence"):
        won = db.run("move_partition_unfenced", *values)
    else:
        won = db.run("move_partition", *values, lead.epoch, lead.tick)
    return replace(lead, tick=head.tick, sequence=head.sequence, head=head.hash) if won else None

"""The store of the ticker and the dispatcher, on PostgreSQL."""

from collections.abc import Container, Iterable, Sequence
from datetime import datetime
from typing import cast

from msgspec.structs import replace

from mainspring.domain.instant import to_us
from mainspring.failpoints import is_on
from mainspring.ports.workflows import Checkpoint, EffectAnswer, Intent, Lead, Sending, Tell, TickLoad, nothing_to_tell
from mainspring.stores.events import add_events
from mainspring.stores.postgres.database import PostgresDatabase
from mainspring.stores.postgres.queries import as_json, columns
from mainspring.stores.postgres.session import PostgresSession
from mainspring.stores.turns import take_aside
from mainspring.stores.workflow_rows import (
    REMOVING,
    arrival_values,
    checkpoint_values,
    clock_of,
    effect_rows,
    intent_from,
    later_us,
    lead_from,
    ready_of,
    taken_rows,
    text_of,
    tick_from_outlook,
)
from mainspring.workflow.audit import GENESIS, TickHead
from mainspring.workflow.tick import ExecutionMove, TickRun, pick

EFFECT_WIDTH, TAKEN_WIDTH = 13, 4
# Turns of one statement: the server writes them while the next are taken. The sooner the first are sent, the better.
FIRST_BATCH, BATCH = 50, 90


class PostgresTicks:
    def __init__(self, database: PostgresDatabase) -> None:
        self._db = database

    async def lead(self, partition: int, worker: str, ttl_ms: int) -> Lead | None:
        async with self._db.transaction() as session:
            now = await session.now()
            if not await session.run("lead_partition", later_us(now, ttl_ms), worker, partition, to_us(now)):
                return None
            zeros = await session.rows("partition_zeros", partition)
            return lead_from(partition, (await session.rows("partition", partition))[0], zeros)

    async def is_led(self, partition: int) -> bool:
        async with self._db.statement() as session:
            return bool(await session.value("is_led_and_read_clock", partition, self._db.clock_override))

    async def load_tick(self, lead: Lead, limit: int) -> TickLoad:
        async with self._db.statement() as session:  # only the lead changes what it reads
            ((clock, *outlook),) = await session.rows("outlook_and_read_clock", lead.partition)
            wall = self._db.at(clock)
            tick, next_tick = tick_from_outlook(lead, wall, outlook)
            if tick is None:
                return TickLoad(wall, next_tick=next_tick)
            rows = await session.rows("ready_by_time", lead.partition, tick, limit)
            if outlook[1] is None:
                return TickLoad(wall, tick, ready_of(rows, lead), next_tick)
            before_us, step_us = to_us(clock_of(lead, tick).instant()), lead.resolution_ms * 1000
            by_arrival = await session.rows(
                "ready_by_arrival", to_us(lead.zero), step_us, lead.partition, before_us, limit
            )
            ids = pick([(row[5], row[0]) for row in rows], by_arrival, limit)  # type: ignore[arg-type,misc]  # columns
            found = {row[0]: row for row in rows}
            found |= {row[0]: row for row in await session.rows("ready_states", list(set(ids) - found.keys()))}
            rows = [found[each] for each in ids if each in found]
            arrivals = await session.rows("new_arrivals", ids, before_us)
            return TickLoad(wall, tick, ready_of(rows, lead, arrivals), next_tick)

    async def commit_tick(
        self, lead: Lead, turns: TickRun, wall: datetime, ttl_ms: int, tell: Tell = nothing_to_tell
    ) -> Lead | None:
        wall_us, unfenced = to_us(wall), is_on("no_tick_fence")
        due = {each.id: each.due_tick for each in turns.ready if each.due_tick is not None}
        places = [(tick, each) for each, tick in due.items()] or [(-1, "")]
        async with self._db.transaction() as session:
            async with session.ahead() as writing:
                await writing.run(
                    "begin_tick",
                    lead.partition,
                    lead.epoch,
                    lead.tick,
                    unfenced,
                    *min(places),
                    *max(places),
                    text_of(due),
                )
                batch = await take_aside(turns, FIRST_BATCH)
                if not await writing.settle() and not unfenced:
                    return None
                while batch:
                    rows, entries, hashes = turn_rows(batch, wall_us, due)
                    await writing.run("write_turns", rows, wall_us, lead.partition, hashes, entries)
                    batch = await take_aside(turns, BATCH)
                ticked = turns.close()
                events = tell(ticked)
            moved, head = ticked.moved, ticked.head
            taken = sum(len(each.taken) for each in moved)
            numbered = await _close(session, lead, head, wall, ttl_ms, taken)
            assert numbered is not None, "no other ticker can have moved a partition that is held"
            if taken:
                numbers = taken_rows(moved, numbered - taken, head.tick)
                await session.run("take_arrivals", *columns(numbers, TAKEN_WIDTH))
            if effects := effect_rows(moved, lead.partition, wall_us, head.tick):
                await session.run("put_effects", *columns(effects, EFFECT_WIDTH))
            if withdrawn := [key for each in moved for key in each.withdrawn]:
                await session.run("withdraw_effects", withdrawn)
            await _remove(session, turns.gone)
            if events:
                await add_events(session, events)
        return _led_on(lead, head)

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
            if await _close(session, lead, head, wall, ttl_ms, 0) is None:
                return None
            await _remove(session, ids)
        return _led_on(lead, head)

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
            if head is not None:
                is_ours = await _close(session, lead, head, wall, ttl_ms, 0) is not None
            else:
                is_ours = await session.run("renew_lease", later_us(wall, ttl_ms), lead.partition, lead.epoch) > 0
            if not is_ours:
                return None
            await session.run("forget_ticks", lead.partition, sequence)
            await session.run("forget_checkpoints", lead.partition, sequence)
        return lead if head is None else _led_on(lead, head)


class PostgresEffects:
    def __init__(self, database: PostgresDatabase) -> None:
        self._db = database

    async def claim_effects(self, worker: str, limit: int, lease_ms: int) -> list[Intent]:
        if not await self.has_effects():  # one round trip of five, twice a second and process
            return []
        async with self._db.transaction() as session:
            now_us = to_us(await session.now())
            rows = await session.rows("claim_effects", worker, now_us, lease_ms, limit)
        return [intent_from(row, bool(row[-1])) for row in rows]

    async def answer_effects(self, answers: Sequence[EffectAnswer]) -> int:
        counted = 0
        async with self._db.transaction() as session:
            arrived_us = to_us(await session.now())
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


def turn_rows(moved: Iterable[ExecutionMove], wall_us: int, gone: Container[str] = ()) -> tuple[str, str, bytes]:
    """Executions as JSON, their entries as JSON, and the hashes of all entries as bytes.

    Those in `gone` have left their place in the queue.
    """
    rows: list[tuple[object, ...]] = []
    entries: list[tuple[object, ...]] = []
    hashes: list[str] = []
    for each in moved:
        state = each.state
        rows.append((
            state.id, state.status.value, state.step, state.ready_tick, state.number, state.head, state.outcome,
            state.error, text_of(state), wall_us if state.is_over else None,
            None if state.id in gone else each.was_ready_tick,
        ))  # fmt: skip
        for entry in each.entries:
            given, came = entry.input or b"null", entry.output or b"null"
            entries.append((
                entry.execution_id, entry.number, entry.step, entry.action, given.decode(), came.decode(), entry.tick,
            ))  # fmt: skip
            hashes += (entry.input_hash, entry.output_hash, entry.context or GENESIS, entry.previous, entry.hash)
    return as_json(rows), as_json(entries), bytes.fromhex("".join(hashes))


async def _remove(session: PostgresSession, ids: Sequence[str]) -> None:
    for query in REMOVING if ids else ():
        await session.run_many(query, [(each,) for each in ids])


async def _close(
    session: PostgresSession, lead: Lead, head: TickHead, wall: datetime, ttl_ms: int, taken: int
) -> int | None:
    """Compare and swap a tick: how many arrivals were numbered by then, or None if another writer was first."""
    numbered = await session.value(
        "close_tick", head.tick, head.sequence, head.hash, later_us(wall, ttl_ms), taken, lead.partition, lead.epoch,
        lead.tick, is_on("no_tick_fence"), text_of(head.heads), head.previous, to_us(wall), lead.worker,
    )  # fmt: skip
    return cast("int | None", numbered)


def _led_on(lead: Lead, head: TickHead) -> Lead:
    return replace(lead, tick=head.tick, sequence=head.sequence, head=head.hash)

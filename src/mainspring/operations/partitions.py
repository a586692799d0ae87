"""Verify a whole partition: its chain of ticks, every execution in the chain, and checkpoints kept elsewhere.

    1 walk     the ticks, and compare them with the signed checkpoints: stored ones, and those kept elsewhere
    2 compare  every existing execution with what the ticks record: its log, its row, its state
    3 miss     executions of the ticks that do not exist although no tick records their removal

Tickers write meanwhile: if something seems wrong, newer ticks are walked first. Hashes and signatures are checked in a
thread, page by page.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from typing import Final

import msgspec
from msgspec import Struct

from mainspring.domain.errors import InvalidInput, NotFound
from mainspring.domain.schedule.clock_steps import ClockReport
from mainspring.operations.context import Desk
from mainspring.operations.executions import PAGE
from mainspring.operations.secret_rotation import remember_retired
from mainspring.operations.verification import unlike_its_log
from mainspring.ports.clock import PartitionClock, RepairedPartition
from mainspring.ports.outbound import Ids
from mainspring.ports.stores import Stores
from mainspring.ports.workflows import Checkpoint, Execution
from mainspring.workflow.audit import BEGINNING, Anchor, Breach, LogWalk, TickHead, TickWalk, note_ends

FORMAT: Final = "mainspring.checkpoints.v1"
KEPT_MAX: Final = 100_000


class KeptCheckpoints(Struct, frozen=True, forbid_unknown_fields=True):
    """Signed checkpoints only, to be kept out of reach of anyone with write access to the database."""

    format: str
    checkpoints: tuple[Checkpoint, ...]


class PartitionVerdict(Struct, frozen=True):
    """The result of verifying a partition."""

    partition: int
    ticks: int
    executions: int
    checkpoints: int  # valid stored ones
    kept: int  # valid kept ones
    unreachable: int  # kept ones of ticks that retention has removed
    unsigned: int  # ticks after the last stored checkpoint
    breach: Breach | None = None

    @property
    def valid(self) -> bool:
        return self.breach is None


def read_kept(text: bytes) -> KeptCheckpoints:
    """Reads the checkpoints of a file. InvalidInput if it has none."""
    try:
        kept = msgspec.json.decode(text, type=KeptCheckpoints)
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as fault:
        raise InvalidInput(
            f"this is not a file of checkpoints: {fault}; create one with `mainspring partition checkpoints`",
            field="file",
        ) from None
    if kept.format != FORMAT or len(kept.checkpoints) > KEPT_MAX:
        raise InvalidInput(
            f"the file's format is {kept.format[:60]!r} with {len(kept.checkpoints)} checkpoints; this version reads "
            f"{FORMAT} with at most {KEPT_MAX}",
            field="format",
        )
    return kept


async def export_checkpoints(desk: Desk, partition: int | None = None) -> KeptCheckpoints:
    """The newest signed checkpoint of each partition, or of one."""
    found = []
    for view in await desk.stores.flows.partitions.views(await desk.stores.flows.workflows.now()):
        if partition not in (None, view.partition):
            continue
        newest: Checkpoint | None = None
        while page := await desk.stores.flows.logs.checkpoints(view.partition, newest.sequence if newest else 0, PAGE):
            newest = page[-1]
        if newest is not None:
            found.append(newest)
    return KeptCheckpoints(FORMAT, tuple(found))


async def verify_partitions(
    desk: Desk, partition: int | None = None, kept: Sequence[Checkpoint] = ()
) -> list[PartitionVerdict]:
    """Verifies every partition, or one. `kept` are checkpoints kept outside of the database."""
    await remember_retired(desk.stores, desk.vault.recall)
    views = await desk.stores.flows.partitions.views(await desk.stores.flows.workflows.now())
    there = {view.partition for view in views}
    wanted = there | {each.partition for each in kept} if partition is None else {partition}
    if partition is not None and partition not in there and not any(each.partition == partition for each in kept):
        raise NotFound("partition", str(partition), tuple(map(str, sorted(there))))
    return [
        await _PartitionWalk(desk, number, [each for each in kept if each.partition == number]).go()
        for number in sorted(wanted)
    ]


class _PartitionWalk:
    def __init__(self, desk: Desk, partition: int, kept: list[Checkpoint]) -> None:
        self._desk, self._logs, self._partition = desk, desk.stores.flows.logs, partition
        self._name = f"partition {partition}"
        self._kept = {(each.sequence, each.head, each.signature): each for each in kept}
        self._ticks, self._begin, self._signed = TickWalk(partition), 0, 0
        self._ends: dict[str, Anchor] = {}
        self._stored = self._compared = self._unreachable = self._executions = 0

    async def go(self) -> PartitionVerdict:
        breach = await self._start() or await self._catch_up() or await self._left_over()
        breach = breach or await self._compare_members()
        return PartitionVerdict(
            self._partition, self._ticks.sequence - self._begin, self._executions, self._stored, self._compared,
            self._unreachable, self._ticks.sequence - max(self._signed, self._begin), breach,
        )  # fmt: skip

    async def _start(self) -> Breach | None:
        start = await self._logs.chain_start(self._partition)
        if (false := await asyncio.to_thread(self._false_kept)) is not None:
            return Breach(self._name, false.sequence, "signature of the kept checkpoint", "genuine", false.signature)
        if start is None:
            return None
        if not self._is_genuine(start):
            return Breach(self._name, start.sequence, "signature of the checkpoint", "genuine", start.signature)
        self._ticks = TickWalk(self._partition, Anchor(start.sequence, start.head), start.tick)
        self._begin = self._signed = start.sequence
        for key, each in list(self._kept.items()):
            if each.sequence == start.sequence and each.head != start.head:
                return Breach(self._name, each.sequence, "kept checkpoint", each.head, start.head)
            if each.sequence <= start.sequence:
                del self._kept[key]
                self._compared += each.sequence == start.sequence
                self._unreachable += each.sequence < start.sequence
        return None

    async def _catch_up(self) -> Breach | None:
        """Walks the ticks up to the current end of the partition."""
        end = await self._logs.partition_end(self._partition) or BEGINNING
        while self._ticks.sequence < end.number:
            after = self._ticks.sequence
            page = await self._logs.ticks(self._partition, after, min(PAGE, end.number - after))
            if not page:
                break
            if breach := await asyncio.to_thread(self._take, page):
                return breach
            if breach := await self._compare_checkpoints({head.sequence: head.hash for head in page}, after):
                return breach
        return self._ticks.close(end)

    def _take(self, page: Sequence[TickHead]) -> Breach | None:
        for head in page:
            if breach := self._ticks.take(head):
                return breach
            note_ends(self._ends, head)
        return None

    async def _compare_checkpoints(self, hashes: dict[int, str], after: int) -> Breach | None:
        stored = {each.sequence: each for each in await self._logs.checkpoints(self._partition, after, len(hashes))}
        return await asyncio.to_thread(self._compare_with, stored, hashes)

    def _compare_with(self, stored: dict[int, Checkpoint], hashes: dict[int, str]) -> Breach | None:
        for sequence, each in stored.items():
            if sequence not in hashes:
                continue
            if not self._is_genuine(each):
                return Breach(self._name, sequence, "signature of the checkpoint", "genuine", each.signature)
            if each.head != hashes[sequence]:
                return Breach(self._name, sequence, "checkpoint", each.head, hashes[sequence])
            self._stored += 1
            self._signed = sequence
        for key, each in list(self._kept.items()):
            if each.sequence not in hashes:
                continue
            if each.head != hashes[each.sequence]:
                return Breach(self._name, each.sequence, "kept checkpoint", each.head, hashes[each.sequence])
            if each.sequence not in stored:
                return Breach(self._name, each.sequence, "checkpoint", each.signature, "deleted")
            del self._kept[key]
            self._compared += 1
        return None

    async def _left_over(self) -> Breach | None:
        """Checkpoints of ticks beyond the last existing one."""
        beyond = await self._logs.checkpoints(self._partition, self._ticks.sequence, 1)
        if (beyond or self._kept) and (breach := await self._catch_up()):
            return breach
        for each in [*beyond, *self._kept.values()]:
            if each.sequence > self._ticks.sequence:
                return Breach(self._name, each.sequence, "checkpoint", each.head, "cut off")
        return None

    async def _compare_members(self) -> Breach | None:
        seen: set[str] = set()
        async for page in self._members():
            for execution in page:
                seen.add(execution.id)
                if breach := await self._compare_member(execution):
                    return breach
        if not self._ends.keys() - seen:
            return None
        async for page in self._members():  # some may have been added meanwhile
            seen |= {each.id for each in page}
        if breach := await self._catch_up():  # and others may have been removed
            return breach
        for each in sorted(self._ends.keys() - seen):
            if await self._desk.stores.flows.ticks.standing([each]):
                return Breach(each, 1, "partition", str(self._partition), "another one")
            return Breach(each, 1, "execution", f"{self._ends[each].number} entries", "deleted")
        return None

    async def _members(self) -> AsyncIterator[list[Execution]]:
        after = ""
        while page := await self._desk.stores.flows.partitions.members(self._partition, after, PAGE):
            after = page[-1].id
            yield page

    async def _compare_member(self, execution: Execution) -> Breach | None:
        if execution.id not in self._ends:
            if execution.state.number == 0:
                return None
            if breach := await self._catch_up():
                return breach
        end = self._ends.get(execution.id)
        if end is None:
            there = await self._desk.stores.flows.ticks.standing([execution.id])
            if not there:
                return None  # retention removed it meanwhile
            return Breach(execution.id, 1, "execution", "an execution that a tick names", "one that no tick names")
        self._executions += 1
        desk = msgspec.structs.replace(self._desk, tenant_id=execution.tenant_id)
        walk = LogWalk(execution.id, execution.state.salt)
        while walk.number < end.number:
            limit = min(PAGE, end.number - walk.number)
            page = await self._logs.entries(execution.tenant_id, execution.id, walk.number, limit)
            if not page:
                break
            if breach := await asyncio.to_thread(walk.take, page):
                return breach
        return walk.close(end) or await unlike_its_log(desk, execution)

    def _false_kept(self) -> Checkpoint | None:
        return next((each for each in self._kept.values() if not self._is_genuine(each)), None)

    def _is_genuine(self, checkpoint: Checkpoint) -> bool:
        return self._desk.signer is None or self._desk.signer.is_genuine(checkpoint)


REPORTED_SINCE = timedelta(days=7)
REPORTS_MAX = 100
STOPPED_MIN = timedelta(seconds=5)  # the tick of the current second is not a sign of a step


class ClockStatus(Struct, frozen=True):
    reports: list[ClockReport]
    stopped: list[PartitionClock]  # partitions whose tick is ahead of the clock


async def clock_status(stores: Stores) -> ClockStatus:
    """Steps and differences of the last week, newest first, and the workflow partitions stopped by a step."""
    since = await stores.clock.now() - REPORTED_SINCE
    stopped = [each for each in await stores.clock.partitions() if each.ahead >= STOPPED_MIN]
    return ClockStatus(await stores.clock.reports(since, REPORTS_MAX), stopped)


async def repair_clock(stores: Stores, ids: Ids, worker: str) -> list[RepairedPartition]:
    """Lets every stopped partition continue from now; each repair is recorded, with an event."""
    repaired = []
    for each in (await clock_status(stores)).stopped:
        done = await stores.clock.repair_partition(each.partition)
        if done is None:
            continue
        repaired.append(done)
        at = await stores.clock.now()
        name = f"{worker} partition {done.partition}"
        report = ClockReport(ids.new("clk", at), at, "repair", -(done.ahead // timedelta(milliseconds=1)), name)
        if await stores.clock.add_report(report):
            await stores.clock.tell(report.id, done.waiting + done.moved)
    return repaired

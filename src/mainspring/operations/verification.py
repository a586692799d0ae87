"""Verify an execution's log: its own chain, the ticks that hold it, the signed checkpoints.

Ticks and log are walked together, page by page, so neither needs to fit into memory. Others write meanwhile: what was
read is judged only by what existed before it, and newer entries extend the walk. Pages are hashed in a thread, to keep
the event loop of a serving process free.
"""

import asyncio

from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.instant import rfc3339
from mainspring.operations.context import Desk
from mainspring.operations.executions import PAGE, claims_of, clock_of, find_execution
from mainspring.operations.secret_rotation import remember_retired
from mainspring.ports.workflows import Checkpoint, Execution, Published
from mainspring.workflow.audit import BEGINNING, GENESIS, Anchor, Breach, LogVerdict, LogWalk, TickHead, TickWalk
from mainspring.workflow.model import OLDEST_FORMAT, LogEntry
from mainspring.workflow.proof import check_origin, check_state, format_of
from mainspring.workflow.replay import Difference, Rerun


class Verified(Struct, frozen=True):
    """The result of verification: the log's verdict, the chain of its partition, and the number of valid
    checkpoints.
    """

    verdict: LogVerdict
    chain: Breach | None
    ticks: int
    checkpoints: int

    @property
    def valid(self) -> bool:
        return self.verdict.valid and self.chain is None


async def verify_execution(desk: Desk, execution_id: str) -> Verified:
    """Verifies the execution's log, the chain of ticks that anchors it, and the signed checkpoints of that chain."""
    execution = await find_execution(desk, execution_id)
    await remember_retired(desk.stores, desk.vault.recall)
    while True:
        start = await desk.stores.flows.logs.chain_start(execution.partition)
        found = await _Walk(desk, execution, start).go()
        if found.valid and (breach := await unlike_its_log(desk, execution)):
            return replace(found, verdict=replace(found.verdict, valid=False, breach=breach))
        if found.valid or await desk.stores.flows.logs.chain_start(execution.partition) == start:
            return found  # otherwise old ticks were removed meanwhile


async def unlike_its_log(desk: Desk, execution: Execution) -> Breach | None:
    """What an execution's rows state that its log contradicts: its origin, its document, its state."""
    state, logs = execution.state, desk.stores.flows.logs
    first = await logs.entries(desk.tenant_id, execution.id, 0, 1)
    if not first:
        return None  # it has not moved yet, or was removed meanwhile
    if state.number == 0:  # it has moved since it was read
        again = await desk.stores.flows.workflows.execution(desk.tenant_id, execution.id)
        if again is None or again.state.number > 0:
            return None if again is None else await unlike_its_log(desk, again)
        return Breach(execution.id, 1, "state.number", "as many as the log has", "0")
    if first[0].input is None:
        return await _wrongly_erased(desk, execution)
    if format_of(first[0]) == OLDEST_FORMAT:
        return None  # the log of an older version commits to less
    if row := await logs.row_breach(desk.tenant_id, execution.id):
        return row
    published = await desk.stores.flows.workflows.version(desk.tenant_id, state.workflow, state.version)
    if published is None:
        return Breach(execution.id, 1, "document", "the version that it started with", f"no version {state.version}")
    return await _unlike_replay(desk, execution, published)


async def _unlike_replay(desk: Desk, execution: Execution, published: Published) -> Breach | None:
    """The first difference when the log is replayed: its origin, an entry, the resulting state."""
    state, logs = execution.state, desk.stores.flows.logs
    clock = await clock_of(desk, execution)
    if not clock.is_consistent:
        clock = await clock_of(desk, execution)  # it may have been repaired between two reads
    if not clock.is_consistent:
        return Breach(execution.id, 1, "zero", rfc3339(clock.zeros[-1][1]), rfc3339(clock.epoch))
    rerun = Rerun(published.workflow, state.salt, clock)
    read = 0
    difference: Difference | None = None
    while read < state.number and difference is None:
        page = await logs.entries(desk.tenant_id, execution.id, read, min(PAGE, state.number - read))
        if not page:
            return None  # removed meanwhile
        if missing := next((each for each in page if each.input is None or each.output is None), None):
            again = await desk.stores.flows.workflows.execution(desk.tenant_id, execution.id)
            if again is None or not again.state.salt:
                return None  # removed or erased meanwhile
            field = "input" if missing.input is None else "output"
            return Breach(execution.id, missing.number, field, "a value, as the other entries have", "erased")
        if read == 0 and (breach := check_origin(page[0], claims_of(execution, published, clock, page[0].tick))):
            return breach
        read += len(page)
        difference = await asyncio.to_thread(rerun.take, page)
    difference = difference or await asyncio.to_thread(rerun.close)
    if difference is not None:
        return Breach(execution.id, difference.number, difference.field, difference.actual, difference.expected)
    return check_state(rerun.state, state)


async def _wrongly_erased(desk: Desk, execution: Execution) -> Breach | None:
    """Only finished executions are erased, and the log shows that without the values."""
    read, ended, whole = 0, False, not execution.state.salt
    while page := await desk.stores.flows.logs.entries(desk.tenant_id, execution.id, read, PAGE):
        read += len(page)
        ended = ended or any(each.action == "end" for each in page)
        whole = whole and all(each.input is None and each.output is None for each in page)
    if ended and whole and execution.state.is_over:
        return None
    return Breach(
        execution.id, 1, "input", "a value; only an execution that is over is erased, and then as a whole", "erased"
    )


class _Walk:
    def __init__(self, desk: Desk, execution: Execution, start: Checkpoint | None) -> None:
        self._desk, self._logs = desk, desk.stores.flows.logs
        self._id, self._partition = execution.id, execution.partition
        self._own = Anchor(execution.state.number, execution.state.head or GENESIS)
        self._log = LogWalk(execution.id, execution.state.salt)
        self._ticks, self._begin, self._held = TickWalk(self._partition), 0, 0
        if start is not None and self._is_genuine(start):
            self._ticks = TickWalk(self._partition, Anchor(start.sequence, start.head), start.tick)
            self._begin, self._held = start.sequence, 1
        self._chain: Breach | None = None
        self._breach: Breach | None = None

    async def go(self) -> Verified:
        while True:
            end = await self._logs.partition_end(self._partition) or BEGINNING
            await self._follow(end)
            if self._chain is not None or self._breach is not None:
                break
            chain, breach = await self._cut_off(), await self._unheld()
            if (chain, breach) == (None, None):
                break
            if await self._logs.partition_end(self._partition) == end:
                self._chain, self._breach = chain, breach
                break
        if self._breach is None:
            self._breach = await self._rest()
        return Verified(self._log.verdict(self._breach), self._chain, self._ticks.sequence - self._begin, self._held)

    async def _follow(self, end: Anchor) -> None:
        """The ticks up to the read end of the partition, and the log as far as they hold it."""
        while self._chain is None and self._ticks.sequence < end.number:
            after = self._ticks.sequence
            page = await self._logs.ticks(self._partition, after, min(PAGE, end.number - after))
            if not page:
                break
            anchors = await asyncio.to_thread(self._take, page)
            if self._chain is None:
                self._chain = await self._unfit({tick.sequence: tick.hash for tick in page}, after)
            if anchors and self._breach is None:
                self._breach = await self._read(anchors)
        self._chain = self._chain or self._ticks.close(end)

    def _take(self, page: list[TickHead]) -> list[Anchor]:
        anchors = []
        for tick in page:
            self._chain = self._ticks.take(tick)
            if self._chain is not None:
                break
            anchors += [Anchor(number, head) for each, number, head in tick.heads if each == self._id and number >= 0]
        return anchors

    async def _read(self, anchors: list[Anchor]) -> Breach | None:
        """The log up to the last of the anchors."""
        last = anchors[-1]
        expected = sorted([*anchors, self._own], key=lambda each: each.number)
        while self._log.number < last.number:
            limit = min(PAGE, last.number - self._log.number)
            page = await self._entries(limit)
            if not page:
                break
            if breach := await asyncio.to_thread(self._log.take, page, expected):
                return breach
        return self._log.close(last)

    async def _entries(self, limit: int) -> list[LogEntry]:
        """The next page of the log."""
        return await self._logs.entries(self._desk.tenant_id, self._id, self._log.number, limit)

    async def _unfit(self, hashes: dict[int, str], after: int) -> Breach | None:
        """The first checkpoint among these ticks that they contradict."""
        for checkpoint in await self._logs.checkpoints(self._partition, after, len(hashes)):
            if checkpoint.sequence > self._ticks.sequence:
                break
            if breach := self._compare(checkpoint, hashes[checkpoint.sequence]):
                return breach
            self._held += 1
        return None

    async def _cut_off(self) -> Breach | None:
        """A checkpoint beyond the last tick."""
        beyond = await self._logs.checkpoints(self._partition, self._ticks.sequence, 1)
        return self._compare(beyond[0], "cut off") if beyond else None

    async def _unheld(self) -> Breach | None:
        """An entry without a tick."""
        beyond = await self._entries(1)
        there = self._log.number
        return Breach(self._id, there + 1, "number", f"{there} entries", "more") if beyond else None

    async def _rest(self) -> Breach | None:
        """What the execution's row states about its log, in full if the chain of ticks is broken."""
        while self._chain is not None and (page := await self._entries(PAGE)):
            if breach := await asyncio.to_thread(self._log.take, page, [self._own]):
                return breach
        return self._log.close(self._own) if self._log.number < self._own.number else None

    def _compare(self, checkpoint: Checkpoint, hash_: str) -> Breach | None:
        is_genuine = self._is_genuine(checkpoint)
        if hash_ == checkpoint.head and is_genuine:
            return None
        what = "checkpoint" if is_genuine else "signature of the checkpoint"
        return Breach(f"partition {self._partition}", checkpoint.sequence, what, checkpoint.head, hash_)

    def _is_genuine(self, checkpoint: Checkpoint) -> bool:
        return self._desk.signer is None or self._desk.signer.is_genuine(checkpoint)

"""Remove old ticks in such a way that the rest can still be verified.

1 find    checkpoints that were signed long enough ago: the last of them replaces the ticks before it
2 walk    those ticks again; a broken chain is kept for investigation
3 repeat  what only they record about remaining executions, in a new tick
4 remove  ticks and earlier checkpoints in the transaction that writes that tick, if the epoch is still ours
"""

from datetime import datetime

import structlog

from mainspring.ports.workflows import Checkpoint, Lead, Signer, WorkflowStores
from mainspring.workflow.audit import Anchor, TickHead, TickWalk, note_ends, seal_tick
from mainspring.workflow.model import LogicalClock

CHECKPOINTS_MAX = 20  # at once; one a minute is signed
ENDS_MAX = 10_000  # executions whose last entry may be repeated in one tick, a megabyte

log = structlog.get_logger()


async def forget_ticks(
    stores: WorkflowStores, lead: Lead, signer: Signer | None, before: datetime, ttl_ms: int
) -> Lead | None:
    """Removes a batch of ticks signed before a time; returns the next lead, or None if another process leads."""
    start = await stores.logs.chain_start(lead.partition)
    old = await stores.logs.checkpoints(lead.partition, start.sequence if start else 0, CHECKPOINTS_MAX)
    found = await _walk(stores, start, [each for each in old if each.signed_at < before], signer)
    if found is None:
        return lead
    last, ends = found
    there = await stores.ticks.standing(list(ends))
    kept = [(each, *_pair(end)) for each, end in ends.items() if each in there and there[each] <= end.number]
    load = await stores.ticks.load_tick(lead, 1)
    head: TickHead | None = None
    if kept:
        tick = LogicalClock(0, lead.zero, lead.resolution_ms).reading(load.wall)
        if load.tick is not None or tick <= lead.tick:
            return lead  # another writer took this tick: the next round continues
        head = seal_tick(lead.partition, lead.sequence + 1, tick, kept, lead.head, lead.epoch)
    after = await stores.ticks.forget_ticks(lead, last.sequence, head, load.wall, ttl_ms)
    if after is not None:
        count = last.sequence - (start.sequence if start else 0)
        log.info("ticks removed", partition=lead.partition, ticks=count, repeated=len(kept))
    return after


async def _walk(
    stores: WorkflowStores, start: Checkpoint | None, old: list[Checkpoint], signer: Signer | None
) -> tuple[Checkpoint, dict[str, Anchor]] | None:
    """The last checkpoint whose ticks may be removed, and the ends of logs that they record; None: nothing may be
    removed.
    """
    if not old:
        return None
    partition = old[0].partition
    walk = TickWalk(partition, Anchor(start.sequence, start.head), start.tick) if start else TickWalk(partition)
    ends: dict[str, Anchor] = {}
    last: Checkpoint | None = None
    for checkpoint in old:
        breach = None
        for head in await stores.logs.ticks(partition, walk.sequence, checkpoint.sequence - walk.sequence):
            breach = breach or walk.take(head)
            note_ends(ends, head)
        breach = breach or walk.close(Anchor(checkpoint.sequence, checkpoint.head))
        if breach is not None or (signer is not None and not signer.is_genuine(checkpoint)):
            log.error("ticks kept", partition=partition, sequence=walk.sequence, breach=breach and breach.field)
            return None
        last = checkpoint
        if len(ends) > ENDS_MAX:
            break
    return (last, ends) if last else None


def _pair(anchor: Anchor) -> tuple[int, str]:
    return anchor.number, anchor.head

"""The seam of the scheduler: what is due, who has it, and how it ended."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from mainspring.domain.schedule.claim import Claim
from mainspring.domain.schedule.fairness import Caps, SlowRoom
from mainspring.domain.schedule.finish import Finished


class ClaimBatch(Struct, frozen=True):
    """What a claim brought: the slots to execute, the store's clock, and when to look again.

    `now` is when it was judged what is due, `handed_at` when the batch left the store; a transaction lies between.
    `more` says that due work was left behind although places were free (a cap or a lock was in the way of some, or
    settled rows made room): look again at once. `next_due_at` is None when nothing is planned at all.
    """

    now: datetime
    handed_at: datetime
    claims: tuple[Claim, ...] = ()
    next_due_at: datetime | None = None
    more: bool = False


class FinishReport(Struct, frozen=True):
    """Which results counted, which came too late, the earliest next run they led to, and which have to wait."""

    recorded: tuple[str, ...]
    superseded: tuple[str, ...]
    next_due_at: datetime | None
    waiting: tuple[str, ...] = ()


class ScheduleStore(Protocol):
    """What the scheduler worker needs."""

    async def claim_due(
        self, worker: str, limit: int, lease_margin_ms: int, caps: Caps, slow: SlowRoom | None = None
    ) -> ClaimBatch:
        """Lease up to `limit` due endpoints to `worker`, in one transaction.

        Oldest first, fair between tenants, within the caps; rows another worker has locked are skipped. No row is
        claimed before it is due by the store's clock. A row that throws is pushed ahead and marked; others go on.
        Caps and rates are counted over all workers. `slow` bounds the slow runs among the claims; None does not.
        """

    async def finish(self, batch: Sequence[Finished]) -> FinishReport:
        """Record results and plan the next runs, in one transaction; may be called again with the same batch.

        A result counts only where the endpoint's epoch is still its claim's; else its run becomes `superseded`. One
        whose endpoint somebody else holds is left as it was and told as waiting: nobody waits for a stranger's lock.
        """

    async def release(self, claims: Sequence[Claim]) -> None:
        """Give slots back unfinished, only where the epoch is still the claim's.

        They are due at once for anybody; those that may be delivered only once end as unknown.
        """

    async def expire_hints(self, limit: int) -> int:
        """Clear hints whose time ran out and replan their endpoints; returns how many endpoints changed."""

    async def wait_for_change(self, timeout_s: float) -> bool:
        """True as soon as somebody changed a schedule, False after `timeout_s`. It may also wake for nothing."""

    async def now(self) -> datetime:
        """The store's clock."""

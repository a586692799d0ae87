"""Port of the scheduler: claim due endpoints, record results, release slots."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from mainspring.domain.schedule.claim import Claim
from mainspring.domain.schedule.fairness import Caps, SlowRoom
from mainspring.domain.schedule.finish import Finished


class ClaimBatch(Struct, frozen=True):
    """The result of a claim: the slots to execute, the store's clock, and when to claim again.

    `now` is when due endpoints were determined, `handed_at` when the batch left the store, after the transaction.
    `more` says that due work was left behind although places were free (a limit or a lock blocked some, or finished
    rows made room): claim again at once. `next_due_at` is None if nothing is planned at all. `is_waiting` says that
    endpoints are due that could not start: a place that becomes free may be theirs.
    """

    now: datetime
    handed_at: datetime
    claims: tuple[Claim, ...] = ()
    next_due_at: datetime | None = None
    more: bool = False
    is_waiting: bool = False


class FinishReport(Struct, frozen=True):
    """Which results counted, which came too late, the earliest next run, and which have to wait."""

    recorded: tuple[str, ...]
    superseded: tuple[str, ...]
    next_due_at: datetime | None
    waiting: tuple[str, ...] = ()


class ScheduleStore(Protocol):
    """What the scheduler worker needs."""

    @property
    def breaks(self) -> int:
        """How often the connection to the database broke, or led to another server than before.

        After a break, a claim may have been committed whose response was lost, and a server that took over may lack
        what the previous one acknowledged: `release_strays` corrects both.
        """

    @property
    def pace_s(self) -> float:
        """How far apart claims of this process should be, so that several slots share the cost of a transaction."""

    async def claim_due(
        self, worker: str, limit: int, lease_margin_ms: int, caps: Caps, slow: SlowRoom | None = None
    ) -> ClaimBatch:
        """Leases up to `limit` due endpoints to `worker`, in one transaction.

        Oldest first, fair between tenants, within the limits; rows that another worker has locked are skipped. No row
        is claimed before it is due by the store's clock. A row that raises is postponed and marked; others continue.
        Limits and rates are counted across all workers. `slow` bounds the slow runs among the claims; None does not.
        """

    async def finish(self, batch: Sequence[Finished]) -> FinishReport:
        """Records results and plans the next runs, in one transaction; may be called again with the same batch.

        A result counts only if the endpoint's epoch is still its claim's; otherwise its run becomes `superseded`. A
        result whose endpoint is locked by another transaction is left unchanged and reported as waiting, so that finish
        never waits for a foreign lock.
        """

    async def release(self, claims: Sequence[Claim]) -> None:
        """Releases unfinished slots whose epoch is still the claim's.

        They are due immediately for any worker; at-most-once slots end as unknown.
        """

    async def release_strays(self, worker: str, running: Collection[str]) -> int:
        """Releases the slots leased to `worker` whose runs are not among `running`; returns how many.

        Must not be called while a claim of the same worker is under way.
        """

    async def expire_hints(self, limit: int) -> int:
        """Clears expired hints and replans their endpoints; returns how many endpoints changed."""

    async def wait_for_change(self, timeout_s: float) -> bool:
        """True as soon as a schedule changed, False after `timeout_s`. May also wake up without a reason."""

    async def now(self) -> datetime:
        """The store's clock."""

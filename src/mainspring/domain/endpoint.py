"""Endpoints and jobs: one thing to call and when, and the named groups they belong to.

An endpoint is a value: its configuration and its whole scheduling state. Nothing changes one in place: `planning`,
`claiming`, `settling` and `changes` compute the next value, a store writes it where the epoch is still theirs.
"""

from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from mainspring.domain.run import HttpAction, RunTrigger
from mainspring.domain.schedule.hint import IntervalHint, OneShotHint

INTERVAL_MS_MIN = 100
INTERVAL_MS_MAX = 366 * 86_400_000
LIMIT_MS_MIN = 1_000  # a limit below one second would let a hint turn an endpoint into a load test
TIMEOUT_MS_MAX = 600_000  # beyond ten minutes a lease without renewal is held too long after a crash
CATCH_UP_MAX = 100
LOST_WORKERS_MAX = 5  # in a row; then the endpoint is parked: it may be what kills them


class BackoffPolicy(StrEnum):
    DEFAULT = "default"
    MONITOR = "monitor"


class MisfirePolicy(StrEnum):
    RUN_ONCE = "run_once"
    SKIP = "skip"
    CATCH_UP = "catch_up"


class LostWorkerPolicy(StrEnum):
    RETRY = "retry"  # at least once
    SKIP = "skip"  # at most once


class Power(StrEnum):
    """What the owner of an endpoint lets advice do."""

    INTERVAL = "interval"  # run it at another interval
    RUN = "run"  # ask for one more run
    WAKE = "wake"  # end a pause that advice may end
    PAUSE = "pause"
    SIBLINGS = "siblings"  # its rules, and sessions about it, act on other endpoints of its job


POWERS = tuple(power.value for power in Power)


class JobStatus(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    ARCHIVED = "archived"


class Job(Struct, frozen=True):
    id: str
    tenant_id: str
    name: str
    description: str
    status: JobStatus
    created_at: datetime
    updated_at: datetime
    managed_by: str = ""  # the configuration source that describes it; "": people alone do


class Tenant(Struct, frozen=True):
    """A tenant's quotas (None: unlimited), what it used of them this month, and its sealed signing keys."""

    id: str
    name: str
    runs_per_month: int | None = None
    tokens_per_month: int | None = None
    endpoints_max: int | None = None
    interval_ms_min: int | None = None
    runs_this_month: int = 0
    signing_keys: tuple[str, ...] = ()


class RefusedAdvice(Struct, frozen=True):
    """The newest advice that an endpoint refused: whose it was, what it asked for, and why it was refused."""

    at: datetime
    author: str
    does: str
    because: str


class Endpoint(Struct, frozen=True):
    """Configuration first, then state. The stores' column lists follow this order."""

    id: str
    tenant_id: str
    job_id: str
    name: str
    description: str
    action: HttpAction
    host: str  # `host:port` of the action, for the cap on concurrent calls to one host
    cron: str | None
    interval_ms: int | None
    timezone: str
    min_interval_ms: int | None
    max_interval_ms: int | None
    backoff: BackoffPolicy
    jitter_ms: int
    spread: bool
    misfire: MisfirePolicy
    catch_up_max: int
    max_lateness_ms: int | None
    on_lost_worker: LostWorkerPolicy
    created_at: datetime
    updated_at: datetime
    version: int  # of the configuration; +1 with every edit
    archived_at: datetime | None

    # What stops it from running at all.
    job_active: bool
    parked_at: datetime | None
    parked_reason: str
    paused_until: datetime | None
    pause_reason: str
    deferred_until: datetime | None  # over quota until then

    # What the governor reads besides the configuration.
    failure_count: int
    not_before: datetime | None  # the target's Retry-After
    interval_hint: IntervalHint | None
    one_shot_hint: OneShotHint | None

    # The plan: when it runs next and why.
    anchor_at: datetime  # the `now` of the last decision that a run made; replanning starts from it
    next_run_at: datetime | None  # None: not until something changes
    source: str
    trail: str  # JSON
    manual_at: datetime | None  # a requested run that waits for its turn

    # The slot in hand, or owed (taken over, released, caught up), and who holds it.
    slot_at: datetime | None
    trigger: RunTrigger
    attempt: int
    claim_epoch: int
    lease_until: datetime | None
    claimed_by: str
    run_id: str
    lost_count: int

    # The last run that ended.
    last_run_at: datetime | None
    last_status: str

    managed_by: str = ""  # configuration too, but last: the source that describes it; "": people alone do
    last_duration_ms: int | None = None  # state: how long the last run took; None: it has not run yet

    # The first and the last cron slot that ran while the clock was ahead. They do not run again.
    ran_from_at: datetime | None = None
    ran_until_at: datetime | None = None

    advice: tuple[str, ...] = POWERS  # configuration too: what advice may do

    # State too. Who may end a pause depends on who set it; "" is a pause of unknown origin, which advice may end.
    pause_author: str = ""
    advice_may_resume: bool = False  # a person paused it, and lets advice end the pause
    refused_advice: RefusedAdvice | None = None

    @property
    def is_running(self) -> bool:
        return self.lease_until is not None

    @property
    def due_at(self) -> datetime | None:
        """When a worker may reach for it: when its lease is over, or when it is due or asked for."""
        if self.lease_until is not None:
            return self.lease_until
        return min((at for at in (self.manual_at, self.next_run_at) if at is not None), default=None)

    @property
    def can_run(self) -> bool:
        return self.job_active and self.archived_at is None and self.parked_at is None

    def has_run(self, slot_at: datetime) -> bool:
        """Whether a cron slot ran while the clock was ahead."""
        return (
            self.cron is not None
            and self.ran_from_at is not None
            and self.ran_until_at is not None
            and self.ran_from_at <= slot_at <= self.ran_until_at
        )

    def is_paused(self, now: datetime) -> bool:
        return self.paused_until is not None and self.paused_until > now

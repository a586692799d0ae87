"""R22: a one-shot hint causes exactly one run, an expired hint causes none, whatever else happens to its endpoint.

A machine does to one endpoint what users, workers and the clock may do, in any order: write, overwrite, clear and
expire hints; claim, finish, crash, release; pause, resume, run now, stop the job, use up the quota. After every step
the promises are checked.
"""

from datetime import datetime, timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.structs import replace
from tests.domain.stage import DAY, after, end, lease_end, reach, released
from tests.stores.world import an_endpoint, an_outcome

from mainspring.domain.endpoint import BackoffPolicy, Endpoint, LostWorkerPolicy, MisfirePolicy
from mainspring.domain.errors import Conflict, QuotaExceeded
from mainspring.domain.run import RunStatus, RunTrigger
from mainspring.domain.schedule import changes
from mainspring.domain.schedule.anchor import START_TOLERANCE, plan_first
from mainspring.domain.schedule.changes import Change
from mainspring.domain.schedule.claim import Claim, Transition
from mainspring.domain.schedule.cron import CRON
from mainspring.domain.schedule.hint import OneShotHint, make_interval_hint, make_one_shot_hint

ENDED = (RunStatus.SUCCESS, RunStatus.FAILURE, RunStatus.TIMEOUT, RunStatus.BLOCKED)
spans = st.sampled_from([0.0, 0.000001, 0.5, 3.0, 31.0, 60.0, 61.0, 600.0, 1_800.0, 5_000.0])
schedules = st.sampled_from(
    [
        {"interval_ms": 15_000},
        {"interval_ms": 60_000},
        {"interval_ms": 86_400_000},
        {"interval_ms": 60_000, "backoff": BackoffPolicy.MONITOR},
        {"cron": "* * * * *"},
        {"cron": "0 * * * *", "timezone": "Europe/Berlin"},
    ]
)


class OneEndpoint(RuleBasedStateMachine):
    now: datetime
    endpoint: Endpoint
    worker: Claim | None  # the run somebody is executing
    dead: list[Claim]  # runs whose worker was lost; they may still report
    asked: OneShotHint | None  # the one-shot that has not had its run
    requested: bool
    last_start_at: datetime | None
    minimum: timedelta

    @initialize(
        schedule=schedules,
        misfire=st.sampled_from(MisfirePolicy),
        lost=st.sampled_from(LostWorkerPolicy),
        limits=st.sampled_from([(None, None), (60_000, None), (None, 3_600_000), (90_000, 90_000)]),
    )
    def begin(
        self,
        schedule: dict[str, object],
        misfire: MisfirePolicy,
        lost: LostWorkerPolicy,
        limits: tuple[int | None, int | None],
    ) -> None:
        low, high = limits if misfire is not MisfirePolicy.CATCH_UP else (None, None)
        self.now = DAY
        self.minimum = timedelta(milliseconds=low or 0)
        endpoint = an_endpoint(
            "hinted", id="ep_1", misfire=misfire, on_lost_worker=lost, min_interval_ms=low, max_interval_ms=high,
            next_run_at=None, **schedule,
        )  # fmt: skip
        self.endpoint = plan_first(endpoint, self.now, CRON)
        self.worker, self.dead, self.asked, self.requested = None, [], None, False
        self.last_start_at = None

    @rule(span=spans)
    def wait(self, span: float) -> None:
        self.now += timedelta(seconds=span)

    @rule()
    def wait_for_the_next_run(self) -> None:
        claimable_at = self.claimable_at()
        if claimable_at is not None and claimable_at < DAY + timedelta(days=900):
            self.now = max(self.now, claimable_at)

    @rule(delay=spans, life=st.sampled_from([5.0, 60.0, 1_800.0, 86_400.0]))
    def write_one_shot(self, delay: float, life: float) -> None:
        at = self.now + timedelta(seconds=min(delay, life / 2))
        self.asked = make_one_shot_hint(self.now, at, timedelta(seconds=life))
        self.change(changes.put_one_shot_hint(self.endpoint, self.asked, self.now, CRON))

    @rule(interval_ms=st.sampled_from([1_000, 30_000, 7_200_000]), life=st.sampled_from([5.0, 600.0, 86_400.0]))
    def write_interval_hint(self, interval_ms: int, life: float) -> None:
        hint = make_interval_hint(self.now, interval_ms, timedelta(seconds=life))
        self.change(changes.put_interval_hint(self.endpoint, hint, self.now, CRON))

    @rule()
    def clear_hints(self) -> None:
        self.asked = None
        self.change(changes.clear_hints(self.endpoint, self.now, "user", CRON))

    @rule()
    def sweep_expired_hints(self) -> None:
        self.change(changes.expire_hints(self.endpoint, self.now, CRON))

    @rule(span=spans, forever=st.booleans())
    def pause(self, span: float, forever: bool) -> None:
        until = None if forever else self.now + timedelta(seconds=span + 1)
        self.change(changes.pause(self.endpoint, until, "", self.now, "user", CRON))

    @rule()
    def resume(self) -> None:
        self.change(changes.resume(self.endpoint, self.now, "user", CRON))

    @rule(active=st.booleans())
    def switch_the_job(self, active: bool) -> None:
        if active != self.endpoint.job_active:
            self.requested = False
        self.change(changes.set_job_active(self.endpoint, active, self.now, "user", CRON))

    @rule(interval_ms=st.sampled_from([15_000, 60_000, 86_400_000]))
    def edit(self, interval_ms: int) -> None:
        edited = replace(self.endpoint, description=self.endpoint.description + ".")
        if self.endpoint.cron is None:
            edited = replace(edited, interval_ms=interval_ms)
        self.change(changes.edit(self.endpoint, edited, self.now, "user", CRON))

    @rule()
    def reset_failures(self) -> None:
        self.change(changes.reset_failures(self.endpoint, self.now, "user", CRON))

    @rule()
    def run_now(self) -> None:
        try:
            change = changes.request_run(self.endpoint, self.now, "user", CRON)
        except (Conflict, QuotaExceeded):
            assert not self.endpoint.can_run or self.endpoint.deferred_until is not None
        else:
            self.requested = True
            self.change(change)

    @precondition(lambda self: self.is_claimable())
    @rule(over_quota=st.sampled_from([False, False, False, True]))
    def claim(self, over_quota: bool) -> None:
        before = self.endpoint
        transition = reach(before, self.now, over_quota=over_quota)
        if before.is_running and self.worker is not None:  # it lives, but its lease is over: its result comes too late
            self.dead.append(self.worker)
            self.worker = None
        if transition.claim is not None:
            self.check_start(before, transition)
            self.worker = transition.claim
        self.follow(before, transition)
        self.endpoint = transition.endpoint

    @precondition(lambda self: self.worker is not None)
    @rule(status=st.sampled_from(ENDED), retry_after_s=st.sampled_from([None, None, 30, 100_000]))
    def finish(self, status: RunStatus, retry_after_s: int | None) -> None:
        claim = self.worker
        assert claim is not None
        took = (self.now - claim.claimed_at).total_seconds()
        settlement = end(self.endpoint, claim, an_outcome(status, retry_after_s=retry_after_s), took=took)
        settled = after(settlement)
        self.check_kept_hint(settled)
        assert end(settled, claim, took=took).is_repeat
        self.endpoint, self.worker = settled, None

    @precondition(lambda self: self.worker is not None)
    @rule()
    def crash(self) -> None:
        assert self.worker is not None
        self.dead.append(self.worker)
        self.worker = None

    @precondition(lambda self: self.worker is not None)
    @rule()
    def shut_down(self) -> None:
        assert self.worker is not None
        self.endpoint = released(replace(self.worker, endpoint=self.endpoint), self.now)
        self.requested = self.endpoint.manual_at is not None  # a manual run that was given back waits again
        self.dead.append(self.worker)
        self.worker = None

    @precondition(lambda self: any(claim.epoch != self.endpoint.claim_epoch for claim in self.dead))
    @rule(data=st.data())
    def a_dead_worker_reports(self, data: st.DataObject) -> None:
        claim = data.draw(st.sampled_from([each for each in self.dead if each.epoch != self.endpoint.claim_epoch]))
        settlement = end(self.endpoint, claim, started_at=self.now)

        assert (settlement.endpoint, settlement.status) == (None, RunStatus.SUPERSEDED)

    @precondition(lambda self: self.can_be_followed())
    @rule()
    def a_fresh_one_shot_gets_its_run(self) -> None:
        assert self.asked is not None
        self.now = max(self.now, self.asked.next_run_at)
        for _ in range(4):  # an owed slot and a requested run may come first
            assert self.is_claimable()
            self.claim(over_quota=False)
            if self.worker is not None:
                self.finish(RunStatus.SUCCESS, None)
            if self.endpoint.one_shot_hint is None:
                return
        raise AssertionError("a fresh one-shot had no run")

    @invariant()
    def what_can_run_is_planned(self) -> None:
        assert not self.endpoint.can_run or self.endpoint.next_run_at is not None

    @invariant()
    def what_is_stopped_is_not_planned(self) -> None:
        if not self.endpoint.can_run and not self.endpoint.is_running and self.endpoint.slot_at is None:
            assert (self.endpoint.next_run_at, self.endpoint.manual_at) == (None, None)

    @invariant()
    def the_maximum_holds(self) -> None:
        each = self.endpoint
        if each.max_interval_ms and each.can_run and not each.is_paused(self.now) and each.deferred_until is None:
            assert each.next_run_at is not None
            assert each.next_run_at <= self.now + timedelta(milliseconds=each.max_interval_ms)

    @invariant()
    def a_request_waits_or_has_been_run(self) -> None:
        assert self.requested == (self.endpoint.manual_at is not None)

    def claimable_at(self) -> datetime | None:
        """As the stores compute it."""
        each = self.endpoint
        if each.lease_until is not None:
            return each.lease_until
        return min((at for at in (each.manual_at, each.next_run_at) if at is not None), default=None)

    def is_claimable(self) -> bool:
        claimable_at = self.claimable_at()
        return claimable_at is not None and claimable_at <= self.now

    def can_be_followed(self) -> bool:
        each, hint = self.endpoint, self.asked
        if hint is None or not hint.is_fresh(max(self.now, hint.next_run_at)) or each.is_running:
            return False
        return (
            each.can_run
            and not each.is_paused(hint.next_run_at)
            and not each.min_interval_ms
            and not (each.deferred_until or each.not_before or each.is_paused(self.now))
        )

    def change(self, change: Change) -> None:
        assert change.endpoint.claim_epoch == self.endpoint.claim_epoch
        self.check_kept_hint(change.endpoint)
        self.endpoint = change.endpoint

    def check_kept_hint(self, new: Endpoint) -> None:
        """Nothing but a run, its owner or its expiry takes a one-shot away."""
        if self.asked is not None and new.one_shot_hint is None:
            assert not self.asked.is_fresh(self.now)
            self.asked = None
        assert new.one_shot_hint == self.asked

    def check_start(self, before: Endpoint, transition: Transition) -> None:
        claim, opened = transition.claim, transition.opened
        assert claim is not None
        assert opened is not None
        assert claim.epoch > before.claim_epoch
        assert claim.slot_at <= self.now
        assert not before.is_running or lease_end(before) <= self.now
        assert self.worker is None
        first = opened.attempt == 1
        if first and opened.trigger is RunTrigger.SCHEDULE:
            assert not before.is_paused(self.now)
            self.check_cause(before, opened.source, transition)
        if first and opened.trigger is not RunTrigger.MANUAL and opened.source != "paused" and self.last_start_at:
            assert self.now - self.last_start_at >= self.minimum - START_TOLERANCE
        if opened.trigger is not RunTrigger.MANUAL and claim.endpoint.trigger is not RunTrigger.MANUAL:
            self.last_start_at = self.now

    def check_cause(self, before: Endpoint, source: str, transition: Transition) -> None:
        """A run that a hint asked for: the hint is fresh, and a one-shot has had its run with it."""
        if source == "ai-oneshot":
            assert before.one_shot_hint is not None
            assert before.one_shot_hint.is_fresh(self.now)
            assert before.one_shot_hint.next_run_at <= self.now
            assert transition.endpoint.one_shot_hint is None
        if source == "ai-interval":
            assert before.interval_hint is not None
            assert before.interval_hint.is_fresh(self.now)

    def follow(self, before: Endpoint, transition: Transition) -> None:
        """What the claim did to the one-shot and to a requested run."""
        new, opened = transition.endpoint, transition.opened
        if self.asked is not None and new.one_shot_hint is None:
            had_its_run = opened is not None and self.asked.next_run_at <= self.now
            assert had_its_run or not self.asked.is_fresh(self.now)
            self.asked = None
        if self.requested and new.manual_at is None:
            ran = transition.claim is not None and transition.endpoint.trigger is RunTrigger.MANUAL
            assert ran or new.deferred_until is not None or not new.can_run
            self.requested = False
        assert opened is None or opened.slot_at <= opened.started_at
        assert new.claim_epoch >= before.claim_epoch


TestOneEndpoint = OneEndpoint.TestCase
TestOneEndpoint.settings = settings(
    max_examples=200 if settings().max_examples <= 100 else 5_000, stateful_step_count=40
)

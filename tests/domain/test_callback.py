"""Callbacks in the pure functions: whatever happens in whatever order, a slot ends once and nothing runs beside it."""

from datetime import timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.domain.stage import at, claimant
from tests.stores.world import START, an_endpoint

from mainspring.domain.access.callback_token import CallbackTarget, callback_url, read_target
from mainspring.domain.endpoint import Endpoint, LostWorkerPolicy
from mainspring.domain.event import Event, EventType
from mainspring.domain.retry import RetryPolicy
from mainspring.domain.run import Body, HttpAction, Outcome, Run, RunStatus, RunTrigger
from mainspring.domain.schedule import changes
from mainspring.domain.schedule.callback import CallbackReport, ReportMeaning, judge_overdue, receive
from mainspring.domain.schedule.callback_wait import CallbackWait
from mainspring.domain.schedule.claim import Claim, Transition, admit, end_lost, give_back, wait_for_callback
from mainspring.domain.schedule.clock_steps import bring_back
from mainspring.domain.schedule.cron import CRON
from mainspring.domain.schedule.finish import Finished, settle
from mainspring.domain.schedule.hint import IntervalHint
from mainspring.operations.preview import preview

HOUR_MS = 3_600_000
ACTION = HttpAction(url="http://127.0.0.1:9/", completes="callback", callback_timeout_ms=HOUR_MS)
ACCEPTED = Outcome(RunStatus.RUNNING, 5, 202)
RETRIED = RetryPolicy(on=("timeout", "other"), delay_ms=1_000)
ENDS = (EventType.RUN_FINISHED, EventType.RUN_RETRIED)
DOINGS = ("claim", "answer", "answer late", "lose", "give back", "end", "fail", "progress", "request", "pause", "edit")


class World:
    """One endpoint and its runs, as a store would keep them."""

    def __init__(self, policy: LostWorkerPolicy, retry: RetryPolicy | None, *, fenced: bool = True) -> None:
        self.now = START
        self.fenced = fenced
        self.endpoint = an_endpoint(action=ACTION, on_lost_worker=policy, retry=retry)
        self.claims: list[Claim] = []
        self.runs: dict[str, Run] = {}
        self.events: list[Event] = []

    def do(self, what: str) -> None:
        match what:
            case "claim":
                if self.endpoint.due_at is not None and self.endpoint.due_at <= self.now:
                    by = claimant(f"run_{len(self.runs)}")
                    self.take(admit(self.endpoint, self.now, by, CRON))
            case "answer" | "answer late":
                for held in self.claims[-1 if what == "answer" else 0 :][:1]:
                    started_at = held.request.started_at
                    outcome = ACCEPTED if started_at is None else judge_overdue(started_at, self.now)
                    self.finish(held, outcome)
            case "lose" | "give back":
                if self.endpoint.is_running and self.endpoint.claimed_by != "callback":
                    lost = end_lost(self.endpoint, self.now, 1, CRON)
                    self.take(lost if what == "lose" else give_back(self.endpoint, self.now, CRON))
            case "end" | "fail" | "progress":
                meaning = {"end": ReportMeaning.SUCCESS, "fail": ReportMeaning.FAIL}.get(what, ReportMeaning.PROGRESS)
                for run_id in list(self.runs):
                    self.report(self.runs[run_id], CallbackReport(meaning))
            case "request" if self.endpoint.can_run:
                self.endpoint = changes.request_run(self.endpoint, self.now, "user", CRON).endpoint
            case "pause":
                until = self.now + timedelta(minutes=10)
                self.endpoint = changes.pause(self.endpoint, until, "", self.now, "user", CRON).endpoint
            case "edit":
                every = 60_000 if self.endpoint.interval_ms == 30_000 else 30_000
                edited = replace(self.endpoint, interval_ms=every)
                self.endpoint = changes.edit(self.endpoint, edited, self.now, "user", CRON).endpoint

    def has_ended_twice(self) -> bool:
        ended = [event.run_id for event in self.events if event.type in ENDS]
        return len(ended) > len(set(ended))

    def take(self, transition: Transition) -> None:
        self.endpoint = transition.endpoint
        self.events += transition.events
        if transition.claim is not None:
            self.claims.append(transition.claim)
        if (opened := transition.opened) is not None:
            self.runs[opened.id] = opened
        if (closed := transition.closed) is not None:
            self.end_run(closed.run_id, closed.status)

    def finish(self, held: Claim, outcome: Outcome) -> None:
        done = settle(self.endpoint, Finished(held, outcome, self.now, self.now), self.now, CRON)
        self.events += done.events
        if done.endpoint is not None:
            self.endpoint = done.endpoint
        if not done.is_repeat:
            self.end_run(held.run_id, done.status)

    def report(self, run: Run, report: CallbackReport) -> None:
        got = receive(self.endpoint, run, report, (), self.now, CRON, fenced=self.fenced)
        self.endpoint = got.endpoint
        self.events += got.events
        if got.ended is not None:
            finished, settlement = got.ended
            self.end_run(finished.claim.run_id, settlement.status)
        if got.closed is not None:
            self.end_run(got.closed.run_id, got.closed.status)

    def end_run(self, run_id: str, status: RunStatus) -> None:
        if self.runs[run_id].status in (RunStatus.RUNNING, RunStatus.ABANDONED, RunStatus.UNKNOWN):
            self.runs[run_id] = replace(self.runs[run_id], status=status)


@given(
    st.lists(st.tuples(st.sampled_from(DOINGS), st.sampled_from((0, 1, 61, 601, 3_601))), max_size=40),
    st.sampled_from(tuple(LostWorkerPolicy)),
    st.sampled_from((None, RETRIED)),
)
@example([("claim", 0), ("claim", 61), ("claim", 61), ("fail", 0)], LostWorkerPolicy.RETRY, RETRIED)
def test_a_run_ends_once_and_an_open_run_is_alone(
    doings: list[tuple[str, int]], policy: LostWorkerPolicy, retry: RetryPolicy | None
) -> None:
    world = World(policy, retry)
    for what, seconds in doings:
        world.now += timedelta(seconds=seconds)
        world.do(what)

        waiting = world.endpoint.waiting
        assert not world.has_ended_twice()
        running = [run.id for run in world.runs.values() if run.status is RunStatus.RUNNING]
        assert len(running) <= 1, "two runs at the same time"
        if waiting is not None:
            assert running == [world.endpoint.run_id]
            assert (world.endpoint.slot_at, world.endpoint.manual_at) != (None, None)
            assert world.endpoint.due_at == (world.endpoint.lease_until or waiting.until_at)


def test_negative_control_without_the_fence_a_run_ends_twice() -> None:
    world = World(LostWorkerPolicy.RETRY, None, fenced=False)
    for what in ("claim", "answer", "end", "end"):
        world.do(what)

    assert world.has_ended_twice()


def waiting_endpoint(**fields: object) -> Endpoint:
    """It runs once an hour; the run of 12:00 was accepted and must be reported before 13:00."""
    planned = {"interval_ms": HOUR_MS, "slot_at": at("12:00:00"), "anchor_at": at("11:00:00")}
    made = an_endpoint("", **{"action": ACTION, **planned, **fields})
    return wait_for_callback(replace(made, run_id="run_1"), at("12:00:00"), at("13:00:00"), "accepted")


def test_preview_begins_as_if_the_run_ended_now() -> None:
    now = at("12:30:00")
    first, second = preview(waiting_endpoint(), now, 2, CRON)

    assert (first.next_run_at, second.next_run_at) == (now, now + timedelta(hours=1))


def test_clock_that_is_set_back_leaves_the_deadline() -> None:
    endpoint = waiting_endpoint()

    assert bring_back(endpoint, at("10:00:00"), timedelta(hours=2), None, 1_000, CRON).endpoint == endpoint


def test_hint_changes_the_runs_that_follow() -> None:
    now = at("12:30:00")
    hint = IntervalHint(60_000, now + timedelta(hours=1))
    hinted = changes.put_interval_hint(waiting_endpoint(), hint, now, CRON).endpoint

    assert (hinted.next_run_at, hinted.interval_hint) == (at("13:00:00"), hint)


def test_endpoint_archived_during_the_call_is_closed_by_the_next_claim() -> None:
    endpoint = waiting_endpoint(archived_at=at("12:00:01"))
    closed = admit(endpoint, at("12:00:02"), claimant(), CRON)

    assert endpoint.next_run_at == at("12:00:01")
    assert closed.closed is not None
    assert (closed.closed.status, closed.endpoint.waiting) == (RunStatus.UNKNOWN, None)


def test_claim_before_the_deadline_puts_the_deadline_back() -> None:
    waiting = waiting_endpoint()
    early = replace(waiting, next_run_at=at("12:10:00"), lease_until=at("12:10:00"))

    assert admit(early, at("12:20:00"), claimant(), CRON) == Transition(waiting)


def test_judgement_that_is_given_back_is_made_again() -> None:
    judged = admit(waiting_endpoint(), at("13:00:00"), claimant(), CRON).endpoint

    back = give_back(judged, at("13:00:01"), CRON).endpoint

    assert (back.waiting, back.lease_until, back.due_at) == (judged.waiting, None, at("13:00:00"))


def test_report_after_an_edit_of_the_kind_is_judged_without_the_new_condition() -> None:
    other = HttpAction(url="http://127.0.0.1:9/", condition="status_code == 200")
    endpoint = replace(waiting_endpoint(), action=other)
    run = Run("run_1", "default", endpoint.id, at("12:00:00"), 1, RunTrigger.SCHEDULE, "", RunStatus.RUNNING, START)

    got = receive(endpoint, run, CallbackReport(ReportMeaning.SUCCESS), (), at("12:30:00"), CRON)

    assert got.ended is not None
    assert got.ended[1].status is RunStatus.SUCCESS


def test_body_of_a_report_is_cut_to_the_cap_of_the_endpoint() -> None:
    endpoint = replace(waiting_endpoint(), action=replace(ACTION, body_cap=4))
    run = Run("run_1", "default", endpoint.id, at("12:00:00"), 1, RunTrigger.SCHEDULE, "", RunStatus.RUNNING, START)
    report = CallbackReport(ReportMeaning.SUCCESS, body=Body(b"abcdef", "text/plain", False, 6))

    got = receive(endpoint, run, report, (), at("12:30:00"), CRON)

    assert got.ended is not None
    assert got.ended[0].outcome.body == Body(b"abcd", "text/plain", True, 6)


@pytest.mark.parametrize("text", ["", "a|b", "a|b|c|d"])
def test_text_that_names_no_run_is_no_target(text: str) -> None:
    assert read_target(text) is None


def test_target_is_read_as_it_was_written() -> None:
    target = CallbackTarget("default", "ep_1", "run_1")

    assert read_target(target.text()) == target
    assert callback_url("https://a.example.com/", "t") == "https://a.example.com/callback/t"


@given(st.timedeltas(timedelta(0), timedelta(days=90)), st.integers(1, 10**10))
def test_progress_never_shortens_a_deadline(after: timedelta, timeout_ms: int) -> None:
    before = CallbackWait(START, START + timedelta(days=30))

    assert before.reported(None, "", timeout_ms, START + after).until_at >= before.until_at

"""Pings: what they do to their endpoint, and how silence is judged."""

from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace
from tests.domain.stage import at, reach
from tests.stores.world import an_endpoint

from mainspring.domain.definition import check_config, config_of
from mainspring.domain.endpoint import Endpoint, Tenant
from mainspring.domain.errors import InvalidInput
from mainspring.domain.event import EventType
from mainspring.domain.kinds.heartbeat import HeartbeatAction
from mainspring.domain.retry import RetryPolicy
from mainspring.domain.run import Body, RunStatus
from mainspring.domain.schedule import changes
from mainspring.domain.schedule.anchor import plan_first
from mainspring.domain.schedule.cron import CRON
from mainspring.domain.schedule.finish import Finished, Settlement, settle
from mainspring.domain.schedule.ping import Ping, PingMeaning, Reception, judge_silence, receive
from mainspring.operations.preview import preview

SUCCESS, START, FAIL = Ping(PingMeaning.SUCCESS), Ping(PingMeaning.START), Ping(PingMeaning.FAIL)
GRACE = timedelta(minutes=10)


def a_heartbeat(max_duration_ms: int | None = None, **fields: object) -> Endpoint:
    """Expected at 01:00, judged at 01:10."""
    now = at("00:00:00")
    action = HeartbeatAction(grace_ms=600_000, max_duration_ms=max_duration_ms)
    made = an_endpoint("nightly", **{"action": action, "interval_ms": 3_600_000, "next_run_at": None, **fields})
    return (
        plan_first(replace(made, anchor_at=now), now, CRON)
        if made.cron
        else replace(plan_first(made, now, CRON), anchor_at=now, next_run_at=now + timedelta(hours=1) + GRACE)
    )


def nightly() -> Endpoint:
    """Expected at 03:00 every day, judged at 03:10."""
    return a_heartbeat(cron="0 3 * * *")


def pinged(endpoint: Endpoint, ping: Ping, now: datetime, key: str = "", run_id: str = "run_9") -> Reception:
    return receive(endpoint, key, ping, run_id, now, CRON)


def judged(endpoint: Endpoint, now: datetime) -> tuple[Settlement, Finished]:
    """The deadline as a worker claims and judges it."""
    claim = reach(endpoint, now).claim
    assert claim is not None, "nothing was due"
    request = claim.request
    outcome = judge_silence(request.started_at, request.slot_at, endpoint.action.judged_after_ms, now)
    finished = Finished(claim, outcome, request.started_at or now, now)
    return settle(claim.endpoint, finished, now, CRON), finished


def test_deadline_is_the_expected_time_plus_grace() -> None:
    assert nightly().next_run_at == at("03:10:00")
    assert [step.rule for step in preview(nightly(), at("00:00:00"), 1, CRON)[0].trail][-1] == "grace"


def test_upcoming_runs_are_the_deadlines_one_after_the_other() -> None:
    found = [each.next_run_at for each in preview(nightly(), at("00:00:00"), 3, CRON)]

    assert found == [at("03:10:00", day=day) for day in (1, 2, 3)]


def test_ping_in_time_serves_its_slot_and_moves_the_deadline_on() -> None:
    got = pinged(nightly(), SUCCESS, at("03:04:00"))
    ((finished, settlement),) = got.ended

    assert (settlement.status, finished.outcome.error_code) == (RunStatus.SUCCESS, None)
    assert finished.claim.slot_at == at("03:10:00")
    assert got.endpoint.next_run_at == at("03:10:00", day=2)
    assert [event.type for event in got.events] == [EventType.RUN_STARTED, EventType.RUN_FINISHED]


def test_ping_seconds_before_its_time_serves_the_slot_it_means() -> None:
    assert pinged(nightly(), SUCCESS, at("02:59:30")).endpoint.next_run_at == at("03:10:00", day=2)


def test_ping_hours_before_its_time_leaves_the_cron_slot_expected() -> None:
    assert pinged(nightly(), SUCCESS, at("01:00:00")).endpoint.next_run_at == at("03:10:00")


def test_interval_is_counted_from_the_ping() -> None:
    assert pinged(a_heartbeat(), SUCCESS, at("00:20:00")).endpoint.next_run_at == at("01:30:00")


def test_silence_ends_the_slot_as_missed_once_and_expects_the_next() -> None:
    settlement, finished = judged(nightly(), at("03:10:00"))

    assert (settlement.status, finished.outcome.error_code) == (RunStatus.MISSED, "missed")
    assert settlement.endpoint is not None
    assert settlement.endpoint.failure_count == 1
    assert settlement.endpoint.next_run_at == at("03:10:00", day=2)
    assert reach(settlement.endpoint, at("03:10:01")).claim is None


def test_silence_does_not_lengthen_the_interval() -> None:
    failing = replace(a_heartbeat(), failure_count=4)

    settlement, _ = judged(failing, at("01:10:00"))

    assert settlement.endpoint is not None
    assert settlement.endpoint.next_run_at == at("02:10:00")


def test_ping_after_the_judgement_is_late_and_ends_the_failures() -> None:
    settlement, _ = judged(nightly(), at("03:10:00"))
    assert settlement.endpoint is not None

    got = pinged(settlement.endpoint, SUCCESS, at("03:12:00"))

    assert got.ended[0][0].outcome.error_code == "late"
    assert got.ended[0][1].status is RunStatus.SUCCESS
    assert (got.endpoint.failure_count, got.endpoint.next_run_at) == (0, at("03:10:00", day=2))


def test_ping_during_the_judgement_supersedes_it() -> None:
    claim = reach(nightly(), at("03:10:00")).claim
    assert claim is not None

    got = pinged(claim.endpoint, SUCCESS, at("03:10:01"))
    outcome = judge_silence(None, claim.slot_at, 600_000, at("03:10:02"))
    refused = settle(got.endpoint, Finished(claim, outcome, at("03:10:00"), at("03:10:02")), at("03:10:02"), CRON)

    assert got.closed is not None
    assert (got.closed.run_id, got.closed.status) == ("run_1", RunStatus.SUPERSEDED)
    assert got.ended[0][0].outcome.error_code == "late"
    assert (refused.endpoint, refused.status) == (None, RunStatus.SUPERSEDED)


def test_start_and_end_are_one_run_with_its_duration() -> None:
    started = pinged(nightly(), START, at("03:00:05"))
    assert started.opened is not None
    assert started.endpoint.is_open

    ended = pinged(started.endpoint, Ping(PingMeaning.SUCCESS, 0), at("03:07:05"), run_id="run_10")
    ((finished, settlement),) = ended.ended

    assert (finished.claim.run_id, finished.outcome.duration_ms) == ("run_9", 420_000)
    assert (ended.opened, settlement.status) == (None, RunStatus.SUCCESS)
    assert (ended.endpoint.is_open, ended.endpoint.next_run_at) == (False, at("03:10:00", day=2))


def test_run_that_does_not_end_is_still_running_and_not_missed() -> None:
    started = pinged(nightly(), START, at("03:00:05")).endpoint
    assert started.next_run_at == at("03:10:05")

    settlement, finished = judged(started, at("03:10:05"))

    assert (settlement.status, finished.outcome.error_code) == (RunStatus.TIMEOUT, "still_running")
    assert (finished.claim.run_id, finished.outcome.duration_ms) == ("run_9", 600_000)
    assert settlement.endpoint is not None
    assert settlement.endpoint.next_run_at == at("03:10:00", day=2)


def test_run_may_take_as_long_as_max_duration() -> None:
    started = pinged(a_heartbeat(cron="0 3 * * *", max_duration_ms=7_200_000), START, at("03:00:00")).endpoint

    assert started.next_run_at == at("05:00:00")
    assert reach(started, at("04:59:00")).claim is None


def test_end_after_the_judgement_of_a_run_is_late() -> None:
    settlement, _ = judged(pinged(nightly(), START, at("03:00:00")).endpoint, at("03:10:00"))
    assert settlement.endpoint is not None

    got = pinged(settlement.endpoint, SUCCESS, at("03:30:00"))

    assert (got.ended[0][0].outcome.error_code, got.endpoint.failure_count) == ("late", 0)


def test_second_start_ends_the_first_run_as_overlapping() -> None:
    first = pinged(nightly(), START, at("03:00:00")).endpoint

    got = pinged(first, START, at("03:05:00"), run_id="run_10")

    ((finished, settlement),) = got.ended
    assert (finished.claim.run_id, settlement.status, finished.outcome.error_code) == (
        "run_9",
        RunStatus.FAILURE,
        "overlap",
    )
    assert (got.endpoint.run_id, got.endpoint.is_open, got.endpoint.failure_count) == ("run_10", True, 1)
    assert got.endpoint.next_run_at == at("03:15:00")


def test_repeated_start_of_the_same_run_changes_nothing() -> None:
    start = Ping(PingMeaning.START, run_key="a")
    first = pinged(nightly(), start, at("03:00:00"))

    assert pinged(first.endpoint, start, at("03:00:01"), key=first.run_key) == Reception(first.endpoint, "a")


@pytest.mark.parametrize(("later_s", "opens"), [(2, False), (120, True)])
def test_start_that_its_own_end_overtook_opens_no_run(later_s: int, opens: bool) -> None:
    ended = pinged(nightly(), Ping(PingMeaning.SUCCESS, 0, "a"), at("03:00:00"))
    later = at("03:00:00") + timedelta(seconds=later_s)

    got = pinged(ended.endpoint, Ping(PingMeaning.START, run_key="a"), later, key=ended.run_key)

    assert got.endpoint.is_open is opens


def test_end_of_another_run_leaves_the_open_one() -> None:
    first = pinged(nightly(), Ping(PingMeaning.START, run_key="a"), at("03:00:00"))

    got = pinged(first.endpoint, Ping(PingMeaning.SUCCESS, run_key="b"), at("03:05:00"), key="a", run_id="run_10")

    assert (got.endpoint, got.run_key) == (first.endpoint, "a")
    assert got.ended[0][0].claim.run_id == "run_10"


@pytest.mark.parametrize(
    ("ping", "code", "error"),
    [
        pytest.param(FAIL, None, "failed", id="reported failure"),
        pytest.param(Ping(PingMeaning.SUCCESS, 3), 3, "exit_code", id="exit code other than zero"),
    ],
)
def test_failure_counts_as_a_failed_run(ping: Ping, code: int | None, error: str) -> None:
    got = pinged(nightly(), ping, at("03:04:00"))
    outcome = got.ended[0][0].outcome

    assert (outcome.status, outcome.status_code, outcome.error_code) == (RunStatus.FAILURE, code, error)
    assert got.endpoint.failure_count == 1


@pytest.mark.parametrize(("body", "status"), [(b'{"rows": 5}', "success"), (b'{"rows": 0}', "failure")])
def test_condition_reads_the_body_of_the_ping(body: bytes, status: str) -> None:
    action = HeartbeatAction(grace_ms=600_000, condition="body.rows > 0")
    endpoint = a_heartbeat(cron="0 3 * * *", action=action)

    got = pinged(endpoint, Ping(PingMeaning.SUCCESS, body=Body(body, "application/json")), at("03:04:00"))

    assert got.ended[0][1].status == status


def test_nothing_is_missed_while_paused_and_pings_are_expected_from_the_end_of_the_pause() -> None:
    paused = changes.pause(a_heartbeat(), at("09:00:00"), "", at("00:30:00"), "user", CRON).endpoint
    assert reach(paused, at("05:00:00")).claim is None

    woken = reach(paused, at("09:00:00"))

    assert (woken.claim, woken.endpoint.next_run_at) == (None, at("10:10:00"))


def test_resumed_heartbeat_is_not_overdue() -> None:
    paused = changes.pause(a_heartbeat(), None, "", at("00:30:00"), "user", CRON).endpoint

    resumed = changes.resume(paused, at("09:00:00"), "user", CRON).endpoint

    assert resumed.next_run_at == at("10:10:00")


def test_edit_during_a_run_keeps_the_time_by_which_it_must_end() -> None:
    started = pinged(nightly(), START, at("03:00:00")).endpoint

    edited = changes.edit(started, replace(started, cron="0 4 * * *"), at("03:05:00"), "user", CRON).endpoint

    assert edited.next_run_at == at("03:10:00")


def test_run_that_is_open_when_its_endpoint_is_archived_ends_as_unknown() -> None:
    started = pinged(nightly(), START, at("03:00:00")).endpoint

    closed = reach(changes.archive(started, at("03:05:00"), "user").endpoint, at("03:05:00")).closed

    assert closed is not None
    assert (closed.run_id, closed.status) == ("run_9", RunStatus.UNKNOWN)


def test_worker_that_dies_while_it_judges_a_run_leaves_it_to_the_next_one() -> None:
    started = pinged(nightly(), START, at("03:00:00")).endpoint
    first = reach(started, at("03:10:00")).claim
    assert first is not None

    settlement, finished = judged(first.endpoint, at("03:20:00"))

    assert (finished.claim.run_id, settlement.status) == ("run_9", RunStatus.TIMEOUT)


def test_quota_does_not_put_off_a_deadline() -> None:
    assert reach(nightly(), at("03:10:00"), over_quota=True).claim is not None


@pytest.mark.parametrize(
    ("key", "value"),
    [("retry", RetryPolicy(attempts=2)), ("confirm", "3 within 20s"), ("once_at", at("12:00:00"))],
)
def test_what_belongs_to_calls_is_refused(key: str, value: object) -> None:
    config = replace(config_of(nightly()), **{key: value})

    with pytest.raises(InvalidInput, match="has no effect: kind heartbeat calls nothing"):
        check_config(config, Tenant("default", "default"), "ep_1")

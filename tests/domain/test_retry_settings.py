"""The settings `retry` and `confirm`: what they take, which failures they concern, and the delays they ask for."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.domain.stage import after, at, due, end, run, start
from tests.stores.world import an_endpoint, an_outcome

from mainspring.domain.definition import check_config, config_of
from mainspring.domain.endpoint import EndpointConfig, Tenant
from mainspring.domain.errors import InvalidInput, QuotaExceeded
from mainspring.domain.retry import ATTEMPTS_MAX, RETRY_CAUSES, RetryPolicy, cause_of, confirm_text, read_confirm
from mainspring.domain.run import Outcome, RunStatus
from mainspring.domain.schedule.retry import next_attempt

NIGHT = at("03:00:00")
CAUSES = {
    "a timeout": (an_outcome(RunStatus.TIMEOUT, error_code="deadline"), "timeout"),
    "a name that is not found": (an_outcome(RunStatus.FAILURE, status_code=None, error_code="dns"), "connect"),
    "a refused connection": (an_outcome(RunStatus.FAILURE, status_code=None, error_code="connect"), "connect"),
    "a failed handshake": (an_outcome(RunStatus.FAILURE, status_code=None, error_code="tls"), "connect"),
    "HTTP 500": (an_outcome(RunStatus.FAILURE, status_code=500, error_code="http_status"), "5xx"),
    "HTTP 429": (an_outcome(RunStatus.FAILURE, status_code=429, error_code="http_status"), "rate_limit"),
    "HTTP 404": (an_outcome(RunStatus.FAILURE, status_code=404, error_code="http_status"), "4xx"),
    "HTTP 302": (an_outcome(RunStatus.FAILURE, status_code=302, error_code="http_status"), "other"),
    "a false condition": (an_outcome(RunStatus.FAILURE, status_code=200, error_code="condition"), "condition"),
    "an invalid response": (an_outcome(RunStatus.FAILURE, error_code="protocol"), "other"),
    "a failure without a code": (an_outcome(RunStatus.FAILURE), "other"),
    "an address that is not allowed": (an_outcome(RunStatus.BLOCKED, error_code="blocked_address"), None),
    "an internal error": (an_outcome(RunStatus.FAILURE, error_code="internal"), None),
    "a result that cannot be stored": (an_outcome(RunStatus.FAILURE, error_code="unstorable"), None),
}


@pytest.mark.parametrize(("outcome", "cause"), CAUSES.values(), ids=CAUSES)
def test_cause_of_a_failure(outcome: Outcome, cause: str | None) -> None:
    assert cause_of(outcome) == cause


@pytest.mark.parametrize(("outcome", "cause"), CAUSES.values(), ids=CAUSES)
def test_only_named_causes_are_retried(outcome: Outcome, cause: str | None) -> None:
    for on in RETRY_CAUSES:
        endpoint = an_endpoint(cron="0 3 * * *", next_run_at=NIGHT, retry=RetryPolicy(on=(on,)))

        assert run(endpoint, NIGHT, outcome).is_retrying is (on == cause)


TENANT = Tenant("default", "default")


def checked(**fields: object) -> EndpointConfig:
    return check_config(config_of(an_endpoint("checked", **fields)), TENANT, allow_ports=frozenset({9}))[0]


def test_confirm_is_stored_in_one_form() -> None:
    assert checked(confirm=" 3  within 0.5m").confirm == "3 within 30s"


def test_one_attempt_is_no_retry() -> None:
    assert checked(retry=RetryPolicy(attempts=1)).retry is None


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        (
            {"retry": RetryPolicy(attempts=11)},
            "retry.attempts",
            "retry: attempts 11 is out of bounds; give 1 to 10",
        ),
        (
            {"retry": RetryPolicy(delay_ms=5)},
            "retry.delay",
            "retry: delay 5 ms is out of bounds; give 100ms to 1d",
        ),
        (
            {"retry": RetryPolicy(delay_ms=60_000, max_delay_ms=30_000)},
            "retry.max_delay",
            "retry: max_delay 30s is below delay 1m; raise max_delay or lower delay",
        ),
        (
            {"retry": RetryPolicy(on=("timeouts",))},
            "retry.on",
            "retry: unknown on 'timeouts', did you mean 'timeout'?; choose one of timeout, connect, 5xx, rate_limit, "
            "4xx, condition, other",
        ),
        (
            {"retry": RetryPolicy(on=())},
            "retry.on",
            "retry: on is empty, so nothing is retried; name one of timeout, connect, 5xx, rate_limit, 4xx, condition, "
            "other, or remove retry",
        ),
        (
            {"confirm": "thrice"},
            "confirm",
            "confirm 'thrice' is not understood; it says how often a failing check is made, and within how long: write "
            "it as 3 within 20s",
        ),
        (
            {"confirm": "1 within 20s"},
            "confirm",
            "confirm 1 is out of bounds: a failing check is made 2 to 10 times; write it as 3 within 20s",
        ),
        (
            {"confirm": "3 within 2d"},
            "confirm",
            "confirm '2d' is above the maximum 1h; give 1h or less",
        ),
    ],
)
def test_refusal_names_the_value_the_rule_and_the_way_out(fields: dict[str, object], field: str, message: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        checked(**fields)

    assert (refused.value.field, str(refused.value)) == (field, message)


@pytest.mark.parametrize("fields", [{"retry": RetryPolicy(delay_ms=5_000)}, {"confirm": "3 within 20s"}])
def test_minimum_of_the_tenant_holds_for_attempts(fields: dict[str, object]) -> None:
    tenant = replace(TENANT, interval_ms_min=30_000)

    with pytest.raises(QuotaExceeded):
        check_config(config_of(an_endpoint("quick", **fields)), tenant, allow_ports=frozenset({9}))


policies = st.builds(
    RetryPolicy,
    attempts=st.integers(1, ATTEMPTS_MAX),
    delay_ms=st.integers(100, 86_400_000),
    factor=st.integers(1, 10),
    max_delay_ms=st.integers(100, 86_400_000),
    on=st.just(RETRY_CAUSES),
)
confirms = st.none() | st.builds(
    lambda times, within: confirm_text(f"{times} within {within}ms"),
    st.integers(2, ATTEMPTS_MAX),
    st.integers(1_000, 3_600_000),
)
outcomes = st.sampled_from([outcome for outcome, _ in CAUSES.values()])


@given(policies, confirms, outcomes, st.integers(0, 600_000))
def test_attempts_are_bounded_and_never_early(
    policy: RetryPolicy, confirm: str | None, outcome: Outcome, took_ms: int
) -> None:
    endpoint = an_endpoint(retry=policy, confirm=confirm)
    most = policy.attempts - 1 + (1 if confirm is None else read_confirm(confirm).times)
    started_at, attempts = NIGHT, 1
    while True:
        finished_at = started_at + timedelta(milliseconds=took_ms)
        step = next_attempt(endpoint, outcome, started_at, finished_at)
        if step is None or step.at is None:
            break
        assert step.at >= finished_at
        assert step.at - finished_at <= timedelta(days=1)
        endpoint = replace(endpoint, failed_attempts=endpoint.failed_attempts + 1)
        started_at, attempts = step.at, attempts + 1

    assert attempts == (1 if cause_of(outcome) is None else most)


@given(policies)
def test_delays_grow_up_to_the_maximum(policy: RetryPolicy) -> None:
    delays = [policy.delay_after(retries) for retries in range(ATTEMPTS_MAX)]

    assert delays == sorted(delays)
    assert max(delays) <= policy.max_delay_ms


@given(policies, confirms, outcomes, st.integers(0, 12), st.booleans())
def test_wait_keeps_the_slot_and_counts_nothing(
    policy: RetryPolicy, confirm: str | None, outcome: Outcome, failed: int, is_cron: bool
) -> None:
    schedule: dict[str, object] = {"cron": "0 3 * * *"} if is_cron else {"interval_ms": 60_000}
    endpoint = an_endpoint("drawn", next_run_at=NIGHT, retry=policy, confirm=confirm, failure_count=2, **schedule)
    claim = start(endpoint, NIGHT)
    running = replace(claim.endpoint, failed_attempts=failed)

    ended = after(end(running, claim, outcome))

    if ended.is_retrying:
        assert (ended.slot_at, ended.failure_count, ended.failed_attempts) == (NIGHT, 2, failed + 1)
        given_up = after(end(replace(running, retry=None, confirm=None), claim, outcome))
        assert due(ended) < due(given_up)
    else:
        assert (ended.slot_at, ended.failure_count, ended.failed_attempts) == (None, 3, 0)

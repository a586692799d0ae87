"""What an attempt at a delivery leads to."""

from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from mainspring.domain.notify.delivery import (
    DISABLE_AFTER,
    DISABLE_FAILURES_MAX,
    DISABLE_FAILURES_MIN,
    Delivery,
    DeliveryStatus,
    settle_attempt,
)
from mainspring.domain.notify.subscription import Subscription, Webhook
from mainspring.domain.run import Outcome, RunStatus

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
DELIVERY = Delivery("d", "t", "sub", "", "key", "run.finished", "{}", DeliveryStatus.PENDING, 1, NOON, NOON, NOON)
WEBHOOK = Subscription("sub", "t", "hook", Webhook("https://example.com/", ("*",), ()), True, 1, NOON, NOON, NOON)
FAILED = Outcome(RunStatus.FAILURE, 5, 500)


def test_attempt_for_a_subscription_that_is_gone_counts_for_the_delivery_alone() -> None:
    failed = settle_attempt(DELIVERY, None, FAILED, NOON, 0.5)
    assert failed.subscription is None
    assert failed.delivery.next_attempt_at == NOON + timedelta(seconds=5)
    delivered = settle_attempt(DELIVERY, None, Outcome(RunStatus.SUCCESS, 5, 200), NOON, 0.5)
    assert (delivered.delivery.status, delivered.subscription) == (DeliveryStatus.DELIVERED, None)


def test_webhook_that_failed_a_thousand_times_in_a_row_is_disabled_at_once() -> None:
    nearly = replace(WEBHOOK, failure_count=DISABLE_FAILURES_MAX - 1, failing_since=NOON)
    settled = settle_attempt(DELIVERY, nearly, FAILED, NOON, 0.5)
    assert settled.subscription is not None
    assert not settled.subscription.enabled
    assert "1000 attempts in a row failed" in settled.subscription.disabled_reason


def test_webhook_that_failed_for_days_is_disabled_only_after_several_attempts() -> None:
    since = NOON - DISABLE_AFTER
    for count, is_enabled in ((DISABLE_FAILURES_MIN - 2, True), (DISABLE_FAILURES_MIN - 1, False)):
        worn = replace(WEBHOOK, failure_count=count, failing_since=since)
        settled = settle_attempt(DELIVERY, worn, FAILED, NOON, 0.5)
        assert settled.subscription is not None
        assert settled.subscription.enabled is is_enabled


def test_webhook_that_was_disabled_meanwhile_is_not_disabled_twice() -> None:
    off = replace(WEBHOOK, enabled=False, failure_count=DISABLE_FAILURES_MAX)
    assert settle_attempt(DELIVERY, off, FAILED, NOON, 0.5).events == ()

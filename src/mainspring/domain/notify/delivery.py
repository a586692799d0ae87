"""Deliveries: one message to one receiver, and what an attempt at it leads to. Pure.

A message has one row and one id however often it is sent; a receiver that has seen the id has seen the message.
An attempt that failed is made again, about eight times over a day; a webhook that fails for days is disabled.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.event import Event, EventType
from mainspring.domain.notify.subscription import Subscription, Webhook, secret_place, target_place
from mainspring.domain.run import HttpAction, Outcome, Request, RunStatus
from mainspring.domain.text import clean_text, sanitised_view

# After the first attempt, the second, ...: eight attempts over about a day.
PAUSES = tuple(
    timedelta(**{unit: count})
    for unit, count in (
        ("seconds", 5),
        ("minutes", 5),
        ("minutes", 30),
        ("hours", 2),
        ("hours", 5),
        ("hours", 8),
        ("hours", 8),
    )
)
ATTEMPTS_MAX = len(PAUSES) + 1
PAUSE_MAX = timedelta(hours=24)  # whatever a receiver asks for with Retry-After
JITTER = 0.2  # of a pause, either way
DISABLE_AFTER = timedelta(days=5)
DISABLE_FAILURES_MIN = 10  # so that one message that never went through does not disable a quiet webhook
DISABLE_FAILURES_MAX = 1_000
TIMEOUT_MS = 15_000  # of one attempt
ANSWER_CAP = 4_000  # bytes of an answer that are read
GONE = 410  # says that nobody will ever listen there again
SNIPPET_MAX = 500
ERROR_MAX = 500


class DeliveryStatus(StrEnum):
    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"  # given up; can be sent again by hand
    HELD = "held"  # until the quiet hours end
    DIGESTED = "digested"  # its words went out in the message after the quiet hours
    DROPPED = "dropped"  # in quiet hours, by choice


class Delivery(Struct, frozen=True):
    id: str  # the `webhook-id` of every attempt
    tenant_id: str
    subscription_id: str
    channel: str  # of an alert; "" for a webhook
    key: str  # what it tells of: one delivery of it to one channel, whoever makes it
    type: str
    payload: str  # JSON
    status: DeliveryStatus
    attempt: int  # attempts begun
    next_attempt_at: datetime  # also: until when whoever sends it now has it for itself
    created_at: datetime
    happened_at: datetime
    sent_at: datetime | None = None
    status_code: int | None = None
    error: str | None = None
    snippet: str = ""  # how the receiver's answer began
    duration_ms: int | None = None


class Settled(Struct, frozen=True):
    delivery: Delivery
    subscription: Subscription | None
    events: tuple[Event, ...] = ()


Settle = Callable[[Delivery, Subscription | None, datetime], Settled]  # what a store applies to locked rows
Merge = Callable[[Sequence[Delivery], datetime], Delivery]


def settle_attempt(
    delivery: Delivery, subscription: Subscription | None, outcome: Outcome, now: datetime, chance: float
) -> Settled:
    """What an attempt's outcome makes of a delivery and its subscription; `chance` from 0 to 1 spreads the retries."""
    body = outcome.body
    told = replace(
        delivery,
        sent_at=now,
        status_code=outcome.status_code,
        error=None if outcome.error is None else clean_text(outcome.error, ERROR_MAX),
        snippet="" if body is None else sanitised_view(body.data[: SNIPPET_MAX * 4], body.content_type)[:SNIPPET_MAX],
        duration_ms=outcome.duration_ms,
    )
    if outcome.status is RunStatus.SUCCESS:
        well = subscription if subscription is None else replace(subscription, failing_since=None, failure_count=0)
        return Settled(replace(told, status=DeliveryStatus.DELIVERED), well)
    at = _next_attempt_at(delivery, outcome, now, chance)
    again = replace(told, status=DeliveryStatus.FAILED) if at is None else replace(told, next_attempt_at=at)
    if subscription is None:
        return Settled(again, None)
    worse = replace(
        subscription,
        failing_since=subscription.failing_since or now,
        failure_count=subscription.failure_count + 1,
    )
    why = _reason_to_disable(worse, outcome, now)
    if not why or not worse.enabled:
        return Settled(again, worse)
    data: dict[str, object] = {"webhook": worse.id, "name": worse.name, "reason": why}
    event = Event(EventType.WEBHOOK_DISABLED, now, worse.tenant_id, data=data)
    return Settled(again, replace(worse, enabled=False, disabled_reason=why, updated_at=now), (event,))


def webhook_request(
    webhook: Subscription,
    open_sealed: Callable[[str, str], str],
    message_id: str,
    payload: str,
    at: datetime,
    attempt: int,
) -> Request:
    """One attempt at a message to a webhook: signed with its own secrets, redirects not followed."""
    config = webhook.config
    assert isinstance(config, Webhook)
    url = webhook_url(webhook, open_sealed)
    action, hidden = message_action(url, payload), hidden_parts(url) if config.target else ()
    place = secret_place(webhook.tenant_id, webhook.id)
    return Request(webhook.tenant_id, webhook.id, message_id, at, attempt, action, config.secrets, place, hidden)


def webhook_url(webhook: Subscription, open_sealed: Callable[[str, str], str]) -> str:
    config = webhook.config
    assert isinstance(config, Webhook)
    return open_sealed(config.target, target_place(webhook.tenant_id, webhook.id)) if config.target else config.url


def hidden_parts(url: str) -> tuple[str, ...]:
    """Where tokens stand in an address: path and query, the end of the one and the values of the other."""
    path, _, query = url.partition("://")[2].partition("/")[2].partition("?")
    values = [part.partition("=")[2] for part in query.split("&")]
    return tuple(part for part in (path, path.rpartition("/")[2], query, *values) if part)


def message_action(url: str, payload: str) -> HttpAction:
    return HttpAction(url, "POST", body=payload, timeout_ms=TIMEOUT_MS, body_cap=ANSWER_CAP)


def _next_attempt_at(delivery: Delivery, outcome: Outcome, now: datetime, chance: float) -> datetime | None:
    """None: that was the last one."""
    if delivery.attempt >= ATTEMPTS_MAX:
        return None
    pause = PAUSES[max(delivery.attempt, 1) - 1] * (1 + JITTER * (2 * chance - 1))
    asked_for = timedelta(seconds=outcome.retry_after_s or 0)
    return now + min(max(pause, asked_for), PAUSE_MAX)


def _reason_to_disable(subscription: Subscription, outcome: Outcome, now: datetime) -> str:
    if not isinstance(subscription.config, Webhook):
        return ""  # an alert that cannot be told by one way may be told by another; people decide
    if outcome.status_code == GONE:
        return "the receiver answered 410 Gone"
    count, since = subscription.failure_count, subscription.failing_since or now
    if count >= DISABLE_FAILURES_MAX:
        return f"{count} attempts in a row failed"
    if count >= DISABLE_FAILURES_MIN and now - since >= DISABLE_AFTER:
        return f"every attempt has failed for {DISABLE_AFTER.days} days"
    return ""

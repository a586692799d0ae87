"""Deliveries: one message to one receiver, and the consequence of each attempt. Pure.

A message has one row and one id for all attempts, so a receiver can recognise duplicates by the id. A failed attempt is
retried, about eight times over a day. A webhook that fails for days is disabled.
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
PAUSE_MAX = timedelta(hours=24)  # upper bound for a receiver's Retry-After
JITTER = 0.2  # random variation of a pause, either way
DISABLE_AFTER = timedelta(days=5)
DISABLE_FAILURES_MIN = 10  # so that one undeliverable message does not disable a rarely used webhook
DISABLE_FAILURES_MAX = 1_000
TIMEOUT_MS = 15_000  # per attempt
ANSWER_CAP = 4_000  # bytes read of a response
GONE = 410  # 410 Gone: the receiver does not exist any more
SNIPPET_MAX = 500
ERROR_MAX = 500


class DeliveryStatus(StrEnum):
    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"  # retries used up; can be sent again manually
    HELD = "held"  # until the quiet hours end
    DIGESTED = "digested"  # its content was part of the summary after the quiet hours
    DROPPED = "dropped"  # dropped in quiet hours, as configured


class Delivery(Struct, frozen=True):
    id: str  # the `webhook-id` of every attempt
    tenant_id: str
    subscription_id: str
    channel: str  # of an alert; "" for a webhook
    key: str  # identifies the reported change: one delivery per change and destination, whichever process creates it
    type: str
    payload: str  # JSON
    status: DeliveryStatus
    attempt: int  # attempts begun
    next_attempt_at: datetime  # also the lease of the process that sends it
    created_at: datetime
    happened_at: datetime
    sent_at: datetime | None = None
    status_code: int | None = None
    error: str | None = None
    snippet: str = ""  # beginning of the receiver's response
    duration_ms: int | None = None


class Settled(Struct, frozen=True):
    delivery: Delivery
    subscription: Subscription | None
    events: tuple[Event, ...] = ()


Settle = Callable[[Delivery, Subscription | None, datetime], Settled]  # applied by a store to locked rows
Merge = Callable[[Sequence[Delivery], datetime], Delivery]


def settle_attempt(
    delivery: Delivery, subscription: Subscription | None, outcome: Outcome, now: datetime, chance: float
) -> Settled:
    """Applies the outcome of an attempt to a delivery and its subscription; `chance` (0 to 1) spreads the retries."""
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
    """One attempt to send a message to a webhook: signed with the webhook's secrets, without following redirects."""
    config = webhook.config
    assert isinstance(config, Webhook)
    url = webhook_url(webhook, open_sealed)
    action, hidden = message_action(url, payload, config.connection), hidden_parts(url) if config.target else ()
    place = secret_place(webhook.tenant_id, webhook.id)
    return Request(webhook.tenant_id, webhook.id, message_id, at, attempt, action, config.secrets, place, hidden)


def webhook_url(webhook: Subscription, open_sealed: Callable[[str, str], str]) -> str:
    config = webhook.config
    assert isinstance(config, Webhook)
    return open_sealed(config.target, target_place(webhook.tenant_id, webhook.id)) if config.target else config.url


def hidden_parts(url: str) -> tuple[str, ...]:
    """The parts of a URL that may hold tokens: the last path segment and the query values."""
    rest = url.partition("://")[2].partition("/")[2] if "://" in url else url.lstrip("/")
    path, _, query = rest.partition("?")
    values = [part.partition("=")[2] for part in query.split("&")]
    return tuple(part for part in (path, path.rpartition("/")[2], query, *values) if part)


def message_action(url: str, payload: str, connection: str = "") -> HttpAction:
    """With a connection, the URL may be a path relative to its base URL."""
    return HttpAction(url, "POST", body=payload, timeout_ms=TIMEOUT_MS, body_cap=ANSWER_CAP, connection=connection)


def _next_attempt_at(delivery: Delivery, outcome: Outcome, now: datetime, chance: float) -> datetime | None:
    """The pause before the next attempt; None after the last one."""
    if delivery.attempt >= ATTEMPTS_MAX:
        return None
    pause = PAUSES[max(delivery.attempt, 1) - 1] * (1 + JITTER * (2 * chance - 1))
    asked_for = timedelta(seconds=outcome.retry_after_s or 0)
    return now + min(max(pause, asked_for), PAUSE_MAX)


def _reason_to_disable(subscription: Subscription, outcome: Outcome, now: datetime) -> str:
    if not isinstance(subscription.config, Webhook):
        return ""  # an alert may still reach people through another destination, so they decide
    if outcome.status_code == GONE:
        return "the receiver answered 410 Gone"
    count, since = subscription.failure_count, subscription.failing_since or now
    if count >= DISABLE_FAILURES_MAX:
        return f"{count} attempts in a row failed"
    if count >= DISABLE_FAILURES_MIN and now - since >= DISABLE_AFTER:
        return f"every attempt has failed for {DISABLE_AFTER.days} days"
    return ""

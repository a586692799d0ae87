"""Webhooks, alerts and deliveries as all interfaces show them."""

from collections.abc import Sequence
from typing import Any, Literal, Self

import msgspec
from pydantic import Field

from mainspring.domain.notify.delivery import Delivery
from mainspring.domain.notify.quiet_hours import format_span
from mainspring.domain.notify.subscription import Alert, AlertKind, Destination, Subscription, Webhook
from mainspring.domain.run import Outcome
from mainspring.domain.text import sanitised_view
from mainspring.views.view import MANAGED_BY, At, OrNull, View

RESPONSE_MAX = 500


class SubscriptionView(View):
    enabled: bool
    disabled_reason: OrNull
    failing_since: At | None = Field(description="No delivery has succeeded since then; null: the last one succeeded.")
    failure_count: int
    managed_by: OrNull = Field(description=MANAGED_BY)
    version: int
    created_at: At
    updated_at: At
    id: str
    name: str

    @property
    def state(self) -> str:
        if not self.enabled:
            return "disabled"
        return "failing" if self.failing_since else "enabled"


class WebhookView(SubscriptionView):
    url: str
    connection: OrNull = Field(description="Connection that messages are sent through, if any.")
    types: list[str]
    description: str

    @classmethod
    def of(cls, webhook: Subscription, **others: object) -> Self:
        config = webhook.config
        assert isinstance(config, Webhook)
        about = {
            "url": config.url,
            "connection": config.connection,
            "types": list(config.types),
            "description": config.description,
        }
        return cls.from_value(webhook, **about, **others)


class WebhookCreated(WebhookView):
    secret: str | None = Field(default=None, description="Secret that signs every message. It is shown only here.")

    @classmethod
    def of(cls, webhook: Subscription, **others: object) -> Self:
        """`secret` is the new secret, if one was created."""
        return super().of(webhook, **{"secret": None, **others})


class AlertView(SubscriptionView):
    kinds: list[AlertKind]
    to: list[str]
    failures: int
    endpoint_id: str | None
    job_id: str | None
    cooldown_ms: int
    quiet: str | None
    timezone: str
    during_quiet: Literal["digest", "drop"]
    description: str

    @classmethod
    def of(cls, alert: Subscription) -> Self:
        config = alert.config
        assert isinstance(config, Alert)
        quiet = config.quiet
        return cls.from_value(
            alert,
            kinds=config.kinds,
            to=[channel.shown for channel in config.channels],
            failures=config.failures,
            endpoint_id=config.endpoint_id or None,
            job_id=config.job_id or None,
            cooldown_ms=config.cooldown_ms,
            quiet=None if quiet is None else format_span(quiet),
            timezone="UTC" if quiet is None else quiet.timezone,
            during_quiet="digest" if quiet is None else quiet.instead,
            description=config.description,
        )


class DeliveryView(View):
    id: str = Field(description="The `webhook-id` of every attempt.")
    subscription_id: str
    channel: OrNull
    type: str
    status: Literal["pending", "delivered", "failed", "held", "digested", "dropped"]
    attempts: int
    next_attempt_at: At | None
    created_at: At
    sent_at: At | None = Field(description="When the last attempt ended.")
    status_code: int | None
    error: str | None
    response: str | None = Field(description="Beginning of the receiver's response.")
    duration_ms: int | None

    @classmethod
    def of(cls, delivery: Delivery, **others: object) -> Self:
        return cls.from_value(
            delivery,
            attempts=delivery.attempt,
            next_attempt_at=delivery.next_attempt_at if delivery.status in ("pending", "held") else None,
            response=delivery.snippet or None,
            **others,
        )


class DeliveryDetailView(DeliveryView):
    payload: dict[str, Any]

    @classmethod
    def of(cls, delivery: Delivery, **others: object) -> Self:
        return super().of(delivery, payload=msgspec.json.decode(delivery.payload), **others)


class DeliveryTest(View):
    ok: bool
    status_code: int | None
    error_code: str | None
    error: str | None
    duration_ms: int
    response: str | None

    @classmethod
    def of(cls, outcome: Outcome, **others: object) -> Self:
        body = outcome.body
        response = None if body is None else sanitised_view(body.data, body.content_type)[:RESPONSE_MAX]
        return cls.from_value(outcome, ok=outcome.status == "success", response=response, **others)


class DestinationTest(DeliveryTest):
    to: str


class AlertTest(View):
    ok: bool
    ways: list[DestinationTest]

    @classmethod
    def of(cls, outcomes: Sequence[tuple[Destination, Outcome]]) -> Self:
        ways = [DestinationTest.of(outcome, to=channel.shown) for channel, outcome in outcomes]
        return cls(ok=all(way.ok for way in ways), ways=ways)

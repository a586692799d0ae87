"""Subscriptions: who is told of what. A webhook gets events, an alert tells people of changes of state.

Both are values: what their owner wrote, and how delivery has gone lately. Secrets in them are sealed.
"""

from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from mainspring.domain.errors import Conflict

SECRETS_MAX = 2  # while one is being replaced, messages are signed with both
MASK = "••••"  # stands for what is sealed
CHANNELS_MAX = 10


class SubscriptionKind(StrEnum):
    WEBHOOK = "webhook"
    ALERT = "alert"


class Webhook(Struct, frozen=True, tag="webhook"):
    """Its address may hold a token behind the question mark: then the whole is sealed, and `url` is what is shown."""

    url: str
    types: tuple[str, ...]
    secrets: tuple[str, ...]  # sealed, newest first
    description: str = ""
    target: str = ""  # the address, sealed; "": all of it is shown


class AlertKind(StrEnum):
    FAILING = "failing"
    RECOVERED = "recovered"
    PARKED = "parked"
    LATE = "late"
    QUOTA = "quota"
    WEBHOOK_DISABLED = "webhook_disabled"
    STOPPED = "stopped"
    ADVICE_PAUSED = "advice_paused"
    MODEL_FAILING = "model_failing"
    OVERDUE = "overdue"
    PROPOSAL_WAITING = "proposal_waiting"


ALERT_MEANING: dict[AlertKind, str] = {
    AlertKind.FAILING: "An endpoint failed as often in a row as the alert says.",
    AlertKind.RECOVERED: "What was failing, late or over quota has recovered.",
    AlertKind.ADVICE_PAUSED: "A rule or the model paused an endpoint or put it to sleep.",
    AlertKind.MODEL_FAILING: "A session of the language model failed: its server, its key or its answers.",
    AlertKind.PARKED: "An endpoint was taken out of the schedule, because its workers were lost too often.",
    AlertKind.LATE: "An endpoint was due and did not start in time.",
    AlertKind.QUOTA: "The tenant used up its runs of the month.",
    AlertKind.WEBHOOK_DISABLED: "A webhook failed for so long that it was disabled.",
    AlertKind.STOPPED: "An execution of a workflow stopped and waits for a person.",
    AlertKind.OVERDUE: "Executions of workflows should have moved a minute ago and did not.",
    AlertKind.PROPOSAL_WAITING: "In mode ask, advice proposed a change to an endpoint, and it waits for a person.",
}


class DestinationKind(StrEnum):
    WEBHOOK = "webhook"
    MAIL = "mail"
    APPRISE = "apprise"


class Destination(Struct, frozen=True):
    """Where an alert goes. Its target may hold a token, so it is sealed, and `shown` stands for it."""

    id: str
    kind: DestinationKind
    target: str
    shown: str


class DuringQuiet(StrEnum):
    DIGEST = "digest"  # held back, and sent as one message when the quiet hours end
    DROP = "drop"


class Quiet(Struct, frozen=True):
    """A span of every day, by the clock of a time zone, in minutes since midnight; it may pass midnight."""

    from_minute: int
    to_minute: int
    timezone: str = "UTC"
    instead: DuringQuiet = DuringQuiet.DIGEST


class Alert(Struct, frozen=True, tag="alert"):
    kinds: tuple[AlertKind, ...]
    channels: tuple[Destination, ...]
    failures: int = 3  # in a row, before an endpoint is failing
    endpoint_id: str = ""  # of this endpoint alone
    job_id: str = ""  # of the endpoints of this job alone
    cooldown_ms: int = 0  # from one message about a thing to the next
    quiet: Quiet | None = None
    description: str = ""


class Subscription(Struct, frozen=True):
    id: str
    tenant_id: str
    name: str
    config: Webhook | Alert
    enabled: bool
    version: int
    created_at: datetime
    updated_at: datetime
    active_since: datetime  # what happened before is none of its business
    failing_since: datetime | None = None  # no delivery has succeeded since then
    failure_count: int = 0  # attempts in a row
    disabled_reason: str = ""
    managed_by: str = ""  # the configuration source that describes it; "": people alone do

    @property
    def kind(self) -> SubscriptionKind:
        return SubscriptionKind.WEBHOOK if isinstance(self.config, Webhook) else SubscriptionKind.ALERT


def secret_place(tenant_id: str, subscription_id: str) -> str:
    """What the secrets of a webhook are sealed to."""
    return f"{tenant_id}|{subscription_id}|secret"


def target_place(tenant_id: str, subscription_id: str) -> str:
    """What the address of a webhook is sealed to."""
    return f"{tenant_id}|{subscription_id}|url"


def destination_place(tenant_id: str, subscription_id: str, channel_id: str) -> str:
    """What the target of a channel is sealed to."""
    return f"{tenant_id}|{subscription_id}|channel:{channel_id}"


def named_twice(subscription: Subscription) -> Conflict:
    kind, name = subscription.kind.value, subscription.name
    return Conflict(f"another {kind} is named {name!r} already; names are unique, choose another", kind=kind, name=name)

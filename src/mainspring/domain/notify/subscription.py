"""Subscriptions: a webhook receives events, an alert notifies people of changes of state.

Both are values: their configuration, and the results of recent deliveries. Their secrets are encrypted.
"""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from msgspec import Struct

from mainspring.domain.config_field import About, describe
from mainspring.domain.errors import Conflict
from mainspring.domain.event import EventType

SECRETS_MAX = 2  # while a secret is being replaced, messages are signed with both
MASK = "••••"  # shown instead of an encrypted value
CHANNELS_MAX = 10
DESCRIPTION_MAX = 1_000
FAILURES_MAX = 1_000
COOLDOWN_MS_MAX = 7 * 86_400_000


class SubscriptionKind(StrEnum):
    WEBHOOK = "webhook"
    ALERT = "alert"


class Webhook(Struct, frozen=True, tag="webhook"):
    """A webhook. If its URL has a query string, which may hold a token, the URL is encrypted and `url` is the shown
    form.
    """

    url: str
    types: tuple[str, ...]
    secrets: tuple[str, ...]  # encrypted, newest first
    description: str = ""
    target: str = ""  # the encrypted URL; "": `url` is complete
    connection: str = ""  # name of the connection that messages are sent through


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
    EXPIRING = "expiring"


ALERT_MEANING: dict[AlertKind, str] = {
    AlertKind.FAILING: "An endpoint reached the alert's number of consecutive failures.",
    AlertKind.RECOVERED: "An endpoint, workflow, model or quota that was in trouble has recovered.",
    AlertKind.ADVICE_PAUSED: "A rule or the model paused an endpoint.",
    AlertKind.MODEL_FAILING: "A model session failed: its server, its key or its answers.",
    AlertKind.PARKED: "An endpoint was parked because its workers were lost too often.",
    AlertKind.LATE: "An endpoint was due and did not start in time.",
    AlertKind.QUOTA: "The tenant used up its monthly runs.",
    AlertKind.WEBHOOK_DISABLED: "A webhook was disabled after failing for days.",
    AlertKind.STOPPED: "An execution stopped and waits for a person.",
    AlertKind.OVERDUE: "Executions are overdue by more than a minute.",
    AlertKind.EXPIRING: "The certificate of an endpoint's target expires within its warn_days.",
    AlertKind.PROPOSAL_WAITING: "In mode ask, advice proposed a change to an endpoint; it waits for approval.",
}


class DestinationKind(StrEnum):
    WEBHOOK = "webhook"
    MAIL = "mail"
    APPRISE = "apprise"


class Destination(Struct, frozen=True):
    """The destination of an alert. Its target may hold a token, so it is encrypted, and `shown` is displayed."""

    id: str
    kind: DestinationKind
    target: str
    shown: str
    connection: str = ""  # of a webhook: name of the connection that messages are sent through


class DuringQuiet(StrEnum):
    DIGEST = "digest"  # held back and sent as one message when the quiet hours end
    DROP = "drop"


class Quiet(Struct, frozen=True):
    """A daily time range in a time zone, in minutes since midnight; may cross midnight."""

    from_minute: int
    to_minute: int
    timezone: str = "UTC"
    instead: DuringQuiet = DuringQuiet.DIGEST


class Alert(Struct, frozen=True, tag="alert"):
    kinds: tuple[AlertKind, ...]
    channels: tuple[Destination, ...]
    failures: int = 3  # consecutive failures until an endpoint counts as failing
    endpoint_id: str = ""  # only this endpoint
    job_id: str = ""  # only the endpoints of this job
    cooldown_ms: int = 0  # minimum time between messages about one subject
    quiet: Quiet | None = None
    description: str = ""


def connections_of(config: Webhook | Alert) -> tuple[str, ...]:
    """The names of the connections that messages are sent through."""
    found = (config.connection,) if isinstance(config, Webhook) else (each.connection for each in config.channels)
    return tuple(name for name in found if name)


class WebhookDraft(Struct, frozen=True):
    """The configuration of a webhook: the one place that lists its fields. Interfaces and reference pages follow."""

    url: Annotated[
        str,
        About(
            "URL that receives the events. Its query string is encrypted and shown as `?••••`; a URL given in its "
            "shown form stays unchanged.",
            examples=("https://example.com/hook",),
        ),
    ]
    name: Annotated[str, About("Name, unique in the tenant. Default: the host.")] = ""
    types: Annotated[
        tuple[str, ...],
        About(
            "Events that are sent, or families of events such as `run.*`. Default: all.",
            most=2 * len(EventType),
            examples=("run.finished", "endpoint.*"),
        ),
    ] = ()
    description: Annotated[str, About("What the webhook is for.", most=DESCRIPTION_MAX)] = ""
    enabled: Annotated[bool, About("Whether events are sent. A webhook that is enabled again receives new events.")] = (
        True
    )
    connection: Annotated[
        str,
        About("Connection that messages are sent through. The url may be a path, relative to its base URL."),
    ] = ""
    secret: str = ""  # "": the current one stays


KINDS_DEFAULT = (AlertKind.FAILING, AlertKind.RECOVERED, AlertKind.PARKED, AlertKind.EXPIRING)


class AlertDraft(Struct, frozen=True):
    """The configuration of an alert: the one place that lists its fields. Interfaces and reference pages follow."""

    name: Annotated[str, About("Name, unique in the tenant.", examples=("ops",))]
    to: Annotated[
        tuple[str, ...],
        About(
            "Destinations: email addresses, http(s) URLs, connection:NAME/path or apprise URLs. One given in its shown "
            "form stays unchanged.",
            examples=("ops@example.com",),
            most=CHANNELS_MAX,
        ),
    ]
    kinds: Annotated[
        tuple[str, ...], About("Events that are sent.", choices=tuple(kind.value for kind in AlertKind))
    ] = KINDS_DEFAULT
    failures: Annotated[
        int, About("Consecutive failures until an endpoint counts as failing.", least=1, most=FAILURES_MAX)
    ] = 3
    endpoint: Annotated[str, About("Only this endpoint, by name or id. Empty: all.")] = ""
    job: Annotated[str, About("Only the endpoints of this job, by name or id. Empty: all.")] = ""
    cooldown_ms: Annotated[
        int, About("Minimum time between two messages about one subject.", most=COOLDOWN_MS_MAX, examples=("15m",))
    ] = 0
    quiet: Annotated[str, About("Quiet hours, without messages.", examples=("22:00-07:00",))] = ""
    timezone: Annotated[str, About("Time zone of the quiet hours.", examples=("Europe/Berlin",))] = "UTC"
    during_quiet: Annotated[
        str,
        About(
            "During quiet hours: digest sends one message afterwards, drop sends none.",
            choices=tuple(each.value for each in DuringQuiet),
        ),
    ] = DuringQuiet.DIGEST
    description: Annotated[str, About("What the alert is for.", most=DESCRIPTION_MAX)] = ""
    enabled: Annotated[bool, About("Whether messages are sent.")] = True


WEBHOOK_FIELDS = describe(WebhookDraft)
ALERT_FIELDS = describe(AlertDraft)


class Subscription(Struct, frozen=True):
    id: str
    tenant_id: str
    name: str
    config: Webhook | Alert
    enabled: bool
    version: int
    created_at: datetime
    updated_at: datetime
    active_since: datetime  # earlier events are ignored
    failing_since: datetime | None = None  # no delivery has succeeded since
    failure_count: int = 0  # consecutive attempts
    disabled_reason: str = ""
    managed_by: str = ""  # the document source that describes it; "": managed by people

    @property
    def kind(self) -> SubscriptionKind:
        return SubscriptionKind.WEBHOOK if isinstance(self.config, Webhook) else SubscriptionKind.ALERT


def secret_place(tenant_id: str, subscription_id: str) -> str:
    """Encryption context of a webhook's secrets."""
    return f"{tenant_id}|{subscription_id}|secret"


def target_place(tenant_id: str, subscription_id: str) -> str:
    """Encryption context of a webhook's URL."""
    return f"{tenant_id}|{subscription_id}|url"


def destination_place(tenant_id: str, subscription_id: str, channel_id: str) -> str:
    """Encryption context of a destination's target."""
    return f"{tenant_id}|{subscription_id}|channel:{channel_id}"


def named_twice(subscription: Subscription) -> Conflict:
    kind, name = subscription.kind.value, subscription.name
    return Conflict(f"another {kind} is named {name!r} already; names are unique, choose another", kind=kind, name=name)

"""The context of the routes: the open stores and the parts of this process that a request may need."""

from collections.abc import Awaitable, Callable, Mapping

from msgspec import Struct
from prometheus_client import CollectorRegistry

from mainspring.domain.notify.subscription import DestinationKind
from mainspring.event_feed import Feed
from mainspring.operations.context import Desk
from mainspring.operations.rule_draft import Drafter
from mainspring.operations.single_sign_on import Issuer
from mainspring.ports.notifications import Messenger
from mainspring.ports.outbound import Caller, PasswordHasher
from mainspring.ports.planner import Look, Simulator
from mainspring.ports.stores import Stores
from mainspring.settings import Settings

Check = Callable[[], Awaitable[str | None]]  # None: fine; otherwise what is wrong


class Context(Struct, frozen=True):
    """Stored at `app.state.context`."""

    stores: Stores
    desk: Callable[[str, str], Desk]  # for a tenant and an actor
    caller: Caller
    settings: Settings
    registry: CollectorRegistry
    checks: Mapping[str, Check]
    feed: Feed
    messengers: Mapping[DestinationKind, Messenger]
    hasher: PasswordHasher
    remarks: Mapping[str, Check] = {}  # reported at /readyz without making the process unready
    issuer: Issuer | None = None  # for single sign-on, if configured
    demo: Callable[[], dict[str, object]] | None = None  # the state of the demo, if this is one
    look: Look | None = None  # starts a model session, if a model is configured
    simulator: Simulator | None = None
    drafter: Drafter | None = None  # drafts rules, if a model is configured
    model_fault: str = ""  # why the configured model is off

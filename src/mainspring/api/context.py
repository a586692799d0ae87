"""What the routes work with: the open stores and the few things of this process that a request may need."""

from collections.abc import Awaitable, Callable, Mapping

from msgspec import Struct
from prometheus_client import CollectorRegistry

from mainspring.domain.notify.subscription import DestinationKind
from mainspring.event_feed import Feed
from mainspring.operations.endpoints import Desk
from mainspring.operations.rule_draft import Drafter
from mainspring.operations.single_sign_on import Issuer
from mainspring.ports.notifications import Messenger
from mainspring.ports.outbound import Caller, PasswordHasher
from mainspring.ports.planner import Look, Simulator
from mainspring.ports.stores import Stores
from mainspring.settings import Settings

Check = Callable[[], Awaitable[str | None]]  # None: fine; else what is wrong


class Context(Struct, frozen=True):
    """Kept at `app.state.context`."""

    stores: Stores
    desk: Callable[[str, str], Desk]  # of a tenant, for an actor
    caller: Caller
    settings: Settings
    registry: CollectorRegistry
    checks: Mapping[str, Check]
    feed: Feed
    messengers: Mapping[DestinationKind, Messenger]
    hasher: PasswordHasher
    remarks: Mapping[str, Check] = {}  # told at /readyz, but no reason not to be ready
    issuer: Issuer | None = None  # of single sign-on, where it is set up
    demo: Callable[[], dict[str, object]] | None = None  # how the demo stands, where this is one
    look: Look | None = None  # lets the model look at an endpoint, where one is configured
    simulator: Simulator | None = None
    drafter: Drafter | None = None  # lets the model draft rules, where one is configured
    model_fault: str = ""  # why the model that is configured is off

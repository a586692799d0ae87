"""The ports of one opened database together."""

from msgspec import Struct

from mainspring.ports.accounts import AccountStore, AuditStore, CredentialStore
from mainspring.ports.clock import ClockStore
from mainspring.ports.configuration import ConfigurationStore
from mainspring.ports.endpoints import EndpointStore
from mainspring.ports.flows import FlowStores
from mainspring.ports.mail import OutboxStore, SubscriptionStore
from mainspring.ports.planner import PlannerStore, SessionStore
from mainspring.ports.presence import PresenceStore
from mainspring.ports.records import AnswerStore, LookStore, RunStore
from mainspring.ports.schedule import ScheduleStore
from mainspring.ports.sealing import SealedStore
from mainspring.ports.upkeep import UpkeepStore


class Stores(Struct, frozen=True):
    """The ports of one opened database, and how to close it."""

    schedule: ScheduleStore
    endpoints: EndpointStore
    runs: RunStore
    upkeep: UpkeepStore
    configuration: ConfigurationStore
    accounts: AccountStore
    credentials: CredentialStore
    audit: AuditStore
    planner: PlannerStore
    look: LookStore
    answers: AnswerStore
    subscriptions: SubscriptionStore
    outbox: OutboxStore
    flows: FlowStores
    sessions: SessionStore
    sealed: SealedStore
    presence: PresenceStore
    clock: ClockStore

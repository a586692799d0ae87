"""The ports of one opened database together."""

from msgspec import Struct

from mainspring.ports.accounts import AccountStore, AuditStore, CredentialStore
from mainspring.ports.calendars import CalendarStore
from mainspring.ports.callbacks import CallbackStore
from mainspring.ports.calls import CallStore
from mainspring.ports.clock import ClockStore
from mainspring.ports.connections import ConnectionStore
from mainspring.ports.documents import DocumentStore
from mainspring.ports.endpoints import EndpointStore
from mainspring.ports.maintenance import MaintenanceStore
from mainspring.ports.notifications import OutboxStore, SubscriptionStore
from mainspring.ports.pings import PingStore
from mainspring.ports.planner import PlannerStore, ProposalStore, SessionStore
from mainspring.ports.presence import PresenceStore
from mainspring.ports.records import IdempotencyStore, ListStore, RunStore
from mainspring.ports.schedule import ScheduleStore
from mainspring.ports.sealing import SealedStore
from mainspring.ports.upkeep import UpkeepStore
from mainspring.ports.workflows import WorkflowStores


class Stores(Struct, frozen=True):
    """The ports of one opened database, and how to close it."""

    schedule: ScheduleStore
    endpoints: EndpointStore
    runs: RunStore
    upkeep: UpkeepStore
    maintenance: MaintenanceStore
    configuration: DocumentStore
    accounts: AccountStore
    credentials: CredentialStore
    audit: AuditStore
    planner: PlannerStore
    look: ListStore
    answers: IdempotencyStore
    subscriptions: SubscriptionStore
    outbox: OutboxStore
    flows: WorkflowStores
    sessions: SessionStore
    sealed: SealedStore
    presence: PresenceStore
    clock: ClockStore
    proposals: ProposalStore
    pings: PingStore
    callbacks: CallbackStore
    connections: ConnectionStore
    calls: CallStore
    calendars: CalendarStore

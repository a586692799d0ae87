"""The seams: what the workers and operations need from the world, each method a written promise.

Stores keep their own clock (the database's): whatever is due, fresh or over is so by that clock, never by a worker's.
A store method is one query or one transaction; it decides nothing itself, it applies the domain's pure functions to
rows it has locked. Two implementations exist for every port here; the behaviour suite in `tests/stores` runs on both.
"""

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from mainspring.configuration_ports import ConfigurationStore
from mainspring.domain.access import Role
from mainspring.domain.account import ApiKey, Bucket, Link, Member, Membership, Session, User
from mainspring.domain.audit import AuditEntry, AuditFault, AuditHead
from mainspring.domain.changes import Act, Change
from mainspring.domain.claiming import Claim
from mainspring.domain.endpoint import Endpoint, Job, JobStatus, Tenant
from mainspring.domain.event import Event, StoredEvent
from mainspring.domain.health import Result
from mainspring.domain.looking import EndpointLook, RunLook, RunPage, StateCount
from mainspring.domain.run import Body, Outcome, Request, Run, RunStatus
from mainspring.domain.settling import Finished
from mainspring.mailroom import OutboxStore, SubscriptionStore
from mainspring.planner_ports import PlannerStore, SessionStore
from mainspring.workflow_ports import FlowStores

# The address that the request in hand came from, for the audit trail; a door sets it, a store reads it.
ORIGIN: ContextVar[str] = ContextVar("origin", default="")


class Clock(Protocol):
    def now(self) -> datetime:
        """The present instant, aware, in UTC."""


class Ids(Protocol):
    def new(self, prefix: str, now: datetime) -> str:
        """A new id that sorts by the millisecond it was made in: `run_0197...`."""


class Caller(Protocol):
    async def call(self, request: Request) -> Outcome:
        """Make one call within its deadline. Never raises for what the peer does: a failed call is an Outcome."""

    async def aclose(self) -> None:
        """Abort what is in flight and close every connection."""


class Vault(Protocol):
    def seal(self, plain: str, context: str) -> str:
        """Ciphertext that opens only under the same context."""

    def open(self, sealed: str, context: str) -> str:
        """The plain text; raises Misconfigured where the key is not in the ring or the context is another."""


class Locksmith(Protocol):
    """Slow hashes of passwords, and random secrets."""

    async def hash_password(self, password: str) -> str:
        """What is stored of a password. Takes a tenth of a second, in a thread."""

    async def fits(self, password: str, stored: str) -> bool:
        """Whether this is the password. Takes as long where `stored` is "", for a user who has none or is none."""

    def new_secret(self) -> bytes:
        """32 random bytes."""


class Caps(Struct, frozen=True):
    """How many runs may be in flight at once: for one tenant, and against one `host:port`."""

    per_tenant: int
    per_host: int


class ClaimBatch(Struct, frozen=True):
    """What a claim brought: the slots to execute, the store's clock, and when to look again.

    `more` says that due work was left behind although places were free (a cap or a lock was in the way of some, or
    settled rows made room): look again at once. `next_due_at` is None when nothing is planned at all.
    """

    now: datetime
    claims: tuple[Claim, ...] = ()
    next_due_at: datetime | None = None
    more: bool = False


class FinishReport(Struct, frozen=True):
    """Which results counted, which came too late, and the earliest next run they led to."""

    recorded: tuple[str, ...]
    superseded: tuple[str, ...]
    next_due_at: datetime | None


class ScheduleStore(Protocol):
    """What the scheduler worker needs."""

    async def claim_due(self, worker: str, limit: int, lease_margin_ms: int, caps: Caps) -> ClaimBatch:
        """Lease up to `limit` due endpoints to `worker`, in one transaction.

        Oldest first, fair between tenants, within the caps; rows another worker has locked are skipped. No row is
        claimed before it is due by the store's clock. A row that throws is pushed ahead and marked; others go on.
        """

    async def finish(self, batch: Sequence[Finished]) -> FinishReport:
        """Record results and plan the next runs, in one transaction; may be called again with the same batch.

        A result counts only where the endpoint's epoch is still its claim's; else its run becomes `superseded`.
        """

    async def release(self, claims: Sequence[Claim]) -> None:
        """Give slots back unfinished, due at once for anybody; only where the epoch is still the claim's."""

    async def expire_hints(self, limit: int) -> int:
        """Clear hints whose time ran out and replan their endpoints; returns how many endpoints changed."""

    async def wait_for_change(self, timeout_s: float) -> bool:
        """True as soon as somebody changed a schedule, False after `timeout_s`. It may also wake for nothing."""

    async def now(self) -> datetime:
        """The store's clock."""

    async def heartbeat(self, worker: str, kind: str, places: int) -> None:
        """Say that `worker` is alive; others see it in `workers()`."""


class RunFilter(Struct, frozen=True):
    endpoint_id: str | None = None
    status: RunStatus | None = None
    before_id: str | None = None
    limit: int = 50


class EndpointFilter(Struct, frozen=True):
    job_id: str | None = None
    archived: bool = False
    after: tuple[str, str] | None = None  # name and id of the last one seen: archived ones may share a name
    limit: int = 100


Join = Callable[[Endpoint, JobStatus, int], Endpoint]  # a new endpoint, its job's status, how many there are


def as_it_is(endpoint: Endpoint, job: JobStatus, others: int) -> Endpoint:
    return endpoint


class EndpointStore(Protocol):
    """Jobs, endpoints and tenants, for operations. Everything is asked for within one tenant."""

    async def add_endpoint(self, endpoint: Endpoint, event: Event, join: Join = as_it_is) -> None:
        """Add what `join` makes of it; raises Conflict where the name is taken by one that is not archived.

        Until it is written, its job's status stays as `join` is told, and nobody else adds one for the tenant.
        """

    async def endpoint(self, tenant_id: str, name_or_id: str) -> Endpoint | None:
        """By id, or by name among those not archived."""

    async def endpoints(self, tenant_id: str, wanted: EndpointFilter) -> list[Endpoint]:
        """Ordered by name."""

    async def change_endpoints(self, tenant_id: str, ids: Sequence[str], act: Act) -> list[Change]:
        """Lock the rows, apply `act` to each with the store's now, write what it returned: atomic, no read-then-write.

        Unknown ids are left out of the answer. If `act` raises, nothing is written.
        """

    async def delete_endpoint(self, tenant_id: str, endpoint_id: str, event: Event) -> bool:
        """Remove an endpoint with its runs; a run in flight will find nothing to write to. False: was not there."""

    async def add_job(self, job: Job, event: Event) -> None:
        """Raises Conflict where the tenant has a job of that name."""

    async def jobs(self, tenant_id: str) -> list[Job]:
        """Ordered by name."""

    async def put_job(self, job: Job, event: Event) -> None:
        """Write a job's name, description and status."""

    async def tenant(self, tenant_id: str) -> Tenant | None:
        """With what it used this month and its sealed signing keys, newest first."""

    async def put_tenant(self, tenant: Tenant, event: Event | None = None) -> None:
        """Create or change a tenant's name and quotas."""


class WorkerRow(Struct, frozen=True):
    id: str
    kind: str
    places: int
    started_at: datetime
    seen_at: datetime


class RunStore(Protocol):
    """The record of what happened."""

    async def run(self, tenant_id: str, run_id: str) -> Run | None: ...

    async def runs(self, tenant_id: str, wanted: RunFilter) -> list[Run]:
        """Newest first; bodies are not read."""

    async def body(self, tenant_id: str, run_id: str) -> Body | None: ...

    async def add_test_run(self, run: Run, outcome: Outcome, events: Sequence[Event]) -> None:
        """Record a run that changes no schedule state."""

    async def events_after(self, cursor: str, tenant_id: str | None, limit: int) -> list[StoredEvent]:
        """Events in their order, from just after `cursor` ("" is the beginning); none is ever skipped."""

    async def latest_events(self, tenant_id: str | None, limit: int) -> list[StoredEvent]:
        """The newest `limit` events, in their order; the last one's cursor goes into `events_after` to read on."""

    async def add_events(self, events: Sequence[Event]) -> None: ...

    async def add_signing_key(self, tenant_id: str, key_id: str, sealed: str, event: Event) -> None:
        """Make this the newest key; older ones keep signing beside it until they are revoked."""

    async def revoke_signing_key(self, tenant_id: str, key_id: str, event: Event) -> bool: ...

    async def signing_keys(self, tenant_id: str) -> list[tuple[str, datetime]]:
        """Ids and ages of live keys, newest first; never the keys."""


class LookStore(Protocol):
    """Reads for lists and overviews, within one tenant. None of them reads what it does not show."""

    async def endpoints(self, tenant_id: str, wanted: EndpointLook) -> list[Endpoint]:
        """Ordered by name and id."""

    async def runs(self, tenant_id: str, wanted: RunLook) -> RunPage:
        """Newest first; without bodies, trails and details."""

    async def results(self, tenant_id: str, endpoint_id: str, since: datetime) -> list[Result]:
        """How the runs of an endpoint since then ended, test runs left out, newest first."""

    async def count_states(self, tenant_id: str, late_before: datetime) -> list[StateCount]: ...

    async def count_runs(self, tenant_id: str, since: datetime, hours: int) -> list[Mapping[str, int]]:
        """For each hour from `since` on: how many runs began in it, by their status."""

    async def upcoming(self, tenant_id: str, limit: int) -> list[Endpoint]:
        """Those that wait for their time, soonest first."""

    async def names(self, tenant_id: str, endpoint_ids: Sequence[str]) -> dict[str, str]:
        """By id, archived ones included; what was deleted is left out."""


class AnswerStore(Protocol):
    """Answers kept under the keys that requests bring with them, so that a request sent again is not done again."""

    async def claim(
        self, tenant_id: str, actor: str, key: str, request: str, work_ms: int, keep_ms: int
    ) -> tuple[str, str | None] | None:
        """None: the key is mine for `work_ms`; do the work. Else the request that has it, and its answer if it ended.

        What is older than its `keep_ms` is forgotten on the way.
        """

    async def keep(self, tenant_id: str, actor: str, key: str, request: str, answer: str) -> None:
        """The answer to the request that claimed the key; without effect for any other."""

    async def release(self, tenant_id: str, actor: str, key: str, request: str) -> None:
        """Free the key: what was asked was refused. Without effect for any other request, and after `keep`."""


class Retention(Struct, frozen=True):
    runs_before: datetime
    bodies_before: datetime
    events_before: datetime
    runs_per_endpoint_max: int


class Swept(Struct, frozen=True):
    removed: int
    done: bool


class Backlog(Struct, frozen=True):
    """What is due and has not started: how many endpoints, and since when the oldest one waits."""

    now: datetime
    due: int
    oldest_due_at: datetime | None
    running: int
    by_tenant: dict[str, int] = {}  # of those that have any


class StoreFacts(Struct, frozen=True):
    """What the database is: its kind and version, its schema, and which migrations this process has applied to it.

    `above_policies`: its user is one for whom row-level security does not hold.
    """

    kind: str  # sqlite | postgresql
    version: str
    schema: int
    migrated: tuple[str, ...] = ()
    above_policies: bool = False


class UpkeepStore(Protocol):
    """What the janitor and the watchdog need."""

    async def close_zombies(self, lease_over_before_ms: int, limit: int) -> int:
        """Close `running` rows whose lease was over that long ago as `timeout`, and tell of each; never a live one."""

    async def sweep(self, keep: Retention, batch: int) -> Swept:
        """Remove at most `batch` rows of what is older or more than wanted; call again until it says done."""

    async def backlog(self, late_ms: int) -> Backlog:
        """Endpoints that are due for longer than `late_ms` and not leased."""

    async def workers(self, seen_within_ms: int) -> list[WorkerRow]: ...

    async def installation(self, key: str, value_if_new: str) -> str:
        """The installation's value under `key`, set to `value_if_new` if there was none."""

    async def facts(self) -> StoreFacts: ...

    async def ping(self) -> None:
        """Raises StoreUnavailable when the database does not answer."""


class AccountStore(Protocol):
    """Users of the installation and their places in tenants, and the links that let a user set a password."""

    async def add_user(
        self, user: User, password_hash: str, place: tuple[str, Role] | None, events: Sequence[Event], first: bool
    ) -> bool:
        """A new user, with a role in a tenant. Raises Conflict where the e-mail address is taken.

        With `first`, only if there is no user yet: False where there is one; of two at once, one wins.
        """

    async def user(self, who: str) -> tuple[User, str] | None:
        """A user by id, e-mail address or OIDC subject, and what is stored of the password ("": none)."""

    async def users(self) -> list[User]:
        """Ordered by e-mail address."""

    async def put_user(self, user: User, event: Event) -> None:
        """Write what may change about a user; where it is disabled, all its sessions end."""

    async def put_password(self, user_id: str, password_hash: str, event: Event) -> None:
        """Set a password; all sessions of the user end."""

    async def members(self, tenant_id: str) -> list[Member]:
        """Ordered by e-mail address."""

    async def put_member(self, tenant_id: str, user_id: str, role: Role | None, event: Event) -> None:
        """Give a user a role in a tenant, or none. Raises Conflict where no owner would be left."""

    async def tenants(self) -> list[Tenant]:
        """Every tenant, ordered by id."""

    async def add_link(self, token_hash: str, link: Link) -> None: ...

    async def take_link(self, token_hash: str) -> Link | None:
        """The link, used up by this; None where it is unknown, was used before, or its time ran out."""


class Visit(Struct, frozen=True):
    """A live session, whose it is, and where that user belongs, by the tenants' names."""

    session: Session
    user: User
    memberships: tuple[Membership, ...]


class CredentialStore(Protocol):
    """What proves who somebody is. Nothing is cached: what has ended is refused at once, in every process."""

    async def add_api_key(self, key: ApiKey, secret_hash: str, event: Event) -> None: ...

    async def api_keys(self, tenant_id: str) -> list[ApiKey]:
        """Newest first, also those that ended."""

    async def revoke_api_key(self, tenant_id: str, key_id: str, event: Event) -> bool:
        """False where the tenant has no such key that still lives."""

    async def use_api_key(self, key_id: str, secret: str) -> ApiKey | None:
        """The key of that id and secret, if it is neither revoked nor expired; notes, coarsely, that it was used."""

    async def add_session(self, session: Session, token_hash: str, event: Event) -> None: ...

    async def visit(self, token_hash: str) -> Visit | None:
        """The session, if it is neither over nor idle for too long and its user is not disabled; notes its use."""

    async def end_session(self, session_id: str, event: Event) -> None: ...

    async def take_turn(self, buckets: Sequence[Bucket]) -> float:
        """Count one attempt against all buckets and return 0, or count nothing and return the seconds to wait.

        It holds over processes. `give_turn_back` undoes it for an attempt that was right.
        """

    async def give_turn_back(self, buckets: Sequence[Bucket]) -> None: ...


class AuditStore(Protocol):
    """The audit trail. It is written by whichever transaction writes an event that is audited, and only there."""

    async def audit_entries(self, tenant_id: str, before_seq: int | None, limit: int) -> list[AuditEntry]:
        """Newest first. Tenant "" is the installation."""

    async def verify_audit(self, tenant_id: str) -> AuditHead | AuditFault:
        """Follow a chain from its first entry to its head: how far it goes, or the first entry that does not fit."""


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

"""The plan of applying documents: steps to show, a changeset to write, errors with their positions.

A plan is made from the current state of the database. Each section adds its part; nothing is written before all have.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from msgspec import Struct, field

from mainspring.documents.entries import DocumentEntry, LastingEntry
from mainspring.documents.faults import DocumentFault, SourcePlace
from mainspring.documents.references import Resolver
from mainspring.documents.yaml_reader import Path, Tree
from mainspring.domain.calendar import Calendar, day_bits, open_days_from
from mainspring.domain.connection import Connection
from mainspring.domain.endpoint import Endpoint, EndpointConfig, Job, Tenant
from mainspring.domain.event import Event
from mainspring.domain.kinds.command import CommandRefused
from mainspring.domain.name import as_stored
from mainspring.domain.notify.subscription import Subscription
from mainspring.domain.rules.judge import StoredRule
from mainspring.domain.schedule.changes import Act
from mainspring.domain.schedule.maintenance import MaintenanceWindow
from mainspring.operations.alerts import Messengers
from mainspring.operations.context import Desk
from mainspring.operations.documents import same_jobs
from mainspring.operations.endpoints import no_connection
from mainspring.ports.documents import Changeset, Publication

CREATE, CHANGE, ARCHIVE, DELETE = "create", "change", "archive", "delete"


class FieldChange(Struct, frozen=True):
    """One field before and after, both as a document writes them; secrets are masked."""

    field: str
    before: object
    after: object


class PlanStep(Struct, frozen=True):
    """An entry to create, change, archive or delete."""

    act: str
    kind: str
    name: str
    fields: tuple[FieldChange, ...] = ()
    renamed_from: str | None = None


class WantedEntry(Struct, frozen=True):
    """One entry of a document."""

    name: str
    entry: DocumentEntry
    source: str | None  # None: the document describes, but does not manage
    tree: Tree
    path: Path

    def at(self, *keys: str | int) -> SourcePlace:
        return self.tree.at((*self.path, *keys))

    @property
    def place(self) -> SourcePlace:
        return self.tree.key(self.path)


class Options(Struct, frozen=True):
    """How documents are applied: the source of secrets, and what happens to entries they no longer describe."""

    resolve: Resolver
    messengers: Messengers  # the kinds, which know whether an address is valid
    prune: bool = False
    take_over: bool = False


class DocumentPlan(Struct):
    """Filled in by the sections, in order."""

    desk: Desk
    now: datetime
    tenant: Tenant
    options: Options
    sources: frozenset[str]
    jobs: dict[str, Job]  # by name, after the change
    endpoints: list[Endpoint]  # before the change, without archived ones
    seen_jobs: dict[str, Job]  # by id, before the change
    job_of: dict[str, str]  # endpoint id to job id, after the change
    name_of: dict[str, str]  # endpoint id to name, after the change
    connections: dict[str, Connection] = field(default_factory=dict)  # by name, after the change
    connection_of: dict[str, str] = field(default_factory=dict)  # endpoint id to the name of its connection
    rebased: dict[str, Connection] = field(default_factory=dict)  # by name, before their base URL changed
    calendars: dict[str, Calendar] = field(default_factory=dict)  # by name, after the change
    calendars_of: dict[str, tuple[str, str]] = field(default_factory=dict)  # endpoint id to the names of its calendars
    bits: dict[str, int] = field(default_factory=dict)  # the days of calendars that endpoints name, made once
    steps: list[PlanStep] = field(default_factory=list)
    unchanged: int = 0
    notes: list[str] = field(default_factory=list)
    faults: list[DocumentFault] = field(default_factory=list)
    refused_commands: list[tuple[str, CommandRefused]] = field(default_factory=list)  # by name of the endpoint

    new_connections: list[Connection] = field(default_factory=list)
    changed_connections: list[Connection] = field(default_factory=list)
    deleted_connections: list[str] = field(default_factory=list)
    new_calendars: list[Calendar] = field(default_factory=list)
    changed_calendars: list[Calendar] = field(default_factory=list)
    deleted_calendars: list[str] = field(default_factory=list)
    new_jobs: list[Job] = field(default_factory=list)
    changed_jobs: list[Job] = field(default_factory=list)
    acts: dict[str, Act] = field(default_factory=dict)
    freed: list[str] = field(default_factory=list)
    new_endpoints: list[Endpoint] = field(default_factory=list)
    rules: list[tuple[StoredRule, int]] = field(default_factory=list)
    removed_rules: list[str] = field(default_factory=list)
    new_subscriptions: list[Subscription] = field(default_factory=list)
    changed_subscriptions: list[Subscription] = field(default_factory=list)
    deleted_subscriptions: list[str] = field(default_factory=list)
    new_windows: list[MaintenanceWindow] = field(default_factory=list)
    changed_windows: list[tuple[MaintenanceWindow, MaintenanceWindow]] = field(default_factory=list)  # before, after
    deleted_windows: list[MaintenanceWindow] = field(default_factory=list)
    publications: list[Publication] = field(default_factory=list)
    workflow_sources: dict[str, str] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)

    def fault(self, place: SourcePlace, message: str) -> None:
        self.faults.append(DocumentFault(place, message))

    def open_days(self, config: EndpointConfig) -> str:
        """The days on which an endpoint may run. Raises InvalidInput if it names a calendar that does not exist."""
        for name in {config.except_calendar, config.only_calendar} & self.calendars.keys() - self.bits.keys():
            self.bits[name] = day_bits(self.calendars[name], self.now)
        return open_days_from(config, dict.fromkeys(self.calendars, 0) | self.bits, self.now)

    def connection(self, name: str) -> Connection | None:
        """The connection that an entry names, possibly one of the same documents. Raises InvalidInput."""
        found = self.connections.get(as_stored(name))
        if name and found is None:
            raise no_connection(name, tuple(self.connections))
        return found

    def may_manage(self, wanted: WantedEntry, kind: str, managed_by: str) -> bool:
        """Whether a document may describe an existing entry; entries of another source need --take-over."""
        if not managed_by or wanted.source is None or managed_by == wanted.source or self.options.take_over:
            return True
        self.fault(
            wanted.place,
            f"{kind} {wanted.name!r} is managed by the source {managed_by!r}, and this is "
            f"{wanted.source!r}; remove it from one of the two, or apply with --take-over",
        )
        return False

    def is_pruned(self, managed_by: str) -> bool:
        """Whether an entry that no document describes any more belongs to one of these sources."""
        return self.options.prune and managed_by in self.sources

    def changeset(self) -> Changeset:
        return Changeset(
            new_connections=self.new_connections,
            changed_connections=self.changed_connections,
            deleted_connections=self.deleted_connections,
            new_calendars=self.new_calendars,
            changed_calendars=self.changed_calendars,
            deleted_calendars=self.deleted_calendars,
            new_jobs=self.new_jobs,
            changed_jobs=self.changed_jobs,
            acts=self.acts,
            freed=self.freed,
            new_endpoints=self.new_endpoints,
            rules=self.rules,
            removed_rules=self.removed_rules,
            new_subscriptions=self.new_subscriptions,
            changed_subscriptions=self.changed_subscriptions,
            deleted_subscriptions=self.deleted_subscriptions,
            new_windows=self.new_windows,
            changed_windows=[new for _, new in self.changed_windows],
            deleted_windows=[each.id for each in self.deleted_windows],
            publications=self.publications,
            workflow_sources=self.workflow_sources,
            actor=self.desk.actor,
            events=self.events,
            check_jobs=same_jobs(self.seen_jobs),
        )


def renamed(wanted: WantedEntry, names: set[str]) -> str | None:
    """The previous name of an entry, unless another entry has that name now."""
    before = wanted.entry.renamed_from if isinstance(wanted.entry, LastingEntry) else None
    return None if before in names else before


class ExportedEntry(Struct, frozen=True):
    """One entry as a document describes it, without defaults."""

    source: str
    name: str
    entry: dict[str, object]


class Section(Protocol):
    """One top-level key of a document. To add one: a module with a class like this, and a line in `sections.py`."""

    key: str  # in the document: `endpoints`
    entry: type[DocumentEntry]  # the type of an entry

    async def plan(self, plan: DocumentPlan, wanted: Sequence[WantedEntry]) -> None:
        """Adds steps, and what they write, for every entry that differs; errors are recorded, not raised."""

    async def prune(self, plan: DocumentPlan, wanted: Sequence[WantedEntry]) -> None:
        """Archives managed entries that are no longer described; called in reverse order, users first."""

    async def export(self, desk: Desk) -> list[ExportedEntry]:
        """All existing entries, by name."""

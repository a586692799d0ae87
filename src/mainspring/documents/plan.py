"""What applying documents would do: steps to show, a changeset to write, faults with their places.

A plan is made from what the database holds now. Each section adds its part; nothing is written before all have.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from msgspec import Struct, field

from mainspring.documents.entries import DocumentEntry, LastingEntry
from mainspring.documents.faults import DocumentFault, SourcePlace
from mainspring.documents.references import Resolver
from mainspring.documents.yaml_reader import Path, Tree
from mainspring.domain.endpoint import Endpoint, Job, Tenant
from mainspring.domain.event import Event
from mainspring.domain.notify.subscription import Subscription
from mainspring.domain.rules.judge import StoredRule
from mainspring.domain.schedule.changes import Act
from mainspring.operations.alerts import Messengers
from mainspring.operations.documents import same_jobs
from mainspring.operations.endpoints import Desk
from mainspring.ports.documents import Changeset, Publication

CREATE, CHANGE, ARCHIVE, DELETE = "create", "change", "archive", "delete"


class FieldChange(Struct, frozen=True):
    """One field as it is and as it will be, both as a document writes them; secrets are masked."""

    field: str
    before: object
    after: object


class PlanStep(Struct, frozen=True):
    """Something that will be made, changed, archived or deleted."""

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
    """How documents are applied: who may be asked for secrets, what becomes of what they no longer describe."""

    resolve: Resolver
    messengers: Messengers  # who know what an address is
    prune: bool = False
    take_over: bool = False


class DocumentPlan(Struct):
    """Filled in by the sections, in their order."""

    desk: Desk
    now: datetime
    tenant: Tenant
    options: Options
    sources: frozenset[str]
    jobs: dict[str, Job]  # by name, as they will be
    endpoints: list[Endpoint]  # as they are, not archived
    seen_jobs: dict[str, Job]  # by id, as they are
    job_of: dict[str, str]  # endpoint id to job id, as it will be
    name_of: dict[str, str]  # endpoint id to name, as it will be
    steps: list[PlanStep] = field(default_factory=list)
    unchanged: int = 0
    notes: list[str] = field(default_factory=list)
    faults: list[DocumentFault] = field(default_factory=list)

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
    publications: list[Publication] = field(default_factory=list)
    workflow_sources: dict[str, str] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)

    def fault(self, place: SourcePlace, message: str) -> None:
        self.faults.append(DocumentFault(place, message))

    def may_manage(self, wanted: WantedEntry, kind: str, managed_by: str) -> bool:
        """Whether a document may describe what is there; another source's things are taken over only when asked to."""
        if not managed_by or wanted.source is None or managed_by == wanted.source or self.options.take_over:
            return True
        self.fault(
            wanted.place,
            f"{kind} {wanted.name!r} is managed by the source {managed_by!r}, and this is {wanted.source!r}; "
            "take it out of one of the two, or apply with --take-over",
        )
        return False

    def is_pruned(self, managed_by: str) -> bool:
        """Whether something that no document describes any more was described by a source of these."""
        return self.options.prune and managed_by in self.sources

    def changeset(self) -> Changeset:
        return Changeset(
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
            publications=self.publications,
            workflow_sources=self.workflow_sources,
            actor=self.desk.actor,
            events=self.events,
            check_jobs=same_jobs(self.seen_jobs),
        )


def renamed(wanted: WantedEntry, names: set[str]) -> str | None:
    """The name something had before, unless an entry of its own has that name now."""
    before = wanted.entry.renamed_from if isinstance(wanted.entry, LastingEntry) else None
    return None if before in names else before


class ExportedEntry(Struct, frozen=True):
    """One thing as a document describes it, without what is so by default."""

    source: str
    name: str
    entry: dict[str, object]


class Section(Protocol):
    """One top-level key of a document. To add one: a module with a class like this, and a line in `sections.py`."""

    key: str  # in the document: `endpoints`
    entry: type[DocumentEntry]  # what stands under a name

    async def plan(self, plan: DocumentPlan, wanted: Sequence[WantedEntry]) -> None:
        """Add steps, and what they write, for everything that is not as wanted; faults are added, not raised."""

    async def prune(self, plan: DocumentPlan, wanted: Sequence[WantedEntry]) -> None:
        """Archive what is managed and no longer wanted; called in the opposite order: users go before the used."""

    async def export(self, desk: Desk) -> list[ExportedEntry]:
        """Everything there is, by name."""

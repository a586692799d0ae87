"""Port of configuration as code: the changes of documents, written together or not at all."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from mainspring.domain.calendar import Calendar
from mainspring.domain.connection import Connection
from mainspring.domain.endpoint import Endpoint, Job
from mainspring.domain.event import Event
from mainspring.domain.notify.subscription import Subscription
from mainspring.domain.rules.judge import StoredRule
from mainspring.domain.schedule.changes import Act
from mainspring.domain.schedule.maintenance import MaintenanceWindow
from mainspring.workflow.model import Workflow


class ChangedMeanwhile(Exception):
    """Another change was written since the plan was made; plan again."""


class Publication(Struct, frozen=True):
    """A workflow to publish, if its newest version is still `after`; 0: it has none."""

    workflow: Workflow
    document: str
    after: int


class Changeset(Struct, frozen=True):
    """The changes of one application of documents.

    `acts` are by endpoint id, `freed` lose their names, and `check_jobs` receives the tenant's jobs before anything is
    written, to raise if they changed. `rules` are written as a whole, each with its position among those of its owner.
    Changed connections, calendars, subscriptions and windows have the version after the one that was read.
    `workflow_sources` maps a workflow's name to its source; "": none.
    """

    new_connections: Sequence[Connection] = ()
    changed_connections: Sequence[Connection] = ()
    deleted_connections: Sequence[str] = ()
    new_calendars: Sequence[Calendar] = ()
    changed_calendars: Sequence[Calendar] = ()
    deleted_calendars: Sequence[str] = ()
    new_jobs: Sequence[Job] = ()
    changed_jobs: Sequence[Job] = ()
    acts: Mapping[str, Act] = {}
    freed: Sequence[str] = ()
    new_endpoints: Sequence[Endpoint] = ()
    rules: Sequence[tuple[StoredRule, int]] = ()
    removed_rules: Sequence[str] = ()
    new_subscriptions: Sequence[Subscription] = ()
    changed_subscriptions: Sequence[Subscription] = ()
    deleted_subscriptions: Sequence[str] = ()
    new_windows: Sequence[MaintenanceWindow] = ()
    changed_windows: Sequence[MaintenanceWindow] = ()
    deleted_windows: Sequence[str] = ()
    publications: Sequence[Publication] = ()
    workflow_sources: Mapping[str, str] = {}
    actor: str = ""
    events: Sequence[Event] = ()
    check_jobs: Callable[[Sequence[Job]], None] = lambda jobs: None


class DocumentStore(Protocol):
    """Many changes at once, for configuration as code."""

    async def apply(self, tenant_id: str, changeset: Changeset) -> None:
        """Writes jobs, then acts on locked rows with the store's now, then the rest: one transaction, all or nothing.

        Names may be swapped in a circle. Raises Conflict if a name is taken in the end, NotFound if an endpoint of
        `acts` was deleted, ChangedMeanwhile if a connection, a calendar, a subscription, a window or a workflow
        changed, and any exception of an act.
        """

    async def workflow_sources(self, tenant_id: str) -> dict[str, str]:
        """The sources of workflows, by name; workflows without a source are left out."""

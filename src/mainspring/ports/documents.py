"""The seam of configuration as code: what documents change, written together or not at all."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from mainspring.domain.endpoint import Endpoint, Job
from mainspring.domain.event import Event
from mainspring.domain.notify.subscription import Subscription
from mainspring.domain.rules.judge import StoredRule
from mainspring.domain.schedule.changes import Act
from mainspring.workflow.model import Workflow


class ChangedMeanwhile(Exception):
    """Somebody wrote what a plan was about to change; plan again."""


class Publication(Struct, frozen=True):
    """A workflow to publish, where its newest version is still `after`; 0: there is none."""

    workflow: Workflow
    document: str
    after: int


class Changeset(Struct, frozen=True):
    """What one application of configuration changes.

    `acts` are by endpoint id, `freed` give up their names, and `check_jobs` gets the tenant's jobs before anything is
    written, to raise where they are not as they should be. `rules` are written whole, each with its place among those
    of its owner. Changed subscriptions carry the version after the one that was seen. `workflow_sources` says who
    manages a workflow, by name; "": nobody.
    """

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
    publications: Sequence[Publication] = ()
    workflow_sources: Mapping[str, str] = {}
    actor: str = ""
    events: Sequence[Event] = ()
    check_jobs: Callable[[Sequence[Job]], None] = lambda jobs: None


class DocumentStore(Protocol):
    """Many changes at once, for configuration as code."""

    async def apply(self, tenant_id: str, changeset: Changeset) -> None:
        """Jobs, then acts on locked rows with the store's now, then all the rest: one transaction, all or nothing.

        Names may go round in a circle. Raises Conflict where a name is taken in the end, NotFound where an endpoint of
        `acts` is gone, ChangedMeanwhile where a subscription or a workflow is not as it was seen, and whatever an act
        raises.
        """

    async def workflow_sources(self, tenant_id: str) -> dict[str, str]:
        """Who manages workflows, by name; those that nobody manages are left out."""

"""Writes of configuration as code: the changes of a plan, applied together or not at all.

A change applies only to the version it was planned for; otherwise everything is planned again.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from msgspec.structs import replace

from mainspring.domain.definition import configured
from mainspring.domain.endpoint import Endpoint, EndpointConfig, Job
from mainspring.domain.event import Event, EventType
from mainspring.domain.run import Header
from mainspring.domain.schedule import changes
from mainspring.domain.schedule.anchor import plan_first
from mainspring.domain.schedule.changes import Act, Change
from mainspring.operations.context import Desk
from mainspring.operations.endpoints import created_data, moved, new_endpoint
from mainspring.ports.documents import ChangedMeanwhile, Changeset
from mainspring.ports.endpoints import EndpointFilter

PAGE = 1_000


async def live_endpoints(desk: Desk) -> list[Endpoint]:
    """Every endpoint that is not archived, by name."""
    found: list[Endpoint] = []
    after: tuple[str, str] | None = None
    while page := await desk.stores.endpoints.endpoints(desk.tenant_id, EndpointFilter(after=after, limit=PAGE)):
        found.extend(page)
        after = page[-1].name, page[-1].id
        if len(page) < PAGE:
            break
    return found


def plan_endpoint(
    desk: Desk, endpoint_id: str, config: EndpointConfig, host: str, job: Job, source: str, days: str, now: datetime
) -> tuple[Endpoint, Event]:
    """A new endpoint with its first run planned, and its event."""
    endpoint = replace(new_endpoint(desk, endpoint_id, config, host, job, now), managed_by=source, days=days)
    data = created_data(endpoint) | {"managed_by": source}
    event = Event(EventType.ENDPOINT_CREATED, now, desk.tenant_id, endpoint.id, "", desk.actor, data)
    return plan_first(endpoint, now, desk.cron), event


def edit_act(
    desk: Desk,
    seen: Endpoint,
    config: EndpointConfig,
    pairs: tuple[Header, ...],
    query: str,
    host: str,
    job: Job,
    source: str,
    days: str,
) -> Act:
    def act(old: Endpoint, at: datetime) -> Change:
        if old.version != seen.version:
            raise ChangedMeanwhile
        new = replace(moved(configured(old, config, pairs, query), host, job), managed_by=source, days=days)
        return changes.edit(old, new, at, desk.actor, desk.cron)

    return act


def same_act(seen: Endpoint) -> Act:
    """Changes nothing, and ensures that nothing else did: for parts of an endpoint that are stored elsewhere."""

    def act(old: Endpoint, at: datetime) -> Change:
        if old.version != seen.version:
            raise ChangedMeanwhile
        return Change(old)

    return act


def archive_act(desk: Desk, seen: Endpoint) -> Act:
    def act(old: Endpoint, at: datetime) -> Change:
        if old.version != seen.version:
            raise ChangedMeanwhile
        return changes.archive(old, at, desk.actor)

    return act


def same_jobs(seen: Mapping[str, Job]) -> Callable[[Sequence[Job]], None]:
    """Checks that jobs are unchanged since the plan was made: an endpoint must not start to run in a paused job."""

    def check(jobs: Sequence[Job]) -> None:
        if {job.id: job for job in jobs} != seen:
            raise ChangedMeanwhile

    return check


async def write_configuration(desk: Desk, changeset: Changeset, told: Mapping[str, object]) -> None:
    """Applies a changeset with an event that describes it."""
    now = await desk.stores.schedule.now()
    event = Event(EventType.CONFIGURATION_APPLIED, now, desk.tenant_id, actor=desk.actor, data=dict(told))
    await desk.stores.configuration.apply(desk.tenant_id, replace(changeset, events=(*changeset.events, event)))


async def report_refusal(desk: Desk, told: Mapping[str, object]) -> None:
    """Emits an event that documents could not be applied and the last applied state remains."""
    now = await desk.stores.schedule.now()
    event = Event(EventType.CONFIGURATION_REFUSED, now, desk.tenant_id, actor=desk.actor, data=dict(told))
    await desk.stores.runs.add_events([event])

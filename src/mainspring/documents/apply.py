"""Apply documents: plan the changes, write them in one transaction, and report them.

Applying the same documents twice changes nothing the second time. The rule that must not break: if any of them has an
error, nothing is written.
"""

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from mainspring.documents.document import Documents, parse_documents
from mainspring.documents.faults import InvalidDocument
from mainspring.documents.plan import ARCHIVE, CHANGE, CREATE, DELETE, DocumentPlan, Options, PlanStep
from mainspring.documents.rules import plan_rules
from mainspring.documents.sections import SECTIONS
from mainspring.domain.connection import connection_name
from mainspring.domain.errors import Conflict, NotFound
from mainspring.operations.calendars import renew_endpoints
from mainspring.operations.context import Desk
from mainspring.operations.documents import live_endpoints, write_configuration
from mainspring.operations.endpoints import record_refused_command, tenant_of
from mainspring.operations.maintenance import bring_back
from mainspring.ports.documents import ChangedMeanwhile

TRIES_MAX = 5


class Report(Struct, frozen=True):
    """The changes made, or planned."""

    steps: tuple[PlanStep, ...]
    unchanged: int
    notes: tuple[str, ...]
    sources: tuple[str, ...]
    written: bool = False

    @property
    def counts(self) -> dict[str, int]:
        acts = Counter(step.act for step in self.steps)
        return {
            "created": acts[CREATE],
            "changed": acts[CHANGE],
            "archived": acts[ARCHIVE],
            "deleted": acts[DELETE],
            "unchanged": self.unchanged,
        }


async def apply_files(
    desk: Desk,
    files: Sequence[tuple[str, bytes]],
    options: Options,
    *,
    source: str | None = None,
    dry_run: bool = False,
) -> Report:
    """Changes the database to match these files; with `dry_run`, only returns the plan."""
    documents = await desk.sandbox.call(desk.tenant_id, parse_documents, files, source)
    for _ in range(TRIES_MAX):
        plan = await make_plan(desk, documents, options)
        if dry_run or not plan.steps:
            return _report(plan)
        try:
            report = _report(plan)
            await write_configuration(desk, plan.changeset(), {"sources": list(report.sources), **report.counts})
        except (ChangedMeanwhile, NotFound):
            continue
        for window in (*(old for old, _ in plan.changed_windows), *plan.deleted_windows):
            await bring_back(desk, window)
        if plan.changed_calendars or plan.calendars_of:
            await renew_endpoints(desk)  # also those that no document describes
        return Report(report.steps, report.unchanged, report.notes, report.sources, written=True)
    raise Conflict(
        "the described entries are being changed concurrently; try again in a moment",
        kind="configuration",
        name="",
    )


async def make_plan(desk: Desk, documents: Documents, options: Options) -> DocumentPlan:
    """The plan, from the current state of the database. Raises InvalidDocument if it is not possible."""
    jobs = await desk.stores.endpoints.jobs(desk.tenant_id)
    endpoints = await live_endpoints(desk)
    plan = DocumentPlan(
        desk,
        await desk.stores.schedule.now(),
        await tenant_of(desk),
        options,
        frozenset(documents.sources),
        jobs={job.name: job for job in jobs},
        endpoints=endpoints,
        job_of={endpoint.id: endpoint.job_id for endpoint in endpoints},
        name_of={endpoint.id: endpoint.name for endpoint in endpoints},
        seen_jobs={job.id: job for job in jobs},
        connections={each.name: each for each in await desk.stores.connections.connections(desk.tenant_id)},
        calendars={each.name: each for each in await desk.stores.calendars.calendars(desk.tenant_id)},
        calendars_of={each.id: (each.except_calendar, each.only_calendar) for each in endpoints if each.days},
        connection_of={each.id: name for each in endpoints if (name := connection_name(each.action))},
    )
    for section in SECTIONS:
        await section.plan(plan, list(documents.wanted[section.key].values()))
    for section in reversed(SECTIONS):
        await section.prune(plan, list(documents.wanted[section.key].values()))
    await plan_rules(plan, *(list(documents.wanted[key].values()) for key in ("jobs", "endpoints")))
    for name, refused in plan.refused_commands:
        await record_refused_command(desk, name, refused)
    if faults := [*documents.faults, *plan.faults]:
        files = {fault.place.file: number for number, fault in reversed(list(enumerate(faults)))}
        raise InvalidDocument(
            sorted(faults, key=lambda each: (files[each.place.file], each.place.line, each.place.column))
        )
    return plan


def _report(plan: DocumentPlan) -> Report:
    return Report(tuple(plan.steps), plan.unchanged, tuple(plan.notes), tuple(sorted(plan.sources)))

"""Apply documents: plan the changes, write them in one transaction, and report them.

Applying the same documents twice changes nothing the second time. The rule that must not break: if anything is wrong
with any of them, nothing is written at all.
"""

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from mainspring.documents.document import Documents, parse_documents
from mainspring.documents.faults import InvalidDocument
from mainspring.documents.plan import ARCHIVE, CHANGE, CREATE, DELETE, DocumentPlan, Options, PlanStep
from mainspring.documents.rules import plan_rules
from mainspring.documents.sections import SECTIONS
from mainspring.domain.errors import Conflict, NotFound
from mainspring.operations.documents import live_endpoints, write_configuration
from mainspring.operations.endpoints import Desk, tenant_of
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
    )
    for section in SECTIONS:
        await section.plan(plan, list(documents.wanted[section.key].values()))
    for section in reversed(SECTIONS):
        await section.prune(plan, list(documents.wanted[section.key].values()))
    await plan_rules(plan, *(list(documents.wanted[key].values()) for key in ("jobs", "endpoints")))
    if faults := [*documents.faults, *plan.faults]:
        files = {fault.place.file: number for number, fault in reversed(list(enumerate(faults)))}
        raise InvalidDocument(
            sorted(faults, key=lambda each: (files[each.place.file], each.place.line, each.place.column))
        )
    return plan


def _report(plan: DocumentPlan) -> Report:
    return Report(tuple(plan.steps), plan.unchanged, tuple(plan.notes), tuple(sorted(plan.sources)))

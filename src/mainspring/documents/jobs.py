"""The section `jobs`: named groups of endpoints."""

from collections.abc import Sequence

from msgspec.structs import replace

from mainspring.documents.entries import DocumentEntry, JobEntry
from mainspring.documents.plan import (
    ARCHIVE,
    CHANGE,
    CREATE,
    DocumentPlan,
    ExportedEntry,
    FieldChange,
    PlanStep,
    WantedEntry,
    renamed,
)
from mainspring.documents.rules import exported_rules
from mainspring.domain.endpoint import DESCRIPTION_MAX, Job, JobStatus
from mainspring.domain.errors import InvalidInput
from mainspring.domain.event import Event, EventType
from mainspring.domain.name import check_name
from mainspring.domain.text import check_text
from mainspring.operations.context import Desk
from mainspring.operations.documents import live_endpoints

_TOLD = {CREATE: EventType.JOB_CREATED, CHANGE: EventType.JOB_UPDATED, ARCHIVE: EventType.JOB_ARCHIVED}


class JobSection:
    key = "jobs"
    entry: type[DocumentEntry] = JobEntry

    async def plan(self, plan: DocumentPlan, wanted: Sequence[WantedEntry]) -> None:
        names = {each.name for each in wanted}
        for each in wanted:
            if checked := _checked(plan, each):
                name, description = checked
                old = plan.jobs.get(name) or plan.jobs.get(renamed(each, names) or "")
                if old is None:
                    add_job(plan, name, description, each.source or "")
                elif plan.may_manage(each, "job", old.managed_by):
                    _change(plan, old, name, description, each.source)

    async def prune(self, plan: DocumentPlan, wanted: Sequence[WantedEntry]) -> None:
        names = {each.name for each in wanted}
        used = set(plan.job_of.values())
        for job in list(plan.jobs.values()):
            if job.name in names or job.status is JobStatus.ARCHIVED or not plan.is_pruned(job.managed_by):
                continue
            if job.id in used:
                plan.notes.append(
                    f"job {job.name!r} is kept although no document describes it, because it still has endpoints"
                )
                continue
            _put(plan, ARCHIVE, replace(job, status=JobStatus.ARCHIVED, updated_at=plan.now))

    async def export(self, desk: Desk) -> list[ExportedEntry]:
        """Jobs with more than a name. Other jobs are created with their endpoints."""
        used = {endpoint.job_id for endpoint in await live_endpoints(desk)}
        rules = await exported_rules(desk)
        found = []
        for job in await desk.stores.endpoints.jobs(desk.tenant_id):
            said: dict[str, object] = {"description": job.description, "rules": rules.get(job.id)}
            entry = {key: value for key, value in said.items() if value}
            if job.status is not JobStatus.ARCHIVED and (entry or job.managed_by or job.id not in used):
                found.append(ExportedEntry(job.managed_by, job.name, entry))
        return found


def add_job(plan: DocumentPlan, name: str, description: str, source: str) -> Job:
    job = Job(
        plan.desk.ids.new("job", plan.now), plan.desk.tenant_id, name, description, JobStatus.ACTIVE, plan.now,
        plan.now, source,
    )  # fmt: skip
    fields = (FieldChange("description", None, description),) if description else ()
    _put(plan, CREATE, job, fields)
    return job


def _checked(plan: DocumentPlan, wanted: WantedEntry) -> tuple[str, str] | None:
    assert isinstance(wanted.entry, JobEntry)
    try:
        name = check_name(wanted.name, field="name", kind="job")
    except InvalidInput as fault:
        plan.fault(wanted.place, str(fault))
        return None
    try:
        return name, check_text(str(wanted.entry.sent().get("description") or ""), "description", DESCRIPTION_MAX)
    except InvalidInput as fault:
        plan.fault(wanted.at("description"), str(fault))
        return None


def _change(plan: DocumentPlan, old: Job, name: str, description: str, source: str | None) -> None:
    managed_by = old.managed_by if source is None else source
    is_back = old.status is JobStatus.ARCHIVED
    new = replace(
        old,
        name=name,
        description=description,
        managed_by=managed_by,
        status=JobStatus.ACTIVE if is_back else old.status,
    )
    if new == old:
        plan.unchanged += 1
        return
    fields = [
        FieldChange(field, getattr(old, field), getattr(new, field))
        for field in ("name", "description", "status", "managed_by")
        if getattr(old, field) != getattr(new, field)
    ]
    _put(plan, CHANGE, replace(new, updated_at=plan.now), tuple(fields), old.name if name != old.name else None)


def _put(
    plan: DocumentPlan, act: str, job: Job, fields: tuple[FieldChange, ...] = (), renamed_from: str | None = None
) -> None:
    if renamed_from is not None:
        del plan.jobs[renamed_from]
    plan.jobs[job.name] = job
    (plan.new_jobs if act == CREATE else plan.changed_jobs).append(job)
    data: dict[str, object] = {"name": job.name, "managed_by": job.managed_by}
    plan.events.append(Event(_TOLD[act], plan.now, job.tenant_id, actor=plan.desk.actor, data=data))
    plan.steps.append(PlanStep(act, "job", job.name, fields, renamed_from))

"""Operations on jobs."""

from datetime import datetime

from msgspec.structs import replace

from mainspring.domain.endpoint import DESCRIPTION_MAX, Endpoint, Job, JobStatus
from mainspring.domain.errors import Conflict, NotFound
from mainspring.domain.event import Event, EventType
from mainspring.domain.name import as_stored, check_name
from mainspring.domain.schedule import changes
from mainspring.domain.schedule.changes import Change
from mainspring.domain.text import check_text
from mainspring.operations.context import Desk
from mainspring.ports.endpoints import EndpointFilter

PAGE = 300  # endpoints in one transaction: SQLite archives them in some 50 ms, on the event loop
_EVENT = {
    JobStatus.PAUSED: EventType.JOB_PAUSED,
    JobStatus.ACTIVE: EventType.JOB_RESUMED,
    JobStatus.ARCHIVED: EventType.JOB_ARCHIVED,
}


async def add_job(desk: Desk, name: str, description: str = "") -> Job:
    name = check_name(name, field="name", kind="job")
    description = check_text(description, "description", DESCRIPTION_MAX)
    now = await desk.stores.schedule.now()
    job = Job(desk.ids.new("job", now), desk.tenant_id, name, description, JobStatus.ACTIVE, now, now)
    await desk.stores.endpoints.add_job(job, job_event(desk, EventType.JOB_CREATED, now, None, job))
    return job


async def find_job(desk: Desk, name_or_id: str) -> Job:
    jobs = await desk.stores.endpoints.jobs(desk.tenant_id)
    by_id = [job for job in jobs if job.id == name_or_id]
    for job in by_id or [job for job in jobs if job.name == as_stored(name_or_id)]:
        return job
    raise NotFound("job", name_or_id, tuple(job.name for job in jobs))


async def edit_job(desk: Desk, name_or_id: str, name: str | None = None, description: str | None = None) -> Job:
    job = await find_job(desk, name_or_id)
    now = await desk.stores.schedule.now()
    edited = replace(
        job,
        name=job.name if name is None else check_name(name, field="name", kind="job"),
        description=job.description if description is None else check_text(description, "description", DESCRIPTION_MAX),
        updated_at=now,
    )
    await desk.stores.endpoints.put_job(edited, job_event(desk, EventType.JOB_UPDATED, now, job, edited))
    return edited


async def set_job_status(desk: Desk, name_or_id: str, status: JobStatus) -> Job:
    """Pauses, resumes or archives a job: first the job, so that no endpoint can join it meanwhile, then its
    endpoints.
    """
    job = await find_job(desk, name_or_id)
    if job.status is JobStatus.ARCHIVED and status is not JobStatus.ARCHIVED:
        raise Conflict(
            f"job {job.name!r} is archived, which cannot be undone; create a new job", kind="job", name=job.name
        )
    now = await desk.stores.schedule.now()
    changed = replace(job, status=status, updated_at=now)
    await desk.stores.endpoints.put_job(changed, job_event(desk, _EVENT[status], now, job, changed))

    def act(endpoint: Endpoint, at: datetime) -> Change:
        if status is JobStatus.ARCHIVED:
            return changes.archive(endpoint, at, desk.actor)
        return changes.set_job_active(endpoint, status is JobStatus.ACTIVE, at, desk.actor, desk.cron)

    after: tuple[str, str] | None = None
    while page := await desk.stores.endpoints.endpoints(
        desk.tenant_id, EndpointFilter(job_id=job.id, after=after, limit=PAGE)
    ):
        await desk.stores.endpoints.change_endpoints(desk.tenant_id, [endpoint.id for endpoint in page], act)
        after = page[-1].name, page[-1].id
    return changed


def job_event(desk: Desk, kind: EventType, now: datetime, before: Job | None, after: Job) -> Event:
    """The event of a change to a job; the audit trail keeps a digest of its state before and after."""
    data: dict[str, object] = {"subject": after.id, "name": after.name, "before": _visible(before)}
    return Event(kind, now, desk.tenant_id, actor=desk.actor, data=data | {"after": _visible(after)})


def _visible(job: Job | None) -> dict[str, object] | None:
    return None if job is None else {"name": job.name, "description": job.description, "status": job.status}

"""Jobs: named groups of endpoints."""

from fastapi import APIRouter, Response

from mainspring.api.access import Reading, Running, Writing
from mainspring.api.endpoint_views import dry_run_job
from mainspring.api.etags import IfMatch, job_etag, refuse_other
from mainspring.api.models.fields import DryRun, JobRef
from mainspring.api.models.requests import JobNew, JobPatch
from mainspring.domain.endpoint import JobStatus
from mainspring.domain.errors import InvalidInput
from mainspring.operations import jobs
from mainspring.operations.context import Desk
from mainspring.views.job import JobDryRun, JobView
from mainspring.views.view import PageOf

router = APIRouter(prefix="/jobs", tags=["jobs"])


@router.get("")
async def list_jobs(desk: Reading) -> PageOf[JobView]:
    """All jobs, by name."""
    found = await desk.stores.endpoints.jobs(desk.tenant_id)
    return PageOf(items=[JobView.of(job) for job in found], next_cursor=None)


@router.post("", status_code=201, responses={200: {"model": JobDryRun}})
async def create_job(desk: Writing, wish: JobNew, response: Response, dry_run: DryRun = False) -> JobView | JobDryRun:
    description = str(wish.sent().get("description") or "")
    if dry_run:
        response.status_code = 200
        return await dry_run_job(desk, lambda there: jobs.add_job(there, wish.name, description), None)
    job = await jobs.add_job(desk, wish.name, description)
    response.headers["ETag"] = job_etag(job)
    response.headers["Location"] = f"/api/v1/jobs/{job.id}"
    return JobView.of(job)


@router.get("/{job}")
async def read_job(desk: Reading, job: JobRef, response: Response) -> JobView:
    found = await jobs.find_job(desk, job)
    response.headers["ETag"] = job_etag(found)
    return JobView.of(found)


@router.patch("/{job}")
async def update_job(
    desk: Writing, job: JobRef, wish: JobPatch, response: Response, if_match: IfMatch = None, dry_run: DryRun = False
) -> JobView | JobDryRun:
    """Change the name or the description; missing fields stay unchanged."""
    found = await jobs.find_job(desk, job)
    refuse_other(if_match, job_etag(found), "job", found.name)
    if "name" in wish.model_fields_set and wish.name is None:
        raise InvalidInput("name cannot be null; omit it, or give one", field="name")
    sent = wish.sent()
    description = str(sent["description"] or "") if "description" in sent else None
    if dry_run:
        return await dry_run_job(desk, lambda there: jobs.edit_job(there, found.id, wish.name, description), found)
    edited = await jobs.edit_job(desk, found.id, wish.name, description)
    response.headers["ETag"] = job_etag(edited)
    return JobView.of(edited)


@router.post("/{job}/pause")
async def pause_job(desk: Running, job: JobRef, dry_run: DryRun = False) -> JobView | JobDryRun:
    """Pause a job: none of its endpoints runs until it is resumed."""
    return await _set_status(desk, job, JobStatus.PAUSED, dry_run)


@router.post("/{job}/resume")
async def resume_job(desk: Running, job: JobRef, dry_run: DryRun = False) -> JobView | JobDryRun:
    return await _set_status(desk, job, JobStatus.ACTIVE, dry_run)


@router.post("/{job}/archive")
async def archive_job(desk: Writing, job: JobRef, dry_run: DryRun = False) -> JobView | JobDryRun:
    """Archive a job with all its endpoints; they are kept with their runs and never run again."""
    return await _set_status(desk, job, JobStatus.ARCHIVED, dry_run)


async def _set_status(desk: Desk, job: str, status: JobStatus, dry_run: bool) -> JobView | JobDryRun:
    if dry_run:
        found = await jobs.find_job(desk, job)
        return await dry_run_job(desk, lambda there: jobs.set_job_status(there, found.id, status), found)
    return JobView.of(await jobs.set_job_status(desk, job, status))

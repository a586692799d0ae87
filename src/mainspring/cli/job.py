"""`mainspring job ...`: named groups of endpoints."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from mainspring.cli import remote
from mainspring.cli.arguments import JobName
from mainspring.cli.command import CommandApp, OutputOption, ask, ask_for, ask_for_all
from mainspring.cli.endpoint_output import list_endpoints, note_if_managed, schedule_in_words
from mainspring.cli.output import Output, answer, now, show_json
from mainspring.cli.table import Column, show_fields, show_list, show_table
from mainspring.views.sentences import relative, when

if TYPE_CHECKING:
    from mainspring.client import Client
    from mainspring.operations.context import Desk
    from mainspring.views.endpoint import EndpointView
    from mainspring.views.job import JobView

app = CommandApp("Jobs: named groups of endpoints.")

About = Annotated[str | None, typer.Option("--description", help="Purpose of its endpoints, in plain words.")]


@app.command("add")
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the new job, unique in the tenant.")],
    description: About = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Create a job. `endpoint add --job NAME` also creates one."""
    from mainspring.operations.jobs import add_job
    from mainspring.views.job import JobView

    job = ask_for(
        JobView,
        lambda desk: add_job(desk, name, description or ""),
        lambda client: client.jobs.create(name=name, description=description or ""),
    )
    answer(job, output, f"added job {job.name!r}")


@app.command("list")
def list_jobs(output: OutputOption = Output.TABLE) -> None:
    """List jobs by name."""
    from mainspring.views.job import JobView

    jobs = ask_for_all(
        JobView, lambda desk: desk.stores.endpoints.jobs(desk.tenant_id), lambda client: client.jobs.list()["items"]
    )
    rows = [(job.name, job.status, job.description) for job in jobs]
    columns = (Column("NAME", can_cut=True), Column("STATE"), Column("DESCRIPTION", tail=True))
    show_list(jobs, output, columns, rows, "No jobs yet. Add one: mainspring job add NAME")


@app.command("show")
def show(name: JobName, output: OutputOption = Output.TABLE) -> None:
    """Show a job and its endpoints."""
    from mainspring.operations.jobs import find_job
    from mainspring.views.job import JobView

    async def work(desk: "Desk") -> tuple["JobView", list["EndpointView"]]:
        job = await find_job(desk, name)
        return JobView.of(job), await list_endpoints(desk, job.id, None)

    def over(client: "Client") -> tuple["JobView", list["EndpointView"]]:
        job = JobView.model_validate(client.jobs.read(name))
        return job, remote.endpoints_of(client, job.id, None)

    job, endpoints = ask(work, over)
    if output is Output.JSON:
        show_json(job.as_json() | {"endpoints": endpoints})
        return
    at = now()
    show_fields(
        [
            ("name", job.name),
            ("id", job.id),
            ("state", job.status),
            ("description", job.description or "-"),
            ("managed by", job.managed_by or "-"),
            ("changed", when(at, job.updated_at)),
        ]
    )
    print()
    rows = [
        (endpoint.name, schedule_in_words(endpoint), relative(at, endpoint.next_run_at, "never"))
        for endpoint in endpoints
    ]
    columns = (Column("ENDPOINT", can_cut=True), Column("SCHEDULE", can_cut=True), Column("NEXT RUN"))
    show_table(columns, rows, "This job has no endpoints.")


@app.command("edit")
def edit(
    name: JobName,
    rename: Annotated[str | None, typer.Option("--name", help="New name.")] = None,
    description: About = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Change a job's name or description."""
    from mainspring.operations.jobs import edit_job
    from mainspring.views.job import JobView

    given = {"name": rename, "description": description}
    fields: Any = {field: text for field, text in given.items() if text is not None}
    job = ask_for(
        JobView,
        lambda desk: edit_job(desk, name, rename, description),
        lambda client: client.jobs.update(name, **fields),
    )
    answer(job, output, f"edited job {job.name!r}")
    note_if_managed(job.name, job.managed_by)


@app.command("pause")
def pause(name: JobName, output: OutputOption = Output.TABLE) -> None:
    """Pause every endpoint of a job until it is resumed."""
    _set_status(name, "paused", "paused job {name!r}; none of its endpoints runs", output)


@app.command("resume")
def resume(name: JobName, output: OutputOption = Output.TABLE) -> None:
    """Resume the endpoints of a job."""
    _set_status(name, "active", "resumed job {name!r}", output)


@app.command("archive")
def archive(name: JobName, output: OutputOption = Output.TABLE) -> None:
    """Archive a job with its endpoints, for good."""
    _set_status(name, "archived", "archived job {name!r} and its endpoints; none of them runs again", output)


def _set_status(name: str, status: str, sentence: str, output: Output) -> None:
    from mainspring.domain.endpoint import JobStatus
    from mainspring.operations.jobs import set_job_status
    from mainspring.views.job import JobView

    def over(client: "Client") -> object:
        verbs = {"paused": client.jobs.pause, "active": client.jobs.resume, "archived": client.jobs.archive}
        return verbs[status](name)

    job = ask_for(JobView, lambda desk: set_job_status(desk, name, JobStatus(status)), over)
    answer(job, output, sentence.format(name=job.name))

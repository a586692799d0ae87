"""`mainspring job ...`: named groups of endpoints."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from mainspring.cli import remote
from mainspring.cli.arguments import JobName
from mainspring.cli.command import CommandApp, OutputOption, ask
from mainspring.cli.endpoint_output import note_if_managed, schedule_in_words, see_all
from mainspring.cli.output import Output, say, show_json
from mainspring.cli.table import Column, show_fields, show_table
from mainspring.views.sentences import EndpointSight, relative, when
from mainspring.views.shapes import endpoint_shape, job_shape

if TYPE_CHECKING:
    from datetime import datetime

    from mainspring.client import Client
    from mainspring.domain.endpoint import Job
    from mainspring.operations.endpoints import Desk

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

    job = ask(
        lambda desk: add_job(desk, name, description or ""),
        lambda client: remote.job_of(client.jobs.create(name=name, description=description or "")),
    )
    _show(job, output, f"added job {job.name!r}")


@app.command("list")
def list_jobs(output: OutputOption = Output.TABLE) -> None:
    """List jobs by name."""

    async def work(desk: "Desk") -> list["Job"]:
        return await desk.stores.endpoints.jobs(desk.tenant_id)

    jobs = ask(work, lambda client: [remote.job_of(shape) for shape in client.jobs.list()["items"]])
    if output is Output.JSON:
        show_json([job_shape(job) for job in jobs])
        return
    rows = [(job.name, job.status.value, job.description) for job in jobs]
    columns = (Column("NAME", can_cut=True), Column("STATE"), Column("DESCRIPTION", tail=True))
    show_table(columns, rows, "No jobs yet. Add one: mainspring job add NAME")


@app.command("show")
def show(name: JobName, output: OutputOption = Output.TABLE) -> None:
    """Show a job and its endpoints."""
    from mainspring.operations.jobs import find_job
    from mainspring.wiring.clock import SystemClock

    async def work(desk: "Desk") -> tuple["Job", list[EndpointSight], "datetime"]:
        job = await find_job(desk, name)
        return job, await see_all(desk, job.id, None), await desk.stores.schedule.now()

    def over(client: "Client") -> tuple["Job", list[EndpointSight], "datetime"]:
        job = remote.job_of(client.jobs.read(name))
        return job, remote.endpoints_of(client, job.id, None), SystemClock().now()

    job, sights, now = ask(work, over)
    if output is Output.JSON:
        show_json(job_shape(job) | {"endpoints": [endpoint_shape(*sight.shaped) for sight in sights]})
        return
    show_fields(
        [
            ("name", job.name),
            ("id", job.id),
            ("state", job.status.value),
            ("description", job.description or "-"),
            ("managed by", job.managed_by or "-"),
            ("changed", when(now, job.updated_at)),
        ]
    )
    print()
    rows = [
        (sight.endpoint.name, schedule_in_words(sight.endpoint), relative(now, sight.endpoint.next_run_at, "never"))
        for sight in sights
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

    given = {"name": rename, "description": description}
    fields: Any = {field: text for field, text in given.items() if text is not None}
    job = ask(
        lambda desk: edit_job(desk, name, rename, description),
        lambda client: remote.job_of(client.jobs.update(name, **fields)),
    )
    _show(job, output, f"edited job {job.name!r}")
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

    def over(client: "Client") -> "Job":
        verbs = {"paused": client.jobs.pause, "active": client.jobs.resume, "archived": client.jobs.archive}
        return remote.job_of(verbs[status](name))

    job = ask(lambda desk: set_job_status(desk, name, JobStatus(status)), over)
    _show(job, output, sentence.format(name=job.name))


def _show(job: "Job", output: Output, sentence: str) -> None:
    if output is Output.JSON:
        show_json(job_shape(job))
    else:
        say(sentence)

"""`mainspring runs` and `mainspring run show`: past runs and their results."""

import sys
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from mainspring.cli.arguments import one_of_two, read_choice, read_instant
from mainspring.cli.command import CommandApp, OutputOption, ask, current_settings
from mainspring.cli.endpoint_output import body_in_words, code_in_words, phases_in_words
from mainspring.cli.output import Output, now, show_json
from mainspring.cli.table import Column, show_fields, show_table
from mainspring.domain.errors import Misconfigured, NotFound
from mainspring.views.sentences import clock, relative, rule_in_words, step_sentence, took, waiting_in_words, when

if TYPE_CHECKING:
    from mainspring.client import Client
    from mainspring.domain.run import Run
    from mainspring.operations.context import Desk
    from mainspring.views.run import RunDetailView, RunView

PAGE = 200
FAILED = ("failure", "timeout", "blocked")  # what the filter `failed` finds

app = CommandApp("One run: an attempt at one slot of an endpoint.")


def runs(
    name: Annotated[str | None, typer.Argument(metavar="ENDPOINT", help="Only runs of this endpoint.")] = None,
    count: Annotated[int, typer.Option("-n", "--limit", min=1, max=10_000, help="Maximum number.")] = 50,
    status: Annotated[
        str | None,
        typer.Option("--status", help="Only runs with this status: success, timeout, ...; failed: any failure."),
    ] = None,
    trigger: Annotated[
        str | None,
        typer.Option("--trigger", help="Only runs with this trigger: schedule, manual, test, catch-up, retry."),
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="RFC3339", help="Only runs that started at this time or later.")
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", metavar="RFC3339", help="Only runs that started before this time.")
    ] = None,
    before: Annotated[
        str | None, typer.Option("--before", metavar="RUN", help="Only runs older than this run.")
    ] = None,
    sort: Annotated[
        str, typer.Option("--sort", help="-started_at: newest first; started_at: oldest first.")
    ] = "-started_at",
    archived: Annotated[
        bool, typer.Option("--archive", help="Runs of the archive (MAINSPRING_ARCHIVE) instead of the database.")
    ] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """List runs, newest first by default."""
    from itertools import islice

    from mainspring.operations.endpoints import find_endpoint
    from mainspring.ports.filters import RunListFilter
    from mainspring.views.run import RunView

    wanted = _wanted(status, trigger, since, until)
    oldest_first = read_choice(sort, ("-started_at", "started_at"), "sort") == "started_at"
    one_of_two(before, sort if oldest_first else None, "--before and --sort started_at", "before")

    async def work(desk: "Desk") -> list["RunView"]:
        endpoint_id = (await find_endpoint(desk, name)).id if name is not None else None
        if before is not None:
            await _find(desk, before)
        found: list[RunView] = []
        place = before
        while len(found) < count:
            limit = min(count - len(found), PAGE)
            look = RunListFilter(endpoint_id, before_id=place, limit=limit, oldest_first=oldest_first, **wanted)
            page = await desk.stores.look.runs(desk.tenant_id, look)
            found.extend(RunView.of(run, called) for run, called in page.runs)
            if (place := page.next_before_id) is None:
                break
        return found

    def over(client: "Client") -> list["RunView"]:
        if before is not None:
            client.runs.read(before)
        given = {"status": wanted["status"], "trigger": trigger, "since": since, "until": until, "sort": sort}
        shapes = client.runs.iterate(endpoint=name, limit=min(count, PAGE), **given)
        older = (shape for shape in shapes if before is None or shape["id"] < before)
        return RunView.read_all(islice(older, count))

    found = _archived(name, wanted, before, count, oldest_first) if archived else ask(work, over)
    if output is Output.JSON:
        show_json(found)
        return
    _show_all(found, "No run matches." if before or any(wanted.values()) else "No run yet.")


def _archived(
    name: str | None, wanted: dict[str, Any], before: str | None, count: int, oldest_first: bool
) -> list["RunView"]:
    """Archived runs that match, newest first."""
    from itertools import islice

    from mainspring.operations.endpoints import find_endpoint
    from mainspring.views.run import RunView
    from mainspring.wiring.outbound import open_archive

    def matches(run: "Run", endpoint_id: str | None) -> bool:
        has_status = wanted["status"] in (None, run.status) or (wanted["status"] == "failed" and run.status in FAILED)
        is_of = wanted["trigger"] in (None, run.trigger) and endpoint_id in (None, run.endpoint_id)
        return has_status and is_of and (before is None or run.id < before)

    async def work(desk: "Desk") -> list["RunView"]:
        archive = open_archive(current_settings())
        if archive is None:
            raise Misconfigured(
                "there is no archive; set MAINSPRING_ARCHIVE to its folder", setting="MAINSPRING_ARCHIVE"
            )
        endpoint_id = (await find_endpoint(desk, name)).id if name is not None else None
        runs = archive.runs(desk.tenant_id, wanted["since"], wanted["until"])
        found = (run for run in runs if matches(run, endpoint_id))
        picked = list(islice(reversed(list(found)) if oldest_first else found, count))
        names = await desk.stores.look.names(desk.tenant_id, [run.endpoint_id for run in picked])
        return [RunView.of(run, names.get(run.endpoint_id, run.endpoint_id)) for run in picked]

    return ask(work)


def _show_all(found: list["RunView"], nothing: str) -> None:
    at = now()
    rows = [
        (
            clock(run.started_at),
            relative(at, run.started_at),
            run.endpoint,
            f"{run.status} {run.status_code or ''}".strip(),
            took(run.duration_ms),
            f"{run.trigger}{f' #{run.attempt}' if run.attempt > 1 else ''}",
            run.id,
            run.error or "",
        )
        for run in found
    ]
    columns = (
        Column("STARTED"),
        Column("AGO", spare=True),
        Column("ENDPOINT", can_cut=True),
        Column("STATUS"),
        Column("TOOK"),
        Column("TRIGGER", spare=True),
        Column("RUN"),
        Column("ERROR", tail=True),
    )
    show_table(columns, rows, nothing)


@app.command("show")
def show(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="Id of the run, as `mainspring runs` shows it.")],
    body: Annotated[bool, typer.Option("--body", help="Print only the response body, as safe text.")] = False,
    raw: Annotated[bool, typer.Option("--raw", help="Print the exact bytes of the stored body.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show one run: its result, its response, and why it ran."""
    from mainspring.operations.runs import waiting_of
    from mainspring.views.run import RunDetailView

    async def work(desk: "Desk") -> tuple["RunDetailView", bytes]:
        run = await _find(desk, run_id)
        names = await desk.stores.look.names(desk.tenant_id, [run.endpoint_id])
        kept = await desk.stores.runs.body(desk.tenant_id, run_id)
        data = b"" if kept is None else kept.data
        waiting = await waiting_of(desk, run)
        return RunDetailView.of(run, names.get(run.endpoint_id, run.endpoint_id), kept, waiting), data

    def over(client: "Client") -> tuple["RunDetailView", bytes]:
        run = RunDetailView.model_validate(client.runs.read(run_id))
        return run, client.runs.download_body(run_id) if raw and run.body is not None else b""

    run, data = ask(work, over)
    if raw:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    elif body:
        print(run.body.text if run.body is not None else "", end="" if run.body is None else "\n")
    elif output is Output.JSON:
        show_json(run)
    else:
        _show(run)


async def _find(desk: "Desk", run_id: str) -> "Run":
    run = await desk.stores.runs.run(desk.tenant_id, run_id)
    if run is None:
        raise NotFound("run", run_id)
    return run


def _show(run: "RunDetailView") -> None:
    attempt = f", attempt {run.attempt}" if run.attempt > 1 else ""
    is_asked_for = run.trigger in ("manual", "test")
    source = f", {rule_in_words(run.source)}" if run.source and not is_asked_for else ""
    fields = [
        ("run", run.id),
        ("endpoint", run.endpoint),
        ("status", run.status if run.callback is None else waiting_in_words(run.callback, now())),
        ("response", code_in_words(run) if run.status_code is not None else "none"),
        ("error", f"{run.error} [{run.error_code}]" if run.error else "-"),
        *([("maintenance", f"{run.maintenance}; the run does not count")] if run.maintenance else []),
        ("slot", clock(run.slot_at)),
        ("triggered by", f"{run.trigger}{source}{attempt}"),
        ("started", when(now(), run.started_at)),
        ("ended", "-" if run.finished_at is None else clock(run.finished_at)),
        ("took", took(run.duration_ms)),
        ("worker", run.worker or "-"),
    ]
    if run.address:
        fields.append(("address", run.address))
    if run.tls is not None:
        left = "" if run.tls.days_left is None else f", expires in {run.tls.days_left} days"
        fields.append(("certificate", f"{run.tls.subject}, issued by {run.tls.issuer}{left}"))
    if run.phases is not None:
        fields.extend(phases_in_words(run.phases))
    if run.body is not None:
        fields.append(("body", f"{body_in_words(run.body)}; see it with --body"))
    fields.extend(("why" if number == 0 else "", sentence) for number, sentence in enumerate(_why(run)))
    show_fields(fields)


def _why(run: "RunDetailView") -> list[str]:
    """Why a run started. The stored plan is the reason only if the schedule started the run."""
    if run.trigger == "manual":
        return [
            f"This run was requested manually at {clock(run.slot_at)}; the schedule did not start it.",
            "The schedule keeps its own times: see `mainspring why` for the next run.",
        ]
    if run.trigger == "test":
        return ["This run was a test call; it is recorded, and changes neither the schedule nor the failure count."]
    return [step_sentence(step, run.trail) for step in run.trail]


def _wanted(status: str | None, trigger: str | None, since: str | None, until: str | None) -> dict[str, Any]:
    """The filters of the list."""
    from mainspring.domain.run import RunTrigger
    from mainspring.ports.filters import StatusFilter

    by = read_choice(trigger, tuple(each.value for each in RunTrigger), "trigger")
    return {
        "status": read_choice(status, get_args(StatusFilter), "status"),
        "trigger": None if by is None else RunTrigger(by),
        "since": None if since is None else read_instant(since, "since"),
        "until": None if until is None else read_instant(until, "until"),
    }

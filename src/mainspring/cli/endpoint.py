"""`mainspring endpoint ...`: add, look at, change, run and remove endpoints."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, cast, get_args

import typer

from mainspring.cli import endpoint_options, remote
from mainspring.cli.arguments import EndpointName, Reason, one_of_two, read_choice, read_instant, read_span
from mainspring.cli.command import CommandApp, OutputOption, ask, current_settings, fail_unless
from mainspring.cli.endpoint_output import (
    last_in_words,
    next_in_words,
    note_if_managed,
    run_sentence,
    schedule_in_words,
    see,
    see_all,
    show_endpoint,
    show_test,
    state_in_words,
)
from mainspring.cli.output import Output, note, say, show_json
from mainspring.cli.table import Column, show_table
from mainspring.domain.errors import Conflict, MainspringError
from mainspring.views.sentences import EndpointSight, relative, when
from mainspring.views.shapes import endpoint_shape

if TYPE_CHECKING:
    from mainspring.client import Client
    from mainspring.domain.endpoint import Endpoint, EndpointConfig
    from mainspring.domain.schedule.changes import Change
    from mainspring.operations.endpoints import Desk
    from mainspring.views.run import RunDetailView, RunView

NO_SCHEDULER = "no scheduler is running, so nothing runs; start one with `mainspring serve`"

app = CommandApp("Endpoints: one thing to call, and when.")

Act = Callable[["Desk"], Awaitable["Change"]]
Over = Callable[["Client", str, "Endpoint", str], "remote.Shape | None"]  # the same through a server


@app.command("add", endpoint_options.EndpointCommand)
def add(
    context: typer.Context,
    name: endpoint_options.NewName,
    url: endpoint_options.NewUrl,
    header: endpoint_options.PlainHeaders = None,
    secret_header: endpoint_options.SecretHeaders = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Add an endpoint: a URL, and either --every or --cron."""
    from mainspring.domain.endpoint import EndpointConfig
    from mainspring.domain.run import HttpAction
    from mainspring.operations.endpoints import add_endpoint

    blank = EndpointConfig(name, HttpAction(url))
    config = endpoint_options.apply_options(blank, context.obj, header=header, secret_header=secret_header)

    async def work(desk: "Desk") -> EndpointSight:
        return await see(desk, await add_endpoint(desk, config))

    def over(client: "Client") -> EndpointSight:
        given = {"name": name, "url": url} | remote.fields_of(config, blank)
        return remote.sight_of(client.endpoints.create(**given), remote.is_served(client))

    sight = ask(work, over)
    _show(sight, output, f"added {sight.endpoint.name!r}: {schedule_in_words(sight.endpoint)}; {next_in_words(sight)}")
    if output is Output.TABLE:
        _note_what_is_missing(sight)


@app.command("list")
def list_endpoints(
    job: Annotated[str | None, typer.Option("--job", help="Only those of this job.")] = None,
    archived: Annotated[bool, typer.Option("--archived", help="Those that were archived instead.")] = False,
    state: Annotated[
        str | None,
        typer.Option(
            "--state",
            help="Only those so: failing, running, active, paused, job-paused, parked, deferred, adapting, archived.",
        ),
    ] = None,
    text: Annotated[
        str | None, typer.Option("--text", help="Only those with this text in their name, description or URL.")
    ] = None,
    sort: Annotated[
        str, typer.Option("--sort", help="name, next_run_at, or one of them with a minus for the reverse order.")
    ] = "name",
    count: Annotated[
        int | None, typer.Option("-n", "--limit", min=1, help="At most this many; all by default.")
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """List endpoints with their state, their next and their last run."""
    from mainspring.ports.filters import EndpointOrder, StateFilter

    order = cast(EndpointOrder, read_choice(sort, get_args(EndpointOrder), "sort"))
    one_of_two("archived" if archived else None, state, "--archived and --state", "state")
    wanted = "archived" if archived else read_choice(state, get_args(StateFilter), "state")
    sights = ask(
        lambda desk: see_all(desk, job, count, state=wanted, text=text, order=order),
        lambda client: remote.endpoints_of(client, job, count, state=wanted, text=text, order=order),
    )
    if output is Output.JSON:
        show_json([endpoint_shape(*sight.shaped) for sight in sights])
        return
    rows = [
        (
            sight.endpoint.name,
            state_in_words(sight),
            schedule_in_words(sight.endpoint),
            relative(sight.now, sight.endpoint.next_run_at, none="never"),
            last_in_words(sight),
            sight.job,
        )
        for sight in sights
    ]
    nothing = "No endpoint yet. Add one: mainspring endpoint add NAME --url URL --every 30s"
    columns = (
        Column("NAME", can_cut=True),
        Column("STATE"),
        Column("SCHEDULE", can_cut=True),
        Column("NEXT RUN"),
        Column("LAST RUN"),
        Column("JOB", can_cut=True, spare=True),
    )
    show_table(
        columns, rows, "No archived endpoint." if archived else "No endpoint matches." if state or text else nothing
    )


@app.command("show")
def show(name: EndpointName, output: OutputOption = Output.TABLE) -> None:
    """Show everything about one endpoint but its secrets."""
    sight = ask(lambda desk: _find(desk, name), lambda client: remote.sight_of(client.endpoints.read(name)))
    if output is Output.JSON:
        show_json(endpoint_shape(*sight.shaped))
    else:
        show_endpoint(sight)


@app.command("edit", endpoint_options.EndpointCommand)
def edit(
    context: typer.Context,
    name: EndpointName,
    rename: endpoint_options.Rename = None,
    url: endpoint_options.Url = None,
    header: endpoint_options.PlainHeaders = None,
    secret_header: endpoint_options.SecretHeaders = None,
    remove_header: endpoint_options.DropHeaders = None,
    no_body: endpoint_options.DropBody = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Change what is given, and nothing else.

    --every takes the place of a cron expression, --cron that of an interval. A header that is given replaces the one
    of the same name.
    """
    from mainspring.domain.definition import config_of
    from mainspring.operations.endpoints import edit_endpoint

    def edited(before: "EndpointConfig") -> "EndpointConfig":
        return endpoint_options.apply_options(
            before,
            context.obj,
            name=rename,
            url=url,
            header=header,
            secret_header=secret_header,
            remove_header=remove_header,
            no_body=no_body,
        )

    def said(sight: EndpointSight, changed: bool) -> str:
        if not changed:
            return f"{sight.endpoint.name!r} already has these settings; nothing changed"
        return f"edited {sight.endpoint.name!r}: {schedule_in_words(sight.endpoint)}; {next_in_words(sight)}"

    def over(client: "Client", endpoint_id: str, endpoint: "Endpoint", job: str) -> "remote.Shape | None":
        before = config_of(endpoint)
        fields = remote.fields_of(edited(before), before)
        return client.endpoints.update(endpoint_id, **fields) if fields else None

    sight = _act(name, lambda desk: edit_endpoint(desk, name, edited), over, said, output)
    note_if_managed(sight.endpoint.name, sight.endpoint.managed_by)


@app.command("pause")
def pause(
    name: EndpointName,
    until: Annotated[str | None, typer.Option("--until", metavar="RFC3339", help="Until this instant.")] = None,
    duration: Annotated[str | None, typer.Option("--duration", metavar="DURATION", help="For this long: 1h.")] = None,
    reason: Reason = "",
    advice_may_resume: Annotated[
        bool,
        typer.Option("--advice-may-resume", help="Rules, workflows and the model may end the pause."),
    ] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Stop an endpoint for a while, or until it is resumed.

    Only a person ends this pause, unless --advice-may-resume is given: then the endpoint sleeps until advice wakes it.
    """
    from mainspring.operations.endpoints import pause_endpoint

    one_of_two(until, duration, "--until and --duration", "until")
    end = read_instant(until, "until") if until is not None else None
    length = read_span(duration, "duration") if duration is not None else None

    def said(sight: EndpointSight, changed: bool) -> str:
        has_end = end is not None or length is not None
        end_words = f"until {when(sight.now, sight.endpoint.paused_until)}" if has_end else "until it is resumed"
        return f"paused {sight.endpoint.name!r} {end_words}"

    _act(
        name,
        lambda desk: pause_endpoint(
            desk, name, lambda now: now + length if length else end, reason, advice_may_resume=advice_may_resume
        ),
        lambda client, which, *_: client.endpoints.pause(
            which, until=until, duration=duration, reason=reason, advice_may_resume=advice_may_resume
        ),
        said,
        output,
    )


@app.command("resume")
def resume(name: EndpointName, output: OutputOption = Output.TABLE) -> None:
    """End a pause, or unpark a parked endpoint."""
    from mainspring.operations.endpoints import resume_endpoint

    def said(sight: EndpointSight, changed: bool) -> str:
        name = f"{sight.endpoint.name!r}"
        return f"{f'resumed {name}' if changed else f'{name} was neither paused nor parked'}; {next_in_words(sight)}"

    _act(
        name,
        lambda desk: resume_endpoint(desk, name),
        lambda client, which, *_: client.endpoints.resume(which),
        said,
        output,
    )


@app.command("run")
def run(
    name: EndpointName,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the run has ended; 1 unless it succeeded.")] = False,
    timeout: Annotated[
        str, typer.Option("--timeout", metavar="DURATION", help="With --wait: how long; 5m by default.")
    ] = "5m",
    output: OutputOption = Output.TABLE,
) -> None:
    """Ask the scheduler to run an endpoint now.

    The schedule keeps its own cadence. While the endpoint runs, one more run is queued; further requests join it.
    With --wait, ends with 4 at once if no scheduler is running, and with 1 if the run has not ended in time.
    """
    import asyncio

    from mainspring.cli.schedulers import has_scheduler
    from mainspring.operations.endpoints import find_endpoint, run_endpoint
    from mainspring.operations.runs import wait_for_requested_run
    from mainspring.views.run import RunView

    limit_s = read_span(timeout, "timeout").total_seconds()

    async def work(desk: "Desk") -> tuple[EndpointSight, "RunView | None"]:
        if wait and not await has_scheduler(desk.stores):
            raise _never_starts((await find_endpoint(desk, name)).name)
        change = await run_endpoint(desk, name)
        sight = await see(desk, change.endpoint)
        if not wait:
            return sight, None
        try:
            async with asyncio.timeout(limit_s):
                ended = await wait_for_requested_run(desk, change.endpoint)
                return sight, RunView.of(ended, sight.endpoint.name)
        except TimeoutError:
            return sight, None

    def over(client: "Client") -> tuple[EndpointSight, "RunView | None"]:
        found = client.endpoints.read(name)
        is_served = remote.is_served(client)
        if not wait:
            return remote.sight_of(client.endpoints.run(found["id"])["endpoint"], is_served), None
        if not is_served:
            raise _never_starts(found["name"])
        asked, ended = remote.wait_for_run(client, found["id"], limit_s)
        return remote.sight_of(asked), None if ended is None else RunView.model_validate(ended)

    sight, ended = ask(work, over)
    if ended is None and wait:
        raise MainspringError(
            f"the run of {sight.endpoint.name!r} has not ended within {timeout}; it was requested and goes on without "
            f"--wait: `mainspring runs {sight.endpoint.name!r}` shows how it ends, --timeout waits longer"
        )
    if ended is None:
        if not sight.has_scheduler:
            note(NO_SCHEDULER)
        waits = "it starts when the present run has ended" if sight.endpoint.is_running else "it starts at once"
        _show(sight, output, f"requested a run of {sight.endpoint.name!r}; {waits}")
        return
    if output is Output.JSON:
        show_json(ended)
    else:
        say(run_sentence(ended))
    fail_unless(ended.status == "success")


@app.command("test")
def call_once(name: EndpointName, output: OutputOption = Output.TABLE) -> None:
    """Call an endpoint once, from here, and show what came back.

    The run is recorded with the trigger `test`; the schedule does not change. Ends with 1 unless it succeeded.
    """
    from mainspring.operations.test_run import test_endpoint
    from mainspring.views.run import RunDetailView
    from mainspring.wiring.outbound import open_caller

    settings = current_settings()

    async def work(desk: "Desk") -> tuple["RunDetailView", EndpointSight]:
        caller = open_caller(settings, desk.vault)
        try:
            done, outcome = await test_endpoint(desk, caller, name)
        finally:
            await caller.aclose()
        sight = await _find(desk, done.endpoint_id)
        return RunDetailView.of(done, sight.endpoint.name, outcome.body), sight

    def over(client: "Client") -> tuple["RunDetailView", EndpointSight]:
        done = RunDetailView.model_validate(client.endpoints.test(name))
        return done, remote.sight_of(client.endpoints.read(done.endpoint_id))

    done, sight = ask(work, over)
    if output is Output.JSON:
        show_json(done)
    else:
        show_test(sight.endpoint.action.method, sight.endpoint.action.url, done)
    fail_unless(done.status == "success")


@app.command("archive")
def archive(name: EndpointName, output: OutputOption = Output.TABLE) -> None:
    """Take an endpoint out of the schedule for good.

    It is kept with its runs, and its name is free again.
    """
    from mainspring.operations.endpoints import archive_endpoint

    def said(sight: EndpointSight, changed: bool) -> str:
        did = "archived" if changed else "had archived before:"
        return f"{did} {sight.endpoint.name!r}; it never runs again, its runs are kept (id {sight.endpoint.id})"

    sight = _act(
        name,
        lambda desk: archive_endpoint(desk, name),
        lambda client, which, *_: client.endpoints.archive(which),
        said,
        output,
    )
    note_if_managed(sight.endpoint.name, sight.endpoint.managed_by)


@app.command("delete")
def delete(
    name: EndpointName,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Remove an endpoint and all its runs.

    There is no way back; `archive` keeps them.
    """
    from mainspring.operations.endpoints import delete_endpoint

    sight = ask(lambda desk: _find(desk, name), lambda client: remote.sight_of(client.endpoints.read(name)))
    if not yes:
        typer.confirm(f"Delete endpoint {sight.endpoint.name!r} and all its runs?", abort=True, err=True)

    def over(client: "Client") -> "Endpoint":
        client.endpoints.delete(sight.endpoint.id)
        return sight.endpoint

    ask(lambda desk: delete_endpoint(desk, sight.endpoint.id), over)
    if output is Output.JSON:
        show_json({"id": sight.endpoint.id, "name": sight.endpoint.name, "deleted": True})
    else:
        say(f"deleted {sight.endpoint.name!r} and its runs")


@app.command("reset")
def reset(name: EndpointName, output: OutputOption = Output.TABLE) -> None:
    """Forget its failures, which ends a backoff at once."""
    from mainspring.operations.endpoints import reset_failures

    _act(
        name,
        lambda desk: reset_failures(desk, name),
        lambda client, which, *_: client.endpoints.reset_failures(which),
        lambda sight, _: f"reset the failures of {sight.endpoint.name!r}; {next_in_words(sight)}",
        output,
    )


def _never_starts(name: str) -> Conflict:
    return Conflict(
        f"no scheduler is running, so a run of {name!r} would not start; --wait needs a scheduler: start one with "
        "`mainspring serve`, or leave --wait out to request the run for later",
        kind="endpoint",
        name=name,
    )


def _act(name: str, act: Act, over: Over, said: Callable[[EndpointSight, bool], str], output: Output) -> EndpointSight:
    """Do it, and tell: the endpoint as it now is, or a sentence."""

    async def work(desk: "Desk") -> tuple[EndpointSight, bool]:
        change = await act(desk)
        return await see(desk, change.endpoint), bool(change.events)

    sight, changed = ask(work, lambda client: remote.change(client, name, over))
    _show(sight, output, said(sight, changed))
    return sight


async def _find(desk: "Desk", name: str) -> EndpointSight:
    from mainspring.operations.endpoints import find_endpoint

    return await see(desk, await find_endpoint(desk, name))


def _show(sight: EndpointSight, output: Output, sentence: str) -> None:
    if output is Output.JSON:
        show_json(endpoint_shape(*sight.shaped))
    else:
        say(sentence)


def _note_what_is_missing(sight: EndpointSight) -> None:
    """What a newcomer would find out a minute later: a blocked address, a body that is not sent, nothing that runs."""
    from mainspring.wiring.outbound import judge_host

    verdict = judge_host(current_settings(), sight.endpoint.host.rpartition(":")[0])
    if verdict is not None:
        note(
            f"{verdict}, so every call is blocked unless `mainspring serve` was started "
            "with MAINSPRING_ALLOW_CIDRS set to networks that may be called, such as 127.0.0.0/8"
        )
    action = sight.endpoint.action
    if action.body and action.method in ("GET", "HEAD"):
        note(f"{action.method} sends no body, so what was given stays here; --method POST sends it")
    if not sight.has_scheduler:
        note(NO_SCHEDULER)

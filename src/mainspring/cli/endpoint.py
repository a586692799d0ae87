"""`mainspring endpoint ...`: add, show, change, run and remove endpoints."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, cast, get_args

import typer

from mainspring.cli import endpoint_options, endpoint_output, remote
from mainspring.cli.arguments import EndpointName, Reason, one_of_two, read_choice, read_instant, read_span
from mainspring.cli.command import CommandApp, OutputOption, ask, ask_for, current_settings, fail_unless
from mainspring.cli.endpoint_output import (
    has_scheduler,
    last_in_words,
    next_in_words,
    note_if_managed,
    run_sentence,
    schedule_in_words,
    show_endpoint,
    show_test,
    state_in_words,
)
from mainspring.cli.output import Output, answer, note, now, show_json
from mainspring.cli.setting_options import EndpointCommand
from mainspring.cli.table import Column, show_list
from mainspring.cli.template_preview import show_templates
from mainspring.domain.errors import Conflict, MainspringError
from mainspring.views.sentences import relative, when

if TYPE_CHECKING:
    from mainspring.client import Client
    from mainspring.domain.endpoint import EndpointConfig
    from mainspring.domain.schedule.changes import Change
    from mainspring.operations.context import Desk
    from mainspring.views.endpoint import EndpointView
    from mainspring.views.run import RunDetailView

NO_SCHEDULER = "no scheduler is running, so nothing runs; start one with `mainspring serve`"

app = CommandApp("Endpoints: one thing to call, and when.")

Act = Callable[["Desk"], Awaitable["Change"]]
Over = Callable[["Client", "EndpointView"], object]  # the same through a server; None: nothing to do


@app.command("add", EndpointCommand)
def add(
    context: typer.Context,
    name: endpoint_options.NewName,
    url: endpoint_options.Url = None,
    header: endpoint_options.PlainHeaders = None,
    secret_header: endpoint_options.SecretHeaders = None,
    env: endpoint_options.Variables = None,
    secret_env: endpoint_options.SecretVariables = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Add an endpoint: a URL, and one of --every, --cron and --at.

    With --kind, the options of that kind say what to call instead of a URL.
    """
    from mainspring.operations.endpoints import add_endpoint
    from mainspring.views.endpoint import EndpointView, load_endpoint

    given = endpoint_options.GivenOptions(
        context.obj, url=url, header=header, secret_header=secret_header, env=env, secret_env=secret_env
    )
    config = endpoint_options.new_endpoint(name, given)

    async def work(desk: "Desk") -> tuple["EndpointView", bool]:
        return await load_endpoint(desk, await add_endpoint(desk, config)), await has_scheduler(desk.stores)

    def over(client: "Client") -> tuple["EndpointView", bool]:
        created = client.endpoints.create(**remote.new_fields_of(config))
        return EndpointView.model_validate(created), remote.is_served(client)

    added, is_served = ask(work, over)
    answer(added, output, f"added {added.name!r}: {schedule_in_words(added)}; {next_in_words(added)}")
    if output is Output.TABLE:
        _note_what_is_missing(added, is_served)


@app.command("list")
def list_endpoints(
    job: Annotated[str | None, typer.Option("--job", help="Only endpoints of this job.")] = None,
    archived: Annotated[bool, typer.Option("--archived", help="List archived endpoints instead.")] = False,
    state: Annotated[
        str | None,
        typer.Option(
            "--state",
            help="Only endpoints in this state: failing, running, active, paused, job-paused, parked, deferred, "
            "done, adapting, archived.",
        ),
    ] = None,
    text: Annotated[
        str | None, typer.Option("--text", help="Only endpoints with this text in the name, description or URL.")
    ] = None,
    sort: Annotated[str, typer.Option("--sort", help="name or next_run_at; with a minus, in reverse order.")] = "name",
    count: Annotated[int | None, typer.Option("-n", "--limit", min=1, help="Maximum number. Default: all.")] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """List endpoints with their state, their next and their last run."""
    from mainspring.ports.filters import EndpointOrder, StateFilter

    order = cast(EndpointOrder, read_choice(sort, get_args(EndpointOrder), "sort"))
    one_of_two("archived" if archived else None, state, "--archived and --state", "state")
    wanted = "archived" if archived else read_choice(state, get_args(StateFilter), "state")
    found = ask(
        lambda desk: endpoint_output.list_endpoints(desk, job, count, state=wanted, text=text, order=order),
        lambda client: remote.endpoints_of(client, job, count, state=wanted, text=text, order=order),
    )
    at = now()
    rows = [
        (
            endpoint.name,
            state_in_words(endpoint),
            schedule_in_words(endpoint),
            relative(at, endpoint.next_run_at, none="never"),
            last_in_words(endpoint, at),
            endpoint.job,
        )
        for endpoint in found
    ]
    nothing = "No endpoints yet. Add one: mainspring endpoint add NAME --url URL --every 30s"
    columns = (
        Column("NAME", can_cut=True),
        Column("STATE"),
        Column("SCHEDULE", can_cut=True),
        Column("NEXT RUN"),
        Column("LAST RUN"),
        Column("JOB", can_cut=True, spare=True),
    )
    show_list(
        found,
        output,
        columns,
        rows,
        "No archived endpoint." if archived else "No endpoint matches." if state or text else nothing,
    )


@app.command("kinds")
def list_kinds(output: OutputOption = Output.TABLE) -> None:
    """List the kinds of endpoints with the fields that each needs.

    `endpoint add --help` describes the options of every kind.
    """
    from mainspring.views.kind import KindView, load_kinds

    async def work(desk: "Desk") -> "list[KindView]":
        return load_kinds()

    kinds = ask(work, lambda client: KindView.read_all(client.endpoints.list_kinds()["items"]))
    rows = [(kind.name, ", ".join(each.key for each in kind.fields if each.required), kind.about) for kind in kinds]
    show_list(kinds, output, (Column("KIND"), Column("NEEDS"), Column("WHAT A RUN DOES", tail=True)), rows, "No kinds.")


@app.command("show")
def show(name: EndpointName, output: OutputOption = Output.TABLE) -> None:
    """Show an endpoint, without its secrets."""
    endpoint = _read(name)
    if output is Output.JSON:
        show_json(endpoint)
    else:
        show_endpoint(endpoint)


@app.command("edit", EndpointCommand)
def edit(
    context: typer.Context,
    name: EndpointName,
    rename: endpoint_options.Rename = None,
    url: endpoint_options.Url = None,
    header: endpoint_options.PlainHeaders = None,
    secret_header: endpoint_options.SecretHeaders = None,
    remove_header: endpoint_options.DropHeaders = None,
    no_body: endpoint_options.DropBody = False,
    env: endpoint_options.Variables = None,
    secret_env: endpoint_options.SecretVariables = None,
    remove_env: endpoint_options.DropVariables = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Change the given settings.

    --every replaces a cron expression, --cron an interval. A given header replaces the one of the same name.
    """
    from mainspring.operations.endpoints import edit_endpoint

    given = endpoint_options.GivenOptions(
        context.obj, rename, url, header, secret_header, remove_header, no_body, env, secret_env, remove_env
    )

    def edited(before: "EndpointConfig") -> "EndpointConfig":
        return endpoint_options.apply_options(before, given)

    def said(endpoint: "EndpointView", changed: bool) -> str:
        if not changed:
            return f"{endpoint.name!r} already has these settings; nothing changed"
        return f"edited {endpoint.name!r}: {schedule_in_words(endpoint)}; {next_in_words(endpoint)}"

    def over(client: "Client", endpoint: "EndpointView") -> object:
        before = remote.config_of(endpoint)
        fields = remote.changed_fields_of(edited(before), before)
        return client.endpoints.update(endpoint.id, **fields) if fields else None

    after = _act(name, lambda desk: edit_endpoint(desk, name, edited), over, said, output)
    note_if_managed(after.name, after.managed_by)


@app.command("pause")
def pause(
    name: EndpointName,
    until: Annotated[str | None, typer.Option("--until", metavar="RFC3339", help="Until this timestamp.")] = None,
    duration: Annotated[str | None, typer.Option("--duration", metavar="DURATION", help="For this long: 1h.")] = None,
    reason: Reason = "",
    advice_may_resume: Annotated[
        bool,
        typer.Option("--advice-may-resume", help="Rules, workflows and the model may end the pause."),
    ] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Pause an endpoint for a duration, or until it is resumed.

    Only a person can end this pause, unless --advice-may-resume is given.
    """
    from mainspring.operations.endpoints import pause_endpoint

    one_of_two(until, duration, "--until and --duration", "until")
    end = read_instant(until, "until") if until is not None else None
    length = read_span(duration, "duration") if duration is not None else None

    def said(endpoint: "EndpointView", changed: bool) -> str:
        has_end = end is not None or length is not None
        end_words = f"until {when(now(), endpoint.paused_until)}" if has_end else "until it is resumed"
        return f"paused {endpoint.name!r} {end_words}"

    _act(
        name,
        lambda desk: pause_endpoint(
            desk, name, lambda at: at + length if length else end, reason, advice_may_resume=advice_may_resume
        ),
        lambda client, endpoint: client.endpoints.pause(
            endpoint.id, until=until, duration=duration, reason=reason, advice_may_resume=advice_may_resume
        ),
        said,
        output,
    )


@app.command("resume")
def resume(name: EndpointName, output: OutputOption = Output.TABLE) -> None:
    """End a pause, or unpark a parked endpoint."""
    from mainspring.operations.endpoints import resume_endpoint

    def said(endpoint: "EndpointView", changed: bool) -> str:
        name = f"{endpoint.name!r}"
        return f"{f'resumed {name}' if changed else f'{name} was neither paused nor parked'}; {next_in_words(endpoint)}"

    _act(
        name,
        lambda desk: resume_endpoint(desk, name),
        lambda client, endpoint: client.endpoints.resume(endpoint.id),
        said,
        output,
    )


@app.command("run")
def run(
    name: EndpointName,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait until the run has ended. The exit code is 1 unless it succeeded.")
    ] = False,
    timeout: Annotated[
        str, typer.Option("--timeout", metavar="DURATION", help="Maximum time for --wait. Default: 5m.")
    ] = "5m",
    output: OutputOption = Output.TABLE,
) -> None:
    """Ask the scheduler to run an endpoint now.

    The schedule does not change. While the endpoint runs, one more run is queued; further requests join it.
    With --wait, the exit code is 4 if no scheduler is running, and 1 if the run has not ended in time.
    """
    import asyncio

    from mainspring.operations.endpoints import find_endpoint, run_endpoint
    from mainspring.operations.runs import wait_for_requested_run
    from mainspring.views.endpoint import EndpointView, RunRequested, load_endpoint
    from mainspring.views.run import RunView

    limit_s = read_span(timeout, "timeout").total_seconds()

    async def work(desk: "Desk") -> tuple["RunRequested", bool]:
        is_served = await has_scheduler(desk.stores)
        if wait and not is_served:
            raise _never_starts((await find_endpoint(desk, name)).name)
        requested = (await run_endpoint(desk, name)).endpoint
        endpoint, run = await load_endpoint(desk, requested), None
        if wait:
            with suppress(TimeoutError):
                async with asyncio.timeout(limit_s):
                    run = RunView.of(await wait_for_requested_run(desk, requested), requested.name)
        return RunRequested(endpoint=endpoint, run=run), is_served

    def over(client: "Client") -> tuple["RunRequested", bool]:
        found = EndpointView.model_validate(client.endpoints.read(name))
        is_served = remote.is_served(client)
        if not wait:
            return RunRequested.model_validate(client.endpoints.run(found.id)), is_served
        if not is_served:
            raise _never_starts(found.name)
        return remote.wait_for_run(client, found.id, limit_s), is_served

    requested, is_served = ask(work, over)
    endpoint, ended = requested.endpoint, requested.run
    if ended is None and wait:
        raise MainspringError(
            f"the run of {endpoint.name!r} has not ended within {timeout}; it continues in the background: "
            f"`mainspring runs {endpoint.name!r}` shows how it ends, --timeout waits longer"
        )
    if ended is None:
        if not is_served:
            note(NO_SCHEDULER)
        waits = "it starts when the current run has ended" if endpoint.running is not None else "it starts at once"
        answer(endpoint, output, f"requested a run of {endpoint.name!r}; {waits}")
        return
    answer(ended, output, run_sentence(ended))
    fail_unless(ended.status == "success")


@app.command("test")
def call_once(
    name: EndpointName,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Call nothing; show the texts with templates as they would be sent.")
    ] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Call an endpoint once, from this machine, and show the response.

    The run is recorded with the trigger `test`; the schedule does not change. The exit code is 1 unless it succeeded.
    """
    if dry_run:
        show_templates(name, output)
        return
    from mainspring.operations.endpoints import find_endpoint
    from mainspring.operations.test_run import test_endpoint
    from mainspring.views.endpoint import EndpointView, load_endpoint
    from mainspring.views.run import RunDetailView
    from mainspring.wiring.outbound import open_caller

    settings = current_settings()

    async def work(desk: "Desk") -> tuple["RunDetailView", "EndpointView"]:
        caller = open_caller(settings, desk.vault, desk.stores)
        try:
            done, outcome = await test_endpoint(desk, caller, name)
        finally:
            await caller.aclose()
        endpoint = await find_endpoint(desk, done.endpoint_id)
        return RunDetailView.of(done, endpoint.name, outcome.body), await load_endpoint(desk, endpoint)

    def over(client: "Client") -> tuple["RunDetailView", "EndpointView"]:
        done = RunDetailView.model_validate(client.endpoints.test(name))
        return done, EndpointView.model_validate(client.endpoints.read(done.endpoint_id))

    done, endpoint = ask(work, over)
    if output is Output.JSON:
        show_json(done)
    else:
        show_test(endpoint, done)
    fail_unless(done.status == "success")


@app.command("archive")
def archive(name: EndpointName, output: OutputOption = Output.TABLE) -> None:
    """Archive an endpoint: it never runs again.

    Its runs are kept, and its name can be used again.
    """
    from mainspring.operations.endpoints import archive_endpoint

    def said(endpoint: "EndpointView", changed: bool) -> str:
        did = "archived" if changed else "had archived before:"
        return f"{did} {endpoint.name!r}; it never runs again, its runs are kept (id {endpoint.id})"

    archived = _act(
        name,
        lambda desk: archive_endpoint(desk, name),
        lambda client, endpoint: client.endpoints.archive(endpoint.id),
        said,
        output,
    )
    note_if_managed(archived.name, archived.managed_by)


@app.command("delete")
def delete(
    name: EndpointName,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Delete an endpoint and all its runs.

    This cannot be undone. `archive` keeps the runs.
    """
    from mainspring.operations.endpoints import delete_endpoint
    from mainspring.views.view import Deleted

    endpoint = _read(name)
    if not yes:
        typer.confirm(f"Delete endpoint {endpoint.name!r} and all its runs?", abort=True, err=True)
    deleted = ask_for(
        Deleted,
        lambda desk: delete_endpoint(desk, endpoint.id),
        lambda client: client.endpoints.delete(endpoint.id),
    )
    answer(deleted, output, f"deleted {deleted.name!r} and its runs")


@app.command("reset")
def reset(name: EndpointName, output: OutputOption = Output.TABLE) -> None:
    """Reset the failure count, which ends a backoff."""
    from mainspring.operations.endpoints import reset_failures

    _act(
        name,
        lambda desk: reset_failures(desk, name),
        lambda client, endpoint: client.endpoints.reset_failures(endpoint.id),
        lambda endpoint, _: f"reset the failures of {endpoint.name!r}; {next_in_words(endpoint)}",
        output,
    )


def _never_starts(name: str) -> Conflict:
    return Conflict(
        f"no scheduler is running, so a run of {name!r} would not start; --wait needs a scheduler: start one with "
        "`mainspring serve`, or leave --wait out to request the run for later",
        kind="endpoint",
        name=name,
    )


def _act(
    name: str, act: Act, over: Over, said: Callable[["EndpointView", bool], str], output: Output
) -> "EndpointView":
    """Runs the action, then prints the endpoint or a sentence."""
    from mainspring.views.endpoint import load_endpoint

    async def work(desk: "Desk") -> tuple["EndpointView", bool]:
        change = await act(desk)
        return await load_endpoint(desk, change.endpoint), bool(change.events)

    endpoint, changed = ask(work, lambda client: remote.change(client, name, over))
    answer(endpoint, output, said(endpoint, changed))
    return endpoint


def _read(name: str) -> "EndpointView":
    from mainspring.operations.endpoints import find_endpoint
    from mainspring.views.endpoint import EndpointView, load_endpoint

    async def work(desk: "Desk") -> "EndpointView":
        return await load_endpoint(desk, await find_endpoint(desk, name))

    return ask(work, lambda client: EndpointView.model_validate(client.endpoints.read(name)))


def _note_what_is_missing(endpoint: "EndpointView", is_served: bool) -> None:
    """Warns of a blocked address, a body that is not sent, and a missing scheduler."""
    from urllib.parse import urlsplit

    from mainspring.wiring.outbound import judge_host

    host = urlsplit(endpoint.url).hostname if endpoint.url else endpoint.host
    verdict = judge_host(current_settings(), host or "")
    if verdict is not None:
        note(
            f"{verdict}, so every call is blocked unless `mainspring serve` was started "
            "with MAINSPRING_ALLOW_CIDRS set to networks that may be called, such as 127.0.0.0/8"
        )
    if endpoint.body and endpoint.method in ("GET", "HEAD"):
        note(f"{endpoint.method} sends no body, so the given body is not used; --method POST sends it")
    if not is_served:
        note(NO_SCHEDULER)

"""The `mainspring` command with all its subcommands. Each command is in the module of its noun."""

import os
import sys
from typing import Annotated

import typer

from mainspring import __version__
from mainspring.cli import (
    alert,
    api_key,
    audit,
    backtest,
    backup,
    calendar,
    call,
    clock,
    connection,
    demo,
    doctor,
    documents,
    endpoint,
    event,
    execution,
    hint,
    imports,
    job,
    maintenance,
    mcp,
    member,
    move,
    partition,
    ping_url,
    planner,
    proposals,
    rules,
    run,
    secret_key,
    serve,
    sessions,
    settings,
    signing_key,
    simulate,
    tenant,
    user,
    webhook,
    why,
    workflow,
)
from mainspring.cli import exec as exec_program
from mainspring.cli.arguments import read_span
from mainspring.cli.command import CommandApp, server_in_use, use_server

app = CommandApp("Mainspring: a scheduler for HTTP jobs that explains every decision.", completes=True)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"mainspring {__version__}")
        raise typer.Exit


@app.callback()
def mainspring(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_show_version)
    ] = False,
    server: Annotated[
        str | None,
        typer.Option(
            "--server",
            metavar="URL",
            envvar="MAINSPRING_SERVER",
            show_envvar=False,
            help="Work through this server (or MAINSPRING_SERVER), with the key in MAINSPRING_API_KEY.",
        ),
    ] = None,
) -> None:
    """Mainspring: a scheduler for HTTP jobs that explains every decision."""
    use_server(server)


app.command("serve")(serve.serve)
app.command("demo")(demo.demo)
app.command("scheduler")(serve.scheduler)
app.add_typer(planner.app, name="planner")
app.command("notifier")(serve.notifier)
app.command("mcp")(mcp.mcp)
app.command("migrate")(serve.migrate)
app.command("settings")(settings.settings)
app.add_typer(settings.app, name="config")
app.command("doctor")(doctor.doctor)
app.add_typer(clock.app, name="clock")
app.command("backup")(backup.backup)
app.command("restore")(backup.restore)
app.command("move")(move.move)
app.command("apply")(documents.apply)
app.command("diff")(documents.diff)
app.command("export")(documents.export)
app.command("schema")(documents.schema)
app.add_typer(imports.app, name="import")
app.add_typer(job.app, name="job")
endpoint.app.command("ping-url")(ping_url.ping_url)
app.add_typer(endpoint.app, name="endpoint")
app.add_typer(connection.app, name="connection")
app.add_typer(calendar.app, name="calendar")
app.add_typer(call.app, name="call")
app.add_typer(hint.app, name="hint")
app.add_typer(rules.app, name="rules")
app.add_typer(proposals.app, name="proposals")
app.add_typer(sessions.app, name="sessions")
app.command("runs")(run.runs)
app.add_typer(run.app, name="run")
app.command("simulate")(simulate.simulate)
app.command("backtest")(backtest.backtest)
app.command("why")(why.why)
app.command("next")(why.next_runs)
app.command("events")(event.events)
app.add_typer(workflow.app, name="workflow")
app.add_typer(execution.app, name="execution")
app.add_typer(partition.app, name="partition")
app.add_typer(webhook.app, name="webhook")
app.add_typer(user.app, name="user")
app.add_typer(member.app, name="member")
app.add_typer(api_key.app, name="apikey")
app.add_typer(alert.app, name="alert")
app.add_typer(maintenance.app, name="maintenance")
app.add_typer(signing_key.app, name="signing-key")
app.add_typer(secret_key.app, name="secret-key")
app.add_typer(tenant.app, name="tenant")
app.add_typer(audit.app, name="audit")


@app.command("exec")
def run_program(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of a heartbeat, for messages and to find its URL.")],
    program: Annotated[
        list[str], typer.Argument(metavar="-- PROGRAM [ARGUMENT...]", help="The program to run, after two dashes.")
    ],
    url: Annotated[str, typer.Option("--url", metavar="URL", help="Its ping URL (or MAINSPRING_PING_URL).")] = "",
    tail: Annotated[
        int, typer.Option("--tail", metavar="BYTES", min=0, max=100_000, help="How much of the output is reported.")
    ] = exec_program.TAIL_BYTES,
    no_output: Annotated[
        bool, typer.Option("--no-output", help="Leave the output alone, and report none of it.")
    ] = False,
    report_for: Annotated[
        str, typer.Option("--report-for", metavar="DURATION", help="How long the end is reported if that fails.")
    ] = "5s",
) -> None:
    """Run a program, and report its start and its end to a heartbeat.

    Its output, exit code and signals pass through. If Mainspring cannot be reached, the program runs anyway.
    No database is needed. Without --url, --server returns the URL for the key in MAINSPRING_API_KEY.
    """
    options = exec_program.options_from(name, url, server_in_use())
    span = read_span(report_for, "report_for").total_seconds()
    exec_program.run_program(options._replace(tail_bytes=tail, report_for_s=span, keeps_output=not no_output), program)


@app.command("explain")
def explain() -> None:
    """Answer what-ifs: states in, decisions out, as JSON lines.

    Each line of standard input is a state, each line of standard output its decision:

    {"now": "2025-01-01T00:00:00Z", "endpoint": {"id": "e1", "baseline_interval_ms": 60000}}

    {"next_run_at": "2025-01-01T00:01:00Z", "source": "baseline-interval", "trail": [...]}

    Further fields of an endpoint: baseline_cron (instead of the interval), timezone, min_interval_ms, max_interval_ms,
    paused_until, failure_count, backoff (default, monitor or none), and hints: {"interval": {"interval_ms": 30000,
    "expires_at": "...", "reason": "..."}, "one_shot": {"next_run_at": "...", "expires_at": "..."}}.

    A line that cannot be explained gets {"error": "..."} in its place, and the rest continues.
    """
    from mainspring.cli import explain as explaining

    explaining.main()


def main() -> None:
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the parent process: output goes nowhere
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  # until the process ends
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal without • must not end a command
    app(prog_name="mainspring")


if __name__ == "__main__":
    main()

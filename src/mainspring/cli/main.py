"""The `mainspring` command: what it offers, and nothing else. Each command is in the module of its noun."""

import sys
from typing import Annotated

import typer

from mainspring import __version__
from mainspring.cli import (
    configuration,
    doctor,
    endpoint,
    event,
    hint,
    job,
    keys,
    run,
    serving,
    tenant,
    why,
)
from mainspring.cli.door import Door

app = Door("Mainspring: a scheduler for HTTP jobs that explains every decision.")


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"mainspring {__version__}")
        raise typer.Exit


@app.callback()
def mainspring(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and end.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    """Mainspring: a scheduler for HTTP jobs that explains every decision."""


app.command("serve")(serving.serve)
app.command("scheduler")(serving.scheduler)
app.command("migrate")(serving.migrate)
app.command("settings")(configuration.settings)
app.command("doctor")(doctor.doctor)
app.add_typer(job.app, name="job")
app.add_typer(endpoint.app, name="endpoint")
app.add_typer(hint.app, name="hint")
app.command("runs")(run.runs)
app.add_typer(run.app, name="run")
app.command("why")(why.why)
app.command("next")(why.next_runs)
app.command("events")(event.events)
app.add_typer(keys.app, name="signing-key")
app.add_typer(tenant.app, name="tenant")


@app.command("explain")
def explain() -> None:
    """Read states as JSON lines on standard input, write decisions as JSON lines: what-ifs for scripts."""
    from mainspring.cli import explain as explaining

    explaining.main()


def main() -> None:
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal that knows no • must not end a command
    app()


if __name__ == "__main__":
    main()

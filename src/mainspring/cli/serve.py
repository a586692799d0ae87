"""`mainspring serve`, `scheduler`, `notifier` and `migrate`: run the processes, and migrate the schema."""

import shutil
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from mainspring import __version__
from mainspring.cli.command import OutputOption, complete, current_settings
from mainspring.cli.endpoint_output import live_schedulers
from mainspring.cli.output import Output, say, show_json
from mainspring.cli.settings import masked
from mainspring.cli.user import link_of
from mainspring.wiring.files import raise_file_limit

if TYPE_CHECKING:
    from mainspring.cli.reporter import Reporter
    from mainspring.operations.context import Desk
    from mainspring.ports.stores import Stores
    from mainspring.ports.upkeep import StoreFacts
    from mainspring.settings import Settings
    from mainspring.wiring.workers import NotificationWorkers, Running


def serve(
    host: Annotated[
        str | None, typer.Option("--host", help="Address to listen on, instead of MAINSPRING_HOST.")
    ] = None,
    port: Annotated[
        int | None, typer.Option("--port", min=0, max=65_535, help="Port to listen on, instead of MAINSPRING_PORT.")
    ] = None,
) -> None:
    """Run everything in one process, until it is stopped.

    Scheduler, planner, notifier, janitor and the web server with /healthz, /readyz and /metrics. SIGTERM or Ctrl-C lets
    runs in flight finish (MAINSPRING_SHUTDOWN_GRACE) and releases the rest; a second one exits immediately. On a
    terminal, each failure, recovery and alert is shown as one line.
    """
    given = {"host": host, "port": port}
    settings = current_settings().model_copy(update={name: value for name, value in given.items() if value is not None})
    raise_file_limit()  # before the web server takes its share
    complete(_serve(settings))


def scheduler() -> None:
    """Run the scheduler, the planner and the janitor, without a web server.

    Any number of them may share one PostgreSQL database.
    """
    raise_file_limit()
    complete(_schedule(current_settings()))


def notifier() -> None:
    """Run only the notifier: webhooks and alerts.

    Any number of them may share one PostgreSQL database; `serve` includes one.
    """
    from mainspring.wiring.workers import run_notifier

    settings = current_settings()

    async def work() -> None:
        from mainspring.observe import set_up_logging

        _end_at_once_on_signals()
        set_up_logging(settings.log_format, settings.log_level)
        await run_notifier(settings, lambda: _greet(settings, "notifier"))

    complete(work())


def migrate(output: OutputOption = Output.TABLE) -> None:
    """Migrate the database schema.

    Every start does so too. It is safe while others run: a migration waits at most 250 ms for a lock, and is retried
    while a long transaction blocks it.
    """
    settings = current_settings()
    facts = complete(_migrate(settings))
    if output is Output.JSON:
        show_json(
            {
                "database": masked(settings.url),
                "kind": facts.kind,
                "version": facts.version,
                "schema": facts.schema,
                "applied": list(facts.migrated),
            }
        )
        return
    for name in facts.migrated:
        say(f"applied {name}")
    state = f"is now at schema {facts.schema}" if facts.migrated else f"is up to date at schema {facts.schema}"
    say(f"{masked(settings.url)} {state} ({facts.kind} {facts.version})")


async def _serve(settings: "Settings") -> None:
    from mainspring.observe import set_up_logging
    from mainspring.ports.endpoints import EndpointFilter
    from mainspring.wiring.web import has_pages, open_web
    from mainspring.wiring.workers import open_notification_workers, open_scheduler

    _end_at_once_on_signals()
    set_up_logging(settings.log_format, settings.log_level)
    async with (
        open_scheduler(settings) as running,
        open_notification_workers(settings, running.desk, running.metrics) as notices,
    ):
        await _warn_of_rivals(running.stores, settings)
        one = await running.stores.endpoints.endpoints(settings.tenant, EndpointFilter(limit=1))

        token = await _first_link(running.desk)

        def greet(url: str) -> None:
            say(f"Mainspring {__version__} listening on {url}")
            say(f"Database: {masked(settings.url)}")
            if token:
                say("There are no users yet. Create the first owner with this link; it works once, within 24 hours:")
                say(f"  {link_of(settings, token, url)}")
                if not has_pages():
                    say("The web UI is not built here, so the link shows no form until `make web`. Without it:")
                    say(f"  {_command()} user add you@example.com --password-stdin")
            if not one:
                say("There are no endpoints yet. In another terminal, add a first one:")
                say(f"  {_command()} endpoint add hello --url https://example.com/ --every 30s")
            sys.stdout.flush()

        with open_web(settings, running, notices, greet) as workers:
            await running.supervise(*workers, *_reporters(settings, running, notices), notices=notices)


def _reporters(settings: "Settings", running: "Running", notices: "NotificationWorkers") -> list["Reporter"]:
    """On a terminal, problems are shown as lines; a log or a pipe gets log events."""
    if not sys.stdout.isatty():
        return []
    from mainspring.cli.reporter import Reporter, patient_writer

    def write(line: str) -> None:
        say(line)
        sys.stdout.flush()

    return [Reporter(running.stores, notices.feed, settings.tenant, patient_writer(write))]


async def _first_link(desk: "Desk") -> str:
    """Without users, the person who started the process may create the first one."""
    from mainspring.operations.accounts import make_setup_link
    from mainspring.wiring.desk import open_password_hasher

    return "" if await desk.stores.accounts.users() else await make_setup_link(desk, open_password_hasher())


async def _schedule(settings: "Settings") -> None:
    from mainspring.observe import set_up_logging
    from mainspring.wiring.workers import open_scheduler

    _end_at_once_on_signals()
    set_up_logging(settings.log_format, settings.log_level)
    async with open_scheduler(settings) as running:
        await _warn_of_rivals(running.stores, settings)
        _greet(settings, "scheduler")
        await running.supervise()


async def _migrate(settings: "Settings") -> "StoreFacts":
    from mainspring.wiring.stores import open_stores

    async with open_stores(settings.url, pool_size=2, behind_bouncer=settings.pgbouncer) as stores:
        return await stores.upkeep.facts()


async def _warn_of_rivals(stores: "Stores", settings: "Settings") -> None:
    """Two schedulers on one SQLite file are correct, but wait for each other: use PostgreSQL instead."""
    import structlog

    if not settings.url.startswith("sqlite"):
        return
    rivals = [row.id for row in await live_schedulers(stores)]
    if rivals:
        structlog.get_logger().warning("second scheduler on sqlite", others=rivals)
        print(
            f"warning: another scheduler ({rivals[0]}) already works on this SQLite file; both will run, "
            "but one is enough on one machine: stop it, or set MAINSPRING_DATABASE_URL to a PostgreSQL "
            "database for more than one",
            file=sys.stderr,
        )


def _end_at_once_on_signals() -> None:
    """Until the supervisor handles signals, nothing has started, so nothing has to be drained."""
    import asyncio
    import os
    import signal

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, os._exit, 0)


def _command() -> str:
    """The command that starts this program from the current directory."""
    if shutil.which("mainspring"):
        return "mainspring"
    return f"{sys.executable} -m mainspring" if sys.argv[0].endswith(".py") else sys.argv[0]


def _greet(settings: "Settings", what: str) -> None:
    say(f"Mainspring {__version__} {what}, without a web server")
    say(f"Database: {masked(settings.url)}")
    sys.stdout.flush()

"""`mainspring planner ...`: the process that judges finished runs, and its modes."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from mainspring import __version__
from mainspring.cli import remote_planner
from mainspring.cli.arguments import EndpointName
from mainspring.cli.command import CommandApp, OutputOption, ask, complete, current_settings, fail_unless
from mainspring.cli.output import Output, note, say, show_json
from mainspring.cli.sessions import show_session
from mainspring.cli.settings import masked
from mainspring.domain.errors import Conflict

if TYPE_CHECKING:
    from mainspring.operations.context import Desk
    from mainspring.settings import Settings
    from mainspring.views.planner import PlannerModes, PlannerSession

app = CommandApp("The planner: judges finished runs, writes hints. Without a subcommand, runs a planner.")
app.info.no_args_is_help = False


@app.callback(invoke_without_command=True)
def planner(context: typer.Context) -> None:
    "The planner: judges finished runs, writes hints. Without a subcommand, runs a planner."
    if context.invoked_subcommand is None:
        run()


@app.command("run")
def run() -> None:
    """Run a planner alone, until it is stopped.

    `serve` and `scheduler` include one; any number of them may share one PostgreSQL database.
    """
    complete(_plan(current_settings()))


@app.command("look")
def look(name: EndpointName, output: OutputOption = Output.TABLE) -> None:
    """Start a model session about an endpoint now, due or not.

    Exits with 1 if the session failed, or was skipped because a limit is reached.
    """
    from mainspring.operations.endpoints import find_endpoint
    from mainspring.views.planner import PlannerSession
    from mainspring.wiring.planner import open_look, open_model

    async def work(desk: "Desk") -> "PlannerSession":
        settings = current_settings()
        async with open_model(settings) as model:
            session = await open_look(settings, desk, model)(await find_endpoint(desk, name))
        if session is None:
            raise Conflict(
                f"endpoint {name!r} is being analysed right now, or its job is not active; try again in a moment",
                kind="endpoint",
                name=name,
            )
        return PlannerSession.of(session, name)

    session = ask(work, lambda client: remote_planner.look(client, name))
    if output is Output.JSON:
        show_json(session)
    else:
        show_session(session)
    fail_unless(session.status == "done")


@app.command("mode")
def mode(
    scope: Annotated[
        str | None, typer.Argument(metavar="SCOPE", help="An endpoint, `tenant`, or `all`; default: show what is set.")
    ] = None,
    wanted: Annotated[
        str | None,
        typer.Argument(metavar="MODE", help="live, ask (a person decides), shadow (record, change nothing) or off."),
    ] = None,
    undo: Annotated[
        bool, typer.Option("--undo", help="Also clear active hints and end active pauses of advice.")
    ] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show or set whether the planner is live, asks, is in shadow mode, or is off.

    The strictest mode of everything, the tenant and the endpoint applies. `off` also stops running sessions. Active
    hints and pauses of advice stay, unless --undo is given. `mainspring proposals list` lists what `ask` proposed;
    `shadow` and `off` withdraw it.
    """
    from mainspring.operations.planner import advice_in_force, modes_of, undo_advice
    from mainspring.operations.rules import set_mode
    from mainspring.views.planner import PlannerModes

    async def work(desk: "Desk") -> tuple[str, "PlannerModes", int, int]:
        undone = held = 0
        if scope is not None and wanted is not None:
            await set_mode(desk, scope, wanted)
            undone = await undo_advice(desk, scope) if undo else 0
            held = len(await advice_in_force(desk, scope))
        return desk.tenant_id, PlannerModes.of(await modes_of(desk)), undone, held

    tenant, modes, undone, held = ask(work, lambda client: remote_planner.modes(client, scope, wanted, undo))
    if undone:
        note(f"undid advice on {undone} {'endpoint' if undone == 1 else 'endpoints'}")
    if held and wanted not in (None, "live"):
        many = "1 endpoint" if held == 1 else f"{held} endpoints"
        note(f"advice is still in force on {many}; undo it with `mainspring planner mode {scope} {wanted} --undo`")
    found = [("all", "all", modes.all), (f"tenant:{tenant}", f"tenant {tenant!r}", modes.tenant)]
    found += [(f"endpoint:{each.endpoint_id}", f"endpoint {each.endpoint!r}", each.mode) for each in modes.endpoints]
    said = [each for each in found if each[2] != "live"]
    if output is Output.JSON:
        show_json({key: what for key, _, what in said})
        return
    if not said:
        say("the planner is live everywhere")
    for _, where, what in said:
        say(f"{where}: {what}")


async def _plan(settings: "Settings") -> None:
    from mainspring.observe import set_up_logging
    from mainspring.wiring.planner import run_planner

    def greet() -> None:
        say(f"Mainspring {__version__} planner")
        say(f"Database: {masked(settings.url)}")
        sys.stdout.flush()

    set_up_logging(settings.log_format, settings.log_level)
    await run_planner(settings, greet)

"""`mainspring call ...`: call a URL once, now or at a time."""

from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import typer

from mainspring.cli import endpoint_options, remote
from mainspring.cli.arguments import read_choice
from mainspring.cli.command import CommandApp, OutputOption, ask, ask_for
from mainspring.cli.output import Output, answer, now
from mainspring.cli.setting_options import CallCommand
from mainspring.cli.table import Column, show_fields, show_list
from mainspring.views.sentences import relative, when

if TYPE_CHECKING:
    from mainspring.client import Client
    from mainspring.operations.context import Desk
    from mainspring.ports.calls import CallState
    from mainspring.views.call import CallView, PlacedCallView

app = CommandApp("Calls: one URL, called once, now or at a time.")

CallName = Annotated[str, typer.Argument(metavar="CALL", help="Id or key of the call.")]
PAGE = 200


@app.command("add", CallCommand)
def add(
    context: typer.Context,
    url: Annotated[str, typer.Argument(metavar="URL", help="What to call: http:// or https://.")],
    key: Annotated[
        str | None, typer.Option("--key", help="Two calls with the same key are one call. Default: no duplicates.")
    ] = None,
    header: endpoint_options.PlainHeaders = None,
    secret_header: endpoint_options.SecretHeaders = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Call a URL once: --at a time, or now."""
    from datetime import timedelta

    from msgspec.structs import replace

    from mainspring.operations.calls import CallDraft, add_calls
    from mainspring.views.call import PlacedCalls, PlacedCallView

    given = endpoint_options.GivenOptions(context.obj, url=url, header=header, secret_header=secret_header)
    config = endpoint_options.new_endpoint("call", given)
    if config.once_at is None:
        config = replace(config, once_at=timedelta(0))

    async def work(desk: "Desk") -> "PlacedCallView":
        (placed,) = await add_calls(desk, [CallDraft(config, key)])
        return PlacedCallView.of_placed(placed)

    def over(client: "Client") -> "PlacedCallView":
        call: Any = {**remote.new_fields_of(config), "key": key}
        del call["name"]
        return PlacedCalls.model_validate(client.calls.create(calls=[call])).items[0]

    call = ask(work, over)
    said = f"call {call.id} {'' if call.is_new else 'already '}has the key {call.key!r}" if key else f"call {call.id}"
    answer(call, output, f"{said}; {_when(call)}")


@app.command("list")
def list_calls(
    state: Annotated[
        str | None, typer.Option("--state", help="Only calls in this state: waiting, done, cancelled.")
    ] = None,
    count: Annotated[int, typer.Option("-n", "--limit", min=1, max=PAGE, help="Maximum number.")] = 50,
    output: OutputOption = Output.TABLE,
) -> None:
    """List calls, newest first."""
    from mainspring.ports.calls import CallFilter, CallState
    from mainspring.views.call import CallView

    wanted = cast("CallState | None", read_choice(state, get_args(CallState), "state"))

    async def work(desk: "Desk") -> list["CallView"]:
        found = await desk.stores.calls.calls(desk.tenant_id, CallFilter(wanted, limit=count))
        return [CallView.of(each) for each in found]

    def over(client: "Client") -> list["CallView"]:
        page = client.calls.list(state=wanted, limit=count)
        return [CallView.model_validate(each) for each in page["items"]]

    calls = ask(work, over)
    at = now()
    rows = [(call.key, call.status, relative(at, call.at), call.last_status or "-", call.target) for call in calls]
    columns = (
        Column("KEY", can_cut=True), Column("STATE"), Column("TIME"), Column("LAST RUN"), Column("CALLS", tail=True),
    )  # fmt: skip
    show_list(calls, output, columns, rows, "No calls. Add one: mainspring call add URL --at 'in 10m'")


@app.command("show")
def show(name: CallName, output: OutputOption = Output.TABLE) -> None:
    """Show a call. `mainspring runs ID` shows its attempts, `mainspring why ID` explains its time."""
    from mainspring.operations.calls import find_call
    from mainspring.views.call import CallView

    call = ask_for(CallView, lambda desk: find_call(desk, name), lambda client: client.calls.read(name))
    if output is Output.JSON:
        answer(call, output, "")
        return
    at = now()
    show_fields(
        [
            ("key", call.key),
            ("id", call.id),
            ("state", call.status),
            ("time", when(at, call.at)),
            ("calls", call.target),
            ("next attempt", when(at, call.next_run_at, none="none")),
            ("last attempt", f"{call.last_status}, {when(at, call.last_run_at)}" if call.last_status else "none"),
        ]
    )


@app.command("cancel")
def cancel(name: CallName, output: OutputOption = Output.TABLE) -> None:
    """Cancel a call that waits."""
    from mainspring.operations.calls import cancel_call
    from mainspring.views.call import CallView

    call = ask_for(CallView, lambda desk: cancel_call(desk, name), lambda client: client.calls.cancel(name))
    answer(call, output, f"cancelled call {call.key!r}")


def _when(call: "CallView") -> str:
    if call.status == "waiting":
        return f"it runs {when(now(), call.at)}"
    return f"it is {call.status}"

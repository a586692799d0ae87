"""`mainspring sessions ...`: what a language model saw, said and did."""

from typing import TYPE_CHECKING, Annotated

import typer

from mainspring.cli import remote_planner
from mainspring.cli.command import CommandApp, OutputOption, ask
from mainspring.cli.output import Output, answer, say, show_json
from mainspring.cli.table import Column, show_fields, show_table
from mainspring.views.sentences import clock, took

if TYPE_CHECKING:
    from mainspring.operations.context import Desk
    from mainspring.views.planner import PlannerSession, Spend

NONE_YET = (
    "No sessions yet: a model analyses endpoints that have a description; `mainspring doctor` shows how to add one."
)

app = CommandApp("Sessions: what a language model saw, said and did.")


@app.command("list")
def list_sessions(
    endpoint: Annotated[str | None, typer.Argument(metavar="ENDPOINT", help="Only of this endpoint.")] = None,
    count: Annotated[
        int, typer.Option("-n", "--limit", min=1, max=1000, help="Number of sessions, newest first.")
    ] = 20,
    output: OutputOption = Output.TABLE,
) -> None:
    """List sessions, newest first, and what was spent this month."""
    from mainspring.operations.endpoints import find_endpoint
    from mainspring.views.planner import Spend, load_sessions

    async def work(desk: "Desk") -> tuple[list["PlannerSession"], "Spend"]:
        only = None if endpoint is None else (await find_endpoint(desk, endpoint)).id
        found = await desk.stores.sessions.sessions(desk.tenant_id, only, None, count)
        usage = await desk.stores.sessions.token_usage(desk.tenant_id)
        return await load_sessions(desk, found), Spend.of(usage, None)

    found, spent = ask(work, lambda client: remote_planner.sessions(client, endpoint, count))
    if output is Output.JSON:
        show_json(found)
        return
    rows = [
        (
            clock(session.at),
            session.id,
            session.endpoint or "-",
            session.status if session.mode == "live" else f"{session.status} ({session.mode})",
            str(session.tokens_in + session.tokens_out),
            ", ".join(call.tool for call in session.tool_calls) or "-",
            session.reasoning or session.note,
        )
        for session in found
    ]
    columns = (
        Column("AT"), Column("SESSION"), Column("ENDPOINT", can_cut=True), Column("STATUS"), Column("TOKENS"),
        Column("TOOLS", can_cut=True, spare=True), Column("REASONING", tail=True),
    )  # fmt: skip
    show_table(columns, rows, NONE_YET)
    if spent.sessions:
        say(_spent(spent))


@app.command("usage")
def usage(output: OutputOption = Output.TABLE) -> None:
    """Show what the sessions of this month used: tokens, and about how much they cost."""
    from mainspring.views.planner import Spend

    async def work(desk: "Desk") -> "Spend":
        return Spend.of(await desk.stores.sessions.token_usage(desk.tenant_id), None)

    found = ask(work, remote_planner.usage)
    answer(found.model_dump(include={"month", "sessions", "tokens", "cost_usd"}), output, _spent(found))


def _spent(usage: "Spend") -> str:
    return f"{usage.month}: {usage.sessions} sessions, {usage.tokens} tokens, about ${usage.cost_usd:.4f}"


@app.command("show")
def show(
    session_id: Annotated[str, typer.Argument(metavar="SESSION", help="Id of the session.")],
    output: OutputOption = Output.TABLE,
) -> None:
    """Show one session: every tool call, the reasoning, the cost."""
    from mainspring.operations.planner import find_session
    from mainspring.views.planner import PlannerSession, load_sessions

    async def work(desk: "Desk") -> "PlannerSession":
        return (await load_sessions(desk, [await find_session(desk, session_id)]))[0]

    session = ask(work, lambda client: PlannerSession.model_validate(client.sessions.read_planner(session_id)))
    if output is Output.JSON:
        show_json(session)
    else:
        show_session(session)


def show_session(session: "PlannerSession") -> None:
    spent = f"{session.tokens_in} in, {session.tokens_out} out, about ${session.cost_usd:.4f}"
    fields = [
        ("session", session.id),
        ("endpoint", session.endpoint),
        ("at", clock(session.at)),
        ("status", session.status),
        ("mode", session.mode),
        ("model", session.model),
        ("took", took(session.duration_ms)),
        ("tokens", spent),
        ("next analysis", clock(session.next_analysis_at)),
    ]
    optional = [
        ("confidence", session.confidence),
        ("reasoning", session.reasoning),
        ("actions", session.actions_taken),
        ("note", session.note),
        ("warnings", ", ".join(session.warnings)),
    ]
    show_fields([*fields, *((name, value) for name, value in optional if value)])
    for call in session.tool_calls:
        arguments = ", ".join(f"{name}={value}" for name, value in call.arguments.items())
        say(f"  {call.tool}({arguments})")
        say(f"    {call.result[:500]}")

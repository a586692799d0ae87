"""`mainspring proposals ...`: advice in mode `ask`, and a person's decision about it."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated

import typer

from mainspring.cli import remote_planner
from mainspring.cli.arguments import Reason
from mainspring.cli.command import CommandApp, OutputOption, ask
from mainspring.cli.output import Output, say, show_json
from mainspring.cli.table import Column, show_fields, show_list
from mainspring.views.sentences import clock

if TYPE_CHECKING:
    from mainspring.client import Client
    from mainspring.operations.context import Desk
    from mainspring.operations.proposals import Decided
    from mainspring.views.planner import PlannerProposal

NONE_YET = "No proposals are pending. `mainspring planner mode NAME ask` lets advice propose instead of act."
ProposalIds = Annotated[list[str], typer.Argument(metavar="PROPOSAL...", help="Ids of proposals.")]

app = CommandApp("Proposals: advice in mode ask, to approve or reject.")


@app.command("list")
def list_proposals(
    endpoint: Annotated[str | None, typer.Argument(metavar="ENDPOINT", help="Only of this endpoint.")] = None,
    state: Annotated[
        str,
        typer.Option("--state", help="pending, approved, rejected, expired, superseded, withdrawn, or all."),
    ] = "pending",
    count: Annotated[
        int, typer.Option("-n", "--limit", min=1, max=1000, help="Number of proposals, newest first.")
    ] = 50,
    output: OutputOption = Output.TABLE,
) -> None:
    """List proposals, newest first: pending ones, or others with --state."""
    from mainspring.operations.proposals import check_state, proposal_filter
    from mainspring.views.planner import load_proposals

    wanted = None if state == "all" else check_state(state)

    async def work(desk: "Desk") -> list["PlannerProposal"]:
        chosen = await proposal_filter(desk, endpoint, wanted, limit=count)
        return await load_proposals(desk, await desk.stores.proposals.proposals(desk.tenant_id, chosen))

    found = ask(work, lambda client: remote_planner.proposals(client, endpoint, wanted, count))
    rows = [
        (
            each.id,
            each.endpoint or "-",
            each.state,
            each.does,
            each.author,
            clock(each.expires_at),
            each.reason,
        )
        for each in found
    ]
    columns = (
        Column("PROPOSAL"), Column("ENDPOINT", can_cut=True), Column("STATE"), Column("CHANGE", can_cut=True),
        Column("AUTHOR", can_cut=True), Column("EXPIRES", spare=True), Column("REASON", tail=True),
    )  # fmt: skip
    show_list(found, output, columns, rows, NONE_YET if state == "pending" else "No proposals match.")


@app.command("show")
def show(
    proposal_id: Annotated[str, typer.Argument(metavar="PROPOSAL", help="Id of the proposal.")],
    output: OutputOption = Output.TABLE,
) -> None:
    """Show one proposal: the change, its author and reason, and the decision."""
    from mainspring.operations.proposals import find_proposal
    from mainspring.views.planner import PlannerProposal, load_proposals

    async def work(desk: "Desk") -> "PlannerProposal":
        return (await load_proposals(desk, [await find_proposal(desk, proposal_id)]))[0]

    found = ask(work, lambda client: PlannerProposal.model_validate(client.proposals.read(proposal_id)))
    if output is Output.JSON:
        show_json(found)
        return
    fields = [
        ("proposal", found.id),
        ("endpoint", found.endpoint),
        ("state", found.state),
        ("would", found.does),
        ("by", found.author),
        ("because of", found.cause),
        ("reason", found.reason),
        ("created", clock(found.created_at)),
        ("expires", clock(found.expires_at)),
        ("decided", None if found.decided_at is None else clock(found.decided_at)),
        ("decided by", found.decided_by),
        ("note", found.note),
    ]
    show_fields([(name, value) for name, value in fields if value])


@app.command("approve")
def approve(ids: ProposalIds, output: OutputOption = Output.TABLE) -> None:
    """Apply proposals now, within the current limits.

    A change by a person after the proposal takes precedence: the proposal is then refused and stays pending. An expired
    proposal is refused too.
    """
    from mainspring.operations.proposals import approve_proposal

    _decide(ids, approve_proposal, lambda client, each: client.proposals.approve(each), "approved", output)


@app.command("reject")
def reject(ids: ProposalIds, reason: Reason = "", output: OutputOption = Output.TABLE) -> None:
    """Reject proposals: nothing is changed.

    The same change is not proposed again while the rejected proposal would have been valid.
    """
    from mainspring.operations.proposals import reject_proposal

    _decide(
        ids,
        lambda desk, each: reject_proposal(desk, each, reason),
        lambda client, each: client.proposals.reject(each, reason=reason),
        "rejected",
        output,
    )


def _decide(
    ids: list[str],
    here: Callable[["Desk", str], Awaitable["Decided"]],
    over: Callable[["Client", str], object],
    done: str,
    output: Output,
) -> None:
    """One after the other: a refused one ends the command with an error; those before it are decided."""
    decided = [_decide_one(each, here, over, done, output) for each in ids]
    if output is Output.JSON:
        show_json(decided)


def _decide_one(
    proposal_id: str,
    here: Callable[["Desk", str], Awaitable["Decided"]],
    over: Callable[["Client", str], object],
    done: str,
    output: Output,
) -> "PlannerProposal":
    from mainspring.views.planner import PlannerProposal, load_proposals

    async def work(desk: "Desk") -> "PlannerProposal":
        return (await load_proposals(desk, [(await here(desk, proposal_id)).proposal]))[0]

    found = ask(work, lambda client: PlannerProposal.model_validate(over(client, proposal_id)))
    if output is Output.TABLE:
        say(f"{done}: {found.does} of {found.endpoint!r}, proposed by {found.author}")
    return found

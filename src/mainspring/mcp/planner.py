"""Tools about the planner: rules, their results, and what a model saw, said and did."""

import json
from typing import Annotated, Any, Literal

from pydantic import Field

from mainspring.domain.access.scope import Scope
from mainspring.domain.endpoint import Endpoint
from mainspring.domain.errors import InvalidInput, NotFound
from mainspring.domain.rules.judge import mode_of
from mainspring.domain.rules.rule import Rule
from mainspring.mcp.arguments import WORDS_MAX, ChangeEndpoint, OneEndpoint, Reason
from mainspring.mcp.tool import Toolbox, ToolCaller
from mainspring.mcp.untrusted import marked
from mainspring.operations.dry_run import dry_run_desk
from mainspring.operations.planner import advice_in_force, undo_advice
from mainspring.operations.proposals import approve_proposal, pending_of, reject_proposal
from mainspring.operations.rules import (
    RuleOwner,
    add_rules,
    dry_run_of,
    find_owner,
    remove_rules,
    rules_of,
    set_mode,
    try_rules,
)
from mainspring.ports.planner import RuleRevision
from mainspring.views.planner import PlannerProposal, PlannerSession
from mainspring.views.rule import RuleView, RunTested
from mainspring.views.view import JsonObject

SESSIONS_SHOWN = 5
RULES_MAX = 50
TRIED_RUNS = 50
PROPOSALS_MAX = 20  # the maximum number of pending proposals of an endpoint
ProposalId = Annotated[str, Field(max_length=WORDS_MAX)]

box = Toolbox()


class AskPlanner(OneEndpoint):
    test_runs: Annotated[
        int, Field(description="Also return which of its rules fire at this many recorded runs.", ge=0, le=100)
    ] = 0


@box.tool(Scope.READ, only_reads=True)
async def get_planner(visit: ToolCaller, wanted: AskPlanner) -> JsonObject:
    """Show what adapts an endpoint: its rules and those of its job, when each last fired and its error; whether the
    planner is live, asks, is in shadow mode or off for it; the proposals that wait for a person in mode ask; and recent
    sessions of the language model about it.

    With `test_runs`, also the results of its rules for recorded runs. Words of a model and results of its tools are
    marked as untrusted data.
    """
    desk = visit.desk
    owner = await find_owner(desk, wanted.endpoint, None)
    assert owner.endpoint is not None
    known = await desk.stores.planner.rules(desk.tenant_id, owner.job.id)
    mine = [each for each in known if each.stored.endpoint_id in (None, owner.endpoint.id)]
    sessions = await desk.stores.sessions.sessions(desk.tenant_id, owner.endpoint.id, None, SESSIONS_SHOWN)
    mode = mode_of(await desk.stores.planner.modes(), desk.tenant_id, owner.endpoint.id)
    return {
        "mode": mode,
        "advice_in_force": bool(await advice_in_force(desk, owner.endpoint.id)),
        "proposals": await _proposals(visit, owner.endpoint),
        "rules": [RuleView.of(each).as_json() for each in mine],
        "sessions": [_marked(PlannerSession.of(session, owner.endpoint.name)) for session in sessions],
        **await _tested(visit, owner, [each.stored.rule for each in await rules_of(desk, owner)], wanted.test_runs),
    }


class ChangeRules(ChangeEndpoint):
    add: Annotated[
        list[dict[str, Any]] | None,
        Field(
            description="Rules to add: `when` (CEL over body, ok, failures, siblings.NAME.body, ...) and what to do: "
            "`interval` with `ttl`, `run`, `pause`, `resume`, `clear_hints`; further `name`, `for`, `target`, "
            "`cooldown`, `reason`.",
            examples=[[{"when": "body.depth > 200", "interval": "30s", "ttl": "10m"}]],
            max_length=RULES_MAX,
        ),
    ] = None
    remove: Annotated[
        list[Annotated[str, Field(max_length=WORDS_MAX)]] | None,
        Field(description="Names or ids of its rules to remove.", max_length=RULES_MAX),
    ] = None
    mode: Annotated[
        Literal["live", "ask", "shadow", "off"] | None,
        Field(
            description="Planner mode of this endpoint. ask: rules and the model propose, and a person approves. "
            "shadow: what they would do is only recorded. off: they stop, including running sessions."
        ),
    ] = None
    undo: Annotated[
        bool,
        Field(description="true: also clear active hints and end an active pause of advice; those of people stay."),
    ] = False
    approve: Annotated[
        list[ProposalId] | None,
        Field(description="Ids of its proposals to apply now; get_planner lists them.", max_length=PROPOSALS_MAX),
    ] = None
    reject: Annotated[
        list[ProposalId] | None, Field(description="Ids of its proposals to reject.", max_length=PROPOSALS_MAX)
    ] = None
    reason: Reason = ""


@box.tool(Scope.WRITE)
async def change_rules(visit: ToolCaller, wanted: ChangeRules) -> JsonObject:
    """Add rules to an endpoint, remove some, switch its mode, approve or reject what advice proposed in mode ask, undo
    what advice did; get_planner shows its rules and proposals. Approve only what the person you work for asked you to.

    Try with dry_run first: it also returns at which of the last recorded runs the rules would have fired.
    """
    decided = [*(wanted.approve or ()), *(wanted.reject or ())]
    if not (wanted.add or wanted.remove or wanted.mode or wanted.undo or decided):
        raise InvalidInput(
            "nothing to do: give rules to add, names to remove, proposals to approve or reject, a mode, or undo",
            field="add",
        )
    desk = dry_run_of(visit.desk) if wanted.dry_run else visit.desk
    owner = await find_owner(desk, wanted.endpoint, None)
    assert owner.endpoint is not None
    before = await rules_of(desk, owner)
    removed = await remove_rules(desk, owner, wanted.remove) if wanted.remove else []
    added = await add_rules(desk, owner, wanted.add) if wanted.add else []
    await _decide(visit, wanted, owner.endpoint)
    if wanted.mode is not None:
        await set_mode(desk, wanted.endpoint, wanted.mode)
    held = len(await advice_in_force(visit.desk, wanted.endpoint))
    undone = held if wanted.undo else 0
    if wanted.undo and not wanted.dry_run:
        undone = await undo_advice(visit.desk, wanted.endpoint)
    kept = [each for each in before if each.stored.rule.name not in removed]
    after = [*kept, *(RuleRevision(each, owner.name or "", {}) for each in added)]
    return {
        "dry_run": wanted.dry_run,
        "added": [each.rule.name for each in added],
        "removed": removed,
        "mode": mode_of(await desk.stores.planner.modes(), desk.tenant_id, owner.endpoint.id),
        "undone": undone > 0,
        "decided": decided,
        "advice_in_force": held > undone,
        "rules": [RuleView.of(each).as_json() for each in after],
        **await _tested(visit, owner, [each.stored.rule for each in after], TRIED_RUNS if wanted.dry_run else 0),
    }


async def _decide(visit: ToolCaller, wanted: ChangeRules, endpoint: Endpoint) -> None:
    """Proposals of this endpoint only: an id of another one is refused before anything is decided."""
    desk = dry_run_desk(visit.desk) if wanted.dry_run else visit.desk
    known = {each.id for each in await pending_of(desk, endpoint)} if wanted.approve or wanted.reject else set()
    for each in (*(wanted.approve or ()), *(wanted.reject or ())):
        if each not in known:
            raise NotFound("pending proposal of this endpoint", each, tuple(sorted(known)))
    for each in wanted.approve or ():
        await approve_proposal(desk, each)
    for each in wanted.reject or ():
        await reject_proposal(desk, each, wanted.reason)


async def _proposals(visit: ToolCaller, endpoint: Endpoint) -> list[JsonObject]:
    """Proposals that wait for a person. The words of a model are marked as untrusted data."""
    now = await visit.desk.stores.schedule.now()
    found = [PlannerProposal.of(each, endpoint.name, now) for each in await pending_of(visit.desk, endpoint)]
    return [
        each.as_json() | {"reason": marked(each.reason), "arguments": marked(json.dumps(each.arguments))}
        if each.kind == "model"
        else each.as_json()
        for each in found
    ]


async def _tested(visit: ToolCaller, owner: RuleOwner, rules: list[Rule], count: int) -> JsonObject:
    """Recorded runs at which a rule fires or fails, oldest first, and how many runs were checked."""
    if not count:
        return {}
    tested = await try_rules(visit.desk, owner, rules, count)
    return {
        "tested_runs": len(tested),
        "fired_at": [RunTested.of(each).as_json() for each in tested if each.fired or each.faults],
    }


def _marked(session: PlannerSession) -> JsonObject:
    calls = [call.as_json() | {"result": marked(call.result)} for call in session.tool_calls]
    said = {"reasoning": marked(session.reasoning), "actions_taken": marked(session.actions_taken)}
    return session.as_json() | said | {"tool_calls": calls}

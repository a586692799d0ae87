"""Tools about what adapts a schedule: rules, what became of them, and what a model saw, said and did."""

from typing import Annotated, Any, Literal

from pydantic import Field

from mainspring.domain.access import Scope
from mainspring.domain.errors import InvalidInput
from mainspring.domain.rulebook import mode_of
from mainspring.domain.rules import Rule
from mainspring.mcp.arguments import WORDS_MAX, ChangeEndpoint, OneEndpoint
from mainspring.mcp.tool import Toolbox, Visit
from mainspring.mcp.untrusted import marked
from mainspring.operations.advising import advice_in_force, undo_advice
from mainspring.operations.rules import (
    Owner,
    add_rules,
    find_owner,
    rehearse_rules,
    rehearsed,
    remove_rules,
    rules_of,
    set_mode,
)
from mainspring.planner_shapes import rule_shape, session_shape, tested_shape
from mainspring.ports.planner import KnownRule
from mainspring.shapes import Shape

SESSIONS_SHOWN = 5
RULES_MAX = 50
TRIED_RUNS = 50

box = Toolbox()


class AskPlanner(OneEndpoint):
    test_runs: Annotated[
        int, Field(description="Also say which of its own rules fire at the last so many recorded runs.", ge=0, le=100)
    ] = 0


@box.tool(Scope.READ, only_reads=True)
async def get_planner(visit: Visit, wanted: AskPlanner) -> Shape:
    """Show what adapts an endpoint: its rules and those of its job, when each fired and what is wrong with it; whether
    the planner is live, in shadow mode or off for it; and what a language model said about it lately.

    With `test_runs`, also what its rules make of recorded runs. What a model said and what its tools answered is marked
    as untrusted data.
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
        "rules": [rule_shape(each) for each in mine],
        "sessions": [_marked(session_shape(session, owner.endpoint.name)) for session in sessions],
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
        Literal["live", "shadow", "off"] | None,
        Field(
            description="Switch rules and the model for this endpoint. shadow: what they would do is only recorded. "
            "off: they stop, and so do sessions in progress."
        ),
    ] = None
    undo: Annotated[
        bool, Field(description="true: also clear the hints and end the pause of advice in force; people's stay.")
    ] = False


@box.tool(Scope.WRITE)
async def change_rules(visit: Visit, wanted: ChangeRules) -> Shape:
    """Add rules to an endpoint, remove some, switch its mode, undo what advice did; get_planner shows what it has.

    Try with dry_run first: it also says which of the last recorded runs they would have fired at.
    """
    if not (wanted.add or wanted.remove or wanted.mode or wanted.undo):
        raise InvalidInput("nothing to do: give rules to add, names to remove, a mode, or undo", field="add")
    desk = rehearsed(visit.desk) if wanted.dry_run else visit.desk
    owner = await find_owner(desk, wanted.endpoint, None)
    assert owner.endpoint is not None
    before = await rules_of(desk, owner)
    removed = await remove_rules(desk, owner, wanted.remove) if wanted.remove else []
    added = await add_rules(desk, owner, wanted.add) if wanted.add else []
    if wanted.mode is not None:
        await set_mode(desk, wanted.endpoint, wanted.mode)
    held = len(await advice_in_force(visit.desk, wanted.endpoint))
    undone = held if wanted.undo else 0
    if wanted.undo and not wanted.dry_run:
        undone = await undo_advice(visit.desk, wanted.endpoint)
    kept = [each for each in before if each.stored.rule.name not in removed]
    after = [*kept, *(KnownRule(each, owner.name or "", {}) for each in added)]
    return {
        "dry_run": wanted.dry_run,
        "added": [each.rule.name for each in added],
        "removed": removed,
        "mode": mode_of(await desk.stores.planner.modes(), desk.tenant_id, owner.endpoint.id),
        "undone": undone > 0,
        "advice_in_force": held > undone,
        "rules": [rule_shape(each) for each in after],
        **await _tested(visit, owner, [each.stored.rule for each in after], TRIED_RUNS if wanted.dry_run else 0),
    }


async def _tested(visit: Visit, owner: Owner, rules: list[Rule], count: int) -> Shape:
    """Recorded runs at which a rule fires or fails, oldest first, and how many runs were looked at."""
    if not count:
        return {}
    tested = await rehearse_rules(visit.desk, owner, rules, count)
    return {
        "tested_runs": len(tested),
        "fired_at": [tested_shape(each) for each in tested if each.fired or each.faults],
    }


def _marked(session: Shape) -> Shape:
    calls = session["tool_calls"]
    assert isinstance(calls, list)
    return session | {
        "reasoning": marked(str(session["reasoning"])),
        "actions_taken": marked(str(session["actions_taken"])),
        "tool_calls": [call | {"result": marked(str(call["result"]))} for call in calls],
    }

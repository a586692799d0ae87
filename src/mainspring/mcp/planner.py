"""Tools about what adapts a schedule: rules, what became of them, and what a model saw, said and did."""

from typing import Annotated, Any

from pydantic import Field

from mainspring.domain.access import Scope
from mainspring.domain.errors import InvalidInput
from mainspring.domain.rulebook import mode_of
from mainspring.mcp.arguments import WORDS_MAX, ChangeEndpoint, OneEndpoint
from mainspring.mcp.tool import Toolbox, Visit
from mainspring.mcp.untrusted import marked
from mainspring.operations.rules import add_rules, find_owner, rehearsed, remove_rules, rules_of
from mainspring.planner_shapes import rule_shape, session_shape
from mainspring.ports.planner import KnownRule
from mainspring.shapes import Shape

SESSIONS_SHOWN = 5
RULES_MAX = 50

box = Toolbox()


@box.tool(Scope.READ, only_reads=True)
async def get_planner(visit: Visit, wanted: OneEndpoint) -> Shape:
    """Show what adapts an endpoint: its rules and those of its job, when each fired and what is wrong with it; whether
    the planner is live, in shadow mode or off for it; and what a language model said about it lately.

    What a model said and what its tools answered is marked as untrusted data.
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
        "rules": [rule_shape(each) for each in mine],
        "sessions": [_marked(session_shape(session, owner.endpoint.name)) for session in sessions],
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


@box.tool(Scope.WRITE)
async def change_rules(visit: Visit, wanted: ChangeRules) -> Shape:
    """Add rules to an endpoint, remove some, or both; get_planner shows those it has. Try with dry_run first."""
    if not wanted.add and not wanted.remove:
        raise InvalidInput("nothing to do: give rules to add, or names to remove", field="add")
    desk = rehearsed(visit.desk) if wanted.dry_run else visit.desk
    owner = await find_owner(desk, wanted.endpoint, None)
    before = await rules_of(desk, owner)
    removed = await remove_rules(desk, owner, wanted.remove) if wanted.remove else []
    added = await add_rules(desk, owner, wanted.add) if wanted.add else []
    kept = [each for each in before if each.stored.rule.name not in removed]
    after = [*kept, *(KnownRule(each, owner.name or "", {}) for each in added)]
    return {
        "dry_run": wanted.dry_run,
        "added": [each.rule.name for each in added],
        "removed": removed,
        "rules": [rule_shape(each) for each in after],
    }


def _marked(session: Shape) -> Shape:
    calls = session["tool_calls"]
    assert isinstance(calls, list)
    return session | {
        "reasoning": marked(str(session["reasoning"])),
        "actions_taken": marked(str(session["actions_taken"])),
        "tool_calls": [call | {"result": marked(str(call["result"]))} for call in calls],
    }

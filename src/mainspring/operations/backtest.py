"""Replay recorded runs with changed rules, limits or baseline. Nothing is called, nothing is written."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.definition import definition_of
from mainspring.domain.endpoint import Endpoint
from mainspring.domain.errors import Conflict, InvalidInput
from mainspring.domain.rules.backtest import BackTest, Policy, back_test
from mainspring.domain.rules.judge import FactsWanted, StoredRule
from mainspring.domain.rules.rule import mentions
from mainspring.operations.endpoints import Desk, checked_definition, tenant_of
from mainspring.operations.rules import RuleOwner, check_rules, share_of

BACK_TEST_S = 60.0  # 50,000 runs through two policies took 17 s on a busy machine


class BacktestRequest(Struct, frozen=True):
    """What to change; None leaves it. `rules` replace the owner's rules."""

    rules: Sequence[object] | None = None
    interval_ms: int | None = None
    cron: str | None = None
    min_interval_ms: int | None = None
    max_interval_ms: int | None = None
    limit: int = 500  # number of newest runs per endpoint


async def run_backtest(desk: Desk, owner: RuleOwner, wish: BacktestRequest) -> BackTest:
    share = await share_of(desk, owner, wish.limit)
    known = [each.stored for each in await desk.stores.planner.rules(desk.tenant_id, owner.job.id)]
    rules = _changed_rules(desk, owner, wish, known)
    headers = any("headers" in mentions(each.rule.when).names for each in (*known, *rules))
    facts = await desk.stores.planner.facts(
        [FactsWanted(member.id, share, headers=headers) for member in owner.members]
    )
    history = {endpoint_id: tuple(reversed(results)) for endpoint_id, results in facts.results.items() if results}
    if not history:
        raise Conflict(
            "no runs are recorded yet, so there is nothing to replay; wait for some", kind="job", name=owner.job.name
        )
    present = Policy(owner.members, tuple(known))
    changed = Policy(await _changed_members(desk, owner, wish), rules)
    tested = await desk.sandbox.call_within(
        BACK_TEST_S, desk.tenant_id, back_test, history, present, changed, desk.cron
    )
    return replace(tested, limit=share, is_limited=any(len(each) == share for each in history.values()))


def _changed_rules(
    desk: Desk, owner: RuleOwner, wish: BacktestRequest, known: list[StoredRule]
) -> tuple[StoredRule, ...]:
    if wish.rules is None:
        return tuple(known)
    endpoint_id = None if owner.endpoint is None else owner.endpoint.id
    others = [each for each in known if each.endpoint_id != endpoint_id]
    drafted = [
        StoredRule(f"draft_{place}", desk.tenant_id, owner.job.id, endpoint_id, rule, owner.job.created_at)
        for place, rule in enumerate(check_rules(wish.rules, owner))
    ]
    return (*others, *drafted)


async def _changed_members(desk: Desk, owner: RuleOwner, wish: BacktestRequest) -> tuple[Endpoint, ...]:
    names = ("interval_ms", "cron", "min_interval_ms", "max_interval_ms")
    wanted = {name: value for name in names if (value := getattr(wish, name)) is not None}
    if not wanted:
        return owner.members
    if owner.endpoint is None:
        raise InvalidInput("a baseline or limits belong to one endpoint; name it instead of the job", field="endpoint")
    if wish.cron is not None and wish.interval_ms is not None:
        raise InvalidInput("both an interval and a cron expression were given; give one of them", field="cron")
    if "cron" in wanted or "interval_ms" in wanted:
        wanted = {"cron": None, "interval_ms": None} | wanted
    edited = replace(definition_of(owner.endpoint, owner.job.name), **wanted)
    checked_definition(desk, edited, await tenant_of(desk), owner.endpoint.id)
    changed = replace(owner.endpoint, **wanted)
    return tuple(changed if each.id == changed.id else each for each in owner.members)

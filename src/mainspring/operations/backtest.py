"""Replay recorded runs with changed rules, limits or baseline. Nothing is called, nothing is written."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.definition import config_of
from mainspring.domain.endpoint import Endpoint, with_inputs
from mainspring.domain.errors import Conflict, InvalidInput
from mainspring.domain.rules.backtest import BackTest, Policy, back_test
from mainspring.domain.rules.judge import FactsWanted, StoredRule
from mainspring.domain.rules.rule import mentions
from mainspring.operations.context import Desk
from mainspring.operations.endpoints import checked_config, tenant_of
from mainspring.operations.rules import RuleOwner, check_rules, share_of

BACK_TEST_S = 60.0  # 50,000 runs through two policies took 17 s on a busy machine


class BacktestRequest(Struct, frozen=True):
    """What to change; None leaves it. `rules` replace the owner's rules."""

    rules: Sequence[object] | None = None
    every: int | None = None  # milliseconds, as are the limits
    cron: str | None = None
    min_interval: int | None = None
    max_interval: int | None = None
    limit: int = 500  # number of newest runs per endpoint


async def run_backtest(desk: Desk, owner: RuleOwner, wish: BacktestRequest) -> BackTest:
    share = await share_of(desk, owner, wish.limit)
    known = [each.stored for each in await desk.stores.planner.rules(desk.tenant_id, owner.job.id)]
    rules = await _changed_rules(desk, owner, wish, known)
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


async def _changed_rules(
    desk: Desk, owner: RuleOwner, wish: BacktestRequest, known: list[StoredRule]
) -> tuple[StoredRule, ...]:
    if wish.rules is None:
        return tuple(known)
    endpoint_id = None if owner.endpoint is None else owner.endpoint.id
    others = [each for each in known if each.endpoint_id != endpoint_id]
    drafted = [
        StoredRule(f"draft_{place}", desk.tenant_id, owner.job.id, endpoint_id, rule, owner.job.created_at)
        for place, rule in enumerate(await check_rules(wish.rules, owner))
    ]
    return (*others, *drafted)


async def _changed_members(desk: Desk, owner: RuleOwner, wish: BacktestRequest) -> tuple[Endpoint, ...]:
    names = ("every", "cron", "min_interval", "max_interval")
    wanted: dict[str, object] = {name: value for name in names if (value := getattr(wish, name)) is not None}
    if not wanted:
        return owner.members
    if owner.endpoint is None:
        raise InvalidInput("a baseline or limits belong to one endpoint; name it instead of the job", field="endpoint")
    if wish.cron is not None and wish.every is not None:
        raise InvalidInput("both an interval and a cron expression were given; give one of them", field="cron")
    edited = with_inputs(config_of(owner.endpoint), wanted)
    checked_config(desk, edited, await tenant_of(desk), owner.endpoint.id)
    changed = with_inputs(owner.endpoint, wanted)
    return tuple(changed if each.id == changed.id else each for each in owner.members)

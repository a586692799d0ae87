"""What comes next, and what would come if: the governor asked again and again on an endpoint as it would become."""

from datetime import datetime

from msgspec.structs import replace

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.governor import CronReader, Decision, decode_trail, plan_next_run
from mainspring.domain.instant import FOREVER


def preview(
    endpoint: Endpoint, now: datetime, count: int, cron: CronReader, failures: int | None = None
) -> list[Decision]:
    """The next `count` runs, each on its slot and successful; with `failures`, as if every run failed from there on."""
    state = endpoint if failures is None else replace(endpoint, failure_count=failures)
    decisions: list[Decision] = []
    if failures is not None or endpoint.next_run_at is None:
        decision = plan_next_run(max(endpoint.anchor_at, now) if failures is not None else now, state, cron)
    else:
        decision = Decision(max(endpoint.next_run_at, now), endpoint.source, decode_trail(endpoint.trail))
    if not endpoint.can_run:
        return []
    while decision.next_run_at < FOREVER:
        decisions.append(decision)
        if len(decisions) == count:
            break
        at = decision.next_run_at
        one_shot = state.one_shot_hint
        if one_shot is not None and one_shot.next_run_at <= at:
            one_shot = None
        state = replace(state, failure_count=0 if failures is None else state.failure_count + 1, one_shot_hint=one_shot)
        decision = plan_next_run(at, state, cron)
    return decisions

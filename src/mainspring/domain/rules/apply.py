"""Apply a judged rule: hysteresis, cooldown, and the change to its target. Pure.

A rule fires when its condition was true on the required number of consecutive finished runs and the cooldown of its
target is over. Its actions are those of a user's hint or pause, so the same bounds apply. If a person decided
otherwise, the action is refused, and the rule, the endpoint and an event record that. In mode `ask` the action becomes
a proposal; in shadow mode it becomes an event only.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.advice.authority import (
    advise_clear,
    advise_interval,
    advise_one_shot,
    advise_pause,
    advise_resume,
    check_wake,
    note_refusal,
)
from mainspring.domain.advice.proposal import VALID_MAX, StoredProposal, advised_by, make_proposal
from mainspring.domain.duration import format_duration
from mainspring.domain.endpoint import Endpoint
from mainspring.domain.errors import AdviceRefused, MainspringError
from mainspring.domain.event import Event, EventType
from mainspring.domain.instant import FOREVER, after_ms
from mainspring.domain.rules.rule import INTERVAL_TTL_MS, ONE_SHOT_TTL_MS, TTL_MS_MAX, Rule
from mainspring.domain.schedule.changes import Change
from mainspring.domain.schedule.governor import CronReader
from mainspring.domain.schedule.hint import make_interval_hint, make_one_shot_hint

LIVE, ASK, SHADOW, OFF = "live", "ask", "shadow", "off"
MODES = (LIVE, ASK, SHADOW, OFF)  # from the most lenient to the strictest
MODES_IN_WORDS = "live, ask, shadow or off"


def strictest(modes: Iterable[str | None]) -> str:
    """The strictest of several modes that apply to one action; None counts as live."""
    return max((mode or LIVE for mode in modes), key=MODES.index)


class RuleState(Struct, frozen=True):
    """What a rule remembers about one endpoint: the one it reads (streak, fault) or its target (fired, refused)."""

    streak: int = 0
    fired_at: datetime | None = None
    fault: str = ""
    refused: str = ""  # why the newest action was refused; "" if it was applied


class Firing(Struct, frozen=True):
    """One action of a rule, to be applied to the locked row of its target."""

    rule: Rule
    rule_id: str
    tenant_id: str
    target_id: str
    run_id: str  # the finished run that triggered it
    mode: str = LIVE
    confined_to: str = ""  # the rule's endpoint, if its owner does not let it act on siblings
    subject_id: str = ""  # the rule's endpoint, if that is not the target


def counted(state: RuleState, verdict: bool | str, for_runs: int) -> RuleState:
    """Counts one more judged run; the fault is that of this evaluation, or none.

    The streak stops at the number that the rule requires: counting on would cost a write for every run.
    """
    if verdict is True:
        grown = min(state.streak + 1, max(for_runs, state.streak))
        return state if (grown, "") == (state.streak, state.fault) else replace(state, streak=grown, fault="")
    fault = verdict if isinstance(verdict, str) else ""
    return state if (state.streak, state.fault) == (0, fault) else replace(state, streak=0, fault=fault)


def is_ripe(rule: Rule, subject: RuleState, target: RuleState, now: datetime) -> bool:
    """Whether the rule fires now: true on enough consecutive runs, and its target not in cooldown."""
    if subject.streak < rule.for_runs:
        return False
    cooldown = timedelta(milliseconds=rule.effective_cooldown_ms)
    return target.fired_at is None or now - target.fired_at >= cooldown


def fire(firing: Firing, endpoint: Endpoint, now: datetime, cron: CronReader) -> Change:
    """Returns the target after the rule, and the events. A problem of the rule becomes a fault event, not an exception.

    Repeating a hint or pause that is already active extends its expiry without an event: a condition that stays true is
    one decision.
    """
    return answer(firing, endpoint, now, cron)[0]


def answer(firing: Firing, endpoint: Endpoint, now: datetime, cron: CronReader) -> tuple[Change, str]:
    """Like `fire`, and also returns why nothing was done; "" if the rule was applied."""
    rule = firing.rule
    if not endpoint.can_run:
        return Change(endpoint), ""
    try:
        if firing.confined_to:
            raise AdviceRefused(
                f"the owner of {firing.confined_to!r} does not allow advice: siblings",
                kind="endpoint",
                name=endpoint.name,
            )
        after = act_on(rule, endpoint, now, cron)
    except AdviceRefused as refusal:
        if firing.mode == SHADOW:
            return Change(endpoint, (_fired(firing, now, shadow=True, refused=str(refusal)),)), ""
        if firing.mode == ASK:
            return Change(endpoint), str(refusal)
        noted = note_refusal(endpoint, author(rule), action_in_words(rule), str(refusal), now, firing.run_id)
        return noted, str(refusal)
    except MainspringError as fault:
        data: dict[str, object] = {"rule": rule.name, "fault": str(fault)}
        return Change(endpoint, (Event(EventType.RULE_FAULTY, now, *_whom(firing), author(rule), data),)), ""
    if firing.mode == SHADOW:
        return Change(endpoint, (_fired(firing, now, shadow=True),)), ""
    if firing.mode == ASK:
        is_in_force = same_but_for_time(endpoint, after.endpoint)
        return Change(endpoint, proposals=() if is_in_force else (_proposed(firing, now),)), ""
    if same_but_for_time(endpoint, after.endpoint):
        return Change(after.endpoint), ""
    return Change(after.endpoint, (_fired(firing, now, shadow=False), *after.events)), ""


def author(rule: Rule) -> str:
    return f"rule:{rule.name}"


def action_in_words(rule: Rule) -> str:
    """`every 20s for 10m, run now`: the actions of the rule without its reason."""
    words = []
    if rule.clear_hints:
        words.append("clear hints")
    if rule.resume:
        words.append("wake")
    if rule.interval_ms is not None:
        words.append(f"every {format_duration(rule.interval_ms)} for {format_duration(rule.ttl_ms or INTERVAL_TTL_MS)}")
    if rule.run_in_ms is not None:
        words.append(f"run in {format_duration(rule.run_in_ms)}" if rule.run_in_ms else "run now")
    if rule.pause_ms is not None:
        words.append(f"pause for {format_duration(rule.pause_ms)}")
    if rule.sleep:
        words.append("put to sleep")
    return ", ".join(words)


def act_on(rule: Rule, endpoint: Endpoint, now: datetime, cron: CronReader) -> Change:
    """Applies all actions of the rule or none. Hints come before the wake-up, so that they apply to the first run."""
    by, why = author(rule), rule.why
    events: list[Event] = []
    current = endpoint
    if rule.resume:
        check_wake(current, by, now)
    if rule.clear_hints:
        current = _take(advise_clear(current, now, by, cron), events)
    if rule.interval_ms is not None:
        ttl = timedelta(milliseconds=rule.ttl_ms or INTERVAL_TTL_MS)
        hint = make_interval_hint(now, rule.interval_ms, ttl, why, by)
        current = _take(advise_interval(current, hint, now, cron), events)
    if rule.run_in_ms is not None:
        ttl_ms = _one_shot_ttl_ms(rule)
        at = now + timedelta(milliseconds=rule.run_in_ms)
        once = make_one_shot_hint(now, at, timedelta(milliseconds=ttl_ms), why, by)
        current = _take(advise_one_shot(current, once, now, cron), events)
    if rule.resume:
        current = _take(advise_resume(current, now, by, cron), events)
    if rule.pause_ms is not None:
        current = _take(advise_pause(current, after_ms(now, rule.pause_ms), why, now, by, cron), events)
    if rule.sleep and current.paused_until != FOREVER:
        current = _take(advise_pause(current, None, why, now, by, cron), events)
    return Change(current, tuple(events))


def _take(change: Change, events: list[Event]) -> Endpoint:
    events.extend(change.events)
    return change.endpoint


def same_but_for_time(old: Endpoint, new: Endpoint) -> bool:
    """Whether only expiries moved: the same hint or pause was active, and no run moved."""
    if old == new:
        return True
    if (old.one_shot_hint is None) != (new.one_shot_hint is None) or old.next_run_at != new.next_run_at:
        return False
    before, after = old.interval_hint, new.interval_hint
    if before is None or after is None or (old.paused_until is None) != (new.paused_until is None):
        return False
    return (before.interval_ms, before.author) == (after.interval_ms, after.author)


def _proposed(firing: Firing, now: datetime) -> StoredProposal:
    """Valid as long as the shortest-lived action of the rule."""
    rule = firing.rule
    spans_ms = [rule.pause_ms]
    if rule.interval_ms is not None:
        spans_ms.append(rule.ttl_ms or INTERVAL_TTL_MS)
    if rule.run_in_ms is not None:
        spans_ms.append(_one_shot_ttl_ms(rule))
    valid = min((timedelta(milliseconds=each) for each in spans_ms if each is not None), default=VALID_MAX)
    whom = (firing.tenant_id, firing.target_id)
    arguments = advised_by(firing.subject_id, msgspec.to_builtins(rule))
    does = action_in_words(rule)
    return make_proposal(whom, author(rule), "rule", arguments, does, rule.why, firing.run_id, now, valid)


def _one_shot_ttl_ms(rule: Rule) -> int:
    assert rule.run_in_ms is not None
    return rule.ttl_ms or min(TTL_MS_MAX, rule.run_in_ms + ONE_SHOT_TTL_MS)


def _fired(firing: Firing, now: datetime, *, shadow: bool, refused: str = "") -> Event:
    rule = firing.rule
    data: dict[str, object] = {"rule": rule.name, "does": action_in_words(rule), "reason": rule.why}
    if shadow:
        data["shadow"] = True
    if refused:
        data["refused"] = refused
    return Event(EventType.RULE_FIRED, now, *_whom(firing), author(rule), data)


def _whom(firing: Firing) -> tuple[str, str, str]:
    return firing.tenant_id, firing.target_id, firing.run_id

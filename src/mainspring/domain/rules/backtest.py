"""Replay recorded runs under another policy: what would have been called, seen and decided. Pure.

Between two recorded runs the last response holds: a call at that time is assumed to get the same response. Both
policies, the current one and the changed one, are replayed over the same span so that they can be compared.

    1 replay    endpoint by endpoint as the governor plans; finished runs are judged by the rules, firings are applied
    2 compare   calls, when each recorded failure was seen, and the decisions that only one of the two made
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from heapq import heappop, heappush
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.event import EventType
from mainspring.domain.instant import FOREVER
from mainspring.domain.rules.apply import RuleState, action_in_words, fire
from mainspring.domain.rules.health_sums import HealthSums
from mainspring.domain.rules.judge import (
    FinishedRun,
    JudgedPage,
    RuleFacts,
    RuleResult,
    StoredRule,
    decide,
    member_of,
    want,
)
from mainspring.domain.rules.rule import HISTORY_MAX
from mainspring.domain.rules.run_window import RUNS_MAX as RUNS_IN_WINDOW_MAX
from mainspring.domain.rules.run_window import RunWindow, fitting
from mainspring.domain.run import Outcome, RunStatus
from mainspring.domain.schedule.anchor import plan_first, replan
from mainspring.domain.schedule.claim import Claim, Claimant, admit
from mainspring.domain.schedule.finish import Finished, settle
from mainspring.domain.schedule.governor import CronReader

RUNS_MAX = 60_000  # per replay, some seconds; 50,000 recorded runs fit

History = Mapping[str, Sequence[RuleResult]]  # by endpoint, oldest first


class Policy(Struct, frozen=True):
    endpoints: tuple[Endpoint, ...]
    rules: tuple[StoredRule, ...]


class ReplayedRun(Struct, frozen=True):
    endpoint_id: str
    at: datetime
    finished_at: datetime
    ok: bool
    source: str
    recorded_id: str  # the run whose response held then; "": no run was recorded


class Fired(Struct, frozen=True):
    at: datetime
    endpoint_id: str
    rule: str
    does: str
    recorded_id: str


class PolicyReplay(Struct, frozen=True):
    runs: tuple[ReplayedRun, ...]
    fired: tuple[Fired, ...]
    is_cut: bool
    faults: tuple[str, ...] = ()  # rules that could not be evaluated, each reported once


class Detection(Struct, frozen=True):
    """A recorded failure, and how long after it each policy saw it; None: not before the recovery."""

    endpoint_id: str
    failed_at: datetime
    until: datetime | None  # the recorded recovery
    present_s: float | None
    changed_s: float | None


class BackTest(Struct, frozen=True):
    begin: datetime
    end: datetime
    names: Mapping[str, str]
    recorded: History
    present: PolicyReplay
    changed: PolicyReplay
    detections: tuple[Detection, ...]
    only_present: tuple[Fired, ...]
    only_changed: tuple[Fired, ...]
    limit: int = 0  # number of newest runs of each endpoint that were replayed
    is_limited: bool = False  # some endpoint has more recorded runs


def back_test(history: History, present: Policy, changed: Policy, cron: CronReader) -> BackTest:
    every = sorted((result for results in history.values() for result in results), key=lambda each: each.finished_at)
    assert every, "there is nothing to replay"
    begin, end = min(_started(each) for each in every), every[-1].finished_at
    before = _Player(history, present, begin, end, cron).play()
    after = _Player(history, changed, begin, end, cron).play()
    known, wanted = {_key(each) for each in before.fired}, {_key(each) for each in after.fired}
    return BackTest(
        begin,
        end,
        {endpoint.id: endpoint.name for endpoint in changed.endpoints},
        history,
        before,
        after,
        tuple(_detections(history, before, after)),
        tuple(each for each in before.fired if _key(each) not in wanted),
        tuple(each for each in after.fired if _key(each) not in known),
    )


class _Player:
    def __init__(self, history: History, policy: Policy, begin: datetime, end: datetime, cron: CronReader) -> None:
        self._history = history
        self._starts = {name: [_started(each) for each in results] for name, results in history.items()}
        self._rules = tuple(replace(each, created_at=begin - timedelta(days=1)) for each in policy.rules)
        self._end = end
        self._cron = cron
        self._endpoints: dict[str, Endpoint] = {}
        self._running: dict[str, tuple[Claim, RuleResult | None]] = {}
        self._results: dict[str, list[RuleResult]] = {each.id: [] for each in policy.endpoints}
        self._health = {each.id: HealthSums() for each in policy.endpoints}
        self._states: dict[tuple[str, str], RuleState] = {}
        self._queue: list[tuple[datetime, int, str]] = []
        self._runs: list[ReplayedRun] = []
        self._fired: list[Fired] = []
        self._faults: dict[str, None] = {}
        for endpoint in policy.endpoints:
            self._put(self._first(endpoint, begin))

    def play(self) -> PolicyReplay:
        while self._queue and len(self._runs) < RUNS_MAX:
            at, kind, endpoint_id = heappop(self._queue)
            if at > self._end:
                break
            if kind == 0:
                self._finish(endpoint_id, at)
            elif endpoint_id not in self._running and at == _due(self._endpoints[endpoint_id]):
                self._start(endpoint_id, at)
        return PolicyReplay(tuple(self._runs), tuple(self._fired), len(self._runs) >= RUNS_MAX, tuple(self._faults))

    def _first(self, endpoint: Endpoint, begin: datetime) -> Endpoint:
        """The current endpoint without hints; a sleeping one starts asleep, others start when they were first
        recorded.
        """
        fresh = replace(
            endpoint, interval_hint=None, one_shot_hint=None, failure_count=0, not_before=None, manual_at=None,
            lease_until=None, slot_at=None, deferred_until=None, anchor_at=begin,
            paused_until=FOREVER if endpoint.paused_until == FOREVER else None,
        )  # fmt: skip
        if fresh.paused_until is not None:
            return replan(replace(fresh, next_run_at=None), begin, self._cron)
        planned = plan_first(replace(fresh, next_run_at=None), begin, self._cron)
        starts = self._starts.get(endpoint.id)
        if not starts or planned.next_run_at is None:
            return planned
        return replace(planned, next_run_at=starts[0], anchor_at=starts[0])

    def _put(self, endpoint: Endpoint) -> None:
        self._endpoints[endpoint.id] = endpoint
        due = _due(endpoint)
        if endpoint.id not in self._running and due is not None:
            heappush(self._queue, (due, 1, endpoint.id))

    def _start(self, endpoint_id: str, at: datetime) -> None:
        claimant = Claimant("backtest", 0, f"run_{len(self._runs)}", (), False)
        reached = admit(self._endpoints[endpoint_id], at, claimant, self._cron)
        if reached.claim is None:  # only a hint expired
            self._put(reached.endpoint)
            return
        starts = self._starts.get(endpoint_id, [])
        held = self._history[endpoint_id][max(0, bisect_right(starts, at) - 1)] if starts else None
        self._running[endpoint_id] = (reached.claim, held)
        self._put(reached.endpoint)
        heappush(self._queue, (at + timedelta(milliseconds=held.duration_ms if held else 0), 0, endpoint_id))

    def _finish(self, endpoint_id: str, at: datetime) -> None:
        claim, held = self._running.pop(endpoint_id)
        ok = held is None or held.ok
        run_id = f"run_{len(self._runs)}"
        outcome = Outcome(RunStatus.SUCCESS if ok else RunStatus.FAILURE, held.duration_ms if held else 0)
        ended = Finished(claim, outcome, claim.claimed_at, at)
        settled = settle(self._endpoints[endpoint_id], ended, at, self._cron).endpoint
        assert settled is not None, "no concurrent writer"
        self._put(settled)
        result = held or RuleResult("", endpoint_id, True, "success", None, at, 0, b"")
        self._results[endpoint_id].append(replace(result, run_id=run_id, finished_at=at))
        self._health[endpoint_id].add(at, ok, result.duration_ms)
        recorded_id = held.run_id if held else ""
        self._runs.append(ReplayedRun(endpoint_id, claim.claimed_at, at, ok, claim.endpoint.source, recorded_id))
        self._judge(endpoint_id, run_id, recorded_id, at)

    def _judge(self, endpoint_id: str, run_id: str, recorded_id: str, now: datetime) -> None:
        if not self._rules:
            return
        members = tuple(member_of(each, each.failure_count) for each in self._endpoints.values())
        endpoint = self._endpoints[endpoint_id]
        run = FinishedRun(endpoint.tenant_id, endpoint_id, run_id, now, endpoint.failure_count)
        page = JudgedPage("", "", now, (run,), self._rules, members, self._states, {})
        decisions = decide(page, self._facts(page, now), self._window)
        self._states.update(decisions.states)
        self._faults |= {f"rule {each.data['rule']!r}: {each.data['fault']}": None for each in decisions.events}
        for firing in decisions.firings:
            change = fire(firing, self._endpoints[firing.target_id], now, self._cron)
            self._put(change.endpoint)
            if any(event.type is EventType.RULE_FIRED for event in change.events):
                words = action_in_words(firing.rule)
                self._fired.append(Fired(now, firing.target_id, firing.rule.name, words, recorded_id))

    def _facts(self, page: JudgedPage, now: datetime) -> RuleFacts:
        wanted = want(page)
        results = {
            each.endpoint_id: tuple(reversed(self._results[each.endpoint_id][-(HISTORY_MAX + 1) :])) for each in wanted
        }
        return RuleFacts(results, {each.endpoint_id: self._health[each.endpoint_id].at(now) for each in wanted})

    def _window(self, wanted: RunWindow) -> tuple[RuleResult, ...]:
        """The facts as a store reads them; replayed runs are in the order in which they ended."""
        results = self._results[wanted.endpoint_id]
        first = bisect_right(results, wanted.since, key=lambda each: each.finished_at)
        newest = results[max(first, len(results) - RUNS_IN_WINDOW_MAX) :][::-1]
        return tuple(newest[: fitting(len(each.body) if wanted.bodies else 0 for each in newest)])


def _detections(history: History, present: PolicyReplay, changed: PolicyReplay) -> list[Detection]:
    seen_before, seen_after = _first_seen(present), _first_seen(changed)
    found = []
    for endpoint_id, results in history.items():
        groups = [(ok, list(group)) for ok, group in groupby(results, key=lambda each: each.ok)]
        for place, (ok, group) in enumerate(groups):
            if ok:
                continue
            until = groups[place + 1][1][0].finished_at if place + 1 < len(groups) else None
            first = group[0].finished_at
            delays = [
                min((seen[each.run_id] for each in group if each.run_id in seen), default=None)
                for seen in (seen_before, seen_after)
            ]
            before, after = (None if at is None else max(0.0, (at - first).total_seconds()) for at in delays)
            found.append(Detection(endpoint_id, first, until, before, after))
    return sorted(found, key=lambda each: each.failed_at)


def _first_seen(replay: PolicyReplay) -> dict[str, datetime]:
    seen: dict[str, datetime] = {}
    for run in replay.runs:
        seen.setdefault(run.recorded_id, run.finished_at)
    return seen


def _due(endpoint: Endpoint) -> datetime | None:
    """The next run or the expiry of a hint, whichever is earlier."""
    hints = [hint.expires_at for hint in (endpoint.interval_hint, endpoint.one_shot_hint) if hint is not None]
    instants = [at for at in (endpoint.next_run_at, *hints) if at is not None]
    return min(instants, default=None)


def _key(fired: Fired) -> tuple[str, str, str, str]:
    return fired.endpoint_id, fired.rule, fired.does, fired.recorded_id


def _started(result: RuleResult) -> datetime:
    return result.finished_at - timedelta(milliseconds=result.duration_ms)

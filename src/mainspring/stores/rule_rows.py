"""Map rules to rows, and apply their firings to locked endpoints: what both databases share of the planner's page.

An exception while one rule is applied is recorded on its target; the other firings of the page continue.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.advice.proposal import StoredProposal
from mainspring.domain.endpoint import Endpoint
from mainspring.domain.errors import Conflict
from mainspring.domain.event import Event, EventType, StoredEvent
from mainspring.domain.rules.apply import OFF, SHADOW, RuleState, answer, author
from mainspring.domain.rules.judge import (
    Decisions,
    FactsWanted,
    FinishedRun,
    Health,
    HealthWanted,
    JudgedPage,
    RuleHealth,
    RuleResult,
    StoredRule,
    mode_of,
)
from mainspring.domain.rules.rule import Rule, mentions, reads_others
from mainspring.domain.rules.run_window import HEALTH_SPANS, RunWindow, fitting
from mainspring.domain.run import TIMEOUT_MS_MAX, RunStatus
from mainspring.domain.schedule.governor import CronReader
from mainspring.stores.rows import id_floor, stored_events

CURSOR = "rules"
PAGE_RUNS = 250  # as many as one transaction of a scheduler may write
SHADOW_PAGE = 200  # rows of events, each with the events of one transaction
LAST_RUN_ID = "run_~"  # after every id of a run
CLOCKS_DIFFER = timedelta(minutes=1)  # more is reported by `doctor`
RULES_KEPT = 10_000  # texts, a few hundred bytes each
WITHDRAWING = (SHADOW, OFF)  # modes in which nothing is applied, so nothing is pending either
_RULE = msgspec.json.Decoder(Rule)


def rule_values(stored: StoredRule, position: int) -> tuple[object, ...]:
    """In the order of the query `add_rule`; a rule of an endpoint follows it from job to job."""
    job_id = stored.job_id if stored.endpoint_id is None else None
    document = msgspec.json.encode(stored.rule).decode()
    return (
        stored.id, stored.tenant_id, job_id, stored.endpoint_id, position, stored.rule.name, document,
        reads_others(stored.rule), stored.created_at,
    )  # fmt: skip


def edited_values(stored: StoredRule) -> tuple[object, ...]:
    """In the order of the query `put_rule`."""
    document = msgspec.json.encode(stored.rule).decode()
    return stored.rule.name, document, reads_others(stored.rule), stored.id, stored.tenant_id


def stored_rule(row: Sequence[Any]) -> StoredRule:
    rule_id, tenant_id, job_id, endpoint_id, document, created_at = row
    return StoredRule(rule_id, tenant_id, job_id, endpoint_id, _rule(document), created_at)


@lru_cache(maxsize=RULES_KEPT)
def _rule(document: str) -> Rule:
    """Rules are read again at every page, and change rarely."""
    return _RULE.decode(document)


def missing_members(
    rules: Iterable[StoredRule], known: Collection[str]
) -> tuple[set[str], dict[str, set[str]], set[str]]:
    """Which endpoints rules are about besides the known ones: by id, by name in a job, and jobs of which all."""
    ids: set[str] = set()
    named: dict[str, set[str]] = {}
    whole: set[str] = set()
    for stored in rules:
        if stored.endpoint_id is not None and stored.endpoint_id not in known:
            ids.add(stored.endpoint_id)
        read = mentions(stored.rule.when)
        if read.all_siblings:
            whole.add(stored.job_id)
        names = read.sibling_names if stored.rule.target is None else {*read.sibling_names, stored.rule.target}
        if names:
            named.setdefault(stored.job_id, set()).update(names)
    return ids, {job_id: names for job_id, names in named.items() if job_id not in whole}, whole


def rule_states(rows: Iterable[Sequence[Any]]) -> dict[tuple[str, str], RuleState]:
    return {(row[0], row[1]): RuleState(*row[2:6]) for row in rows}


def result_from(row: Sequence[Any]) -> RuleResult:
    run_id, endpoint_id, status, status_code, finished_at, duration_ms, body, detail = row
    ok = status == RunStatus.SUCCESS
    return RuleResult(
        run_id, endpoint_id, ok, status, status_code, finished_at, duration_ms or 0, body or b"", detail or ""
    )


def window_ids(wanted: RunWindow) -> tuple[str, str]:
    """Two ids that enclose all runs of a window: ids were created when runs began, by clocks that may differ."""
    longest = timedelta(milliseconds=TIMEOUT_MS_MAX)
    return id_floor("run", wanted.since - longest - CLOCKS_DIFFER), id_floor("run", wanted.until + CLOCKS_DIFFER)


def last_id(wanted: FactsWanted) -> str:
    """The newest run that may be read: `upto`, or one that began by `until`."""
    if wanted.until is not None:
        return id_floor("run", wanted.until + timedelta(milliseconds=1))
    return wanted.upto or LAST_RUN_ID


def health_bounds(wanted: HealthWanted) -> tuple[object, ...]:
    """In the order of the query `health`; two ids enclose all its runs."""
    hour, four, day = (wanted.until - span for span in HEALTH_SPANS)
    ids = window_ids(RunWindow(wanted.endpoint_id, day, wanted.until, bodies=False))
    return hour, four, wanted.endpoint_id, *ids, day, wanted.until


def health_from(row: Sequence[Any]) -> Health:
    return RuleHealth(*row[:3]), RuleHealth(*row[3:6]), RuleHealth(*row[6:])


def chosen_rows(rows: Sequence[Sequence[Any]], wanted: RunWindow) -> Sequence[Sequence[Any]]:
    """Runs that a window may hold; the last column is the size of the body."""
    return rows[: fitting((row[6] if wanted.bodies else 0 for row in rows), wanted.runs_max)]


def finished_runs(stored: Iterable[StoredEvent]) -> tuple[FinishedRun, ...]:
    """The runs that ended with a call of the schedule; a test run changes nothing, so it fires no rule."""
    found = []
    for each in stored:
        event = each.event
        if event.type is EventType.RUN_FINISHED and event.data.get("trigger") != "test":
            failures = event.data.get("failures", 0)
            assert isinstance(failures, int)
            found.append(FinishedRun(event.tenant_id, event.endpoint_id, event.run_id, event.at, failures))
    return tuple(found)


def fired_in_shadow(texts: Iterable[str], endpoint_id: str | None) -> list[Event]:
    """What rules would have done, by rows of events, newest first; of one endpoint or all."""
    return [
        each.event
        for text in texts
        for each in reversed(stored_events([("", text)]))
        if each.event.type is EventType.RULE_FIRED
        and each.event.data.get("shadow") is True
        and endpoint_id in (None, each.event.endpoint_id)
    ]


def cut_page(rows: Iterable[tuple[str, str | None]]) -> tuple[str, tuple[FinishedRun, ...]]:
    """The runs of the first rows, up to some hundreds, and the position of the last row: a page must not take long."""
    place, runs = "", list[FinishedRun]()
    for place, text in rows:
        runs += () if text is None else finished_runs(stored_events([(place, text)]))
        if len(runs) >= PAGE_RUNS:
            break
    return place, tuple(runs)


class AppliedFirings(Struct, frozen=True):
    """Changed endpoints, events in the order of the firings, refused firings with reasons, and proposals."""

    changed: list[Endpoint]
    events: list[Event]
    refusals: dict[tuple[str, str], str]
    proposals: list[StoredProposal]


def apply_firings(
    locked: Iterable[Endpoint], decisions: Decisions, modes: Mapping[str, str], now: datetime, cron: CronReader
) -> AppliedFirings:
    before = {endpoint.id: endpoint for endpoint in locked}
    after = dict(before)
    events = list(decisions.events)
    refusals: dict[tuple[str, str], str] = {}
    proposals: list[StoredProposal] = []
    for firing in decisions.firings:
        target = after.get(firing.target_id)
        if target is None or target.tenant_id != firing.tenant_id:
            continue
        mode = mode_of(modes, target.tenant_id, target.id)
        if mode == OFF:  # switched off since the page was read
            continue
        try:
            change, refused = answer(replace(firing, mode=mode), target, now, cron)
        except Exception as fault:  # an exception of one rule concerns only that rule
            data: dict[str, object] = {"rule": firing.rule.name, "fault": f"{type(fault).__name__}: {fault}"[:500]}
            by = author(firing.rule)
            events.append(Event(EventType.RULE_FAULTY, now, target.tenant_id, target.id, firing.run_id, by, data))
            continue
        after[target.id] = change.endpoint
        events.extend(change.events)
        proposals.extend(change.proposals)
        refusals[firing.rule_id, target.id] = refused
    changed = [endpoint for endpoint in after.values() if endpoint != before[endpoint.id]]
    return AppliedFirings(changed, events, refusals, proposals)


def state_rows(
    page: JudgedPage, decisions: Decisions, refusals: Mapping[tuple[str, str], str], now: datetime
) -> list[tuple[object, ...]]:
    """What rules remember. A cooldown counts from when the action took effect; a refused action starts none."""
    rows: list[tuple[object, ...]] = []
    for key, state in decisions.states.items():
        refused = refusals.get(key, state.refused)
        fired_at = now if state.fired_at == page.now else state.fired_at
        if refusals.get(key):
            fired_at = page.states[key].fired_at if key in page.states else None
        rows.append((*key, state.streak, fired_at, state.fault, refused))
    return rows


def withdrawn_because(mode: str) -> str:
    return f"the planner's mode was set to {mode}"


def rule_taken(name: str) -> Conflict:
    return Conflict(
        f"another rule of this owner is named {name!r} already; remove it first, or choose another name",
        kind="rule",
        name=name,
    )

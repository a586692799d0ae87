"""Rules in rows, and their firings applied to locked endpoints: what both databases share of the planner's page.

Whatever throws while one rule is applied is told about its target; the other firings of the page go on.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

import msgspec
from msgspec.structs import replace

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.errors import Conflict
from mainspring.domain.event import Event, EventType, StoredEvent
from mainspring.domain.firing import OFF, RuleState, answer, author
from mainspring.domain.governor import CronReader
from mainspring.domain.rulebook import Decisions, FinishedRun, Page, Result, StoredRule, mode_of
from mainspring.domain.rules import Rule
from mainspring.domain.run import RunStatus
from mainspring.stores.rows import stored_events

CURSOR = "rules"
PAGE_RUNS = 250  # as many as one transaction of a scheduler may bring
SHADOW_PAGE = 200  # rows of events, each with what one transaction told
HEALTH_SPANS = (timedelta(hours=1), timedelta(hours=4), timedelta(hours=24))
RULES_KEPT = 10_000  # texts, a few hundred bytes each
_RULE = msgspec.json.Decoder(Rule)


def rule_values(stored: StoredRule, position: int) -> tuple[object, ...]:
    """In the order of the query `add_rule`; a rule of an endpoint follows it from job to job."""
    job_id = stored.job_id if stored.endpoint_id is None else None
    document = msgspec.json.encode(stored.rule).decode()
    return (
        stored.id, stored.tenant_id, job_id, stored.endpoint_id, position, stored.rule.name, document,
        stored.created_at,
    )  # fmt: skip


def edited_values(stored: StoredRule) -> tuple[object, ...]:
    """In the order of the query `put_rule`."""
    return stored.rule.name, msgspec.json.encode(stored.rule).decode(), stored.id, stored.tenant_id


def stored_rule(row: Sequence[Any]) -> StoredRule:
    rule_id, tenant_id, job_id, endpoint_id, document, created_at = row
    return StoredRule(rule_id, tenant_id, job_id, endpoint_id, _rule(document), created_at)


@lru_cache(maxsize=RULES_KEPT)
def _rule(document: str) -> Rule:
    """Rules are read again at every page, and change once in a while."""
    return _RULE.decode(document)


def rule_states(rows: Iterable[Sequence[Any]]) -> dict[tuple[str, str], RuleState]:
    return {(row[0], row[1]): RuleState(*row[2:6]) for row in rows}


def result_from(row: Sequence[Any]) -> Result:
    run_id, endpoint_id, status, status_code, finished_at, duration_ms, body, detail = row
    ok = status == RunStatus.SUCCESS
    return Result(
        run_id, endpoint_id, ok, status, status_code, finished_at, duration_ms or 0, body or b"", detail or ""
    )


def finished_runs(stored: Iterable[StoredEvent]) -> tuple[FinishedRun, ...]:
    """The runs that ended by a call of the schedule; a test run changes nothing, so it fires nothing."""
    found = []
    for each in stored:
        event = each.event
        if event.type is EventType.RUN_FINISHED and event.data.get("trigger") != "test":
            failures = event.data.get("failures", 0)
            assert isinstance(failures, int)
            found.append(FinishedRun(event.tenant_id, event.endpoint_id, event.run_id, event.at, failures))
    return tuple(found)


def fired_in_shadow(texts: Iterable[str], endpoint_id: str | None) -> list[Event]:
    """What rules would have done, by rows of events, newest first; of one endpoint or of all."""
    return [
        each.event
        for text in texts
        for each in reversed(stored_events([("", text)]))
        if each.event.type is EventType.RULE_FIRED
        and each.event.data.get("shadow") is True
        and endpoint_id in (None, each.event.endpoint_id)
    ]


def cut_page(rows: Iterable[tuple[str, str | None]]) -> tuple[str, tuple[FinishedRun, ...]]:
    """The runs of the first rows, up to some hundreds, and the last row's place: a page must not take long."""
    place, runs = "", list[FinishedRun]()
    for place, text in rows:
        runs += () if text is None else finished_runs(stored_events([(place, text)]))
        if len(runs) >= PAGE_RUNS:
            break
    return place, tuple(runs)


def apply_firings(
    locked: Iterable[Endpoint], decisions: Decisions, modes: Mapping[str, str], now: datetime, cron: CronReader
) -> tuple[list[Endpoint], list[Event], dict[tuple[str, str], str]]:
    """The endpoints that changed, everything to tell in the order of the firings, and which were refused, and why."""
    before = {endpoint.id: endpoint for endpoint in locked}
    after = dict(before)
    events = list(decisions.events)
    refusals: dict[tuple[str, str], str] = {}
    for firing in decisions.firings:
        target = after.get(firing.target_id)
        if target is None or target.tenant_id != firing.tenant_id:
            continue
        mode = mode_of(modes, target.tenant_id, target.id)
        if mode == OFF:  # switched off since the page was read
            continue
        try:
            change, refused = answer(replace(firing, mode=mode), target, now, cron)
        except Exception as fault:  # whatever one rule throws is that rule's alone
            data: dict[str, object] = {"rule": firing.rule.name, "fault": f"{type(fault).__name__}: {fault}"[:500]}
            by = author(firing.rule)
            events.append(Event(EventType.RULE_FAULTY, now, target.tenant_id, target.id, firing.run_id, by, data))
            continue
        after[target.id] = change.endpoint
        events.extend(change.events)
        refusals[firing.rule_id, target.id] = refused
    return [endpoint for endpoint in after.values() if endpoint != before[endpoint.id]], events, refusals


def state_rows(
    page: Page, decisions: Decisions, refusals: Mapping[tuple[str, str], str], now: datetime
) -> list[tuple[object, ...]]:
    """What rules remember. A cooldown counts from when the act took effect; an act that was refused starts none."""
    rows: list[tuple[object, ...]] = []
    for key, state in decisions.states.items():
        refused = refusals.get(key, state.refused)
        fired_at = now if state.fired_at == page.now else state.fired_at
        if refusals.get(key):
            fired_at = page.states[key].fired_at if key in page.states else None
        rows.append((*key, state.streak, fired_at, state.fault, refused))
    return rows


def rule_taken(name: str) -> Conflict:
    return Conflict(
        f"another rule of this owner is named {name!r} already; remove it first, or choose another name",
        kind="rule",
        name=name,
    )

"""The key `rules` of jobs and endpoints: conditions on responses and their actions.

If an entry has the key, its rules are exactly those listed, in that order; `rules: []` removes all. Without the key,
rules created elsewhere stay, unless undescribed rules are pruned. A rule is identified by its name: after a change it
still knows when it fired, so an edit does not end a cooldown.
"""

import asyncio
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from mainspring.documents.entries import EndpointEntry, JobEntry
from mainspring.documents.faults import SourcePlace
from mainspring.documents.plan import ARCHIVE, CHANGE, DocumentPlan, FieldChange, PlanStep, WantedEntry
from mainspring.domain.definition import check_minimum
from mainspring.domain.errors import InvalidInput, QuotaExceeded
from mainspring.domain.event import Event, EventType
from mainspring.domain.rules.judge import StoredRule
from mainspring.domain.rules.rule import KEYS, RULES_MAX, Rule, check_rule, read_rule, rule_document
from mainspring.operations.context import Desk
from mainspring.operations.documents import same_act


class RuleSection(Struct, frozen=True):
    """The owner of rules; an endpoint's rules follow it from job to job."""

    kind: str
    name: str
    job_id: str
    endpoint_id: str | None = None


async def plan_rules(plan: DocumentPlan, jobs: Sequence[WantedEntry], endpoints: Sequence[WantedEntry]) -> None:
    """Called when everything else is planned: rules refer to endpoints as they will be."""
    stored: dict[str, list[StoredRule]] = {}
    for known in await plan.desk.stores.planner.rules(plan.desk.tenant_id):
        stored.setdefault(known.stored.endpoint_id or known.stored.job_id, []).append(known.stored)
    members = _members(plan, endpoints)
    steps = {(step.kind, step.name): place for place, step in enumerate(plan.steps) if step.act != ARCHIVE}
    for each in jobs:
        await _turn(each)
        rules = _checked(plan, each, None, members.get(each.name, ()))
        job = plan.jobs.get(each.name)
        if rules is None or job is None or _stay(plan, each, "job", stored.get(job.id, [])):
            continue
        _plan_owner(plan, RuleSection("job", job.name, job.id), stored.get(job.id, []), rules, steps)
    ids = {name: endpoint_id for endpoint_id, name in plan.name_of.items()}
    seen = {endpoint.id: endpoint for endpoint in plan.endpoints}
    for each in endpoints:
        assert isinstance(each.entry, EndpointEntry)
        await _turn(each)
        rules = _checked(plan, each, each.name, members.get(each.entry.job_name, ()))
        endpoint_id = ids.get(each.name)
        if rules is None or endpoint_id is None or _stay(plan, each, "endpoint", stored.get(endpoint_id, [])):
            continue
        owner = RuleSection("endpoint", each.name, plan.job_of[endpoint_id], endpoint_id)
        is_changed = _plan_owner(plan, owner, stored.get(endpoint_id, []), rules, steps)
        if is_changed and endpoint_id in seen and endpoint_id not in plan.acts:
            plan.acts[endpoint_id] = same_act(seen[endpoint_id])


async def _turn(wanted: WantedEntry) -> None:
    """Yields to the event loop before the rules of an entry: checking one takes a millisecond."""
    assert isinstance(wanted.entry, JobEntry | EndpointEntry)
    if wanted.entry.rules:
        await asyncio.sleep(0)


async def exported_rules(desk: Desk) -> dict[str, list[dict[str, object]]]:
    """Rules as documents write them, by the id of their job or endpoint."""
    found: dict[str, list[dict[str, object]]] = {}
    for known in await desk.stores.planner.rules(desk.tenant_id):
        owner = known.stored.endpoint_id or known.stored.job_id
        found.setdefault(owner, []).append(rule_document(known.stored.rule))
    return found


def _stay(plan: DocumentPlan, wanted: WantedEntry, kind: str, stored: list[StoredRule]) -> bool:
    """Whether rules stay unchanged because the entry does not mention them; a remark reports their number."""
    if "rules" in wanted.entry.model_fields_set or plan.options.prune:
        return False
    if stored:
        count = "1 rule" if len(stored) == 1 else f"{len(stored)} rules"
        plan.notes.append(
            f"{kind} {wanted.name!r} keeps {count} that its entry does not describe; add them to the "
            "document, or remove them with `rules: []` or --prune"
        )
    return True


def _members(plan: DocumentPlan, endpoints: Sequence[WantedEntry]) -> dict[str, tuple[str, ...]]:
    """The names of each job's endpoints after the change, including those with an error."""
    jobs = {job.id: job.name for job in plan.jobs.values()}
    found: dict[str, dict[str, None]] = {}
    for endpoint_id, job_id in plan.job_of.items():
        found.setdefault(jobs[job_id], {})[plan.name_of[endpoint_id]] = None
    for each in endpoints:
        assert isinstance(each.entry, EndpointEntry)
        found.setdefault(each.entry.job_name, {})[each.name] = None
    return {job: tuple(names) for job, names in found.items()}


def _checked(plan: DocumentPlan, wanted: WantedEntry, owner: str | None, members: tuple[str, ...]) -> list[Rule] | None:
    """The rules of an entry; None if one has an error."""
    assert isinstance(wanted.entry, JobEntry | EndpointEntry)
    rules: dict[str, Rule] = {}
    is_good = True
    if len(wanted.entry.rules) > RULES_MAX:
        count = len(wanted.entry.rules)
        message = f"{count} rules exceed the maximum of {RULES_MAX} per endpoint or job; join some with ||"
        plan.fault(wanted.at("rules"), message)
        return None
    for number, document in enumerate(wanted.entry.rules):
        try:
            rule = read_rule(document, f"rule-{number + 1}")
            if rule.name in rules:
                raise InvalidInput(f"rule {rule.name!r} is given twice; rename one of them", field="name")
            check_rule(rule, owner, members)
            check_minimum(rule.interval_ms, plan.tenant)
            rules[rule.name] = rule
        except (InvalidInput, QuotaExceeded) as fault:
            field = fault.field if isinstance(fault, InvalidInput) else "interval"
            plan.fault(_place(wanted, number, field), str(fault))
            is_good = False
    return list(rules.values()) if is_good else None


def _place(wanted: WantedEntry, number: int, field: str) -> SourcePlace:
    if field in KEYS or field == "rule":
        return wanted.at("rules", number, field)
    return wanted.tree.key((*wanted.path, "rules", number, field))


def _plan_owner(
    plan: DocumentPlan,
    owner: RuleSection,
    stored: list[StoredRule],
    rules: list[Rule],
    steps: dict[tuple[str, str], int],
) -> bool:
    """Whether anything changes."""
    if [each.rule for each in stored] == rules:
        return False
    old = {each.rule.name: each for each in stored}
    plan.rules.extend((each, place) for place, each in enumerate(_stored(plan, owner, old, rules)))
    plan.removed_rules.extend(each.id for name, each in old.items() if name not in {rule.name for rule in rules})
    data: dict[str, object] = {"rules": [rule.name for rule in rules], "job": plan_job_name(plan, owner.job_id)}
    endpoint_id = owner.endpoint_id or ""
    plan.events.append(
        Event(EventType.RULES_CHANGED, plan.now, plan.desk.tenant_id, endpoint_id, "", plan.desk.actor, data)
    )
    fields = _changes(old, rules)
    place = steps.get((owner.kind, owner.name))
    if place is None:
        plan.unchanged -= 1
        plan.steps.append(PlanStep(CHANGE, owner.kind, owner.name, fields))
    else:
        step = plan.steps[place]
        plan.steps[place] = replace(step, fields=step.fields + fields)
    return True


def plan_job_name(plan: DocumentPlan, job_id: str) -> str:
    return next(job.name for job in plan.jobs.values() if job.id == job_id)


def _stored(plan: DocumentPlan, owner: RuleSection, old: dict[str, StoredRule], rules: list[Rule]) -> list[StoredRule]:
    """Rules are stored in the order of creation: if a new one goes before an old one, all are created again."""
    made = [old[rule.name].created_at if rule.name in old else plan.now for rule in rules]
    if made != sorted(made):
        made = [plan.now] * len(rules)
    return [
        StoredRule(
            old[rule.name].id if rule.name in old else plan.desk.ids.new("rule", plan.now),
            plan.desk.tenant_id,
            owner.job_id,
            owner.endpoint_id,
            rule,
            at,
        )
        for rule, at in zip(rules, made, strict=True)
    ]


def _changes(old: dict[str, StoredRule], rules: list[Rule]) -> tuple[FieldChange, ...]:
    new = {rule.name: rule for rule in rules}
    found = []
    for name in [*old, *(name for name in new if name not in old)]:
        before = _said(old[name].rule) if name in old else None
        after = _said(new[name]) if name in new else None
        if before != after:
            found.append(FieldChange(f"rules.{name}", before, after))
    return tuple(found) or (FieldChange("rules", list(old), list(new)),)  # only their order changed


def _said(rule: Rule) -> dict[str, object]:
    return {key: value for key, value in rule_document(rule).items() if key != "name"}

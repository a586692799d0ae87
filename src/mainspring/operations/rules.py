"""What a user may ask for about rules and the planner's mode: checked against the job they belong to, then stored."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.definition import check_minimum
from mainspring.domain.endpoint import Endpoint, Job
from mainspring.domain.errors import Conflict, InvalidInput, NotFound
from mainspring.domain.event import Event, EventType
from mainspring.domain.firing import MODES
from mainspring.domain.name import shown
from mainspring.domain.rulebook import (
    Decisions,
    Facts,
    FinishedRun,
    Page,
    Result,
    StoredRule,
    Tested,
    Want,
    decide,
    member_of,
)
from mainspring.domain.rules import HISTORY_MAX, RULES_MAX, Rule, check_rule, mentions, read_rule, rule_document
from mainspring.operations.endpoints import Desk, find_endpoint, tenant_of
from mainspring.ports.endpoints import EndpointFilter
from mainspring.ports.planner import KnownRule, PlannerStore

MEMBERS_MAX = 10_000
TEST_RUNS_MAX = 1_000
_NAMED = re.compile(r"^rule '[^']*': ")


class Owner(Struct, frozen=True):
    """To whom rules belong: an endpoint, or a whole job; and who is in that job."""

    job: Job
    endpoint: Endpoint | None
    members: tuple[Endpoint, ...]

    @property
    def name(self) -> str | None:
        return None if self.endpoint is None else self.endpoint.name


class RuleFault(Struct, frozen=True):
    """What is wrong with one of the rules that were given; `line` where it is known."""

    path: str  # rules[1].interval
    message: str
    line: int | None = None

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}" if self.line else self.message


class InvalidRules(InvalidInput):
    """Rules of which some are refused; `faults` has one of each."""

    def __init__(self, faults: Sequence[RuleFault]) -> None:
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        super().__init__(f"{faults[0].message}{more}", field=faults[0].path.partition(".")[2] or "rule")
        self.faults = tuple(faults)


async def find_owner(desk: Desk, endpoint: str | None, job: str | None) -> Owner:
    jobs = await desk.stores.endpoints.jobs(desk.tenant_id)
    if endpoint is not None:
        found = await find_endpoint(desk, endpoint)
        group = next(each for each in jobs if each.id == found.job_id)
    else:
        found = None
        match = next((each for each in jobs if job in (each.id, each.name)), None)
        if match is None:
            raise NotFound("job", job or "", tuple(each.name for each in jobs))
        group = match
    wanted = EndpointFilter(job_id=group.id, limit=MEMBERS_MAX)
    return Owner(group, found, tuple(await desk.stores.endpoints.endpoints(desk.tenant_id, wanted)))


def check_rules(documents: Sequence[object], owner: Owner, taken: Sequence[str] = ()) -> list[Rule]:
    """Read and check rules as they would be added; InvalidRules has a fault of each that is refused."""
    names = tuple(member.name for member in owner.members)
    used = set(taken)

    def check(document: object, _: int) -> Rule:
        number = next(n for n in range(1, RULES_MAX + len(used) + 2) if f"rule-{n}" not in used)
        rule = read_rule(document, f"rule-{number}")
        if rule.name in used:
            raise Conflict(
                f"another rule of this owner is named {rule.name!r} already; remove it first, or choose another name",
                kind="rule",
                name=rule.name,
            )
        used.add(rule.name)
        check_rule(rule, owner.name, names)
        return rule

    rules = _each(documents, check)
    if len(used) > RULES_MAX:
        raise InvalidInput(
            f"{len(used)} rules are more than the {RULES_MAX} that an endpoint or job may have; join some with ||",
            field="rules",
        )
    return rules


def check_loose_rules(documents: Sequence[object]) -> list[Rule]:
    """Check rules that belong to nobody yet: names of siblings and targets are taken as they are."""

    def check(document: object, number: int) -> Rule:
        rule = read_rule(document, f"rule-{number}")
        named = {*mentions(rule.when).sibling_names, *([rule.target] if rule.target else [])}
        check_rule(rule, "", tuple(named))
        return rule

    return _each(documents, check)


def _each(documents: Sequence[object], check: Callable[[object, int], Rule]) -> list[Rule]:
    """All of them checked, each with its number from 1; of several, a fault names the one that it is of."""
    rules, faults = [], []
    for number, document in enumerate(documents, 1):
        try:
            rules.append(check(document, number))
        except InvalidInput as fault:
            name = document.get("name") if isinstance(document, Mapping) else None
            whose = f"rule '{shown(name)}'" if isinstance(name, str) else f"rule {number}"
            told = _NAMED.sub("", str(fault))  # one without a name would be called by the next free one
            place = f"rules[{number - 1}]" + ("" if fault.field == "rule" else f".{fault.field}")
            faults.append(RuleFault(place, str(fault) if len(documents) == 1 else f"{whose}: {told}"))
    if faults:
        raise InvalidRules(faults)
    return rules


async def find_rule(desk: Desk, rule_id: str) -> tuple[KnownRule, Owner]:
    """A rule by its id, and whose it is."""
    for known in await desk.stores.planner.rules(desk.tenant_id):
        if known.stored.id == rule_id:
            stored = known.stored
            return known, await find_owner(desk, stored.endpoint_id, stored.job_id)
    raise NotFound("rule", rule_id)


async def edit_rule(desk: Desk, rule_id: str, wanted: Mapping[str, object]) -> KnownRule:
    """Change what is named; None takes it away. It counts runs afresh, and its cooldown goes on."""
    known, owner = await find_rule(desk, rule_id)
    named = rule_document(known.stored.rule) | dict(wanted)
    document = {key: value for key, value in named.items() if value is not None}
    others = [each.stored.rule.name for each in await rules_of(desk, owner) if each.stored.id != rule_id]
    (rule,) = check_rules([document], owner, others)
    check_minimum(rule.interval_ms, await tenant_of(desk))
    edited = replace(known.stored, rule=rule)
    now = await desk.stores.schedule.now()
    data: dict[str, object] = {"changed": [rule.name], "job": owner.job.name}
    event = Event(EventType.RULES_CHANGED, now, desk.tenant_id, edited.endpoint_id or "", "", desk.actor, data)
    if not await desk.stores.planner.put_rule(edited, event):
        raise NotFound("rule", rule_id)
    return KnownRule(edited, known.owner, {at: replace(each, streak=0, fault="") for at, each in known.states.items()})


async def add_rules(desk: Desk, owner: Owner, documents: Sequence[object]) -> list[StoredRule]:
    """Checked all, then stored all; they judge runs that finish from now on."""
    rules = check_rules(documents, owner, [known.stored.rule.name for known in await rules_of(desk, owner)])
    tenant = await tenant_of(desk)
    for rule in rules:
        check_minimum(rule.interval_ms, tenant)
    now = await desk.stores.schedule.now()
    endpoint_id = None if owner.endpoint is None else owner.endpoint.id
    stored = [
        StoredRule(desk.ids.new("rule", now), desk.tenant_id, owner.job.id, endpoint_id, rule, now) for rule in rules
    ]
    data: dict[str, object] = {"added": [rule.name for rule in rules], "job": owner.job.name}
    event = Event(EventType.RULES_CHANGED, now, desk.tenant_id, endpoint_id or "", "", desk.actor, data)
    await desk.stores.planner.add_rules(stored, event)
    return stored


async def remove_rules(desk: Desk, owner: Owner, names: Sequence[str]) -> list[str]:
    """Remove rules by name or id; without names, all of the owner's. What they have written stays until it expires."""
    known = await rules_of(desk, owner)
    chosen = [each.stored for each in known if not names or {each.stored.rule.name, each.stored.id} & set(names)]
    found = {name for each in chosen for name in (each.rule.name, each.id)}
    for name in names:
        if name not in found:
            raise NotFound("rule", name, tuple(each.stored.rule.name for each in known))
    now = await desk.stores.schedule.now()
    endpoint_id = "" if owner.endpoint is None else owner.endpoint.id
    removed = [each.rule.name for each in chosen]
    data: dict[str, object] = {"removed": removed, "job": owner.job.name}
    event = Event(EventType.RULES_CHANGED, now, desk.tenant_id, endpoint_id, "", desk.actor, data)
    await desk.stores.planner.remove_rules(desk.tenant_id, [each.id for each in chosen], event)
    return removed


async def rules_of(desk: Desk, owner: Owner) -> list[KnownRule]:
    endpoint_id = None if owner.endpoint is None else owner.endpoint.id
    known = await desk.stores.planner.rules(desk.tenant_id, owner.job.id)
    return [each for each in known if each.stored.endpoint_id == endpoint_id]


async def rehearse_rules(desk: Desk, owner: Owner, rules: Sequence[Rule], count: int) -> list[Tested]:
    """What rules would have done at the recorded runs they read, oldest first; nothing is written.

    Runs of all the job's endpoints are replayed in the order in which they ended, each with what was known by then.
    """
    most = min(max(count, 1), TEST_RUNS_MAX) + HISTORY_MAX
    facts = await desk.stores.planner.facts([Want(member.id, most, headers=True) for member in owner.members])
    now = await desk.stores.schedule.now()
    endpoint_id = None if owner.endpoint is None else owner.endpoint.id
    stored = tuple(
        StoredRule(f"rule_{place}", desk.tenant_id, owner.job.id, endpoint_id, rule, owner.job.created_at)
        for place, rule in enumerate(rules)
    )
    everything = sorted(
        (result for results in facts.results.values() for result in results),
        key=lambda each: (each.finished_at, each.run_id),
    )
    states: dict[tuple[str, str], object] = {}
    tested: list[Tested] = []
    names = {member.id: member.name for member in owner.members}
    failures: dict[str, int] = {}
    for result in everything:
        failures[result.endpoint_id] = 0 if result.ok else failures.get(result.endpoint_id, 0) + 1
        page = _page_of(desk, owner, stored, result, failures, states, now)
        decisions = decide(page, _known_by(facts, result))
        states.update(decisions.states)
        tested.append(_tested(result, names[result.endpoint_id], decisions))
    return tested[-count:]


def _page_of(
    desk: Desk,
    owner: Owner,
    stored: tuple[StoredRule, ...],
    result: Result,
    failures: dict[str, int],
    states: dict[tuple[str, str], object],
    now: datetime,
) -> Page:
    members = tuple(member_of(each, failures.get(each.id, 0)) for each in owner.members)
    run = FinishedRun(
        desk.tenant_id, result.endpoint_id, result.run_id, result.finished_at, failures[result.endpoint_id]
    )
    return Page("", "", min(result.finished_at, now), (run,), stored, members, states, {})  # type: ignore[arg-type]  # states that `decide` gave


def _known_by(facts: Facts, result: Result) -> Facts:
    """Only what had ended when this run did."""
    return Facts(
        {
            endpoint_id: tuple(each for each in results if each.finished_at <= result.finished_at)
            for endpoint_id, results in facts.results.items()
        },
        {},
    )


def _tested(result: Result, endpoint: str, decisions: Decisions) -> Tested:
    fired = tuple(firing.rule.name for firing in decisions.firings)
    faults = tuple(f"{event.data['rule']}: {event.data['fault']}" for event in decisions.events)
    return Tested(result.run_id, endpoint, result.finished_at, fired, faults)


async def set_mode(desk: Desk, scope: str, mode: str) -> None:
    """Live, shadow or off for `all`, `tenant` or an endpoint by name; the strictest of the three holds."""
    if mode not in MODES:
        raise InvalidInput(f"mode '{mode}' is not known; give live, shadow or off", field="mode", value=mode)
    now = await desk.stores.schedule.now()
    if scope == "all":
        key, endpoint_id = "all", ""
    elif scope == "tenant":
        key, endpoint_id = f"tenant:{desk.tenant_id}", ""
    else:
        endpoint_id = (await find_endpoint(desk, scope)).id
        key = f"endpoint:{endpoint_id}"
    data: dict[str, object] = {"scope": scope, "mode": mode}
    event = Event(EventType.PLANNER_MODE_SET, now, desk.tenant_id, endpoint_id, "", desk.actor, data)
    await desk.stores.planner.set_mode(key, mode, event)


def rehearsed(desk: Desk) -> Desk:
    """A desk at which rules and modes are checked as usual, and nothing is written."""
    return replace(desk, stores=replace(desk.stores, planner=_Rehearsed(desk.stores.planner)))


class _Rehearsed:
    """A PlannerStore that reads from a real one and writes nothing."""

    def __init__(self, real: PlannerStore) -> None:
        self.next_page, self.facts, self.rules = real.next_page, real.facts, real.rules
        self.commit_page, self.wait_for_runs = real.commit_page, real.wait_for_runs
        self._modes = real.modes
        self._wanted: dict[str, str] = {}

    async def add_rules(self, rules: Sequence[StoredRule], event: Event) -> None:
        """They are not kept."""

    async def put_rule(self, stored: StoredRule, event: Event) -> bool:
        return True

    async def remove_rules(self, tenant_id: str, ids: Sequence[str], event: Event) -> int:
        return len(ids)

    async def modes(self) -> dict[str, str]:
        return await self._modes() | self._wanted

    async def set_mode(self, scope: str, mode: str, event: Event) -> None:
        self._wanted[scope] = mode

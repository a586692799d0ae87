"""Operations on rules and the planner mode. Rules are checked against their job, then stored."""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import islice, takewhile

from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.definition import check_minimum
from mainspring.domain.endpoint import Endpoint, Job
from mainspring.domain.errors import Conflict, InvalidInput, NotFound
from mainspring.domain.event import Event, EventType
from mainspring.domain.name import shown
from mainspring.domain.rules.apply import MODES, MODES_IN_WORDS
from mainspring.domain.rules.health_sums import HealthSums
from mainspring.domain.rules.judge import (
    Decisions,
    FactsWanted,
    FinishedRun,
    Health,
    JudgedPage,
    RuleFacts,
    RuleResult,
    StoredRule,
    Tested,
    decide,
    member_of,
)
from mainspring.domain.rules.rule import HISTORY_MAX, RULES_MAX, Rule, check_rule, mentions, read_rule, rule_document
from mainspring.domain.rules.run_window import HEALTH_SPANS, RunWindow, fitting, spans_of
from mainspring.domain.rules.run_window import RUNS_MAX as RUNS_IN_WINDOW_MAX
from mainspring.operations.context import Desk
from mainspring.operations.endpoints import find_endpoint, tenant_of
from mainspring.ports.endpoints import EndpointFilter
from mainspring.ports.planner import PlannerStore, RuleRevision

MEMBERS_MAX = 10_000
TEST_RUNS_MAX = 1_000
RESULTS_MAX = 50_000  # of all endpoints together
REPLAYED_MAX = 10_000  # of them, the newest
REHEARSAL_S = 30.0
BODIES_BYTES_MAX = 200_000_000  # of all endpoints together, estimated from the newest: they are in memory meanwhile
SAMPLE = 50
HEALTH_RUNS_MAX = 200_000  # of all endpoints together: more than a day of one that runs every second
_NAMED = re.compile(r"^rule '[^']*': ")


RunEndings = dict[str, tuple[tuple[datetime, bool, int], ...]]
"""Of each endpoint, the runs that its health counts: when each finished, whether it succeeded, how long it took."""


class RuleOwner(Struct, frozen=True):
    """The owner of rules: an endpoint or a whole job, with the endpoints of that job."""

    job: Job
    endpoint: Endpoint | None
    members: tuple[Endpoint, ...]

    @property
    def name(self) -> str | None:
        return None if self.endpoint is None else self.endpoint.name


class RuleFault(Struct, frozen=True):
    """An error in one of the given rules; `line` if known."""

    path: str  # rules[1].interval
    message: str
    line: int | None = None

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}" if self.line else self.message


class InvalidRules(InvalidInput):
    """Some rules are refused; `faults` has one error per refused rule."""

    def __init__(self, faults: Sequence[RuleFault]) -> None:
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        super().__init__(f"{faults[0].message}{more}", field=faults[0].path.partition(".")[2] or "rule")
        self.faults = tuple(faults)


async def find_owner(desk: Desk, endpoint: str | None, job: str | None) -> RuleOwner:
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
    return RuleOwner(group, found, tuple(await desk.stores.endpoints.endpoints(desk.tenant_id, wanted)))


async def check_rules(documents: Sequence[object], owner: RuleOwner, taken: Sequence[str] = ()) -> list[Rule]:
    """Reads and checks rules as they would be added. InvalidRules has one error per refused rule."""
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

    rules = await _each(documents, check)
    if len(used) > RULES_MAX:
        raise InvalidInput(
            f"{len(used)} rules exceed the maximum of {RULES_MAX} per endpoint or job; join some with ||",
            field="rules",
        )
    return rules


async def check_loose_rules(documents: Sequence[object]) -> list[Rule]:
    """Checks rules without an owner: names of siblings and targets are accepted as given."""

    def check(document: object, number: int) -> Rule:
        rule = read_rule(document, f"rule-{number}")
        named = {*mentions(rule.when).sibling_names, *([rule.target] if rule.target else [])}
        check_rule(rule, "", tuple(named))
        return rule

    return await _each(documents, check)


async def _each(documents: Sequence[object], check: Callable[[object, int], Rule]) -> list[Rule]:
    """All rules checked, each with its number from 1; errors name the rule."""
    rules, faults = [], []
    for number, document in enumerate(documents, 1):
        await asyncio.sleep(0)  # compiling one takes some milliseconds: other tasks run in between
        try:
            rules.append(check(document, number))
        except InvalidInput as fault:
            name = document.get("name") if isinstance(document, Mapping) else None
            whose = f"rule '{shown(name)}'" if isinstance(name, str) else f"rule {number}"
            told = _NAMED.sub("", str(fault))  # one without a name gets the next free name
            place = f"rules[{number - 1}]" + ("" if fault.field == "rule" else f".{fault.field}")
            faults.append(RuleFault(place, str(fault) if len(documents) == 1 else f"{whose}: {told}"))
    if faults:
        raise InvalidRules(faults)
    return rules


async def find_rule(desk: Desk, rule_id: str) -> tuple[RuleRevision, RuleOwner]:
    """A rule by its id, and its owner."""
    for known in await desk.stores.planner.rules(desk.tenant_id):
        if known.stored.id == rule_id:
            stored = known.stored
            return known, await find_owner(desk, stored.endpoint_id, stored.job_id)
    raise NotFound("rule", rule_id)


async def edit_rule(desk: Desk, rule_id: str, wanted: Mapping[str, object]) -> RuleRevision:
    """Changes the named fields; None removes one. The count of runs restarts, and the cooldown continues."""
    known, owner = await find_rule(desk, rule_id)
    named = rule_document(known.stored.rule) | dict(wanted)
    document = {key: value for key, value in named.items() if value is not None}
    others = [each.stored.rule.name for each in await rules_of(desk, owner) if each.stored.id != rule_id]
    (rule,) = await check_rules([document], owner, others)
    check_minimum(rule.interval_ms, await tenant_of(desk))
    edited = replace(known.stored, rule=rule)
    now = await desk.stores.schedule.now()
    data: dict[str, object] = {"changed": [rule.name], "job": owner.job.name}
    event = Event(EventType.RULES_CHANGED, now, desk.tenant_id, edited.endpoint_id or "", "", desk.actor, data)
    if not await desk.stores.planner.put_rule(edited, event):
        raise NotFound("rule", rule_id)
    return RuleRevision(
        edited, known.owner, {at: replace(each, streak=0, fault="") for at, each in known.states.items()}
    )


async def add_rules(desk: Desk, owner: RuleOwner, documents: Sequence[object]) -> list[StoredRule]:
    """Checks all, then stores all; they judge runs that finish from now on."""
    rules = await check_rules(documents, owner, [known.stored.rule.name for known in await rules_of(desk, owner)])
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


async def remove_rules(desk: Desk, owner: RuleOwner, names: Sequence[str]) -> list[str]:
    """Removes rules by name or id; without names, all of the owner's. Their hints and pauses stay until they expire."""
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


async def rules_of(desk: Desk, owner: RuleOwner) -> list[RuleRevision]:
    endpoint_id = None if owner.endpoint is None else owner.endpoint.id
    known = await desk.stores.planner.rules(desk.tenant_id, owner.job.id, endpoint_id)
    return [each for each in known if each.stored.endpoint_id == endpoint_id]


async def try_rules(desk: Desk, owner: RuleOwner, rules: Sequence[Rule], count: int) -> list[Tested]:
    """What rules would have done at the recorded runs they read, oldest first; nothing is written.

    Runs of all the job's endpoints are replayed in the order in which they ended, each with what was known by then.
    """
    past = RUNS_IN_WINDOW_MAX if any(spans_of(rule.when) for rule in rules) else HISTORY_MAX
    most = await share_of(desk, owner, min(max(count, 1), TEST_RUNS_MAX) + past)
    facts = await desk.stores.planner.facts([FactsWanted(member.id, most, headers=True) for member in owner.members])
    endings = await _endings(desk, owner, rules, facts)
    now = await desk.stores.schedule.now()
    return await desk.sandbox.call_within(
        REHEARSAL_S, desk.tenant_id, replay_rules, desk.tenant_id, owner, tuple(rules), facts, endings, now, count
    )


async def _endings(desk: Desk, owner: RuleOwner, rules: Sequence[Rule], facts: RuleFacts) -> RunEndings:
    """The results that count for health at the replayed runs, including those of the day before, without bodies."""
    if not any("health" in mentions(rule.when).names for rule in rules):
        return {}
    judged = [owner.endpoint] if owner.endpoint is not None else owner.members
    most = max(1, HEALTH_RUNS_MAX // max(1, len(judged)))
    replayed = [result.finished_at for results in facts.results.values() for result in results]
    if not replayed:
        return {}
    since, until = min(replayed) - HEALTH_SPANS[-1], max(replayed)
    endings: RunEndings = {}
    for member in judged:
        found = await desk.stores.planner.window(RunWindow(member.id, since, until, bodies=False, runs_max=most))
        endings[member.id] = tuple((each.finished_at, each.ok, each.duration_ms) for each in found)
    return endings


async def share_of(desk: Desk, owner: RuleOwner, wanted: int) -> int:
    """How many runs of each endpoint are read: the requested number, unless they would not fit into memory."""
    most = min(wanted, max(1, RESULTS_MAX // max(1, len(owner.members))))
    if most <= SAMPLE:
        return most
    facts = await desk.stores.planner.facts([FactsWanted(member.id, SAMPLE) for member in owner.members])
    size = sum(max((len(each.body) for each in results), default=0) for results in facts.results.values())
    return max(SAMPLE, min(most, BODIES_BYTES_MAX // max(1, size)))


def replay_rules(
    tenant_id: str,
    owner: RuleOwner,
    rules: tuple[Rule, ...],
    facts: RuleFacts,
    endings: RunEndings,
    now: datetime,
    count: int,
) -> list[Tested]:
    """The replay itself, in a child process: its time grows with the number of runs and rules."""
    endpoint_id = None if owner.endpoint is None else owner.endpoint.id
    stored = tuple(
        StoredRule(f"rule_{place}", tenant_id, owner.job.id, endpoint_id, rule, owner.job.created_at)
        for place, rule in enumerate(rules)
    )
    everything = sorted(
        (result for results in facts.results.values() for result in results),
        key=lambda each: (each.finished_at, each.run_id),
    )[-REPLAYED_MAX:]
    states: dict[tuple[str, str], object] = {}
    tested: list[Tested] = []
    names = {member.id: member.name for member in owner.members}
    failures: dict[str, int] = {}
    members = {each.id: member_of(each, 0) for each in owner.members}
    endpoints = {each.id: each for each in owner.members}
    history = _History(facts, endings)
    for result in everything:
        failures[result.endpoint_id] = 0 if result.ok else failures.get(result.endpoint_id, 0) + 1
        members[result.endpoint_id] = member_of(endpoints[result.endpoint_id], failures[result.endpoint_id])
        run = FinishedRun(
            tenant_id, result.endpoint_id, result.run_id, result.finished_at, failures[result.endpoint_id]
        )
        page = JudgedPage(
            "", "", min(result.finished_at, now), (run,), stored, tuple(members.values()),
            states, {},  # type: ignore[arg-type]  # states that `decide` gave
        )  # fmt: skip
        decisions = decide(page, history.known_at(result.finished_at), history.window)
        states.update(decisions.states)
        tested.append(_tested(result, names[result.endpoint_id], decisions))
    return tested[-count:]


class _History:
    """What had ended by a time, which only advances: newest first per endpoint, as rules read it."""

    def __init__(self, facts: RuleFacts, endings: RunEndings) -> None:
        self._health = {endpoint_id: HealthSums() for endpoint_id in endings}
        self._endings = {endpoint_id: sorted(found, reverse=True) for endpoint_id, found in endings.items()}
        self._known: dict[str, tuple[RuleResult, ...]] = dict.fromkeys(facts.results, ())
        self._coming = sorted(
            (result for results in facts.results.values() for result in results),
            key=lambda each: each.finished_at,
            reverse=True,
        )

    def known_at(self, at: datetime) -> RuleFacts:
        while self._coming and self._coming[-1].finished_at <= at:
            result = self._coming.pop()
            self._known[result.endpoint_id] = (result, *self._known[result.endpoint_id])
        return RuleFacts(self._known, {endpoint_id: self._health_of(endpoint_id, at) for endpoint_id in self._health})

    def _health_of(self, endpoint_id: str, at: datetime) -> Health:
        coming, sums = self._endings[endpoint_id], self._health[endpoint_id]
        while coming and coming[-1][0] <= at:
            sums.add(*coming.pop())
        return sums.at(at)

    def window(self, wanted: RunWindow) -> tuple[RuleResult, ...]:
        """The facts as a store reads them, from the runs known so far."""
        within = takewhile(lambda each: each.finished_at > wanted.since, self._known[wanted.endpoint_id])
        newest = tuple(islice(within, RUNS_IN_WINDOW_MAX))
        return newest[: fitting(len(each.body) if wanted.bodies else 0 for each in newest)]


def _tested(result: RuleResult, endpoint: str, decisions: Decisions) -> Tested:
    fired = tuple(firing.rule.name for firing in decisions.firings)
    faults = tuple(f"{event.data['rule']}: {event.data['fault']}" for event in decisions.events)
    return Tested(result.run_id, endpoint, result.finished_at, fired, faults)


async def set_mode(desk: Desk, scope: str, mode: str) -> None:
    """Sets live, ask, shadow or off for `all`, `tenant` or an endpoint by name; the strictest of the three applies.

    In shadow mode and off, pending proposals are withdrawn.
    """
    if mode not in MODES:
        raise InvalidInput(f"mode '{mode}' is unknown; give {MODES_IN_WORDS}", field="mode", value=mode)
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


def dry_run_of(desk: Desk) -> Desk:
    """A desk at which rules and modes are checked as usual, and nothing is written."""
    return replace(desk, stores=replace(desk.stores, planner=_DryRunRules(desk.stores.planner)))


class _DryRunRules:
    """A PlannerStore that reads from a real one and writes nothing."""

    def __init__(self, real: PlannerStore) -> None:
        self.next_page, self.facts, self.rules = real.next_page, real.facts, real.rules
        self.window, self.health = real.window, real.health
        self.commit_page, self.commit_advice, self.wait_for_runs = (
            real.commit_page,
            real.commit_advice,
            real.wait_for_runs,
        )
        self._modes = real.modes
        self._wanted: dict[str, str] = {}

    async def add_rules(self, rules: Sequence[StoredRule], event: Event) -> None:
        """Does not store them."""

    async def put_rule(self, stored: StoredRule, event: Event) -> bool:
        return True

    async def remove_rules(self, tenant_id: str, ids: Sequence[str], event: Event) -> int:
        return len(ids)

    async def modes(self) -> dict[str, str]:
        return await self._modes() | self._wanted

    async def set_mode(self, scope: str, mode: str, event: Event) -> None:
        self._wanted[scope] = mode

"""A page of finished runs through the rules of their jobs: who is judged, with which facts, and what follows. Pure.

    1 want      which endpoints' runs must be read to judge this page
    2 decide    run by run, rule by rule: judge, count, fire

The worker reads and writes; nothing here does. The same page and facts give the same decisions, in the same order.
"""

from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping
from datetime import datetime

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.condition import parse_bounded
from mainspring.domain.endpoint import POWERS, Endpoint, Power
from mainspring.domain.event import Event, EventType
from mainspring.domain.firing import LIVE, OFF, SHADOW, Firing, RuleState, author, counted, is_ripe
from mainspring.domain.instant import rfc3339
from mainspring.domain.rules import HISTORY_MAX, OWN, Rule, Seen, concerns, judge, mentions

NO_STATE = RuleState()


class StoredRule(Struct, frozen=True):
    """`endpoint_id` is None for a rule of the whole job."""

    id: str
    tenant_id: str
    job_id: str
    endpoint_id: str | None
    rule: Rule
    created_at: datetime


class FinishedRun(Struct, frozen=True):
    """That a run ended, in the order in which runs did."""

    tenant_id: str
    endpoint_id: str
    run_id: str
    at: datetime
    failures: int = 0  # in a row, this one included


class Member(Struct, frozen=True):
    """An endpoint of a job, as its siblings see it."""

    id: str
    tenant_id: str
    job_id: str
    name: str
    paused_until: datetime | None
    failures: int = 0
    advice: str = ",".join(POWERS)  # what its owner lets advice do
    cron: str | None = None
    interval_ms: int | None = None
    hint_ms: int | None = None
    hint_until: datetime | None = None

    @property
    def may_reach(self) -> bool:
        """Whether its rules may act on its siblings."""
        return Power.SIBLINGS in self.advice.split(",")


class Result(Struct, frozen=True):
    """A finished run as rules see it."""

    run_id: str
    endpoint_id: str
    ok: bool
    status: str
    status_code: int | None
    finished_at: datetime
    duration_ms: int
    body: bytes
    detail: str = ""  # with the response headers, where a rule reads them


class Health(Struct, frozen=True):
    """Finished runs of a span; a rate of no runs is None, never 0."""

    runs: int
    successes: int
    duration_ms: float | None

    @property
    def rate(self) -> float | None:
        return self.successes / self.runs if self.runs else None


class Want(Struct, frozen=True):
    """What to read about an endpoint: its newest results, and its health where a rule reads it."""

    endpoint_id: str
    results: int
    health: bool = False
    headers: bool = False


class Facts(Struct, frozen=True):
    """Results newest first, and health over 1, 4 and 24 hours, by endpoint."""

    results: Mapping[str, tuple[Result, ...]]
    health: Mapping[str, tuple[Health, Health, Health]]


class Page(Struct, frozen=True):
    """Finished runs that no rule has judged yet, and everything the rules of their jobs start from."""

    cursor: str
    upto: str
    now: datetime
    runs: tuple[FinishedRun, ...]
    rules: tuple[StoredRule, ...]
    members: tuple[Member, ...]
    states: Mapping[tuple[str, str], RuleState]
    modes: Mapping[str, str]


class Decisions(Struct, frozen=True):
    firings: tuple[Firing, ...]
    states: Mapping[tuple[str, str], RuleState]
    events: tuple[Event, ...]


class Tested(Struct, frozen=True):
    """One recorded run and which rules would have fired at it."""

    run_id: str
    endpoint: str  # its name
    at: datetime
    fired: tuple[str, ...]
    faults: tuple[str, ...]


def mode_of(modes: Mapping[str, str], tenant_id: str, endpoint_id: str) -> str:
    """The strictest of what is set for everything, the tenant and the endpoint."""
    said = {modes.get("all"), modes.get(f"tenant:{tenant_id}"), modes.get(f"endpoint:{endpoint_id}")}
    return OFF if OFF in said else SHADOW if SHADOW in said else LIVE


def want(page: Page) -> list[Want]:
    by_id = {member.id: member for member in page.members}
    names = {(member.job_id, member.name): member.id for member in page.members}
    wanted: dict[str, tuple[int, bool, bool]] = {}

    def add(endpoint_id: str | None, results: int, health: bool = False, headers: bool = False) -> None:
        if endpoint_id is not None and endpoint_id in by_id:
            most, was_health, was_headers = wanted.get(endpoint_id, (0, False, False))
            wanted[endpoint_id] = (max(most, results), was_health or health, was_headers or headers)

    runs_of = Counter(run.endpoint_id for run in page.runs)
    for _, stored, subject in _pairs(page, by_id):
        read = mentions(stored.rule.when)
        if read.names & OWN:
            # One page may hold several runs of an endpoint: each is judged by its own body.
            history = HISTORY_MAX if read.names & {"history", "runs"} else 0
            count = max(1, runs_of[subject.id]) + history
            add(subject.id, count, "health" in read.names, "headers" in read.names)
        for name in read.sibling_names:
            add(names.get((subject.job_id, name)), 1)
        if read.all_siblings:
            for member in page.members:
                if member.job_id == subject.job_id:
                    add(member.id, 1)
    return [Want(endpoint_id, *parts) for endpoint_id, parts in wanted.items()]


def member_of(endpoint: Endpoint, failures: int) -> Member:
    hint = endpoint.interval_hint
    return Member(
        endpoint.id, endpoint.tenant_id, endpoint.job_id, endpoint.name, endpoint.paused_until, failures,
        ",".join(endpoint.advice), endpoint.cron, endpoint.interval_ms, None if hint is None else hint.interval_ms,
        None if hint is None else hint.expires_at,
    )  # fmt: skip


def decide(page: Page, facts: Facts) -> Decisions:
    """All of it at once."""
    steps = deciding(page, facts)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            decisions: Decisions = end.value
            return decisions


def deciding(page: Page, facts: Facts) -> Generator[None, None, Decisions]:
    """The same with a stop before each judgement, at which others may have their turn."""
    by_id = {member.id: member for member in page.members}
    names = {(member.job_id, member.name): member for member in page.members}
    states = dict(page.states)
    changed: set[tuple[str, str]] = set()
    firings: list[Firing] = []
    events: list[Event] = []
    parsed = _Bodies()

    def put(key: tuple[str, str], state: RuleState) -> None:
        states[key] = state
        changed.add(key)

    for run, stored, subject in _pairs(page, by_id):
        rule = stored.rule
        target = subject if rule.target is None else names.get((subject.job_id, rule.target))
        mode = OFF if target is None else mode_of(page.modes, stored.tenant_id, target.id)
        reach = "" if target is None or target.id == subject.id or subject.may_reach else subject.name
        if target is None or mode == OFF:
            continue
        yield
        sight = _Sight(rule, run, subject, page, facts, names, parsed)
        verdict = judge(rule.when, sight.look)
        key = (stored.id, subject.id)
        before = states.get(key, NO_STATE)
        if isinstance(verdict, str) and sight.lacks_data:
            verdict = False  # who has never run cannot be judged yet, and that is no fault of the rule
        after = counted(before, verdict, rule.for_runs)
        if after != before:
            put(key, after)
        if after.fault and not before.fault:
            data: dict[str, object] = {"rule": rule.name, "fault": after.fault}
            events.append(
                Event(EventType.RULE_FAULTY, page.now, stored.tenant_id, subject.id, run.run_id, author(rule), data)
            )
        fired = states.get((stored.id, target.id), NO_STATE)
        if is_ripe(rule, after, fired, page.now):
            put((stored.id, target.id), replace(fired, fired_at=page.now))
            firings.append(Firing(rule, stored.id, stored.tenant_id, target.id, run.run_id, mode, reach))
    return Decisions(tuple(firings), {key: states[key] for key in sorted(changed)}, tuple(events))


def _pairs(page: Page, by_id: Mapping[str, Member]) -> Iterator[tuple[FinishedRun, StoredRule, Member]]:
    """Each finished run with each rule that reads it, and the endpoint that is `this` for the rule."""
    by_job: dict[str, list[StoredRule]] = {}
    for stored in page.rules:
        by_job.setdefault(stored.job_id, []).append(stored)
    for run in page.runs:
        ran = by_id.get(run.endpoint_id)
        if ran is None:
            continue
        for stored in by_job.get(ran.job_id, ()):
            owner = ran if stored.endpoint_id is None else by_id.get(stored.endpoint_id)
            if owner is None or run.at < stored.created_at:
                continue
            if concerns(stored.rule, None if stored.endpoint_id is None else owner.name, ran.name):
                yield run, stored, owner


class _Bodies:
    """Each body of a page is parsed once, whoever reads it; and so are the siblings that several rules read."""

    def __init__(self) -> None:
        self._seen: dict[str, Seen] = {}
        self.siblings: dict[tuple[str, frozenset[str] | None], tuple[Seen, bool]] = {}

    def of(self, result: Result) -> Seen:
        if (seen := self._seen.get(result.run_id)) is None:
            value, nodes = parse_bounded(result.body)
            seen = self._seen[result.run_id] = Seen(value, nodes, len(result.body))
        return seen


class _Sight:
    """What one rule sees at one finished run."""

    def __init__(
        self,
        rule: Rule,
        run: FinishedRun,
        subject: Member,
        page: Page,
        facts: Facts,
        names: Mapping[tuple[str, str], Member],
        bodies: _Bodies,
    ) -> None:
        self._read = mentions(rule.when)
        self._run = run
        self._subject = subject
        self._page = page
        self._facts = facts
        self._names = names
        self._bodies = bodies
        self.lacks_data = False
        results = facts.results.get(subject.id, ())
        at = next((place for place, each in enumerate(results) if each.run_id == run.run_id), 0)
        self._results = results[at:]

    def look(self, name: str) -> Seen:
        match name:
            case "now":
                return Seen(self._page.now)
            case "endpoint":
                return Seen(self._subject.name)
            case "siblings":
                return self._siblings()
            case "health":
                return self._health()
            case "history":
                seen = [self._bodies.of(each) for each in self._results[:HISTORY_MAX]]
                return _all_of([each.value for each in seen], seen)
            case "runs":
                return self._runs()
            case "schedule":
                return self._schedule()
            case "failures":
                is_this = self._run.endpoint_id == self._subject.id
                return Seen(self._run.failures if is_this else self._subject.failures)
            case _:
                return self._own(name)

    def _own(self, name: str) -> Seen:
        if not self._results:
            self.lacks_data = True
            return Seen({"body": None, "ok": False, "headers": {}}.get(name, 0))
        result = self._results[0]
        match name:
            case "body":
                return self._bodies.of(result)
            case "ok":
                return Seen(result.ok)
            case "status_code":
                return Seen(result.status_code or 0)
            case "headers":
                return _headers(result)
            case _:
                return Seen(result.duration_ms)

    def _runs(self) -> Seen:
        """This run and those before it, newest first, with their bodies."""
        results = self._results[:HISTORY_MAX]
        seen = [self._bodies.of(each) for each in results]
        value = [
            {**self._told(each), "body": body.value, "at": rfc3339(each.finished_at)}
            for each, body in zip(results, seen, strict=True)
        ]
        return _all_of(value, [*seen, Seen(None, 7 * len(results), 100 * len(results))])

    def _told(self, result: Result) -> dict[str, object]:
        return {
            "ok": result.ok,
            "status": result.status,
            "status_code": result.status_code or 0,
            "duration_ms": result.duration_ms,
            "age_s": (self._page.now - result.finished_at).total_seconds(),
        }

    def _schedule(self) -> Seen:
        """The endpoint's own schedule and the interval hint in force; null where there is none."""
        member, now = self._subject, self._page.now
        is_hinted = member.hint_until is not None and member.hint_until > now
        value = {
            "interval_ms": member.interval_ms,
            "cron": member.cron,
            "hint_ms": member.hint_ms if is_hinted else None,
            "paused": member.paused_until is not None and member.paused_until > now,
        }
        return Seen(value, 5, 100)

    def _siblings(self) -> Seen:
        key = (self._subject.job_id, None if self._read.all_siblings else self._read.sibling_names)
        if key not in self._bodies.siblings:
            self._bodies.siblings[key] = self._look_at_siblings()
        seen, lacks_data = self._bodies.siblings[key]
        self.lacks_data = self.lacks_data or lacks_data
        return seen

    def _look_at_siblings(self) -> tuple[Seen, bool]:
        """All that the rule names, and whether one of them has never run."""
        seen: list[Seen] = []
        value: dict[str, object] = {}
        lacks_data = False
        for member in self._named():
            results = self._facts.results.get(member.id, ())
            lacks_data = lacks_data or not results
            body = self._bodies.of(results[0]) if results else Seen(None)
            seen.append(body)
            unknown: dict[str, object] = {"ok": False, "status": "", "status_code": 0, "duration_ms": 0, "age_s": 0.0}
            value[member.name] = {
                **(self._told(results[0]) if results else unknown),
                "body": body.value,
                "at": rfc3339(results[0].finished_at) if results else "",
                "failures": member.failures,
                "paused": member.paused_until is not None and member.paused_until > self._page.now,
            }
        return _all_of(value, seen), lacks_data

    def _named(self) -> Iterable[Member]:
        job_id = self._subject.job_id
        if self._read.all_siblings:
            return [member for member in self._page.members if member.job_id == job_id]
        found = [self._names.get((job_id, name)) for name in sorted(self._read.sibling_names)]
        return [member for member in found if member is not None]

    def _health(self) -> Seen:
        spans: tuple[Health, ...] = self._facts.health.get(self._subject.id, ())
        value = {
            name: {"runs": each.runs, "success_rate": each.rate, "duration_ms": each.duration_ms}
            for name, each in zip(("h1", "h4", "h24"), spans, strict=False)
        }
        self.lacks_data = self.lacks_data or not value or not spans[-1].runs
        return Seen(value, 12, 200)


def _headers(result: Result) -> Seen:
    """Names in lower case; several values of one name are joined."""
    try:
        pairs = msgspec.json.decode(result.detail or "{}", type=_Detail).headers
    except msgspec.DecodeError:
        pairs = ()
    joined: dict[str, str] = {}
    for name, text in pairs:
        key = name.lower()
        joined[key] = f"{joined[key]}, {text}" if key in joined else text
    return Seen(joined, len(joined) + 1, sum(len(each) for each in joined.values()) + 8)


class _Detail(Struct, frozen=True):
    headers: tuple[tuple[str, str], ...] = ()


def _all_of(value: object, parts: list[Seen]) -> Seen:
    return Seen(value, sum(part.nodes for part in parts) + 1, sum(part.size for part in parts) + 8)

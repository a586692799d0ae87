"""Judge a page of finished runs by the rules of their jobs: which rules, with which facts, and what follows. Pure.

    1 want      which endpoints' runs must be read to judge this page
    2 decide    run by run, rule by rule: judge, count, fire

The worker reads and writes; this module does neither. The same page and facts give the same decisions in the same
order.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import dropwhile

from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.endpoint import POWERS, Endpoint, Power
from mainspring.domain.event import Event, EventType
from mainspring.domain.instant import rfc3339
from mainspring.domain.rules.apply import LIVE, OFF, Firing, RuleState, author, counted, is_ripe, strictest
from mainspring.domain.rules.parsed_bodies import ParsedBodies, all_seen, body_seen, headers_seen, tls_seen
from mainspring.domain.rules.rule import HISTORY_MAX, OWN, Rule, Seen, concerns, judge, mentions
from mainspring.domain.rules.run_window import RunWindow, reads_bodies, spans_of, window_of

NO_STATE = RuleState()


class StoredRule(Struct, frozen=True):
    """A stored rule. `endpoint_id` is None for a rule of the whole job."""

    id: str
    tenant_id: str
    job_id: str
    endpoint_id: str | None
    rule: Rule
    created_at: datetime


class FinishedRun(Struct, frozen=True):
    """A finished run, in the order in which runs finished."""

    tenant_id: str
    endpoint_id: str
    run_id: str
    at: datetime
    failures: int = 0  # consecutive failures, including this run


class JobMember(Struct, frozen=True):
    """An endpoint of a job, as its siblings see it."""

    id: str
    tenant_id: str
    job_id: str
    name: str
    paused_until: datetime | None
    failures: int = 0
    advice: str = ",".join(POWERS)  # what its owner allows advice to do
    cron: str | None = None
    interval_ms: int | None = None
    hint_ms: int | None = None
    hint_until: datetime | None = None

    @property
    def may_reach(self) -> bool:
        """Whether its rules may act on its siblings."""
        return Power.SIBLINGS in self.advice.split(",")


class RuleResult(Struct, frozen=True):
    """A finished run as rules see it."""

    run_id: str
    endpoint_id: str
    ok: bool
    status: str
    status_code: int | None
    finished_at: datetime
    duration_ms: int
    body: bytes
    detail: str = ""  # with the response headers and the certificate, if a rule reads them


class RuleHealth(Struct, frozen=True):
    """Statistics over finished runs of a span; the rate over no runs is None, never 0."""

    runs: int
    successes: int
    duration_ms: float | None

    @property
    def rate(self) -> float | None:
        return self.successes / self.runs if self.runs else None


Health = tuple[RuleHealth, RuleHealth, RuleHealth]  # over 1, 4 and 24 hours


class FactsWanted(Struct, frozen=True):
    """What to read about an endpoint: its newest results and its current health.

    The planner may lag behind, so "newest" refers to the page: results up to the run `upto`, or of runs started by
    `until`.
    """

    endpoint_id: str
    results: int
    health: bool = False
    headers: bool = False
    upto: str = ""
    until: datetime | None = None


class HealthWanted(Struct, frozen=True):
    """Asks for the health of an endpoint at a time: runs that finished later do not count."""

    endpoint_id: str
    until: datetime


class RuleFacts(Struct, frozen=True):
    """Results newest first, and health, by endpoint."""

    results: Mapping[str, tuple[RuleResult, ...]]
    health: Mapping[str, Health]


class PastRead(Struct, frozen=True):
    """The rows that answer a RunWindow or HealthWanted."""

    runs: tuple[RuleResult, ...] = ()
    health: Health | None = None


WindowReader = Callable[[RunWindow], tuple[RuleResult, ...]]


class JudgedPage(Struct, frozen=True):
    """Finished runs that no rule has judged yet, and everything the rules of their jobs need."""

    cursor: str
    upto: str
    now: datetime
    runs: tuple[FinishedRun, ...]
    rules: tuple[StoredRule, ...]
    members: tuple[JobMember, ...]
    states: Mapping[tuple[str, str], RuleState]
    modes: Mapping[str, str]


class Decisions(Struct, frozen=True):
    firings: tuple[Firing, ...]
    states: Mapping[tuple[str, str], RuleState]
    events: tuple[Event, ...]


Deciding = Generator[RunWindow | HealthWanted | None, PastRead | None, Decisions]


class Tested(Struct, frozen=True):
    """One recorded run and the rules that would have fired at it."""

    run_id: str
    endpoint: str  # its name
    at: datetime
    fired: tuple[str, ...]
    faults: tuple[str, ...]


def mode_of(modes: Mapping[str, str], tenant_id: str, endpoint_id: str) -> str:
    """The strictest mode set globally, for the tenant and for the endpoint."""
    scopes = ("all", f"tenant:{tenant_id}", f"endpoint:{endpoint_id}")
    return strictest(modes.get(scope) for scope in scopes) if modes else LIVE


def want(page: JudgedPage) -> list[FactsWanted]:
    """Asks for results as of the page's runs; health is read later, as of each run."""
    by_id = {member.id: member for member in page.members}
    names = {(member.job_id, member.name): member.id for member in page.members}
    wanted: dict[str, tuple[int, bool]] = {}
    runs_of: dict[str, list[str]] = {}
    for run in page.runs:
        runs_of.setdefault(run.endpoint_id, []).append(run.run_id)

    def add(endpoint_id: str | None, history: int = 0, headers: bool = False) -> None:
        """Also asks for one result before the page: a sibling may not have finished its run of the page yet."""
        if endpoint_id is not None and endpoint_id in by_id:
            most, was_headers = wanted.get(endpoint_id, (0, False))
            count = len(runs_of.get(endpoint_id, ())) + 1 + history
            wanted[endpoint_id] = (max(most, count), was_headers or headers)

    for _, stored, subject in _pairs(page, by_id):
        read = mentions(stored.rule.when)
        if read.names & OWN:
            history = HISTORY_MAX if read.names & {"history", "runs"} else 0
            add(subject.id, history, not read.names.isdisjoint(("headers", "tls")))
        for name in read.sibling_names:
            add(names.get((subject.job_id, name)))
        if read.all_siblings:
            for member in page.members:
                if member.job_id == subject.job_id:
                    add(member.id)
    last_at = max((run.at for run in page.runs), default=page.now)
    return [
        FactsWanted(endpoint_id, count, headers=headers, upto=max(runs_of[endpoint_id]))
        if endpoint_id in runs_of
        # One of its runs may have started by then and ended later: `_as_of` leaves it out.
        else FactsWanted(endpoint_id, count + 1, headers=headers, until=last_at)
        for endpoint_id, (count, headers) in wanted.items()
    ]


def member_of(endpoint: Endpoint, failures: int) -> JobMember:
    hint = endpoint.interval_hint
    return JobMember(
        endpoint.id, endpoint.tenant_id, endpoint.job_id, endpoint.name, endpoint.paused_until, failures,
        ",".join(endpoint.advice), endpoint.cron, endpoint.interval_ms, None if hint is None else hint.interval_ms,
        None if hint is None else hint.expires_at,
    )  # fmt: skip


def decide(page: JudgedPage, facts: RuleFacts, window: WindowReader) -> Decisions:
    """Decides the whole page at once; `window` returns the runs of a window, newest first, `facts` the health."""
    steps = deciding(page, facts)
    found: PastRead | None = None
    while True:
        try:
            asked = steps.send(found)
        except StopIteration as end:
            decisions: Decisions = end.value
            return decisions
        found = PastRead(window(asked)) if isinstance(asked, RunWindow) else None


def deciding(page: JudgedPage, facts: RuleFacts) -> Deciding:
    """Like `decide`, but yields before each judgement so that other tasks can run.

    A yielded window asks for its runs: windows are read one at a time, when a rule needs them, so a page never holds
    more than one in memory. Health that `facts` lacks is requested the same way, as of the judged run.
    """
    by_id = {member.id: member for member in page.members}
    names = {(member.job_id, member.name): member for member in page.members}
    states = dict(page.states)
    changed: set[tuple[str, str]] = set()
    firings: list[Firing] = []
    events: list[Event] = []
    parsed = ParsedBodies()
    last = _Past()
    health: dict[HealthWanted, Health | None] = {}

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
        advisor = "" if target.id == subject.id else subject.id
        yield None
        spans = spans_of(rule.when)
        if spans:
            asked = window_of(subject.id, spans, _ended_at(run, facts), reads_bodies(rule.when))
            if asked != last.window:
                last = _Past(asked, ((yield asked) or PastRead()).runs)
        known = facts.health.get(subject.id)
        if known is None and "health" in mentions(rule.when).names:
            at = HealthWanted(subject.id, _ended_at(run, facts))
            if at not in health:
                health[at] = ((yield at) or PastRead()).health
            known = health[at]
        sight = _RuleView(rule, run, subject, page, facts, names, parsed, last if spans else _Past(), known)
        verdict = judge(rule.when, sight.look)
        key = (stored.id, subject.id)
        before = states.get(key, NO_STATE)
        if isinstance(verdict, str) and sight.lacks_data:
            verdict = False  # an endpoint that has never run cannot be judged yet; that is not a fault of the rule
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
            firings.append(Firing(rule, stored.id, stored.tenant_id, target.id, run.run_id, mode, reach, advisor))
    return Decisions(tuple(firings), {key: states[key] for key in sorted(changed)}, tuple(events))


def _ended_at(run: FinishedRun, facts: RuleFacts) -> datetime:
    """The time from the row, if known: the event may be some milliseconds off."""
    own = (each.finished_at for each in facts.results.get(run.endpoint_id, ()) if each.run_id == run.run_id)
    return next(own, run.at)


def _as_of(run: FinishedRun, endpoint_id: str, facts: RuleFacts) -> tuple[RuleResult, ...]:
    """An endpoint's results as known when a run ended, newest first; those of the judged endpoint start with that run.

    A planner that lags behind must not judge a run by later results.
    """
    results = facts.results.get(endpoint_id, ())
    if endpoint_id == run.endpoint_id:
        return tuple(dropwhile(lambda each: each.run_id > run.run_id, results))
    ended_at = _ended_at(run, facts)
    return tuple(dropwhile(lambda each: each.finished_at > ended_at, results))


def _pairs(page: JudgedPage, by_id: Mapping[str, JobMember]) -> Iterator[tuple[FinishedRun, StoredRule, JobMember]]:
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


class _Past(Struct, frozen=True):
    """Keeps the window read last: rules of one endpoint that need the same one share it."""

    window: RunWindow | None = None
    runs: tuple[RuleResult, ...] = ()


class _RuleView:
    """The variables of one rule at one finished run."""

    def __init__(
        self,
        rule: Rule,
        run: FinishedRun,
        subject: JobMember,
        page: JudgedPage,
        facts: RuleFacts,
        names: Mapping[tuple[str, str], JobMember],
        bodies: ParsedBodies,
        past: _Past,
        health: Health | None,
    ) -> None:
        self._text = rule.when
        self._past = past
        self._health_then = health
        self._read = mentions(rule.when)
        self._run = run
        self._subject = subject
        self._page = page
        self._facts = facts
        self._names = names
        self._bodies = bodies
        self.lacks_data = False
        self._results = _as_of(run, subject.id, facts)

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
                seen = [self._bodies.of(each.run_id, each.body) for each in self._results[:HISTORY_MAX]]
                return all_seen([each.value for each in seen], seen)
            case "runs":
                return self._runs()
            case "window":
                return self._window()
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
            return Seen({"body": None, "ok": False, "headers": {}, "tls": None}.get(name, 0))
        result = self._results[0]
        match name:
            case "body":
                return self._bodies.of(result.run_id, result.body)
            case "ok":
                return Seen(result.ok)
            case "status_code":
                return Seen(result.status_code or 0)
            case "headers" | "tls":
                return (headers_seen if name == "headers" else tls_seen)(result.detail)
            case _:
                return Seen(result.duration_ms)

    def _runs(self) -> Seen:
        """This run and earlier ones, newest first, with their bodies."""
        results = self._results[:HISTORY_MAX]
        seen = [self._bodies.of(each.run_id, each.body) for each in results]
        value = [{**self._listed(each), "body": body.value} for each, body in zip(results, seen, strict=True)]
        return all_seen(value, [*seen, Seen(None, 7 * len(results), 100 * len(results))])

    def _window(self) -> Seen:
        """Each span that the rule names, as a list of runs like `runs`; bodies only if the rule reads them."""
        assert self._past.window is not None, "who reads it was asked for it"
        has_bodies = self._past.window.bodies
        runs: list[tuple[datetime, dict[str, object], Seen]] = []
        for result in self._past.runs:
            body = body_seen(result.body) if has_bodies else Seen(None)
            told = self._listed(result)
            runs.append((result.finished_at, {**told, "body": body.value} if has_bodies else told, body))
        self.lacks_data = self.lacks_data or not runs
        value: dict[str, object] = {}
        parts: list[Seen] = []
        for written, ms in spans_of(self._text).items():
            since = self._past.window.until - timedelta(milliseconds=ms)
            within = [(told, body) for at, told, body in runs if at > since]
            value[written] = [told for told, _ in within]
            parts += [*(body for _, body in within), Seen(None, 7 * len(within), 100 * len(within))]
        return all_seen(value, parts)

    def _listed(self, result: RuleResult) -> dict[str, object]:
        return {**self._told(result), "at": rfc3339(result.finished_at)}

    def _told(self, result: RuleResult) -> dict[str, object]:
        return {
            "ok": result.ok,
            "status": result.status,
            "status_code": result.status_code or 0,
            "duration_ms": result.duration_ms,
            "age_s": (self._page.now - result.finished_at).total_seconds(),
        }

    def _schedule(self) -> Seen:
        """The endpoint's schedule and the active interval hint; null without one."""
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
        newest = [(member, _as_of(self._run, member.id, self._facts)[:1]) for member in self._named()]
        key = tuple((member.id, *(each.run_id for each in result)) for member, result in newest)
        if key not in self._bodies.siblings:
            self._bodies.siblings[key] = self._look_at_siblings(newest)
        seen, lacks_data = self._bodies.siblings[key]
        self.lacks_data = self.lacks_data or lacks_data
        return seen

    def _look_at_siblings(self, newest: Sequence[tuple[JobMember, tuple[RuleResult, ...]]]) -> tuple[Seen, bool]:
        """All siblings that the rule names, and whether one of them has never run."""
        seen: list[Seen] = []
        value: dict[str, object] = {}
        lacks_data = False
        for member, results in newest:
            lacks_data = lacks_data or not results
            body = self._bodies.of(results[0].run_id, results[0].body) if results else Seen(None)
            seen.append(body)
            unknown: dict[str, object] = {"ok": False, "status": "", "status_code": 0, "duration_ms": 0, "age_s": 0.0}
            value[member.name] = {
                **(self._told(results[0]) if results else unknown),
                "body": body.value,
                "at": rfc3339(results[0].finished_at) if results else "",
                "failures": member.failures,
                "paused": member.paused_until is not None and member.paused_until > self._page.now,
            }
        return all_seen(value, seen), lacks_data

    def _named(self) -> Iterable[JobMember]:
        job_id = self._subject.job_id
        if self._read.all_siblings:
            return [member for member in self._page.members if member.job_id == job_id]
        found = [self._names.get((job_id, name)) for name in sorted(self._read.sibling_names)]
        return [member for member in found if member is not None]

    def _health(self) -> Seen:
        spans: tuple[RuleHealth, ...] = self._health_then or ()
        value = {
            name: {"runs": each.runs, "success_rate": each.rate, "duration_ms": each.duration_ms}
            for name, each in zip(("h1", "h4", "h24"), spans, strict=False)
        }
        self.lacks_data = self.lacks_data or not value or not spans[-1].runs
        return Seen(value, 12, 200)

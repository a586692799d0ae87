"""Why an endpoint runs when it does: the decision, what the endpoint waits for, and every reason as data.

A reason has a kind for programs and a sentence for people. Interfaces never parse sentences.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Literal, NamedTuple, Self

from msgspec.structs import replace
from pydantic import Field

from mainspring.domain.advice.authority import Authority, authority_of
from mainspring.domain.advice.proposal import StoredProposal
from mainspring.domain.calendar import ExcludedDay, is_running_out, last_open_day
from mainspring.domain.definition import contradiction_of
from mainspring.domain.endpoint import Endpoint
from mainspring.domain.instant import FOREVER
from mainspring.domain.kinds.registry import kind_of
from mainspring.domain.run import Run
from mainspring.domain.schedule.anchor import replan
from mainspring.domain.schedule.cron import zone_of
from mainspring.domain.schedule.governor import decode_trail
from mainspring.domain.schedule.hint import author_in_words
from mainspring.domain.schedule.maintenance import (
    DuringMaintenance,
    WindowSpan,
    occurrences,
    open_during,
    skipping_at,
)
from mainspring.domain.schedule.open_days import is_open_at, local_date
from mainspring.domain.schedule.queue import QueueWait
from mainspring.operations.calendars import excluded_for
from mainspring.operations.context import Desk
from mainspring.operations.proposals import pending_of
from mainspring.operations.runs import find_wait
from mainspring.views.calendar import long_date
from mainspring.views.endpoint import State, state_of
from mainspring.views.run import DecisionStepView, RunView
from mainspring.views.sentences import (
    clock,
    hints_in_words,
    source_in_words,
    step_sentence,
    wait_advice,
    wait_sentence,
    waiting_in_words,
    when,
)
from mainspring.views.view import At, View


class EndpointFacts(NamedTuple):
    """The data of the reasons, besides the run in progress."""

    endpoint: Endpoint
    now: datetime
    has_scheduler: bool = True
    wait: QueueWait | None = None
    proposals: Sequence[StoredProposal] = ()  # that are pending
    window: WindowSpan | None = None  # the maintenance window that is open now
    window_of_next: WindowSpan | None = None  # the one in which the next run is skipped
    excluded: ExcludedDay | None = None  # the day of the run that would be next without calendars


class WaitView(View):
    """What an endpoint that is due and not started waits for."""

    cause: Literal["scheduler", "host", "rate", "tenant", "tenant_slow", "tenant_new", "slow", "new", "places"]
    name: str = Field(description="The host or the tenant; otherwise empty.")
    limit: str = Field(description="Maximum number of runs in progress, or the rate.")
    in_flight: int
    since: At | None = Field(description="When the endpoint was due.")
    waiting: int = Field(description="Endpoints that wait for the same limit, including this one.")
    setting: str | None = Field(description="The setting to change.")
    text: str = Field(description="The same in words.")
    advice: str = Field(description="What to change.")

    @classmethod
    def of(cls, wait: QueueWait, due_at: datetime | None, now: datetime) -> Self:
        return cls.from_value(
            wait,
            since=due_at,
            setting=wait.setting or None,
            text=wait_sentence(wait, now, due_at),
            advice=wait_advice(wait),
        )


class ReasonView(View):
    part: Literal["state", "waiting", "running", "plan", "note"]
    kind: Literal[
        "archived",
        "done",
        "parked",
        "job-paused",
        "paused",
        "paused-by",
        "deferred",
        "planned",
        "waiting",
        "advice",
        "running",
        "earlier-plan",
        "run-requested",
        "no-scheduler",
        "undecided",
        "decided",
        "step",
        "hint",
        "contradiction",
        "refused",
        "proposed",
        "failures",
        "maintenance",
        "calendar",
    ]
    text: str = Field(description="One or two sentences.")
    command: str | None = Field(default=None, description="The command that changes this, if any.")
    at: At | None = Field(default=None, description="The timestamp in the text.")
    author: str | None = Field(
        default=None, description="Author of the pause, hint, request or proposal: `rule:night`."
    )

    @property
    def sentence(self) -> str:
        """As the command line prints it."""
        if self.kind == "step":
            return f"  {self.text}"
        return f"{self.text.removesuffix('.')}: {self.command}." if self.command else self.text


class DecisionView(View):
    endpoint: str
    kind: str
    target: str = Field(description="What a run calls, in one line without secrets.")
    status: State
    next_run_at: At | None
    source: str
    trail: list[DecisionStepView] = Field(description="Every candidate of the decision, and why it won or lost.")
    running: RunView | None
    waiting: WaitView | None = Field(description="What a due endpoint waits for; null: nothing.")
    reasons: list[ReasonView] = Field(
        description="Its state, what it waits for, its current run, the decision step by step, and other influences."
    )
    sentences: list[str] = Field(description="The same in words.")

    @classmethod
    def of(cls, facts: EndpointFacts, running: Run | None) -> Self:
        endpoint, wait = facts.endpoint, facts.wait
        kind = kind_of(endpoint.action)
        reasons = reasons_of(facts, running)
        return cls.from_value(
            endpoint,
            endpoint=endpoint.name,
            kind=kind.name,
            target=kind.summary(endpoint.action),
            status=state_of(endpoint, facts.now),
            trail=decode_trail(endpoint.trail),
            running=None if running is None else RunView.of(running, endpoint.name),
            waiting=None if wait is None else WaitView.of(wait, endpoint.due_at, facts.now),
            reasons=reasons,
            sentences=[each.sentence for each in reasons],
        )


async def load_decision(desk: Desk, endpoint: Endpoint) -> DecisionView:
    workers = await desk.stores.presence.alive()
    running = (
        await desk.stores.runs.run(desk.tenant_id, endpoint.run_id) if endpoint.is_running or endpoint.is_open else None
    )
    facts = EndpointFacts(
        endpoint,
        await desk.stores.schedule.now(),
        any(worker.kind == "scheduler" for worker in workers),
        await find_wait(desk, endpoint),
        await pending_of(desk, endpoint),
        *await _windows(desk, endpoint),
        await _excluded(desk, endpoint),
    )
    return DecisionView.of(facts, running)


async def _windows(desk: Desk, endpoint: Endpoint) -> tuple[WindowSpan | None, WindowSpan | None]:
    """The maintenance window that is open now, and the one in which the next run is skipped."""
    windows = await desk.stores.maintenance.windows(desk.tenant_id)
    now = await desk.stores.schedule.now()
    at = max(endpoint.next_run_at or now, now)
    open_ = [each for window in windows for each in occurrences(window, now, now, desk.cron)]
    later = [each for window in windows for each in occurrences(window, at, at, desk.cron)]
    return open_during(open_, endpoint.id, endpoint.job_id, now, now), skipping_at(later, endpoint, at)


async def _excluded(desk: Desk, endpoint: Endpoint) -> ExcludedDay | None:
    """The excluded day on which the endpoint would run next if it had no calendars."""
    if not endpoint.days or not endpoint.can_run:
        return None
    now = await desk.stores.schedule.now()
    plain = replan(replace(endpoint, days="", next_run_at=None), now, desk.cron)
    day = local_date(endpoint, plain.next_run_at or now)
    found = await excluded_for(desk, endpoint, day, day)
    return found[0] if found else None


def reasons_of(facts: EndpointFacts, running: Run | None) -> list[ReasonView]:
    return [
        *_state(facts),
        *_calendar(facts),
        *_maintenance(facts),
        *_waiting(facts),
        *_running(facts, running),
        *_decided(facts.endpoint),
        *_notes(facts),
    ]


def _state(facts: EndpointFacts) -> Iterator[ReasonView]:
    """What stops the endpoint, or when it runs and why."""
    endpoint, now = facts.endpoint, facts.now
    name = f"{endpoint.name!r}"
    match state_of(endpoint, now):
        case "archived":
            text = f"{name} was archived {when(now, endpoint.archived_at)} and never runs again."
            yield ReasonView(part="state", kind="archived", text=text, at=endpoint.archived_at)
        case "done":
            text, command = (
                f"{name} ran once, at {when(now, endpoint.once_at)}, and is done. To run it again, set another time "
                "or request a run.",
                f"mainspring endpoint run {name}",
            )
            yield ReasonView(part="state", kind="done", text=text, command=command, at=endpoint.once_at)
        case "parked":
            text = f"{name} was parked {when(now, endpoint.parked_at)}: {endpoint.parked_reason}."
            yield ReasonView(part="state", kind="parked", text=text, at=endpoint.parked_at)
            text, command = "It does not run until it is resumed.", f"mainspring endpoint resume {name}"
            yield ReasonView(part="state", kind="parked", text=text, command=command)
        case "job-paused":
            text, command = (
                f"{name} does not run because its job is not active.",
                f"mainspring job resume {endpoint.job!r}",
            )
            yield ReasonView(part="state", kind="job-paused", text=text, command=command)
        case "paused":
            is_forever = endpoint.paused_until is not None and endpoint.paused_until >= FOREVER
            until = "until it is resumed" if is_forever else f"until {when(now, endpoint.paused_until)}"
            reason = f", because: {endpoint.pause_reason}" if endpoint.pause_reason else ""
            text = f"{name} is paused {until}{reason}."
            yield ReasonView(
                part="state", kind="paused", text=text, at=endpoint.paused_until, author=endpoint.pause_author or None
            )
            yield from _who_may_resume(endpoint)
        case "deferred":
            text = (
                f"{name} waits until {when(now, endpoint.deferred_until)} because its tenant used up its runs of the "
                "month. A higher quota ends this."
            )
            command = "mainspring tenant set --runs-per-month N"
            yield ReasonView(part="state", kind="deferred", text=text, command=command, at=endpoint.deferred_until)
        case _:
            yield _planned(facts)


def _who_may_resume(endpoint: Endpoint) -> Iterator[ReasonView]:
    author = endpoint.pause_author
    if not author:
        return
    paused, command = f"It was paused by {author_in_words(author)}", None
    if endpoint.advice_may_resume:
        paused = f"{paused}; rules, workflows and the model may resume it"
    elif authority_of(author) is Authority.PERSON:
        paused = f"{paused}; only a person can resume it"
        command = f"mainspring endpoint resume {endpoint.name!r}"
    yield ReasonView(part="state", kind="paused-by", text=f"{paused}.", command=command, author=author)


def _planned(facts: EndpointFacts) -> ReasonView:
    endpoint, now = facts.endpoint, facts.now
    at = endpoint.next_run_at
    if at is None:
        return ReasonView(part="state", kind="planned", text=f"{endpoint.name!r} has no next run.")
    verb = "runs next" if at > now else "was due"
    if endpoint.action.is_expected:
        text = f"{endpoint.name!r} expects a ping before {when(now, at)}, set by {source_in_words(endpoint)}."
        if endpoint.is_open:
            text = f"{endpoint.name!r} is running, and must end before {when(now, at)}."
        return ReasonView(part="state", kind="planned", text=text, at=at)
    text = f"{endpoint.name!r} {verb} at {when(now, at)}, set by {source_in_words(endpoint)}."
    if (waiting := endpoint.waiting) is not None:
        text = (
            f"{endpoint.name!r} waits for the callback of a run. The schedule is planned again when the run ends, at "
            f"the latest at {when(now, waiting.until_at)}."
        )
    return ReasonView(part="state", kind="planned", text=text, at=at)


def _calendar(facts: EndpointFacts) -> Iterator[ReasonView]:
    endpoint, excluded = facts.endpoint, facts.excluded
    if excluded is not None:
        text = f"No run on {excluded.day.isoformat()}: {excluded.words}; {_next_in_zone(endpoint)}."
        yield ReasonView(part="state", kind="calendar", text=text, command=None, at=endpoint.next_run_at)
    if is_running_out(endpoint, facts.now):
        last = last_open_day(endpoint)
        text = f"Calendar {endpoint.only_calendar!r} has no day after {last} on which it may run. Add days to it."
        if last is None or last < local_date(endpoint, facts.now):
            text = f"Calendar {endpoint.only_calendar!r} has no day left on which it may run. Add days to it."
        command = f"mainspring calendar edit {endpoint.only_calendar!r}"
        yield ReasonView(part="state", kind="calendar", text=text, command=command)
    if endpoint.days and not is_open_at(endpoint, facts.now) and not endpoint.action.is_expected:
        yield ReasonView(part="state", kind="calendar", text="Today is excluded. A requested run still starts.")


def _next_in_zone(endpoint: Endpoint) -> str:
    """`next run Monday 28 December 09:00 Europe/Berlin`"""
    if endpoint.next_run_at is None:
        return "no run follows"
    return f"next run {long_date(endpoint.next_run_at.astimezone(zone_of(endpoint.timezone)))} {endpoint.timezone}"


def _maintenance(facts: EndpointFacts) -> Iterator[ReasonView]:
    window, now = facts.window, facts.now
    if window is not None:
        runs = "Runs of the schedule are skipped" if window.runs is DuringMaintenance.SKIP else "Runs continue"
        text = (
            f"The maintenance window {window.name!r} is open until {when(now, window.until_at)}. {runs}, failures are "
            "not counted, and alerts are silent. A requested run still starts."
        )
        command = f"mainspring maintenance show {window.name!r}"
        yield ReasonView(part="state", kind="maintenance", text=text, command=command, at=window.until_at)
    skipping = facts.window_of_next
    if skipping is not None and facts.endpoint.next_run_at is not None and skipping != window:
        text = (
            f"The maintenance window {skipping.name!r} opens at {when(now, skipping.from_at)} and skips that run; the "
            f"schedule continues after {clock(skipping.until_at)}."
        )
        yield ReasonView(part="state", kind="maintenance", text=text, at=skipping.from_at)


def _waiting(facts: EndpointFacts) -> Iterator[ReasonView]:
    wait, due_at = facts.wait, facts.endpoint.due_at
    if wait is not None and facts.has_scheduler:  # `_running` says so if no scheduler is running
        text = wait_sentence(wait, facts.now, due_at)
        yield ReasonView(part="waiting", kind="waiting", text=text, at=due_at)
        yield ReasonView(part="waiting", kind="advice", text=wait_advice(wait))


def _running(facts: EndpointFacts, run: Run | None) -> Iterator[ReasonView]:
    endpoint, now = facts.endpoint, facts.now
    if endpoint.waiting is not None:
        text = (
            f"It has been {waiting_in_words(endpoint.waiting, now)} (attempt {endpoint.attempt}, {endpoint.run_id}). "
            "Without a report before the deadline it ends as timeout."
        )
        yield ReasonView(part="running", kind="running", text=text, at=endpoint.open_until)
    elif endpoint.is_open:
        text = (
            f"A ping started it {when(now, endpoint.anchor_at)} ({endpoint.run_id}); unless a ping ends it before "
            f"{clock(endpoint.open_until)}, it is reported as still running."
        )
        yield ReasonView(part="running", kind="running", text=text, at=endpoint.open_until)
    elif endpoint.is_running:
        since = f"since {when(now, run.started_at)} " if run is not None else ""
        text = (
            f"It is running now, {since}by worker {endpoint.claimed_by} (attempt {endpoint.attempt}, "
            f"{endpoint.run_id}); unless it ends before {clock(endpoint.lease_until)}, another worker takes it over."
        )
        yield ReasonView(part="running", kind="running", text=text, at=endpoint.lease_until)
        text = "The plan below was made before this run. The end of the run makes the next one."
        yield ReasonView(part="running", kind="earlier-plan", text=text)
    if endpoint.requested_at is not None:
        is_in_hand = endpoint.is_running or endpoint.is_open
        start = "starts when the current run has ended" if is_in_hand else "starts at once"
        if facts.wait is not None and facts.has_scheduler:
            start = "starts when its turn comes"
        text = f"A run was asked for {when(now, endpoint.requested_at)} and {start}."
        yield ReasonView(part="running", kind="run-requested", text=text, at=endpoint.requested_at)
    if not facts.has_scheduler:
        text = "No scheduler is running, so nothing runs. Start one."
        yield ReasonView(part="running", kind="no-scheduler", text=text, command="mainspring serve")


def _decided(endpoint: Endpoint) -> Iterator[ReasonView]:
    steps = decode_trail(endpoint.trail)
    if not steps:
        yield ReasonView(part="plan", kind="undecided", text="No decision has been made for it yet.")
        return
    yield ReasonView(part="plan", kind="decided", text="How this was decided:")
    for step in steps:
        yield ReasonView(part="plan", kind="step", text=step_sentence(step, steps), at=step.at)


def _notes(facts: EndpointFacts) -> Iterator[ReasonView]:
    """What affects the next decision and may not be in this decision."""
    endpoint, now = facts.endpoint, facts.now
    for kind, words in hints_in_words(endpoint, now):
        yield ReasonView(part="note", kind="hint", text=f"In force: {kind}, {words}.")
    if words := contradiction_of(endpoint.cron, endpoint.max_interval_ms, endpoint.id):
        yield ReasonView(part="note", kind="contradiction", text=f"{words[0].upper()}{words[1:]}.")
    if (refused := endpoint.refused_advice) is not None:
        asked = f"{author_in_words(refused.author)} asked for: {refused.does}. {refused.because}."
        text = f"Refused {when(now, refused.at)}: {asked}"
        yield ReasonView(part="note", kind="refused", text=text, at=refused.at, author=refused.author)
    for each in facts.proposals:
        what = f"{each.does}, by {author_in_words(each.author)} ({each.reason})"
        text = (
            f"Proposed, and not applied until a person approves it: {what}. It expires at {when(now, each.expires_at)}."
        )
        command = f"mainspring proposals approve {each.id}, or reject"
        yield ReasonView(
            part="note", kind="proposed", text=text, command=command, at=each.expires_at, author=each.author
        )
    if endpoint.failure_count:
        many = "run" if endpoint.failure_count == 1 else f"{endpoint.failure_count} runs"
        text = f"The last {many} failed. A success, a manual run or a reset of the failures ends the backoff."
        if endpoint.is_done:
            text = f"The last {many} failed. A success or a reset ends the failures."
        if endpoint.action.is_expected:
            text = f"The last {many} failed. A ping that reports a success, or a reset, ends the failures."
        command = f"mainspring endpoint reset {endpoint.name!r}"
        yield ReasonView(part="note", kind="failures", text=text, command=command)

"""Instants, spans, hints and decisions in words: the same sentences at every door.

Nothing here reads a clock: what time it is comes with what was seen.
"""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from mainspring.domain.duration import format_duration
from mainspring.domain.instant import FOREVER
from mainspring.views.shapes import Shape, instant, state_of, wait_shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mainspring.domain.advice.proposal import StoredProposal
    from mainspring.domain.endpoint import Endpoint
    from mainspring.domain.run import Run
    from mainspring.domain.schedule.governor import DecisionStep
    from mainspring.domain.schedule.queue import QueueWait
    from mainspring.views.decision import DecisionStepView

RULES = {
    "baseline-cron": "The cron schedule",
    "baseline-interval": "The interval",
    "ai-interval": "The interval hint",
    "ai-oneshot": "The one-shot hint",
    "clamped-min": "The minimum interval",
    "clamped-max": "The maximum interval",
    "paused": "The pause",
    "retry-after": "The target's Retry-After",
    "overdue": "The rule for what is overdue",
    "faulty": "The rule for what fails inside",
}


class EndpointSight(NamedTuple):
    """An endpoint, its job's name, the store's time, whether a scheduler is running, what it waits for, and more."""

    endpoint: "Endpoint"
    job: str
    now: datetime
    has_scheduler: bool = True
    wait: "QueueWait | None" = None
    proposals: "Sequence[StoredProposal]" = ()  # that are pending

    @property
    def shaped(self) -> tuple["Endpoint", str, datetime]:
        return self.endpoint, self.job, self.now


def why_shape(sight: EndpointSight, running: "Run | None") -> Shape:
    """Why an endpoint runs when it does, for programs and for people."""
    from mainspring.domain.schedule.governor import decode_trail
    from mainspring.views.decision import DecisionStepView
    from mainspring.views.run import RunView

    endpoint = sight.endpoint
    return {
        "endpoint": endpoint.name,
        "status": state_of(endpoint, sight.now),
        "next_run_at": instant(endpoint.next_run_at),
        "source": endpoint.source,
        "trail": [DecisionStepView.from_value(step).as_json() for step in decode_trail(endpoint.trail)],
        "running": None if running is None else RunView.of(running, endpoint.name).as_json(),
        "waiting": None if sight.wait is None else _wait_in_full(sight, sight.wait),
        "sentences": why_sentences(sight, running),
    }


def _wait_in_full(sight: EndpointSight, wait: "QueueWait") -> Shape:
    due_at = sight.endpoint.due_at
    return wait_shape(wait, due_at) | {"text": wait_sentence(wait, sight.now, due_at), "advice": wait_advice(wait)}


def why_sentences(sight: EndpointSight, running: "Run | None") -> list[str]:
    """Its state, what it waits for, its present run, the decision step by step, what else counts."""
    from mainspring.domain.schedule.governor import decode_trail

    steps = decode_trail(sight.endpoint.trail)
    return [*state_sentences(sight), *_waiting(sight), *_running(sight, running), *_decided(steps), *_more(sight)]


def step_sentence(
    step: "DecisionStep | DecisionStepView", steps: "Sequence[DecisionStep] | Sequence[DecisionStepView]"
) -> str:
    """One candidate or rule of a decision, as a complete sentence."""
    who = RULES.get(step.rule, step.rule)
    at = clock(step.at) if step.at is not None else "no instant"
    if step.at is not None and step.at >= FOREVER:
        at = "no end"
    winner = next((each for each in steps if each.verdict == "won"), None)
    if step.verdict == "won":
        return f"{who} asked for {at} and won: {step.why}."
    if step.verdict == "lost" and winner is not None:
        return f"{who} asked for {at} and lost to {rule_in_words(winner.rule)}: {step.why}."
    if step.verdict == "ignored":
        return f"{who} was ignored: {step.why}."
    if step.verdict == "moved":
        return f"{who} moved the run to {at}: {step.why}."
    return f"{who} asked for {at} and {step.verdict}: {step.why}."


def state_sentences(sight: EndpointSight) -> list[str]:
    """What stops it, or when it runs and on whose word."""
    endpoint, now = sight.endpoint, sight.now
    name = f"{endpoint.name!r}"
    match state_of(endpoint, now):
        case "archived":
            return [f"{name} was archived {when(now, endpoint.archived_at)} and never runs again."]
        case "parked":
            return [
                f"{name} was parked {when(now, endpoint.parked_at)}: {endpoint.parked_reason}.",
                f"It does not run until it is resumed: mainspring endpoint resume {name}.",
            ]
        case "job-paused":
            return [f"{name} does not run because its job is not active: mainspring job resume {sight.job!r}."]
        case "paused":
            until = (
                "until it is resumed"
                if _is_forever(endpoint.paused_until)
                else f"until {when(now, endpoint.paused_until)}"
            )
            reason = f", because: {endpoint.pause_reason}" if endpoint.pause_reason else ""
            return [f"{name} is paused {until}{reason}.", *_who_may_resume(endpoint)]
        case "deferred":
            return [
                f"{name} waits until {when(now, endpoint.deferred_until)} because its tenant used up its runs of the "
                "month: mainspring tenant set --runs-per-month raises the quota."
            ]
        case _:
            return _planned(sight)


def _who_may_resume(endpoint: "Endpoint") -> list[str]:
    from mainspring.domain.advice.authority import Authority, authority_of
    from mainspring.domain.schedule.hint import author_in_words

    if not endpoint.pause_author:
        return []
    paused = f"It was paused by {author_in_words(endpoint.pause_author)}"
    if endpoint.advice_may_resume:
        return [f"{paused}; rules, workflows and the model may resume it."]
    if authority_of(endpoint.pause_author) is Authority.PERSON:
        return [f"{paused}; only a person can resume it: mainspring endpoint resume {endpoint.name!r}."]
    return [f"{paused}."]


def _planned(sight: EndpointSight) -> list[str]:
    endpoint, now = sight.endpoint, sight.now
    if endpoint.next_run_at is None:
        return [f"{endpoint.name!r} has no next run."]
    verb = "runs next" if endpoint.next_run_at > now else "was due"
    return [f"{endpoint.name!r} {verb} at {when(now, endpoint.next_run_at)}, set by {source_in_words(endpoint)}."]


def source_in_words(endpoint: "Endpoint") -> str:
    """`the interval hint of rule night`: what set the next run, and for a hint, who wrote it."""
    from mainspring.domain.schedule.governor import AI_INTERVAL, AI_ONE_SHOT
    from mainspring.domain.schedule.hint import author_in_words

    hint = {AI_INTERVAL: endpoint.interval_hint, AI_ONE_SHOT: endpoint.one_shot_hint}.get(endpoint.source)
    return rule_in_words(endpoint.source) + (f" of {author_in_words(hint.author)}" if hint is not None else "")


def rule_in_words(rule: str) -> str:
    """`the interval hint`: a rule or a source within a sentence."""
    words = RULES.get(rule, rule)
    return f"{words[0].lower()}{words[1:]}"


def _waiting(sight: EndpointSight) -> list[str]:
    if sight.wait is None or not sight.has_scheduler:  # that no scheduler is running is said in another place
        return []
    return [wait_sentence(sight.wait, sight.now, sight.endpoint.due_at), wait_advice(sight.wait)]


def wait_sentence(wait: "QueueWait", now: datetime, due_at: datetime | None) -> str:
    """`It is due since ... and waits for host gateway:80, which has 50 of 50 runs in flight, with 811 others.`"""
    others = wait.waiting - 1
    beside = f", with {others:,} other endpoint{'' if others == 1 else 's'}" if others else ""
    return f"It has been due since {when(now, due_at)} and waits {awaited(wait)}{beside}."


def awaited(wait: "QueueWait") -> str:
    """`for host gateway:80, which has 50 of 50 runs in flight`"""
    from mainspring.domain.schedule.queue import Cause

    full = f"{wait.in_flight:,} of {wait.limit} runs in flight"
    match wait.cause:
        case Cause.SCHEDULER:
            return "for a scheduler: none is running"
        case Cause.HOST:
            return f"for host {wait.name}, which has {full}"
        case Cause.RATE:
            return f"for host {wait.name}, which is limited to {wait.limit}"
        case Cause.TENANT:
            return f"for tenant {wait.name}, which has {full}"
        case Cause.SLOW_OF_TENANT | Cause.NEW_OF_TENANT:
            return f"for tenant {wait.name}, which has {full} that are not quick"
        case Cause.SLOW:
            return f"for a place for a slow run: {full} that are not quick"
        case Cause.NEW:
            return f"for a place for its first run: {full} that are not quick"
        case Cause.PLACES:
            return f"for a place: {full}"


def wait_advice(wait: "QueueWait") -> str:
    """Which setting to change, and to what."""
    from mainspring.domain.schedule.queue import Cause

    match wait.cause:
        case Cause.SCHEDULER:
            return "Start a scheduler: mainspring serve."
        case Cause.HOST if wait.setting == "MAINSPRING_HOST_LIMITS":
            return f"To start more at once, raise the limit of {wait.name} in MAINSPRING_HOST_LIMITS."
        case Cause.HOST:
            twice = 2 * int(wait.limit)
            own = f"MAINSPRING_HOST_LIMITS='{wait.name} = {twice}'"
            return f"To start more at once, set {own}, or raise MAINSPRING_CONCURRENCY_PER_HOST for all hosts."
        case Cause.RATE:
            return f"To start them sooner, raise the rate of {wait.name} in MAINSPRING_HOST_LIMITS."
        case Cause.TENANT | Cause.SLOW_OF_TENANT | Cause.NEW_OF_TENANT:
            return f"To start more at once, raise {wait.setting}."
        case Cause.SLOW | Cause.NEW:
            return (
                "Runs that take 2 s or longer, and first runs of endpoints, may take only a part of the places, so "
                "that quick ones find one. To start more at once, lower timeouts, raise MAINSPRING_CONCURRENCY, or on "
                "PostgreSQL start another scheduler."
            )
        case Cause.PLACES:
            return "To start more at once, raise MAINSPRING_CONCURRENCY, or on PostgreSQL start another scheduler."


def _running(sight: EndpointSight, run: "Run | None") -> list[str]:
    endpoint, now = sight.endpoint, sight.now
    sentences: list[str] = []
    if endpoint.is_running:
        since = f"since {when(now, run.started_at)} " if run is not None else ""
        sentences.append(
            f"It is running now, {since}by worker {endpoint.claimed_by} (attempt {endpoint.attempt}, "
            f"{endpoint.run_id}); unless it ends before {clock(endpoint.lease_until)}, another worker takes it over."
        )
        sentences.append("What follows is the plan as it was made before this run; its end makes the next one.")
    if endpoint.manual_at is not None:
        start = "starts when the present run has ended" if endpoint.is_running else "starts at once"
        if sight.wait is not None and sight.has_scheduler:
            start = "starts when its turn comes"
        sentences.append(f"A run was asked for {when(now, endpoint.manual_at)} and {start}.")
    if not sight.has_scheduler:
        sentences.append("No scheduler is alive, so nothing runs: start one with mainspring serve.")
    return sentences


def _decided(steps: tuple["DecisionStep", ...]) -> list[str]:
    if not steps:
        return ["No decision has been made for it yet."]
    return ["How this was decided:", *(f"  {step_sentence(step, steps)}" for step in steps)]


def _more(sight: EndpointSight) -> list[str]:
    """What counts at the next decision although it may not be in this one's trail."""
    from mainspring.domain.definition import contradiction_of

    endpoint = sight.endpoint
    sentences = [f"In force: {kind}, {words}." for kind, words in hints_in_words(endpoint, sight.now)]
    if words := contradiction_of(endpoint.cron, endpoint.max_interval_ms, endpoint.id):
        sentences.append(f"{words[0].upper()}{words[1:]}.")
    if (refused := endpoint.refused_advice) is not None:
        from mainspring.domain.schedule.hint import author_in_words

        who = author_in_words(refused.author)
        sentences.append(f"Refused {when(sight.now, refused.at)}: {who} asked for: {refused.does}. {refused.because}.")
    sentences += [_proposed(each, sight.now) for each in sight.proposals]
    if endpoint.failure_count:
        many = "run" if endpoint.failure_count == 1 else f"{endpoint.failure_count} runs"
        sentences.append(
            f"The last {many} failed; a success ends the backoff, and so do a run by hand and mainspring endpoint "
            "reset, after which failures count anew."
        )
    return sentences


def _proposed(proposal: "StoredProposal", now: datetime) -> str:
    from mainspring.domain.schedule.hint import author_in_words

    who, until = author_in_words(proposal.author), when(now, proposal.expires_at)
    what = f"Proposed, and not applied until a person approves it: {proposal.does}, by {who} ({proposal.reason})"
    return f"{what}. It expires at {until}: mainspring proposals approve {proposal.id}, or reject."


def _is_forever(at: datetime | None) -> bool:
    return at is not None and at >= FOREVER


def hints_in_words(endpoint: "Endpoint", now: datetime) -> list[tuple[str, str]]:
    from mainspring.domain.schedule.hint import author_in_words

    fields: list[tuple[str, str]] = []
    if (hint := endpoint.interval_hint) is not None:
        what = f"every {format_duration(hint.interval_ms)} until {when(now, hint.expires_at)}"
        reason = f": {hint.reason}" if hint.reason else ""
        fields.append(("interval hint", f"{what}, by {author_in_words(hint.author)}{reason}"))
    if (once := endpoint.one_shot_hint) is not None:
        what = f"once at {when(now, once.next_run_at)}, good until {clock(once.expires_at)}"
        reason = f": {once.reason}" if once.reason else ""
        fields.append(("one-shot hint", f"{what}, by {author_in_words(once.author)}{reason}"))
    return fields


def clock(at: datetime | None, none: str = "-") -> str:
    """`2025-01-01 12:00:00 UTC`, with milliseconds where there are any."""
    if at is None:
        return none
    if at >= FOREVER:
        return "never"
    text = at.isoformat(sep=" ", timespec="milliseconds").removesuffix("+00:00").removesuffix(".000")
    return f"{text} UTC"


def relative(now: datetime, at: datetime | None, none: str = "-") -> str:
    """`in 23s`, `5m10s ago`: coarse, for reading; the exact instant stands elsewhere."""
    if at is None:
        return none
    if at >= FOREVER:
        return "never"
    distance = at - now
    span = span_in_words(abs(distance))
    if span == "0s":
        return "now"
    return f"in {span}" if distance > timedelta(0) else f"{span} ago"


def when(now: datetime, at: datetime | None, none: str = "-") -> str:
    """Both: `2025-01-01 12:00:00 UTC (in 23s)`."""
    if at is None or at >= FOREVER:
        return clock(at, none)
    return f"{clock(at)} ({relative(now, at)})"


def span_in_words(span: timedelta) -> str:
    """At most two units: `850ms`, `23s`, `5m10s`, `3d4h`."""
    ms = span // timedelta(milliseconds=1)
    for unit_ms, below_ms in ((1_000, 3_600_000), (60_000, 86_400_000), (3_600_000, 1 << 62)):
        if ms < 1_000:
            return format_duration(ms)
        if ms < below_ms:
            return format_duration(ms // unit_ms * unit_ms)
    raise AssertionError("the last bound is beyond every timedelta")


def took(ms: int | None) -> str:
    return "-" if ms is None else format_duration(ms) if ms else "<1ms"

"""Decide what rules, workflow steps and the model may do to an endpoint's schedule. Pure.

People rank first, then rules and workflow steps, then the model. Advice replaces a hint or ends a pause only if the
same or a lower authority set it; what a person set yields only to a person. A forbidden action raises AdviceRefused,
and `note_refusal` records it on the endpoint so that `why` can explain it.

The rule that must not break: an advised pause may delay a run, never bring one forward. The governor lets a pause win
over everything, so an endpoint runs as soon as its pause ends: advice that pauses for a second after every run would
otherwise bypass the owner's limits.
"""

from datetime import datetime
from enum import IntEnum

from msgspec.structs import replace

from mainspring.domain.duration import format_duration
from mainspring.domain.endpoint import Endpoint, Power, RefusedAdvice
from mainspring.domain.errors import AdviceRefused
from mainspring.domain.event import Event, EventType
from mainspring.domain.instant import FOREVER, after_ms, rfc3339
from mainspring.domain.schedule import changes
from mainspring.domain.schedule.changes import Change
from mainspring.domain.schedule.governor import CronReader
from mainspring.domain.schedule.hint import IntervalHint, OneShotHint, author_in_words


class Authority(IntEnum):
    """Ranks of authors: a lower authority never changes what a higher one set."""

    MODEL = 1
    RULE = 2  # and workflow steps: a person wrote both
    PERSON = 3


_AUTHORITIES = {"model": Authority.MODEL, "rule": Authority.RULE, "execution": Authority.RULE}


def authority_of(author: str) -> Authority:
    """Derives the rank from the prefix of an author: `rule:night`, `model:openai:x`; any other author is a person."""
    return _AUTHORITIES.get(author.partition(":")[0], Authority.PERSON)


def check_power(endpoint: Endpoint, power: Power) -> None:
    """Raises AdviceRefused if the owner of the endpoint does not allow this advice."""
    if power in endpoint.advice:
        return
    allowed = ", ".join(endpoint.advice) or "nothing"
    raise AdviceRefused(
        f"the owner of {endpoint.name!r} does not allow advice: {power}; allowed: {allowed}",
        kind="endpoint",
        name=endpoint.name,
    )


def check_reach(subject: Endpoint, target_id: str) -> None:
    """Raises AdviceRefused if advice about `subject` would act on a sibling and its owner does not allow that."""
    if target_id != subject.id:
        check_power(subject, Power.SIBLINGS)


def advise_interval(endpoint: Endpoint, hint: IntervalHint, now: datetime, cron: CronReader) -> Change:
    check_power(endpoint, Power.INTERVAL)
    _check_hint(endpoint, endpoint.interval_hint, hint.author, now)
    return changes.put_interval_hint(endpoint, hint, now, cron)


def advise_one_shot(endpoint: Endpoint, hint: OneShotHint, now: datetime, cron: CronReader) -> Change:
    check_power(endpoint, Power.RUN)
    _check_hint(endpoint, endpoint.one_shot_hint, hint.author, now)
    return changes.put_one_shot_hint(endpoint, hint, now, cron)


def advise_clear(endpoint: Endpoint, now: datetime, author: str, cron: CronReader) -> Change:
    """Clears the hints that this authority may clear; refused if all hints belong to a higher authority."""
    places = (endpoint.interval_hint, endpoint.one_shot_hint)
    held = [hint for hint in places if hint is not None and _is_held(hint, author, now)]
    if held and len(held) == sum(hint is not None for hint in places):
        _check_hint(endpoint, held[0], author, now)
    keep_interval, keep_one_shot = (any(hint is each for each in held) for hint in places)
    return changes.clear_hints(endpoint, now, author, cron, interval=not keep_interval, one_shot=not keep_one_shot)


def advise_pause(
    endpoint: Endpoint, until: datetime | None, reason: str, now: datetime, actor: str, cron: CronReader
) -> Change:
    """Pauses until `until`, or until the next planned run that respects the owner's minimum, if that is later.

    None pauses until the endpoint is resumed.
    """
    check_power(endpoint, Power.PAUSE)
    check_pause(endpoint, actor, now)
    for hint in (endpoint.interval_hint, endpoint.one_shot_hint):  # a pause would have no effect
        _check_hint(endpoint, hint, actor, now)
    if until is None:
        return changes.pause(endpoint, None, reason, now, actor, cron)
    began_at = now if endpoint.is_running else endpoint.anchor_at
    earliest = after_ms(began_at, endpoint.min_interval_ms or 0)
    planned = endpoint.next_run_at if endpoint.next_run_at is not None and not endpoint.is_running else until
    return changes.pause(endpoint, max(until, planned, earliest), reason, now, actor, cron)


def advise_resume(endpoint: Endpoint, now: datetime, author: str, cron: CronReader) -> Change:
    """Ends a pause that advice may end. Only a person can unpark an endpoint."""
    check_wake(endpoint, author, now)
    return changes.resume(endpoint, now, author, cron) if endpoint.parked_at is None else Change(endpoint)


def check_wake(endpoint: Endpoint, author: str, now: datetime) -> None:
    """Raises AdviceRefused if the endpoint is paused and `author` may not end the pause."""
    if endpoint.is_paused(now):
        check_power(endpoint, Power.WAKE)
    check_pause(endpoint, author, now)


def check_pause(endpoint: Endpoint, author: str, now: datetime) -> None:
    """Raises AdviceRefused if an authority above `author` paused the endpoint."""
    if not endpoint.is_paused(now) or endpoint.advice_may_resume:
        return
    if authority_of(endpoint.pause_author) > authority_of(author):
        assert endpoint.paused_until is not None
        end = "until resumed" if endpoint.paused_until >= FOREVER else f"until {rfc3339(endpoint.paused_until)}"
        why = f" ({endpoint.pause_reason})" if endpoint.pause_reason else ""
        who = author_in_words(endpoint.pause_author) or "a person"
        raise _refused(endpoint, f"{who} paused {endpoint.name!r} {end}{why}", endpoint.pause_author)


def is_in_force(endpoint: Endpoint, now: datetime) -> bool:
    """Whether advice currently affects this endpoint by a valid hint or a pause."""
    return any(_advisers_places(endpoint, now))


def undo_advice(endpoint: Endpoint, now: datetime, actor: str, cron: CronReader) -> Change:
    """The endpoint without hints and pauses set by advice; those of people stay."""
    has_interval, has_one_shot, has_pause = _advisers_places(endpoint, now)
    cleared = changes.clear_hints(endpoint, now, actor, cron, interval=has_interval, one_shot=has_one_shot)
    if not has_pause:
        return cleared
    resumed = changes.resume(cleared.endpoint, now, actor, cron)
    return Change(resumed.endpoint, (*cleared.events, *resumed.events))


def _advisers_places(endpoint: Endpoint, now: datetime) -> tuple[bool, bool, bool]:
    interval, one_shot = (
        hint is not None and hint.is_fresh(now) and authority_of(hint.author) is not Authority.PERSON
        for hint in (endpoint.interval_hint, endpoint.one_shot_hint)
    )
    by_advice = bool(endpoint.pause_author) and authority_of(endpoint.pause_author) is not Authority.PERSON
    return interval, one_shot, by_advice and endpoint.is_paused(now) and endpoint.parked_at is None


def note_refusal(endpoint: Endpoint, author: str, does: str, because: str, now: datetime, run_id: str = "") -> Change:
    """Records on the endpoint what was refused to whom, and why. A repeated refusal is recorded once."""
    last = endpoint.refused_advice
    if last is not None and (last.author, last.does, last.because) == (author, does, because):
        return Change(endpoint)
    noted = replace(endpoint, refused_advice=RefusedAdvice(now, author, does, because))
    data: dict[str, object] = {"does": does, "because": because}
    event = Event(EventType.ADVICE_REFUSED, now, endpoint.tenant_id, endpoint.id, run_id, author, data)
    return Change(noted, (event,))


def _is_held(hint: IntervalHint | OneShotHint, author: str, now: datetime) -> bool:
    return hint.is_fresh(now) and authority_of(hint.author) > authority_of(author)


def _check_hint(endpoint: Endpoint, hint: IntervalHint | OneShotHint | None, author: str, now: datetime) -> None:
    if hint is None or not _is_held(hint, author, now):
        return
    what = (
        f"every {format_duration(hint.interval_ms)}"
        if isinstance(hint, IntervalHint)
        else f"a run at {rfc3339(hint.next_run_at)}"
    )
    why = f" ({hint.reason})" if hint.reason else ""
    who = author_in_words(hint.author)
    fact = f"{who} set a hint for {endpoint.name!r}: {what}, valid until {rfc3339(hint.expires_at)}{why}"
    raise _refused(endpoint, fact, hint.author)


def _refused(endpoint: Endpoint, fact: str, held_by: str) -> AdviceRefused:
    way_out = (
        "only a person can change it"
        if authority_of(held_by) is Authority.PERSON
        else "rules take precedence over the model"
    )
    return AdviceRefused(f"{fact}; {way_out}", kind="endpoint", name=endpoint.name)

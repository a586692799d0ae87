"""Apply one action to many endpoints: named ones, or a batch of all that match.

A batch is one transaction and never larger than BATCH. A refusal of one endpoint does not stop the others: the endpoint
stays unchanged, and the result lists the reason.
"""

from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from typing import assert_never

from msgspec import Struct

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.errors import Conflict, QuotaExceeded
from mainspring.domain.schedule import changes
from mainspring.domain.schedule.changes import Act, Change
from mainspring.domain.text import check_text
from mainspring.operations.context import Desk
from mainspring.operations.endpoints import REASON_MAX
from mainspring.ports.filters import EndpointListFilter

BATCH = 500  # a transaction of some 100 ms; longer ones would delay runs


class Verb(StrEnum):
    RUN = "run"
    PAUSE = "pause"
    RESUME = "resume"
    CLEAR_HINTS = "clear-hints"
    RESET_FAILURES = "reset-failures"


class Refusal(Struct, frozen=True):
    id: str
    name: str
    why: str


class Tally(Struct, frozen=True):
    matched: int
    changed: int
    refused: tuple[Refusal, ...]
    last: tuple[str, str] | None = None  # name and id of the last one of a full batch: more may follow


async def act_on_some(desk: Desk, ids: list[str], act: Act) -> Tally:
    """Unknown ids are skipped."""
    changed = 0
    refused: list[Refusal] = []

    def tolerant(endpoint: Endpoint, now: datetime) -> Change:
        nonlocal changed
        try:
            change = act(endpoint, now)
        except (Conflict, QuotaExceeded) as fault:
            refused.append(Refusal(endpoint.id, endpoint.name, str(fault)))
            return Change(endpoint)
        changed += change.endpoint != endpoint
        return change

    found = await desk.stores.endpoints.change_endpoints(desk.tenant_id, ids, tolerant)
    return Tally(len(found), changed, tuple(refused))


async def act_on_batch(desk: Desk, look: EndpointListFilter, act: Act) -> Tally:
    """The next batch of all that match, by name; `last` is where the following batch starts."""
    found = await desk.stores.look.endpoints(desk.tenant_id, look)
    tally = await act_on_some(desk, [each.id for each in found], act)
    last = (found[-1].name, found[-1].id) if len(found) == look.limit else None
    return Tally(tally.matched, tally.changed, tally.refused, last)


def act_of(desk: Desk, verb: Verb, until: Callable[[datetime], datetime | None], reason: str) -> Act:
    """The action of a verb on one endpoint; `until` and `reason` are for a pause."""
    reason = check_text(reason, "reason", REASON_MAX)
    match verb:
        case Verb.RUN:
            return lambda each, now: changes.request_run(each, now, desk.actor, desk.cron)
        case Verb.PAUSE:
            return lambda each, now: changes.pause(each, until(now), reason, now, desk.actor, desk.cron)
        case Verb.RESUME:
            return lambda each, now: changes.resume(each, now, desk.actor, desk.cron)
        case Verb.CLEAR_HINTS:
            return lambda each, now: changes.clear_hints(each, now, desk.actor, desk.cron)
        case Verb.RESET_FAILURES:
            return lambda each, now: changes.reset_failures(each, now, desk.actor, desk.cron)
    assert_never(verb)


def archive_of(desk: Desk) -> Act:
    return lambda each, now: changes.archive(each, now, desk.actor)

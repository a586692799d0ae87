"""The trace of a simulation: runs and decisions, by name and in order, as values and as text to compare."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from threading import Event as Moment

import msgspec
from msgspec import Struct

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.errors import StoreUnavailable
from mainspring.domain.event import Event, EventType, StoredEvent
from mainspring.domain.instant import rfc3339
from mainspring.domain.schedule.governor import decode_trail
from mainspring.ports.records import RunFilter
from mainspring.ports.stores import Stores
from mainspring.simulation.scenario import Scenario

PAGE = 1_000
TRIES = 30_000  # at 2 ms of real time
LOOKED_AT = 50  # events; one transaction may write several
Latest = Callable[[str, int], Awaitable[Sequence[StoredEvent]]]
NOT_TOLD = frozenset({EventType.RUN_STARTED, EventType.RUN_FINISHED, EventType.ENDPOINT_CREATED, EventType.JOB_CREATED})


class PlayedRun(Struct, frozen=True):
    endpoint: str
    slot_at: datetime
    started_at: datetime
    finished_at: datetime | None
    status: str
    source: str
    trigger: str
    why: str  # the deciding step of its plan


class TracedDecision(Struct, frozen=True):
    """A change to an endpoint's schedule."""

    at: datetime
    endpoint: str
    type: str
    actor: str
    data: dict[str, object]


class Trace(Struct, frozen=True, dict=True):
    scenario: Scenario
    seed: int
    ended_at: datetime
    endpoints: tuple[Endpoint, ...]
    runs: tuple[PlayedRun, ...]
    decisions: tuple[TracedDecision, ...]

    def minute(self, at: datetime) -> float:
        return (at - self.scenario.start).total_seconds() / 60

    @cached_property
    def text(self) -> str:
        """One line per run and decision; the same for the same seed, on every database."""
        lines = [
            f"{rfc3339(run.started_at)} run {run.endpoint} slot={rfc3339(run.slot_at)} {run.status} {run.source} "
            f"{run.trigger} until {'-' if run.finished_at is None else rfc3339(run.finished_at)}"
            for run in self.runs
        ]
        for each in self.decisions:
            data = msgspec.json.encode(each.data, order="sorted").decode()
            lines.append(f"{rfc3339(each.at)} {each.type} {each.endpoint} by {each.actor} {data}")
        return "\n".join(sorted(lines)) + "\n"


async def read_trace(
    scenario: Scenario, seed: int, stores: Stores, endpoints: Mapping[str, Endpoint], now: datetime
) -> Trace:
    runs: list[PlayedRun] = []
    for endpoint in endpoints.values():
        before = None
        while page := await stores.runs.runs(
            endpoint.tenant_id, RunFilter(endpoint_id=endpoint.id, before_id=before, limit=PAGE)
        ):
            before = page[-1].id
            for run in page:
                why = next((step.why for step in reversed(decode_trail(run.trail)) if step.verdict == "won"), "")
                times = (run.slot_at, run.started_at, run.finished_at)
                runs.append(PlayedRun(endpoint.name, *times, run.status.value, run.source, run.trigger.value, why))
    runs.sort(key=lambda run: (run.started_at, run.endpoint))
    decisions = [
        TracedDecision(event.at, endpoints[event.endpoint_id].name, event.type.value, event.actor, event.data)
        for event in await _all_events(stores, now)
        if event.endpoint_id in endpoints and event.type not in NOT_TOLD
    ]
    current = tuple(
        [found for each in endpoints.values() if (found := await stores.endpoints.endpoint(each.tenant_id, each.id))]
    )
    return Trace(scenario, seed, now, current, tuple(runs), tuple(decisions))


async def until_shown(latest: Latest, is_it: Callable[[Event], bool]) -> None:
    """Waits until an event is readable: PostgreSQL shows it once no earlier transaction with events is open.

    Raises StoreUnavailable after a minute: unreadable events would be missing in the trace.
    """
    for _ in range(TRIES):
        if any(is_it(stored.event) for stored in await latest("default", LOOKED_AT)):
            return
        Moment().wait(0.002)
    raise StoreUnavailable(
        f"events written {TRIES * 0.002:.0f} s ago are not readable yet: another client of this database "
        "wrote events and keeps its transaction open; wait until it has ended, or run the scenario on "
        "SQLite"
    )


async def _all_events(stores: Stores, now: datetime) -> list[Event]:
    """Every event; a last event added here shows when all earlier ones are readable."""
    mark = Event(EventType.SCHEDULE_LATE, now, "default", data={"end": True})
    await stores.runs.add_events([mark])
    await until_shown(stores.runs.latest_events, lambda event: event.data == mark.data)
    events: list[Event] = []
    cursor = ""
    while page := await stores.runs.events_after(cursor, None, PAGE):
        cursor = page[-1].cursor
        events.extend(stored.event for stored in page)
    return events

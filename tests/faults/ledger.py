"""What really happened, put together from the journal (the truth) and the database (the suspect).

A slot is decided once: by the result that counted (`run.finished` says where the schedule went), or, for an endpoint
that runs a slot at most once, by the takeover that gave it up. So the slots of an endpoint are a chain: every decision
names the next slot, and that slot must be there. A break in the chain is a lost slot; two decisions for one slot are a
schedule that moved twice.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise, takewhile

from msgspec.structs import replace

from mainspring.domain.endpoint import LOST_WORKERS_MAX, Endpoint
from mainspring.domain.event import Event, EventType
from mainspring.domain.instant import to_us
from mainspring.domain.run import ENDED_BY_CALL, Run, RunStatus, slot_id
from mainspring.domain.schedule.anchor import START_TOLERANCE
from mainspring.domain.schedule.governor import intended_interval_ms
from mainspring.ports.endpoints import EndpointFilter
from mainspring.ports.records import RunFilter
from mainspring.ports.stores import Stores
from tests.harness.waiting import DEADLINE_S, until_true
from tests.peers.journal import Entry

PAGE = 10_000
ASK_S = 0.1  # every question reads all runs, on cores that those who make them need
Slot = tuple[str, datetime]  # endpoint, instant


@dataclass(frozen=True)
class Ledger:
    endpoints: dict[str, Endpoint]
    runs: Sequence[Run]
    events: Sequence[Event]
    entries: Sequence[Entry]

    def by_slot(self) -> dict[Slot, list[Run]]:
        slots: dict[Slot, list[Run]] = defaultdict(list)
        for run in sorted(self.runs, key=lambda each: each.id):
            if run.status is not RunStatus.MISSED:
                slots[run.endpoint_id, run.slot_at].append(run)
        return slots

    def count(self, status: RunStatus) -> int:
        return sum(run.status is status for run in self.runs)

    def recorded_twice(self) -> list[Slot]:
        """Slots with two results that counted: what a fence is there to prevent."""
        ended = Counter((run.endpoint_id, run.slot_at) for run in self.runs if run.status in ENDED_BY_CALL)
        return [slot for slot, times in ended.items() if times > 1]

    def decisions(self) -> dict[Slot, list[datetime | None]]:
        """Where each decision about a slot moved the schedule to."""
        slot_of = {run.id: (run.endpoint_id, run.slot_at) for run in self.runs}
        made: dict[Slot, list[datetime | None]] = defaultdict(list)
        for event in self.events:
            if event.run_id not in slot_of:
                continue
            if event.type is EventType.RUN_FINISHED:
                made[slot_of[event.run_id]].append(_instant(event.data["next_run_at"]))
            elif event.type is EventType.RUN_ABANDONED and event.data["status"] == RunStatus.UNKNOWN:
                made[slot_of[event.run_id]].append(self._planned_at(event, slot_of[event.run_id]))
        return made

    def _planned_at(self, lost: Event, slot: Slot) -> datetime:
        """Where a slot that was given up leads to: an interval on, which is longer after calls that failed."""
        endpoint_id, slot_at = slot
        ended = [run for run in self.runs if run.endpoint_id == endpoint_id and run.status in ENDED_BY_CALL]
        before = sorted((run for run in ended if run.slot_at < slot_at), key=lambda each: each.slot_at, reverse=True)
        failures = takewhile(lambda run: run.status is not RunStatus.SUCCESS, before)
        failing = replace(self.endpoints[endpoint_id], failure_count=len(list(failures)))
        return lost.at + timedelta(milliseconds=intended_interval_ms(failing, lost.at)[0])

    def parked(self) -> dict[Slot, list[datetime | None]]:
        """The slots at which endpoints were parked, each after LOST_WORKERS_MAX attempts without a result in time."""
        slots = self.by_slot()
        ends: dict[Slot, list[datetime | None]] = {}
        for event in self.events:
            if event.type is EventType.ENDPOINT_PARKED:
                last = max(slot_at for endpoint_id, slot_at in slots if endpoint_id == event.endpoint_id)
                attempts = slots[event.endpoint_id, last]
                if len(attempts) >= LOST_WORKERS_MAX and all(_is_without_result(run) for run in attempts):
                    ends[event.endpoint_id, last] = [None]
        return ends

    def moved_twice(self) -> list[Slot]:
        return [slot for slot, moves in self.decisions().items() if len(moves) > 1]

    def lost(self) -> list[str]:
        """Slots that nobody decided, and slots that a decision named and that never came to be.

        Not lost is what is accounted for: a slot whose lease still runs, one summed up in a `missed` row after a long
        outage, and the last one of an endpoint that lost five workers in a row: it was parked, and an alert says so.
        """
        missed = {(run.endpoint_id, run.slot_at) for run in self.runs if run.status is RunStatus.MISSED}
        leased = {(each.id, each.slot_at) for each in self.endpoints.values() if each.is_running}
        slots, made = self.by_slot(), self.decisions() | self.parked()
        known = slots.keys() | missed
        undecided = slots.keys() - made - leased
        found = [f"{slot} was never decided: {[run.status for run in slots[slot]]}" for slot in undecided]
        for (endpoint_id, slot_at), moves in made.items():
            for next_run_at in moves:
                is_there = next_run_at is not None and (endpoint_id, next_run_at) in known
                if not is_there and self.endpoints[endpoint_id].next_run_at != next_run_at:
                    found.append(f"({endpoint_id}, {slot_at}) led to {next_run_at}, which never came")
        return found

    def drifts(self) -> list[str]:
        """Slots of interval endpoints that are not their interval after the one before.

        After a start that was itself later than the tolerance, the interval counts from that start; after a run whose
        next slot was already past, from its end.
        """
        by_endpoint: dict[str, list[Run]] = defaultdict(list)
        for run in sorted(self.runs, key=lambda each: each.slot_at):
            by_endpoint[run.endpoint_id].append(run)
        found = []
        for endpoint_id, runs in by_endpoint.items():
            interval = timedelta(milliseconds=self.endpoints[endpoint_id].interval_ms or 0)
            for before, after in pairwise(runs):
                is_late = before.started_at - before.slot_at > START_TOLERANCE
                expected_at = (before.started_at if is_late else before.slot_at) + interval
                if before.finished_at is not None and expected_at < before.finished_at:
                    expected_at = before.finished_at + interval
                if after.slot_at != expected_at:
                    found.append(f"{endpoint_id}: {before.slot_at} -> {after.slot_at}")
        return found

    def strangers(self) -> list[Entry]:
        """Deliveries that the database knows nothing of: no run of that slot and attempt."""
        known = {(slot_id(run.endpoint_id, run.slot_at), run.attempt) for run in self.runs}
        return [entry for entry in self.entries if (entry.webhook_id, entry.attempt) not in known]

    def undelivered(self) -> list[Run]:
        """Successes that the target knows nothing of."""
        delivered = {(entry.webhook_id, entry.attempt) for entry in self.entries}
        return [
            run
            for run in self.runs
            if run.status is RunStatus.SUCCESS and (slot_id(run.endpoint_id, run.slot_at), run.attempt) not in delivered
        ]

    def ids_that_differ(self) -> list[tuple[str, str]]:
        """Slots that were called under more than one id."""
        ids: dict[tuple[str, str], set[str]] = defaultdict(set)
        for entry in self.entries:
            ids[entry.path, entry.slot].add(entry.webhook_id)
        return [slot for slot, found in ids.items() if len(found) > 1]

    def deliveries_per_slot(self) -> Counter[str]:
        return Counter(entry.webhook_id for entry in self.entries)

    def early(self) -> list[Entry]:
        return [entry for entry in self.entries if entry.at < _slot_s(entry)]

    def lateness_s(self) -> list[float]:
        """How long after its slot each first attempt arrived, sorted."""
        return sorted(entry.at - _slot_s(entry) for entry in self.entries if entry.attempt == 1)

    def takeovers_s(self) -> list[float]:
        """How long after an attempt started the next one of the same slot did, sorted."""
        waits = []
        for runs in self.by_slot().values():
            waits += [(after.started_at - before.started_at).total_seconds() for before, after in pairwise(runs)]
        return sorted(waits)

    def figures(self) -> dict[str, object]:
        late = self.lateness_s()
        takeovers = self.takeovers_s()
        deliveries = self.deliveries_per_slot()
        return {
            "slots": len(self.by_slot()),
            "deliveries": len(self.entries),
            "duplicates": len(self.entries) - len(deliveries),
            "abandoned": self.count(RunStatus.ABANDONED),
            "unknown": self.count(RunStatus.UNKNOWN),
            "parked": len(self.parked()),
            "still_leased": sum(each.is_running for each in self.endpoints.values()),
            "superseded": self.count(RunStatus.SUPERSEDED),
            "lost": len(self.lost()),
            "recorded_twice": len(self.recorded_twice()),
            "max_takeover_s": round(takeovers[-1], 2) if takeovers else None,
            "lateness_ms": {name: round(1_000 * percentile(late, share), 1) for name, share in PERCENTILES.items()},
        }


PERCENTILES = {"p50": 0.5, "p99": 0.99, "max": 1.0}


def percentile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


async def read_ledger(stores: Stores, entries: Sequence[Entry], tenant_ids: Iterable[str] = ("default",)) -> Ledger:
    endpoints: dict[str, Endpoint] = {}
    runs: list[Run] = []
    for tenant_id in tenant_ids:
        for endpoint in await stores.endpoints.endpoints(tenant_id, EndpointFilter(limit=PAGE)):
            endpoints[endpoint.id] = endpoint
        runs += await all_runs(stores, tenant_id)
    return Ledger(endpoints, runs, await all_events(stores), entries)


async def all_events(stores: Stores) -> list[Event]:
    """Every event there is, once all of them can be read."""
    await _until_all_events_are_readable(stores)
    return await events_so_far(stores)


async def events_so_far(stores: Stores) -> list[Event]:
    """Every event that can be read now; the newest may have to wait for a writer that has not ended."""
    events: list[Event] = []
    cursor = ""
    while page := await stores.runs.events_after(cursor, None, PAGE):
        events += [each.event for each in page]
        cursor = page[-1].cursor
    return events


async def until_counted(stores: Stores, status: RunStatus, wanted: int, deadline_s: float = DEADLINE_S) -> None:
    """Until exactly so many runs have this status; no `running` ones means that everything is settled."""

    async def is_so() -> bool:
        await asyncio.sleep(ASK_S)
        return sum(run.status is status for run in await all_runs(stores)) == wanted

    await until_true(is_so, f"{wanted} runs are {status}", deadline_s)


async def _until_all_events_are_readable(stores: Stores) -> None:
    """PostgreSQL holds back what a writer that has not ended could still come before."""
    mark = Event(EventType.SCHEDULE_LATE, await stores.schedule.now(), "mark")
    await stores.runs.add_events([mark])

    async def is_readable() -> bool:
        return mark in [stored.event for stored in await stores.runs.latest_events("mark", 1)]

    await until_true(is_readable, "all events can be read")


async def all_runs(stores: Stores, tenant_id: str = "default") -> list[Run]:
    runs: list[Run] = []
    while page := await stores.runs.runs(tenant_id, RunFilter(before_id=runs[-1].id if runs else None, limit=PAGE)):
        runs += page
    return runs


def _is_without_result(run: Run) -> bool:
    """Given up for lost; or so, until the worker went on and told what no longer counted."""
    return run.error_code == "lost_worker" or run.status is RunStatus.SUPERSEDED


def _instant(value: object) -> datetime | None:
    return None if value is None else datetime.fromisoformat(str(value))


def _slot_s(entry: Entry) -> float:
    return to_us(datetime.fromisoformat(entry.slot)) / 1_000_000

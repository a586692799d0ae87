"""Heartbeats through the real scheduler and notifier: silence is judged at its deadline and alerted once."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from mainspring.domain.access.account import digest
from mainspring.domain.endpoint import Endpoint
from mainspring.domain.event import Event, EventType
from mainspring.domain.kinds.heartbeat import HeartbeatAction
from mainspring.domain.notify.subscription import AlertDraft, DestinationKind
from mainspring.domain.run import RunStatus
from mainspring.domain.schedule.ping import Ping, PingMeaning
from mainspring.observe import Metrics
from mainspring.operations.alerts import add_alert
from mainspring.outbound.kinds.heartbeat import HeartbeatCaller
from mainspring.ports.pings import PingUrl
from mainspring.ports.records import RunFilter
from mainspring.ports.stores import Stores
from mainspring.workers.scheduler import Scheduler, SchedulerOptions
from tests.stores.world import START, FixedClock, add, an_endpoint, get, told
from tests.workers.notices import Newsroom, open_newsroom

KEY = digest("token")
START_PING, SUCCESS = Ping(PingMeaning.START), Ping(PingMeaning.SUCCESS)


@pytest.fixture
async def room(stores: Stores, clock: FixedClock) -> AsyncIterator[Newsroom]:
    async with open_newsroom(stores, clock) as opened:
        yield opened


async def a_heartbeat(room: Newsroom) -> Endpoint:
    """Expected at START, judged a minute later; an alert reports three failures, or silence."""
    made = an_endpoint(
        "backup",
        action=HeartbeatAction(grace_ms=60_000),
        interval_ms=3_600_000,
        anchor_at=START - timedelta(hours=1),
        next_run_at=START + timedelta(minutes=1),
    )
    await add(room.stores, made)
    event = Event(EventType.PING_URL_CREATED, START, made.tenant_id, made.id)
    await room.stores.pings.put_ping_url(PingUrl(made.id, made.tenant_id, KEY, "sealed", START), event)
    draft = AlertDraft("ops", ("ops@example.com",), ("failing", "recovered"))
    await add_alert(room.desk, {DestinationKind.MAIL: room.mailbox}, draft)
    return made


async def play(room: Newsroom, **span: float) -> None:
    """Time passes; a scheduler and the notifier do what is due."""
    room.clock.tick(**span)
    options = SchedulerOptions("worker-1")
    await Scheduler(room.stores.schedule, HeartbeatCaller(room.clock.now), options, Metrics()).run_once()
    await told(room.stores)
    await room.round()


async def statuses(room: Newsroom, endpoint: Endpoint) -> list[tuple[str, str | None]]:
    found = await room.stores.runs.runs(endpoint.tenant_id, RunFilter(endpoint_id=endpoint.id))
    return [(run.status.value, run.error_code) for run in sorted(found, key=lambda run: run.started_at)]


async def test_silence_is_alerted_once_and_a_late_ping_ends_it(room: Newsroom) -> None:
    endpoint = await a_heartbeat(room)
    await play(room, seconds=59)
    before = list(room.mailbox.titles)
    for _ in range(3):
        await play(room, hours=1)
    room.clock.tick(milliseconds=1)
    await room.stores.pings.receive([(KEY, SUCCESS)])
    await play(room, seconds=1)

    assert before == []
    assert room.mailbox.titles == ["backup is failing", "backup has recovered"]
    assert "no ping arrived within 1m after 2025-01-01 00:00:00 UTC" in room.mailbox.received[0][2]
    assert await statuses(room, endpoint) == [("missed", "missed")] * 3 + [("success", "late")]


async def test_run_that_does_not_end_is_alerted_as_still_running(room: Newsroom) -> None:
    endpoint = await a_heartbeat(room)
    await room.stores.pings.receive([(KEY, START_PING)])
    await play(room, seconds=60)

    assert room.mailbox.titles == ["backup is failing"]
    assert "still running: a ping started it 1m ago" in room.mailbox.received[0][2]
    assert await statuses(room, endpoint) == [(RunStatus.TIMEOUT, "still_running")]
    assert (await get(room.stores, endpoint)).failure_count == 1


async def test_overlapping_run_is_alerted_as_such(room: Newsroom) -> None:
    await a_heartbeat(room)
    await room.stores.pings.receive([(KEY, START_PING)] * 4)
    await play(room, seconds=1)

    assert "another run started before this one ended" in room.mailbox.received[0][2]


async def test_pings_in_time_alert_nothing(room: Newsroom) -> None:
    endpoint = await a_heartbeat(room)
    for _ in range(3):
        await room.stores.pings.receive([(KEY, SUCCESS)])
        await play(room, hours=1)

    assert (room.mailbox.titles, await statuses(room, endpoint)) == ([], [("success", None)] * 3)

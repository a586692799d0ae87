"""Notifier processes that are really killed, between any two steps: every message is made once and arrives."""

import json
import sys
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import pytest

from mainspring.domain.event import Event, EventType
from mainspring.domain.notify.subscription import WebhookDraft
from mainspring.operations.webhooks import add_webhook
from mainspring.outbound.signing import generate_secret
from mainspring.ports.notifications import DeliveryFilter
from mainspring.settings import load_settings
from mainspring.wiring.desk import open_desk
from tests.harness.processes import Process, Processes
from tests.harness.waiting import until_true
from tests.peers.hostile import HostilePeer
from tests.stores.databases import query

EVENTS = 30
KILLS_MIN = 2
FAILPOINTS = "after_intake=kill:0.2,after_delivery_claim=kill:0.1,after_delivery=kill:0.02"


async def _end_leases(url: str) -> bool:
    """As if the minute had passed after which what a lost notifier had begun is due again; False: try again."""
    try:
        await query(url, "UPDATE delivery SET next_attempt_at = created_at WHERE status = 'pending' AND attempt > 0")
    except apsw.BusyError:
        return False
    return True


@pytest.fixture
async def peer() -> AsyncIterator[HostilePeer]:
    async with HostilePeer() as running:
        yield running


@pytest.fixture(params=["sqlite", "postgres"])
def environment(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    settings = {"MAINSPRING_DATA_DIR": str(tmp_path), "MAINSPRING_ALLOW_CIDRS": "127.0.0.0/8"}
    if request.param == "postgres":
        settings["MAINSPRING_DATABASE_URL"] = request.getfixturevalue("postgres_url")
    return settings


async def test_notifiers_that_are_killed_lose_no_message_and_make_none_twice(
    environment: dict[str, str], processes: Processes, peer: HostilePeer
) -> None:
    async with open_desk(load_settings(environment)) as desk:
        for name in ("one", "two"):
            draft = WebhookDraft(peer.url("/ok"), name, ("hint",), secret=generate_secret())
            await add_webhook(desk, draft)

        desk_url = load_settings(environment).url

        def start() -> Process:
            arming = {"MAINSPRING_FAILPOINTS": FAILPOINTS, "MAINSPRING_LOG_LEVEL": "error"}
            return processes.start_command([sys.executable, "-m", "mainspring", "notifier"], env=environment | arming)

        running, kills, number, leases_ended = [start(), start()], 0, 0, True

        async def everything_arrived() -> bool:
            nonlocal kills, number, leases_ended
            arrived = len({seen.header("webhook-id") for seen in peer.seen})
            if arrived == 2 * number and (number < EVENTS or kills < KILLS_MIN):
                now = await desk.stores.schedule.now()
                events = [Event(EventType.HINT_WRITTEN, now, "default", data={"number": number + n}) for n in range(5)]
                await desk.stores.runs.add_events(events)
                number += 5
            for place, process in enumerate(running):
                if not process.is_running:
                    kills, leases_ended = kills + 1, False
                    running[place] = start()
            leases_ended = leases_ended or await _end_leases(desk_url)
            return number >= EVENTS and kills >= KILLS_MIN and arrived == 2 * number

        await until_true(everything_arrived, "every message, and enough kills", deadline_s=180)
        found = await desk.stores.subscriptions.deliveries("default", DeliveryFilter(limit=10_000))

    rows = Counter((each.subscription_id, json.loads(each.payload)["data"]["data"]["number"]) for each in found)
    assert len(rows) == 2 * number
    assert set(rows.values()) == {1}
    ids = {seen.header("webhook-id") for seen in peer.seen}
    assert len(ids) == 2 * number
    print(f"kills {kills}, messages {2 * number}, sent {len(peer.seen)}")

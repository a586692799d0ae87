"""Webhooks: one delivery for one event and receiver, signed, retried over a day, given up, sent again, disabled."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from msgspec.structs import replace
from standardwebhooks import Webhook as Oracle

from mainspring.domain.errors import Conflict, NotFound
from mainspring.domain.event import Event, EventType
from mainspring.domain.notify.delivery import ATTEMPTS_MAX
from mainspring.domain.notify.subscription import SubscriptionKind, Webhook, WebhookDraft
from mainspring.operations.subscriptions import delete_subscription, redeliver
from mainspring.operations.webhooks import add_webhook, edit_webhook, find_webhook, test_webhook
from mainspring.outbound.signing import generate_secret
from mainspring.ports.notifications import DeliveryFilter, Intake
from mainspring.ports.stores import Stores
from tests.harness.waiting import until
from tests.peers.hostile import HostilePeer
from tests.stores.world import START, FixedClock, add, an_endpoint, told
from tests.workers.notices import Newsroom, open_newsroom

send_test = test_webhook
del test_webhook  # an operation of that name, no test


@pytest.fixture
async def room(stores: Stores, clock: FixedClock) -> AsyncIterator[Newsroom]:
    async with open_newsroom(stores, clock) as opened:
        yield opened


@pytest.fixture
async def peer() -> AsyncIterator[HostilePeer]:
    async with HostilePeer() as running:
        yield running


def event(number: int = 0, kind: EventType = EventType.HINT_WRITTEN, tenant_id: str = "default") -> Event:
    return Event(kind, START, tenant_id, data={"number": number})


async def happen(stores: Stores, *events: Event) -> None:
    for each in events:
        await stores.runs.add_events([each])
    await told(stores)  # PostgreSQL holds back what a writer that has not ended could still come before


def numbers(peer: HostilePeer) -> list[int]:
    return [json.loads(seen.body)["data"]["data"].get("number") for seen in peer.seen]


async def test_webhook_gets_what_it_wants_and_nothing_else(
    room: Newsroom, peer: HostilePeer, clock: FixedClock
) -> None:
    await happen(room.stores, event(0))
    clock.tick(seconds=1)
    await room.webhook(peer.url("/ok"), types=("hint.*", "run.finished"))
    wanted = [replace(event(1), at=clock.now()), replace(event(2, EventType.RUN_FINISHED), at=clock.now())]
    other = [replace(event(3, EventType.RUN_STARTED), at=clock.now()), replace(event(4, tenant_id="b"), at=clock.now())]
    await happen(room.stores, *wanted, *other)

    await room.round()

    assert sorted(numbers(peer)) == [1, 2]
    assert await room.deliveries() == [("hint.written", "delivered", 1), ("run.finished", "delivered", 1)]


async def test_message_is_signed_by_the_webhooks_own_secret(room: Newsroom, peer: HostilePeer) -> None:
    secret = generate_secret()
    webhook = await add_webhook(room.desk, WebhookDraft(peer.url("/ok"), types=("endpoint.created",), secret=secret))
    endpoint = an_endpoint("billing")
    await add(room.stores, endpoint)
    await told(room.stores)

    await room.round()

    seen = peer.seen[-1]
    headers = {name: value for name, value in seen.headers if name.startswith("webhook-")}
    oracle = Oracle(secret)
    assert headers["webhook-signature"] == oracle.sign(headers["webhook-id"], START, seen.body.decode())
    assert headers["webhook-id"].startswith("msg_")
    body = json.loads(seen.body)
    assert (body["type"], body["data"]["endpoint"]) == ("endpoint.created", "billing")
    assert isinstance(webhook.config, Webhook)
    assert secret not in str(webhook.config.secrets)


async def test_replaced_secret_signs_beside_the_old_one(room: Newsroom, peer: HostilePeer) -> None:
    old, new = generate_secret(), generate_secret()
    webhook = await add_webhook(room.desk, WebhookDraft(peer.url("/ok"), types=("hint",), secret=old))
    await edit_webhook(room.desk, webhook.name, lambda draft: replace(draft, secret=new))
    await happen(room.stores, event())

    await room.round()

    seen = peer.seen[-1]
    signatures = (seen.header("webhook-signature") or "").split(" ")
    expected = [Oracle(each).sign(seen.header("webhook-id") or "", START, seen.body.decode()) for each in (new, old)]
    assert signatures == expected


async def test_failed_message_is_tried_eight_times_over_about_a_day_with_one_id(
    room: Newsroom, peer: HostilePeer, clock: FixedClock
) -> None:
    await room.webhook(peer.url("/answer?status=500+Broken&body=out+of+order"), types=("hint",))
    await happen(room.stores, event())
    attempts = []
    for _ in range(20):
        if await room.round():
            attempts.append(clock.now())
        due_at = await room.stores.outbox.next_attempt_at()
        if due_at is None:
            break
        clock.at = due_at

    assert len(attempts) == len(peer.seen) == ATTEMPTS_MAX == 8
    assert timedelta(hours=18) < attempts[-1] - attempts[0] < timedelta(hours=30)
    assert len({seen.header("webhook-id") for seen in peer.seen}) == 1
    assert [seen.header("mainspring-attempt") for seen in peer.seen] == [str(n) for n in range(1, 9)]
    (kept,) = await room.stores.subscriptions.deliveries("default", DeliveryFilter())
    assert (kept.status, kept.status_code, kept.snippet) == ("failed", 500, "out of order")
    assert kept.error == "HTTP 500 Internal Server Error; expected 2xx"


async def test_receiver_is_given_the_time_it_asks_for(room: Newsroom, peer: HostilePeer, clock: FixedClock) -> None:
    await room.webhook(peer.url("/answer?status=429+Slow&header=Retry-After:+3600"), types=("hint",))
    await happen(room.stores, event())

    await room.round()

    assert await room.stores.outbox.next_attempt_at() == clock.now() + timedelta(hours=1)


@pytest.mark.parametrize("path", ["/garbage", "/empty", "/reset", "/redirect/loop", "/length/short", "/json/nul"])
async def test_receiver_that_misbehaves_costs_nobody_else_anything(
    room: Newsroom, peer: HostilePeer, path: str
) -> None:
    await room.webhook(peer.url(path), types=("hint",))
    await room.webhook(peer.url("/ok"), types=("hint",))
    await happen(room.stores, event())

    await room.round()

    statuses = sorted(status for _, status, _ in await room.deliveries())
    assert statuses == (["delivered", "delivered"] if path == "/json/nul" else ["delivered", "pending"])
    assert "/ok" in {seen.path for seen in peer.seen}


async def test_private_address_is_not_called(room: Newsroom) -> None:
    webhook = await room.webhook("http://10.0.0.1:8080/", types=("hint",))
    await happen(room.stores, event())

    await room.round()

    (kept,) = await room.stores.subscriptions.deliveries("default", DeliveryFilter(subscription_id=webhook.id))
    assert "not called" in (kept.error or "")


async def test_delivery_that_ended_can_be_sent_again(room: Newsroom, peer: HostilePeer) -> None:
    await room.webhook(peer.url("/ok"), types=("hint",))
    await happen(room.stores, event())
    await room.round()
    (kept,) = await room.stores.subscriptions.deliveries("default", DeliveryFilter())

    await redeliver(room.desk, kept.id)
    with pytest.raises(Conflict, match="is still in progress; wait until it has ended"):
        await redeliver(room.desk, kept.id)
    await room.round()

    assert [seen.header("webhook-id") for seen in peer.seen] == [kept.id, kept.id]
    with pytest.raises(NotFound, match="no delivery 'msg_none'"):
        await redeliver(room.desk, "msg_none")


async def test_webhook_that_fails_for_days_is_disabled_with_an_event(
    room: Newsroom, peer: HostilePeer, clock: FixedClock
) -> None:
    await room.webhook(peer.url("/unavailable"), types=("hint",))
    for number in range(12):
        await happen(room.stores, replace(event(number), at=clock.now()))
        await room.round()
        clock.tick(hours=11)

    webhook = await find_webhook(room.desk, "127.0.0.1")
    assert (webhook.enabled, webhook.disabled_reason) == (False, "every attempt has failed for 5 days")
    disabled = [each for each in await told(room.stores) if each.type is EventType.WEBHOOK_DISABLED]
    assert [each.data["name"] for each in disabled] == ["127.0.0.1"]


async def test_receiver_that_is_gone_is_not_called_again(room: Newsroom, peer: HostilePeer, clock: FixedClock) -> None:
    webhook = await room.webhook(peer.url("/answer?status=410+Gone"), types=("hint",))
    await happen(room.stores, event())
    await room.round()
    clock.tick(days=1)
    await room.round()

    assert len(peer.seen) == 1
    assert (await find_webhook(room.desk, webhook.id)).disabled_reason == "the receiver answered 410 Gone"


async def test_webhook_enabled_again_starts_afresh(room: Newsroom, peer: HostilePeer, clock: FixedClock) -> None:
    webhook = await room.webhook(peer.url("/ok"), types=("hint",), enabled=False)
    await happen(room.stores, event(1))
    clock.tick(seconds=1)
    await edit_webhook(room.desk, webhook.id, lambda draft: replace(draft, enabled=True))
    await happen(room.stores, replace(event(2), at=clock.now()))

    await room.round()

    assert numbers(peer) == [2]


async def test_webhook_made_before_the_first_notifier_misses_nothing(room: Newsroom, peer: HostilePeer) -> None:
    await room.webhook(peer.url("/ok"), types=("hint",))
    await happen(room.stores, *[event(number) for number in range(3)])

    await room.round()

    assert sorted(numbers(peer)) == [0, 1, 2]


async def test_webhook_is_not_told_of_itself(room: Newsroom, peer: HostilePeer) -> None:
    await room.webhook(peer.url("/ok"))
    await told(room.stores)

    await room.round()

    assert peer.seen == []


async def test_many_notifiers_make_one_delivery_for_one_event_and_webhook(
    room: Newsroom, peer: HostilePeer, other_stores: Stores
) -> None:
    await room.webhook(peer.url("/ok"), types=("hint",), name="one")
    await room.webhook(peer.url("/ok"), types=("hint",), name="two")
    notifiers = [room.new_notifier(f"n{place}", each) for place, each in enumerate([room.stores, other_stores] * 2)]
    await happen(room.stores, *[event(number) for number in range(60)])

    async def work(place: int) -> None:
        for _ in range(5):
            await notifiers[place].run_once(room.clock.now())

    await asyncio.gather(*[work(place) for place in range(4)])

    assert len(await room.deliveries()) == 120
    assert sorted(numbers(peer)) == sorted([*range(60)] * 2)
    assert len({seen.header("webhook-id") for seen in peer.seen}) == 120


async def test_intake_from_a_position_that_moved_on_writes_nothing(room: Newsroom, peer: HostilePeer) -> None:
    webhook = await room.webhook(peer.url("/ok"), types=("hint",))
    await happen(room.stores, event())
    await room.notifier.take_in(room.clock.now())
    (made,) = await room.stores.subscriptions.deliveries("default", DeliveryFilter(subscription_id=webhook.id))

    stale = Intake((replace(made, id="msg_other", key="other"),), before="no position", after="1:0")

    assert await room.stores.outbox.take_in(stale) is False
    assert len(await room.deliveries()) == 1


async def test_delivery_of_a_lost_notifier_is_sent_by_another(
    room: Newsroom, peer: HostilePeer, clock: FixedClock
) -> None:
    await room.webhook(peer.url("/ok"), types=("hint",))
    await happen(room.stores, event())
    await room.notifier.take_in(clock.now())
    (claimed,) = await room.stores.outbox.claim_deliveries("other", 10, 10, 60_000, [])
    during = await room.round()
    clock.tick(seconds=61)
    after = await room.round()

    assert (during, after) == (0, 1)
    assert [seen.header("webhook-id") for seen in peer.seen] == [claimed.id]


async def test_deleted_webhook_takes_its_deliveries_along(room: Newsroom, peer: HostilePeer) -> None:
    webhook = await room.webhook(peer.url("/unavailable"), types=("hint",))
    await happen(room.stores, event())
    await room.round()

    await delete_subscription(room.desk, SubscriptionKind.WEBHOOK, webhook.name)

    assert await room.deliveries() == []
    with pytest.raises(NotFound, match=r"no webhook '127\.0\.0\.1'"):
        await find_webhook(room.desk, "127.0.0.1")


async def test_test_message_tells_how_it_went_and_leaves_nothing_behind(room: Newsroom, peer: HostilePeer) -> None:
    await room.webhook(peer.url("/answer?status=404+Not+Found"), name="ops", types=("hint",))

    outcome = await send_test(room.desk, room.caller, "ops")

    assert outcome.error == "HTTP 404 Not Found; expected 2xx"
    assert json.loads(peer.seen[0].body)["type"] == "webhook.test"
    assert await room.deliveries() == []


async def test_receiver_that_hangs_keeps_only_its_own_places(room: Newsroom, peer: HostilePeer) -> None:
    await room.webhook(peer.url("/hang"), types=("hint",), name="hangs")
    await room.webhook(peer.url("/ok"), types=("hint",), name="well")
    await happen(room.stores, *[event(number) for number in range(40)])
    notifier = room.new_notifier("running")
    feeding = asyncio.create_task(notifier._feed.run())
    running = asyncio.create_task(notifier.run())
    await until(lambda: sum(seen.path == "/ok" for seen in peer.seen) >= 40, "forty messages")
    hanging = sum(seen.path == "/hang" for seen in peer.seen)
    notifier.stop()
    notifier._feed.stop()
    await asyncio.gather(running, feeding)

    assert hanging <= 4


async def test_stopped_notifier_ends_in_order_what_it_is_sending(room: Newsroom, peer: HostilePeer) -> None:
    await room.webhook(peer.url("/slow?ms=200"), types=("hint",))
    await happen(room.stores, event(1))
    notifier = room.new_notifier("running")
    feeding = asyncio.create_task(notifier._feed.run())
    running = asyncio.create_task(notifier.run())
    await until(lambda: bool(peer.seen), "a message on its way")
    notifier.stop()
    notifier._feed.stop()
    await asyncio.gather(running, feeding)

    assert [(status, attempt) for _, status, attempt in await room.deliveries()] == [("delivered", 1)]


async def test_old_deliveries_are_swept(room: Newsroom, peer: HostilePeer, clock: FixedClock) -> None:
    await room.webhook(peer.url("/ok"), types=("hint",))
    await happen(room.stores, event())
    await room.round()
    clock.tick(days=31)
    await room.round()

    assert await room.deliveries() == []

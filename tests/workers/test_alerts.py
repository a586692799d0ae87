"""Alerts: one message for one change of state, put off by a cooldown, held back in quiet hours, in plain words."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from msgspec.structs import replace

from mainspring.domain.duration import format_duration
from mainspring.domain.endpoint import Endpoint, Tenant
from mainspring.domain.errors import InvalidInput
from mainspring.domain.event import Event, EventType
from mainspring.domain.instant import rfc3339
from mainspring.domain.notify.subscription import KINDS_DEFAULT, AlertDraft, DestinationKind, Subscription
from mainspring.domain.retry import RetryPolicy
from mainspring.domain.run import RunStatus
from mainspring.domain.schedule.changes import pause, resume
from mainspring.domain.schedule.cron import CRON
from mainspring.domain.schedule.maintenance import DuringMaintenance, MaintenanceDraft
from mainspring.operations import alerts
from mainspring.operations.alerts import add_alert, edit_alert
from mainspring.operations.maintenance import add_window
from mainspring.ports.endpoints import EndpointFilter
from mainspring.ports.stores import Stores
from tests.peers.hostile import HostilePeer
from tests.stores.flow_world import a_ticker, a_workflow, publish, start, tick
from tests.stores.world import FixedClock, add, an_endpoint, an_outcome, change, run_slot, told
from tests.workers.notices import Newsroom, open_newsroom

FAILED = an_outcome(RunStatus.FAILURE, error="HTTP 500 Internal Server Error; expected 2xx", error_code="http_status")
OK = an_outcome()
MILLISECOND = timedelta(milliseconds=1)


@pytest.fixture
async def room(stores: Stores, clock: FixedClock) -> AsyncIterator[Newsroom]:
    async with open_newsroom(stores, clock) as opened:
        yield opened


@pytest.fixture
async def peer() -> AsyncIterator[HostilePeer]:
    async with HostilePeer() as running:
        yield running


async def alert(room: Newsroom, *kinds: str, to: str = "ops@example.com", **fields: object) -> Subscription:
    draft = AlertDraft("ops", (to,), kinds or KINDS_DEFAULT, **fields)  # type: ignore[arg-type]  # of the draft
    return await add_alert(room.desk, {DestinationKind.MAIL: room.mailbox}, draft)


async def endpoint(room: Newsroom, name: str = "billing", **fields: object) -> Endpoint:
    made = an_endpoint(name, **fields)
    await add(room.stores, made)
    return made


async def run_and_tell(room: Newsroom, outcome: object = FAILED) -> None:
    """The next slot of whatever is due, however far away, and a round of the notifier."""
    due = [
        each.next_run_at
        for each in await room.stores.endpoints.endpoints("default", EndpointFilter())
        if each.next_run_at
    ]
    room.clock.at = max(room.clock.at, min(due))
    await run_slot(room.stores, room.clock, outcome)  # type: ignore[arg-type]  # an outcome
    await told(room.stores)
    await room.round()


async def test_failing_is_told_once_after_so_many_failures_and_recovery_once(room: Newsroom) -> None:
    await endpoint(room)
    await alert(room, "failing", "recovered", failures=3)
    for outcome in (FAILED, FAILED):
        await run_and_tell(room, outcome)
    before = list(room.mailbox.titles)
    for outcome in (FAILED, FAILED, FAILED, OK, OK):
        await run_and_tell(room, outcome)

    assert before == []
    assert room.mailbox.titles == ["billing is failing", "billing has recovered"]
    fired = [each.event for each in await room.stores.runs.latest_events("default", 500)]
    kinds = [each.data["kind"] for each in fired if each.type is EventType.ALERT_FIRED]
    assert kinds == ["failing", "recovered"]


async def test_attempts_that_are_retried_are_not_told(room: Newsroom) -> None:
    policy = RetryPolicy(attempts=3, delay_ms=1_000)
    await endpoint(room, interval_ms=3_600_000, retry=policy)
    await alert(room, "failing", "recovered", failures=1)
    before = []
    for _ in range(2):
        await run_and_tell(room)
        before += room.mailbox.titles
    await run_and_tell(room)

    assert (before, room.mailbox.titles) == ([], ["billing is failing"])


async def test_words_say_what_since_when_last_error_next_run_and_where(room: Newsroom) -> None:
    made = await endpoint(room)
    await alert(room, failures=2)
    await run_and_tell(room)
    since = room.clock.now()
    await run_and_tell(room)

    ((to, _, text),) = room.mailbox.received
    lines = text.splitlines()
    assert to == "ops@example.com"
    assert lines[0] == "billing is failing: 2 runs in a row did not succeed."
    assert lines[2].startswith(f"Since:      {since:%Y-%m-%d %H:%M}")
    assert lines[3] == "Last error: HTTP 500 Internal Server Error; expected 2xx"
    assert lines[4].startswith("Next run:   2025-01-01 ")
    assert lines[-1] == f"https://mainspring.example/t/default/endpoints/{made.id}"


async def test_recovery_states_since_when_and_for_how_long_the_endpoint_failed(room: Newsroom) -> None:
    await endpoint(room)
    await alert(room, "failing", "recovered", "late", failures=2)
    await run_and_tell(room, OK)
    await run_and_tell(room, FAILED)
    since = room.clock.now()
    await run_and_tell(room, FAILED)
    await run_and_tell(room, OK)
    until = room.clock.now()

    _, title, text = room.mailbox.received[-1]
    lines = text.splitlines()
    assert title == "billing has recovered"
    assert lines[0] == "billing has recovered: its last run succeeded."
    assert lines[2] == f"Failed:     {since:%Y-%m-%d %H:%M:%S} UTC"
    assert (
        lines[3] == f"Until:      {until:%Y-%m-%d %H:%M:%S} UTC (for {format_duration((until - since) // MILLISECOND)})"
    )
    assert lines[4] == "Last error: HTTP 500 Internal Server Error; expected 2xx"


async def test_alert_carries_the_runbook_while_the_endpoint_fails_and_not_after(room: Newsroom) -> None:
    await endpoint(room, runbook="Restart the queue.\nhttps://wiki.example.com/billing")
    await alert(room, "failing", "recovered", failures=1)
    await run_and_tell(room, FAILED)
    await run_and_tell(room, OK)

    (_, _, failing), (_, _, recovered) = room.mailbox.received
    assert "What to do:\nRestart the queue.\nhttps://wiki.example.com/billing\n" in f"{failing}\n"
    assert "What to do" not in recovered


@pytest.mark.parametrize(("author", "titles"), [("rule:night", ["billing was paused by rule night"]), ("user:ann", [])])
async def test_pause_by_advice_is_told_and_a_persons_is_not(room: Newsroom, author: str, titles: list[str]) -> None:
    made = await endpoint(room)
    await alert(room, "advice_paused")
    await change(room.stores, made, lambda each, now: pause(each, None, "the queue is empty", now, author, CRON))
    await told(room.stores)
    await room.round()

    assert room.mailbox.titles == titles
    assert all("Last error: the queue is empty" in text for _, _, text in room.mailbox.received)


async def test_pause_by_advice_is_told_again_after_the_endpoint_resumed(room: Newsroom) -> None:
    made = await endpoint(room)
    await alert(room, "advice_paused")
    for number in range(3):
        if number == 2:
            await change(room.stores, made, lambda each, now: resume(each, now, "user:ann", CRON))
        await change(room.stores, made, lambda each, now: pause(each, None, "empty", now, "rule:night", CRON))
        await told(room.stores)
        await room.round()
        room.clock.tick(hours=2)

    assert room.mailbox.titles == ["billing was paused by rule night"] * 2


async def test_proposal_that_waits_is_told_once_until_none_is_pending(room: Newsroom) -> None:
    made = await endpoint(room)
    await alert(room, "proposal_waiting")
    rounds = (("created", 1), ("created", 2), ("rejected", 1), ("created", 2), ("approved", 1), ("expired", 0))

    async def tell(what: str, pending: int) -> None:
        data: dict[str, object] = {"does": "every 5s", "reason": "queue", "author": "rule:busy", "pending": pending}
        event = Event(EventType(f"proposal.{what}"), room.clock.now(), "default", made.id, "", "rule:busy", data)
        await room.stores.runs.add_events([event])
        await told(room.stores)
        await room.round()
        room.clock.tick(minutes=10)

    for what, pending in rounds:
        await tell(what, pending)
    assert room.mailbox.titles == ["billing: a proposal waits for a person"]
    (_, _, text) = room.mailbox.received[0]
    assert "rule busy would do this: every 5s." in text
    assert "Reason:     queue" in text

    await tell("created", 1)
    assert len(room.mailbox.titles) == 2


async def test_failing_model_is_told_once_and_its_recovery(room: Newsroom) -> None:
    made = await endpoint(room)
    await alert(room, "model_failing", "recovered")
    for status in ("failed", "failed", "skipped", "done", "done"):
        data: dict[str, object] = {"status": status, "note": "429 slow down"}
        event = Event(EventType.PLANNER_ANALYSED, room.clock.now(), "default", made.id, "", "model:x", data)
        await room.stores.runs.add_events([event])
        await told(room.stores)
        await room.round()
        room.clock.tick(seconds=60)
        if status == "skipped":
            assert room.mailbox.titles == ["the language model is failing"]

    assert room.mailbox.titles == ["the language model is failing", "the language model has recovered"]
    assert "Last error: 429 slow down" in room.mailbox.received[0][2]


async def test_execution_that_stops_is_told_with_its_step_and_error(room: Newsroom) -> None:
    await alert(room, "stopped")
    workflow = await publish(room.stores, a_workflow({"set": {"n": "input.missing"}}))
    await start(room.stores, workflow, "exe_1")
    ticker = a_ticker(room.stores)
    for _ in range(2):
        await tick(ticker, room.clock)
        await told(room.stores)
        await room.round()

    ((_, title, text),) = room.mailbox.received
    lines = text.splitlines()
    assert title == "flow (exe_1) stopped"
    assert lines[0] == "flow (exe_1) stopped at step 's0' and waits for a person: retry the step, skip it, or cancel."
    assert lines[3].startswith("Last error: ")
    assert lines[-1] == "https://mainspring.example/t/default/executions/exe_1"


async def test_alert_is_about_its_endpoint_or_its_job_alone(room: Newsroom) -> None:
    await endpoint(room, "mine", job_id="job_a")
    await endpoint(room, "other", job_id="job_b")
    await add_alert(
        room.desk,
        {DestinationKind.MAIL: room.mailbox},
        AlertDraft("by job", ("job@example.com",), ("failing",), 1, job="job_a"),
    )
    await add_alert(
        room.desk,
        {DestinationKind.MAIL: room.mailbox},
        AlertDraft("by endpoint", ("endpoint@example.com",), ("failing",), 1, endpoint="other"),
    )
    await run_and_tell(room)

    assert sorted((to, title) for to, title, _ in room.mailbox.received) == [
        ("endpoint@example.com", "other is failing"),
        ("job@example.com", "mine is failing"),
    ]


async def test_many_notifiers_tell_a_change_once(room: Newsroom, other_stores: Stores) -> None:
    await endpoint(room)
    await alert(room, failures=1)
    await run_slot(room.stores, room.clock, FAILED)
    await told(room.stores)
    notifiers = [room.new_notifier(f"n{place}", each) for place, each in enumerate([room.stores, other_stores] * 2)]
    for _ in range(3):
        await asyncio.gather(*[each.run_once(room.clock.now()) for each in notifiers])

    assert room.mailbox.titles == ["billing is failing"]


async def test_flapping_is_told_once_in_a_cooldown_and_lasting_trouble_after_it(room: Newsroom) -> None:
    await endpoint(room)
    await alert(room, "failing", "recovered", failures=1, cooldown_ms=3_600_000)
    for outcome in (FAILED, OK, FAILED, OK, FAILED):
        await run_and_tell(room, outcome)
    during = list(room.mailbox.titles)
    room.clock.tick(hours=1)
    await room.round()
    await room.round()

    assert during == ["billing is failing", "billing has recovered"]
    assert room.mailbox.titles == [*during, "billing is failing"]


async def test_quiet_hours_hold_messages_back_for_one_digest(room: Newsroom) -> None:
    await endpoint(room)
    await alert(room, "failing", "recovered", failures=1, quiet="23:00-07:00", timezone="UTC")
    for outcome in (FAILED, OK):
        await run_and_tell(room, outcome)
    during = list(room.mailbox.titles)
    statuses = [status for _, status, _ in await room.deliveries()]
    room.clock.at = room.clock.at.replace(hour=7, minute=0)
    await room.round()
    await room.round()

    assert (during, statuses) == ([], ["held", "held"])
    assert room.mailbox.titles == ["2 alerts during quiet hours"]
    assert "billing is failing" in room.mailbox.received[0][2]
    assert [status for _, status, _ in await room.deliveries()] == ["digested", "digested", "delivered"]


async def test_quiet_hours_drop_messages_by_choice(room: Newsroom) -> None:
    await endpoint(room)
    await alert(room, failures=1, quiet="23:00-07:00", during_quiet="drop")
    await run_and_tell(room)
    room.clock.tick(hours=12)
    await room.round()

    assert room.mailbox.titles == []
    assert [status for _, status, _ in await room.deliveries()] == ["dropped"]


async def test_late_endpoint_is_told_and_told_again_when_it_is_on_time(room: Newsroom) -> None:
    await endpoint(room)
    await alert(room, "late", "recovered")
    room.clock.tick(seconds=6)
    await room.round()
    await room.round()
    await run_slot(room.stores, room.clock, OK)
    await room.round()

    assert room.mailbox.titles == ["billing is late", "billing is on time again"]
    assert "Late:       2025-01-01 00:00:00 UTC\nUntil:      2025-01-01 00:00:0" in room.mailbox.received[-1][2]


async def test_parked_endpoint_is_told_with_its_reason(room: Newsroom) -> None:
    made = await endpoint(room, parked_reason="its worker was lost 5 times in a row")
    await alert(room)
    now = room.clock.now()
    await room.stores.runs.add_events([Event(EventType.ENDPOINT_PARKED, now, "default", made.id)] * 2)
    await told(room.stores)
    await room.round()

    assert room.mailbox.titles == ["billing was parked"]
    assert "Last error: its worker was lost 5 times in a row" in room.mailbox.received[0][2]


async def test_used_up_quota_is_told_once_for_the_tenant(room: Newsroom) -> None:
    for name in ("one", "two", "three"):
        await endpoint(room, name)
    await alert(room, "quota", "recovered")
    await room.stores.endpoints.put_tenant(Tenant("default", "Acme", runs_per_month=1))
    await run_and_tell(room, OK)
    before = list(room.mailbox.titles)
    room.clock.tick(minutes=1)
    await room.stores.endpoints.put_tenant(Tenant("default", "Acme", runs_per_month=100))
    await run_and_tell(room, OK)

    assert before == ["tenant Acme has used up its runs of the month"]
    assert room.mailbox.titles == [*before, "tenant Acme may run again"]


async def test_much_trouble_at_once_is_one_message(room: Newsroom) -> None:
    for number in range(8):
        await endpoint(room, f"endpoint {number}")
    await alert(room, failures=1)
    await run_and_tell(room)

    assert room.mailbox.titles == ["8 alerts at once"]


async def test_disabled_webhook_is_told(room: Newsroom, peer: HostilePeer) -> None:
    await room.webhook(peer.url("/answer?status=410+Gone"), types=("hint",), name="sink")
    await alert(room, "webhook_disabled")
    await room.stores.runs.add_events([Event(EventType.HINT_WRITTEN, room.clock.now(), "default")])
    await told(room.stores)
    await room.round()
    await told(room.stores)
    await room.round()

    assert room.mailbox.titles == ["webhook sink was disabled"]
    assert "the receiver answered 410 Gone" in room.mailbox.received[0][2]


async def test_alert_goes_to_a_url_as_json(room: Newsroom, peer: HostilePeer) -> None:
    await endpoint(room)
    made = await alert(room, failures=1, to=peer.url("/ok?token=s3cret"))
    await run_and_tell(room)

    body = json.loads(peer.seen[0].body)
    assert (body["type"], body["data"]["subject"], body["data"]["kind"]) == ("alert.failing", "billing", "failing")
    assert "s3cret" not in str(made)
    assert alerts.draft_of(made).to == (peer.url("/••••"),)


async def test_reset_archived_and_deleted_things_are_forgotten_without_a_word(room: Newsroom) -> None:
    made = await endpoint(room)
    await alert(room, "failing", "recovered", failures=1)
    await run_and_tell(room)
    await room.stores.runs.add_events([Event(EventType.FAILURES_RESET, room.clock.now(), "default", made.id)])
    await told(room.stores)
    await room.round()
    await run_and_tell(room, OK)
    await run_and_tell(room, FAILED)

    assert room.mailbox.titles == ["billing is failing", "billing is failing"]


async def test_test_runs_change_no_state(room: Newsroom) -> None:
    made = await endpoint(room)
    await alert(room, failures=1)
    data: dict[str, object] = {"status": "failure", "trigger": "test", "failure_count": 9}
    await room.stores.runs.add_events([Event(EventType.RUN_FINISHED, room.clock.now(), "default", made.id, data=data)])
    await told(room.stores)
    await room.round()

    assert room.mailbox.titles == []


async def test_mail_that_is_refused_is_tried_again(room: Newsroom) -> None:
    await endpoint(room)
    await alert(room, failures=1)
    room.mailbox.fault = "the mail server answered 451 try later"
    await run_and_tell(room)
    room.mailbox.fault = ""
    room.clock.tick(seconds=10)
    await room.round()

    assert room.mailbox.titles == ["billing is failing"]
    assert await room.deliveries() == [("alert.failing", "delivered", 2)]


async def test_way_given_as_it_is_shown_stays(room: Newsroom, peer: HostilePeer) -> None:
    made = await alert(room, to=peer.url("/ok?token=s3cret"))
    ways = {DestinationKind.MAIL: room.mailbox}
    edited = await edit_alert(room.desk, ways, "ops", lambda draft: replace(draft, to=(*draft.to, "b@example.com")))

    assert edited.config.channels[0] == made.config.channels[0]  # type: ignore[union-attr]  # an alert
    assert alerts.draft_of(edited).to == (peer.url("/••••"), "b@example.com")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"kinds": ("failling",)}, "unknown alert event 'failling', did you mean 'failing'?"),
        ({"to": ()}, "0 destinations were given"),
        ({"to": ("http://10.0.0.1:22/",)}, "has the port 22"),
        ({"to": ("https://h.example/••••",)}, "this alert does not have"),
        ({"failures": 0}, "failures 0 is out of bounds; give 1 to 1,000"),
        ({"quiet": "25:00-07:00"}, "is not a time range; write start and end, such as 22:00-07:00"),
        ({"quiet": "22:00-22:00"}, "is not a time range"),
        ({"quiet": "22:00-07:00", "timezone": "Mars/Base"}, "Mars/Base"),
        ({"quiet": "22:00-07:00", "during_quiet": "shout"}, "unknown during_quiet"),
        ({"cooldown_ms": 10**12}, "is out of bounds; give 0 to 7d"),
        ({"endpoint": "a", "job": "b"}, "both endpoint and job were given"),
    ],
)
async def test_what_no_alert_can_be_is_refused(room: Newsroom, fields: dict[str, object], words: str) -> None:
    draft = replace(AlertDraft("ops", ("ops@example.com",)), **fields)

    with pytest.raises(InvalidInput) as refusal:
        await add_alert(room.desk, {DestinationKind.MAIL: room.mailbox}, draft)
    assert words in str(refusal.value)


async def test_test_button_tells_how_every_way_went(room: Newsroom, peer: HostilePeer) -> None:
    draft = AlertDraft("ops", ("ops@example.com", peer.url("/unavailable")))
    await add_alert(room.desk, {DestinationKind.MAIL: room.mailbox}, draft)

    outcomes = await alerts.test_alert(room.desk, room.caller, {DestinationKind.MAIL: room.mailbox}, "ops")

    assert [outcome.status for _, outcome in outcomes] == ["success", "failure"]
    assert room.mailbox.titles == ["a test"]


async def test_what_still_fails_after_a_maintenance_window_is_told_once_and_nothing_in_it(room: Newsroom) -> None:
    await endpoint(room, interval_ms=600_000)
    await alert(room, "failing", "recovered", failures=3)
    end = rfc3339(room.clock.now() + timedelta(minutes=45))
    window = MaintenanceDraft("night", start=rfc3339(room.clock.now()), end=end, runs=DuringMaintenance.CONTINUE)
    await add_window(room.desk, window)
    for _ in range(5):
        await run_and_tell(room)
    silent = list(room.mailbox.titles)
    await run_and_tell(room)

    assert silent == []
    assert room.mailbox.titles == ["billing is failing"]
    await run_and_tell(room, OK)
    assert room.mailbox.titles == ["billing is failing", "billing has recovered"]


async def test_certificate_that_expires_soon_is_told_once_in_the_words_of_its_run(room: Newsroom) -> None:
    words = "the certificate expires in 9 days; renew it"
    warned = an_outcome(error=words, error_code="certificate_expiring")
    await endpoint(room)
    await alert(room)
    await run_and_tell(room, warned)
    await run_and_tell(room, warned)

    assert room.mailbox.titles == ["the certificate of billing expires soon"]
    assert f"billing: {words}." in room.mailbox.received[0][2]

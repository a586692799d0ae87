"""What a user may ask for about workflows and executions, and how nonsense is refused."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.stores.databases import query
from tests.stores.flow_world import a_ticker, tick
from tests.stores.world import START, FixedClock, told

from mainspring.domain.errors import Conflict, InvalidInput, NotFound
from mainspring.domain.event import EventType
from mainspring.operations.context import Desk
from mainspring.operations.executions import (
    RECEIVERS_MAX,
    erase_execution,
    find_execution,
    order_execution,
    read_log,
    replay_execution,
    send_event,
    step_through,
)
from mainspring.operations.verification import verify_execution
from mainspring.operations.workflows import (
    STARTS_MAX,
    StartRequest,
    check_data,
    compare_versions,
    dry_run_start,
    find_workflow,
    publish_workflow,
    start_execution,
    start_executions,
)
from mainspring.outbound.checkpoints import CheckpointSigner
from mainspring.outbound.vault import KeyRing
from mainspring.ports.stores import Stores
from mainspring.ports.workflows import ExecutionFilter
from mainspring.workflow.audit import Anchor
from mainspring.workflow.model import Status

DOCUMENT = (Path(__file__).parents[1] / "workflow" / "documents" / "order_follow_up.yaml").read_text()
WAITS = (
    "name: waits\nreentry: refuse\nsteps:\n  - {id: a, wait_for: {event: go, timeout: 5d}}\n  - {id: b, end: went}\n"
)


async def test_versions_are_numbered_and_the_same_document_is_not_published_twice(desk: Desk) -> None:
    first, is_new = await publish_workflow(desk, WAITS)
    again, is_new_again = await publish_workflow(desk, WAITS + "# a comment\n")
    second, _ = await publish_workflow(desk, WAITS.replace("5d", "6d"))

    assert (first.workflow.version, is_new, again.workflow.version, is_new_again) == (1, True, 1, False)
    assert second.workflow.version == 2
    assert (await find_workflow(desk, "waits", 1)).document == WAITS
    assert await compare_versions(desk, "waits", None, None) == (1, 2, ["timeout of step 'a' changed from 5d to 6d"])
    assert [each.workflow.version for each in await desk.stores.flows.workflows.versions("default", "waits")] == [2, 1]
    published = [each for each in await told(desk.stores) if each.type is EventType.WORKFLOW_PUBLISHED]
    assert [(each.actor, each.data["version"]) for each in published] == [("ada", 1), ("ada", 2)]


async def test_unknown_workflow_and_version_are_refused_with_the_nearest(desk: Desk) -> None:
    await publish_workflow(desk, WAITS)

    with pytest.raises(NotFound, match="no workflow 'wait', did you mean 'waits'"):
        await find_workflow(desk, "wait")
    with pytest.raises(NotFound, match="no version 7 of workflow 'waits'; it has 1 to 1"):
        await find_workflow(desk, "waits", 7)
    with pytest.raises(NotFound, match="no execution 'exe_1'"):
        await find_execution(desk, "exe_1")


async def test_second_start_under_a_key_is_the_first_one(desk: Desk) -> None:
    await publish_workflow(desk, WAITS)

    first = await start_execution(desk, "waits", {}, key="k1", correlation="order-7")
    second = await start_execution(desk, "waits", {}, key="k1", correlation="order-7")

    assert second.id == first.id


async def test_reentry_is_refused_while_one_runs_and_allowed_after(desk: Desk, clock: FixedClock) -> None:
    await publish_workflow(desk, WAITS)
    first = await start_execution(desk, "waits", {}, correlation="order-7")
    ticker = a_ticker(desk.stores)
    await tick(ticker, clock)

    with pytest.raises(Conflict, match=f"already runs for 'order-7' as {first.id}"):
        await start_execution(desk, "waits", {}, correlation="order-7")
    await send_event(desk, "order-7", "go", {})
    await tick(ticker, clock, 2)
    assert (await start_execution(desk, "waits", {}, correlation="order-7")).id != first.id


async def test_rehearsed_start_answers_as_the_start_would(desk: Desk, clock: FixedClock) -> None:
    await publish_workflow(desk, WAITS)
    fresh = await dry_run_start(desk, "waits", StartRequest(correlation="order-7", key="k1"))
    first = await start_execution(desk, "waits", {}, key="k1", correlation="order-7")

    under_its_key = await dry_run_start(desk, "waits", StartRequest(correlation="order-7", key="k1"))
    reentry = await dry_run_start(desk, "waits", StartRequest(correlation="order-7", key="k2"))
    ticker = a_ticker(desk.stores)
    await send_event(desk, "order-7", "go", {})
    await tick(ticker, clock, 2)
    after = await dry_run_start(desk, "waits", StartRequest(correlation="order-7"))

    assert (fresh.is_new, fresh.is_refused) == (True, False)
    assert (under_its_key.execution.id, under_its_key.is_new, under_its_key.is_refused) == (first.id, False, False)
    assert (reentry.execution.id, reentry.is_new, reentry.is_refused) == (first.id, False, True)
    assert (after.is_new, after.is_refused) == (True, False)
    assert await desk.stores.flows.workflows.count("default", ExecutionFilter()) == 1


async def multiply(url: str, execution_id: str, count: int) -> None:
    """Copies of an execution, newer ones, under its correlation key."""
    await query(
        url,
        f"WITH RECURSIVE series (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < {count}) "
        "INSERT INTO execution SELECT id || n, tenant_id, workflow, version, partition, correlation, NULL, salt, "
        "status, step, NULL, number, head, outcome, error, actor, created_us, moved_us, state, ended_us "
        f"FROM execution, series WHERE id = '{execution_id}'",
    )


async def test_one_that_runs_is_found_behind_any_number_of_newer_ones_that_ended(
    desk: Desk, store_url: str, clock: FixedClock
) -> None:
    await publish_workflow(desk, WAITS)
    runs = await start_execution(desk, "waits", {}, correlation="order-7")
    await publish_workflow(desk, WAITS.replace("refuse", "allow"))
    ended = await start_execution(desk, "waits", {}, correlation="order-7")
    ticker = a_ticker(desk.stores)
    await tick(ticker, clock)
    await send_event(desk, ended.id, "go", {})
    await tick(ticker, clock)
    await multiply(store_url, ended.id, RECEIVERS_MAX)
    await publish_workflow(desk, WAITS)

    rehearsed = await dry_run_start(desk, "waits", StartRequest(correlation="order-7"))
    with pytest.raises(Conflict, match=f"already runs for 'order-7' as {runs.id}"):
        await start_execution(desk, "waits", {}, correlation="order-7")
    receivers, new = await send_event(desk, "order-7", "go", {})

    assert (rehearsed.execution.id, rehearsed.is_refused) == (runs.id, True)
    assert (receivers, new) == ([runs.id], 1)


async def test_event_for_more_than_it_may_reach_at_once_is_refused_and_sent_to_nobody(
    desk: Desk, store_url: str, clock: FixedClock
) -> None:
    await publish_workflow(desk, WAITS)
    first = await start_execution(desk, "waits", {}, correlation="order-7")
    await tick(a_ticker(desk.stores), clock)
    await multiply(store_url, first.id, RECEIVERS_MAX)

    with pytest.raises(InvalidInput, match="more than 1000 executions run under 'order-7'"):
        await send_event(desk, "order-7", "go", {})
    assert await query(store_url, "SELECT COUNT(*) FROM execution_arrival") == [(0,)]


async def test_start_of_none_and_of_too_many_is_refused(desk: Desk) -> None:
    await publish_workflow(desk, WAITS)

    for count in (0, STARTS_MAX + 1):
        with pytest.raises(InvalidInput, match=f"{count} executions were requested at once; give 1 to {STARTS_MAX}"):
            await start_executions(desk, "waits", [StartRequest()] * count)


async def test_start_may_lie_ahead(desk: Desk, clock: FixedClock) -> None:
    await publish_workflow(desk, WAITS)
    later = await start_execution(desk, "waits", {}, at=START + timedelta(seconds=90))
    ticker = a_ticker(desk.stores)

    assert await tick(ticker, clock, 89) == 0
    assert await tick(ticker, clock) == 1
    assert (await find_execution(desk, later.id)).status is Status.WAITING


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"text": "x" * 70_000}, "at most 65536 are allowed"),
        ({"list": [{"$double": "x"}]}, "which is reserved for the log"),
        ({"half": "\ud800"}, "send plain JSON"),
    ],
)
def test_data_that_no_log_could_keep_is_refused(given: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        check_data(given, "input")


async def test_keys_that_nobody_could_read_are_refused(desk: Desk) -> None:
    await publish_workflow(desk, WAITS)

    with pytest.raises(InvalidInput, match="correlation"):
        await start_execution(desk, "waits", {}, correlation="x" * 201)
    with pytest.raises(InvalidInput, match="idempotency_key"):
        await start_execution(desk, "waits", {}, key="a\nb")


async def test_event_goes_to_all_that_run_under_a_key_once(desk: Desk, clock: FixedClock) -> None:
    await publish_workflow(desk, WAITS.replace("reentry: refuse\n", ""))
    ids = [(await start_execution(desk, "waits", {}, correlation="c")).id for _ in range(2)]

    assert await send_event(desk, "c", "go", {}, event_id="e1") == (ids[::-1], 2)
    assert (await send_event(desk, ids[0], "go", {}, event_id="e1"))[1] == 0
    await tick(a_ticker(desk.stores), clock, 2)
    assert [(await find_execution(desk, each)).state.outcome for each in ids] == ["went", "went"]


@pytest.mark.parametrize(
    ("to", "type_", "event_id", "said"),
    [
        ("x", "a b", "", "event type 'a b' is not valid"),
        ("x", "go", "e" * 201, "longer than 200"),
        ("x", "go", "eff_1", "'eff_1' starts like the result of an effect; choose another"),
        ("", "go", "", "no execution or"),
    ],
)
async def test_event_that_makes_no_sense_is_refused(desk: Desk, to: str, type_: str, event_id: str, said: str) -> None:
    with pytest.raises((InvalidInput, NotFound), match=said):
        await send_event(desk, to, type_, {}, event_id=event_id)


async def test_order_that_the_status_does_not_allow_says_what_it_allows(desk: Desk, clock: FixedClock) -> None:
    await publish_workflow(desk, WAITS)
    execution = await start_execution(desk, "waits", {})
    await tick(a_ticker(desk.stores), clock)

    with pytest.raises(Conflict, match="is waiting, so retry does nothing; it allows pause, cancel, skip"):
        await order_execution(desk, execution.id, "retry")
    with pytest.raises(InvalidInput, match="cancel needs a reason"):
        await order_execution(desk, execution.id, "cancel")
    with pytest.raises(InvalidInput, match="longer than"):
        await order_execution(desk, execution.id, "pause", "x" * 2_000)


async def test_orders_stand_in_the_log_with_reason_and_actor(desk: Desk, clock: FixedClock) -> None:
    await publish_workflow(desk, WAITS)
    execution = await start_execution(desk, "waits", {})
    ticker = a_ticker(desk.stores)
    await tick(ticker, clock)
    await order_execution(desk, execution.id, "cancel", "customer left")
    await tick(ticker, clock, 2)

    with pytest.raises(Conflict, match="no command is possible any more"):
        await order_execution(desk, execution.id, "cancel", "again")
    ordered = [entry for entry in await read_log(desk, execution) if entry.action == "command"]
    assert b'"actor":"ada"' in (ordered[0].input or b"")
    assert b'"reason":"customer left"' in (ordered[0].input or b"")


async def test_execution_is_verified_replayed_and_stepped_through(desk: Desk, clock: FixedClock) -> None:
    await publish_workflow(desk, WAITS)
    execution = await start_execution(desk, "waits", {})
    ticker = a_ticker(desk.stores)
    await tick(ticker, clock)
    await send_event(desk, execution.id, "go", {"n": 1.5})
    await tick(ticker, clock, 2)
    await publish_workflow(desk, WAITS.replace("end: went", "end: flew"))

    assert (await verify_execution(desk, execution.id)).valid
    assert (await replay_execution(desk, execution.id)).identical
    compared = await replay_execution(desk, execution.id, 2)
    assert [each.field for each in compared.differences] == ["output"]
    assert [frame.after.status for frame in await step_through(desk, execution.id)] == [
        Status.WAITING,
        Status.COMPLETED,
    ]


async def test_verification_raises_no_alarm_while_the_ticker_writes(desk: Desk, clock: FixedClock) -> None:
    steps = "[{id: a, wait: 1s, visits: 9999}, {id: b, wait: 1s, next: a, visits: 9999}]"
    await publish_workflow(desk, f"name: loop\nsteps: {steps}\n")
    execution = await start_execution(desk, "loop", {})
    ticker = a_ticker(desk.stores)

    async def write() -> None:
        for _ in range(40):
            await tick(ticker, clock)

    async def look() -> list[bool]:
        return [(await verify_execution(desk, execution.id)).valid for _ in range(10)]

    _, first, second = await asyncio.gather(write(), look(), look())

    assert {*first, *second} == {True}


async def test_changed_log_is_found_by_verification(desk: Desk, clock: FixedClock, store_url: str) -> None:
    await publish_workflow(desk, WAITS)
    execution = await start_execution(desk, "waits", {})
    await tick(a_ticker(desk.stores), clock)

    await query(store_url, "UPDATE execution_entry SET output = '{}' WHERE number = 2")

    found = await verify_execution(desk, execution.id)
    assert not found.valid
    assert found.verdict.breach is not None
    assert (found.verdict.breach.number, found.verdict.breach.field) == (2, "output")


async def test_cut_chain_does_not_fit_its_signed_checkpoint(desk: Desk, clock: FixedClock, store_url: str) -> None:
    signer = CheckpointSigner(KeyRing(bytes(32)))
    signing = replace(desk, signer=signer)
    await publish_workflow(desk, WAITS)
    execution = await start_execution(desk, "waits", {})
    ticker = a_ticker(desk.stores)
    ticker._signer = signer
    await tick(ticker, clock)
    assert (await verify_execution(signing, execution.id)).checkpoints == 1

    await query(store_url, "UPDATE workflow_checkpoint SET signature = replace(signature, 'a', 'b')")
    forged = await verify_execution(signing, execution.id)
    await query(store_url, "DELETE FROM workflow_tick")
    await query(store_url, "UPDATE workflow_partition SET sequence = 0, head = ''")
    cut = await verify_execution(signing, execution.id)

    assert forged.chain is not None
    assert "signature" in forged.chain.field
    assert cut.chain is not None
    assert not cut.valid


def test_checkpoint_of_another_installation_is_not_genuine() -> None:
    ours, theirs = CheckpointSigner(KeyRing(bytes(32))), CheckpointSigner(KeyRing(b"x" * 32))
    public_key, signature = theirs.sign(0, Anchor(1, "h"), 5, START)
    from mainspring.ports.workflows import Checkpoint

    checkpoint = Checkpoint(0, 1, 5, "h", START, public_key, signature)

    assert theirs.is_genuine(checkpoint)
    assert not ours.is_genuine(checkpoint)


async def test_erased_execution_still_verifies_and_says_that_it_cannot_be_replayed(
    desk: Desk, clock: FixedClock, store_url: str
) -> None:
    await publish_workflow(desk, DOCUMENT)
    execution = await start_execution(desk, "order-follow-up", {"email": "ann@example.com", "order": 7})
    ticker = a_ticker(desk.stores)
    await tick(ticker, clock)
    with pytest.raises(Conflict, match="cancel it first"):
        await erase_execution(desk, execution.id, "asked for")
    await order_execution(desk, execution.id, "cancel", "left")
    await tick(ticker, clock, 2)

    assert await erase_execution(desk, execution.id, "asked for") > 0

    assert (await verify_execution(desk, execution.id)).valid
    with pytest.raises(InvalidInput, match="cannot be replayed"):
        await replay_execution(desk, execution.id)
    for table in ("execution", "execution_entry", "execution_arrival", "execution_effect"):
        assert "ann@example.com" not in str(await query(store_url, f"SELECT * FROM {table}"))


async def test_two_who_start_the_same_at_once_in_other_orders_both_get_answers(
    desk: Desk, other_stores: Stores
) -> None:
    await publish_workflow(desk, WAITS)
    other = replace(desk, stores=other_stores)
    for turn in range(3):
        wishes = [StartRequest({}, f"{turn}-{number}", f"{turn}-{number}") for number in range(20)]
        found = await asyncio.gather(
            start_executions(desk, "waits", wishes), start_executions(other, "waits", wishes[::-1])
        )

        ids = [{each.execution.correlation: each.execution.id for each in half} for half in found]
        assert ids[0] == ids[1]
        assert sum(each.is_new for half in found for each in half) == 20


async def test_one_of_many_who_want_to_be_alone_is(desk: Desk, other_stores: Stores) -> None:
    await publish_workflow(desk, WAITS)
    desks = [desk, replace(desk, stores=other_stores)] * 4
    found = await asyncio.gather(*[start_executions(each, "waits", [StartRequest({}, "order-7")]) for each in desks])

    assert sum(started.is_new for (started,) in found) == 1
    assert sum(started.is_refused for (started,) in found) == 7

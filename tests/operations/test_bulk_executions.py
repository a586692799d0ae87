"""Orders to many executions at once, and executions handed to strangers with their proof."""

import json

import pytest
from msgspec import json as fast
from msgspec.structs import replace
from tests.stores.flow_world import a_ticker, tick
from tests.stores.world import FixedClock, told

from mainspring.domain.endpoint import Tenant
from mainspring.domain.errors import InvalidInput
from mainspring.domain.event import EventType
from mainspring.observe import Metrics
from mainspring.operations.bulk_executions import order_executions, preview_orders
from mainspring.operations.context import Desk
from mainspring.operations.execution_export import SHARED, UNSIGNED, export_execution
from mainspring.operations.executions import erase_execution, find_execution, send_event
from mainspring.operations.workflows import StartRequest, publish_workflow, start_executions
from mainspring.outbound.checkpoints import CheckpointSigner, is_signed
from mainspring.outbound.vault import KeyRing
from mainspring.ports.workflows import ExecutionFilter
from mainspring.workers.ticker import Ticker, TickerOptions
from mainspring.workflow.bundle import Bundle, check_bundle, read_bundle
from mainspring.workflow.model import Status

HALVES = "name: halves\ninput: {by: integer}\nsteps:\n  - {id: a, set: {half: 1 / input.by}}\n  - {id: b, wait: 3d}\n"


async def start(desk: Desk, *divisors: int) -> list[str]:
    await publish_workflow(desk, HALVES)
    started = await start_executions(desk, "halves", [StartRequest({"by": each}) for each in divisors])
    return [each.execution.id for each in started]


async def test_order_reaches_those_that_allow_it_and_stands_in_their_logs(desk: Desk, clock: FixedClock) -> None:
    ids = await start(desk, 0, 1, 0, 0)
    ticker = a_ticker(desk.stores)
    await tick(ticker, clock)
    wanted = ExecutionFilter(workflow="halves", step="a", limit=2)
    preview = await preview_orders(desk, "skip", wanted)
    ordered = await order_executions(desk, "skip", wanted, "no half is needed")
    await tick(ticker, clock, 2)

    assert (preview.count, [each.id for each in preview.sample]) == (3, [ids[3], ids[2], ids[0]])
    assert ordered == [ids[3], ids[2]]
    assert [(await find_execution(desk, each)).status for each in ids] == [
        Status.FAILED, Status.WAITING, Status.WAITING, Status.WAITING,
    ]  # fmt: skip
    told_orders = [each for each in await told(desk.stores) if each.type is EventType.EXECUTION_ORDERED]
    assert [(each.actor, each.data["verb"], each.data["reason"]) for each in told_orders] == [
        ("ada", "skip", "no half is needed")
    ] * 2


async def test_preview_changes_nothing(desk: Desk, clock: FixedClock) -> None:
    await start(desk, 1, 1)
    await tick(a_ticker(desk.stores), clock)

    assert (await preview_orders(desk, "pause", ExecutionFilter(workflow="halves"))).count == 2
    assert (await preview_orders(desk, "retry", ExecutionFilter(workflow="halves"))).count == 0
    assert await tick(a_ticker(desk.stores, "ticker-2"), clock) == 0


@pytest.mark.parametrize(
    ("verb", "wanted", "reason", "said"),
    [
        ("puase", ExecutionFilter(workflow="x"), "", "unknown command 'puase', did you mean 'pause'?"),
        ("pause", ExecutionFilter(), "", "neither workflow nor correlation was given"),
        ("retry", ExecutionFilter("x", Status.WAITING), "", "waiting do not allow retry; it is allowed for failed"),
        ("skip", ExecutionFilter(workflow="x"), " ", "skip needs a reason"),
        ("pause", ExecutionFilter(workflow="x", limit=0), "", "limit 0 is out of bounds"),
    ],
)
async def test_order_that_makes_no_sense_is_refused(
    desk: Desk, verb: str, wanted: ExecutionFilter, reason: str, said: str
) -> None:
    with pytest.raises(InvalidInput, match=said.replace("?", r"\?")):
        await order_executions(desk, verb, wanted, reason)


async def exported(desk: Desk, clock: FixedClock) -> Bundle:
    """One of two executions that moved, in a chain that is signed."""
    desk = replace(desk, signer=CheckpointSigner(KeyRing(bytes(32))))
    ids = await start(desk, 2, 1)
    ticker = Ticker(desk.stores.flows, TickerOptions("ticker-1"), Metrics(), desk.signer)
    await tick(ticker, clock)
    return await export_execution(desk, ids[0])


async def test_file_is_checked_by_a_stranger_without_a_database(desk: Desk, clock: FixedClock) -> None:
    text = fast.encode(await exported(desk, clock))

    found = check_bundle(read_bundle(text), is_signed)

    assert found.valid
    assert (found.verdict.entries, found.ticks, len(found.signed_by)) == (3, 1, 64)
    assert found.replay is not None
    assert found.replay.identical


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        ("log.1.output", '{"half":1}', "output"),
        ("log.1.action", "branch", "hash"),
        ("log.2", None, "number"),
        ("ticks.0.heads.0.2", "0" * 64, "hash"),
        ("checkpoint.head", "0" * 64, "checkpoint"),
        ("checkpoint.signature", "00" * 64, "signature of the checkpoint"),
    ],
)
async def test_every_change_to_a_file_is_found(
    desk: Desk, clock: FixedClock, path: str, value: object, field: str
) -> None:
    document = json.loads(fast.encode(await exported(desk, clock)))
    *places, last = path.split(".")
    spot = document
    for place in places:
        spot = spot[int(place)] if place.isdigit() else spot[place]
    if value is None:
        del spot[int(last)]
    else:
        spot[int(last) if last.isdigit() else last] = value

    found = check_bundle(read_bundle(json.dumps(document).encode()), is_signed)

    assert not found.valid
    breach = found.verdict.breach or found.chain
    assert breach is not None
    assert breach.field == field


async def test_tick_that_was_cut_out_of_a_file_is_found(desk: Desk, clock: FixedClock) -> None:
    desk = replace(desk, signer=CheckpointSigner(KeyRing(bytes(32))))
    (one,) = await start(desk, 2)
    ticker = Ticker(desk.stores.flows, TickerOptions("ticker-1"), Metrics(), desk.signer)
    await tick(ticker, clock)
    for _ in range(2):
        await send_event(desk, one, "ping", {})
        await tick(ticker, clock)
    bundle = await export_execution(desk, one)
    first, second, third = bundle.ticks

    breach = check_bundle(replace(bundle, ticks=(first, third)), is_signed).chain

    assert breach is not None
    assert (breach.number, breach.field, breach.expected) == (third.sequence, "previous", first.hash)
    assert second.hash == third.previous


async def test_changed_document_does_not_give_the_log(desk: Desk, clock: FixedClock) -> None:
    bundle = await exported(desk, clock)

    found = check_bundle(replace(bundle, document=HALVES.replace("3d", "4d")), is_signed)

    assert not found.valid
    assert found.replay is not None
    assert [each.field for each in found.replay.differences] == ["output"]


async def test_chain_is_kept_from_other_tenants_and_missing_signatures_are_told(desk: Desk, clock: FixedClock) -> None:
    (one,) = await start(desk, 1)
    await tick(a_ticker(desk.stores), clock)
    unsigned = await export_execution(desk, one)
    await desk.stores.endpoints.put_tenant(Tenant("other", "other"))
    shared, whole = await export_execution(desk, one), await export_execution(desk, one, as_operator=True)

    assert (len(unsigned.ticks), unsigned.checkpoint, unsigned.note) == (1, None, UNSIGNED)
    assert (shared.ticks, shared.note) == ((), SHARED)
    assert len(whole.ticks) == 1
    assert check_bundle(shared, is_signed).valid


async def test_erased_execution_still_verifies_in_a_file(desk: Desk, clock: FixedClock) -> None:
    (one,) = await start(desk, 1)
    ticker = a_ticker(desk.stores)
    await tick(ticker, clock)
    await tick(ticker, clock, 3 * 86_400)
    await erase_execution(desk, one, "asked for")

    found = check_bundle(await export_execution(desk, one), is_signed)

    assert (found.valid, found.replay) == (True, None)
    assert found.verdict.erased > 0


@pytest.mark.parametrize(
    ("text", "said"),
    [("{}", "missing required field `format`"), ("[", "not an exported execution"), (None, "format is 'x'")],
)
async def test_file_that_is_none_is_refused(desk: Desk, clock: FixedClock, text: str | None, said: str) -> None:
    given = text.encode() if text is not None else fast.encode(replace(await exported(desk, clock), format="x"))

    with pytest.raises(InvalidInput, match=said):
        read_bundle(given)

"""Export an execution with everything that proves it."""

from mainspring.domain.instant import rfc3339
from mainspring.operations.context import Desk
from mainspring.operations.executions import PAGE, clock_of, find_execution, read_log
from mainspring.operations.workflows import find_workflow
from mainspring.ports.workflows import Checkpoint, Execution
from mainspring.workflow.audit import TickHead
from mainspring.workflow.bundle import FORMAT, Bundle, Signed, lines_of
from mainspring.workflow.proof import committed_clock

TICKS_MAX = 100_000
SHARED = (
    "the chain of ticks is left out: it names executions of other tenants; export with a key of an "
    "installation operator, or on the database host"
)
LONG = (
    f"the chain of ticks is left out: it is longer than {TICKS_MAX} ticks; `mainspring execution verify` "
    "walks it on the database host"
)
UNSIGNED = "no checkpoint was signed after its last turn; a running ticker signs one within a minute: export again then"


async def export_execution(desk: Desk, execution_id: str, *, as_operator: bool = False) -> Bundle:
    """Document, log, ticks and a signed checkpoint. Ticks name executions of all tenants, so only operators get
    them.
    """
    execution = await find_execution(desk, execution_id)
    state = execution.state
    published = await find_workflow(desk, state.workflow, state.version)
    log = (await read_log(desk, execution))[: state.number]
    clock = committed_clock(log, await clock_of(desk, execution))
    ticks, signed, note = await _chain(desk, execution, as_operator)
    return Bundle(
        FORMAT, state.id, state.salt, state.status.value, state.outcome, state.error, execution.correlation,
        execution.created_at, execution.actor, state.workflow, state.version, published.document, clock.epoch,
        clock.resolution_ms, execution.partition, lines_of(log), tuple(ticks), signed, note, clock.zeros,
    )  # fmt: skip


async def _chain(desk: Desk, execution: Execution, as_operator: bool) -> tuple[list[TickHead], Signed | None, str]:
    """The ticks from its first turn to the first checkpoint after its last one, and that checkpoint."""
    if execution.state.number == 0:
        return [], None, "it has not moved yet"
    if not as_operator and len(await desk.stores.accounts.tenants()) > 1:
        return [], None, SHARED
    logs, end = desk.stores.flows.logs, execution.state.head
    found: list[TickHead] = []
    last, after = 0, 0
    checkpoint: Checkpoint | None = None
    while page := await logs.ticks(execution.partition, after, PAGE):
        after = page[-1].sequence
        for head in page:
            ours = [each for each in head.heads if each[0] == execution.id]
            if ours or found:
                found.append(head)
            if any(each[2] == end for each in ours):
                last = head.sequence
        if last:
            checkpoint = next(iter(await logs.checkpoints(execution.partition, last - 1, 1)), None)
        until = checkpoint.sequence if checkpoint is not None else last or after
        if found and until - found[0].sequence >= TICKS_MAX:
            return [], None, LONG
        if last and until <= after:  # later ticks prove nothing about it, and may be most of the chain
            break
    if not last:
        return [], None, await _unheld(desk, execution)
    if checkpoint is None:
        return [head for head in found if head.sequence <= last], None, UNSIGNED
    signed = Signed(
        checkpoint.partition, checkpoint.sequence, checkpoint.tick, checkpoint.head, checkpoint.signed_at,
        checkpoint.public_key, checkpoint.signature,
    )  # fmt: skip
    return [head for head in found if head.sequence <= checkpoint.sequence], signed, ""


async def _unheld(desk: Desk, execution: Execution) -> str:
    """Why no tick holds its end. Retention always keeps one that does, so the chain was modified."""
    start = await desk.stores.flows.logs.chain_start(execution.partition)
    gone = f"; those up to tick {start.tick}, signed at {rfc3339(start.signed_at)}, were removed" if start else ""
    return (
        f"no existing tick holds its last turn{gone}: document and log are consistent, but nothing signs "
        f"them; `mainspring execution verify {execution.id}` shows what is missing; restore it from an "
        "earlier backup"
    )

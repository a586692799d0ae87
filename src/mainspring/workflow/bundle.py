"""Export an execution as one file that anyone can verify: document, log, ticks, signed checkpoints. Pure.

The chain of ticks is a part of its partition's chain: from the first tick that moved the execution to the first signed
checkpoint after the last one. Each head contains the previous one, so one valid signature at the end covers all.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

import msgspec
from msgspec import Struct

from mainspring.domain.errors import InvalidInput
from mainspring.workflow.audit import Anchor, Breach, LogVerdict, TickHead, document_hash, seal_tick, verify
from mainspring.workflow.document import parse_text
from mainspring.workflow.model import LogEntry, LogicalClock, Workflow, Zeros
from mainspring.workflow.proof import OriginClaims, check_clock, check_end, check_origin
from mainspring.workflow.replay import ExecutionReplay, replay

FORMAT: Final = "mainspring.execution.v1"
ANY_PORT: Final = frozenset(range(1, 65_536))  # nothing is called, so the document may name any


class Line(Struct, frozen=True):
    """An entry with its values as the exact texts that were hashed."""

    number: int
    tick: int
    step: str
    action: str
    input_hash: str
    output_hash: str
    context: str
    previous: str
    hash: str
    input: str | None
    output: str | None


class Signed(Struct, frozen=True):
    partition: int
    sequence: int
    tick: int
    head: str
    signed_at: datetime
    public_key: str
    signature: str


class Bundle(Struct, frozen=True, forbid_unknown_fields=True):
    format: str
    execution: str
    salt: str
    status: str
    outcome: str
    error: str
    correlation: str
    created_at: datetime
    actor: str
    workflow: str
    version: int
    document: str
    zero: datetime  # the time of tick 0
    resolution_ms: int
    partition: int
    log: tuple[Line, ...]
    ticks: tuple[TickHead, ...] = ()
    checkpoint: Signed | None = None
    note: str = ""  # why there are no ticks, or no checkpoint
    zeros: Zeros = ()  # for a partition whose clock was repaired


class BundleVerdict(Struct, frozen=True):
    """What a file proves. `signed_by` is the public key of the valid checkpoint; "": the end is not signed."""

    verdict: LogVerdict
    chain: Breach | None
    ticks: int
    signed_by: str
    replay: ExecutionReplay | None  # None: values were erased

    @property
    def valid(self) -> bool:
        return self.verdict.valid and self.chain is None and (self.replay is None or self.replay.identical)


def lines_of(entries: Sequence[LogEntry]) -> tuple[Line, ...]:
    return tuple(
        Line(
            each.number, each.tick, each.step, each.action, each.input_hash, each.output_hash, each.context,
            each.previous, each.hash, _text(each.input), _text(each.output),
        )
        for each in entries
    )  # fmt: skip


def entries_of(bundle: Bundle) -> list[LogEntry]:
    return [
        LogEntry(
            bundle.execution, each.number, each.tick, each.step, each.action, each.input_hash, each.output_hash,
            each.context, each.previous, each.hash, _bytes(each.input), _bytes(each.output),
        )
        for each in bundle.log
    ]  # fmt: skip


def workflow_of(bundle: Bundle) -> Workflow:
    return msgspec.structs.replace(parse_text(bundle.document, ANY_PORT, is_stored=True), version=bundle.version)


def read_bundle(text: bytes) -> Bundle:
    """Reads a bundle from a file. InvalidInput names the path of the error."""
    try:
        bundle = msgspec.json.decode(text, type=Bundle)
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as fault:
        raise InvalidInput(
            f"this is not an exported execution: {fault}; create one with `mainspring execution export`", field="file"
        ) from None
    if bundle.format != FORMAT:
        raise InvalidInput(
            f"the file's format is {bundle.format[:60]!r}; this version reads {FORMAT}: use the version that wrote it",
            field="format",
        )
    return bundle


def check_bundle(bundle: Bundle, is_signed: Callable[[Signed], bool]) -> BundleVerdict:
    """Verifies the log, the ticks that hold it and the checkpoint that signs them; then replays the execution."""
    entries = entries_of(bundle)
    anchors = [
        Anchor(number, head)
        for tick in bundle.ticks
        for each, number, head in tick.heads
        if each == bundle.execution and number >= 0
    ]
    verdict = verify(bundle.execution, bundle.salt, entries, anchors)
    chain = _chain(bundle, is_signed)
    values = [value for each in entries for value in (each.input, each.output)]
    again = None
    breach: Breach | None = None
    if verdict.valid and None in values:
        if bundle.salt or any(value is not None for value in values):
            place = next(each.number for each in entries if each.input is None or each.output is None)
            breach = Breach(bundle.execution, place, "input or output", "a value, as the other entries have", "erased")
            verdict = msgspec.structs.replace(verdict, valid=False, breach=breach)
    elif verdict.valid and entries:
        breach = check_origin(entries[0], _claims(bundle, entries[0].tick)) or check_clock(entries, _clock(bundle))
        again = _replayed(bundle, entries, is_genuine=breach is None)
        if again is not None and breach is None:
            breach = check_end(again.state, bundle.status, bundle.outcome, bundle.error)
        if breach is not None:
            verdict = msgspec.structs.replace(verdict, valid=False, breach=breach)
    signed_by = bundle.checkpoint.public_key if bundle.checkpoint and chain is None else ""
    return BundleVerdict(verdict, chain, len(bundle.ticks), signed_by, again)


def _replayed(bundle: Bundle, entries: Sequence[LogEntry], *, is_genuine: bool) -> ExecutionReplay | None:
    """Replays the execution. A document known to differ may lack the steps, or be invalid."""
    try:
        return replay(workflow_of(bundle), entries, bundle.salt, bundle.zero, bundle.resolution_ms, bundle.zeros)
    except (InvalidInput, KeyError, AttributeError):
        if is_genuine:
            raise
        return None


def _claims(bundle: Bundle, tick: int) -> OriginClaims:
    return OriginClaims(
        bundle.workflow, bundle.version, document_hash(bundle.document), "", bundle.actor, bundle.correlation,
        bundle.partition, _clock(bundle).zeros_at(tick), bundle.resolution_ms,
    )  # fmt: skip


def _clock(bundle: Bundle) -> LogicalClock:
    return LogicalClock(0, bundle.zero, bundle.resolution_ms, bundle.zeros)


def _chain(bundle: Bundle, is_signed: Callable[[Signed], bool]) -> Breach | None:
    name = f"partition {bundle.partition}"
    before: TickHead | None = None
    for head in bundle.ticks:
        made = seal_tick(bundle.partition, head.sequence, head.tick, head.heads, head.previous)
        if head.partition != bundle.partition:
            return Breach(name, head.sequence, "partition", str(bundle.partition), str(head.partition))
        if made.hash != head.hash:
            return Breach(name, head.sequence, "hash", made.hash, head.hash)
        if made.heads != head.heads:
            return Breach(name, head.sequence, "heads", "sorted", "in another order")
        if before is not None and (head.sequence, head.previous) != (before.sequence + 1, before.hash):
            return Breach(name, head.sequence, "previous", before.hash, head.previous)
        before = head
    signed = bundle.checkpoint
    if signed is None:
        return None
    if before is None or (signed.sequence, signed.head) != (before.sequence, before.hash):
        return Breach(name, signed.sequence, "checkpoint", signed.head, before.hash if before else "no ticks")
    if signed.partition != bundle.partition or not is_signed(signed):
        return Breach(name, signed.sequence, "signature of the checkpoint", "a genuine one", signed.signature[:32])
    return None


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode()


def _bytes(value: str | None) -> bytes | None:
    return None if value is None else value.encode()

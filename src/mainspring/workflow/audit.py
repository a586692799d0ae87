"""The tamper-evident log: canonical form, chained hashes, commitments that survive erasure, verification.

    canonical   JSON in UTF-8: keys sorted by code point, no spaces; integers, text, true, false, null, lists, maps;
                a fraction is {"$double": "<its 64 bits in hex>"}, so that no float is ever printed into what is hashed
    commitment  SHA-256 of salt and canonical value: the value may be erased, the chain stays valid
    entry       SHA-256 over its place, step, action, commitments and the hash of the entry before it
    tick head   SHA-256 over the heads of all executions that a tick moved, and the tick head before it

Wall time, epochs and workers are stored beside the hashes, not in them. The test vectors are in docs/workflows.md.
"""

import re
import struct
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Final

import msgspec
from msgspec import Struct

from mainspring.workflow.model import EntryDraft, LogEntry

ENTRY_DOMAIN: Final = b"mainspring.entry.v1\n"
TICK_DOMAIN: Final = b"mainspring.tick.v1\n"
EFFECT_DOMAIN: Final = b"mainspring.effect.v1\n"
DOCUMENT_DOMAIN: Final = b"mainspring.document.v1\n"
MODEL_DOMAIN: Final = b"mainspring.model.v1\n"
GENESIS: Final = "0" * 64
NULL: Final = b"null"
_encode: Final = msgspec.json.Encoder(order="sorted").encode
_MAYBE_DOUBLE: Final = re.compile(rb"(?:^|[:,\[])-?[0-9]+[.e]")


def canonical(value: object) -> bytes:
    """The only byte string that represents `value` in a hash."""
    text = _encode(value)
    # Searching for a possible fraction is cheaper than walking every value; a text that contains "1.5" is walked
    # needlessly.
    may_have_fractions = (b"." in text or b"e" in text) and _MAYBE_DOUBLE.search(text)
    return _encode(_without_doubles(value)) if may_have_fractions else text


def commit(salt: str, text: bytes) -> str:
    """A commitment to canonical bytes."""
    return sha256(salt.encode() + b"\n" + text).hexdigest()


@lru_cache(10_000)
def _nothing(salt: str) -> str:
    """The commitment to null: most entries have no input or no output."""
    return commit(salt, NULL)


def effect_key(execution_id: str, step: str, visit: int) -> str:
    """The same for every attempt: it contains neither a tick nor an attempt. Lengths keep the parts apart."""
    parts = f"{len(execution_id)}:{execution_id}{len(step)}:{step}{visit}"
    return "eff_" + sha256(EFFECT_DOMAIN + parts.encode()).hexdigest()[:48]


def document_hash(text: str) -> str:
    """The hash of the document that a log commits to."""
    return sha256(DOCUMENT_DOMAIN + text.encode()).hexdigest()


def model_hash(text: str) -> str:
    """The hash of the parsed document as stored, which is what the engine runs."""
    return sha256(MODEL_DOMAIN + text.encode()).hexdigest()


def entry_hash(entry: LogEntry) -> str:
    """The hash that the entry must have, computed from all its other fields."""
    return _hash(
        entry.execution_id, entry.number, entry.tick, entry.step, entry.action, entry.input_hash, entry.output_hash,
        entry.context, entry.previous,
    )  # fmt: skip


def seal(execution_id: str, salt: str, number: int, head: str, drafts: Iterable[EntryDraft]) -> list[LogEntry]:
    """Seals entries that continue a log of `number` entries whose last hash is `head`."""
    entries = []
    previous = head or GENESIS
    nothing = _nothing(salt)
    for draft in drafts:
        number += 1
        given, given_hash = NULL, nothing
        if draft.input is not None:
            given = canonical(draft.input)
            given_hash = commit(salt, given)
        came, came_hash = NULL, nothing
        if draft.output is not None:
            came = canonical(draft.output)
            came_hash = commit(salt, came)
        sealed = _hash(
            execution_id, number, draft.tick, draft.step, draft.action, given_hash, came_hash, draft.context, previous
        )
        entries.append(
            LogEntry(
                execution_id,
                number,
                draft.tick,
                draft.step,
                draft.action,
                given_hash,
                came_hash,
                draft.context,
                previous,
                sealed,
                given,
                came,
            )
        )
        previous = sealed
    return entries


class Breach(Struct, frozen=True):
    """A place where a log differs from what was written: the entry, the field, the expected and the found value."""

    execution_id: str
    number: int
    field: str
    expected: str
    found: str


class LogVerdict(Struct, frozen=True):
    """The result of verifying one log."""

    valid: bool
    entries: int  # number of valid entries
    first_tick: int | None = None
    last_tick: int | None = None
    erased: int = 0  # erased values; their commitments still hold
    breach: Breach | None = None


class Anchor(Struct, frozen=True):
    """The length and last hash of a log, as recorded outside of the log."""

    number: int
    head: str


BEGINNING: Final = Anchor(0, GENESIS)


class LogWalk:
    """Verifies an execution's log page by page, remembering only the current position."""

    def __init__(self, execution_id: str, salt: str) -> None:
        self._id, self._salt = execution_id, salt
        self._fits = 0  # number of entries at the last anchor that matched
        self._first: int | None = None
        self._last: int | None = None
        self._erased = 0
        self.number, self.head = 0, GENESIS

    def take(self, entries: Iterable[LogEntry], anchors: Iterable[Anchor] = ()) -> Breach | None:
        """Verifies the next entries and compares them with the `anchors`, ascending, among them.

        The first breach ends the walk. Rewritten entries form a valid chain as well; their breach is the first
        entry after the last anchor that still matches.
        """
        begin, hashes = self.number, [self.head]
        execution_id, salt, nothing = self._id, self._salt, _nothing(self._salt)
        number, previous, last, erased = self.number, self.head, self._last, self._erased
        breach = None
        for entry in entries:
            given, came = entry.input, entry.output
            if not (
                entry.number == number + 1
                and entry.previous == previous
                and entry.execution_id == execution_id
                and (given is None or entry.input_hash == (nothing if given == b"null" else commit(salt, given)))
                and (came is None or entry.output_hash == (nothing if came == b"null" else commit(salt, came)))
                and entry.hash == entry_hash(entry)
                and (last is None or entry.tick >= last)
            ):
                breach = _breach(entry, execution_id, salt, number + 1, previous, last)
                break
            number += 1
            previous, last = entry.hash, entry.tick
            if self._first is None:
                self._first = last
            hashes.append(previous)
            erased += (given is None) + (came is None)
        self.number, self.head, self._last, self._erased = number, previous, last, erased
        return breach or self._unanchored(begin, hashes, anchors)

    def close(self, anchor: Anchor) -> Breach | None:
        """Whether the log ends where an outside record says."""
        return _cut(self._id, self.number, self.head, anchor)

    def verdict(self, breach: Breach | None) -> LogVerdict:
        return LogVerdict(breach is None, self.number, self._first, self._last, self._erased, breach)

    def _unanchored(self, begin: int, hashes: Sequence[str], anchors: Iterable[Anchor]) -> Breach | None:
        for anchor in anchors:
            if begin <= anchor.number <= self.number:
                if hashes[anchor.number - begin] != anchor.head:
                    return Breach(self._id, self._fits + 1, "hash", anchor.head, hashes[anchor.number - begin])
                self._fits = anchor.number
        return None


def verify(execution_id: str, salt: str, entries: Iterable[LogEntry], anchors: Sequence[Anchor] = ()) -> LogVerdict:
    """Verifies a whole log against the `anchors`, ascending, that are recorded outside of it."""
    walk = LogWalk(execution_id, salt)
    breach = walk.take(entries, anchors)
    if breach is None and anchors:
        breach = walk.close(anchors[-1])
    return walk.verdict(breach)


class TickHead(Struct, frozen=True, gc=False):
    """One tick of a partition that moved executions. Epoch, wall time and worker are stored beside the hash."""

    partition: int
    sequence: int
    tick: int
    heads: tuple[tuple[str, int, str], ...]  # execution, its number of entries, its head; (id, -1, head): removed
    previous: str
    hash: str
    epoch: int = 0


def seal_tick(
    partition: int, sequence: int, tick: int, heads: Iterable[tuple[str, int, str]], previous: str, epoch: int = 0
) -> TickHead:
    ordered = tuple(sorted(heads))
    previous = previous or GENESIS
    return TickHead(
        partition, sequence, tick, ordered, previous, _tick_hash(partition, sequence, tick, ordered, previous), epoch
    )


class TickWalk:
    """Verifies a partition's chain of ticks, from its start or from a checkpoint."""

    def __init__(self, partition: int, base: Anchor = BEGINNING, tick: int = -1) -> None:
        self._partition = partition
        self._tick, self._epoch = tick, 0
        self.sequence, self.head = base.number, base.head

    def take(self, head: TickHead) -> Breach | None:
        """Checks the next tick; returns its breach, if any."""
        self.sequence += 1
        expected = _tick_hash(self._partition, self.sequence, head.tick, head.heads, self.head)
        for field, wanted, found in (
            ("sequence", self.sequence, head.sequence),
            ("previous", self.head, head.previous),
            ("hash", expected, head.hash),
        ):
            if wanted != found:
                return Breach(self._name, self.sequence, field, str(wanted), str(found))
        if head.tick <= self._tick or head.epoch < self._epoch:
            return Breach(self._name, self.sequence, "tick", f"after {self._tick}", str(head.tick))
        self.head, self._tick, self._epoch = head.hash, head.tick, head.epoch
        return None

    def close(self, anchor: Anchor | None) -> Breach | None:
        """Whether the chain ends where an outside record says."""
        return _cut(self._name, self.sequence, self.head, anchor)

    @property
    def _name(self) -> str:
        return f"partition {self._partition}"


def verify_ticks(
    partition: int, ticks: Iterable[TickHead], anchor: Anchor | None = None, base: Anchor = BEGINNING
) -> tuple[Breach | None, dict[str, Anchor]]:
    """The first breach in a partition's chain of ticks, and the end of every execution's log according to the chain.

    A removed execution is left out. An execution that the result names and the store lacks was deleted.
    """
    walk = TickWalk(partition, base)
    ends: dict[str, Anchor] = {}
    for head in ticks:
        breach = walk.take(head)
        if breach is not None:
            return breach, ends
        note_ends(ends, head)
    return walk.close(anchor), ends


def note_ends(ends: dict[str, Anchor], head: TickHead) -> None:
    """The ends of all logs that a tick names; a removed one has none."""
    for execution_id, number, last in head.heads:
        if number < 0:
            ends.pop(execution_id, None)
        else:
            ends[execution_id] = Anchor(number, last)


def _hash(
    execution_id: str,
    number: int,
    tick: int,
    step: str,
    action: str,
    given: str,
    came: str,
    context: str,
    previous: str,
) -> str:
    parts = (execution_id, number, tick, step, action, given, came, context, previous)
    return sha256(ENTRY_DOMAIN + _encode(parts)).hexdigest()


def _tick_hash(partition: int, sequence: int, tick: int, heads: tuple[tuple[str, int, str], ...], previous: str) -> str:
    return sha256(TICK_DOMAIN + _encode((partition, sequence, tick, heads, previous))).hexdigest()


def _breach(entry: LogEntry, execution_id: str, salt: str, number: int, previous: str, last: int | None) -> Breach:
    """The first field of an invalid entry that is wrong."""
    if entry.number != number:
        return Breach(execution_id, number, "number", str(number), str(entry.number))
    if entry.execution_id != execution_id:
        return Breach(execution_id, number, "execution", execution_id, entry.execution_id)
    if entry.previous != previous:
        return Breach(execution_id, number, "previous", previous, entry.previous)
    for field, value, commitment in (
        ("input", entry.input, entry.input_hash),
        ("output", entry.output, entry.output_hash),
    ):
        if value is not None and (found := commit(salt, value)) != commitment:
            return Breach(execution_id, number, field, commitment, found)
    if (expected := entry_hash(entry)) != entry.hash:
        return Breach(execution_id, number, "hash", expected, entry.hash)
    return Breach(execution_id, number, "tick", f"{last} or later", str(entry.tick))


def _cut(name: str, number: int, head: str, anchor: Anchor | None) -> Breach | None:
    """Whether a log ends where an outside record says."""
    if anchor is None or (anchor.number, anchor.head) == (number, head):
        return None
    if anchor.number != number:
        place = min(anchor.number, number) + 1
        return Breach(name, place, "number", f"{anchor.number} entries", f"{number} entries")
    return Breach(name, number, "hash", anchor.head, head)


def revive(text: bytes) -> object:
    """The value of canonical bytes."""
    value: object = msgspec.json.decode(text)
    return _with_doubles(value) if b'"$double"' in text else value


def _with_doubles(value: object) -> object:
    if isinstance(value, dict):
        if value.keys() == {"$double"}:
            return struct.unpack(">d", bytes.fromhex(value["$double"]))[0]
        return {key: _with_doubles(item) for key, item in value.items()}
    return [_with_doubles(item) for item in value] if isinstance(value, list) else value


def _without_doubles(value: object) -> object:
    if isinstance(value, float):
        return {"$double": struct.pack(">d", value).hex()}
    if isinstance(value, dict):
        return {key: _without_doubles(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_doubles(item) for item in value]
    return value

"""Encrypt every secret of the installation again with the current key, while everything runs."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable

from msgspec import Struct

from mainspring.domain.access.audit import INSTALLATION
from mainspring.domain.errors import Misconfigured
from mainspring.domain.event import Event, EventType
from mainspring.operations.context import Desk
from mainspring.ports.sealing import SealedKind, SealedRow
from mainspring.ports.stores import Stores

SECRET_KEY_ID = "secret_key_id"  # under which the installation records the key of all its secrets
RETIRED_KEYS = "retired_keys"
BATCH = 100  # rows read and written at once: they are locked for some milliseconds
PAUSE_S = 0.01  # after each batch, so that others can write


class Resealed(Struct, frozen=True):
    """The result of one pass: values encrypted again, values left, and values that no key here decrypts."""

    values: int = 0
    left: int = 0
    unreadable: int = 0


async def remember_retired(stores: Stores, recall: Callable[[str], None]) -> None:
    """Restores what outlived the previous keys, so that the audit trail and checkpoints made under them verify."""
    recall(await stores.upkeep.installation(RETIRED_KEYS))


async def count_sealed(stores: Stores) -> Counter[str]:
    """How many values are encrypted with which key, by its id."""
    return Counter([_key_of(sealed) async for row in _rows(stores) for sealed in row.values])


async def count_unreadable(stores: Stores, decrypt: Callable[[str, str], str]) -> int:
    """How many encrypted values no key decrypts."""
    unreadable = 0
    async for row in _rows(stores):
        for sealed, context in row.values.items():
            try:
                decrypt(sealed, context)
            except Misconfigured:
                unreadable += 1
    return unreadable


async def seal_again(desk: Desk) -> Resealed:
    """One pass over everything encrypted; values under another key are encrypted with the current one.

    A row is written only if it is unchanged since it was read, so no edit is lost; another pass finds the rest. Values
    that no key decrypts stay unchanged: they were lost before.
    """
    values = left = unreadable = 0
    for kind in SealedKind:
        after: tuple[str, ...] = ()
        while rows := await desk.stores.sealed.sealed(kind, after, BATCH):
            after = rows[-1].place
            work = []
            for row in rows:
                fresh, bad = _sealed_again(desk, row)
                unreadable += bad
                if fresh and row.is_busy:
                    left += len(fresh)
                elif fresh:
                    work.append((row, fresh))
            if work:
                written = await desk.stores.sealed.reseal(work)
                values += written
                left += sum(len(fresh) for _, fresh in work) - written
                await asyncio.sleep(PAUSE_S)
    return Resealed(values, left, unreadable)


async def settle_key(desk: Desk, key_id: str, values: int) -> None:
    """Makes `key_id` the key of this installation: a process without it is refused.

    Data signed with keys derived from earlier ones stays verifiable by what is kept of those keys.
    """
    await desk.stores.upkeep.put_installation(RETIRED_KEYS, desk.vault.retired())
    await desk.stores.upkeep.put_installation(SECRET_KEY_ID, key_id)
    now = await desk.stores.schedule.now()
    data: dict[str, object] = {"subject": key_id, "values": values}
    event = Event(EventType.SECRET_KEY_CHANGED, now, INSTALLATION, actor=desk.actor, data=data)
    await desk.stores.runs.add_events([event])


def _sealed_again(desk: Desk, row: SealedRow) -> tuple[dict[str, str], int]:
    """The replacement for values under another key, and how many values no key decrypts."""
    fresh: dict[str, str] = {}
    unreadable = 0
    for sealed, context in row.values.items():
        if desk.vault.is_current(sealed):
            continue
        try:
            fresh[sealed] = desk.vault.seal(desk.vault.open(sealed, context), context)
        except Misconfigured:
            unreadable += 1
    return fresh, unreadable


async def _rows(stores: Stores) -> AsyncIterator[SealedRow]:
    for kind in SealedKind:
        after: tuple[str, ...] = ()
        while rows := await stores.sealed.sealed(kind, after, BATCH):
            after = rows[-1].place
            for row in rows:
                yield row


def _key_of(sealed: str) -> str:
    """In the format of the vault, `v1.<key id>.<data>`; any other format has no key."""
    return sealed.split(".", 2)[1] if sealed.count(".") >= 2 else "(none)"

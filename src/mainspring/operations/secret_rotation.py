"""Re-keying: seal every secret of the installation again, with the key that seals now, while everything runs."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable

from msgspec import Struct

from mainspring.domain.access.audit import INSTALLATION
from mainspring.domain.errors import Misconfigured
from mainspring.domain.event import Event, EventType
from mainspring.operations.endpoints import Desk
from mainspring.ports.sealing import SealedKind, SealedRow
from mainspring.ports.stores import Stores

SECRET_KEY_ID = "secret_key_id"  # under which the installation remembers the key that all its secrets are under
RETIRED_KEYS = "retired_keys"
BATCH = 100  # rows read and written at once: they are locked for some milliseconds
PAUSE_S = 0.01  # after each batch, in which others get their turn to write


class Resealed(Struct, frozen=True):
    """What one look at everything found: values sealed again, left to be, and such that no key here opens."""

    values: int = 0
    left: int = 0
    unreadable: int = 0


async def remember_retired(stores: Stores, recall: Callable[[str], None]) -> None:
    """Know what outlived the keys before: with it the audit trail and the checkpoints made under them are verified."""
    recall(await stores.upkeep.installation(RETIRED_KEYS))


async def count_sealed(stores: Stores) -> Counter[str]:
    """How many values are sealed with which key, by its id."""
    return Counter([_key_of(sealed) async for row in _rows(stores) for sealed in row.values])


async def seal_again(desk: Desk) -> Resealed:
    """One look at everything that is sealed; what is not under the present key is sealed with it.

    Each row is written where it is still as it was read, so that nobody's edit is lost; another look finds what was
    left. What no key opens stays as it is: it was lost before.
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
    """From now on `key_id` is the key of this installation: who starts without it is refused, who has it alone is not.

    What was made with keys derived from earlier ones stays verifiable, by what is kept of them.
    """
    await desk.stores.upkeep.put_installation(RETIRED_KEYS, desk.vault.retired())
    await desk.stores.upkeep.put_installation(SECRET_KEY_ID, key_id)
    now = await desk.stores.schedule.now()
    data: dict[str, object] = {"subject": key_id, "values": values}
    event = Event(EventType.SECRET_KEY_CHANGED, now, INSTALLATION, actor=desk.actor, data=data)
    await desk.stores.runs.add_events([event])


def _sealed_again(desk: Desk, row: SealedRow) -> tuple[dict[str, str], int]:
    """What takes the place of what is under another key, and how many values no key opens."""
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
    """As the vault writes them: `v1.<key id>.<data>`; what is in another form is under no key."""
    return sealed.split(".", 2)[1] if sealed.count(".") >= 2 else "(none)"

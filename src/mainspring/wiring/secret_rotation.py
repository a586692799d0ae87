"""Rotate the secret key while everything runs. It can be killed at any point: run again, it continues.

1. A new key goes before the old one in the key file; running processes follow the file (see `outbound/vault`), so from
   here on every process encrypts with the new key and decrypts with either.
2. Everything encrypted with another key is encrypted again, until a pass finds nothing, and a last time after writes
   in progress have had time to finish.
3. What must outlive the old key is kept, and the database records the new one.
4. The old key is removed from the file.

Keys in MAINSPRING_SECRET_KEY are managed by the operator; then only steps 2 and 3 remain.
"""

import asyncio
from collections.abc import Callable
from contextlib import ExitStack

from msgspec import Struct

from mainspring.domain.errors import Conflict
from mainspring.operations.context import Desk
from mainspring.operations.secret_rotation import Resealed, count_sealed, seal_again, settle_key
from mainspring.outbound.key_file import KeyFile, new_key
from mainspring.outbound.vault import key_id
from mainspring.settings import Settings
from mainspring.wiring.clock import is_elsewhere
from mainspring.wiring.desk import open_desk, open_keys

BUSY_PAUSE_S = 1.0  # until the next pass, while requests use a key that must go

Tell = Callable[[str], None]


class Rotated(Struct, frozen=True):
    """The current encryption key, the keys no longer needed, and how many values were encrypted again."""

    key: str
    old: tuple[str, ...]
    values: int
    unreadable: int


class KeyRow(Struct, frozen=True):
    """A key and how many values are encrypted with it; `is_here` if this process has it, `seals` if it is the
    primary.
    """

    id: str
    seals: bool
    is_here: bool
    values: int


async def key_rows(settings: Settings) -> list[KeyRow]:
    """The keys of this process, the primary first, then those that are missing."""
    async with open_desk(settings, create=False) as desk:
        ring = open_keys(settings)
        counted = await count_sealed(desk.stores)
    ids = sorted({*ring.ciphers, *counted}, key=lambda each: (each != ring.primary_id, each not in ring.ciphers, each))
    return [KeyRow(each, each == ring.primary_id, each in ring.ciphers, counted[each]) for each in ids]


async def rotate_key(settings: Settings, settle_s: float, tell: Tell, *, is_shared: bool = False) -> Rotated:
    """`is_shared`: workers on other machines read the same key file, so they learn the new key automatically."""
    async with open_desk(settings) as desk:  # refuses keys that are not this database's before any is changed
        if not settings.secret_key and not is_shared:
            await _refuse_workers_elsewhere(desk, settings)
    with ExitStack() as held:
        file = None
        if not settings.secret_key:
            file = KeyFile(settings.key_file)
            held.enter_context(file.alone())
            _add_key(file, tell)
        ring = open_keys(settings)
        old = tuple(each for each in ring.ciphers if each != ring.primary_id)
        if not old:
            raise _one_key(ring.primary_id)
        async with open_desk(settings) as desk:
            moved = await _seal_all_again(desk, settle_s, tell)
            await settle_key(desk, ring.primary_id, moved.values)
            if file is not None:
                file.write(file.read()[:1])
                moved = _sum(moved, await _seal_all_again(desk, 0, tell))  # values written meanwhile under the old key
        return Rotated(ring.primary_id, old, moved.values, moved.unreadable)


async def _refuse_workers_elsewhere(desk: Desk, settings: Settings) -> None:
    alive = [row.id for row in await desk.stores.presence.alive() if is_elsewhere(row.id)]
    if alive:
        raise Conflict(
            f"workers on other machines are alive: {', '.join(alive)}; each must have the new key before "
            f"anything is encrypted with it; give --shared-file if they read this same {settings.key_file}, "
            "else put both keys into each of their files, OLD first, then NEW first, and run this with "
            "--shared-file",
            kind="secret key",
            name=str(settings.key_file),
        )


def _add_key(file: KeyFile, tell: Tell) -> None:
    keys = file.read()
    if len(keys) > 1:
        tell(f"continuing the unfinished rotation to key {key_id(keys[0])}")
        return
    new = new_key()
    file.write((new, *keys))
    tell(f"new key {key_id(new)} in {file.path}; everything is encrypted with it from now on")


async def _seal_all_again(desk: Desk, settle_s: float, tell: Tell) -> Resealed:
    loop = asyncio.get_running_loop()
    settled_at = loop.time() + settle_s
    moved = Resealed()
    while True:
        found = await seal_again(desk)
        moved = Resealed(moved.values + found.values, 0, found.unreadable)
        if found.values:
            tell(f"values encrypted again: {moved.values:,}")
        elif found.left:
            tell(f"waiting for requests that use values under the old key; values left: {found.left:,}")
            await asyncio.sleep(BUSY_PAUSE_S)
        elif (rest := settled_at - loop.time()) > 0:
            await asyncio.sleep(rest)
        else:
            return moved


def _sum(moved: Resealed, last: Resealed) -> Resealed:
    return Resealed(moved.values + last.values, 0, last.unreadable)


def _one_key(key: str) -> Conflict:
    return Conflict(
        f"MAINSPRING_SECRET_KEY holds one key, {key}, and a rotation needs two; create one with `openssl "
        "rand -base64 32`, give every process OLD,NEW and restart it, then NEW,OLD, then run this again",
        kind="secret key",
        name=key,
    )

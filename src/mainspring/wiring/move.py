"""Move the installation to another database: open both, check secrets before the switch-over and logs after it."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from msgspec import Struct

from mainspring.domain.errors import Conflict, InvalidInput, Misconfigured
from mainspring.operations.partitions import PartitionVerdict, verify_partitions
from mainspring.operations.secret_rotation import count_unreadable
from mainspring.settings import Settings
from mainspring.stores.move import Mover
from mainspring.stores.tables import HISTORY
from mainspring.wiring.clock import SystemClock
from mainspring.wiring.desk import check_key, open_desk, open_keys
from mainspring.wiring.stores import open_stores

if TYPE_CHECKING:
    from mainspring.stores.move_side import MoveSide


class Moved(Struct, frozen=True):
    """The number of rows read, how long the installation was paused, and the state of the target's workflow logs.

    `was_left`: an earlier attempt had left the source, and only the target had to be opened.
    """

    rows: int
    paused_s: float
    was_left: bool
    partitions: tuple[PartitionVerdict, ...]


class Moving:
    """One move; `done` counts rows that were read from the source."""

    def __init__(self, settings: Settings, to: str, mover: Mover) -> None:
        self._settings = settings
        self._to = to
        self._mover = mover
        self._unreadable = 0

    @property
    def done(self) -> int:
        return self._mover.done

    async def plan(self) -> dict[str, int]:
        """Rows of every table. Raises if the move cannot be made; writes nothing."""
        from mainspring.outbound.vault import AesVault

        counts = await self._mover.plan()
        if not self._mover.is_left:
            keys = open_keys(self._settings)
            async with open_stores(self._settings.url, pool_size=1, create=False) as stores:
                await check_key(stores, keys)
                self._unreadable = await count_unreadable(stores, AesVault(keys).open)
        return counts

    def reads(self, counts: dict[str, int]) -> int:
        """How many rows will be read: those of large tables twice, to copy them and to compare them."""
        return sum(rows * (2 if name in HISTORY else 1) for name, rows in counts.items())

    async def run(self, drain: timedelta, pause_max: timedelta) -> Moved:
        done = await self._mover.run(self._check_secrets, drain=drain, pause_max=pause_max)
        async with open_desk(self._settings.model_copy(update={"database_url": self._to}), for_all=True) as desk:
            return Moved(done.rows, done.paused_s, self._mover.is_left, tuple(await verify_partitions(desk)))

    async def abort(self) -> None:
        await self._mover.plan()
        await self._mover.abort()

    async def _check_secrets(self) -> None:
        from mainspring.outbound.vault import AesVault

        async with open_stores(self._to, pool_size=1) as stores:
            found = await count_unreadable(stores, AesVault(open_keys(self._settings)).open)
        if found != self._unreadable:
            raise Conflict(
                f"{found} secrets in the target cannot be decrypted, and {self._unreadable} in the source; the source "
                "is in service; start again with an empty database",
                kind="move",
                name="",
            )


@asynccontextmanager
async def open_move(
    settings: Settings, to: str, tell: Callable[[str], None], *, creates: bool
) -> AsyncIterator[Moving]:
    """Without `creates`, a target without tables of Mainspring is refused and not changed."""
    _refuse_same(settings.url, to)
    async with open_stores(settings.url, pool_size=1, create=False):
        pass  # it exists, and has the schema of this version
    async with open_stores(to, pool_size=1, create=creates):
        pass
    async with AsyncExitStack() as opened:
        source = await open_side(settings.url, settings.keep_runs)
        opened.push_async_callback(source.aclose)
        target = await open_side(to, settings.keep_runs)
        opened.push_async_callback(target.aclose)
        yield Moving(settings, to, Mover(source, target, tell))


async def open_side(url: str, keep_runs: timedelta) -> "MoveSide":
    if url.startswith("sqlite://"):
        from mainspring.stores.sqlite.move import SqliteMove

        return SqliteMove(url.removeprefix("sqlite://"), url, SystemClock())
    from mainspring.stores.postgres.move import PostgresMove

    parts = urlsplit(url)
    user, at, hosts = parts.netloc.rpartition("@")
    query = urlencode([(name, value) for name, value in parse_qsl(parts.query) if name != "password"])
    label = urlunsplit(parts._replace(netloc=f"{user.partition(':')[0]}{at}{hosts}", query=query))
    return await PostgresMove.open_url(url, label, keep_runs)


def _refuse_same(source: str, to: str) -> None:
    if source == to:
        raise InvalidInput("the target is the database of MAINSPRING_DATABASE_URL; name another", field="to")
    if ":memory:" in source:
        raise Misconfigured("a database in memory cannot be moved", setting="MAINSPRING_DATABASE_URL")

"""The one connection that a process keeps. It receives notifications and holds the lock that marks the process alive.

The server releases the lock when the connection ends: at once when the process dies, within ten seconds when its
machine vanishes. A lost connection is replaced within two seconds. The network may lose it silently, so it is checked
every five seconds: a process that continues without its lock and without notifications would look dead at its first
late heartbeat.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress

import asyncpg

from mainspring.stores.postgres.hosts import Hosts

CHANNEL = "mainspring"
CONNECT_TIMEOUT_S = 3
HOLD_TIMEOUT_S = 3  # for the first lock; a process continues without it, and retries
CHECK_S = 5.0
ANSWER_S = 10.0  # as for any statement: a process that gave up its lock on a busy machine would look dead
RETRY_S = 1.5  # with the pool, at most two attempts a second while the database is unavailable
SETTINGS = {
    "application_name": "mainspring",
    "idle_session_timeout": "0",
    "tcp_user_timeout": "10s",
    "tcp_keepalives_idle": "3",
    "tcp_keepalives_interval": "2",
    "tcp_keepalives_count": "3",
}


class LastingConnection:
    """`take_presence` is the statement that takes the lock. Behind PgBouncer no connection lasts: none is made.

    `on_notify` is called with the time in every notification of other processes. Set it before anything connects: a
    notification that arrives earlier is lost.
    """

    def __init__(
        self,
        hosts: Hosts,
        origin: str,
        take_presence: str,
        *,
        behind_bouncer: bool,
        check_s: float = CHECK_S,
        answer_s: float = ANSWER_S,
    ) -> None:
        self._hosts = hosts
        self._origin = origin
        self._take_presence = take_presence
        self._behind_bouncer = behind_bouncer
        self._check_s = check_s
        self._answer_s = answer_s
        self._begin_s = 2 * answer_s  # our own lock may be held by a connection that the server has not closed yet
        self._task: asyncio.Task[None] | None = None
        self.on_notify: Callable[[str], None] = lambda moved_to: None
        self._worker = ""
        self._held = asyncio.Event()
        self._was_held = False
        self._held_again_s: float | None = None

    def connect(self) -> None:
        """Listen from now on; never, behind PgBouncer."""
        if self._task is None and not self._behind_bouncer:
            self._task = asyncio.create_task(self._keep_connected(), name="postgres-listener")

    async def hold(self, worker: str) -> None:
        """Hold the lock of `worker` from now on; returns once it is held, or after a moment without."""
        if self._behind_bouncer:
            return
        self._worker = worker
        await self.aclose()  # an existing connection has no lock
        self.connect()
        with suppress(TimeoutError):
            async with asyncio.timeout(HOLD_TIMEOUT_S):
                await self._held.wait()

    def has_settled(self, ms: int) -> bool:
        """False while our own lock is lost, and for some time after: others may not have recovered theirs yet."""
        if self._behind_bouncer or not self._worker:
            return True
        again_s = self._held_again_s
        return self._held.is_set() and (again_s is None or time.monotonic() - again_s > ms / 1000)

    async def aclose(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    async def _keep_connected(self) -> None:
        while True:
            with suppress(Exception):  # an exception of one connection must not prevent the next one
                connection = await self._hosts.connect(timeout=CONNECT_TIMEOUT_S, server_settings=SETTINGS)
                gone = asyncio.Event()
                try:
                    connection.add_termination_listener(lambda _, gone=gone: gone.set())
                    async with asyncio.timeout(self._begin_s):
                        await self._take_lock(connection)
                        await connection.add_listener(CHANNEL, self._heard)
                    self.on_notify("")  # for notifications that were sent before it listened
                    await self._until_lost(connection, gone)
                finally:
                    self._held.clear()
                    connection.terminate()
            await asyncio.sleep(RETRY_S)

    async def _until_lost(self, connection: "asyncpg.Connection[asyncpg.Record]", gone: asyncio.Event) -> None:
        """Returns when the connection has ended or its server was made read-only; raises when it does not respond."""
        while not gone.is_set():
            try:
                async with asyncio.timeout(self._check_s):
                    await gone.wait()
            except TimeoutError:
                if await connection.fetchval("SHOW transaction_read_only", timeout=self._answer_s) == "on":
                    return

    async def _take_lock(self, connection: "asyncpg.Connection[asyncpg.Record]") -> None:
        if not self._worker:
            return
        await connection.execute(self._take_presence, self._worker)
        if self._was_held:
            self._held_again_s = time.monotonic()
        self._was_held = True
        self._held.set()

    def _heard(self, connection: object, pid: int, channel: str, payload: object) -> None:
        origin, _, moved_to = str(payload).partition(" ")
        if origin != self._origin:
            self.on_notify(moved_to)

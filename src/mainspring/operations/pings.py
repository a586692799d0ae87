"""Pings: the URL of a heartbeat, and the pings that arrive.

Pings that arrive together share a transaction, so a flood causes a few transactions a second. A token that sends
too often is refused before the database is read. An unknown token costs one lookup by an index.
"""

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from datetime import datetime
from secrets import token_bytes

from msgspec import Struct

from mainspring.domain.access.account import digest, is_ping_token, ping_token
from mainspring.domain.access.sealing import ping_place
from mainspring.domain.endpoint import Endpoint
from mainspring.domain.errors import InvalidInput, NotFound, TooManyRequests
from mainspring.domain.event import Event, EventType
from mainspring.domain.kinds.registry import kind_of
from mainspring.domain.schedule.ping import Ping
from mainspring.operations.context import Desk
from mainspring.operations.endpoints import find_endpoint
from mainspring.ports.pings import PingUrl
from mainspring.ports.stores import Stores

BATCH_MAX = 200  # pings in one transaction: it locks their endpoints for some milliseconds
BATCH_BYTES_MAX = 100_000  # of bodies in one transaction: a condition takes milliseconds for each
WAITING_MAX = 2_000  # two seconds of the rate that is accepted; more are asked to come again
PER_MINUTE = 120  # of one token: a job that runs every second, with its start and its end
BURST = 60
TOKENS_MAX = 10_000  # the least recently seen are dropped, which resets their count
PING_PATH = "/ping/"


class PingAddress(Struct, frozen=True):
    """The ping URL of an endpoint; `token` is None if it has none."""

    endpoint: Endpoint
    token: str | None
    created_at: datetime | None = None


async def read_ping_url(desk: Desk, name_or_id: str) -> PingAddress:
    """The ping URL, if it exists; endpoints of other kinds have none."""
    endpoint = await find_endpoint(desk, name_or_id)
    if not endpoint.action.is_expected:
        return PingAddress(endpoint, None)
    found = await desk.stores.pings.ping_url(desk.tenant_id, endpoint.id)
    if found is None:
        return PingAddress(endpoint, None)
    sealed, created_at = found
    return PingAddress(endpoint, desk.vault.open(sealed, ping_place(desk.tenant_id, endpoint.id)), created_at)


async def rotate_ping_url(desk: Desk, name_or_id: str) -> PingAddress:
    """Creates or replaces the ping URL; the previous one becomes invalid at once."""
    endpoint = await _find_heartbeat(desk, name_or_id)
    token = ping_token(token_bytes(32))
    now = await desk.stores.schedule.now()
    sealed = desk.vault.seal(token, ping_place(desk.tenant_id, endpoint.id))
    url = PingUrl(endpoint.id, desk.tenant_id, digest(token), sealed, now)
    await desk.stores.pings.put_ping_url(url, _event(desk, EventType.PING_URL_CREATED, endpoint, now))
    return PingAddress(endpoint, token, now)


async def show_ping_url(desk: Desk, name_or_id: str) -> PingAddress:
    """The ping URL; it is created if the endpoint has none."""
    found = await read_ping_url(desk, name_or_id)
    return found if found.token is not None else await rotate_ping_url(desk, found.endpoint.id)


async def revoke_ping_url(desk: Desk, name_or_id: str) -> Endpoint:
    endpoint = await _find_heartbeat(desk, name_or_id)
    event = _event(desk, EventType.PING_URL_REVOKED, endpoint, await desk.stores.schedule.now())
    if not await desk.stores.pings.revoke_ping_url(desk.tenant_id, endpoint.id, event):
        raise NotFound("ping URL", endpoint.name, rule="the endpoint has none; create one first")
    return endpoint


async def _find_heartbeat(desk: Desk, name_or_id: str) -> Endpoint:
    endpoint = await find_endpoint(desk, name_or_id)
    if not endpoint.action.is_expected:
        raise InvalidInput(
            f"{endpoint.name!r} is of kind {kind_of(endpoint.action).name} and has no ping URL; "
            "only kind heartbeat waits for pings: choose that kind",
            field="kind",
        )
    return endpoint


def _event(desk: Desk, kind: EventType, endpoint: Endpoint, now: datetime) -> Event:
    data: dict[str, object] = {"subject": endpoint.name, "name": endpoint.name}
    return Event(kind, now, desk.tenant_id, endpoint.id, "", desk.actor, data)


class PingIntake:
    """Processes pings of all tenants and writes those that arrive together in one transaction."""

    def __init__(
        self, stores: Stores, monotonic_s: Callable[[], float] = time.monotonic, waiting_max: int = WAITING_MAX
    ) -> None:
        self._stores = stores
        self._waiting_max = waiting_max
        self._waiting: deque[tuple[str, Ping, asyncio.Future[bool]]] = deque()
        self._writing: asyncio.Task[None] | None = None
        self._rates = TokenRates(monotonic_s)

    async def take(self, token: str, ping: Ping) -> bool:
        """False if no endpoint has this token. Returns once the ping is stored. Raises TooManyRequests."""
        if not is_ping_token(token):
            return False
        key = digest(token)
        self._rates.spend(key)
        if len(self._waiting) >= self._waiting_max:
            raise TooManyRequests("too many pings are waiting to be stored; send it again in 1 s", retry_after_s=1)
        stored: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append((key, ping, stored))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write(), name="pings")
        return await stored

    async def _write(self) -> None:
        while self._waiting:
            batch = self._next_batch()
            try:
                results = await self._stores.pings.receive([(key, ping) for key, ping, _ in batch])
            except BaseException as fault:
                for _, _, stored in batch:
                    if not stored.done():
                        stored.set_exception(fault)
                if not isinstance(fault, Exception):
                    raise
                continue
            for (_, _, stored), is_known in zip(batch, results, strict=True):
                if not stored.done():
                    stored.set_result(is_known)

    def _next_batch(self) -> list[tuple[str, Ping, asyncio.Future[bool]]]:
        batch: list[tuple[str, Ping, asyncio.Future[bool]]] = []
        size = 0
        while self._waiting and len(batch) < BATCH_MAX:
            body = self._waiting[0][1].body
            size += 0 if body is None else len(body.data)
            if batch and size > BATCH_BYTES_MAX:
                break
            batch.append(self._waiting.popleft())
        return batch


class TokenRates:
    """How often each token was used recently, in this process."""

    def __init__(self, monotonic_s: Callable[[], float] = time.monotonic) -> None:
        self._monotonic_s = monotonic_s
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def spend(self, key: str) -> None:
        """Counts one use. Raises TooManyRequests."""
        now = self._monotonic_s()
        left, at = self._buckets.get(key, (float(BURST), now))
        left = min(float(BURST), left + (now - at) * PER_MINUTE / 60)
        if left < 1:
            raise TooManyRequests(
                f"more than {PER_MINUTE} pings a minute at one URL; send fewer, or use a URL for each job",
                retry_after_s=max(1, round((1 - left) * 60 / PER_MINUTE)),
            )
        self._buckets[key] = (left - 1, now)
        self._buckets.move_to_end(key)
        while len(self._buckets) > TOKENS_MAX:
            self._buckets.popitem(last=False)

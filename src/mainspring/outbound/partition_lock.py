"""A lock in Redis or Valkey that saves tickers attempts they would lose. It is only an optimisation.

The database fences every tick, so this lock may be lost, wiped or held twice without harm. If its server does not
respond, every ticker may try: the lease in the database decides, as it does without this lock. redis-py is an extra and
is imported at first use.
"""

import asyncio
import time
from typing import Protocol, cast

import structlog

from mainspring.domain.errors import Misconfigured

SETTING = "MAINSPRING_WORKFLOW_LOCK"
ANSWER_S = 0.5  # a hanging server must not delay a tick
REST_S = 5.0  # pause before an unresponsive server is asked again
# Takes the lock if it is free or already ours, for the whole time again.
TAKE = """
local holder = redis.call('get', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
"""
LEAVE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"

log = structlog.get_logger()


class _Client(Protocol):
    """The part of redis-py that is used here."""

    async def eval(self, script: str, keys: int, *values: str) -> object: ...

    async def aclose(self) -> None: ...


class RedisLock:
    """`scope` separates installations that share a server; `rest_s` is the pause after a failure."""

    def __init__(self, url: str, scope: str, rest_s: float = REST_S) -> None:
        self._client = _open(url)
        self._scope = scope
        self._rest_s = rest_s
        self._away_until = 0.0

    async def take(self, partition: int, worker: str, ttl_ms: int) -> bool:
        answer = await self._ask(TAKE, partition, worker, str(ttl_ms))
        return answer is None or bool(answer)

    async def leave(self, partition: int, worker: str) -> None:
        await self._ask(LEAVE, partition, worker)

    async def aclose(self) -> None:
        await self._client.aclose()

    async def _ask(self, script: str, partition: int, *values: str) -> object:
        """None: the server does not respond."""
        from redis.exceptions import RedisError

        if time.monotonic() < self._away_until:
            return None
        try:
            async with asyncio.timeout(ANSWER_S):
                return await self._client.eval(script, 1, f"mainspring:{self._scope}:partition:{partition}", *values)
        except (RedisError, OSError) as fault:  # a timeout is an OSError
            log.warning("lock unavailable", fault=f"{type(fault).__name__}: {fault}"[:200])
            self._away_until = time.monotonic() + self._rest_s
            return None


def _open(url: str) -> _Client:
    try:
        from redis.asyncio import Redis
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff
    except ImportError:
        raise Misconfigured(
            f"{SETTING} is a Redis URL, and redis-py is not installed; install it with `pip install "
            "'mainspring[redis]'`, or set it to `database`",
            setting=SETTING,
        ) from None
    try:
        client = Redis.from_url(url, socket_connect_timeout=ANSWER_S, retry=Retry(NoBackoff(), 0))
    except ValueError:  # its message may contain the password
        raise Misconfigured(
            f"{SETTING} is not a Redis URL; write `database`, or redis://user:password@host:6379/0, with "
            "special characters percent-encoded",
            setting=SETTING,
        ) from None
    return cast(_Client, client)

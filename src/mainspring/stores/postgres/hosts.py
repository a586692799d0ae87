"""Connect to the host of a PostgreSQL URL that responds and accepts writes."""

import asyncio
from dataclasses import replace
from typing import Any

import asyncpg

from mainspring.stores.postgres.queries import QUERIES
from mainspring.stores.postgres.url import ConnectionUrl

HOST_TIMEOUT_S_MIN = 1.0  # an unreachable host must leave time for the next one
# Errors of a server that is starting, stopping, unreachable or a standby.
PASSED_OVER = (
    OSError,
    TimeoutError,
    asyncpg.InternalClientError,
    asyncpg.OperatorInterventionError,
    asyncpg.PostgresConnectionError,
)


class Hosts:
    """Connects to the first host that responds and qualifies; the last good one first, each for a share of time."""

    def __init__(self, url: ConnectionUrl) -> None:
        self._urls = url.each()

    async def connect(self, *_: object, timeout: float, **options: Any) -> Any:  # asyncpg ships no types
        """What `asyncpg.connect` does for one host."""
        share_s = max(timeout / len(self._urls), HOST_TIMEOUT_S_MIN)
        fault: Exception | None = None
        for url in list(self._urls):
            try:
                connection = await asyncpg.connect(url, timeout=share_s, **options)
            except PASSED_OVER as refused:
                fault = refused
                continue
            self._urls.remove(url)
            self._urls.insert(0, url)
            return connection
        assert fault is not None, "a URL has a host"
        raise fault


async def roles_of(url: ConnectionUrl, timeout_s: float) -> tuple[tuple[str, str], ...]:
    """Each host, and whether it is the primary, a standby or unreachable."""
    places = [f"{host}:{port}" for host, port in url.hosts]
    anyone = replace(url, parameters={**url.parameters, "target_session_attrs": "any"}).each()
    roles = await asyncio.gather(*(_role(each, timeout_s) for each in anyone))
    return tuple(zip(places or ["the default host"], roles, strict=True))


async def _role(url: str, timeout_s: float) -> str:
    try:
        connection: Any = await asyncpg.connect(url, timeout=timeout_s)  # asyncpg ships no types
    except (*PASSED_OVER, asyncpg.PostgresError):
        return "unreachable"
    try:
        return "standby" if await connection.fetchval(QUERIES["is_standby"], timeout=timeout_s) else "primary"
    finally:
        connection.terminate()

"""The connection that a process keeps: made again whenever it is lost, also where nothing says that it is."""

import asyncio
import time
from urllib.parse import urlsplit

from tests.harness.proxy import FaultProxy
from tests.harness.waiting import until, until_true
from tests.stores.databases import query

from mainspring.stores.postgres.hosts import Hosts
from mainspring.stores.postgres.lasting_connection import LastingConnection
from mainspring.stores.postgres.queries import PRESENCE_CLASS, QUERIES
from mainspring.stores.postgres.url import ConnectionUrl

WORKER = "host-1-silent"
HELD = f"SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = {PRESENCE_CLASS}"


async def test_connection_over_a_network_that_went_silent_is_made_again_with_its_lock(
    shared_postgres_url: str,
) -> None:
    """A machine that was away for a while: the server has closed the connection, and could not say so."""
    place = urlsplit(shared_postgres_url)
    assert place.hostname is not None
    assert place.port is not None
    async with FaultProxy(place.hostname, place.port) as proxy:
        url = shared_postgres_url.replace(f":{place.port}/", f":{proxy.port}/")
        take = QUERIES["take_presence"]
        lasting = LastingConnection(
            Hosts(ConnectionUrl.parse(url)), "us", take, behind_bouncer=False, check_s=0.2, answer_s=0.5
        )
        await lasting.hold(WORKER)
        assert lasting.has_settled(0)

        await proxy.half_open()
        await until(lambda: not lasting.has_settled(0), "the silence is noticed")
        await proxy.resume()
        await until(lambda: lasting.has_settled(0), "the lock is held again")

        assert proxy.accepted > 1
        await lasting.aclose()

    async def is_released() -> bool:
        return await query(shared_postgres_url, HELD) == [(0,)]

    await until_true(is_released, "the lock is released with the connection")


async def test_connection_that_is_answered_is_kept(shared_postgres_url: str) -> None:
    lasting = LastingConnection(
        Hosts(ConnectionUrl.parse(shared_postgres_url)),
        "us",
        QUERIES["take_presence"],
        behind_bouncer=False,
        check_s=0.01,
    )
    await lasting.hold(WORKER)
    asked = "SELECT count(*), max(extract(epoch FROM state_change)) FROM pg_stat_activity WHERE query LIKE 'SHOW %'"
    since = time.time()

    async def has_been_asked_for_a_while() -> bool:
        ((number, at),) = await query(shared_postgres_url, asked)
        return number == 1 and float(str(at)) > since + 0.2

    await until_true(has_been_asked_for_a_while, "it is asked again and again")

    assert lasting.has_settled(60_000)  # never lost since it was taken
    await lasting.aclose()


async def test_behind_a_bouncer_no_connection_is_kept(shared_postgres_url: str) -> None:
    """What would listen is a connection that the bouncer lends to others, too."""
    lasting = LastingConnection(
        Hosts(ConnectionUrl.parse(shared_postgres_url)), "us", QUERIES["take_presence"], behind_bouncer=True
    )

    lasting.connect()
    await lasting.hold(WORKER)

    assert "postgres-listener" not in {task.get_name() for task in asyncio.all_tasks()}

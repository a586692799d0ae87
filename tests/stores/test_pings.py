"""Pings: recorded once, in order with the judgement of their deadline, at the token that is valid."""

import asyncio
from datetime import timedelta

from msgspec.structs import replace
from tests.stores.world import START, FixedClock, add, an_endpoint, claim, get

from mainspring.domain.access.account import digest
from mainspring.domain.endpoint import Endpoint
from mainspring.domain.event import Event, EventType
from mainspring.domain.kinds.heartbeat import HeartbeatAction
from mainspring.domain.run import Body, Run, RunStatus
from mainspring.domain.schedule import finish
from mainspring.domain.schedule.claim import Claim
from mainspring.domain.schedule.cron import CRON
from mainspring.domain.schedule.finish import Finished
from mainspring.domain.schedule.ping import Ping, PingMeaning, judge_silence
from mainspring.ports.filters import EndpointListFilter
from mainspring.ports.pings import PingUrl
from mainspring.ports.records import RunFilter
from mainspring.ports.sealing import SealedKind
from mainspring.ports.stores import Stores

SUCCESS, STARTED = Ping(PingMeaning.SUCCESS), Ping(PingMeaning.START)
HOUR_MS = 3_600_000


async def a_heartbeat(stores: Stores, token: str = "token") -> Endpoint:
    """Expected at START, judged a minute later."""
    action = HeartbeatAction(grace_ms=60_000)
    made = an_endpoint(action=action, interval_ms=HOUR_MS, anchor_at=START - timedelta(hours=1))
    made = replace(made, next_run_at=START + timedelta(minutes=1))
    await add(stores, made)
    await put_token(stores, made, token)
    return made


async def put_token(stores: Stores, endpoint: Endpoint, token: str) -> None:
    event = Event(EventType.PING_URL_CREATED, START, endpoint.tenant_id, endpoint.id)
    url = PingUrl(endpoint.id, endpoint.tenant_id, digest(token), f"v1.key.{token}", START)
    await stores.pings.put_ping_url(url, event)


async def ping(stores: Stores, *pings: Ping, token: str = "token") -> list[bool]:
    return await stores.pings.receive([(digest(token), each) for each in pings])


async def runs_of(stores: Stores, endpoint: Endpoint) -> list[Run]:
    found = await stores.runs.runs(endpoint.tenant_id, RunFilter(endpoint_id=endpoint.id))
    return sorted(found, key=lambda run: run.started_at)


def judgement(held: Claim, clock: FixedClock) -> Finished:
    request = held.request
    outcome = judge_silence(request.started_at, request.slot_at, 60_000, clock.now())
    return Finished(held, outcome, request.started_at or clock.now(), clock.now())


async def test_ping_is_recorded_as_a_run_with_its_body(stores: Stores, clock: FixedClock) -> None:
    endpoint = await a_heartbeat(stores)
    clock.tick(seconds=20)

    assert await ping(stores, Ping(PingMeaning.FAIL, 3, "", Body(b"disk full", "text/plain", False, 9))) == [True]

    (run,) = await runs_of(stores, endpoint)
    assert (run.status, run.status_code, run.error_code, run.worker) == (RunStatus.FAILURE, 3, "exit_code", "ping")
    assert await stores.runs.body(endpoint.tenant_id, run.id) == Body(b"disk full", "text/plain", False, 9)
    after = await get(stores, endpoint)
    assert (after.failure_count, after.next_run_at) == (1, clock.now() + timedelta(hours=1, minutes=1))


async def test_start_and_end_are_one_run_with_its_duration(stores: Stores, clock: FixedClock) -> None:
    endpoint = await a_heartbeat(stores)
    await ping(stores, Ping(PingMeaning.START, run_key="a"))
    (running,) = await runs_of(stores, endpoint)
    clock.tick(seconds=20)

    await ping(stores, Ping(PingMeaning.SUCCESS, 0, "a"))

    (run,) = await runs_of(stores, endpoint)
    assert (running.status, running.id) == (RunStatus.RUNNING, run.id)
    assert (run.status, run.duration_ms, run.status_code) == (RunStatus.SUCCESS, 20_000, 0)


async def test_lists_count_a_started_heartbeat_as_running_until_it_ends(stores: Stores, clock: FixedClock) -> None:
    endpoint = await a_heartbeat(stores)

    async def listed() -> tuple[int, list[str], list[str]]:
        (counted,) = await stores.look.count_states("default", clock.now())
        running = await stores.look.endpoints("default", EndpointListFilter(state="running"))
        upcoming = await stores.look.upcoming("default", 10)
        return counted.running, [each.id for each in running], [each.id for each in upcoming]

    await ping(stores, STARTED)
    assert await listed() == (1, [endpoint.id], [])

    await ping(stores, SUCCESS)
    assert await listed() == (0, [], [endpoint.id])


async def test_pings_of_one_batch_apply_in_their_order(stores: Stores, clock: FixedClock) -> None:
    endpoint = await a_heartbeat(stores)

    await ping(stores, Ping(PingMeaning.START, run_key="a"), Ping(PingMeaning.START, run_key="b"), SUCCESS)

    found = [(run.status, run.error_code) for run in await runs_of(stores, endpoint)]
    assert sorted(found, key=str) == [(RunStatus.FAILURE, "overlap"), (RunStatus.SUCCESS, None)]


async def test_silence_is_judged_once_and_the_open_run_is_judged_apart(stores: Stores, clock: FixedClock) -> None:
    silent, hanging = await a_heartbeat(stores), await a_heartbeat(stores, "other")
    await ping(stores, STARTED, token="other")
    clock.tick(seconds=60)

    batch = await claim(stores)
    await stores.schedule.finish([judgement(each, clock) for each in batch.claims])

    assert len(batch.claims) == 2
    assert (await claim(stores)).claims == ()
    assert [run.status for run in await runs_of(stores, silent)] == [RunStatus.MISSED]
    (run,) = await runs_of(stores, hanging)
    assert (run.status, run.error_code, run.started_at, run.duration_ms) == (
        RunStatus.TIMEOUT,
        "still_running",
        START,
        60_000,
    )


async def test_nothing_is_judged_before_its_deadline(stores: Stores, clock: FixedClock) -> None:
    await a_heartbeat(stores)
    clock.tick(seconds=59)

    assert (await claim(stores)).claims == ()


async def test_ping_during_the_judgement_is_late_and_the_judgement_does_not_count(
    stores: Stores, clock: FixedClock
) -> None:
    endpoint = await a_heartbeat(stores)
    clock.tick(seconds=60)
    (held,) = (await claim(stores)).claims
    clock.tick(seconds=1)

    await ping(stores, SUCCESS)
    report = await stores.schedule.finish([judgement(held, clock)])

    assert report.superseded == (held.run_id,)
    found = [(run.status, run.error_code) for run in await runs_of(stores, endpoint)]
    assert found == [(RunStatus.SUPERSEDED, None), (RunStatus.SUCCESS, "late")]
    assert (await get(stores, endpoint)).failure_count == 0


async def test_end_during_the_judgement_of_its_run_ends_it(stores: Stores, clock: FixedClock) -> None:
    endpoint = await a_heartbeat(stores)
    await ping(stores, STARTED)
    clock.tick(seconds=60)
    (held,) = (await claim(stores)).claims
    clock.tick(seconds=1)

    await ping(stores, SUCCESS)
    await stores.schedule.finish([judgement(held, clock)])

    (run,) = await runs_of(stores, endpoint)
    assert (run.status, run.error_code, run.duration_ms) == (RunStatus.SUCCESS, "late", 61_000)
    assert (await get(stores, endpoint)).failure_count == 0


async def race(stores: Stores, other_stores: Stores, clock: FixedClock, number: int) -> set[str]:
    """What counted of a ping and a judgement that happen at the same time."""
    endpoint = await a_heartbeat(stores, f"token {number}")
    clock.at = START + timedelta(seconds=61)
    (held,) = [each for each in (await claim(stores)).claims if each.endpoint.id == endpoint.id]
    await asyncio.gather(
        ping(other_stores, SUCCESS, token=f"token {number}"), stores.schedule.finish([judgement(held, clock)])
    )
    clock.at = START
    statuses = {str(run.status) for run in await runs_of(stores, endpoint)}
    return statuses - {"superseded"}


async def test_slot_is_missed_or_served_whoever_is_first(
    stores: Stores, other_stores: Stores, clock: FixedClock
) -> None:
    for number in range(8):
        # A ping is never lost. If the judgement was first, the slot is missed and the ping is the late end of it.
        assert await race(stores, other_stores, clock, number) in ({"success"}, {"missed", "success"})


async def test_without_the_fence_a_judgement_counts_after_the_ping(stores: Stores, clock: FixedClock) -> None:
    """The negative control: what the epoch prevents."""
    endpoint = await a_heartbeat(stores)
    clock.tick(seconds=60)
    (held,) = (await claim(stores)).claims
    await ping(stores, SUCCESS)
    after = await get(stores, endpoint)

    settled = finish.settle(after, judgement(held, clock), clock.now(), CRON, fenced=False)

    assert settled.endpoint is not None
    assert settled.endpoint.failure_count == 1


async def test_unknown_rotated_and_revoked_tokens_are_refused(stores: Stores) -> None:
    endpoint = await a_heartbeat(stores)
    assert await ping(stores, SUCCESS, token="another") == [False]

    await put_token(stores, endpoint, "new")
    assert (await ping(stores, SUCCESS), await ping(stores, SUCCESS, token="new")) == ([False], [True])

    event = Event(EventType.PING_URL_REVOKED, START, endpoint.tenant_id, endpoint.id)
    assert await stores.pings.revoke_ping_url(endpoint.tenant_id, endpoint.id, event)
    assert not await stores.pings.revoke_ping_url(endpoint.tenant_id, endpoint.id, event)
    assert await ping(stores, SUCCESS, token="new") == [False]
    assert await stores.pings.ping_url(endpoint.tenant_id, endpoint.id) is None


async def test_endpoint_of_another_kind_takes_no_pings(stores: Stores) -> None:
    plain = an_endpoint()
    await add(stores, plain)
    await put_token(stores, plain, "token")

    assert await ping(stores, SUCCESS) == [False]
    assert await runs_of(stores, plain) == []


async def test_token_is_encrypted_again_with_another_key(stores: Stores) -> None:
    endpoint = await a_heartbeat(stores)
    (row,) = await stores.sealed.sealed(SealedKind.PING_URL, (), 10)

    await stores.sealed.reseal([(row, {"v1.key.token": "v1.new.token"})])

    assert await stores.pings.ping_url(endpoint.tenant_id, endpoint.id) == ("v1.new.token", START)

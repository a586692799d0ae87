"""Calls through the API, on both databases."""

import asyncio
from datetime import timedelta

from httpx2 import AsyncClient

from mainspring.domain.instant import EPOCH, rfc3339
from mainspring.domain.run import HttpAction
from mainspring.operations.calls import CALLS_AT_ONCE
from mainspring.ports.stores import Stores
from mainspring.ports.upkeep import Retention
from tests.api.acting import URL, fault
from tests.stores.world import START, FixedClock, claim, kinds, run_slot, told

CALLS = "/api/v1/calls"


async def test_same_key_twice_is_one_call_and_the_answer_says_so(api: AsyncClient, stores: Stores) -> None:
    first = await api.post(
        CALLS,
        json={
            "calls": [{"url": URL, "at": "in 10m", "key": "order-17"}, {"url": URL, "key": "order-17"}, {"url": URL}]
        },
    )
    again = await api.post(CALLS, json={"calls": [{"url": f"{URL}other", "key": "order-17"}]})

    made = first.json()
    assert (first.status_code, made["created"], made["duplicates"]) == (201, 2, 1)
    assert [each["is_new"] for each in made["items"]] == [True, False, True]
    assert made["items"][0]["id"] == made["items"][1]["id"]
    assert (made["items"][0]["at"], made["items"][2]["at"]) == ("2025-01-01T00:10:00Z", "2025-01-01T00:00:00Z")
    assert (again.json()["created"], again.json()["items"][0]["target"]) == (0, f"GET {URL}")
    assert kinds(await told(stores)).count("calls.created") == 1


async def test_concurrent_requests_with_one_key_make_one_call(api: AsyncClient) -> None:
    wish = {"calls": [{"url": URL, "at": "in 1h", "key": f"key-{number}"} for number in range(20)]}
    answers = await asyncio.gather(*(api.post(CALLS, json=wish) for _ in range(5)))

    assert sum(answer.json()["created"] for answer in answers) == 20
    assert len({each["id"] for answer in answers for each in answer.json()["items"]}) == 20


async def test_call_is_made_once_at_its_time_and_is_done(api: AsyncClient, stores: Stores, clock: FixedClock) -> None:
    await api.post(CALLS, json={"calls": [{"url": URL, "at": "in 10m", "key": "a", "method": "POST", "body": "x"}]})
    early = (await claim(stores)).claims
    clock.tick(minutes=10)
    (started,) = await run_slot(stores, clock)
    clock.tick(days=1)

    assert (early, (await claim(stores)).claims) == ((), ())
    assert (started.endpoint.action, started.slot_at) == (
        HttpAction(URL, "POST", body="x"),
        START + timedelta(minutes=10),
    )
    call = (await api.get(f"{CALLS}/a")).json()
    assert (call["status"], call["last_status"], call["next_run_at"]) == ("done", "success", None)
    runs = (await api.get(f"/api/v1/runs?endpoint={call['id']}")).json()["items"]
    assert [run["status"] for run in runs] == ["success"]


async def test_cancelled_call_is_not_made_and_its_key_stays_taken(
    api: AsyncClient, stores: Stores, clock: FixedClock
) -> None:
    await api.post(CALLS, json={"calls": [{"url": URL, "at": "in 10m", "key": "a"}, {"url": URL, "key": "b"}]})
    await run_slot(stores, clock)
    cancelled = await api.post(f"{CALLS}/a/cancel")
    too_late = await api.post(f"{CALLS}/b/cancel")
    again = await api.post(CALLS, json={"calls": [{"url": URL, "key": "a"}]})
    clock.tick(hours=1)

    assert (cancelled.json()["status"], too_late.status_code, again.json()["created"]) == ("cancelled", 409, 0)
    assert (await claim(stores)).claims == ()


async def test_calls_are_listed_by_state_in_pages_and_are_not_endpoints(
    api: AsyncClient, stores: Stores, clock: FixedClock
) -> None:
    wish = [{"url": URL, "at": "in 1h", "key": f"key-{number}"} for number in range(5)]
    await api.post(CALLS, json={"calls": [*wish, {"url": URL, "key": "now"}]})
    await run_slot(stores, clock)
    first = (await api.get(f"{CALLS}?state=waiting&limit=3")).json()
    rest = (await api.get(f"{CALLS}?state=waiting&limit=3&cursor={first['next_cursor']}")).json()

    keys = [each["key"] for each in (*first["items"], *rest["items"])]
    assert (sorted(keys), rest["next_cursor"]) == ([f"key-{number}" for number in range(5)], None)
    assert [each["key"] for each in (await api.get(f"{CALLS}?state=done")).json()["items"]] == ["now"]
    for order in ("name", "-name", "next_run_at", "-next_run_at"):
        for state in ("", "&state=archived", "&state=done", "&job=calls"):
            page = (await api.get(f"/api/v1/endpoints?with_total=true&sort={order}{state}")).json()
            assert (page["items"], page["total"]["count"]) == ([], 0), (order, state)


async def test_largest_request_is_accepted_and_repeated_without_a_second_call(api: AsyncClient) -> None:
    headers = [{"name": "Authorization", "value": "Bearer s3cret"}]
    calls = [
        {"url": URL, "at": "in 1h", "key": f"key-{number}", "method": "POST", "body": "x" * 200, "headers": headers}
        for number in range(CALLS_AT_ONCE)
    ]
    first = await api.post(CALLS, json={"calls": calls})
    again = await api.post(CALLS, json={"calls": calls})
    more = await api.post(CALLS, json={"calls": [*calls, {"url": URL}]})

    assert (first.status_code, first.json()["created"]) == (201, CALLS_AT_ONCE)
    assert (again.json()["created"], again.json()["duplicates"]) == (0, CALLS_AT_ONCE)
    assert more.status_code == 422


async def test_one_faulty_call_refuses_all_and_is_named(api: AsyncClient) -> None:
    past = rfc3339(START - timedelta(days=1))
    answer = await api.post(CALLS, json={"calls": [{"url": URL}, {"url": URL, "at": past}]})

    assert fault(answer)[0] == "/calls/1/at"
    assert (await api.get(CALLS)).json()["items"] == []


async def test_calls_do_not_count_as_endpoints_and_are_removed_after_their_retention(
    api: AsyncClient, stores: Stores, clock: FixedClock
) -> None:
    await api.post(CALLS, json={"calls": [{"url": URL, "key": "a"}, {"url": URL, "at": "in 1h", "key": "b"}]})
    await run_slot(stores, clock)
    await api.post(f"{CALLS}/b/cancel")
    clock.tick(hours=3)
    keep = Retention(EPOCH, EPOCH, EPOCH, 10_000, done_before=clock.now())
    while not (await stores.upkeep.sweep(keep, 10)).done:
        pass

    assert (await api.get(CALLS)).json()["items"] == []
    assert (await api.post(CALLS, json={"calls": [{"url": URL, "key": "a"}]})).json()["created"] == 1

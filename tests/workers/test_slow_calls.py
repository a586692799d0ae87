"""Which calls of a scheduler are slow, and that quick ones find a place beside them."""

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.run import RunTrigger
from mainspring.domain.schedule.claim import Claim
from mainspring.domain.schedule.fairness import SlowRoom
from mainspring.ports.stores import Stores
from mainspring.workers.slow_calls import SLOW_AFTER_NS, SlowCalls
from tests.harness.waiting import holds_for, until
from tests.stores.world import START, add, an_endpoint
from tests.workers.test_scheduler import Bench

QUICK, SLOW = 1_999, 2_000


def claimed(endpoint: Endpoint) -> Claim:
    return Claim(endpoint, f"run of {endpoint.id}", 1, START, 1, RunTrigger.SCHEDULE, START)


def a_call(took_ms: int | None, host: str = "host:80") -> Claim:
    return claimed(an_endpoint(host=host, last_duration_ms=took_ms))


def test_call_counts_as_slow_when_its_endpoint_is_slow_or_new() -> None:
    calls = SlowCalls(places=8)
    for took_ms in (QUICK, SLOW, None):
        calls.start(a_call(took_ms), 0)

    assert calls.room(0) == SlowRoom(4, 5)


def test_quick_call_that_hangs_counts_as_slow_and_so_does_its_host_until_it_is_answered() -> None:
    calls = SlowCalls(places=8)
    hanging = a_call(QUICK)
    calls.start(hanging, 0)

    assert calls.room(SLOW_AFTER_NS - 1) == SlowRoom(6, 7)
    assert calls.room(SLOW_AFTER_NS) == SlowRoom(5, 6, frozenset({"host:80"}))
    calls.start(a_call(QUICK), SLOW_AFTER_NS)
    assert len(calls) == 2
    calls.answered(hanging.run_id)
    assert calls.room(SLOW_AFTER_NS) == SlowRoom(4, 5)
    calls.end(hanging.run_id)
    assert calls.room(SLOW_AFTER_NS) == SlowRoom(5, 6)


def test_call_that_is_known_to_be_slow_says_nothing_about_its_host() -> None:
    calls = SlowCalls(places=8)
    calls.start(a_call(SLOW), 0)
    calls.start(a_call(None), 0)

    assert calls.room(10 * SLOW_AFTER_NS) == SlowRoom(4, 5)


def test_host_hangs_until_the_last_of_its_hanging_calls_is_answered() -> None:
    calls = SlowCalls(places=8)
    both = [a_call(QUICK), a_call(QUICK)]
    for each in both:
        calls.start(each, 0)

    calls.room(SLOW_AFTER_NS)
    calls.end(both[0].run_id)
    assert calls.room(SLOW_AFTER_NS).hosts == {"host:80"}
    calls.end(both[1].run_id)
    assert calls.room(SLOW_AFTER_NS) == SlowRoom(6, 7)


def test_answer_that_waits_to_be_recorded_is_no_hanging_host() -> None:
    calls = SlowCalls(places=8)
    call = a_call(QUICK)
    calls.start(call, 0)
    calls.answered(call.run_id)

    assert calls.room(SLOW_AFTER_NS) == SlowRoom(6, 7)


async def test_quick_endpoint_starts_at_once_while_slow_ones_wait_for_a_place(stores: Stores) -> None:
    bench = Bench(stores, places=8)
    bench.caller.hold()
    await add(stores, *(an_endpoint(last_duration_ms=30_000) for _ in range(20)))
    async with bench.running():
        await until(lambda: len(bench.caller.requests) == 6, "slow runs take their share")
        await holds_for(lambda: len(bench.caller.requests) == 6, "and no more", 0.2)
        quick = an_endpoint("quick", last_duration_ms=5)
        await add(stores, quick)
        await until(lambda: bench.caller.requests[-1].endpoint_id == quick.id, "the quick one starts")
        assert bench.scheduler.in_flight == 7
        await bench.caller.let_go()

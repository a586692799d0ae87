"""What endpoints that are due and not started wait for."""

from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.domain.stage import DAY
from tests.stores.world import an_endpoint

from mainspring.domain.schedule.fairness import Caps, EndpointPace
from mainspring.domain.schedule.host_limit import parse_host_limits
from mainspring.domain.schedule.queue import Cause, Flight, Queue, QueueWait, Waiting, wait_of, waits
from mainspring.views.sentences import wait_advice
from mainspring.views.why import DecisionView, EndpointFacts

CAPS = Caps(per_tenant=8, per_host=4)
HOST = "gateway:80"


def a_queue(*waiting: Waiting, **fields: object) -> Queue:
    return replace(Queue(DAY, waiting, places={"worker-1": 100}, caps=CAPS), **fields)


def waiting(
    count: int, host: str = HOST, tenant: str = "default", *, pace: EndpointPace = EndpointPace.QUICK, age_s: int = 9
) -> Waiting:
    return Waiting(tenant, host, pace, count, DAY - timedelta(seconds=age_s))


def flying(runs: int, host: str = HOST, tenant: str = "default", **fields: object) -> Flight:
    return replace(Flight(tenant, host, "worker-1", False, False, runs), **fields)


def test_full_host_is_named_with_its_limit_its_queue_and_the_setting() -> None:
    held = (waiting(3), waiting(2, tenant="other", age_s=12), waiting(1, "elsewhere:80"))
    queue = a_queue(*held, flights=(flying(4),))

    assert waits(queue) == [
        QueueWait(
            Cause.HOST,
            HOST,
            "4",
            4,
            5,
            DAY - timedelta(seconds=12),
            "MAINSPRING_CONCURRENCY_PER_HOST",
            {"default": 3, "other": 2},
        )
    ]


def test_host_with_more_in_its_queue_than_room_is_waited_for_although_a_run_has_just_ended() -> None:
    assert [wait.cause for wait in waits(a_queue(waiting(2), flights=(flying(3),)))] == [Cause.HOST]
    assert waits(a_queue(waiting(1), flights=(flying(3),))) == []


@pytest.mark.parametrize(
    ("cause", "name", "limit", "setting", "queue"),
    [
        pytest.param(
            Cause.SCHEDULER, "", "0", "", a_queue(waiting(1), places={}), id="no scheduler"
        ),
        pytest.param(
            Cause.HOST, HOST, "2", "MAINSPRING_HOST_LIMITS",
            a_queue(waiting(1), flights=(flying(2),), caps=replace(CAPS, hosts=parse_host_limits("gateway = 2"))),
            id="a host with a limit of its own",
        ),
        pytest.param(
            Cause.RATE, HOST, "1/m, burst 2", "MAINSPRING_HOST_LIMITS",
            a_queue(
                waiting(1),
                caps=replace(CAPS, hosts=parse_host_limits("gateway = 1/m, burst 2")),
                paid_until={HOST: DAY + timedelta(minutes=2)},
            ),
            id="a rate",
        ),
        pytest.param(
            Cause.TENANT, "default", "8", "MAINSPRING_CONCURRENCY_PER_TENANT",
            a_queue(waiting(1), flights=(flying(4, "a:80"), flying(4, "b:80"))), id="a tenant",
        ),
        pytest.param(
            Cause.SLOW_OF_TENANT, "default", "6", "MAINSPRING_CONCURRENCY_PER_TENANT",
            a_queue(waiting(1, pace=EndpointPace.SLOW), flights=(flying(6, "a:80", is_slow=True),)),
            id="the slow runs of a tenant",
        ),
        pytest.param(
            Cause.SLOW, "", "3", "MAINSPRING_CONCURRENCY",
            a_queue(
                waiting(1, pace=EndpointPace.SLOW),
                flights=(flying(3, "a:80", is_hanging=True),),
                places={"worker-1": 4},
            ),
            id="places for slow runs",
        ),
        pytest.param(
            Cause.SLOW, "", "3", "MAINSPRING_CONCURRENCY",
            a_queue(waiting(1, "a:80"), flights=(flying(3, "a:80", is_hanging=True),), places={"worker-1": 4}),
            id="a quick endpoint of a host that hangs",
        ),
        pytest.param(
            Cause.PLACES, "", "4", "MAINSPRING_CONCURRENCY",
            a_queue(waiting(1), flights=(flying(4, "a:80"),), places={"worker-1": 4}), id="places",
        ),
    ],
)  # fmt: skip
def test_what_is_in_the_way_is_named(cause: Cause, name: str, limit: str, setting: str, queue: Queue) -> None:
    (wait,) = waits(queue)

    assert (wait.cause, wait.name, wait.limit, wait.setting) == (cause, name, limit, setting)


def test_first_run_waits_for_its_own_share_of_places_and_of_a_tenants_cap() -> None:
    new = waiting(1, pace=EndpointPace.NEW)
    places = a_queue(new, flights=(flying(3, "a:80", is_slow=True), flying(4, "b:80", is_slow=True)), caps=Caps(99, 9))

    assert waits(replace(places, places={"worker-1": 9})) == []
    assert [(wait.cause, wait.limit) for wait in waits(replace(places, places={"worker-1": 8}))] == [(Cause.NEW, "7")]
    assert [(wait.cause, wait.limit) for wait in waits(replace(places, caps=Caps(8, 9)))] == [
        (Cause.NEW_OF_TENANT, "7")
    ]


def test_quick_endpoint_waits_for_nothing_beside_full_slow_places() -> None:
    assert waits(a_queue(waiting(1), flights=(flying(3, "a:80", is_slow=True),), places={"worker-1": 4})) == []


def test_queue_of_one_host_is_no_reason_for_an_endpoint_of_another() -> None:
    queue = a_queue(waiting(500), waiting(1, "other:80"), flights=(flying(4),), caps=Caps(10**6, 4))

    assert [(wait.cause, wait.waiting) for wait in waits(queue)] == [(Cause.HOST, 500)]


def test_rate_that_leaves_fewer_starts_than_wait_is_waited_for() -> None:
    caps = replace(CAPS, hosts=parse_host_limits("gateway = 5/s"))

    assert [wait.cause for wait in waits(a_queue(waiting(3), caps=caps))] == [Cause.RATE]


def test_endpoint_is_told_what_it_waits_for_since_when_and_with_how_many() -> None:
    due_at = DAY - timedelta(seconds=9)
    endpoint = an_endpoint("billing", host=HOST, next_run_at=due_at, last_duration_ms=5)
    queue = a_queue(waiting(812), flights=(flying(4),))

    wait = wait_of(endpoint, queue)

    assert wait is not None
    sentences = DecisionView.of(EndpointFacts(endpoint, DAY, wait=wait), None).sentences
    assert sentences[1] == (
        "It has been due since 2024-12-31 23:59:51 UTC (9s ago) and waits for host gateway:80, "
        "which has 4 of 4 runs in flight, with 811 other endpoints."
    ).replace("2024-12-31 23:59:51", due_at.strftime("%Y-%m-%d %H:%M:%S"))
    assert sentences[2] == (
        "To start more at once, set MAINSPRING_HOST_LIMITS='gateway:80 = 8', "
        "or raise MAINSPRING_CONCURRENCY_PER_HOST for all hosts."
    )


def test_endpoint_that_nothing_keeps_waits_for_nothing() -> None:
    endpoint = an_endpoint(host="free:80", last_duration_ms=5)

    assert wait_of(endpoint, a_queue(waiting(9), waiting(1, "free:80"), flights=(flying(4),))) is None


@pytest.mark.parametrize("cause", list(Cause))
def test_every_cause_has_words(cause: Cause) -> None:
    wait = QueueWait(cause, HOST, "4", 4, 2, DAY, "MAINSPRING_CONCURRENCY")
    endpoint = an_endpoint(manual_at=DAY)

    said = DecisionView.of(EndpointFacts(endpoint, DAY, wait=wait), None).sentences

    assert said[1].startswith("It has been due since ")
    assert said[2] == wait_advice(wait)
    assert any(sentence.endswith("and starts when its turn comes.") for sentence in said)

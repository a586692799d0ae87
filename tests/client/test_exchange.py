"""When a call is tried again, for how long it rests, and when it gives up: without a network and without waiting."""

import json

import pytest

from mainspring.client import ServerFailed, TooManyRequestsError, Unreachable
from mainspring.client.exchange import TRIES, Exchange, Given, Reply, Rest, Silence, exchange
from mainspring.client.operation import ClientRequest, Operation

READ = Operation("endpoints", "read", "read_endpoint", "GET", "/endpoints/{endpoint}")
CREATE = Operation("jobs", "create", "create_job", "POST", "/jobs", body=("name",))
KEYED = Operation("jobs", "create", "create_job", "POST", "/jobs", headers=("idempotency_key",), body=("name",))
OK = Reply(200, {}, b'{"ok": true}')
LOST = Silence("connection reset", was_sent=True)
NEVER_SENT = Silence("connection refused", was_sent=False)


def busy(status: int, **headers: str) -> Reply:
    return Reply(status, headers, b'{"type": "/problems/busy", "detail": "later"}')


def play(conversation: Exchange, *replies: Given) -> tuple[object, list[ClientRequest], list[float]]:
    """The answer, what was sent, and how long it rested, where these replies come in turn."""
    sent: list[ClientRequest] = []
    rests: list[float] = []
    coming = iter(replies)
    given: Given = None
    try:
        while True:
            wanted = conversation.send(given)
            if isinstance(wanted, Rest):
                rests.append(wanted.seconds)
                given = None
            else:
                sent.append(wanted)
                given = next(coming)
    except StopIteration as end:
        return end.value, sent, rests


def reading() -> Exchange:
    return exchange(READ, READ.request(("health",), {}))


def test_answer_is_read_at_once() -> None:
    answer, sent, rests = play(reading(), OK)

    assert (answer, len(sent), rests) == ({"ok": True}, 1, [])


@pytest.mark.parametrize("status", [429, 503])
def test_busy_server_is_asked_again_when_it_says(status: int) -> None:
    answer, sent, rests = play(reading(), busy(status, **{"retry-after": "7"}), OK)

    assert (answer, len(sent), rests) == ({"ok": True}, 2, [7.0])


def test_rests_grow_and_are_never_in_step() -> None:
    _, _, rests = play(reading(), busy(503), busy(503), busy(503), OK)

    for number, seconds in enumerate(rests):
        assert 0.125 * 2**number <= seconds <= 0.375 * 2**number


def test_no_rest_is_longer_than_a_minute() -> None:
    assert play(reading(), busy(429, **{"retry-after": "86400"}), OK)[2] == [60.0]


def test_gives_up_after_some_tries() -> None:
    with pytest.raises(TooManyRequestsError) as refused:
        play(reading(), *[busy(429, **{"retry-after": "3"})] * TRIES)

    assert refused.value.retry_after_s == 3.0


def test_failure_of_the_server_is_not_repeated() -> None:
    with pytest.raises(ServerFailed, match=r"the response, HTTP 502, is not from Mainspring's API: Bad gateway"):
        play(reading(), Reply(502, {}, b"Bad gateway"))


def test_read_without_an_answer_is_repeated() -> None:
    answer, sent, _ = play(reading(), LOST, NEVER_SENT, OK)

    assert (answer, len(sent)) == ({"ok": True}, 3)


def test_write_that_may_have_arrived_is_not_repeated() -> None:
    with pytest.raises(Unreachable, match=r"connection reset"):
        play(exchange(CREATE, CREATE.request((), {"name": "x"})), LOST)


def test_write_that_never_left_is_repeated() -> None:
    answer, sent, _ = play(exchange(CREATE, CREATE.request((), {"name": "x"})), NEVER_SENT, OK)

    assert (answer, len(sent)) == ({"ok": True}, 2)


def test_write_with_an_idempotency_key_is_repeated_with_the_same_one() -> None:
    answer, sent, _ = play(exchange(KEYED, KEYED.request((), {"name": "x"})), LOST, busy(503), OK)

    keys = {request.headers["idempotency-key"] for request in sent}
    assert (answer, len(sent), len(keys)) == ({"ok": True}, 3, 1)


def test_two_calls_have_two_idempotency_keys() -> None:
    keys = {
        play(exchange(KEYED, KEYED.request((), {"name": "x"})), OK)[1][0].headers["idempotency-key"] for _ in range(2)
    }

    assert len(keys) == 2


def test_own_idempotency_key_is_kept() -> None:
    _, sent, _ = play(exchange(KEYED, KEYED.request((), {"name": "x", "idempotency_key": "mine"})), OK)

    assert sent[0].headers["idempotency-key"] == "mine"


def test_null_is_sent_and_what_is_not_given_is_not() -> None:
    operation = Operation(
        "e", "u", "u", "PATCH", "/e/{e}", query=("dry_run",), headers=("if_match",), body=("a", "b", "c")
    )

    request = operation.request(("x/y",), {"a": None, "b": 1, "dry_run": True, "if_match": None})

    assert request == ClientRequest("PATCH", "/e/x%2Fy", {"dry_run": "true"}, {}, {"a": None, "b": 1})


def test_problem_without_its_parts_is_raised_all_the_same() -> None:
    with pytest.raises(ServerFailed) as refused:
        play(reading(), Reply(500, {"x-request-id": "req_1"}, json.dumps({"errors": ["odd"]}).encode()))

    assert (refused.value.request_id, refused.value.errors, refused.value.kind) == ("req_1", [], "")

"""Events queue: every event is taken at most once, in its order, and none is lost up to the bound."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.domain.errors import InvalidInput
from mainspring.workflow.audit import revive
from mainspring.workflow.engine import QUEUE_MAX
from mainspring.workflow.model import NEWEST_FORMAT, Arrival, ArrivalKind, Status, Workflow
from mainspring.workflow.replay import replay
from tests.workflow.stage import EPOCH, SALT, Player, a_workflow


def waits(count: int, **wait_for: Any) -> Workflow:
    """A workflow that waits `count` times for a `ping`, after a rest of five seconds."""
    wait = {"event": "ping", "timeout": "1h", **wait_for}
    return a_workflow({"wait": "5s"}, *({"wait_for": wait} for _ in range(count)), {"end": "done"})


def a_player(workflow: Workflow) -> Player:
    return Player(workflow, format_=2)


def received(player: Player) -> list[str]:
    return [revive(each.output)["id"] for each in player.entries if each.action == "received"]  # type: ignore[index]  # a map, as written


def test_two_events_before_the_wait_serve_two_waits() -> None:
    player = a_player(waits(2))
    player.at(0)
    player.at(1, player.event("ping"), player.event("ping"))

    player.at(5)

    assert received(player) == ["e1", "e2"]
    assert (player.state.status, player.state.queue) == (Status.COMPLETED, {})


def test_three_events_of_one_tick_are_all_received() -> None:
    player = a_player(waits(3))
    player.at(0)
    player.at(5)

    player.at(6, *(player.event("ping") for _ in range(3)))
    player.at(7)

    assert received(player) == ["e1", "e2", "e3"]


def test_oldest_event_that_fits_is_taken_and_the_others_stay() -> None:
    player = a_player(waits(1, where="event.data.n >= 3"))
    player.at(0)
    player.at(1, *(player.event("ping", n=n) for n in (1, 4, 5)))

    player.at(5)

    assert received(player) == ["e2"]
    assert [each["id"] for each in player.state.queue["ping"]] == ["e1", "e3"]


def test_event_that_where_cannot_judge_is_logged_and_passed_over() -> None:
    player = a_player(waits(1, where="event.data.n >= 3"))
    player.at(0)
    player.at(5)

    player.at(6, player.event("ping"), player.event("ping", n="text"), player.event("ping", n=7))

    assert received(player) == ["e3"]
    skipped = [revive(each.output) for each in player.entries if each.action == "event.skipped"]
    assert [each["id"] for each in skipped] == ["e1", "e2"]  # type: ignore[index]  # a map, as written
    assert player.state.status is Status.COMPLETED


def test_wait_judges_each_event_once() -> None:
    """Otherwise an event that cannot be judged would be logged again with every event that comes."""
    player = a_player(waits(1, where="event.data.n >= 3"))
    player.at(0)
    player.at(5)
    for tick in range(6, 16):
        player.at(tick, player.event("ping"))

    assert player.log.count("s1:event.skipped") == 10


def test_full_queue_keeps_what_it_has_and_reports_what_it_refuses() -> None:
    player = a_player(waits(1, where="event.data.n >= 3"))
    player.at(0)
    player.at(1, *(player.event("ping", n=0) for _ in range(QUEUE_MAX)))

    player.at(2, player.event("ping", n=9))

    (refused,) = [each for each in player.entries if each.action == "event.ignored"]
    assert revive(refused.output) == {"reason": "1000 events of type 'ping' already wait to be taken"}
    assert len(player.state.queue["ping"]) == QUEUE_MAX


def test_events_that_no_step_waits_for_do_not_queue() -> None:
    player = a_player(waits(1))

    player.at(1, *(player.event("noise") for _ in range(3)))

    assert player.state.queue == {}
    assert player.state.events["noise"]["count"] == 3  # type: ignore[index]  # a map, as written


def test_execution_of_the_first_format_runs_as_it_did() -> None:
    player = Player(waits(2))
    player.at(0)
    player.at(1, player.event("ping"), player.event("ping"))

    player.at(5)

    assert received(player) == ["e2"]
    assert "format" not in revive(player.entries[0].input)  # type: ignore[operator]  # a map, as written
    assert replay(player.workflow, player.entries, SALT, EPOCH).identical


def test_log_of_a_later_format_is_refused() -> None:
    player = Player(waits(1), format_=NEWEST_FORMAT + 1)
    player.at(0)

    with pytest.raises(InvalidInput, match="this version of Mainspring reads 1 to"):
        replay(player.workflow, player.entries, SALT, EPOCH)


Turn = tuple[int, list[int]]  # how many ticks pass, then the values of the events that arrive together


@given(st.integers(1, 8), st.lists(st.tuples(st.integers(1, 4), st.lists(st.integers(0, 5), max_size=6)), max_size=12))
def test_every_event_is_taken_at_most_once_in_order_and_none_is_lost(count: int, turns: list[Turn]) -> None:
    player = a_player(waits(count, where="10 / event.data.n >= 3"))  # 0 cannot be judged; 4 and 5 do not fit
    player.at(0)
    tick = 0
    sent: list[tuple[str, object]] = []
    for rest, values in turns:
        tick += rest
        arrivals = [
            Arrival(ArrivalKind.EVENT, f"e{len(sent) + place}", "ping", {"n": n}) for place, n in enumerate(values)
        ]
        sent += [(each.id, each.data["n"]) for each in arrivals]
        player.at(tick, *arrivals)
    player.at(tick + 5)

    fitting = [name for name, n in sent if n in (1, 2, 3)]
    taken = received(player)
    assert taken == fitting[:count]
    if player.state.status is not Status.COMPLETED:
        left = [each["id"] for each in player.state.queue.get("ping", ())]
        assert sorted([*taken, *left], key=lambda each: int(str(each)[1:])) == [name for name, _ in sent]
    assert replay(player.workflow, player.entries, SALT, EPOCH).identical

"""Replay reproduces an execution to the byte, says what a new version would do, and calls nothing."""

import json
import os
import subprocess
import sys
from itertools import cycle
from pathlib import Path

import pytest
from msgspec.structs import replace

from mainspring.domain.errors import InvalidInput
from mainspring.workflow.audit import GENESIS, revive
from mainspring.workflow.document import parse_text
from mainspring.workflow.model import Arrival, ArrivalKind, LogicalClock, Status
from mainspring.workflow.replay import SimulatedAnswer, SimulatedEvent, frames, replay, simulate
from tests.workflow.stage import EPOCH, SALT, Player, a_workflow, generated, order_follow_up, run_generated, trace_hash

ROOT = Path(__file__).parents[2]
GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.json"))
INPUT = {"email": "ann@example.com", "order": 7, "vip": False}
DAY_MS = 86_400_000


@pytest.mark.parametrize("format_", [1, 2])
def test_replay_of_any_execution_is_identical(format_: int) -> None:
    for seed in range(150):
        workflow, *_ = generated(seed)
        simulation = run_generated(seed, format_)
        again = replay(workflow, simulation.entries, GENESIS[:32], EPOCH)
        assert again.identical, (seed, again.differences[:2])
        assert again.state == simulation.state


def test_replay_of_orders_pauses_and_delays_is_identical() -> None:
    player = Player(a_workflow({"call": {"url": "https://example.com/"}}, {"wait": "10s"}, {"end": "done"}))
    player.at(0, player.order("pause"))
    player.at(3, player.order("resume"), player.order("resume"))
    player.at(4, player.answer("failure", code="500", error="no"))
    player.at(9, player.order("skip"))
    player.at(31)  # ten ticks late, as after a tick that was full

    again = replay(player.workflow, player.entries, SALT, EPOCH)

    assert again.identical
    assert again.state.outcome == "done"


def test_new_version_over_an_old_execution_says_field_by_field_what_would_change() -> None:
    old = a_workflow({"wait": "10s"}, {"end": "done"})
    new = a_workflow({"wait": "20s"}, {"end": "done"})
    player = Player(old)
    player.at(0)
    player.at(10)

    compared = replay(new, player.entries, SALT, EPOCH)

    assert not compared.identical
    first = compared.differences[0]
    assert (first.number, first.step, first.field) == (2, "s0", "output")
    assert (first.expected, first.actual) == ('{"until_tick":10}', '{"until_tick":20}')
    assert compared.differences[-1].actual == "nothing"
    assert [step.identical for step in compared.steps] == [True, False, False, False]


def test_changed_log_is_not_reproduced() -> None:
    player = Player(a_workflow({"set": {"n": "input.n + 1"}}), {"n": 1})
    player.at(0)
    forged = [replace(each, output=b'{"n":3}') if each.action == "set" else each for each in player.entries]

    (difference,) = replay(player.workflow, forged, SALT, EPOCH).differences

    assert (difference.field, difference.expected, difference.actual) == ("output", '{"n":3}', '{"n":2}')


def test_erased_output_is_compared_by_its_commitment() -> None:
    player = Player(a_workflow({"set": {"n": "1"}}))
    player.at(0)
    erased = [replace(each, output=None) for each in player.entries]

    assert replay(player.workflow, erased, SALT, EPOCH).identical


def test_erased_input_cannot_be_replayed_and_says_so() -> None:
    player = Player(a_workflow({"wait": "1d"}))
    player.at(0, player.event("reply"))
    start, *rest = player.entries

    for log in ([replace(start, input=None), *rest], [start, *(replace(each, input=None) for each in rest)], []):
        with pytest.raises(InvalidInput, match="cannot be replayed"):
            replay(player.workflow, log, SALT, EPOCH)


def test_debugger_steps_through_turn_by_turn_without_effects() -> None:
    player = Player(a_workflow({"call": {"url": "https://example.com/"}}, {"end": "done"}))
    player.at(0)
    player.at(5, player.answer(result=1))

    seen = list(frames(player.workflow, player.entries, SALT, EPOCH))

    assert seen == player.frames
    assert [frame.after.status for frame in seen] == [Status.WAITING, Status.COMPLETED]


def test_simulation_of_days_takes_no_time_and_follows_the_tutorial() -> None:
    happy = simulate(order_follow_up(), INPUT, [SimulatedEvent(4 * DAY_MS, "reply", {"rating": 5})], epoch=EPOCH)
    silent = simulate(order_follow_up(), INPUT, epoch=EPOCH)
    angry = simulate(order_follow_up(), INPUT, [SimulatedEvent(4 * DAY_MS, "reply", {"rating": 1})], epoch=EPOCH)
    helped = simulate(
        order_follow_up(), INPUT, [SimulatedEvent(4 * DAY_MS, "reply", {"rating": 1})],
        {"escalate": [SimulatedAnswer("failure", code="503"), SimulatedAnswer("failure", code="400")]}, epoch=EPOCH,
    )  # fmt: skip
    cancelled = simulate(order_follow_up(), INPUT, [SimulatedEvent(DAY_MS, "order.cancelled")], epoch=EPOCH)

    assert [each.state.outcome for each in (happy, silent, angry, helped, cancelled)] == [
        "happy", "silent", "escalated", "escalated", "order_cancelled",
    ]  # fmt: skip
    assert [effect.step for effect in silent.effects] == ["thank", "ask", "ask", "ask"]
    assert [effect.step for effect in helped.effects] == ["thank", "ask", "escalate", "escalate", "call_for_help"]


def test_order_of_arrivals_is_the_writers_and_decides() -> None:
    workflow = a_workflow({"wait_for": {"event": "a", "timeout": "1h"}}, {"end": "done"})
    first, second = (Arrival(ArrivalKind.EVENT, each, "a", {"who": each}) for each in "xy")
    one, other = Player(workflow), Player(workflow)
    for player, arrivals in ((one, (first, second)), (other, (second, first))):
        player.at(0)
        player.at(1, *arrivals)

    assert one.state.steps["s0"] == {"result": {"id": "x", "data": {"who": "x"}}}
    assert other.state.steps["s0"] == {"result": {"id": "y", "data": {"who": "y"}}}


def test_traces_are_the_same_under_any_hash_seed_and_time_zone(long_run: bool) -> None:
    """In fresh processes: maps, sets, zones and locales of a machine leave no mark on a trace."""
    traces = 1_000 if long_run else 100
    code = f"from tests.workflow.stage import trace_hash; print(trace_hash(range({traces})))"
    zones = cycle(("UTC", "America/St_Johns", "Asia/Kathmandu"))
    running = [
        subprocess.Popen(
            [sys.executable, "-c", code],
            cwd=ROOT, text=True, stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONHASHSEED": seed, "TZ": next(zones), "PYTHONPATH": f"{ROOT}/src:{ROOT}"},
        )
        for seed in ("0", "1", "2", "77", "4242")
    ]  # fmt: skip
    said = {process.communicate(timeout=120)[0].strip() for process in running}

    assert len(said) == 1
    assert len(said.pop()) == 64


def test_trace_hash_is_of_this_process_too() -> None:
    assert trace_hash(range(5)) == trace_hash(range(5)) != trace_hash(range(6))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden_history_is_reproduced_to_the_byte(path: Path) -> None:
    """Kept for ever: an engine that runs one of them differently breaks executions that are under way."""
    golden = json.loads(path.read_text())
    happenings = [SimulatedEvent(*each) for each in golden["events"]]
    answers = {step: [SimulatedAnswer(**each) for each in given] for step, given in golden["answers"].items()}

    made = simulate(
        parse_text(golden["document"]), golden["input"], happenings, answers, epoch=EPOCH, execution_id=path.stem
    )

    lines = [
        [e.tick, e.step, e.action, revive(e.input or b"null"), revive(e.output or b"null"), e.hash]
        for e in made.entries
    ]
    assert lines == golden["entries"]


def test_there_are_golden_histories() -> None:
    assert len(GOLDEN) >= 3


def test_clock_translates_instants_and_ticks_both_ways() -> None:
    clock = LogicalClock(60, EPOCH)

    assert clock.at(clock.instant()) == 60
    assert clock.reading(clock.instant()) == 60

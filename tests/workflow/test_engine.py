"""What one execution does: steps, waits, events, effects, failures, orders. The seed's behaviour by name."""

from msgspec.structs import replace

from mainspring.workflow.audit import effect_key
from mainspring.workflow.engine import ALLOWED, CHAIN_MAX
from mainspring.workflow.model import ExecutionPhase, LogicalClock, Status
from tests.workflow.stage import EPOCH, Player, a_workflow, order_follow_up

DAY = 86_400


def test_three_days_are_259_200_ticks() -> None:
    player = Player(a_workflow({"wait": "3d"}))

    player.at(7)

    assert player.state.wake_tick == 7 + 259_200


def test_wait_is_rounded_up_to_whole_ticks() -> None:
    clock = LogicalClock(10, EPOCH)

    assert [clock.after(ms) for ms in (1, 999, 1000, 1001)] == [11, 11, 11, 12]


def test_wait_is_over_at_its_tick_and_not_before() -> None:
    player = Player(a_workflow({"wait": "10s"}))
    player.at(0)

    assert player.at(9).entries == ()
    player.at(10)
    assert player.state.status is Status.COMPLETED


def test_wait_until_an_instant_and_until_a_cron_rule_in_a_zone() -> None:
    until = Player(a_workflow({"wait": {"until": "{{ input.at }}"}}), {"at": "2026-01-01T01:00:00+01:00"})
    later = Player(a_workflow({"wait": {"until": "2026-01-02T00:00:00.5Z"}}))
    cron = Player(a_workflow({"wait": {"cron": "30 8 * * *", "timezone": "Europe/Berlin"}}))
    for player in (until, later, cron):
        player.at(0)

    assert until.state.status is Status.COMPLETED
    assert later.state.wake_tick == DAY + 1
    assert cron.state.wake_tick == 7 * 3600 + 1800


def test_instant_that_is_none_stops_the_execution() -> None:
    player = Player(a_workflow({"wait": {"until": "{{ input.at }}"}}), {"at": "tomorrow"})

    player.at(0)

    assert player.state.status is Status.FAILED
    assert player.state.error == "wait.until 'tomorrow' is no instant such as 2026-01-31T08:30:00Z"


def test_cron_rule_without_a_next_time_stops_the_execution() -> None:
    player = Player(a_workflow({"wait": {"cron": "0 0 29 2 1"}}))
    player.state = replace(player.state, wake_tick=0)
    clock_end = LogicalClock(0, EPOCH).at(EPOCH.replace(year=9999, month=12, day=30))

    player.at(clock_end)

    assert player.state.error == "the cron rule '0 0 29 2 1' has no next time"


def test_steps_without_an_effect_chain_within_one_tick() -> None:
    player = Player(a_workflow({"set": {"n": "1"}}, {"set": {"n": "vars.n + 1"}}, {"end": "done"}))

    player.at(0)

    assert player.log == ["s0:start", "s0:set", "s1:set", "s2:end"]
    assert (player.state.vars, player.state.outcome) == ({"n": 2}, "done")


def test_long_chain_goes_on_in_the_next_tick() -> None:
    steps = [{"set": {"n": str(number)}} for number in range(CHAIN_MAX + 5)]
    player = Player(a_workflow(*steps))

    player.at(0)
    assert (player.state.status, player.state.wake_tick) == (Status.ACTIVE, 1)
    player.at(1)
    assert player.state.status is Status.COMPLETED


def test_first_true_case_wins_and_default_takes_the_rest() -> None:
    cases = [{"when": "input.n > 5", "goto": "big"}, {"when": "input.n > 2", "goto": "middle"}]
    workflow = a_workflow(
        {"branch": {"cases": cases, "default": "small"}},
        *({"id": size, "end": size} for size in ("big", "middle", "small")),
    )
    outcomes = []
    for number in (9, 3, 1):
        player = Player(workflow, {"n": number})
        player.at(0)
        outcomes.append(player.state.outcome)

    assert outcomes == ["big", "middle", "small"]


def test_condition_that_cannot_be_judged_stops_the_execution_and_says_why() -> None:
    player = Player(a_workflow({"branch": {"cases": [{"when": "input.n > 5", "goto": "s0"}], "default": "end"}}))

    player.at(0)

    assert player.state.status is Status.FAILED
    assert player.state.error == 'branch.cases[0].when Key not found in map : "n"'


def test_chain_that_ends_with_the_last_step_of_a_turn_ends_in_it() -> None:
    steps = [{"set": {"n": str(number)}} for number in range(CHAIN_MAX - 1)]
    player = Player(a_workflow(*steps, {"wait": "1s"}))

    player.at(0)

    assert (player.state.step, player.state.phase, player.state.wake_tick) == (
        f"s{CHAIN_MAX - 1}",
        ExecutionPhase.TIME,
        1,
    )


def test_effect_ends_the_turn_and_its_answer_starts_the_next() -> None:
    workflow = a_workflow({"call": {"url": "https://example.com/{{ input.id }}"}}, {"end": "done"})
    player = Player(workflow, {"id": 7})

    (effect,) = player.at(0).effects
    assert (effect.request["url"], effect.attempt, effect.key) == (
        "https://example.com/7",
        1,
        effect_key("x1", "s0", 1),
    )
    assert player.state.status is Status.WAITING
    player.at(3, player.answer(result={"status_code": 200}))
    assert player.state.steps == {"s0": {"result": {"status_code": 200}}}
    assert player.state.outcome == "done"


def test_retries_keep_the_key_rest_longer_each_time_and_end() -> None:
    retry = {"attempts": 3, "delay": "10s", "factor": 3, "max_delay": "20s"}
    player = Player(a_workflow({"call": {"url": "https://example.com/"}, "retry": retry}))
    keys = [effect.key for effect in player.at(0).effects]
    wakes = []
    for tick in (1, 12, 33):
        player.at(tick, player.answer("failure", code="503", error="busy"))
        wakes.append(player.state.wake_tick)
        if player.state.wake_tick is not None:
            keys += [effect.key for effect in player.at(player.state.wake_tick).effects]

    assert wakes == [11, 32, None]
    assert len(keys) == 3
    assert len(set(keys)) == 1
    assert (player.state.status, player.state.error) == (Status.FAILED, "busy")


def test_code_that_no_retry_mends_is_not_retried() -> None:
    retry = {"attempts": 3, "never": [404]}
    player = Player(a_workflow({"call": {"url": "https://example.com/"}, "retry": retry}))
    player.at(0)

    player.at(1, player.answer("failure", code="404", error="not found"))

    assert player.state.status is Status.FAILED


def test_unknown_result_is_never_retried_by_itself() -> None:
    step = {"call": {"url": "https://example.com/"}, "retry": {"attempts": 5}, "idempotency": "at_most_once"}
    player = Player(a_workflow(step))
    player.at(0)

    player.at(1, player.answer("unknown", error="its sender was lost"))

    assert (player.state.status, player.state.error) == (Status.FAILED, "its sender was lost")


def test_failure_may_lead_to_another_step_which_can_read_it() -> None:
    workflow = a_workflow(
        {"call": {"url": "https://example.com/"}, "on_failure": {"goto": "s1"}},
        {"set": {"why": "steps.s0.error.code"}},
    )
    player = Player(workflow)
    player.at(0)

    player.at(1, player.answer("failure", code="500", error="oops"))

    assert (player.state.vars, player.state.status) == ({"why": "500"}, Status.COMPLETED)


def test_answer_that_nobody_awaits_is_logged_as_late() -> None:
    player = Player(a_workflow({"call": {"url": "https://example.com/"}}))
    player.at(0)
    answer = player.answer(result=None)

    player.at(1, answer, answer)

    assert player.log[-2:] == ["s0:end", "s0:result.late"]


def test_wait_for_takes_the_event_that_matches() -> None:
    workflow = a_workflow(
        {"wait_for": {"event": "reply", "where": "event.data.n > 3", "timeout": "1h"}},
        {"set": {"n": "steps.s0.result.data.n"}},
    )
    player = Player(workflow)
    player.at(0)

    player.at(1, player.event("noise"), player.event("reply", n=1))
    assert player.state.status is Status.WAITING
    player.at(2, player.event("reply", n=5))
    assert player.state.vars == {"n": 5}


def test_event_that_came_before_its_wait_is_not_lost_and_is_taken_once() -> None:
    step = {"wait_for": {"event": "reply", "timeout": "1h"}}
    player = Player(a_workflow({"wait": "10s"}, step, step))
    player.at(0)
    player.at(5, player.event("reply"))

    player.at(10)

    assert player.state.step == "s2"
    assert player.state.status is Status.WAITING


def test_wait_for_that_times_out_goes_its_way_or_fails() -> None:
    wait = {"event": "reply", "timeout": "10s"}
    way = Player(a_workflow({"wait_for": wait | {"on_timeout": "s1"}, "next": "end"}, {"end": "silent"}))
    closed = Player(a_workflow({"wait_for": wait}))
    for player in (way, closed):
        player.at(0)
        player.at(10)

    assert way.state.outcome == "silent"
    assert closed.state.error == "no event 'reply' came in time"


def test_event_condition_that_cannot_be_judged_stops_the_execution() -> None:
    player = Player(a_workflow({"wait_for": {"event": "reply", "where": "event.data.n > 3", "timeout": "1h"}}))
    player.at(0)

    player.at(1, player.event("reply"))

    assert player.state.status is Status.FAILED


def test_exit_ends_an_execution_when_its_event_arrives_even_while_paused() -> None:
    workflow = a_workflow({"wait": "3d"}, exit=[{"when": '"stop" in events', "outcome": "stopped"}])
    player = Player(workflow)
    player.at(0, player.order("pause"))

    player.at(1, player.event("stop"))

    assert (player.state.status, player.state.outcome) == (Status.COMPLETED, "stopped")


def test_exit_that_cannot_be_judged_stops_the_execution() -> None:
    player = Player(a_workflow({"end": None}, exit=[{"when": "input.missing > 1"}]))

    player.at(0)

    assert player.state.status is Status.FAILED
    assert player.state.error.startswith("exit[0].when ")


def test_exit_withdraws_the_effect_that_was_not_sent() -> None:
    workflow = a_workflow({"call": {"url": "https://example.com/"}}, exit=[{"when": '"stop" in events'}])
    player = Player(workflow)
    player.at(0)
    key = player.state.key

    from mainspring.workflow.engine import advance

    advanced = advance(workflow, player.state, [player.event("stop")], LogicalClock(1, EPOCH))

    assert advanced.withdrawn == (key,)


def test_late_event_of_a_finished_execution_is_kept_and_marked() -> None:
    player = Player(a_workflow({"end": None}))
    player.at(0)

    player.at(9, player.event("reply"))

    assert player.log[-1] == "s0:event.late"
    assert player.state.events == {}


def test_loop_stops_at_its_visit_bound() -> None:
    workflow = a_workflow(
        {"set": {"n": "has(vars.n) ? vars.n + 1 : 1"}, "visits": 3},
        {"branch": {"cases": [{"when": "vars.n < 100", "goto": "s0"}], "default": "end"}},
    )
    player = Player(workflow)

    player.at(0)

    assert player.state.vars == {"n": 3}
    assert player.state.error == "step 's0' was visited 3 times, as often as it may be"


def test_every_visit_of_an_effect_has_a_key_of_its_own() -> None:
    workflow = a_workflow(
        {"call": {"url": "https://example.com/"}},
        {"branch": {"cases": [{"when": "steps.s0.result.again", "goto": "s0"}], "default": "end"}},
    )
    player = Player(workflow)
    keys = [player.at(0).effects[0].key]

    keys.append(player.at(1, player.answer(result={"again": True})).effects[0].key)

    assert keys == [effect_key("x1", "s0", 1), effect_key("x1", "s0", 2)]


def test_paused_execution_does_nothing_until_it_is_resumed_and_loses_nothing() -> None:
    player = Player(a_workflow({"wait": "10s"}, {"end": "done"}))
    player.at(0)
    player.at(1, player.order("pause"))

    assert player.state.status is Status.PAUSED
    assert player.state.ready_tick is None
    assert player.at(20).entries == ()
    player.at(30, player.order("resume"))
    assert player.state.outcome == "done"


def test_answer_that_comes_during_a_pause_counts_after_it() -> None:
    player = Player(a_workflow({"call": {"url": "https://example.com/"}}, {"end": "done"}))
    player.at(0)
    player.at(1, player.order("pause"))
    player.at(2, player.answer(result=1))

    assert player.state.status is Status.PAUSED
    player.at(3, player.order("resume"))
    assert player.state.outcome == "done"


def test_retry_by_a_person_sends_the_same_key_again() -> None:
    player = Player(a_workflow({"call": {"url": "https://example.com/"}}))
    key = player.at(0).effects[0].key
    player.at(1, player.answer("unknown", error="lost"))

    (effect,) = player.at(2, player.order("retry", "the target says it saw nothing")).effects

    assert (effect.key, effect.attempt) == (key, 1)
    assert player.state.error == ""


def test_retry_by_a_person_runs_a_step_without_effect_again() -> None:
    player = Player(a_workflow({"wait_for": {"event": "reply", "timeout": "10s"}, "visits": 1}))
    player.at(0)
    player.at(10)

    player.at(20, player.order("retry"))

    assert (player.state.status, player.state.wake_tick, player.state.visits) == (Status.WAITING, 30, {"s0": 1})


def test_retry_after_an_exit_that_could_not_be_judged_repeats_no_key() -> None:
    exits = [{"when": "has(events.odd) && events.odd.data.n > 1"}]
    workflow = a_workflow(
        {"call": {"url": "https://example.com/"}},
        {"wait": "10s"},
        {"branch": {"cases": [{"when": "true", "goto": "s0"}], "default": "end"}},
        exit=exits,
    )
    player = Player(workflow)
    player.at(0)
    player.at(1, player.answer(result=1), player.event("odd"))
    assert player.state.status is Status.FAILED

    player.at(2, player.event("odd", n=0), player.order("retry"))

    assert player.state.phase is ExecutionPhase.TIME


def test_skip_goes_on_with_the_reason_as_the_result() -> None:
    player = Player(a_workflow({"call": {"url": "https://example.com/"}}, {"end": "done"}))
    player.at(0)
    player.at(1, player.answer("failure", code="500", error="oops"))

    player.at(2, player.order("skip", "done by hand"))

    assert player.state.steps == {"s0": {"result": {"skipped": "done by hand"}}}
    assert player.state.outcome == "done"


def test_skipped_branch_takes_its_default() -> None:
    workflow = a_workflow({"branch": {"cases": [{"when": "input.x", "goto": "s0"}], "default": "s1"}}, {"end": "d"})
    player = Player(workflow)
    player.at(0)

    player.at(1, player.order("skip"))

    assert player.state.outcome == "d"


def test_skip_and_cancel_withdraw_what_was_not_sent() -> None:
    from mainspring.workflow.engine import advance

    workflow = a_workflow({"call": {"url": "https://example.com/"}})
    withdrawn = []
    for verb in ("skip", "cancel"):
        player = Player(workflow)
        player.at(0)
        withdrawn.append(
            advance(workflow, player.state, [player.order(verb)], LogicalClock(1, EPOCH)).withdrawn
            == (player.state.key,)
        )

    assert withdrawn == [True, True]


def test_order_stands_in_the_log_with_reason_and_actor() -> None:
    player = Player(a_workflow({"wait": "3d"}))
    player.at(0)

    frame = player.at(1, player.order("cancel", "customer left"))

    assert frame.entries[0].action == "command"
    assert b'"actor":"ada"' in (frame.entries[0].input or b"")
    assert b'"reason":"customer left"' in (frame.entries[0].input or b"")
    assert (player.state.status, player.state.outcome) == (Status.CANCELLED, "customer left")


def test_order_that_the_status_does_not_allow_changes_nothing_and_is_logged() -> None:
    player = Player(a_workflow({"end": None}))
    player.at(0)
    before = player.state

    frame = player.at(1, player.order("resume"))

    assert frame.entries[0].action == "command.refused"
    assert frame.entries[0].output == b'{"allowed":"nothing","status":"completed"}'
    assert player.state == replace(before, number=before.number + 1, head=player.state.head)


def test_every_status_says_what_it_allows() -> None:
    assert ALLOWED.keys() == set(Status)


def test_value_that_is_too_large_is_refused_and_leaves_the_variables_alone() -> None:
    player = Player(a_workflow({"set": {"a": "1", "b": "input.text + input.text"}}), {"text": "x" * 40_000})

    player.at(0)

    assert player.state.status is Status.FAILED
    assert player.state.vars == {}
    assert "65536 bytes" in player.state.error


def test_result_that_does_not_fit_fails_the_step() -> None:
    player = Player(a_workflow({"call": {"url": "https://example.com/"}}))
    player.at(0)

    player.at(1, player.answer(result="x" * 70_000))

    assert player.state.status is Status.FAILED


def test_events_that_do_not_fit_are_logged_and_ignored() -> None:
    player = Player(a_workflow({"wait": "3d"}))
    player.at(0)
    player.at(1, *(player.event(f"type{number}") for number in range(200)))

    player.at(2, player.event("one-too-many"), player.event("type1", text="x" * 70_000))

    assert player.log[-2:] == ["s0:event.ignored", "s0:event.ignored"]


def test_division_by_zero_and_bad_templates_fail_closed() -> None:
    divided = Player(a_workflow({"set": {"n": "1.0 / input.zero"}}), {"zero": 0.0})
    untold = Player(a_workflow({"email": {"to": "{{ input.to }}", "subject": "s", "body": "b"}}))
    for player in (divided, untold):
        player.at(0)

    assert divided.state.error == "set.n gives a number that is not finite; guard the division"
    assert untold.state.error == 'email.to {{ input.to }} Key not found in map : "to"'


def test_start_that_lies_ahead_waits_for_its_tick_although_an_event_comes() -> None:
    player = Player(a_workflow({"end": "done"}))
    player.state = replace(player.state, wake_tick=10)

    player.at(3, player.event("early"))
    assert player.state.status is Status.PENDING
    player.at(10)
    assert player.state.outcome == "done"


def test_advance_changes_nothing_it_was_given() -> None:
    player = Player(order_follow_up(), {"email": "a@example.com", "order": 1, "vip": False})
    player.at(0)
    player.at(1, player.answer(result=None))
    before = player.state
    copy = replace(before, vars=dict(before.vars), steps=dict(before.steps), events=dict(before.events))

    player.at(2, player.event("reply", rating=1))

    assert before == copy

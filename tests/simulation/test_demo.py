"""What the demo's day holds, before anything of it runs."""

from mainspring.simulation.demo import BEGINS_AT, SPEED, demo_scenario

A_LOOK_S = 60


def test_every_chapter_of_the_first_day_begins_within_a_minute_of_its_beginning() -> None:
    begins_s = {
        str(entry["phase"]): (float(str(entry["from"])) - BEGINS_AT) * 60 / SPEED for entry in demo_scenario().curve
    }

    assert list(begins_s) == ["baseline", "surge", "strain", "critical", "recovery"]
    assert 0 < begins_s["surge"] < begins_s["recovery"] < A_LOOK_S


def test_demo_fails_only_where_its_story_says_so() -> None:
    scenario = demo_scenario()

    failing = {name: target.fails for name, target in scenario.endpoints.items() if target.fails}
    starts = [float(str(entry["from"])) for entry in scenario.curve if entry["phase"] in ("critical", "recovery")]
    assert scenario.fault_rate == 0
    assert [(name, span.begin, span.to) for name, spans in failing.items() for span in spans] == [("checkout", *starts)]

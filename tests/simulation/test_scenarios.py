"""The other scenarios keep their promises; a scenario that says nonsense is refused with the place of it."""

import json
from pathlib import Path

import pytest

from mainspring.domain.errors import InvalidInput, NotFound
from mainspring.simulation.checks import check_trace
from mainspring.simulation.loop import PlayedTime
from mainspring.simulation.scenario import load_scenario, read_scenario, shipped
from mainspring.simulation.world import play
from tests.cli.shell import Shell

SMALL = "name: small\nminutes: 10\nendpoints:\n  one: {every: 1m, spread: false}\n"


@pytest.mark.parametrize("name", [name for name in shipped() if name != "flash-sale"])
def test_scenario_keeps_its_promises(name: str) -> None:
    assert [each for each in check_trace(play(load_scenario(name), 1)) if not each.ok] == []


@pytest.mark.parametrize("name", ["dead-endpoint", "clock-jump"])
def test_scenario_is_the_same_on_postgresql(name: str, postgres_url: str) -> None:
    scenario = load_scenario(name)

    assert play(scenario, 2, postgres_url).text == play(scenario, 2).text


def test_played_time_adds_up_over_simulations() -> None:
    time = PlayedTime()
    scenario = read_scenario(SMALL, "small")

    play(scenario, 1, played=time)
    play(scenario, 2, played=time)

    assert time.seconds == 2 * 10 * 60


REFUSED = {
    "minutes: 0": (SMALL.replace("minutes: 10", "minutes: 0"), "give more than 0"),
    "an unknown key": (SMALL + "speed: 3\n", "unknown field `speed`"),
    "no endpoint": ("name: x\nminutes: 1\nendpoints: {}\n", "at least one endpoint"),
    "no YAML": ("name: [", "is not YAML"),
    "an unknown metric": (SMALL.replace("spread: false", "says: [visitors]"), "not a metric of the curve"),
    "a wrong duration": (SMALL.replace("spread: false", "takes: soon"), "is not a duration"),
    "a rate above 1": (SMALL + "fault_rate: 2\n", "between 0 and 1"),
    "an unknown worker": (SMALL + "restarts: {every: 1m, worker: cat}\n", "give scheduler or planner"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_scenario_is_refused(case: str) -> None:
    text, words = REFUSED[case]

    with pytest.raises(InvalidInput) as refused:
        read_scenario(text, "mine.yaml")
    assert words in str(refused.value)


def test_check_that_does_not_exist_is_refused_with_the_nearest() -> None:
    scenario = read_scenario(SMALL + "checks: [{check: gasp, endpoint: one}]\n", "mine.yaml")

    with pytest.raises(InvalidInput, match="did you mean 'gaps'"):
        check_trace(play(scenario))


def test_unknown_scenario_suggests_the_nearest() -> None:
    with pytest.raises(NotFound, match="did you mean 'flash-sale'"):
        load_scenario("flash-sail")


def test_command_plays_a_file_and_names_what_fails(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(SMALL + "checks: [{check: run_count, endpoint: one, at_least: 11}]\n")

    result = shell("simulate", str(file), "--report", str(tmp_path / "out.html"), "--trace", str(tmp_path / "out.txt"))

    assert result.exit_code == 1
    assert "seed 1: run_count endpoint=one at_least=11: one ran 10 times" in result.stdout
    assert "1 of 1 checks fail" in (tmp_path / "out.html").read_text()
    assert (tmp_path / "out.txt").read_text().count(" run one ") == 10
    assert "flash-sale" in shell.ok("simulate")


@pytest.mark.parametrize(
    ("least", "failed"), [(10, {}), (11, {"1": [["run_count endpoint=one at_least=11", "one ran 10 times"]]})]
)
def test_command_prints_its_result_as_json(
    shell: Shell, tmp_path: Path, least: int, failed: dict[str, list[list[str]]]
) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(SMALL + f"checks: [{{check: run_count, endpoint: one, at_least: {least}}}]\n")
    result = shell("simulate", str(file), "-o", "json")

    assert result.exit_code == (1 if failed else 0)
    said = json.loads(result.stdout)
    assert (said["scenario"], said["seeds"], said["runs"], said["checks"]) == ("small", 1, 10, 1)
    assert said["failed"] == failed


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell({"MAINSPRING_DATA_DIR": str(tmp_path / "data")})

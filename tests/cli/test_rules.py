"""`mainspring rules` and `mainspring planner`, as a stranger would type them."""

from pathlib import Path

import pytest

from mainspring.cli.sessions import NONE_YET
from tests.cli.shell import Shell


def test_rule_is_added_listed_and_removed(any_shell: Shell) -> None:
    any_shell.add("health")
    said = any_shell.ok("rules", "add", "health", "--when", "body.depth > 10", "--interval", "30s", "--ttl", "10m")
    assert said == "added rule 'rule-1': when body.depth > 10, every 30s for 10m\n"

    (rule,) = any_shell.json("rules", "list", "health")
    assert rule["rule"] == {"name": "rule-1", "when": "body.depth > 10", "interval": "30s", "ttl": "10m"}
    assert [rule[key] for key in ("endpoint", "does", "fired_at", "fault")] == [
        "health", "every 30s for 10m", None, None,
    ]  # fmt: skip
    assert "body.depth > 10" in any_shell.ok("rules", "list")
    assert any_shell.ok("rules", "remove", "health", "rule-1") == "removed 1: rule-1\n"
    assert any_shell.ok("rules", "list") == "No rules yet.\n"


def test_rules_of_a_file_are_checked_and_added(shell: Shell, tmp_path: Path) -> None:
    shell.add("health")
    shell.add("page", "--job", "default")
    file = tmp_path / "rules.yaml"
    file.write_text("- when: siblings.page.ok\n  pause: 1h\n- name: two\n  when: ok\n  clear_hints: true\n")

    assert shell.ok("rules", "check", str(file)) == "2 rules are valid\n"
    assert shell.ok("rules", "check", str(file), "--endpoint", "health") == "2 rules are valid\n"
    assert len(shell.json("rules", "add", "health", "--file", str(file))) == 2
    assert "already" in shell.refused("rules", "add", "health", "--file", str(file), code=4)
    assert shell.ok("rules", "remove", "health", "--all").startswith("removed 2")


WRONG = (
    "- {when: ok, evry: 5m}\n- when: ok\n  name: late\n  interval: soon\n- {when: ok, pause: 1h}\n- {when: body >}\n"
)


@pytest.mark.parametrize("head", ["", "rules:\n"])
def test_every_rule_that_is_refused_is_told_by_its_name_and_line(shell: Shell, tmp_path: Path, head: str) -> None:
    shell.add("health")
    file = tmp_path / "rules.yaml"
    file.write_text(head + WRONG)
    first = 2 if head else 1

    for options in ((), ("--endpoint", "health")):
        result = shell("rules", "check", str(file), *options)
        assert (result.exit_code, result.stdout) == (1, "")
        one, two, three, _ = result.stderr.splitlines()
        assert one.startswith(f"line {first}: rule 1: unknown key 'evry' in a rule")
        assert two.startswith(f"line {first + 3}: rule 'late': interval 'soon' ")
        assert three.startswith(f"line {first + 5}: rule 4: ")
        assert result.stderr.endswith("error: 3 errors; nothing was changed\n")
    assert shell("rules", "add", "health", "--file", str(file)).stderr.count("\n") == 4


def test_refusals_say_what_and_where(shell: Shell, tmp_path: Path) -> None:
    shell.add("health")
    broken = tmp_path / "broken.yaml"
    broken.write_text("- when: [\n")

    assert "line 2, column 1" in shell.refused("rules", "check", str(broken))
    broken.write_text("nothing: here\n")
    assert "has no list of rules" in shell.refused("rules", "check", str(broken))
    assert "neither or both of endpoint and --job were given" in shell.refused(
        "rules", "add", "--when", "ok", "--pause", "1h"
    )
    assert "needs a condition" in shell.refused("rules", "add", "health", "--pause", "1h")
    assert "unknown sibling 'x'" in shell.refused("rules", "add", "health", "--when", "siblings.x.ok", "--pause", "1h")
    assert "no rule 'nope'" in shell.refused("rules", "remove", "health", "nope", code=3)
    assert "no rule was named" in shell.refused("rules", "remove", "health")
    assert "no job 'nope'" in shell.refused("rules", "list", "--job", "nope", code=3)
    assert "give live, ask, shadow or off" in shell.refused("planner", "mode", "all", "loud")


def test_rules_are_tested_against_recorded_runs(shell: Shell, hostile_url: str) -> None:
    shell.env["MAINSPRING_ALLOW_CIDRS"] = "127.0.0.0/8"
    shell.add("health", url=f"{hostile_url}/ok")

    assert shell.ok("rules", "test", "health", "--when", "ok") == "No recorded runs to test with yet.\n"


def test_mode_is_shown_and_set(shell: Shell) -> None:
    shell.add("health")
    assert shell.ok("planner", "mode") == "the planner is live everywhere\n"

    assert shell.ok("planner", "mode", "health", "shadow") == "endpoint 'health': shadow\n"
    assert shell.ok("planner", "mode", "all", "off") == "all: off\nendpoint 'health': shadow\n"


def test_proposals_are_none_until_something_is_proposed(shell: Shell) -> None:
    shell.add("health")
    assert shell.ok("planner", "mode", "health", "ask") == "endpoint 'health': ask\n"

    assert shell.ok("proposals", "list").startswith("No proposals are pending.")
    assert shell.json("proposals", "list", "--state", "all") == []
    assert "unknown state 'aproved', did you mean 'approved'?" in shell.refused(
        "proposals", "list", "--state", "aproved"
    )
    assert "no proposal 'prop_1'" in shell.refused("proposals", "approve", "prop_1", code=3)


def test_mode_of_another_tenants_endpoint_is_not_shown(shell: Shell) -> None:
    shell.add("health")
    shell.ok("planner", "mode", "health", "shadow")
    shell.ok("tenant", "create", "acme")

    assert shell.ok("planner", "mode", MAINSPRING_TENANT="acme") == "the planner is live everywhere\n"


def test_without_a_model_everything_else_works_and_says_how_to_add_one(shell: Shell) -> None:
    shell.add("health")

    assert "set MAINSPRING_MODEL to" in shell.refused("planner", "look", "health", code=78)
    assert shell.ok("sessions", "list") == f"{NONE_YET}\n"
    assert "no session 'ses_1'" in shell.refused("sessions", "show", "ses_1", code=3)
    assert "rules only, which need no key" in shell("doctor").stdout
    shell.env["MAINSPRING_MODEL"] = "small"
    assert "is not a model" in shell("doctor").stdout

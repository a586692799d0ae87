"""`mainspring workflow` and `mainspring execution`, as a stranger types them."""

import json
from contextlib import chdir
from pathlib import Path

import pytest

from tests.cli.shell import Shell

DOCUMENT = Path(__file__).parents[1] / "workflow" / "documents" / "order_follow_up.yaml"
INPUT = '{"email": "ann@example.com", "order": 7}'


def test_document_is_checked_published_listed_and_compared(any_shell: Shell, tmp_path: Path) -> None:
    shell = any_shell
    changed = tmp_path / "changed.yaml"
    changed.write_text(DOCUMENT.read_text().replace("wait: 3d", "wait: 5d"))

    assert shell.ok("workflow", "check", str(DOCUMENT)) == "'order-follow-up' is valid: 13 steps, starts with 'thank'\n"
    assert shell.ok("workflow", "publish", str(DOCUMENT)) == "published 'order-follow-up' version 1\n"
    assert "does the same already" in shell.ok("workflow", "publish", str(DOCUMENT))
    shell.ok("workflow", "publish", str(changed))
    assert shell.ok("workflow", "diff", "order-follow-up") == "duration of step 'rest' changed from 3d to 5d\n"
    assert [each["version"] for each in shell.json("workflow", "versions", "order-follow-up")] == [2, 1]
    assert shell.json("workflow", "list")[0]["version"] == 2
    assert "wait: 3d" in shell.ok("workflow", "show", "order-follow-up", "--version", "1")
    for command in (["versions", "order-follow-up"], ["list"], ["show", "order-follow-up"]):
        assert shell.ok("workflow", *command)


def test_archived_workflow_is_listed_apart_refuses_starts_and_comes_back(any_shell: Shell) -> None:
    shell = any_shell
    shell.ok("workflow", "publish", str(DOCUMENT))
    shell.ok("workflow", "start", "order-follow-up", "--input", INPUT)

    assert shell.ok("workflow", "archive", "order-follow-up") == "archived 'order-follow-up'\n"
    assert shell.json("workflow", "archive", "order-follow-up")["running"] == 1
    assert shell.json("workflow", "list") == []
    assert "--archived lists archived ones" in shell.ok("workflow", "list")
    assert [each["name"] for each in shell.json("workflow", "list", "--archived")] == ["order-follow-up"]
    assert "archived" in shell.ok("workflow", "show", "order-follow-up")
    assert shell.ok("workflow", "restore", "order-follow-up") == "restored 'order-follow-up'\n"
    assert "nothing changed" in shell.ok("workflow", "restore", "order-follow-up")
    assert shell.json("workflow", "list", "--archived") == []


def test_execution_is_started_looked_at_and_ordered_about(any_shell: Shell) -> None:
    shell = any_shell
    shell.ok("workflow", "publish", str(DOCUMENT))
    started = shell.json("workflow", "start", "order-follow-up", "--input", INPUT, "--correlation", "order-7")
    execution_id = started["id"]

    assert shell.json("execution", "list", "--status", "pending")[0]["id"] == execution_id
    assert shell.json("execution", "show", execution_id)["status"] == "pending"
    assert "allows" in shell.ok("execution", "show", execution_id)
    assert "sent 'reply' to 1 execution" in shell.ok("execution", "send", "order-7", "reply", "--data", '{"rating": 1}')
    assert "ordered pause" in shell.ok("execution", "pause", execution_id, "--reason", "holiday")
    assert "Nothing happened yet" in shell.ok("execution", "log", execution_id)
    assert "valid: 0 entries" in shell.ok("execution", "verify", execution_id)
    assert execution_id in shell.ok("execution", "list")


def test_second_start_under_a_key_says_whether_its_input_is_another(any_shell: Shell) -> None:
    shell = any_shell
    shell.ok("workflow", "publish", str(DOCUMENT))
    start = ("workflow", "start", "order-follow-up", "--key", "k", "--input")
    execution_id = shell.json(*start, INPUT)["id"]
    before = f"{execution_id} of 'order-follow-up' was already started under this key"

    assert shell.ok(*start, INPUT) == f"{before}; nothing changed\n"
    assert shell.ok(*start, INPUT.replace("7", "8")) == (
        f"{before}, with another input; nothing changed: to start it with this one, give another key\n"
    )


def test_simulation_shows_what_would_happen(shell: Shell) -> None:
    said = shell.ok(
        "workflow", "simulate", str(DOCUMENT), "--input", INPUT, "--event", '4d:reply:{"rating": 1}',
        "--answer", "escalate:failure:400",
    )  # fmt: skip

    assert "call_for_help" in said
    assert "waits for 'reply' until 2026-01-06 00:00:02 UTC" in said
    assert "until tick" not in said
    assert "version 0" not in said
    assert shell.json("workflow", "simulate", str(DOCUMENT), "--input", INPUT)["outcome"] == "silent"


def test_document_from_standard_input(shell: Shell) -> None:
    assert "is valid" in shell.ok("workflow", "check", "-", stdin=DOCUMENT.read_text())


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["workflow", "check", "nowhere.yaml"], 1, "cannot read nowhere.yaml: No such file"),
        (["workflow", "show", "nothing"], 3, "no workflow 'nothing'"),
        (["workflow", "start", "nothing"], 3, "no workflow 'nothing'"),
        (["workflow", "start", "x", "--input", "[]"], 1, "--input '[]' is not a JSON object"),
        (
            ["workflow", "simulate", str(DOCUMENT), "--input", INPUT, "--event", "reply"],
            1,
            "write it as --event 4d:reply",
        ),
        (
            ["workflow", "simulate", str(DOCUMENT), "--input", INPUT, "--answer", "thnk:success"],
            1,
            "did you mean 'thank'?",
        ),
        (["workflow", "simulate", str(DOCUMENT)], 1, "the input 'email' (text) is missing"),
        (["execution", "show", "exe_0"], 3, "no execution 'exe_0'"),
        (
            ["execution", "cancel", "exe_0"],
            1,
            "cancel needs a reason, which is recorded in the log: give it with",
        ),
        (["execution", "order", "cancel", "--workflow", "x"], 1, "cancel needs a reason"),
        (["execution", "order", "skip", "--workflow", "x", "--dry-run"], 1, "with --reason or as `reason`"),
        (["execution", "send", "exe_0", "go"], 3, "no execution or correlation key"),
        (["execution", "list", "--status", "wating"], 1, "did you mean 'waiting'?"),
    ],
)
def test_nonsense_is_refused_with_a_way_out(shell: Shell, arguments: list[str], code: int, said: str) -> None:
    assert said in shell.refused(*arguments, code=code)


def test_faults_of_a_document_stand_in_lines_of_their_own(shell: Shell) -> None:
    text = "name: x\nsteps:\n- id: a\n  wait: 1x\n- id: B\n  wait: 1d\n"

    for verb in ("check", "publish"):
        result = shell("workflow", verb, "-", stdin=text)
        assert result.exit_code == 1
        first, second, end = result.stderr.splitlines()
        assert first.startswith("line 5, steps[1].id ")
        assert second.startswith("line 4, steps[0].wait.for ")
        assert end == "error: 2 errors; nothing was changed"
        error = json.loads(shell("workflow", verb, "-", "-o", "json", stdin=text).stderr)["error"]
        assert [(each["path"], each["line"]) for each in error["faults"]] == [
            ("steps[1].id", 5),
            ("steps[0].wait.for", 4),
        ]
        assert [each["detail"] for each in error["faults"]] == [first, second]


def test_many_are_ordered_after_a_preview_and_one_is_exported_and_verified(any_shell: Shell, tmp_path: Path) -> None:
    shell = any_shell
    shell.ok("workflow", "publish", str(DOCUMENT))
    ids = [shell.json("workflow", "start", "order-follow-up", "--input", INPUT)["id"] for _ in range(2)]
    file = tmp_path / "one.json"

    preview = shell.ok("execution", "order", "pause", "--workflow", "order-follow-up", "--dry-run")
    ordered = shell.json("execution", "order", "pause", "--workflow", "order-follow-up", "--yes")

    assert all(each in preview for each in ids)
    assert ordered == {"verb": "pause", "ordered": 2, "more": False}
    assert "No matching execution" in shell.ok("execution", "order", "retry", "--workflow", "order-follow-up")
    assert shell.ok("execution", "list", "--attention") == "No execution waits for a person.\n"
    assert shell.ok("execution", "list", "--correlation", "none") == "No executions match.\n"
    assert "wrote" in shell.ok("execution", "export", ids[0], str(file))
    file.write_text("mine")
    refused = shell.refused("execution", "export", ids[0], str(file), code=4)
    assert refused == f"{file} exists; give another name, or overwrite it with --force"
    assert file.read_text() == "mine"
    assert "wrote" in shell.ok("execution", "export", ids[0], str(file), "--force")
    assert "valid: " in shell.ok("execution", "verify", str(file))
    assert shell.json("execution", "verify", str(file))["valid"] is True
    file.with_suffix("").write_text(file.read_text())
    with chdir(tmp_path):
        assert "valid: " in shell.ok("execution", "verify", "one")
    file.write_text(file.read_text().replace("mainspring.execution.v1", "x"))
    assert "this version reads mainspring.execution.v1" in shell.refused("execution", "verify", str(file), code=1)

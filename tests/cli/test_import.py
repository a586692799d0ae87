"""`mainspring import` shows a document first, and applies it on request: locally and through a server."""

import json
from pathlib import Path

import pytest

from tests.cli.shell import Shell

GOLDEN = Path(__file__).parents[1] / "documents/imports/golden"
FILES = {"uptime-kuma": "uptime-kuma.json", "healthchecks": "healthchecks.json", "kubernetes": "kubernetes.yaml"}


@pytest.mark.parametrize("product", FILES)
def test_export_is_shown_first_and_nothing_is_written(shell: Shell, product: str) -> None:
    shown = shell("import", product, str(GOLDEN / FILES[product]))

    assert shown.exit_code == 0
    assert f"source: {product}\nendpoints:\n" in shown.stdout
    assert "note: the first day has " in shown.stderr
    assert shell.json("endpoint", "list") == []


@pytest.mark.parametrize("product", FILES)
def test_export_is_applied_on_request_and_a_second_time_changes_nothing(any_shell: Shell, product: str) -> None:
    command = ("import", product, str(GOLDEN / FILES[product]), "--apply")
    any_shell.ok(*command)
    endpoints = any_shell.json("endpoint", "list")
    again = any_shell.ok(*command)

    assert {each["managed_by"] for each in endpoints} == {product}
    assert "nothing to change" in again


def test_printed_document_can_be_applied(shell: Shell, tmp_path: Path) -> None:
    document = shell.ok("import", "healthchecks", str(GOLDEN / "healthchecks.json"))
    (tmp_path / "checks.yaml").write_text(document)
    shell.ok("apply", str(tmp_path / "checks.yaml"))

    assert [each["name"] for each in shell.json("endpoint", "list")] == ["Database-backup", "Queue-worker"]


def test_json_has_the_document_what_is_left_out_and_the_first_day(shell: Shell) -> None:
    found = shell.json("import", "uptime-kuma", str(GOLDEN / "uptime-kuma.json"))

    assert list(found["document"]) == ["source", "endpoints", "alerts"]
    assert {
        "item": "monitor 'Old shop'",
        "reason": "it is paused; --paused imports it too, and it then runs at once",
    } in (found["left_out"])
    assert found["references"][0] == "CHAT_HOOK_URL"
    assert found["first_day"]["runs"] > 5_000
    assert len(found["first_day"]["endpoints"][0]["first"]) == 5


def test_commands_need_the_list_of_the_operator(shell: Shell) -> None:
    command = ("import", "crontab", "-", "--commands", "command", "--tz", "UTC", "--apply")
    refused = shell(*command, stdin="0 3 * * * /bin/backup\n")
    applied = shell(*command, stdin="0 3 * * * /bin/backup\n", MAINSPRING_COMMANDS="/bin/backup = default")

    assert refused.exit_code == 1
    assert "program '/bin/backup' is not allowed" in refused.stderr
    assert applied.exit_code == 0, applied.output


def test_unknown_kind_of_commands_is_refused(shell: Shell) -> None:
    refused = shell("import", "crontab", "-", "--commands", "docker", stdin="")

    assert refused.exit_code == 1
    assert "--commands 'docker' is unknown; give heartbeat or command" in refused.stderr


def test_manifest_that_is_not_yaml_is_shown_with_its_line(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("kind: CronJob\n  x: [\n")
    refused = shell("import", "kubernetes", str(tmp_path / "a.yaml"))

    assert refused.exit_code == 1
    assert "a.yaml:2" in refused.stderr


def test_file_that_is_too_large_is_refused_unread(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b" " * 10_000_000)

    for product in ("crontab", *FILES):
        refused = shell("import", product, str(tmp_path / "x"), "-o", "json")
        assert refused.exit_code == 1
        assert "5,000,000 bytes" in json.loads(refused.stderr)["error"]["message"]

"""`apply`, `diff`, `export` and `schema`, as somebody with a file in a folder meets them."""

import json
from pathlib import Path

import pytest

from tests.cli.shell import Shell

ONE = "endpoints:\n  health:\n    url: https://example.com/health\n    every: 30s\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "shop.yaml"
    path.write_text(ONE)
    return path


def test_plan_is_shown_then_done_then_nothing_is_left(any_shell: Shell, file: Path) -> None:
    planned = any_shell.ok("apply", str(file), "--dry-run")
    assert planned == (
        "+ job default\n+ endpoint health\n    url: https://example.com/health\n    every: 30s\nplan: 2 created\n"
    )

    assert any_shell.ok("apply", str(file)).endswith("\n2 created\n")
    assert any_shell.ok("apply", str(file)) == "nothing to change: 1 unchanged\n"


def test_diff_ends_differently_for_changes_and_for_a_wrong_command_line(shell: Shell, file: Path) -> None:
    assert shell("diff", str(file)).exit_code == 7
    assert shell("diff", str(file), "--frob").exit_code == 2
    assert shell("diff").exit_code == 2


def test_diff_ends_with_7_when_something_would_change_and_with_0_when_not(shell: Shell, file: Path) -> None:
    assert shell("diff", str(file)).exit_code == 7
    shell.ok("apply", str(file))
    assert shell("diff", str(file)).exit_code == 0
    file.write_text(ONE.replace("30s", "1m"))

    changed = shell("diff", str(file))

    assert (changed.exit_code, changed.stdout) == (
        7,
        "~ endpoint health\n    every: 30s -> 1m\nplan: 1 changed\n",
    )


def test_report_as_json(shell: Shell, file: Path) -> None:
    shell.ok("apply", str(file))
    file.write_text(ONE.replace("30s", "1m"))

    assert shell.json("apply", str(file)) == {
        "dry_run": False,
        "written": True,
        "sources": ["shop"],
        "counts": {"created": 0, "changed": 1, "archived": 0, "deleted": 0, "unchanged": 0},
        "steps": [
            {
                "act": "change",
                "kind": "endpoint",
                "name": "health",
                "renamed_from": None,
                "fields": [{"field": "every", "before": "30s", "after": "1m"}],
            }
        ],
        "notes": [],
    }


def test_faults_are_shown_with_their_lines_and_nothing_is_done(shell: Shell, file: Path) -> None:
    file.write_text(ONE.replace("every", "evry"))

    refused = shell("apply", str(file))

    assert refused.exit_code == 1
    assert refused.stderr == (
        f"{file}:4:5: unknown key 'evry', did you mean 'every'?\n"
        "  4 |     evry: 30s\n    |     ^^^^\nerror: 1 error; nothing was changed\n"
    )
    assert shell.json("endpoint", "list") == []


def test_faults_as_json_have_their_places(shell: Shell, file: Path) -> None:
    file.write_text(ONE.replace("every", "evry"))

    refused = shell("apply", str(file), "-o", "json")

    (fault,) = json.loads(refused.stderr)["error"]["faults"]
    assert (fault["line"], fault["column"], fault["file"]) == (4, 5, str(file))


def test_export_piped_into_apply_changes_nothing(any_shell: Shell, file: Path) -> None:
    any_shell.ok("apply", str(file))
    any_shell.add("mine", "--secret-header", "X-Key: s3cret")
    exported = any_shell.ok("export")

    assert "s3cret" not in exported
    assert any_shell.ok("apply", "-", "--prune", stdin=exported) == "nothing to change: 2 unchanged\n"


def test_folder_is_all_of_its_documents(shell: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "conf"
    folder.mkdir()
    (folder / "a.yaml").write_text(ONE)
    (folder / "b.yml").write_text(ONE.replace("health", "other"))
    (folder / "notes.txt").write_text("not: [yaml")
    (folder / ".hidden.yaml").write_text("not: [yaml")

    shell.ok("apply", str(folder))

    assert [(each["name"], each["managed_by"]) for each in shell.json("endpoint", "list")] == [
        ("health", "a"),
        ("other", "b"),
    ]


def test_what_cannot_be_read_is_a_fault(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    assert "cannot be read: No such file or directory" in shell("apply", str(tmp_path / "no.yaml")).stderr
    assert "the directory has no documents; they end in .yaml or .yml" in shell("apply", str(tmp_path / "empty")).stderr
    assert "not UTF-8 text" in shell("apply", "-", stdin=b"\xff\xfe").stderr


def test_edit_by_hand_of_a_managed_endpoint_is_allowed_with_a_warning(shell: Shell, file: Path) -> None:
    shell.ok("apply", str(file))

    edited = shell("endpoint", "edit", "health", "--every", "1m")

    assert edited.exit_code == 0
    assert edited.stderr == (
        "note: 'health' is managed by the configuration source 'shop'; the next `mainspring apply` of it undoes this\n"
    )
    assert "managed by" in shell.ok("endpoint", "show", "health")


def test_schema_is_json(shell: Shell) -> None:
    assert json.loads(shell.ok("schema"))["title"] == "Mainspring configuration"


CRONTAB = "MAILTO=me\n*/5 * * * * curl -fsS -H 'X-Token: s3cret' https://example.com/ping\n@reboot /bin/x\n"


def test_crontab_is_shown_first_and_nothing_is_written(shell: Shell) -> None:
    shown = shell("import", "crontab", "-", stdin=CRONTAB)

    assert shown.exit_code == 0
    assert shown.stdout == (
        "# line 1, MAILTO: not converted: create an alert to be notified of failures\n"
        "# line 3: not converted: @reboot is not a time; start it with the machine, for example by systemd\n"
        "# times are read as UTC: the crontab has no time zone, and cron used that of its machine; give it, for "
        "example --tz Europe/Berlin\n"
        "# ${env:EXAMPLE_COM_PING_X_TOKEN} is a secret of the source; set it where this document is applied\n"
        "source: crontab\nendpoints:\n  example.com-ping:\n    url: https://example.com/ping\n    cron: '*/5 * * * *'\n"
        "    timezone: UTC\n    headers:\n      X-Token: ${env:EXAMPLE_COM_PING_X_TOKEN}\n"
    )
    assert "line 3: not converted: @reboot is not a time" in shown.stderr
    assert shell.json("endpoint", "list") == []


def test_crontab_is_taken_over_with_its_secrets_when_asked_to(any_shell: Shell) -> None:
    any_shell.ok("import", "crontab", "-", "--apply", stdin=CRONTAB)

    (endpoint,) = any_shell.json("endpoint", "list")
    assert (endpoint["name"], endpoint["managed_by"], endpoint["cron"]) == (
        "example.com-ping",
        "crontab",
        "*/5 * * * *",
    )
    assert endpoint["headers"][0]["secret"] is True


def test_crontab_of_which_nothing_is_converted_ends_with_1(shell: Shell) -> None:
    refused = shell("import", "crontab", "-", stdin="@reboot /bin/backup\n")

    assert refused.exit_code == 1
    assert "nothing could be converted" in refused.stderr


def test_config_show_tells_where_settings_come_from_and_masks_secrets(shell: Shell) -> None:
    shown = shell.ok("config", "show", "--origin", "-o", "json", MAINSPRING_SECRET_KEY="a" * 44, MAINSPRING_PORT="9")

    rows = {row["name"]: (row["value"], row["origin"]) for row in json.loads(shown)}
    assert rows["MAINSPRING_PORT"] == ("9", "environment")
    assert rows["MAINSPRING_HOST"] == ("127.0.0.1", "default")
    assert rows["MAINSPRING_SECRET_KEY"] == ("••••", "environment")
    assert "a" * 44 not in shown
    assert "ORIGIN" not in shell.ok("config", "show")


def test_doctor_reads_the_watched_folder(shell: Shell, tmp_path: Path, file: Path) -> None:
    assert "ok       config folder" in shell("doctor", MAINSPRING_CONFIG_DIR=str(tmp_path)).output
    file.write_text(ONE.replace("every", "evry"))

    told = shell("doctor", MAINSPRING_CONFIG_DIR=str(tmp_path)).output

    assert "unknown key 'evry', did you mean 'every'?" in told

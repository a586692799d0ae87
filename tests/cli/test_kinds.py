"""Endpoints of every kind on the command line, here and through a server."""

import sys
from asyncio import to_thread
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from mainspring.domain.kinds.registry import KINDS
from tests.cli.local_and_remote import Pair
from tests.cli.shell import Shell
from tests.kind_samples import SAMPLES, TARGETS, options_of


@pytest.mark.parametrize("kind", SAMPLES)
async def test_each_kind_is_added_and_changed_here_as_through_a_server(pair: Pair, kind: str) -> None:
    for where, name in ((pair.near, "here"), (pair.far, "there")):
        await to_thread(where.ok, "endpoint", "add", name, "--every", "5m", *options_of(SAMPLES[kind]))
        await to_thread(where.ok, "endpoint", "edit", name, "--timeout", "3s")
    here, there = [await pair.json("endpoint", "show", name) for name in ("here", "there")]

    own = ("id", "name", "created_at", "updated_at", "next_run_at")
    assert {key: here[key] for key in here if key not in own} == {key: there[key] for key in there if key not in own}
    assert (here["target"], here["timeout_ms"]) == (TARGETS[kind], 3_000)


async def test_program_that_is_not_listed_is_refused_and_audited_here_as_through_a_server(
    pair: Pair, tmp_path: Path
) -> None:
    document = tmp_path / "it.yaml"
    document.write_text("endpoints: {it: {kind: command, command: [/bin/rm, -rf, /], every: 5m}}\n")
    crontab = tmp_path / "crontab"
    crontab.write_text("0 3 * * * /bin/rm -rf /\n")
    program = ("--kind", "command", "--command", "/bin/rm", "--command", "/")
    await to_thread(pair.near.add, "page")
    for where in (pair.near, pair.far):
        for command in (
            ("endpoint", "add", "it", "--every", "5m", *program),
            ("endpoint", "edit", "page", *program),
            ("apply", str(document)),
            ("diff", str(document)),
            ("import", "crontab", str(crontab), "--commands", "command", "--apply"),
        ):
            refused = await to_thread(where, *command)
            assert refused.exit_code != 0, command
            assert "program '/bin/rm' is not allowed" in refused.stderr, command
    audited = [each["actor"] for each in await pair.json("audit", "list") if each["act"] == "command.refused"]

    assert audited == ["key:all"] * 5 + ["cli"] * 5


def test_kinds_are_listed(shell: Shell) -> None:
    said = shell.ok("endpoint", "kinds")

    assert [line.split()[0] for line in said.splitlines()[1:]] == [kind.name for kind in KINDS]
    assert "host, port" in said


def test_help_groups_options_by_kind(shell: Shell) -> None:
    said = shell.ok("endpoint", "add", "--help")

    assert "Options of kind http:" in said
    assert "--port N" in said.partition("Options of kind http:")[2]


def test_endpoint_of_a_kind_is_shown_in_words(shell: Shell) -> None:
    shell.ok("endpoint", "add", "db", "--every", "5m", *options_of(SAMPLES["tcp"]))
    said = shell.ok("endpoint", "show", "db")

    assert "tcp db.example.com:5432 over TLS" in said
    assert "The target is tcp db.example.com:5432 over TLS." in shell.ok("why", "db")
    assert "body.bytes > 0" in said
    assert "None" not in said


def test_missing_url_is_asked_for(shell: Shell) -> None:
    assert "no url for 'db'; an endpoint of kind http needs one: give url" in shell.refused(
        "endpoint", "add", "db", "--every", "5m"
    )


async def test_ping_url_is_shown_rotated_and_revoked_here_as_through_a_server(pair: Pair) -> None:
    options = ("endpoint", "add", "backup", "--kind", "heartbeat", "--every", "1h")
    await to_thread(pair.near.ok, *options)
    first = await to_thread(pair.near.ok, "endpoint", "ping-url", "backup")
    same = await to_thread(pair.far.ok, "endpoint", "ping-url", "backup")
    second = await to_thread(pair.far.ok, "endpoint", "ping-url", "backup", "--rotate")
    revoked = await to_thread(pair.near.ok, "endpoint", "ping-url", "backup", "--revoke")
    refused = await to_thread(pair.far.refused, "endpoint", "ping-url", "backup", "--revoke", code=3)

    tokens = [urlsplit(each.strip()).path for each in (first, same, second)]
    assert (tokens[0], tokens[0].startswith("/ping/"), tokens[1] == tokens[2]) == (tokens[1], True, False)
    assert revoked == "revoked the ping URL of 'backup'\n"
    assert refused.startswith("no ping URL 'backup'")


def test_ping_url_without_a_public_url_says_where_its_address_comes_from(shell: Shell) -> None:
    shell.ok("endpoint", "add", "backup", "--kind", "heartbeat", "--every", "1h")
    shell.env["MAINSPRING_PORT"] = "8123"
    guessed = shell("endpoint", "ping-url", "backup")
    shell.env["MAINSPRING_PUBLIC_URL"] = "https://mainspring.example.com"
    known = shell("endpoint", "ping-url", "backup")

    assert guessed.stdout.startswith("http://127.0.0.1:8123/ping/")
    assert "comes from MAINSPRING_HOST and MAINSPRING_PORT" in guessed.stderr
    assert known.stdout.startswith("https://mainspring.example.com/ping/")
    assert known.stderr == ""


async def test_endpoint_that_a_callback_completes_is_written_and_shown_here_as_through_a_server(pair: Pair) -> None:
    options = ("--url", "https://example.com/import", "--every", "1h", "--completes", "callback")
    await to_thread(pair.near.ok, "endpoint", "add", "import", *options)
    await to_thread(pair.far.ok, "endpoint", "edit", "import", "--callback-timeout", "6h")
    shown = await pair.json("endpoint", "show", "import")

    assert (shown["completes"], shown["callback_timeout_ms"]) == ("callback", 21_600_000)
    assert "callback" in await to_thread(pair.near.ok, "endpoint", "show", "import")


def test_next_time_of_a_heartbeat_is_called_its_deadline(shell: Shell) -> None:
    added = shell.ok("endpoint", "add", "backup", "--kind", "heartbeat", "--every", "1h")
    shown, explained = shell.ok("endpoint", "show", "backup"), shell.ok("why", "backup")

    assert "; deadline 20" in added
    assert "\ndeadline " in shown
    assert "next run" not in added + shown
    assert "The target" not in explained


def test_defaults_that_differ_by_kind_are_not_shown(shell: Shell) -> None:
    shell.ok("endpoint", "add", "site", "--url", "https://example.com/", "--every", "1h")
    assert "warn days" not in shell.ok("endpoint", "show", "site")

    shell.ok("endpoint", "edit", "site", "--warn-days", "14")
    assert "warn days" in shell.ok("endpoint", "show", "site")


@pytest.mark.skipif(sys.platform == "win32", reason="kind command needs Linux or macOS")
def test_exit_code_of_a_program_that_was_ended_is_called_one(shell: Shell) -> None:
    shell.env["MAINSPRING_COMMANDS"] = "/bin/sleep = default"
    program = ("--kind", "command", "--command", "/bin/sleep", "--command", "600", "--timeout", "300ms")
    shell.ok("endpoint", "add", "nap", "--every", "1h", *program)
    tested = shell("endpoint", "test", "nap")
    shown = shell.ok("run", "show", shell.json("runs", "nap")[0]["id"])

    assert tested.exit_code == 1
    assert "exit code 143" in tested.stdout
    assert "exit code 143" in shown
    assert "HTTP" not in tested.stdout + shown

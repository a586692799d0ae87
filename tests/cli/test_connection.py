"""`mainspring connection ...`, beside the database and through a server."""

import asyncio
from pathlib import Path

from tests.cli.local_and_remote import Pair, same
from tests.cli.shell import Shell

BASE = "https://billing.example.com/v1"
ADD = ("connection", "add", "billing", BASE, "--auth", "header", "--header", "X-Api-Key", "--secret")


def test_added_connection_is_shown_without_its_secret(any_shell: Shell) -> None:
    said = any_shell.ok(*ADD, "canary-Zq81")
    shown = any_shell.ok("connection", "show", "billing")
    listed = any_shell.json("connection", "list")

    assert said == "added connection 'billing': use it with `endpoint add --connection billing`\n"
    assert "••••" in shown
    assert "canary" not in said + shown + str(listed) + any_shell.ok("events", "-o", "json")
    assert [(each["name"], each["auth"], each["secret"]) for each in listed] == [("billing", "header", "••••")]


def test_secret_is_read_from_a_file_or_standard_input(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("canary-Zq81\n")
    shell.ok(*ADD, f"@{tmp_path / 'key'}")
    before = shell.json("connection", "show", "billing")
    again = shell.json("connection", "edit", "billing", "--secret", "canary-Zq81")
    shell.ok("connection", "edit", "billing", "--secret", "@-", stdin="another\n")

    assert again["version"] == before["version"]
    assert shell.json("connection", "show", "billing")["version"] == before["version"] + 1


def test_endpoint_uses_a_path_and_the_connection_in_use_stays(shell: Shell) -> None:
    shell.ok(*ADD, "s3cret")
    added = shell.add("invoices", "--connection", "billing", url="/invoices")

    assert (added["url"], added["connection"]) == (f"{BASE}/invoices", "billing")
    assert "used by endpoint 'invoices'" in shell.refused("connection", "delete", "billing", code=4)
    assert "endpoint invoices" in shell.ok("connection", "show", "billing")
    shell.ok("endpoint", "archive", "invoices")
    assert shell.ok("connection", "delete", "billing") == "deleted connection 'billing'\n"


def test_refusals_name_the_way_out(shell: Shell) -> None:
    shell.ok(*ADD, "s3cret")

    assert "give it again, or keep auth and the origins" in shell.refused(
        "connection", "edit", "billing", "--base-url", "https://evil.example.com/"
    )
    assert "proxy 'corp' is not one that the operator allows" in shell.refused(
        "connection", "edit", "billing", "--proxy", "corp"
    )


async def test_test_shows_phases_and_never_the_secret(pair: Pair, hostile_url: str) -> None:
    near = pair.near
    near.env |= {"MAINSPRING_ALLOW_CIDRS": "127.0.0.0/8"}
    added = await asyncio.to_thread(
        near, "connection", "add", "echo", hostile_url, "--auth", "basic", "--username", "ann", "--secret", "canary-1"
    )
    tested = await asyncio.to_thread(near, "connection", "test", "echo", "/echo")

    assert added.exit_code == 0, added.output
    assert tested.exit_code == 0, tested.output
    assert "HTTP 200" in tested.stdout
    assert "first byte" in tested.stdout
    assert "canary" not in tested.stdout
    for command in (("connection", "list"), ("connection", "show", "echo")):
        await same(pair, *command)


async def test_every_verb_works_through_a_server(pair: Pair) -> None:
    far = pair.far
    for command in (
        (*ADD, "s3cret"),
        ("connection", "edit", "billing", "--description", "for invoices", "--secret", "another"),
        ("endpoint", "add", "invoices", "--url", "/invoices", "--every", "1m", "--connection", "billing"),
    ):
        ended = await asyncio.to_thread(far, *command)
        assert ended.exit_code == 0, ended.output
    await same(pair, "connection", "show", "billing")
    refused = await asyncio.to_thread(far, "connection", "delete", "billing")
    assert "used by endpoint 'invoices'" in refused.output

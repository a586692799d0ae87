"""Options that name an environment variable or a file: read here, beside the database and through a server."""

import asyncio
from pathlib import Path

from tests.cli.local_and_remote import Pair
from tests.cli.shell import Shell

ADD = ("endpoint", "add", "health", "--url", "https://example.com/", "--every", "1h", "--method", "POST")


async def test_header_reads_the_environment_and_files_of_the_caller(pair: Pair, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("from a file\n")
    for number, shell in enumerate((pair.near, pair.far)):
        shell.env["SHOP_TOKEN"] = "from the environment"
        headers = ("--header", "X-Env: a ${env:SHOP_TOKEN}", "--header", f"X-File: ${{file:{secret}}}")
        plain = ("--header", "X-Plain: $${env:SHOP_TOKEN}")
        shape = await asyncio.to_thread(shell.json, *ADD[:2], f"health {number}", *ADD[3:], *headers, *plain)

        values = {header["name"]: header["value"] for header in shape["headers"]}
        assert values == {"X-Env": "a from the environment", "X-File": "from a file", "X-Plain": "${env:SHOP_TOKEN}"}


def test_body_is_read_from_a_file_or_standard_input(any_shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "body.json"
    file.write_text('{"a": "${env:X}"}')

    assert any_shell.json(*ADD, "--body", f"@{file}")["body"] == '{"a": "${env:X}"}'
    any_shell.ok("endpoint", "edit", "health", "--body", "@-", stdin="from a pipe")
    assert any_shell.json("endpoint", "show", "health")["body"] == "from a pipe"
    assert any_shell.json("endpoint", "edit", "health", "--body", "@@handle")["body"] == "@handle"


def test_zone_of_an_endpoint_with_an_interval_cannot_be_edited(shell: Shell) -> None:
    shell.add("health")
    shell.add("nightly", "--cron", "0 3 * * *")

    assert "has no effect on an interval" in shell.refused("endpoint", "edit", "health", "--timezone", "Europe/Berlin")
    assert "has no effect on an interval" in shell.refused(
        "endpoint", "edit", "nightly", "--every", "1h", "--timezone", "Europe/Berlin"
    )
    assert shell.json("endpoint", "edit", "nightly", "--timezone", "Europe/Berlin")["timezone"] == "Europe/Berlin"
    moved = shell.json("endpoint", "edit", "health", "--cron", "0 4 * * *", "--timezone", "Europe/Berlin")
    assert moved["timezone"] == "Europe/Berlin"


async def test_tenant_that_is_not_the_one_of_the_key_is_refused_with_a_server(pair: Pair) -> None:
    pair.far.env["MAINSPRING_TENANT"] = "acme"
    for command in (("endpoint", "list"), ADD, ("runs",)):
        message = await asyncio.to_thread(pair.far.refused, *command)

        assert message == (
            "MAINSPRING_TENANT is 'acme', but the API key acts in the tenant 'default'; with --server the key decides: "
            "use a key of 'acme', or unset MAINSPRING_TENANT"
        )
    pair.far.env["MAINSPRING_TENANT"] = "default"
    assert (await pair.json("endpoint", "list")) == []

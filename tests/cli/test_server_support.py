"""Every command has its operation of the API, or a reason to be local that it gives itself."""

import pytest
from tools.reference import commands

from mainspring.cli.server_support import ANYWHERE, BY_API, HERE
from mainspring.client.table import OPERATIONS
from tests.cli.shell import Shell

COMMANDS = [name.removeprefix("mainspring ") for name, _ in commands()]
NEEDED = {"restore": ("x",), "backup": ("x",), "move": ("--to", "sqlite:///new.db")}


def test_every_command_can_be_done_with_curl_or_says_why_not() -> None:
    assert sorted([*HERE, *ANYWHERE, *BY_API]) == sorted(COMMANDS)


def test_every_operation_that_is_named_exists() -> None:
    assert {each for operations in BY_API.values() for each in operations} - {each.id for each in OPERATIONS} == set()


@pytest.mark.parametrize("command", HERE)
def test_command_that_works_here_alone_refuses_a_server(command: str) -> None:
    result = Shell({})("--server", "http://127.0.0.1:1", *command.split(), *NEEDED.get(command, ()))

    assert result.exit_code == 1
    assert f"does not work through the server 'http://127.0.0.1:1': {HERE[command]}" in result.output

"""Every list is a JSON array with -o json, whatever it lists, beside the database and through a server."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from mainspring.cli.main import app
from mainspring.cli.server_support import HERE
from tests.cli.local_and_remote import Pair
from tests.cli.shell import Shell

OTHERS = [("runs",), ("events",), ("next", "health"), ("simulate",), ("doctor",), ("settings",), ("config", "show")]


def lists(group: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every command that is called `list`."""
    found: Any = group or get_command(app)
    for name, command in found.commands.items():
        if hasattr(command, "commands"):
            yield from lists(command, (*path, name))
        elif name == "list":
            yield *path, name


def test_every_list_is_a_json_array(any_shell: Shell) -> None:
    any_shell.add("health")
    commands = [*lists(), *OTHERS]
    assert len(commands) > 15
    for command in commands:
        answer = json.loads(any_shell(*command, "-o", "json").stdout)

        assert isinstance(answer, list), command
        assert all(isinstance(item, dict) for item in answer), command


async def test_every_list_is_a_json_array_through_a_server(pair: Pair) -> None:
    pair.far.env["MAINSPRING_API_KEY"] = "operator"
    for command in lists():
        if " ".join(command) not in HERE:
            assert isinstance(await asyncio.to_thread(pair.far.json, *command), list), command


async def test_usage_of_the_model_is_told_beside_its_sessions(pair: Pair) -> None:
    assert set(await pair.json("sessions", "usage")) == {"month", "sessions", "tokens", "cost_usd"}
    near, far = await pair.both("sessions", "usage")
    assert far == near

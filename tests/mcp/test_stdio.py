"""`mainspring mcp` as an assistant's program starts it: a real process, spoken to over its standard streams."""

import asyncio
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mainspring.settings import load_settings
from mainspring.wiring.stores import open_stores
from mcp import Client, StdioServerParameters
from tests.cli.shell import Shell
from tests.harness.processes import COMMAND, clean_environment
from tests.harness.waiting import until_true
from tests.mcp.conftest import Assistant
from tests.peers.hostile import HostilePeer

INITIALIZE = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},'
    b'"clientInfo":{"name":"hand","version":"1"}}}\n'
)


@pytest.fixture(params=["sqlite", "postgres"])
def environment(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    settings = {"MAINSPRING_DATA_DIR": str(tmp_path / "data"), "MAINSPRING_ALLOW_CIDRS": "127.0.0.0/8"}
    if request.param == "postgres":
        settings["MAINSPRING_DATABASE_URL"] = request.getfixturevalue("postgres_url")
    return settings


@asynccontextmanager
async def started(environment: dict[str, str], *options: str) -> AsyncIterator[Assistant]:
    command, *arguments = COMMAND
    server = StdioServerParameters(
        command=command, args=[*arguments, "mcp", *options], env=clean_environment() | environment
    )
    async with Client(server) as client:
        yield Assistant(client)


async def test_first_endpoint_is_made_tried_and_explained(environment: dict[str, str], peer: HostilePeer) -> None:
    async with started(environment) as assistant:
        checked = await assistant("check_endpoint", url=peer.url("/ok"))
        await assistant("create_endpoint", name="health", url=peer.url("/ok"), every="5m")
        tested = await assistant("test_endpoint", endpoint="health")
        run = await assistant("get_run", run=tested["run"]["id"])
        reasons = await assistant("why", endpoint="health")
        pages = (await assistant.client.list_resources()).resources

    assert checked["status"] == tested["outcome"]["status"] == run["status"] == "success"
    assert any("No scheduler is alive" in sentence for sentence in reasons["sentences"])
    assert pages
    events = await asyncio.to_thread(Shell(environment).json, "events")
    assert {(event["endpoint"], event["actor"]) for event in events} == {(None, "mcp"), ("health", "mcp")}


async def test_assistant_shows_life_while_it_is_there(environment: dict[str, str]) -> None:
    async with started(environment), open_stores(load_settings(environment).url) as stores:

        async def is_seen() -> bool:
            return [row.kind for row in await stores.presence.alive()] == ["mcp"]

        await until_true(is_seen, "it is seen")


async def test_assistant_has_the_scopes_it_was_given(tmp_path: Path) -> None:
    async with started({"MAINSPRING_DATA_DIR": str(tmp_path)}, "--scopes", "read") as assistant:
        listed = (await assistant.client.list_tools()).tools
        refusal = await assistant.refused("create_endpoint", name="h", url="https://e.com/", every="1m")

    assert all(tool.annotations is not None and tool.annotations.read_only_hint for tool in listed)
    assert refusal.startswith("this needs the scope write, and mcp has read")


def test_standard_output_carries_nothing_but_the_protocol_and_its_end_ends_the_process(tmp_path: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "mcp"],
        input=INITIALIZE + b"this is not JSON\n",
        env=clean_environment() | {"MAINSPRING_DATA_DIR": str(tmp_path), "MAINSPRING_LOG_LEVEL": "debug"},
        capture_output=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stderr.decode()
    assert all(line.startswith(b'{"jsonrpc"') for line in done.stdout.splitlines())
    assert b'"serverInfo":{"name":"mainspring"' in done.stdout
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("scopes", "words"),
    [
        ("read,wirte", "unknown scope 'wirte', did you mean 'write'?"),
        ("everything", "unknown scope 'everything'; choose from read, run, write, admin"),
        (" , ", "no scope was given"),
    ],
)
def test_scopes_that_do_not_exist_are_refused(tmp_path: Path, scopes: str, words: str) -> None:
    shell = Shell({"MAINSPRING_DATA_DIR": str(tmp_path)})

    assert words in shell.refused("mcp", "--scopes", scopes)

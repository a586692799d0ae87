"""The real commands, in this process, against a real database in a folder of the test's own."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.cli.local_and_remote import Pair, open_pair
from tests.cli.shell import Shell
from tests.harness.processes import Processes


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """Commands against a new SQLite file."""
    return Shell({"MAINSPRING_DATA_DIR": str(tmp_path / "data")})


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """Settings that name a new database of each kind."""
    settings = {"MAINSPRING_DATA_DIR": str(tmp_path / "data")}
    if request.param == "postgres":
        settings["MAINSPRING_DATABASE_URL"] = request.getfixturevalue("postgres_url")
    return settings


@pytest.fixture
def any_shell(database: dict[str, str]) -> Shell:
    """Commands against each kind of database."""
    return Shell(database)


@pytest.fixture
def hostile_url(processes: Processes) -> str:
    """A peer that misbehaves as the path asks."""
    peer = processes.start_command([sys.executable, "-m", "tests.peers.hostile", "--port", "0"])
    return f"http://127.0.0.1:{peer.wait_for(str.isdigit)}"


@pytest.fixture(params=["sqlite", "postgres"])
async def pair(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Pair]:
    """One installation on each kind of database, beside it and through its server."""
    url = request.getfixturevalue("postgres_url") if request.param == "postgres" else ""
    async with open_pair(tmp_path, url) as opened:
        yield opened

"""Two real servers on one PostgreSQL: what ends in one has ended in the other, and guesses are counted in both."""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.cli.shell import Shell
from tests.harness.processes import Processes

SESSION = "/api/v1/auth/session"


@pytest.fixture
def shell(postgres_url: str, tmp_path: Path) -> Shell:
    return Shell({"MAINSPRING_DATA_DIR": str(tmp_path / "data"), "MAINSPRING_DATABASE_URL": postgres_url})


@pytest.fixture
def servers(shell: Shell, processes: Processes) -> Iterator[list[httpx2.Client]]:
    shell.ok("migrate")  # also makes the key file, once for both
    env = {name: value for name, value in shell.env.items() if value is not None} | {"MAINSPRING_PORT": "0"}
    started = [processes.start("serve", env=env) for _ in range(2)]
    clients = []
    for server in started:
        address = re.search(r"http://[\w.:]+", server.wait_for("listening on http://"))
        assert address is not None
        clients.append(httpx2.Client(base_url=address[0], timeout=60))
    yield clients
    for client in clients:
        client.close()


def test_revoked_key_is_refused_at_once_by_both_and_its_stream_ends(servers: list[httpx2.Client], shell: Shell) -> None:
    one, other = servers
    admin = {"Authorization": f"Bearer {made(shell, 'read', 'write', 'admin')['key']}"}
    victim = made(shell, "read")
    theirs = {"Authorization": f"Bearer {victim['key']}"}
    assert [client.get(SESSION, headers=theirs).status_code for client in servers] == [200, 200]

    with other.stream("GET", "/api/v1/events/stream", headers=theirs) as stream:
        lines = stream.iter_lines()
        assert next(lines).startswith("retry:")
        assert one.delete(f"/api/v1/keys/{victim['id']}", headers=admin).status_code == 200
        assert [client.get(SESSION, headers=theirs).status_code for client in (other, one)] == [401, 401]
        assert [line for line in lines if line.startswith("event: api_key")] == []  # and it comes to its end


def test_guesses_at_a_password_are_counted_over_both(servers: list[httpx2.Client], shell: Shell) -> None:
    shell.ok("user", "add", "ann@example.com", "--password-stdin", stdin="four words in a row\n")
    guess = {"email": "ann@example.com", "password": "not those four words"}
    statuses = [servers[n % 2].post("/api/v1/auth/login", json=guess).status_code for n in range(8)]

    assert statuses == [401] * 5 + [429] * 3


def made(shell: Shell, *scopes: str) -> dict[str, str]:
    options = [part for scope in scopes for part in ("--scope", scope)]
    return dict(shell.json("apikey", "create", "test", *options))

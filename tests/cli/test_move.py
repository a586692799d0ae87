"""`mainspring move`: what a person sees, and that everything works in the new database."""

import json
from pathlib import Path

import pytest

from tests.cli.shell import Shell
from tests.cli.test_workflow import DOCUMENT, INPUT


@pytest.fixture(params=["sqlite to postgres", "postgres to sqlite"])
def urls(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str]:
    found = f"sqlite://{tmp_path}/one.db", str(request.getfixturevalue("postgres_url"))
    return found if request.param == "sqlite to postgres" else found[::-1]


def shell_on(url: str, folder: Path) -> Shell:
    return Shell({"MAINSPRING_DATA_DIR": str(folder), "MAINSPRING_DATABASE_URL": url})


def fill(shell: Shell) -> str:
    """Something of everything that a person makes; returns the id of an execution."""
    shell.add("health", "--secret-header", "X-Key: s3cret", "--description", "the shop")
    shell.add("paused", "--every", "30s")
    shell.ok("endpoint", "pause", "paused", "--reason", "holiday")
    shell.ok("hint", "interval", "health", "30s", "--ttl", "1h", "--reason", "sale")
    shell.ok("webhook", "add", "https://example.com/hook", "--name", "ops")
    shell.ok("signing-key", "create")
    shell.ok("tenant", "create", "acme")
    shell.ok("user", "add", "ada@example.com", "--password-stdin", stdin="a long enough passphrase\n")
    shell.ok("workflow", "publish", str(DOCUMENT))
    return str(shell.json("workflow", "start", "order-follow-up", "--input", INPUT, "--correlation", "order-7")["id"])


def seen(shell: Shell, execution_id: str) -> dict[str, object]:
    commands: dict[str, tuple[str, ...]] = {
        "endpoints": ("endpoint", "list"),
        "health": ("endpoint", "show", "health"),
        "webhooks": ("webhook", "list"),
        "tenants": ("tenant", "list"),
        "users": ("user", "list"),
        "workflows": ("workflow", "list"),
        "execution": ("execution", "show", execution_id),
        "audit": ("audit", "list"),
        "events": ("events",),
        "keys": ("secret-key", "show"),
    }
    return {name: shell.json(*command) for name, command in commands.items()}


def test_everything_is_seen_in_the_new_database_and_the_old_one_refuses(urls: tuple[str, str], tmp_path: Path) -> None:
    old, new = (shell_on(url, tmp_path) for url in urls)
    execution_id = fill(old)
    before = seen(old, execution_id)

    told = old("move", "--to", urls[1], "--drain", "0s")

    assert told.exit_code == 0, told.output
    assert "verified the logs of" in told.stdout
    assert "rows read, paused for" in told.stdout
    assert seen(new, execution_id) == before
    assert "valid" in new.ok("audit", "verify")
    assert "valid" in new.ok("execution", "verify", execution_id)
    refused = old.refused("endpoint", "list", code=78)
    assert refused.startswith("this installation has moved to ")
    assert "set MAINSPRING_DATABASE_URL to it" in refused
    assert old.refused("endpoint", "pause", "health", code=78) == refused


def test_password_of_the_target_is_not_written_into_the_source(shell: Shell, postgres_url: str, tmp_path: Path) -> None:
    shell.add("health")
    password = postgres_url.partition("://")[2].partition("@")[0].partition(":")[2]
    shell.ok("move", "--to", postgres_url, "--drain", "0s")

    refused = shell.refused("endpoint", "list", code=78)

    assert password
    assert password not in refused
    assert password.encode() not in (tmp_path / "data" / "mainspring.db").read_bytes()


def test_dry_run_counts_and_writes_nothing(urls: tuple[str, str], tmp_path: Path) -> None:
    old = shell_on(urls[0], tmp_path)
    old.add("health")
    shell_on(urls[1], tmp_path).ok("migrate")

    found = json.loads(old.ok("move", "--to", urls[1], "--dry-run", "-o", "json"))
    shown = old.ok("move", "--to", urls[1], "--dry-run")

    assert found["tables"]["endpoint"] == 1
    assert "endpoint: 1" in shown
    assert old.json("endpoint", "list")[0]["name"] == "health"
    assert shell_on(urls[1], tmp_path).json("endpoint", "list") == []


def test_target_must_be_another_database_and_the_key_the_right_one(shell: Shell, tmp_path: Path) -> None:
    shell.add("health", "--secret-header", "X-Key: s3cret")
    url = f"sqlite://{tmp_path}/data/mainspring.db"

    assert "is the database of MAINSPRING_DATABASE_URL; name another" in shell.refused("move", "--to", url)
    (tmp_path / "data" / "secret.key").unlink()
    refused = shell.refused("move", "--to", f"sqlite://{tmp_path}/new.db", code=78)
    assert "encrypted with key" in refused


def test_unfinished_move_is_given_up(shell: Shell, tmp_path: Path) -> None:
    shell.add("health")
    new = f"sqlite://{tmp_path}/new.db"
    shell_on(new, tmp_path / "data").ok("migrate")

    assert "the source is in service" in shell.ok("move", "--to", new, "--abort")
    assert "exclude each other" in shell.refused("move", "--to", new, "--abort", "--dry-run")

"""Backup and restore: the whole database under load, verified, never over what is there, fenced against the old one."""

import json
import os
import re
from pathlib import Path

import apsw
import pytest

from tests.cli.shell import Shell
from tests.harness.postgres import Cluster, find_binaries
from tests.harness.processes import Processes

BUSY_YEARS = "DO $$ BEGIN FOR n IN 1..5000 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$"
POSITIONS = ("outbox_position", "trigger_position", "planner_cursor")
LEFT = """SELECT events::json -> 0 -> 'data' ->> 'name' FROM event, {} AS place
WHERE seq > split_part(cursor, ':', 1)::bigint ORDER BY seq"""


def test_backup_is_one_private_file_and_restores_everything(shell: Shell, tmp_path: Path) -> None:
    shell.add("health", "--secret-header", "X-Key: s3cret")
    before = shell.json("endpoint", "list")
    file = tmp_path / "backup.db"

    shell.ok("backup", str(file))
    shell.ok("endpoint", "delete", "health", "--yes")
    restored = json.loads(shell.ok("restore", str(file), "--force", "-o", "json"))

    assert restored["installation_id"].startswith("inst_")
    assert shell.json("endpoint", "list") == before
    assert file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir() if "backup" in path.name] == ["backup.db"]


def test_restore_fences_the_workers_of_the_old_installation(shell: Shell, tmp_path: Path) -> None:
    shell.add("health")
    file = tmp_path / "backup.db"
    shell.ok("backup", str(file))

    shell.ok("restore", str(file), MAINSPRING_DATABASE_URL=f"sqlite://{tmp_path}/new.db")

    new = apsw.Connection(str(tmp_path / "new.db"))
    epochs = list(new.execute("SELECT claim_epoch FROM schedule"))
    new.close()
    assert epochs == [(1_000_000,)]


def test_nothing_is_overwritten_unasked(shell: Shell, tmp_path: Path) -> None:
    shell.add("health")
    file = tmp_path / "backup.db"
    file.write_text("mine")

    assert "exists; give another name, or overwrite it with --force" in shell.refused("backup", str(file), code=4)
    assert file.read_text() == "mine"
    shell.ok("backup", str(file), "--force")
    assert "stop what runs on it and overwrite it with --force" in shell.refused("restore", str(file), code=4)


def test_database_in_use_is_not_replaced_even_by_force(shell: Shell, tmp_path: Path) -> None:
    shell.add("health")
    file = tmp_path / "backup.db"
    shell.ok("backup", str(file))
    running = apsw.Connection(str(tmp_path / "data" / "mainspring.db"))
    running.execute("UPDATE endpoint SET description = 'newer'")

    refused = shell.refused("restore", str(file), "--force", code=4)
    kept = shell.json("endpoint", "show", "health")["description"]
    running.close()

    assert "is in use by another process; stop it" in refused
    assert kept == "newer"
    shell.ok("restore", str(file), "--force")


def test_damaged_database_is_replaced_by_force(shell: Shell, tmp_path: Path) -> None:
    shell.add("health")
    file = tmp_path / "backup.db"
    shell.ok("backup", str(file))
    (tmp_path / "data" / "mainspring.db").write_bytes(b"nonsense" * 1_000)

    shell.ok("restore", str(file), "--force")

    assert [endpoint["name"] for endpoint in shell.json("endpoint", "list")] == ["health"]


@pytest.mark.parametrize("content", [b"nonsense", b"", b"SQLite format 3\x00" + bytes(200)])
def test_what_is_no_backup_is_refused_and_changes_nothing(shell: Shell, tmp_path: Path, content: bytes) -> None:
    shell.add("health")
    (tmp_path / "bad").write_bytes(content)

    assert "cannot be used" in shell.refused("restore", str(tmp_path / "bad"), "--force")
    assert len(shell.json("endpoint", "list")) == 1


def test_backup_is_one_snapshot_while_others_write(shell: Shell, tmp_path: Path) -> None:
    shell.add("health")
    writer = apsw.Connection(str(tmp_path / "data" / "mainspring.db"))
    writer.execute("BEGIN IMMEDIATE; UPDATE endpoint SET description = 'half'")

    shell.ok("backup", str(tmp_path / "backup.db"))

    writer.execute("ROLLBACK")
    writer.close()
    copy = apsw.Connection(str(tmp_path / "backup.db"))
    assert list(copy.execute("SELECT description FROM endpoint")) == [("",)]
    copy.close()


def a_shell(folder: Path, url: str) -> Shell:
    """With the tools that came with the server, so that they are as new as it is."""
    path = f"{find_binaries()}:{os.environ['PATH']}"
    return Shell({"MAINSPRING_DATA_DIR": str(folder), "MAINSPRING_DATABASE_URL": url, "PATH": path})


def test_postgres_is_dumped_and_restored_into_an_empty_database(
    tmp_path: Path, postgres_url: str, postgres_empty_url: str, postgres_cluster: Cluster
) -> None:
    old, new = a_shell(tmp_path, postgres_url), a_shell(tmp_path, postgres_empty_url)
    old.add("health")
    old.ok("backup", str(tmp_path / "dump"))

    new.ok("restore", str(tmp_path / "dump"))

    assert new.json("endpoint", "list") == old.json("endpoint", "list")
    epochs = postgres_cluster.execute("SELECT claim_epoch FROM schedule", postgres_empty_url.rpartition("/")[2])
    assert epochs.strip() == "1000000"
    assert "the database is not empty" in new.refused("restore", str(tmp_path / "dump"), code=4)
    new.ok("restore", str(tmp_path / "dump"), "--force")


def test_postgres_is_not_restored_while_a_process_is_present(
    tmp_path: Path, postgres_url: str, processes: Processes
) -> None:
    shell = a_shell(tmp_path, postgres_url)
    shell.add("health")
    shell.ok("backup", str(tmp_path / "dump"))
    shell.ok("endpoint", "edit", "health", "--description", "newer")
    env = {name: value for name, value in shell.env.items() if value is not None}
    server = processes.start("serve", env=env | {"MAINSPRING_PORT": "0"})
    server.wait_for("listening on http://")

    refused = shell.refused("restore", str(tmp_path / "dump"), "--force", code=4)
    kept = shell.json("endpoint", "show", "health")["description"]
    server.terminate()

    assert re.match(
        r"the database is in use by \d+ connections of Mainspring from 127\.0\.0\.1, the first since", refused
    )
    assert kept == "newer"
    shell.ok("restore", str(tmp_path / "dump"), "--force")
    assert shell.json("endpoint", "show", "health")["description"] == ""


def test_behind_a_bouncer_heartbeats_say_that_a_process_is_present(
    tmp_path: Path, postgres_url: str, postgres_cluster: Cluster
) -> None:
    shell = a_shell(tmp_path, postgres_url)
    shell.env["MAINSPRING_PGBOUNCER"] = "true"
    shell.add("health")
    shell.ok("backup", str(tmp_path / "dump"))
    name, row = postgres_url.rpartition("/")[2], "('host-1-abc', 'scheduler', 1, clock_timestamp(), clock_timestamp())"
    postgres_cluster.execute(f"INSERT INTO worker VALUES {row}", name)

    refused = shell.refused("restore", str(tmp_path / "dump"), "--force", code=4)
    postgres_cluster.execute("UPDATE worker SET seen_at = seen_at - interval '1 minute'", name)

    assert "in use by host-1-abc, alive in the last 15 s" in refused
    shell.ok("restore", str(tmp_path / "dump"), "--force")


def test_backup_of_a_server_that_is_away_is_5(tmp_path: Path) -> None:
    shell = a_shell(tmp_path, "postgresql://u:hunter2@127.0.0.1:1/x")

    message = shell.refused("backup", str(tmp_path / "dump"), code=5)

    assert message.startswith("pg_dump failed: ")
    assert message.endswith(
        "try again when it is back, or set MAINSPRING_DATABASE_URL, which is postgresql://u:••••@127.0.0.1:1/x"
    )
    assert "hunter2" not in message
    assert not (tmp_path / "dump").exists()


def test_on_another_server_old_events_are_there_and_new_ones_follow_them(
    tmp_path: Path, postgres_url: str, postgres_cluster: Cluster
) -> None:
    """A server counts its transactions on its own; the order of events does not depend on that."""
    name = postgres_url.rpartition("/")[2]
    old = a_shell(tmp_path, postgres_url)
    old.add("first")
    postgres_cluster.execute(BUSY_YEARS)
    old.add("second")
    (*_, seen, _) = postgres_cluster.execute("SELECT seq FROM event ORDER BY seq", name).split()
    for table, cursor in (("outbox_position", f"{seen}:0"), ("trigger_position", f"{seen}:0")):
        postgres_cluster.execute(f"INSERT INTO {table} (id, cursor) VALUES (1, '{cursor}')", name)
    postgres_cluster.execute(f"INSERT INTO planner_cursor (name, cursor) VALUES ('test', '{seen}')", name)
    old.ok("backup", str(tmp_path / "dump"))

    with Cluster() as cluster:
        new = a_shell(tmp_path, cluster.create_database("restored"))
        new.ok("restore", str(tmp_path / "dump"))
        new.add("third")
        told = [event["data"]["name"] for event in new.json("events") if event["type"] == "endpoint.created"]
        left = {table: cluster.execute(LEFT.format(table), "restored").split() for table in POSITIONS}

    assert told == ["first", "second", "third"]
    assert left == {table: ["second", "third"] for table in POSITIONS}


def test_file_or_folder_that_is_not_there_is_told_before_anything_else(shell: Shell, tmp_path: Path) -> None:
    shell.add("health")

    backup = shell.refused("backup", str(tmp_path / "nowhere" / "file"))
    restore = shell.refused("restore", str(tmp_path / "file"))

    assert backup == f"directory {tmp_path / 'nowhere'} does not exist; create it, or name another"
    assert restore == f"file {tmp_path / 'file'} does not exist; name one that `mainspring backup` wrote"

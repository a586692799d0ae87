"""Backup and restore: the whole database under load, verified, never over what is there, fenced against the old one."""

import json
import os
import shutil
from pathlib import Path

import apsw
import pytest

from tests.cli.shell import Shell
from tests.harness.postgres import Cluster, find_binaries


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


def test_postgres_is_dumped_and_restored_into_an_empty_database(
    tmp_path: Path, postgres_url: str, postgres_empty_url: str, postgres_cluster: Cluster
) -> None:
    tools = {"MAINSPRING_DATA_DIR": str(tmp_path), "PATH": f"{find_binaries()}:{os.environ['PATH']}"}
    if shutil.which("pg_dump", path=tools["PATH"]) is None:
        pytest.skip("pg_dump is not installed")
    old = Shell({**tools, "MAINSPRING_DATABASE_URL": postgres_url})
    new = Shell({**tools, "MAINSPRING_DATABASE_URL": postgres_empty_url})
    old.add("health")
    made = old("backup", str(tmp_path / "dump"))
    if "server version mismatch" in made.stderr:
        pytest.skip("pg_dump is older than the server")
    assert made.exit_code == 0, made.output

    new.ok("restore", str(tmp_path / "dump"))

    assert new.json("endpoint", "list") == old.json("endpoint", "list")
    epochs = postgres_cluster.execute("SELECT claim_epoch FROM schedule", postgres_empty_url.rpartition("/")[2])
    assert epochs.strip() == "1000000"
    assert "the database is not empty" in new.refused("restore", str(tmp_path / "dump"), code=4)
    new.ok("restore", str(tmp_path / "dump"), "--force")


def test_file_or_folder_that_is_not_there_is_told_before_anything_else(shell: Shell, tmp_path: Path) -> None:
    shell.add("health")

    backup = shell.refused("backup", str(tmp_path / "nowhere" / "file"))
    restore = shell.refused("restore", str(tmp_path / "file"))

    assert backup == f"there is no folder {tmp_path / 'nowhere'}; make it, or name another"
    assert restore == f"there is no file {tmp_path / 'file'}; name one that `mainspring backup` wrote"

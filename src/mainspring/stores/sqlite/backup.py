"""Copy an SQLite database into one file while it is in use, and restore a database from such a file."""

import os
from contextlib import suppress
from pathlib import Path

import apsw

from mainspring.domain.errors import Conflict, InvalidInput
from mainspring.stores.sqlite.connection import UNUSABLE, SqliteConnection


def back_up(database: Path, target: Path) -> None:
    """SQLite's online backup in one step: one snapshot, which no writer waits for. Verified before it gets its name."""
    unfinished = target.with_name(f".{target.name}.unfinished")
    unfinished.unlink(missing_ok=True)
    source = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        os.close(_private(unfinished))
        copy = apsw.Connection(str(unfinished))
        try:
            with copy.backup("main", source, "main") as backup:
                while not backup.done:
                    backup.step(-1)
            copy.pragma("journal_mode", "delete")  # one file, without a journal
        finally:
            copy.close()
        verify(unfinished)
        unfinished.replace(target)
    finally:
        source.close()
        unfinished.unlink(missing_ok=True)


def verify(file: Path) -> int:
    """The schema number of a valid backup; raises InvalidInput for any other file."""
    try:
        database = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            if database.pragma("integrity_check") != "ok":
                raise _unusable(file, "it is damaged")
            return max(int(row[0]) for row in database.execute("SELECT number FROM schema_migration"))
        finally:
            database.close()
    except (apsw.Error, ValueError) as fault:
        raise _unusable(file, f"it is not a database of Mainspring ({fault})") from None


def restore(file: Path, database: Path, installation_id: str) -> None:
    """Replaces the database by the backup, as another installation. Its higher epochs fence all other writers."""
    verify(file)
    if database.exists():
        _refuse_while_in_use(database)
    database.parent.mkdir(parents=True, exist_ok=True)
    fresh = database.with_name(f".{database.name}.restoring")
    fresh.unlink(missing_ok=True)
    try:
        with file.open("rb") as backup, os.fdopen(_private(fresh), "wb") as copy:
            while block := backup.read(1 << 20):
                copy.write(block)
            copy.flush()
            os.fsync(copy.fileno())
        connection = SqliteConnection(str(fresh))
        try:
            connection.script("BEGIN IMMEDIATE")
            for query in ("fence_schedules", "fence_partitions", "forget_all_workers"):
                connection.run(query)
            connection.run("put_installation", "installation_id", installation_id)
            connection.commit()
        finally:
            connection.close()  # the last connection: the log is written into the file
        for ending in ("-wal", "-shm"):
            Path(f"{database}{ending}").unlink(missing_ok=True)
        fresh.replace(database)
    finally:
        for ending in ("", "-wal", "-shm"):
            Path(f"{fresh}{ending}").unlink(missing_ok=True)


def _refuse_while_in_use(database: Path) -> None:
    """A process that has the file open would keep writing to the old file, and lose these writes."""
    connection = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        # In WAL mode every open connection holds a shared lock; this one gets its lock only if there is no other.
        with suppress(*UNUSABLE):  # a damaged database is what backups are for
            connection.pragma("locking_mode", "exclusive")
            connection.execute("BEGIN EXCLUSIVE")
    except (apsw.BusyError, apsw.LockedError):
        raise Conflict(
            f"{database} is in use by another process; stop it (`mainspring serve` or `scheduler`), then restore again",
            kind="database",
            name=str(database),
        ) from None
    finally:
        connection.close()


def _private(path: Path) -> int:
    """A new file that only its owner may read, because it contains the database."""
    return os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)


def _unusable(file: Path, why: str) -> InvalidInput:
    return InvalidInput(f"{file} cannot be used: {why}; give another backup", field="file", value=str(file))

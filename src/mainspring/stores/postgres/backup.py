"""Dump a PostgreSQL database with its own tools while others write it, and make a database of such a dump again."""

import os
import shutil
import subprocess
from pathlib import Path

from mainspring.domain.errors import Conflict, InvalidInput, Misconfigured, StoreUnavailable
from mainspring.stores.postgres.database import EVERY_TENANT, Database
from mainspring.stores.postgres.hosts import for_writing, without_password

FENCES = ("fence_schedules", "fence_partitions", "forget_all_workers")


def back_up(url: str, target: Path) -> None:
    """`pg_dump`: one snapshot, for which no writer waits. Its table of contents is read before the file is named."""
    unfinished = target.with_name(f".{target.name}.unfinished")
    os.close(os.open(unfinished, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600))
    try:
        # Without the switch pg_dump refuses tables with policies to all but superusers; _run lets it see every tenant.
        switches = ("--format=custom", "--no-owner", "--no-privileges", "--enable-row-security")
        _run("pg_dump", *switches, f"--file={unfinished}", url=url)
        verify(unfinished)
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


def verify(file: Path) -> None:
    try:
        listed = _run("pg_restore", "--list", str(file))
    except Misconfigured as fault:
        raise InvalidInput(f"{file} cannot be used: {fault}; give another backup", field="file") from None
    if " schema_migration " not in listed:
        raise InvalidInput(f"{file} is no backup of Mainspring; give another one", field="file", value=str(file))


async def restore(file: Path, url: str, installation_id: str, *, force: bool) -> None:
    """Fill an empty database, or with `force` one that is not, and fence whoever wrote the original."""
    verify(file)
    clean = ("--clean", "--if-exists") if force else ()
    try:
        _run("pg_restore", "--no-owner", "--no-privileges", "--single-transaction", *clean, str(file), url=url)
    except Misconfigured as fault:
        if "already exists" in str(fault):
            raise Conflict(
                "the database is not empty; restore into a new one, or overwrite it with --force",
                kind="database",
                name="",
            ) from None
        raise
    database = await Database.open(url, pool_size=2)
    try:
        async with database.transaction() as session:
            for query in FENCES:
                await session.run(query)
            await session.run("put_installation", "installation_id", installation_id)
    finally:
        await database.aclose()


def _run(program: str, *arguments: str, url: str = "") -> str:
    """What a tool of PostgreSQL printed. A password goes by the environment: everybody sees a command line."""
    found = shutil.which(program)
    if found is None:
        raise Misconfigured(
            f"{program} is not installed here; install the PostgreSQL client of the server's version, or run "
            f"`{program} {' '.join(arguments)}` where it is",
            setting="PATH",
        )
    environment = {**os.environ, "PGOPTIONS": f"-c mainspring.tenant={EVERY_TENANT}"}
    command = [found, *arguments]
    if url:
        bare, password = without_password(for_writing(url))
        if password is not None:
            environment["PGPASSWORD"] = password
        command.append(f"--dbname={bare}")
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)  # ours
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["it did not say why"])[0]
        way_out = "; put one that is at least as new as the server first into PATH" if "version mismatch" in why else ""
        if "connection to server" in why and "FATAL" not in why:  # else it is there, and refused us
            raise StoreUnavailable(f"{program} failed: {why}; try again when it is back")
        raise Misconfigured(f"{program} failed: {why}{way_out}", setting="MAINSPRING_DATABASE_URL")
    return done.stdout

"""Dump a PostgreSQL database with its own tools while it is in use, and restore a database from such a dump."""

import asyncio
import os
import shutil
import subprocess
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import asyncpg

from mainspring.domain.errors import Conflict, InvalidInput, Misconfigured, StoreUnavailable
from mainspring.stores.postgres.database import CONNECT_TIMEOUT_S, EVERY_TENANT, REFUSED, PostgresDatabase
from mainspring.stores.postgres.hosts import Hosts
from mainspring.stores.postgres.migrate import MIGRATION_LOCK
from mainspring.stores.postgres.queries import QUERIES
from mainspring.stores.postgres.url import ConnectionUrl

HEARD_WITHIN = timedelta(seconds=15)  # longer than the time between two heartbeats

FENCES = ("fence_schedules", "fence_partitions", "forget_all_workers")


def back_up(url: str, target: Path) -> None:
    """Runs `pg_dump`: one snapshot, which no writer waits for. The file is read once before it gets its name."""
    unfinished = target.with_name(f".{target.name}.unfinished")
    os.close(os.open(unfinished, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600))
    try:
        # Without the option pg_dump refuses tables with policies to all but superusers; _run lets it see every tenant.
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
        raise InvalidInput(f"{file} is not a backup of Mainspring; give another one", field="file", value=str(file))


async def restore(file: Path, url: str, installation_id: str, *, force: bool, behind_bouncer: bool = False) -> None:
    """Fills an empty database, or with `force` any database, and fences the writers of the original.

    Refused while a process of Mainspring is present; one that starts meanwhile waits until the database is complete.
    """
    verify(file)
    connection = await connect(url)
    try:
        await connection.fetchval(QUERIES["lock_restore"], MIGRATION_LOCK)
        if there := await processes_present(connection, behind_bouncer):
            raise Conflict(
                f"the database is in use by {there}; stop every process on it (`mainspring serve`, `scheduler`, "
                "`notifier`, `planner run`, `mcp`), then restore again",
                kind="database",
                name="",
            )
        await asyncio.to_thread(_fill, file, url, force=force)
    finally:
        connection.terminate()  # releases the lock
    database = await PostgresDatabase.open(url, pool_size=2)
    try:
        async with database.transaction() as session:
            for query in FENCES:
                await session.run(query)
            await session.run("put_installation", "installation_id", installation_id)
    finally:
        await database.aclose()


async def processes_present(connection: Any, behind_bouncer: bool) -> str:
    """The users of the database: sessions of Mainspring, or, behind a bouncer that hides them, recent heartbeats."""
    if not behind_bouncer:
        rows = await connection.fetch(QUERIES["sessions_present"])
        since = f", the first since {rows[0][1]:%Y-%m-%d %H:%M:%S}" if rows else ""
        from_ = sorted({str(row[0]) for row in rows if row[0] is not None}) or ["this machine"]
        return f"{len(rows)} connections of Mainspring from {', '.join(from_)}{since}" if rows else ""
    if not await connection.fetchval(QUERIES["has_worker_table"]):
        return ""
    rows = await connection.fetch(QUERIES["workers_present_and_read_clock"], HEARD_WITHIN)
    return f"{', '.join(str(row[0]) for row in rows)}, alive in the last {HEARD_WITHIN.seconds} s" if rows else ""


async def connect(url: str, **options: object) -> Any:  # asyncpg ships no types
    """A session without Mainspring's name, so that it does not find itself."""
    try:
        return await Hosts(ConnectionUrl.parse(url)).connect(timeout=CONNECT_TIMEOUT_S, **options)
    except (OSError, TimeoutError, asyncpg.PostgresConnectionError, asyncpg.InternalClientError) as fault:
        what = str(fault) or type(fault).__name__
        raise StoreUnavailable(f"the database does not answer: {what}; try again when it is back") from fault
    except REFUSED as fault:
        what = "the URL cannot be read" if isinstance(fault, ValueError) else f"PostgreSQL refused: {fault}"
        raise Misconfigured(
            f"{what}; MAINSPRING_DATABASE_URL is postgresql://user:password@host:port/name, and the user and the "
            "database must exist",
            setting="MAINSPRING_DATABASE_URL",
        ) from None


def _fill(file: Path, url: str, *, force: bool) -> None:
    try:
        if force:
            _overwrite(file, url)
        else:
            _run("pg_restore", "--no-owner", "--no-privileges", "--single-transaction", str(file), url=url)
    except Misconfigured as fault:
        if "already exists" in str(fault):
            raise Conflict(
                "the database is not empty; restore into a new one, or overwrite it with --force",
                kind="database",
                name="",
            ) from None
        raise


def _overwrite(file: Path, url: str) -> None:
    """Replaces the content in one transaction, which is committed once the whole file was read.

    `pg_restore --clean` cannot drop the key of a partition, so partitioned tables are dropped first, with the
    partitions that the backup does not have.
    """
    command, environment = _command("psql", "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", url=url)
    script = _command("pg_restore", "--no-owner", "--no-privileges", "--clean", "--if-exists", "--file=-", str(file))
    with subprocess.Popen(  # ours
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as target:
        assert target.stdin is not None
        with suppress(BrokenPipeError):  # it has printed the reason
            target.stdin.write(b"BEGIN; SET client_min_messages = warning; DROP TABLE IF EXISTS run, event CASCADE;\n")
            target.stdin.flush()
            read = subprocess.run(script[0], env=script[1], stdout=target.stdin, stderr=subprocess.PIPE, check=False)
            if read.returncode == 0:
                target.stdin.write(b"COMMIT;\n")
        told = target.communicate()[1].decode()
    _check("psql", target.returncode, told)
    _check("pg_restore", read.returncode, read.stderr.decode())


def _run(program: str, *arguments: str, url: str = "") -> str:
    """The output of a tool of PostgreSQL."""
    command, environment = _command(program, *arguments, url=url)
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)  # ours
    _check(program, done.returncode, done.stderr)
    return done.stdout


def _command(program: str, *arguments: str, url: str = "") -> tuple[list[str], dict[str, str]]:
    """How to start a tool of PostgreSQL. The password is in the environment: command lines are visible to all."""
    found = shutil.which(program)
    if found is None:
        raise Misconfigured(
            f"{program} is not installed here; install the PostgreSQL client of the server's version, or run "
            f"`{program} {' '.join(arguments)}` where it is",
            setting="PATH",
        )
    environment = dict(os.environ)
    command = [found, *arguments]
    if url:
        seen, secrets = ConnectionUrl.parse(url).for_tools(f"-c mainspring.tenant={EVERY_TENANT}")
        environment |= secrets
        command.append(f"--dbname={seen}")
    return command, environment


def _check(program: str, code: int, told: str) -> None:
    if code:
        why = (told.strip().splitlines() or ["it did not say why"])[0]
        way_out = "; put one that is at least as new as the server first into PATH" if "version mismatch" in why else ""
        if "connection to server" in why and "FATAL" not in why:  # otherwise it exists, and refused us
            raise StoreUnavailable(f"{program} failed: {why}; try again when it is back")
        raise Misconfigured(f"{program} failed: {why}{way_out}", setting="MAINSPRING_DATABASE_URL")

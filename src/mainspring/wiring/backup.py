"""Back up and restore a database of either kind. Both work while it is in use, and never overwrite without --force.

A restored database is a new installation: it gets a new id, and every epoch increases by a million, so a worker of the
old installation with an unwritten result cannot write it here.
"""

from pathlib import Path
from uuid import uuid4

from mainspring.domain.errors import Conflict, InvalidInput, Misconfigured
from mainspring.settings import Settings
from mainspring.stores.postgres import backup as postgres
from mainspring.stores.sqlite import backup as sqlite


def back_up(settings: Settings, target: Path, *, force: bool = False) -> int:
    """Writes the whole database into one file, readable only by its owner; returns its size in bytes."""
    if target.exists() and not force:
        raise Conflict(
            f"{target} exists; give another name, or overwrite it with --force", kind="file", name=str(target)
        )
    if not target.absolute().parent.is_dir():
        raise InvalidInput(
            f"directory {target.absolute().parent} does not exist; create it, or name another", field="file"
        )
    if (database := _file_of(settings)) is None:
        postgres.back_up(settings.url, target)
    elif not database.exists():
        raise Misconfigured(
            f"database {database} does not exist; set MAINSPRING_DATA_DIR or MAINSPRING_DATABASE_URL to the "
            "one you mean",
            setting="MAINSPRING_DATABASE_URL",
        )
    else:
        sqlite.back_up(database, target)
    return target.stat().st_size


async def restore(settings: Settings, file: Path, *, force: bool = False) -> str:
    """Replaces the configured database by a backup; returns the new installation's id. Nothing may be running on it."""
    _refuse_missing(file)
    installation_id = f"inst_{uuid4().hex}"
    if (database := _file_of(settings)) is None:
        await postgres.restore(file, settings.url, installation_id, force=force, behind_bouncer=settings.pgbouncer)
        return installation_id
    if database.exists() and not force:
        raise Conflict(
            f"{database} exists; stop what runs on it and overwrite it with --force, or name another with "
            "MAINSPRING_DATABASE_URL",
            kind="database",
            name=str(database),
        )
    sqlite.restore(file, database, installation_id)
    return installation_id


def _refuse_missing(file: Path) -> None:
    if not file.is_file():
        raise InvalidInput(f"file {file} does not exist; name one that `mainspring backup` wrote", field="file")


def _file_of(settings: Settings) -> Path | None:
    return Path(settings.url.removeprefix("sqlite://")) if settings.url.startswith("sqlite://") else None

"""Back a database up and restore it, whichever kind it is. Both work while others use it, and never overwrite unasked.

A restored database is another installation: it gets a new id, and every epoch moves a million ahead, so that a worker
of the old installation that still has a result in hand cannot write it here.
"""

from pathlib import Path
from uuid import uuid4

from mainspring.domain.errors import Conflict, InvalidInput, Misconfigured
from mainspring.settings import Settings
from mainspring.stores.postgres import backup as postgres
from mainspring.stores.sqlite import backup as sqlite


def back_up(settings: Settings, target: Path, *, force: bool = False) -> int:
    """Write the whole database into one file, readable by its owner alone; the file's size in bytes."""
    if target.exists() and not force:
        raise Conflict(
            f"{target} exists; give another name, or overwrite it with --force", kind="file", name=str(target)
        )
    if not target.absolute().parent.is_dir():
        raise InvalidInput(f"there is no folder {target.absolute().parent}; make it, or name another", field="file")
    if (database := _file_of(settings)) is None:
        postgres.back_up(settings.url, target)
    elif not database.exists():
        raise Misconfigured(
            f"there is no database {database}; set MAINSPRING_DATA_DIR or MAINSPRING_DATABASE_URL to the one you mean",
            setting="MAINSPRING_DATABASE_URL",
        )
    else:
        sqlite.back_up(database, target)
    return target.stat().st_size


async def restore(settings: Settings, file: Path, *, force: bool = False) -> str:
    """Make the configured database what a backup holds; the new installation's id. Nothing may be running on it."""
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
        raise InvalidInput(f"there is no file {file}; name one that `mainspring backup` wrote", field="file")


def _file_of(settings: Settings) -> Path | None:
    return Path(settings.url.removeprefix("sqlite://")) if settings.url.startswith("sqlite://") else None

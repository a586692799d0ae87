"""`mainspring backup` and `restore`: copy the whole database into one file, and restore it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mainspring.cli.arguments import Force
from mainspring.cli.command import OutputOption, complete, current_settings
from mainspring.cli.output import Output, note, say, show_json
from mainspring.cli.progress import progress, size_of
from mainspring.cli.settings import masked

if TYPE_CHECKING:
    from mainspring.settings import Settings


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.")],
    force: Force = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Write the whole database into one file, even while it is in use.

    The file is verified before it gets its name. It contains encrypted secrets, but not the key that decrypts them:
    keep that too, in another place. PostgreSQL is dumped by pg_dump.
    """
    from mainspring.wiring.backup import back_up

    settings = current_settings()
    with progress("backup", _size(settings), size_of(file.with_name(f".{file.name}.unfinished"))):
        size = back_up(settings, file, force=force)
    if output is Output.JSON:
        show_json({"file": str(file), "bytes": size})
        return
    say(f"wrote {file}: {size:,} bytes of {masked(settings.url)}")
    if not settings.secret_key:
        note(
            f"its secrets can only be decrypted with the key in {settings.key_file}; keep a copy of the key "
            "too, elsewhere"
        )


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `backup` wrote.")],
    force: Force = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Replace the database by a backup.

    Stop everything that uses it first. The result is a new installation: workers of the old one cannot write to it.
    """
    from mainspring.wiring.backup import restore as put_back

    settings = current_settings()
    database = _file_of(settings)
    restoring = None if database is None else size_of(database.with_name(f".{database.name}.restoring"))
    total = file.stat().st_size if database is not None and file.is_file() else None
    with progress("restore", total, restoring):
        installation_id = complete(put_back(settings, file, force=force))
    if output is Output.JSON:
        show_json({"database": masked(settings.url), "installation_id": installation_id})
        return
    say(f"restored {masked(settings.url)} from {file} as installation {installation_id}")
    note("the secret key is not in a backup; `mainspring doctor` checks whether the right one is installed")


def _file_of(settings: "Settings") -> Path | None:
    return Path(settings.url.removeprefix("sqlite://")) if settings.url.startswith("sqlite://") else None


def _size(settings: "Settings") -> int | None:
    """The approximate size of the copy; None for PostgreSQL, whose dump has another size than its tables."""
    database = _file_of(settings)
    if database is None or not database.exists():
        return None
    files = (database, Path(f"{database}-wal"))  # the second has what the first does not have yet
    return sum(file.stat().st_size for file in files if file.exists())

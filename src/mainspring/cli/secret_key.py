"""`mainspring secret-key ...`: the key that encrypts secrets."""

from typing import Annotated

import typer

from mainspring.cli.command import CommandApp, OutputOption, complete, current_settings
from mainspring.cli.output import Output, note, say, show_json
from mainspring.cli.table import Column, show_list

app = CommandApp("The key that encrypts secrets, and its rotation.")


@app.command("show")
def show(output: OutputOption = Output.TABLE) -> None:
    """Show the keys by id, and how many values each of them encrypts.

    The key itself is never shown.
    """
    from mainspring.wiring.secret_rotation import key_rows

    rows = complete(key_rows(current_settings()))
    columns = (Column("KEY"), Column("DOES"), Column("VALUES"))
    does = [("encrypts and decrypts" if row.seals else "decrypts") if row.is_here else "is missing" for row in rows]
    show_list(
        [{"id": row.id, "seals": row.seals, "here": row.is_here, "values": row.values} for row in rows],
        output,
        columns,
        [(row.id, what, f"{row.values:,}") for row, what in zip(rows, does, strict=True)],
        "",
    )


@app.command("rotate")
def rotate(
    settle: Annotated[
        str, typer.Option("--settle", metavar="TIME", help="How long a write in progress may take.")
    ] = "10s",
    shared_file: Annotated[
        bool, typer.Option("--shared-file", help="Workers on other machines read the same key file, or have both keys.")
    ] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Rotate the key while everything runs.

    Creates a key in the key file, encrypts every secret again with it, and removes the old key. If killed, run it again
    to continue. You manage the keys in MAINSPRING_SECRET_KEY: set OLD,NEW in every process, then NEW,OLD, then run this
    command, then set NEW.
    """
    from mainspring.domain.duration import parse_duration_ms
    from mainspring.wiring.secret_rotation import rotate_key

    settings = current_settings()
    settle_s = parse_duration_ms(settle, field="settle") / 1_000
    done = complete(rotate_key(settings, settle_s, note, is_shared=shared_file))
    if output is Output.JSON:
        show_json({"id": done.key, "old": list(done.old), "values": done.values, "unreadable": done.unreadable})
        return
    say(f"everything is encrypted with key {done.key}; values encrypted again: {done.values:,}")
    if done.unreadable:
        note(f"values that no key here decrypts, before and after: {done.unreadable:,}; set them again")
    old = ", ".join(done.old)
    if settings.secret_key:
        say(f"nothing needs key {old} any more; remove it from MAINSPRING_SECRET_KEY wherever that is set")
        return
    say(f"key {old} was removed from {settings.key_file}; existing backups need it, so keep a copy")

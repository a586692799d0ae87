"""`mainspring signing-key ...`: the keys that sign outgoing calls."""

from typing import TYPE_CHECKING, Annotated

import typer

from mainspring.cli import remote_values
from mainspring.cli.command import CommandApp, OutputOption, ask
from mainspring.cli.output import Output, note, say, show_json
from mainspring.cli.table import Column, show_table
from mainspring.views.sentences import when
from mainspring.views.shapes import instant

if TYPE_CHECKING:
    from datetime import datetime

    from mainspring.client import Client
    from mainspring.operations.endpoints import Desk

app = CommandApp("Signing keys let targets verify calls.")


@app.command("create")
def create(output: OutputOption = Output.TABLE) -> None:
    """Create a signing key and show its secret once.

    Older keys keep signing as well until they are revoked.
    """
    from mainspring.operations.signing_keys import add_signing_key
    from mainspring.wiring.desk import new_signing_secret

    async def work(desk: "Desk") -> tuple[str, str]:
        secret = new_signing_secret()
        return await add_signing_key(desk, secret), secret

    def remotely(client: "Client") -> tuple[str, str]:
        made = client.keys.create_signing()
        return made["id"], made["secret"]

    key_id, secret = ask(work, remotely)
    if output is Output.JSON:
        show_json({"id": key_id, "secret": secret})
        return
    say(f"signing key {key_id}: {secret}")
    note("the secret is not shown again; give it to the receiver that verifies the webhook-signature header")


@app.command("list")
def list_keys(output: OutputOption = Output.TABLE) -> None:
    """List the active signing keys, newest first."""
    from mainspring.operations.signing_keys import list_signing_keys

    async def work(desk: "Desk") -> tuple[list[tuple[str, "datetime"]], "datetime"]:
        return await list_signing_keys(desk), await desk.stores.schedule.now()

    def remotely(client: "Client") -> tuple[list[tuple[str, "datetime"]], "datetime"]:
        return [
            (each["id"], remote_values.at(each["created_at"])) for each in client.keys.list_signing()["items"]
        ], remote_values.now()

    keys, now = ask(work, remotely)
    if output is Output.JSON:
        show_json([{"id": key_id, "created_at": instant(created_at)} for key_id, created_at in keys])
        return
    rows = [(key_id, when(now, created_at)) for key_id, created_at in keys]
    nothing = "No signing keys; calls are not signed. Create one: mainspring signing-key create"
    show_table((Column("KEY"), Column("CREATED")), rows, nothing)


@app.command("revoke")
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="KEY", help="Id of the key, as `signing-key list` shows it.")],
    output: OutputOption = Output.TABLE,
) -> None:
    """Revoke a signing key; later calls are not signed with it."""
    from mainspring.operations.signing_keys import list_signing_keys, revoke_signing_key

    async def work(desk: "Desk") -> int:
        await revoke_signing_key(desk, key_id)
        return len(await list_signing_keys(desk))

    def remotely(client: "Client") -> int:
        client.keys.revoke_signing(key_id)
        return len(client.keys.list_signing()["items"])

    left = ask(work, remotely)
    if output is Output.JSON:
        show_json({"id": key_id, "revoked": True, "live_keys": left})
        return
    say(f"revoked {key_id}; {left} active key{'' if left == 1 else 's'} left")
    if left == 0:
        note("calls are not signed any more; create a key with `mainspring signing-key create`")

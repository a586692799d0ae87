"""`mainspring signing-key ...`: the keys that sign outgoing calls."""

from typing import TYPE_CHECKING, Annotated

import typer

from mainspring.cli.command import CommandApp, OutputOption, ask
from mainspring.cli.output import Output, note, now, say, show_json
from mainspring.cli.table import Column, show_list
from mainspring.views.sentences import when

if TYPE_CHECKING:
    from mainspring.client import Client
    from mainspring.operations.context import Desk
    from mainspring.views.account import SigningKey, SigningKeyCreated

app = CommandApp("Signing keys let targets verify calls.")


@app.command("create")
def create(output: OutputOption = Output.TABLE) -> None:
    """Create a signing key and show its secret once.

    Older keys keep signing as well until they are revoked.
    """
    from mainspring.operations.signing_keys import add_signing_key
    from mainspring.views.account import SigningKeyCreated
    from mainspring.wiring.desk import new_signing_secret

    async def work(desk: "Desk") -> "SigningKeyCreated":
        secret = new_signing_secret()
        return SigningKeyCreated(id=await add_signing_key(desk, secret), secret=secret)

    made = ask(work, lambda client: SigningKeyCreated.model_validate(client.keys.create_signing()))
    if output is Output.JSON:
        show_json(made)
        return
    say(f"signing key {made.id}: {made.secret}")
    note("the secret is not shown again; give it to the receiver, which verifies the webhook-signature header")


@app.command("list")
def list_keys(output: OutputOption = Output.TABLE) -> None:
    """List the active signing keys, newest first."""
    from mainspring.operations.signing_keys import list_signing_keys
    from mainspring.views.account import SigningKey

    async def work(desk: "Desk") -> list["SigningKey"]:
        return [SigningKey(id=key_id, created_at=created_at) for key_id, created_at in await list_signing_keys(desk)]

    keys = ask(work, lambda client: SigningKey.read_all(client.keys.list_signing()["items"]))
    at = now()
    rows = [(key.id, when(at, key.created_at)) for key in keys]
    nothing = "No signing key; calls are not signed. Make one: mainspring signing-key create"
    show_list(keys, output, (Column("KEY"), Column("CREATED")), rows, nothing)


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

"""`mainspring apikey ...`: keys that let programs use the API of the tenant (MAINSPRING_TENANT)."""

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from mainspring.cli import remote_values
from mainspring.cli.command import CommandApp, OutputOption, ask
from mainspring.cli.output import Output, note, say, show_json
from mainspring.cli.table import Column, show_table
from mainspring.domain.access.scope import Scope
from mainspring.domain.duration import parse_duration_ms
from mainspring.views.sentences import when
from mainspring.views.shapes import api_key_shape

if TYPE_CHECKING:
    from datetime import datetime

    from mainspring.client import Client
    from mainspring.domain.access.account import ApiKey
    from mainspring.operations.endpoints import Desk

app = CommandApp("API keys let programs use the API.")


@app.command("create")
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Purpose of the key.")],
    scope: Annotated[
        list[Scope] | None, typer.Option("--scope", help="Scope of the key; repeatable. Default: read.")
    ] = None,
    expires: Annotated[str, typer.Option("--expires", metavar="DURATION", help="How long the key is valid.")] = "90d",
    operator: Annotated[
        bool, typer.Option("--operator", help="Also allow listing and creating tenants and users.")
    ] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Create an API key and show it once."""
    from mainspring.operations.api_keys import NewApiKey, add_api_key
    from mainspring.wiring.desk import open_password_hasher

    life = timedelta(milliseconds=parse_duration_ms(expires, field="expires"))
    wish = NewApiKey(name, tuple(scope or [Scope.READ]), life, operator)

    def remotely(client: "Client") -> tuple["ApiKey", str]:
        made = client.keys.create_api(
            name=name, scopes=[Scope(each).value for each in wish.scopes], expires_in=expires, operator=operator
        )
        return remote_values.key_of(made), made["key"]

    key, text = ask(lambda desk: add_api_key(desk, open_password_hasher(), wish), remotely)
    if output is Output.JSON:
        show_json({**api_key_shape(key, key.created_at), "key": text})
        return
    say(text)
    until = when(key.created_at, key.expires_at)
    note(f"the key is not shown again; send it as `Authorization: Bearer <key>`; it is valid until {until}")


@app.command("list")
def list_keys(output: OutputOption = Output.TABLE) -> None:
    """List the API keys of the tenant, newest first, without their secrets."""
    from mainspring.operations.api_keys import list_api_keys

    async def work(desk: "Desk") -> tuple[list["ApiKey"], "datetime"]:
        return await list_api_keys(desk), await desk.stores.schedule.now()

    keys, now = ask(
        work,
        lambda client: (
            [remote_values.key_of(shape) for shape in client.keys.list_api()["items"]],
            remote_values.now(),
        ),
    )
    shapes = [api_key_shape(key, now) for key in keys]
    if output is Output.JSON:
        show_json(shapes)
        return
    columns = (
        Column("KEY"), Column("NAME", can_cut=True), Column("SCOPES"), Column("STATE"), Column("LAST USED", spare=True),
        Column("EXPIRES", spare=True),
    )  # fmt: skip
    rows = [
        (key.id, key.name, " ".join(sorted(key.scopes)), str(shape["status"]), when(now, key.last_used_at, "never"),
         when(now, key.expires_at))
        for key, shape in zip(keys, shapes, strict=True)
    ]  # fmt: skip
    show_table(columns, rows, "No API keys. Create one: mainspring apikey create NAME --scope read")


@app.command("revoke")
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="KEY", help="Id of the key, as `apikey list` shows it.")],
    output: OutputOption = Output.TABLE,
) -> None:
    """Revoke an API key: every process refuses it from the next request on."""
    from mainspring.operations.api_keys import revoke_api_key

    async def work(desk: "Desk") -> tuple["ApiKey", "datetime"]:
        return await revoke_api_key(desk, key_id), await desk.stores.schedule.now()

    key, now = ask(work, lambda client: (remote_values.key_of(client.keys.revoke_api(key_id)), remote_values.now()))
    if output is Output.JSON:
        show_json(api_key_shape(key, now))
    else:
        say(f"revoked {key.id} ({key.name})")

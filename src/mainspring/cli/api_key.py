"""`mainspring apikey ...`: keys that let programs use the API of the tenant (MAINSPRING_TENANT)."""

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mainspring.cli.command import CommandApp, OutputOption, ask
from mainspring.cli.output import Output, answer, note, now, say, show_json
from mainspring.cli.table import Column, show_list
from mainspring.domain.access.scope import Scope
from mainspring.domain.duration import parse_duration_ms
from mainspring.views.sentences import when

if TYPE_CHECKING:
    from mainspring.client import Client
    from mainspring.operations.context import Desk
    from mainspring.views.account import ApiKeyCreated, ApiKeyView

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
    from mainspring.views.account import ApiKeyCreated
    from mainspring.wiring.desk import open_password_hasher

    life = timedelta(milliseconds=parse_duration_ms(expires, field="expires"))
    wish = NewApiKey(name, tuple(scope or [Scope.READ]), life, operator)

    async def work(desk: "Desk") -> "ApiKeyCreated":
        made, text = await add_api_key(desk, open_password_hasher(), wish)
        return ApiKeyCreated.of(made, made.created_at, key=text)

    def remotely(client: "Client") -> "ApiKeyCreated":
        scopes: list[Any] = [Scope(each).value for each in wish.scopes]
        made = client.keys.create_api(name=name, scopes=scopes, expires_in=expires, operator=operator)
        return ApiKeyCreated.model_validate(made)

    key = ask(work, remotely)
    if output is Output.JSON:
        show_json(key)
        return
    say(key.key)
    until = when(key.created_at, key.expires_at)
    note(f"the key is not shown again; send it as `Authorization: Bearer <key>`; it is valid until {until}")


@app.command("list")
def list_keys(output: OutputOption = Output.TABLE) -> None:
    """List the API keys of the tenant, newest first, without their secrets."""
    from mainspring.operations.api_keys import list_api_keys
    from mainspring.views.account import ApiKeyView

    async def work(desk: "Desk") -> list["ApiKeyView"]:
        at = await desk.stores.schedule.now()
        return [ApiKeyView.of(key, at) for key in await list_api_keys(desk)]

    keys = ask(work, lambda client: ApiKeyView.read_all(client.keys.list_api()["items"]))
    at = now()
    columns = (
        Column("KEY"), Column("NAME", can_cut=True), Column("SCOPES"), Column("STATE"), Column("LAST USED", spare=True),
        Column("EXPIRES", spare=True),
    )  # fmt: skip
    rows = [
        (key.id, key.name, " ".join(key.scopes), key.status, when(at, key.last_used_at, "never"),
         when(at, key.expires_at))
        for key in keys
    ]  # fmt: skip
    show_list(keys, output, columns, rows, "No API keys. Create one: mainspring apikey create NAME --scope read")


@app.command("revoke")
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="KEY", help="Id of the key, as `apikey list` shows it.")],
    output: OutputOption = Output.TABLE,
) -> None:
    """Revoke an API key: every process refuses it from the next request on."""
    from mainspring.operations.api_keys import revoke_api_key
    from mainspring.views.account import ApiKeyView

    async def work(desk: "Desk") -> "ApiKeyView":
        return ApiKeyView.of(await revoke_api_key(desk, key_id), await desk.stores.schedule.now())

    key = ask(work, lambda client: ApiKeyView.model_validate(client.keys.revoke_api(key_id)))
    answer(key, output, f"revoked {key.id} ({key.name})")

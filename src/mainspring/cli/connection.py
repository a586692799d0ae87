"""`mainspring connection ...`: named base URLs with credentials, TLS and proxy settings."""

from typing import TYPE_CHECKING, Annotated

import typer

from mainspring.cli.arguments import can_ask
from mainspring.cli.command import (
    CommandApp,
    OutputOption,
    ask,
    ask_for,
    ask_for_all,
    current_settings,
    fail_unless,
)
from mainspring.cli.endpoint_output import note_if_managed
from mainspring.cli.output import Output, answer, now, say, show_json
from mainspring.cli.setting_options import ConnectionCommand, as_sent, read_settings
from mainspring.cli.table import Column, show_fields, show_list
from mainspring.views.sentences import when

if TYPE_CHECKING:
    from mainspring.client import Client
    from mainspring.domain.connection import Connection
    from mainspring.operations.context import Desk
    from mainspring.views.connection import ConnectionDetailView, ConnectionTest, ConnectionView

app = CommandApp("Connections: base URLs with credentials, TLS and proxy settings that endpoints share.")

ConnectionName = Annotated[str, typer.Argument(metavar="CONNECTION", help="Name or id of the connection.")]
PEM_SHOWN = ("ca", "client_certificate")  # long texts; a table shows only that they are set


@app.command("add", ConnectionCommand)
def add(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the new connection, unique in the tenant.")],
    base_url: Annotated[str, typer.Argument(metavar="BASE_URL", help="URL that paths of users are relative to.")],
    output: OutputOption = Output.TABLE,
) -> None:
    """Create a connection. On a terminal, a secret that is needed and not given is prompted for without echo."""
    from mainspring.domain.connection import CONNECTION_FIELDS, ConnectionConfig, with_fields
    from mainspring.operations.connections import add_connection
    from mainspring.views.connection import ConnectionView

    given = read_settings(CONNECTION_FIELDS, context.obj)
    if given.get("auth", "none") != "none" and "secret" not in given and can_ask():
        given["secret"] = typer.prompt(f"secret of {name}", hide_input=True)
    made = ask_for(
        ConnectionView,
        lambda desk: add_connection(desk, name, with_fields(ConnectionConfig(base_url), given)),
        lambda client: client.connections.create(name=name, base_url=base_url, **as_sent(given)),
    )
    answer(made, output, f"added connection {made.name!r}: use it with `endpoint add --connection {made.name}`")


@app.command("list")
def list_connections(output: OutputOption = Output.TABLE) -> None:
    """List connections by name."""
    from mainspring.views.connection import ConnectionView

    found = ask_for_all(
        ConnectionView,
        lambda desk: desk.stores.connections.connections(desk.tenant_id),
        lambda client: client.connections.list()["items"],
    )
    rows = [(each.name, each.auth, each.proxy or "-", each.base_url) for each in found]
    columns = (Column("CONNECTION", can_cut=True), Column("AUTH"), Column("PROXY"), Column("BASE URL", tail=True))
    way = "mainspring connection add NAME https://example.com/api --auth header --header X-Api-Key --secret @FILE"
    show_list(found, output, columns, rows, f"No connections yet. Add one: {way}")


@app.command("show")
def show(name: ConnectionName, output: OutputOption = Output.TABLE) -> None:
    """Show a connection, with what calls through it. Secrets are masked."""
    from mainspring.operations.connections import connection_users, find_connection
    from mainspring.views.connection import ConnectionDetailView, detail_of

    async def work(desk: "Desk") -> "ConnectionDetailView":
        found = await find_connection(desk, name)
        return detail_of(found, await connection_users(desk, found))

    def remotely(client: "Client") -> "ConnectionDetailView":
        return ConnectionDetailView.model_validate(client.connections.read(name))

    connection = ask(work, remotely)
    if output is Output.JSON:
        show_json(connection)
    else:
        _show(connection)


@app.command("edit", ConnectionCommand)
def edit(
    context: typer.Context,
    name: ConnectionName,
    base_url: Annotated[
        str | None, typer.Option("--base-url", help="New base URL; endpoints that use the connection move with it.")
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Change a connection; every user sends the new settings from its next call on. An empty text removes a setting."""
    from mainspring.domain.connection import CONNECTION_FIELDS, with_fields
    from mainspring.operations.connections import edit_connection
    from mainspring.views.connection import ConnectionView

    given = read_settings(CONNECTION_FIELDS, context.obj | {"base_url": base_url})

    async def work(desk: "Desk") -> "Connection":
        return await edit_connection(desk, name, lambda config: with_fields(config, given))

    edited = ask_for(ConnectionView, work, lambda client: client.connections.update(name, **as_sent(given)))
    answer(edited, output, f"changed connection {edited.name!r}")
    if output is not Output.JSON:
        note_if_managed(edited.name, edited.managed_by)


@app.command("delete")
def delete(name: ConnectionName, output: OutputOption = Output.TABLE) -> None:
    """Delete a connection. A connection in use is not deleted; the error lists its users."""
    from mainspring.operations.connections import delete_connection
    from mainspring.views.view import Deleted

    gone = ask_for(Deleted, lambda desk: delete_connection(desk, name), lambda client: client.connections.delete(name))
    answer(gone, output, f"deleted connection {gone.name!r}")


@app.command("test")
def call_once(
    name: ConnectionName,
    path: Annotated[str, typer.Argument(metavar="PATH", help="Path relative to the base URL.")] = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Call the base URL, or a path, once, from this machine; show phases and certificate, never secrets."""
    from mainspring.operations.connections import test_connection
    from mainspring.views.connection import ConnectionTest
    from mainspring.wiring.outbound import open_caller

    settings = current_settings()

    async def work(desk: "Desk") -> "ConnectionTest":
        caller = open_caller(settings, desk.vault, desk.stores)
        try:
            url, outcome = await test_connection(desk, caller, name, path)
            return ConnectionTest.of(url, outcome, await desk.stores.schedule.now())
        finally:
            await caller.aclose()

    def remotely(client: "Client") -> "ConnectionTest":
        return ConnectionTest.model_validate(client.connections.test(name, path=path or None))

    tested = ask(work, remotely)
    if output is Output.JSON:
        show_json(tested)
    else:
        _show_test(tested, name)
    fail_unless(tested.ok)


def _show(connection: "ConnectionDetailView") -> None:
    pairs = [("connection", connection.name), ("id", connection.id), *_settings(connection)]
    users = ", ".join(f"{each.kind} {each.name}" for each in connection.users)
    pairs += [
        ("used by", users or "-"),
        ("managed by", connection.managed_by or "-"),
        ("changed", when(now(), connection.updated_at)),
    ]
    show_fields(pairs)


def _settings(connection: "ConnectionView") -> list[tuple[str, str]]:
    """Those that differ from their default, and the kind of credentials."""
    from mainspring.domain.connection import CONNECTION_FIELDS

    pairs = []
    for field in CONNECTION_FIELDS:
        value = getattr(connection, field.name)
        if field.is_required or field.name == "auth" or (value and value != field.default):
            shown = f"{len(value.splitlines())} lines" if field.name in PEM_SHOWN else str(value)
            pairs.append((field.key.replace("_", " "), shown))
    return pairs


def _show_test(tested: "ConnectionTest", name: str) -> None:
    if tested.status_code is None:
        say(f"{name}: {tested.error}")
    else:
        say(f"{name}: HTTP {tested.status_code} in {tested.duration_ms} ms")
    pairs = [("url", tested.url), ("address", tested.address or "-")]
    if (phases := tested.phases) is not None:
        pairs += [(phase.removesuffix("_us").replace("_", " "), f"{us / 1_000:.1f} ms") for phase, us in phases]
    if (certificate := tested.certificate) is not None:
        left = "" if certificate.days_left is None else f", expires in {certificate.days_left} days"
        pairs += [("certificate", certificate.subject), ("issuer", f"{certificate.issuer}{left}")]
    show_fields(pairs)

"""`mainspring endpoint ping-url`: show, rotate and revoke the URL of a heartbeat."""

from typing import TYPE_CHECKING, Annotated

import typer

from mainspring.cli.arguments import EndpointName, one_of_two
from mainspring.cli.command import OutputOption, ask, current_settings, server_in_use
from mainspring.cli.output import Output, answer, note

if TYPE_CHECKING:
    from mainspring.client import Client
    from mainspring.operations.context import Desk
    from mainspring.views.ping import PingUrlView


def ping_url(
    name: EndpointName,
    rotate: Annotated[bool, typer.Option("--rotate", help="Replace the URL. The present one becomes invalid.")] = False,
    revoke: Annotated[bool, typer.Option("--revoke", help="Revoke the URL. Pings are refused.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show the ping URL of a heartbeat; it is created if it does not exist.

    Any program that has the URL can ping the endpoint. `mainspring exec` pings it for a program.
    """
    from mainspring.operations import pings
    from mainspring.views.ping import PingUrlView

    one_of_two("rotate" if rotate else None, "revoke" if revoke else None, "--rotate and --revoke", "rotate")

    async def work(desk: "Desk") -> "PingUrlView":
        if revoke:
            return PingUrlView.revoked(await pings.revoke_ping_url(desk, name))
        change = pings.rotate_ping_url if rotate else pings.show_ping_url
        return PingUrlView.of(await change(desk, name), desk.site)

    def over(client: "Client") -> "PingUrlView":
        if revoke:
            return PingUrlView.model_validate(client.endpoints.revoke_ping_url(name))
        found = None if rotate else PingUrlView.model_validate(client.endpoints.read_ping_url(name))
        if found is not None and found.url is not None:
            return found
        return PingUrlView.model_validate(client.endpoints.create_ping_url(name))

    shown = ask(work, over)
    answer(shown, output, shown.url or f"revoked the ping URL of {shown.endpoint!r}")
    if shown.url and not server_in_use() and not current_settings().public_url:
        note(
            "this address comes from MAINSPRING_HOST and MAINSPRING_PORT; if `serve` has another port, or for jobs on "
            "other machines, set MAINSPRING_PUBLIC_URL"
        )

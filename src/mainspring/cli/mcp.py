"""`mainspring mcp`: MCP tools for an AI assistant, on standard input and output."""

from typing import Annotated

import typer

from mainspring.cli.command import complete, current_settings
from mainspring.domain.access.scope import Scope
from mainspring.domain.errors import InvalidInput, did_you_mean
from mainspring.domain.name import shown


def mcp(
    scopes: Annotated[
        str, typer.Option("--scopes", metavar="LIST", help="Scopes of the assistant: read, run, write, admin.")
    ] = "read,run,write",
) -> None:
    """Serve an AI assistant by the Model Context Protocol.

    The server reads standard input and writes standard output of the program that started it, and works on the database
    of this environment, like every other command. Logs go to standard error. `serve` offers the same at /mcp, with API
    keys.
    """
    complete(_serve(_read_scopes(scopes)))


async def _serve(scopes: frozenset[Scope]) -> None:
    from mainspring.observe import set_up_logging
    from mainspring.wiring.web import serve_assistant

    settings = current_settings()
    set_up_logging(settings.log_format, settings.log_level)
    await serve_assistant(settings, scopes)


def _read_scopes(text: str) -> frozenset[Scope]:
    known = tuple(Scope)
    words = [word.strip() for word in text.split(",") if word.strip()]
    for word in words:
        if word not in known:
            raise InvalidInput(
                f"unknown scope '{shown(word)}'{did_you_mean(word, known) or ';'} choose from {', '.join(known)}",
                field="scopes",
                value=shown(word),
            )
    if not words:
        raise InvalidInput("no scope was given; an assistant needs at least one: --scopes read", field="scopes")
    return frozenset(Scope(word) for word in words)

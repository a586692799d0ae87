"""What `create_endpoint`, `edit_endpoint` and `check_endpoint` take, and how it becomes an endpoint's configuration.

The settings are those of every door. What is not given, or null, stays as it is; an empty text takes a text away.
"""

from typing import Annotated

from pydantic import Field

from mainspring.domain.config_field import FieldKind
from mainspring.domain.endpoint import FIELD_BY_KEY, EndpointConfig, with_inputs
from mainspring.domain.run import Header
from mainspring.inputs.endpoint import EndpointSettings
from mainspring.mcp.arguments import CallArguments, DryRun, EndpointName
from mainspring.mcp.tool import Arguments

Url = Annotated[str, Field(description="What to call.", examples=["https://example.com/health"])]


class EndpointArguments(EndpointSettings, Arguments):
    headers: Annotated[
        dict[str, str] | None, Field(description="Request headers by name.", examples=[{"Accept": "application/json"}])
    ] = None
    secret_headers: Annotated[
        dict[str, str] | None, Field(description="Headers that are encrypted at rest and never shown again.")
    ] = None
    remove_headers: Annotated[list[str] | None, Field(description="Names of headers to send no longer.")] = None


class CreateEndpoint(EndpointArguments):
    name: Annotated[str, Field(description="Its name, unique in the tenant.", examples=["health"])]
    url: Url
    dry_run: DryRun = False


class EditEndpoint(EndpointArguments):
    endpoint: EndpointName
    name: Annotated[str | None, Field(description="A new name.")] = None
    url: Annotated[str | None, Field(description="What to call.")] = None
    dry_run: DryRun = False


class CheckEndpoint(EndpointArguments, CallArguments):
    url: Url


def apply_arguments(
    config: EndpointConfig, wanted: EndpointArguments, name: str | None = None, url: str | None = None
) -> EndpointConfig:
    given = wanted.sent() | {"name": name, "url": url}
    inputs = {key: _emptied(key, value) for key, value in given.items() if value is not None}
    return with_inputs(config, inputs | {"headers": _headers(config, wanted)})


def _emptied(key: str, value: object) -> object:
    field = FIELD_BY_KEY[key]
    return None if value == "" and field.kind is FieldKind.TEXT and field.is_nullable else value


def _headers(config: EndpointConfig, wanted: EndpointArguments) -> tuple[Header, ...]:
    """One header a name: what is given replaces what was there, in its place; what is removed is left out."""
    headers = {header.name.lower(): header for header in config.action.headers}
    for name in wanted.remove_headers or []:
        headers.pop(name.strip().lower(), None)
    for given, secret in ((wanted.headers, False), (wanted.secret_headers, True)):
        for name, value in (given or {}).items():
            headers[name.strip().lower()] = Header(name.strip(), value.strip(" \t"), secret)
    return tuple(headers.values())

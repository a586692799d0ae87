"""Tools for calls: an assistant requests one call at a time."""

from datetime import timedelta
from typing import Annotated

from pydantic import Field

from mainspring.domain.access.scope import Scope
from mainspring.domain.endpoint import EndpointConfig, with_inputs
from mainspring.domain.run import Header, HttpAction
from mainspring.inputs.models import CallSettings
from mainspring.mcp.arguments import DryRun
from mainspring.mcp.tool import Arguments, Toolbox, ToolCaller
from mainspring.operations.calls import CallDraft, add_calls
from mainspring.views.call import PlacedCallView
from mainspring.views.view import JsonObject

box = Toolbox()


class CallLater(CallSettings, Arguments):
    url: Annotated[str, Field(description="URL to call.", examples=["https://example.com/remind"])]
    key: Annotated[
        str | None, Field(description="Two calls with the same key are one call.", examples=["order-17"])
    ] = None
    headers: Annotated[dict[str, str] | None, Field(description="Request headers by name.")] = None
    secret_headers: Annotated[
        dict[str, str] | None, Field(description="Headers that are encrypted at rest and never shown again.")
    ] = None
    dry_run: DryRun = False


@box.tool(Scope.WRITE)
async def call_later(visit: ToolCaller, wanted: CallLater) -> JsonObject:
    """Call a URL once, at a time such as `2030-01-31T08:00:00Z` or `in 10m`; without `at`, now.

    Returns the id of the call. why, list_runs and archive_endpoint accept it: archiving cancels the call.
    """
    inputs = {"at": timedelta(0)} | {key: value for key, value in wanted.sent().items() if value is not None}
    inputs["headers"] = tuple(
        Header(name.strip(), value.strip(" \t"), is_secret)
        for given, is_secret in ((wanted.headers, False), (wanted.secret_headers, True))
        for name, value in (given or {}).items()
    )
    config = with_inputs(EndpointConfig("", HttpAction(wanted.url)), inputs)
    desk = visit.desk_for(wanted.dry_run)
    (placed,) = await add_calls(desk, [CallDraft(config, wanted.key)], dry_run=wanted.dry_run)
    return {"dry_run": wanted.dry_run, "call": PlacedCallView.of_placed(placed).as_json()}

"""Change an endpoint, or rehearse it, and tell what is different afterwards: what every changing tool answers."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.schedule.changes import Change
from mainspring.mcp.tool import ToolCaller
from mainspring.mcp.untrusted import clipped
from mainspring.operations.endpoints import Desk, find_endpoint
from mainspring.views.shapes import Shape, endpoint_shape

TEXT_MAX = 4_096  # a request body may have a million characters, and an assistant pays for each
NOT_A_CHANGE = ("version", "updated_at")


class EndpointChangeTarget(Protocol):
    @property
    def endpoint(self) -> str: ...

    @property
    def dry_run(self) -> bool: ...


async def act(visit: ToolCaller, wanted: EndpointChangeTarget, deed: Callable[[Desk], Awaitable[Change]]) -> Shape:
    desk = visit.desk_for(wanted.dry_run)
    before = await shape_of(desk, await find_endpoint(desk, wanted.endpoint))
    after = await shape_of(desk, (await deed(desk)).endpoint)
    changes = {
        name: {"from": before[name], "to": value}
        for name, value in after.items()
        if before[name] != value and name not in NOT_A_CHANGE
    }
    return {"dry_run": wanted.dry_run, "changes": changes, "endpoint": after}


async def shape_of(desk: Desk, endpoint: Endpoint) -> Shape:
    shape = endpoint_shape(endpoint, endpoint.job, await desk.stores.schedule.now())
    for name in ("body", "description"):
        text = shape[name]
        shape[name] = clipped(text, TEXT_MAX) if isinstance(text, str) else text
    return shape

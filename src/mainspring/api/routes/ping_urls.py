"""The ping URL of a heartbeat: show, create, rotate, revoke. Pings arrive at `api/pings.py`."""

from fastapi import APIRouter, Request

from mainspring.api.access import Writing
from mainspring.api.context import Context
from mainspring.api.models.fields import EndpointRef
from mainspring.operations import pings
from mainspring.views.ping import PingUrlView

router = APIRouter(prefix="/endpoints", tags=["endpoints"])


@router.get("/{endpoint}/ping-url")
async def read_ping_url(desk: Writing, endpoint: EndpointRef, request: Request) -> PingUrlView:
    """The ping URL of a heartbeat. It is a secret: any program that has it can ping the endpoint."""
    return PingUrlView.of(await pings.read_ping_url(desk, endpoint), _site(request))


@router.post("/{endpoint}/ping-url", status_code=201)
async def create_ping_url(desk: Writing, endpoint: EndpointRef, request: Request) -> PingUrlView:
    """Create or replace the ping URL of a heartbeat. The previous one becomes invalid at once."""
    return PingUrlView.of(await pings.rotate_ping_url(desk, endpoint), _site(request))


@router.delete("/{endpoint}/ping-url")
async def revoke_ping_url(desk: Writing, endpoint: EndpointRef) -> PingUrlView:
    """Revoke the ping URL of a heartbeat. Pings are refused until another one is created."""
    return PingUrlView.revoked(await pings.revoke_ping_url(desk, endpoint))


def _site(request: Request) -> str:
    context: Context = request.app.state.context
    return context.settings.public_url or str(request.base_url)

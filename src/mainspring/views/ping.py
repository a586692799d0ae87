"""The ping URL of a heartbeat, for users who may edit it."""

from typing import Self

from pydantic import Field

from mainspring.domain.endpoint import Endpoint
from mainspring.operations.pings import PING_PATH, PingAddress
from mainspring.views.view import At, View


class PingUrlView(View):
    endpoint: str
    url: str | None = Field(description="Any program that has it can ping the endpoint. Null: no URL was created.")
    created_at: At | None

    @classmethod
    def of(cls, address: PingAddress, site: str) -> Self:
        url = None if address.token is None else f"{site.rstrip('/')}{PING_PATH}{address.token}"
        return cls(endpoint=address.endpoint.name, url=url, created_at=address.created_at)

    @classmethod
    def revoked(cls, endpoint: Endpoint) -> Self:
        return cls(endpoint=endpoint.name, url=None, created_at=None)

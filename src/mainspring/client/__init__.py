"""What a program imports to talk to a Mainspring server: `from mainspring.client import Client`."""

from mainspring.client.clients import AsyncClient, Client
from mainspring.client.errors import (
    ApiError,
    Conflict,
    Forbidden,
    InvalidRequest,
    NotAuthenticated,
    NotFound,
    NotMainspring,
    QuotaExceeded,
    ServerFailed,
    TooManyRequests,
    Unreachable,
)

__all__ = [
    "ApiError",
    "AsyncClient",
    "Client",
    "Conflict",
    "Forbidden",
    "InvalidRequest",
    "NotAuthenticated",
    "NotFound",
    "NotMainspring",
    "QuotaExceeded",
    "ServerFailed",
    "TooManyRequests",
    "Unreachable",
]

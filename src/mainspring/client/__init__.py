"""The Python client of a Mainspring server: `from mainspring.client import Client`."""

from mainspring.client.clients import AsyncClient, Client
from mainspring.client.errors import (
    ApiError,
    ConflictError,
    ForbiddenError,
    InvalidRequest,
    NotAuthenticatedError,
    NotFoundError,
    NotMainspring,
    QuotaExceededError,
    ServerFailed,
    TooManyRequestsError,
    Unreachable,
)

__all__ = [
    "ApiError",
    "AsyncClient",
    "Client",
    "ConflictError",
    "ForbiddenError",
    "InvalidRequest",
    "NotAuthenticatedError",
    "NotFoundError",
    "NotMainspring",
    "QuotaExceededError",
    "ServerFailed",
    "TooManyRequestsError",
    "Unreachable",
]

"""Browsers and programs at the API's real door: cookies, keys, and the address they come from.

`scope_rows` is the matrix of every route that names a scope; a test of any router can walk it with keys of its own.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from httpx2 import ASGITransport, AsyncClient, Response
from msgspec.structs import replace

from mainspring.api.access import recognise
from mainspring.domain.access.account import User
from mainspring.domain.access.scope import Role, Scope
from mainspring.domain.schedule.cron import CRON
from mainspring.operations.accounts import add_user
from mainspring.operations.api_keys import NewApiKey, add_api_key
from mainspring.operations.context import Desk
from mainspring.operations.single_sign_on import Issuer
from mainspring.outbound.passwords import Argon2Hasher
from mainspring.outbound.vault import AesVault, KeyRing
from mainspring.ports.outbound import Clock
from mainspring.ports.stores import Stores
from mainspring.settings import Settings
from mainspring.wiring.clock import TimeOrderedIds
from tests.api.app import open_app
from tests.api.every import Operation, every_operation

PASSWORD = "correct horse battery staple"
SITE = "http://127.0.0.1"
LOCKSMITH = Argon2Hasher(memory_kib=8, passes=1)


@asynccontextmanager
async def open_door(
    stores: Stores, clock: Clock, settings: Settings | None = None, issuer: Issuer | None = None
) -> AsyncIterator[FastAPI]:
    """The app as it is served: who asks is recognised by key or cookie."""
    async with open_app(stores, clock, settings) as app:
        app.state.context = replace(app.state.context, issuer=issuer)
        app.dependency_overrides.pop(recognise)
        yield app


def at_the_desk(stores: Stores, tenant_id: str = "default") -> Desk:
    return Desk(stores, tenant_id, "cli", TimeOrderedIds(), AesVault(KeyRing(bytes(32))), CRON)


async def a_user(
    stores: Stores,
    email: str = "ann@example.com",
    role: Role | None = Role.OWNER,
    *,
    is_operator: bool = False,
    tenant_id: str = "default",
) -> User:
    place = (tenant_id, role) if role else None
    made = await add_user(
        at_the_desk(stores, ""), LOCKSMITH, email, password=PASSWORD, is_operator=is_operator, place=place
    )
    return made.user


async def a_key(stores: Stores, *scopes: Scope, tenant_id: str = "default", is_operator: bool = False) -> str:
    wish = NewApiKey("test", tuple(scopes) or tuple(Scope), is_operator=is_operator)
    _, text = await add_api_key(at_the_desk(stores, tenant_id), LOCKSMITH, wish)
    return text


class Browser(AsyncClient):
    """Keeps cookies, and says as browsers do that its requests come from our own pages."""

    def __init__(self, app: FastAPI, address: str = "192.0.2.1", site: str = SITE) -> None:
        transport = ASGITransport(app, raise_app_exceptions=False, client=(address, 40_000))
        super().__init__(transport=transport, base_url=site, headers={"Sec-Fetch-Site": "same-origin"})

    async def log_in(self, email: str = "ann@example.com", password: str = PASSWORD) -> Response:
        return await self.post("/api/v1/auth/login", json={"email": email, "password": password})


def program(app: FastAPI, key: str, address: str = "192.0.2.1") -> AsyncClient:
    transport = ASGITransport(app, raise_app_exceptions=False, client=(address, 40_000))
    return AsyncClient(transport=transport, base_url=SITE, headers={"Authorization": f"Bearer {key}"})


def scope_rows(app: FastAPI) -> Iterator[tuple[str, str, Scope]]:
    """Method, path and scope of every operation that names one; path parameters are filled with an id of nothing."""
    for operation in every_operation(app):
        if "x-scope" in operation.described:
            yield operation.method.upper(), filled(operation), Scope(operation.described["x-scope"])


def operator_rows(app: FastAPI) -> Iterator[tuple[str, str]]:
    for operation in every_operation(app):
        if operation.described.get("x-operator"):
            yield operation.method.upper(), filled(operation)


def filled(operation: Operation) -> str:
    return operation.path.format(**dict.fromkeys(operation.in_path, "nothing"))

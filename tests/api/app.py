"""The API on a real database, asked over HTTP without a socket; who asks is chosen by a header of the test's own."""

from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from ipaddress import ip_network

from fastapi import FastAPI, Request
from httpx2 import ASGITransport, AsyncClient
from prometheus_client import CollectorRegistry

from mainspring.api.access import recognise
from mainspring.api.app import furnish, make_app
from mainspring.api.context import Context
from mainspring.domain.access.scope import Principal, Scope
from mainspring.domain.errors import NotAuthenticated
from mainspring.domain.kinds.command_policy import parse_commands
from mainspring.domain.run import Outcome, RunStatus
from mainspring.domain.run import Request as CallRequest
from mainspring.domain.schedule.cron import CRON
from mainspring.event_feed import Feed
from mainspring.operations.context import Desk
from mainspring.outbound.caller import KindCaller, callers_of
from mainspring.outbound.guard import AddressGuard
from mainspring.outbound.http import HttpCaller
from mainspring.outbound.kinds.dial import Dialer
from mainspring.outbound.passwords import Argon2Hasher
from mainspring.outbound.templates import TemplateRenderer
from mainspring.outbound.vault import AesVault, KeyRing
from mainspring.ports.outbound import Caller, Clock
from mainspring.ports.planner import Look
from mainspring.ports.stores import Stores
from mainspring.settings import Settings
from mainspring.wiring.clock import TimeOrderedIds
from mainspring.wiring.outbound import open_messengers
from mainspring.wiring.planner import open_simulator
from tests.kind_samples import COMMANDS

ALL = " ".join(Scope)
_spare: defaultdict[tuple[str, str], list[FastAPI]] = defaultdict(list)


async def recognised(request: Request) -> Principal:
    """`X-Test: tenant scope scope`, `X-Operator: yes`, or the key `test` for everything; else nobody is recognised."""
    has_key = request.headers.get("authorization") == "Bearer test"
    everything = f"default {ALL}" if has_key else ""
    tenant, _, scopes = request.headers.get("x-test", everything).partition(" ")
    if not tenant:
        raise NotAuthenticated("no API key or session was sent; send `Authorization: Bearer <key>`")
    return Principal(
        tenant,
        request.headers.get("x-actor", "key:test"),
        frozenset(Scope(scope) for scope in scopes.split()),
        is_operator=has_key or "x-operator" in request.headers,
    )


class NobodyThere:
    """A caller for tests that make up addresses: nothing leaves the machine."""

    async def call(self, request: CallRequest) -> Outcome:
        return Outcome(RunStatus.FAILURE, 1, error_code="connect", error="nobody is there")

    async def aclose(self) -> None:
        """There is nothing to close."""


@asynccontextmanager
async def open_app(
    stores: Stores,
    clock: Clock,
    settings: Settings | None = None,
    caller: Caller | None = None,
    look: Look | None = None,
) -> AsyncIterator[FastAPI]:
    vault, ids = AesVault(KeyRing(bytes(32))), TimeOrderedIds()
    guard = AddressGuard((ip_network("127.0.0.0/8"),))
    chosen = settings or Settings(api_requests_per_minute=0, api_requests_per_minute_of_tenant=0)
    site = chosen.callback_site
    caller = caller or KindCaller(
        HttpCaller(guard, vault, clock=clock.now, site=site),
        callers_of(Dialer(guard, clock=clock.now), vault),
        TemplateRenderer(vault, stores.runs),
    )

    def desk(tenant_id: str, actor: str) -> Desk:
        return Desk(stores, tenant_id, actor, ids, vault, CRON, commands=parse_commands(COMMANDS), callback_site=site)

    hasher = Argon2Hasher(memory_kib=8, passes=1)  # cheap: its strength is not what is tested here
    feed, ways = Feed(stores.runs), open_messengers(chosen)
    context = Context(
        stores, desk, caller, chosen, CollectorRegistry(), {}, feed, ways, hasher, look=look,
        simulator=open_simulator(),
    )  # fmt: skip
    with borrowed(context) as app:
        app.dependency_overrides[recognise] = recognised
        try:
            yield app
        finally:
            await caller.aclose()


@contextmanager
def borrowed(context: Context) -> Iterator[FastAPI]:
    """An app with this context, handed on from test to test: FastAPI looks at a route when it is first asked for.

    Routes and overrides that a test adds go with it. Settings that the app is built with have apps of their own.
    """
    spare = _spare[(context.settings.public_url, str(context.settings.allowed_hosts))]
    app = spare.pop() if spare else make_app(context)
    furnish(app, context)
    routes = list(app.router.routes)
    try:
        yield app
    finally:
        app.router.routes[:] = routes
        app.dependency_overrides.clear()
        spare.append(app)


def client_of(
    app: FastAPI, tenant: str = "default", scopes: str = ALL, actor: str = "key:test", *, is_operator: bool = False
) -> AsyncClient:
    """Errors that escape the app are answers here, as they are for everybody else."""
    transport = ASGITransport(app, raise_app_exceptions=False)
    headers = {"x-test": f"{tenant} {scopes}", "x-actor": actor} if tenant else {}
    headers |= {"x-operator": "yes"} if is_operator else {}
    return AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=headers)

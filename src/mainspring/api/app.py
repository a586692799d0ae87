"""The web server's application: the routes of the API with their middleware, and health for monitoring."""

from collections import Counter

from fastapi import APIRouter, FastAPI
from fastapi.routing import iter_route_contexts

from mainspring import __version__
from mainspring.api import frontend, idempotency, problems, schema
from mainspring.api.callbacks import CallbackDoor
from mainspring.api.compression import Compression
from mainspring.api.context import Context
from mainspring.api.event_stream import Blocks
from mainspring.api.middleware import RequestMiddleware
from mainspring.api.origin import OwnPagesOnly
from mainspring.api.pings import PingDoor
from mainspring.api.rate_limit import Limits
from mainspring.api.routes import (
    alerts,
    auth,
    bulk,
    calendars,
    calls,
    config,
    connections,
    dashboard,
    demo,
    endpoint_actions,
    endpoints,
    event_stream,
    events,
    executions,
    hints,
    jobs,
    keys,
    kinds,
    maintenance,
    partitions,
    passkeys,
    ping_urls,
    planner,
    proposals,
    reference_pages,
    rules,
    runs,
    setup_page,
    simulations,
    single_sign_on,
    system,
    tenant,
    tenants,
    users,
    webhooks,
    workflows,
)
from mainspring.operations.callbacks import CallbackIntake
from mainspring.operations.pings import PingIntake

PREFIX = "/api/v1"
ROUTERS: tuple[APIRouter, ...] = (  # in the order of the reference page
    jobs.router,
    connections.router,
    calendars.router,
    endpoints.router,
    endpoint_actions.router,
    ping_urls.router,
    calls.router,
    kinds.router,
    hints.router,
    rules.router,
    planner.router,
    planner.sessions_router,
    proposals.router,
    simulations.router,
    bulk.router,
    runs.router,
    events.router,
    event_stream.router,
    workflows.router,
    executions.router,
    partitions.router,
    webhooks.router,
    alerts.router,
    maintenance.router,
    dashboard.router,
    demo.router,
    config.router,
    tenant.router,
    auth.router,
    single_sign_on.router,
    passkeys.router,
    users.router,
    keys.router,
    tenants.router,
)


def furnish(app: FastAPI, context: Context) -> None:
    """Gives the app the context of its routes."""
    settings = context.settings
    app.state.context = context
    app.state.limits = Limits(settings.api_requests_per_minute, settings.api_requests_per_minute_of_tenant)
    app.state.blocks = Blocks()
    app.state.pings = PingIntake(context.stores)
    app.state.callbacks = CallbackIntake(context.stores, lambda: context.desk("", "callback").vault)
    app.state.streams = Counter()
    app.state.closed_hours = dashboard.ClosedHours()


def make_app(context: Context) -> FastAPI:
    app = FastAPI(
        title="Mainspring",
        version=__version__,
        openapi_url=None,  # our own route: building the document takes a second, which must not block the event loop
        docs_url=None,  # our own reference page: it works without the network
        redoc_url=None,
        redirect_slashes=False,  # a redirect would repeat the Host header, which is untrusted
        generate_unique_id_function=schema.operation_id,
    )
    furnish(app, context)
    settings = context.settings
    idempotency.install(app)
    app.add_middleware(Compression)
    app.add_middleware(OwnPagesOnly, public_url=settings.public_url)
    app.add_middleware(RequestMiddleware, allowed_hosts=settings.allowed_hosts)
    app.add_middleware(CallbackDoor)
    app.add_middleware(PingDoor)  # both before all other middleware: pings are many, and no log line shows their tokens
    problems.install(app)
    for router in ROUTERS:
        app.include_router(router, prefix=PREFIX)
    app.include_router(reference_pages.router)
    if not frontend.is_built():  # the web UI has its own page for that link
        app.include_router(setup_page.router)
    app.include_router(system.router)
    app.router.routes.extend(frontend.routes())  # last: the web UI handles every other path
    description = schema.Description(app)
    app.state.description = description
    app.openapi = description.document  # type: ignore[method-assign]  # FastAPI's own way to extend its document
    return app


def prepare_routes(app: FastAPI) -> None:
    """Lets FastAPI analyse its routes now: at the first request this would block the event loop for 0.1 s."""
    for _ in iter_route_contexts(app.routes):
        pass

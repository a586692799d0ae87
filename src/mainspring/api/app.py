"""The web server's application: the routes of the API in their frame, and health for whoever watches the process."""

from collections import Counter

from fastapi import APIRouter, FastAPI

from mainspring import __version__
from mainspring.api import frontend, idempotency, problems, schema
from mainspring.api.context import Context
from mainspring.api.frame import Frame
from mainspring.api.limits import Limits
from mainspring.api.origin import OwnPagesOnly
from mainspring.api.routes import (
    acts,
    alerts,
    auth,
    bulk,
    config,
    dashboard,
    demo,
    endpoints,
    entrance,
    events,
    executions,
    hints,
    jobs,
    keys,
    pages,
    partitions,
    planner,
    rules,
    runs,
    simulations,
    single_sign_on,
    stream,
    system,
    tenant,
    tenants,
    users,
    webhooks,
    workflows,
)
from mainspring.api.stream import Blocks

PREFIX = "/api/v1"
ROUTERS: tuple[APIRouter, ...] = (  # in the order of the reference page
    jobs.router,
    endpoints.router,
    acts.router,
    hints.router,
    rules.router,
    planner.router,
    planner.sessions_router,
    simulations.router,
    bulk.router,
    runs.router,
    events.router,
    stream.router,
    workflows.router,
    executions.router,
    partitions.router,
    webhooks.router,
    alerts.router,
    dashboard.router,
    demo.router,
    config.router,
    tenant.router,
    auth.router,
    single_sign_on.router,
    users.router,
    keys.router,
    tenants.router,
)


def furnish(app: FastAPI, context: Context) -> None:
    """Give the app what its routes work with."""
    settings = context.settings
    app.state.context = context
    app.state.limits = Limits(settings.api_requests_per_minute, settings.api_requests_per_minute_of_tenant)
    app.state.blocks = Blocks()
    app.state.streams = Counter()
    app.state.closed_hours = dashboard.ClosedHours()


def make_app(context: Context) -> FastAPI:
    app = FastAPI(
        title="Mainspring",
        version=__version__,
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,  # the reference page is our own: it works without the network
        redoc_url=None,
        redirect_slashes=False,  # a redirect would repeat whatever the Host header said
        generate_unique_id_function=schema.operation_id,
    )
    furnish(app, context)
    settings = context.settings
    idempotency.install(app)
    app.add_middleware(OwnPagesOnly, public_url=settings.public_url)
    app.add_middleware(Frame, allowed_hosts=settings.allowed_hosts)
    problems.install(app)
    for router in ROUTERS:
        app.include_router(router, prefix=PREFIX)
    app.include_router(pages.router)
    if not frontend.is_built():  # the web UI has a page of its own for that link
        app.include_router(entrance.router)
    app.include_router(system.router)
    app.router.routes.extend(frontend.routes())  # last: they take what is nobody else's
    made: schema.Document = {}

    def openapi() -> schema.Document:
        if not made:
            made.update(schema.document(app))
        return made

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's own way to extend its document
    return app

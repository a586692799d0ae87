"""Assemble the interfaces of one process: the web server with API, UI and MCP, and MCP on standard input and output."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec.structs import replace

from mainspring.domain.access.scope import Principal, Scope
from mainspring.operations.context import Desk
from mainspring.settings import Settings
from mainspring.wiring.desk import open_desk, open_password_hasher
from mainspring.wiring.outbound import open_caller, open_issuer
from mainspring.wiring.workers import NotificationWorkers, Running

if TYPE_CHECKING:
    from mainspring.workers.supervisor import Worker


def has_pages() -> bool:
    """Whether the web UI is available; a source tree has it once it was built."""
    from mainspring.api.frontend import is_built

    return is_built()


@contextmanager
def open_web(
    settings: Settings,
    running: Running,
    notices: NotificationWorkers,
    on_ready: Callable[[str], None],
    demo: Callable[[], dict[str, object]] | None = None,
) -> Iterator[list["Worker"]]:
    """The web server of one process, bound to its port, with its background parts: ready to be supervised as workers.

    With `demo`, which reports the state of the demo, no login is required.
    """
    from starlette.routing import Route

    from mainspring.api.access import admit
    from mainspring.api.app import make_app, prepare_routes
    from mainspring.api.context import Context
    from mainspring.api.server import WebServer
    from mainspring.documents.watcher import watch
    from mainspring.mcp.transports import WebDoor
    from mainspring.outbound.sandbox import ProcessSandbox
    from mainspring.wiring.planner import model_fault, open_drafter, open_look, open_simulator
    from mainspring.wiring.readiness import Readiness

    sandbox = ProcessSandbox()

    def desk(tenant_id: str, actor: str) -> Desk:
        return replace(running.desk, tenant_id=tenant_id, actor=actor, sandbox=sandbox)

    model = next(iter(running.models), None)
    readiness = Readiness(running.stores.upkeep)
    checks = {"database": readiness.check}
    by_folder = replace(running.desk, actor="config_dir", sandbox=sandbox.unmetered())
    watchers = watch(by_folder, settings.config_dir, notices.messengers, prune=settings.config_prune)
    context = Context(
        running.stores,
        desk,
        running.caller,
        settings,
        running.metrics.registry(),
        checks,
        notices.feed,
        notices.messengers,
        open_password_hasher(),
        {"schema": readiness.check_schema, **{"config_dir": each.check for each in watchers}},  # noqa: B035  # or none
        open_issuer(settings),
        demo,
        look=open_look(settings, running.desk, model) if model else None,
        simulator=open_simulator(),
        drafter=open_drafter(settings, model) if model else None,
        model_fault=model_fault(settings),
    )
    app = make_app(context)
    assistants = WebDoor(admit, desk, running.caller)
    app.router.routes.insert(0, Route("/mcp", assistants))
    prepare_routes(app)
    web = WebServer(app, settings.host, settings.port, on_ready, notices.feed.stop, settings.trusted_proxies)
    try:
        yield [web, assistants, sandbox, *watchers]
    finally:
        web.close()


async def serve_assistant(settings: Settings, scopes: frozenset[Scope]) -> None:
    """The MCP server on standard input and output, for the parent process."""
    from mainspring.mcp.transports import serve_stdio
    from mainspring.workers.presence import present

    async with open_desk(settings, actor="mcp") as desk, present(desk.stores.presence, desk.worker, {"mcp": 0}):
        caller = open_caller(settings, desk.vault, desk.stores)
        try:
            await serve_stdio(Principal(desk.tenant_id, desk.actor, scopes), lambda _, __: desk, caller)
        finally:
            await caller.aclose()

"""The web server: health, readiness and metrics for whoever watches over this process."""

from fastapi import FastAPI, Response
from fastapi.responses import JSONResponse, PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from mainspring import __version__
from mainspring.api.context import Context


def make_app(context: Context) -> FastAPI:
    app = FastAPI(title="Mainspring", version=__version__, openapi_url=None, docs_url=None, redoc_url=None)
    app.state.context = context

    @app.get("/")
    async def root() -> PlainTextResponse:
        return PlainTextResponse(f"Mainspring {__version__} is running. /healthz /readyz /metrics\n")

    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        return {"status": "ok", "version": __version__}

    @app.get("/readyz")
    async def readyz() -> JSONResponse:
        results = {name: await check() for name, check in context.checks.items()}
        ready = all(result is None for result in results.values())
        body = {"status": "ready" if ready else "not ready", "checks": {n: r or "ok" for n, r in results.items()}}
        return JSONResponse(body, status_code=200 if ready else 503)

    @app.get("/metrics")
    async def metrics() -> Response:
        return Response(generate_latest(context.registry), media_type=CONTENT_TYPE_LATEST)

    return app

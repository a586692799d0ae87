"""Health, readiness and metrics, for monitoring this process. They need no key."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from mainspring import __version__
from mainspring.api.context import Context

router = APIRouter(include_in_schema=False)


@router.get("/healthz")
async def healthz() -> dict[str, str]:
    return {"status": "ok", "version": __version__}


@router.get("/readyz")
async def readyz(request: Request) -> JSONResponse:
    context: Context = request.app.state.context
    results = {name: await check() for name, check in context.checks.items()}
    ready = all(result is None for result in results.values())
    results |= {name: await check() for name, check in context.remarks.items()}
    body = {"status": "ready" if ready else "not ready", "checks": {n: r or "ok" for n, r in results.items()}}
    return JSONResponse(body, status_code=200 if ready else 503)


@router.get("/metrics")
async def metrics(request: Request) -> Response:
    context: Context = request.app.state.context
    return Response(generate_latest(context.registry), media_type=CONTENT_TYPE_LATEST)

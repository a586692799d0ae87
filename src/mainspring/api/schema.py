"""The OpenAPI document: what FastAPI derives from the routes, and what applies to all of them.

Operation ids are the names of the route functions (`list_endpoints`). Every operation names the scope it needs, taken
from its dependency, and every error it may return, as a problem.
"""

import asyncio
import json
import threading
from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute, iter_route_contexts

from mainspring.api.problems import BASE, MEDIA_TYPE, PROBLEMS
from mainspring.domain.access.scope import MEANING, Scope
from mainspring.domain.labels import api_labels

Document = dict[str, Any]  # FastAPI's name for it

TAGS = {
    "jobs": "Named groups of endpoints, paused and archived together.",
    "endpoints": "What is called and when: a URL with its schedule, limits and state.",
    "calendars": "Calendars: named sets of days on which endpoints run or do not run.",
    "connections": "Named base URLs with credentials, TLS and proxy settings that endpoints share.",
    "hints": "Expiring advice that changes when an endpoint runs.",
    "rules": "Conditions on responses and the actions they trigger.",
    "planner": "Modes of the planner, results of shadow mode, and spending.",
    "proposals": "Advice in mode ask, for a person to approve or reject.",
    "sessions": "What a language model saw, said and did.",
    "simulations": "Scenarios run on a simulated clock by the real scheduler and planner.",
    "bulk": "One action on many endpoints: some by id, or all that match, batch by batch.",
    "runs": "What happened: every attempt with its outcome and its response.",
    "events": "What changed, in order, by whom.",
    "workflows": "Work in several steps over days: documents, versions and simulations.",
    "executions": "Single runs through a workflow: their state, history and commands.",
    "partitions": "Partitions of workflows with one writer each, and their proofs; for operators.",
    "webhooks": "External receivers of events, and their deliveries.",
    "alerts": "Notify people when something fails, recovers, is late or exceeds a quota.",
    "maintenance": "Maintenance windows: when runs are skipped or not counted, and alerts are silent.",
    "dashboard": "Counts and lists for an overview.",
    "tenant": "Quotas and usage.",
    "auth": "Log in and out, and identify the caller.",
    "users": "Users of the installation, and members of a tenant with their roles.",
    "keys": "API keys let programs use the API; signing keys sign outgoing calls.",
    "tenants": "Tenants and their quotas, for operators of the installation; the audit trail.",
    "system": "The processes that do the work, and this server.",
}
DESCRIPTION = (
    "The HTTP API of Mainspring. Timestamps are RFC 3339 in UTC. Durations are milliseconds in "
    "responses; in requests they may also be text such as `30s`, `5m` or `1h30m`. Every error is an "
    "RFC 9457 problem."
)
PROBLEM: Document = {
    "title": "Problem",
    "description": "An RFC 9457 problem.",
    "type": "object",
    "required": ["type", "title", "status", "detail", "request_id"],
    "properties": {
        "type": {"type": "string", "enum": [BASE + name for name in PROBLEMS]},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What happened, the rule, and the fix."},
        "request_id": {"type": "string", "description": "Also in the header X-Request-Id and in the server's log."},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["detail"],
                "properties": {
                    "detail": {"type": "string"},
                    "pointer": {"type": "string", "description": "JSON Pointer into the request body."},
                    "parameter": {"type": "string", "description": "Name of a query, path or header parameter."},
                    "in": {"type": "string", "enum": ["query", "path", "header", "cookie"]},
                    "path": {"type": "string", "description": "Path in a workflow document: `steps[2].wait`."},
                    "line": {"type": ["integer", "null"], "description": "Line in the document, if known."},
                    "message": {"type": "string", "description": "The detail without the place."},
                },
            },
        },
        "subject": {"type": "string", "description": "The kind of thing that was not found, or is in conflict."},
        "suggestion": {"type": ["string", "null"], "description": "The name that was probably meant."},
        "allowed": {
            "type": "array",
            "items": {"type": "string"},
            "description": "What the status of the execution allows instead.",
        },
    },
    "examples": [
        {
            "type": "/problems/invalid-input",
            "title": "Invalid input",
            "status": 422,
            "detail": "interval 5 ms is out of bounds; give 100ms to 366d",
            "request_id": "req_5f0c2a9d1e7b4a3c8d2f",
            "errors": [{"pointer": "/interval_ms", "detail": "interval 5 ms is out of bounds; give 100ms to 366d"}],
        }
    ],
}
ALWAYS = ("400", "401", "403", "404", "408", "413", "415", "421", "422", "429", "500", "503")
WRITING = ("409", "412")
IDEMPOTENCY_KEY: Document = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "A unique text per intended change. If the same request is sent again within 24 hours with "
    "the same key, nothing is done again and the stored response is returned, with the header "
    "Idempotency-Replayed.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
}
METHODS = ("get", "put", "post", "delete", "patch")


def operation_id(route: APIRoute) -> str:
    return route.name


def document(app: FastAPI) -> Document:
    made = get_openapi(
        title=app.title,
        version=app.version,
        description=DESCRIPTION,
        routes=app.routes,
        tags=[{"name": name, "description": meaning} for name, meaning in TAGS.items()],
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        servers=[{"url": "/"}],
    )
    made["x-labels"] = api_labels()
    scopes, guarded = scopes_of(app), guarded_routes(app)
    parts = made.setdefault("components", {})
    schemas = parts.setdefault("schemas", {})
    schemas["Problem"] = PROBLEM
    parts["responses"] = {name: _response(name) for name in {str(kind.status) for kind in PROBLEMS.values()}}
    parts["securitySchemes"] = {
        "key": {"type": "http", "scheme": "bearer", "description": "An API key: `Authorization: Bearer <key>`."},
        "session": {
            "type": "apiKey",
            "in": "cookie",
            "name": "__Host-mainspring",
            "description": "A signed-in browser.",
        },
    }
    for path, item in made["paths"].items():
        for method in METHODS:
            if method in item:
                place = (method, path)
                _complete(item[method], method, scopes.get(place), guarded.get(place))
    for left_over in ("HTTPValidationError", "ValidationError"):
        schemas.pop(left_over, None)
    return made


class Description:
    """The document of an app, built once at the first request, off the event loop."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self._made: Document = {}
        self._text = b""
        self._making = threading.Lock()

    def document(self) -> Document:
        with self._making:
            if not self._made:
                self._made.update(document(self._app))
        return self._made

    async def text(self) -> bytes:
        if not self._text:
            self._text = await asyncio.to_thread(lambda: json.dumps(self.document(), ensure_ascii=False).encode())
        return self._text


def scopes_of(app: FastAPI) -> dict[tuple[str, str], Scope]:
    """The scope of each route, from the dependency it declared."""
    found: dict[tuple[str, str], Scope] = {}
    for route in iter_route_contexts(app.routes):
        dependencies = route.dependant.dependencies if isinstance(route.original_route, APIRoute) else ()
        for dependant in dependencies:
            name = getattr(dependant.call, "__name__", "")
            if name.startswith("needs_"):
                for method in route.methods or ():
                    found[method.lower(), str(route.path_format)] = Scope(name.removeprefix("needs_"))
    return found


def guarded_routes(app: FastAPI) -> dict[tuple[str, str], str]:
    """Which routes need a principal, and which need an operator of the installation."""
    found: dict[tuple[str, str], str] = {}
    for route in iter_route_contexts(app.routes):
        if isinstance(route.original_route, APIRoute):
            names = set(_names_below(route.dependant))
            if "recognise" in names:
                for method in route.methods or ():
                    found[method.lower(), str(route.path_format)] = _guard(names)
    return found


def _guard(names: set[str]) -> str:
    return "operator" if names & {"operating", "operating_here"} else "anybody"


def _names_below(dependant: Dependant) -> Iterator[str]:
    for each in dependant.dependencies:
        yield getattr(each.call, "__name__", "")
        yield from _names_below(each)


def _complete(operation: Document, method: str, scope: Scope | None, guard: str | None) -> None:
    refusals = [*ALWAYS, *(WRITING if method != "get" else ())]
    if method != "get" and (scope is not None or guard == "operator"):
        operation.setdefault("parameters", []).append(IDEMPOTENCY_KEY)
    said = operation.get("description", "")
    if guard is None:
        operation["security"] = []
        refusals = [status for status in refusals if status != "403" or method != "get"]
    else:
        operation["security"] = [{"key": []}, {"session": []}]
    if guard == "operator":
        operation["x-operator"] = True
        operation["description"] = f"{said}\n\nFor operators of the installation.".strip()
    if scope is not None:
        operation["x-scope"] = scope.value
        operation["description"] = f"{said}\n\nNeeds the scope `{scope.value}`: {MEANING[scope]}".strip()
    answers = operation["responses"]
    for status in sorted(set(refusals)):
        if status not in answers or status == "422":
            answers[status] = {"$ref": f"#/components/responses/{status}"}


def _response(status: str) -> Document:
    kinds = [kind for kind in PROBLEMS.values() if str(kind.status) == status]
    headers = {"X-Request-Id": {"schema": {"type": "string"}}}
    if status in ("429", "503"):
        headers["Retry-After"] = {"schema": {"type": "integer"}}
    return {
        "description": " ".join(kind.meaning for kind in kinds),
        "headers": headers,
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }

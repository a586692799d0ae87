"""The OpenAPI document: what FastAPI reads off the routes, and what is true of all of them.

Operation ids are the names of the route functions (`list_endpoints`). Every operation names the scope it needs, taken
from its dependency, and every refusal it may meet, as a problem.
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

Document = dict[str, Any]  # FastAPI's own word for it

TAGS = {
    "jobs": "Named groups of endpoints, paused and archived together.",
    "endpoints": "What is called and when: one URL with its schedule, its limits and its state.",
    "hints": "Expiring advice that changes when an endpoint runs.",
    "rules": "What should happen when responses say something.",
    "planner": "Where rules and the model are live, what they would do, what was spent.",
    "proposals": "What advice would do in mode ask, for a person to approve or reject.",
    "sessions": "What a language model saw, said and did.",
    "simulations": "Scenarios played on a simulated clock by the real scheduler and planner.",
    "bulk": "One act over many endpoints: some by id, or all that match, batch by batch.",
    "runs": "What happened: every attempt with its outcome and its response.",
    "events": "What changed, in order, by whom.",
    "workflows": "Work in several steps over days: documents, their versions, and what they would do.",
    "executions": "Single runs through a workflow: where they stand, what happened, what may be ordered.",
    "partitions": "Parts of the work of workflows with a writer each, and their proofs; for operators.",
    "webhooks": "Receivers of events, outside, and what was delivered to them.",
    "alerts": "Who is told when something breaks, recovers, is late or runs out.",
    "dashboard": "Counts and lists for an overview.",
    "tenant": "Quotas, and what was used of them.",
    "auth": "Log in and out, and who is asking.",
    "users": "Users of the installation, and members of a tenant with their roles.",
    "keys": "API keys, by which programs are known here; signing keys, by which our calls are known there.",
    "tenants": "Tenants and their quotas, for operators of the installation; the audit trail.",
    "system": "The processes that do the work, and this server.",
}
DESCRIPTION = """\
Everything Mainspring can do. Instants are RFC 3339 in UTC. Durations are milliseconds in answers; in requests they may
also be text such as `30s`, `5m` or `1h30m`. Every error is an RFC 9457 problem.
"""
PROBLEM: Document = {
    "title": "Problem",
    "description": "An RFC 9457 problem.",
    "type": "object",
    "required": ["type", "title", "status", "detail", "request_id"],
    "properties": {
        "type": {"type": "string", "enum": [BASE + name for name in PROBLEMS]},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What happened, the rule, and the way out."},
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
                    "path": {"type": "string", "description": "Place in a workflow document: `steps[2].wait`."},
                    "line": {"type": ["integer", "null"], "description": "Its line there, where it is known."},
                },
            },
        },
        "allowed": {
            "type": "array",
            "items": {"type": "string"},
            "description": "What may be done with the execution instead, where its status does not allow this.",
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
    "description": "A text of your own, new for each thing you want. Sent again with the same request within 24 hours, "
    "nothing is done again and the same answer comes back, with the header Idempotency-Replayed.",
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
    """The document of an app, made once: when it is first asked for, and away from the event loop."""

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
    """Which scope each route needs, by the dependency it declared."""
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
    """Which routes want to know who asks, and whether it must be an operator of the installation."""
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

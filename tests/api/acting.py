"""What API tests do again and again."""

from hashlib import sha256
from typing import Any

from fastapi import FastAPI
from httpx2 import AsyncClient, Response

from tests.stores.databases import is_sqlite, query

Json = dict[str, Any]
URL = "http://127.0.0.1:65001/"


async def make(api: AsyncClient, name: str = "billing", **fields: object) -> Json:
    wish = {"name": name, "url": URL, "spread": False, **fields}
    if "cron" not in wish:
        wish.setdefault("interval_ms", "1m")
    answer = await api.post("/api/v1/endpoints", json=wish)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def fault(answer: Response, status: int = 422) -> tuple[str, str]:
    """The pointer or the parameter of the one fault, and what is said about it."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    (error,) = answer.json()["errors"]
    return error.get("pointer", error.get("parameter")), error["detail"]


async def fingerprint(store_url: str) -> str:
    """A hash over every row of every table but those that a request may touch without writing anything for a user."""
    if is_sqlite(store_url):
        tables = await query(store_url, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    else:
        tables = await query(store_url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")
    digest = sha256()
    for (table,) in tables:
        rows = await query(store_url, f"SELECT * FROM {table}")
        digest.update(repr((table, sorted(map(repr, rows)))).encode())
    return digest.hexdigest()


def operations(app: FastAPI) -> list[tuple[str, str, Json]]:
    """(method, path, operation) of everything in the document."""
    paths: Json = app.openapi()["paths"]
    return [(method, path, operation) for path, item in paths.items() for method, operation in item.items()]

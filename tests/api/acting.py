"""What API tests do again and again."""

from hashlib import sha256
from typing import Any

from httpx2 import AsyncClient, Response

from tests.stores.databases import is_sqlite, query

Json = dict[str, Any]
URL = "http://127.0.0.1:65001/"


async def make(api: AsyncClient, name: str = "billing", **fields: object) -> Json:
    wish = {"name": name, "url": URL, "spread": False, **fields}
    if "cron" not in wish:
        wish.setdefault("every", "1m")
    answer = await api.post("/api/v1/endpoints", json=wish)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def fault(answer: Response, status: int = 422) -> tuple[str, str]:
    """The pointer or the parameter of the one fault, and what is said about it."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    (error,) = answer.json()["errors"]
    return error.get("pointer", error.get("parameter")), error["detail"]


async def fingerprint(store_url: str, tenant: str = "") -> str:
    """A hash over every row of every table, or over those that belong to one tenant."""
    if is_sqlite(store_url):
        columns = "SELECT m.name, p.name FROM sqlite_master m JOIN pragma_table_info(m.name) p WHERE m.type = 'table'"
    else:
        columns = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
    tables: dict[str, set[str]] = {}
    for table, column in await query(store_url, columns):
        tables.setdefault(str(table), set()).add(str(column))
    digest = sha256()
    for table in sorted(tables):
        if not tenant:
            mine = ""
        elif "tenant_id" in tables[table]:
            mine = f" WHERE tenant_id = '{tenant}'"
        else:
            continue
        rows = await query(store_url, f"SELECT * FROM {table}{mine}")
        digest.update(repr((table, sorted(map(repr, rows)))).encode())
    return digest.hexdigest()

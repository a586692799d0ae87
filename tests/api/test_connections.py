"""Connections through the API: secrets go in and never come out, versions, users, tests."""

from httpx2 import AsyncClient

from tests.api.acting import URL

WISH = {"name": "billing", "base_url": URL, "auth": "header", "header": "X-Api-Key", "secret": "canary-Zq81"}


async def test_secret_is_masked_in_every_answer_and_the_mask_keeps_it(api: AsyncClient) -> None:
    made = await api.post("/api/v1/connections", json=WISH)
    kept = await api.patch("/api/v1/connections/billing", json={"secret": "••••", "description": "for invoices"})
    read = await api.get("/api/v1/connections/billing")
    listed = await api.get("/api/v1/connections")

    assert (made.status_code, made.headers["etag"]) == (201, '"v1"')
    assert (kept.json()["version"], kept.json()["secret"], kept.json()["client_key"]) == (2, "••••", None)
    assert read.json()["users"] == []
    assert "canary" not in made.text + kept.text + read.text + listed.text


async def test_patch_of_an_older_version_is_refused(api: AsyncClient) -> None:
    await api.post("/api/v1/connections", json=WISH)
    first = await api.patch("/api/v1/connections/billing", json={"description": "x"}, headers={"If-Match": '"v1"'})
    second = await api.patch("/api/v1/connections/billing", json={"description": "y"}, headers={"If-Match": '"v1"'})

    assert (first.status_code, second.status_code) == (200, 412)


async def test_connection_in_use_is_not_deleted_and_names_its_users(api: AsyncClient) -> None:
    await api.post("/api/v1/connections", json=WISH)
    endpoint = {"name": "invoices", "url": "/invoices", "every": "1m", "connection": "billing"}
    made = (await api.post("/api/v1/endpoints", json=endpoint)).json()
    refused = await api.delete("/api/v1/connections/billing")
    users = (await api.get("/api/v1/connections/billing")).json()["users"]

    assert (made["url"], made["connection"]) == (f"{URL}invoices", "billing")
    assert refused.status_code == 409
    assert "is used by endpoint 'invoices'" in refused.json()["detail"]
    assert users == [{"kind": "endpoint", "id": made["id"], "name": "invoices"}]


async def test_fault_points_at_the_field(api: AsyncClient) -> None:
    answers = [
        await api.post("/api/v1/connections", json=WISH | {"base_url": "ftp://example.com"}),
        await api.post("/api/v1/connections", json=WISH | {"auth": "basic"}),
        await api.post("/api/v1/connections", json=WISH | {"proxy": "corp"}),
        await api.post("/api/v1/endpoints", json={"name": "x", "url": "/x", "every": "1m", "connection": "no such"}),
    ]

    assert [(each.status_code, each.json()["errors"][0]["pointer"]) for each in answers] == [
        (422, "/base_url"), (422, "/header"), (422, "/proxy"), (422, "/connection"),
    ]  # fmt: skip


async def test_test_of_a_connection_is_a_result_and_not_an_error(api: AsyncClient) -> None:
    await api.post("/api/v1/connections", json=WISH | {"base_url": "http://127.0.0.1:9999/"})
    tested = await api.post("/api/v1/connections/billing/test", json={"path": "/health"})

    assert tested.status_code == 200
    assert (tested.json()["ok"], tested.json()["url"]) == (False, "http://127.0.0.1:9999/health")

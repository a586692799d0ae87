"""Configuration as code through the API, on both databases."""

from httpx2 import AsyncClient

from tests.api.acting import fault, make

ONE = "source: shop\nendpoints:\n  health: {url: 'https://example.com/', every: 30s}\n"


async def test_document_is_rehearsed_applied_and_then_nothing_is_left(api: AsyncClient) -> None:
    rehearsed = await api.post("/api/v1/config/apply?dry_run=true", json={"document": ONE})
    assert (await api.get("/api/v1/endpoints")).json()["items"] == []
    applied = await api.post("/api/v1/config/apply", json={"document": ONE})
    again = await api.post("/api/v1/config/apply", json={"document": ONE, "prune": True})

    assert [each.status_code for each in (rehearsed, applied, again)] == [200, 200, 200]
    assert [each.json()["written"] for each in (rehearsed, applied, again)] == [False, True, False]
    assert rehearsed.json()["steps"] == applied.json()["steps"]
    assert (await api.get("/api/v1/endpoints/health")).json()["managed_by"] == "shop"


async def test_faults_are_told_with_their_places(api: AsyncClient) -> None:
    answer = await api.post("/api/v1/config/apply", json={"document": ONE.replace("every", "evry")})

    assert fault(answer) == ("/document", "line 3, column 41: unknown key 'evry', did you mean 'every'?")


async def test_document_reads_nothing_of_the_server(api: AsyncClient) -> None:
    secret = ONE.replace("30s}", "30s, headers: {X-Key: '${file:/etc/passwd}'}}")

    pointer, detail = fault(await api.post("/api/v1/config/apply", json={"document": secret}))

    assert pointer == "/document"
    assert "is not resolved on the server" in detail


async def test_export_applied_changes_nothing_and_holds_no_secret(api: AsyncClient) -> None:
    await make(api, headers=[{"name": "X-Key", "value": "s3cret", "secret": True}])
    exported = (await api.get("/api/v1/config/export")).text

    answer = await api.post("/api/v1/config/apply", json={"document": exported, "prune": True})

    assert "s3cret" not in exported
    assert (answer.status_code, answer.json()["steps"]) == (200, [])


async def test_schema_is_of_documents(api: AsyncClient) -> None:
    assert (await api.get("/api/v1/config/schema")).json()["title"] == "Mainspring configuration"

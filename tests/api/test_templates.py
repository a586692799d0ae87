"""Templates through the API, on both databases: previewed by a dry run, filled in by a call, never with a secret."""

from pathlib import Path

from httpx2 import AsyncClient

from tests.api.acting import make
from tests.peers.journal import Journal

DAY = '{{ date(slot.time - duration("24h"), "Europe/Berlin") }}'


async def test_dry_run_shows_the_texts_of_the_first_run(api: AsyncClient) -> None:
    wish = {
        "name": "report",
        "url": f"https://example.com/{DAY}?token=planted-4711&day={DAY}",
        "every": "1h",
        "spread": False,
        "headers": [{"name": "X-Job", "value": "{{ job.name }}"}],
    }
    said = (await api.post("/api/v1/endpoints?dry_run=true", json=wish)).json()
    assert said["templates"] == {
        "slot_at": "2025-01-01T00:00:00Z",
        "texts": [
            {"name": "url", "text": "https://example.com/2024-12-31?token=••••&day=2024-12-31"},
            {"name": "headers.X-Job", "text": "default"},
        ],
        "fault": None,
    }
    assert "planted-4711" not in str(said)


async def test_dry_run_of_an_edit_shows_the_texts_after_it(api: AsyncClient) -> None:
    await make(api, url="https://example.com/?day=1")
    said = (await api.patch("/api/v1/endpoints/billing?dry_run=true", json={"body": DAY, "method": "POST"})).json()
    assert said["templates"]["texts"] == [{"name": "body", "text": "2024-12-31"}]
    plain = (await api.patch("/api/v1/endpoints/billing?dry_run=true", json={"description": "x"})).json()
    assert plain["templates"] is None


async def test_test_run_sends_what_its_dry_run_showed(api: AsyncClient, tmp_path: Path) -> None:
    with Journal(tmp_path / "journal") as journal:
        await make(api, url=journal.url("/ok/{{ format(slot.time, '%j') }}"), every="1h")
        rehearsed = (await api.post("/api/v1/endpoints/billing/test?dry_run=true")).json()
        assert journal.entries() == []
        said = (await api.post("/api/v1/endpoints/billing/test")).json()
        (entry,) = journal.entries()
    assert said["status"] == "success"
    assert rehearsed["templates"]["texts"] == [{"name": "url", "text": journal.url("/ok/001")}]
    assert entry.path == "/ok/001"


async def test_unknown_name_is_refused_at_its_field(api: AsyncClient) -> None:
    wish = {"name": "report", "url": "https://example.com/{{ slot.tme }}", "every": "1h"}
    answer = await api.post("/api/v1/endpoints", json=wish)
    assert answer.status_code == 422
    assert "did you mean 'slot.time'?" in answer.text

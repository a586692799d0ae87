"""Calendars by the API, and what `why` and the preview say about excluded days."""

from httpx2 import AsyncClient

from tests.api.acting import make
from tests.stores.world import FixedClock

CLOSED = {"name": "closed", "dates": ["2025-01-02 Inventory", "2025-01-03..2025-01-05"]}
# The tests begin on Wednesday 1 January 2025.
DAILY = {"every": None, "cron": "0 9 * * *", "timezone": "Europe/Berlin", "except": "closed"}


async def put(api: AsyncClient, **fields: object) -> dict[str, object]:
    answer = await api.post("/api/v1/calendars", json=CLOSED | fields)
    assert answer.status_code == 201, answer.text
    made: dict[str, object] = answer.json()
    return made


async def sentences(api: AsyncClient) -> list[str]:
    reasons = (await api.get("/api/v1/endpoints/billing/decision")).json()["reasons"]
    return [each["text"] for each in reasons if each["kind"] == "calendar"]


async def test_calendar_is_made_read_changed_and_deleted(api: AsyncClient) -> None:
    made = await put(api)
    path = f"/api/v1/calendars/{made['id']}"
    assert (await api.get("/api/v1/calendars")).json()["items"] == [made]
    changed = await api.patch(path, json={"weekdays": ["sun"], "dates": None}, headers={"If-Match": '"v1"'})
    assert (changed.headers["etag"], changed.json()["dates"]) == ('"v2"', [])
    assert (await api.patch(path, json={"description": "x"}, headers={"If-Match": '"v1"'})).status_code == 412
    read = (await api.get("/api/v1/calendars/closed")).json()
    assert [each["day"] for each in read["upcoming"][:2]] == ["2025-01-05", "2025-01-12"]
    assert (read["users"], read["ics"]) == ([], None)
    days = (await api.get(f"{path}/days?since=2025-02-01&days=9")).json()["items"]
    assert days == [{"day": "2025-02-02", "label": ""}, {"day": "2025-02-09", "label": ""}]
    assert (await api.delete(path)).json() == {"id": made["id"], "name": "closed", "deleted": True}
    assert (await api.get(path)).status_code == 404


async def test_wrong_calendar_is_refused_at_its_field(api: AsyncClient) -> None:
    for wish, field in (
        ({"dates": ["24.12.2025"]}, "dates"),
        ({"dates": [], "holidays": "XX"}, "holidays"),
        ({"dates": [], "ics": "nonsense"}, "ics"),
    ):
        answer = await api.post("/api/v1/calendars", json=CLOSED | wish)
        assert answer.status_code == 422
        assert [each["pointer"] for each in answer.json()["errors"]] == [f"/{field}"]


async def test_dry_run_changes_nothing(api: AsyncClient) -> None:
    made = await put(api)
    path = "/api/v1/calendars/closed"
    planned = (await api.post("/api/v1/calendars?dry_run=true", json=CLOSED | {"name": "other"})).json()
    assert (planned["before"], planned["after"]["name"]) == (None, "other")
    assert (await api.patch(f"{path}?dry_run=true", json={"weekdays": ["sun"]})).json()["changed"] == [
        "weekdays",
        "version",
    ]
    assert (await api.delete(f"{path}?dry_run=true")).json()["after"] is None
    assert (await api.get("/api/v1/calendars")).json()["items"] == [made]


async def test_why_and_preview_name_the_excluded_days(api: AsyncClient, clock: FixedClock) -> None:
    await put(api)
    clock.tick(hours=12)
    made = await make(api, "billing", **DAILY)
    assert (made["next_run_at"], made["except_calendar"]) == ("2025-01-06T08:00:00Z", "closed")
    assert await sentences(api) == [
        "No run on 2025-01-02: calendar 'closed' (Inventory); next run Monday 6 January 09:00 Europe/Berlin."
    ]
    preview = (await api.get("/api/v1/endpoints/billing/preview?count=2")).json()
    assert [each["next_run_at"] for each in preview["runs"]] == ["2025-01-06T08:00:00Z", "2025-01-07T08:00:00Z"]
    assert [(each["day"], each["label"]) for each in preview["excluded"]] == [
        ("2025-01-02", "Inventory"),
        ("2025-01-03", ""),
        ("2025-01-04", ""),
        ("2025-01-05", ""),
    ]
    clock.tick(days=1)
    assert (await sentences(api))[-1] == "Today is excluded. A requested run still starts."
    assert (await api.post("/api/v1/endpoints/billing/run")).status_code == 202
    dry = (await api.patch("/api/v1/endpoints/billing?dry_run=true", json={"except": None})).json()
    assert dry["after"]["next_run_at"] == "2025-01-03T08:00:00Z"


async def test_endpoint_without_days_left_says_so(api: AsyncClient, clock: FixedClock) -> None:
    await put(api, dates=["2025-01-02"])
    await make(api, "billing", **DAILY | {"except": None, "only": "closed"})
    assert (await sentences(api))[0] == "No run on 2025-01-01: calendar 'closed' does not include it; next run " + (
        "Thursday 2 January 09:00 Europe/Berlin."
    )
    assert (await sentences(api))[
        1
    ] == "Calendar 'closed' has no day after 2025-01-02 on which it may run. Add days to it."
    clock.tick(days=3)
    changed = await api.patch("/api/v1/endpoints/billing", json={"cron": "0 8 * * *"})
    assert changed.json()["next_run_at"] is None
    assert "Calendar 'closed' has no day left on which it may run. Add days to it." in await sentences(api)
    assert (await api.get("/api/v1/endpoints/billing/preview")).json()["runs"] == []
    assert (await api.patch("/api/v1/calendars/closed", json={"weekdays": ["mon"]})).status_code == 200
    assert (await api.get("/api/v1/endpoints/billing")).json()["next_run_at"] == "2025-01-06T07:00:00Z"


async def test_calendar_in_use_is_not_deleted(api: AsyncClient) -> None:
    await put(api)
    await make(api, "billing", **DAILY)
    refused = await api.delete("/api/v1/calendars/closed")
    assert (refused.status_code, "used by 1 endpoint: 'billing'" in refused.text) == (409, True)
    assert (await api.get("/api/v1/calendars/closed")).json()["users"] == ["billing"]


async def test_endpoint_refuses_a_calendar_that_does_not_exist(api: AsyncClient) -> None:
    answer = await api.post("/api/v1/endpoints", json={"name": "billing", "url": "https://example.com/", **DAILY})
    assert answer.status_code == 422
    assert [each["pointer"] for each in answer.json()["errors"]] == ["/except"]

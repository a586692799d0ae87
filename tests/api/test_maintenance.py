"""Maintenance windows by the API, and what `why`, the preview and runs say about them."""

from httpx2 import AsyncClient

from mainspring.ports.stores import Stores
from tests.api.acting import make
from tests.stores.world import FixedClock, claim, finished, told

NIGHT = {"name": "night", "start": "2025-01-01T00:00:00Z", "end": "2025-01-01T02:00:00Z"}


async def put(api: AsyncClient, **fields: object) -> dict[str, object]:
    answer = await api.post("/api/v1/maintenance", json=NIGHT | fields)
    assert answer.status_code == 201, answer.text
    made: dict[str, object] = answer.json()
    return made


async def sentences(api: AsyncClient) -> list[str]:
    reasons = (await api.get("/api/v1/endpoints/billing/decision")).json()["reasons"]
    return [each["text"] for each in reasons if each["kind"] == "maintenance"]


async def test_window_is_made_read_changed_and_deleted(api: AsyncClient) -> None:
    made = await put(api)
    assert (made["state"], made["opens_at"], made["closes_at"]) == ("open", NIGHT["start"], NIGHT["end"])
    path = f"/api/v1/maintenance/{made['id']}"
    by_cron = {"cron": "0 3 * * *", "duration": "1h", "runs": "continue"}
    changed = await api.patch(path, json=by_cron, headers={"If-Match": '"v1"'})
    assert changed.headers["etag"] == '"v2"'
    read = (await api.get("/api/v1/maintenance/night")).json()
    assert read == changed.json()
    assert (read["state"], read["opens_at"], read["starts_at"]) == ("upcoming", "2025-01-01T03:00:00Z", None)
    assert (await api.patch(path, json={"description": "x"}, headers={"If-Match": '"v1"'})).status_code == 412
    assert (await api.get("/api/v1/maintenance")).json()["items"] == [read]
    assert (await api.delete(path)).json() == {"id": made["id"], "name": "night", "deleted": True}
    assert (await api.get(path)).status_code == 404


async def test_wrong_window_is_refused_at_its_field(api: AsyncClient) -> None:
    answer = await api.post("/api/v1/maintenance", json={"name": "night", "cron": "0 * * * *", "duration": "2h"})
    assert answer.status_code == 422
    (fault,) = answer.json()["errors"]
    assert fault["pointer"] == "/duration"
    assert "a window must close before it opens again" in fault["detail"]


async def test_dry_run_shows_the_window_and_moves_nothing(api: AsyncClient, stores: Stores) -> None:
    await make(api, every="1m", spread=False)
    tried = await api.post("/api/v1/maintenance?dry_run=true", json=NIGHT)
    assert (tried.status_code, tried.json()["after"]["name"]) == (200, "night")
    assert (await api.get("/api/v1/maintenance")).json()["items"] == []
    await put(api)
    before = (await api.get("/api/v1/endpoints/billing")).json()
    path = "/api/v1/maintenance/night?dry_run=true"
    assert (await api.patch(path, json={"end": "2025-01-01T01:00:00Z"})).json()["changed"] == [
        "closes_at",
        "ends_at",
        "version",
    ]
    assert (await api.delete(path)).json()["after"] is None
    assert (await api.get("/api/v1/endpoints/billing")).json() == before


async def test_why_and_the_preview_name_the_window_that_skips_a_run(
    api: AsyncClient, stores: Stores, clock: FixedClock
) -> None:
    await make(api, every="10m", spread=False)
    await put(api)
    (open_now,) = await sentences(api)
    assert open_now.startswith("The maintenance window 'night' is open until 2025-01-01 02:00:00 UTC")
    runs = (await api.get("/api/v1/endpoints/billing/preview?count=2")).json()["runs"]
    assert [run["next_run_at"] for run in runs] == ["2025-01-01T02:00:00Z", "2025-01-01T02:10:00Z"]
    assert runs[0]["trail"][-1]["why"] == "the maintenance window 'night' skips runs until 2025-01-01T02:00:00Z"

    clock.tick(minutes=10)
    assert (await claim(stores)).claims == ()
    decision = (await api.get("/api/v1/endpoints/billing/decision")).json()
    assert decision["next_run_at"] == "2025-01-01T02:00:00Z"
    assert any(
        "A maintenance window moved the run to 2025-01-01 02:00:00 UTC" in text for text in decision["sentences"]
    )


async def test_why_says_which_window_will_skip_the_next_run(api: AsyncClient) -> None:
    await make(api, cron="30 1 * * *")
    await put(api, start="2025-01-01T01:00:00Z")
    (later,) = await sentences(api)
    assert later.startswith(
        "The maintenance window 'night' opens at 2025-01-01 01:00:00 UTC (in 1h) and skips that run"
    )


async def test_deleted_window_gives_back_the_runs_that_it_moved(
    api: AsyncClient, stores: Stores, clock: FixedClock
) -> None:
    made = await make(api, cron="*/10 * * * *")
    await put(api, endpoint="billing")
    clock.tick(minutes=10)
    assert (await claim(stores)).claims == ()
    clock.tick(minutes=5)
    await api.delete("/api/v1/maintenance/night")
    assert (await api.get("/api/v1/endpoints/billing")).json()["next_run_at"] == "2025-01-01T00:20:00Z"
    moved = [event for event in await told(stores) if event.type == "schedule.updated"]
    assert [(event.endpoint_id, event.data.get("maintenance")) for event in moved] == [
        (made["id"], "night"),
        (made["id"], None),
    ]


async def test_shortened_window_gives_back_the_runs_of_its_job(
    api: AsyncClient, stores: Stores, clock: FixedClock
) -> None:
    await make(api, cron="*/10 * * * *")
    await put(api, job="default")
    clock.tick(minutes=10)
    assert (await claim(stores)).claims == ()
    await api.patch("/api/v1/maintenance/night", json={"end": "2025-01-01T00:15:00Z"})
    assert (await claim(stores)).claims == ()  # due again, and the window is still open
    assert (await api.get("/api/v1/endpoints/billing")).json()["next_run_at"] == "2025-01-01T00:20:00Z"


async def test_run_in_a_window_says_so_and_is_left_out_of_health(
    api: AsyncClient, stores: Stores, clock: FixedClock
) -> None:
    await make(api, every="10m", spread=False)
    await put(api, runs="continue")
    clock.tick(minutes=10)
    (started,) = (await claim(stores)).claims
    await stores.schedule.finish([finished(started)])
    run = (await api.get(f"/api/v1/runs/{started.run_id}")).json()
    assert run["maintenance"] == "night"
    health = (await api.get("/api/v1/endpoints/billing/health")).json()
    assert {window["runs"] for window in health["windows"]} == {0}

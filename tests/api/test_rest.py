"""Jobs, runs, events, the overview, quotas and workers through the API, on both databases."""

from pathlib import Path
from typing import get_args

from httpx2 import AsyncClient

from mainspring.domain.run import Body, RunStatus
from mainspring.ports.filters import StatusFilter
from mainspring.ports.stores import Stores
from mainspring.views.event import EventView
from mainspring.views.job import JobView
from mainspring.views.run import RunDetailView, RunView
from tests.api.acting import fault, make
from tests.api.app import client_of
from tests.peers.journal import Journal
from tests.stores.world import FixedClock, an_outcome, run_slot, told

EVIL = Body(b"<script>alert(1)</script>\x1b[31m\xff\x00", "text/html", False, 32)


async def test_job_is_made_read_changed_paused_resumed_and_archived(api: AsyncClient) -> None:
    made = await api.post("/api/v1/jobs", json={"name": "nightly", "description": "After hours."})
    renamed = (await api.patch("/api/v1/jobs/nightly", json={"name": "daily"})).json()
    await make(api, job="daily")
    paused = (await api.post("/api/v1/jobs/daily/pause")).json()
    stopped = (await api.get("/api/v1/endpoints/billing")).json()
    resumed = (await api.post("/api/v1/jobs/daily/resume")).json()
    archived = (await api.post("/api/v1/jobs/daily/archive")).json()

    assert made.status_code == 201
    assert set(made.json()) == set(JobView.model_fields)
    assert (renamed["name"], renamed["description"]) == ("daily", "After hours.")
    assert (stopped["status"], stopped["next_run_at"]) == ("job-paused", None)
    assert [each["status"] for each in (paused, resumed, archived)] == ["paused", "active", "archived"]
    assert [each["name"] for each in (await api.get("/api/v1/jobs")).json()["items"]] == ["daily"]


async def test_edit_of_a_job_that_has_changed_is_refused(api: AsyncClient) -> None:
    etag = (await api.post("/api/v1/jobs", json={"name": "nightly"})).headers["etag"]
    first = await api.patch("/api/v1/jobs/nightly", json={"description": "a"}, headers={"If-Match": etag})
    second = await api.patch("/api/v1/jobs/nightly", json={"description": "b"}, headers={"If-Match": etag})

    assert (first.status_code, second.status_code) == (200, 412)


async def test_runs_are_listed_newest_first_in_pages(api: AsyncClient, stores: Stores, clock: FixedClock) -> None:
    await make(api)
    for _ in range(3):
        await run_slot(stores, clock)
        clock.at = clock.at.replace(microsecond=0)
        clock.tick(minutes=1)
    first = (await api.get("/api/v1/runs?limit=2")).json()
    rest = (await api.get(f"/api/v1/runs?limit=2&cursor={first['next_cursor']}")).json()
    of_endpoint = (await api.get("/api/v1/endpoints/billing/runs")).json()

    both = [*first["items"], *rest["items"]]
    assert [each["slot_at"][14:16] for each in both] == ["02", "01", "00"]
    assert both == of_endpoint["items"]
    assert rest["next_cursor"] is None
    assert set(both[0]) == set(RunView.model_fields)


async def test_runs_are_filtered(api: AsyncClient, stores: Stores, clock: FixedClock) -> None:
    await make(api)
    await run_slot(stores, clock)
    clock.at = clock.at.replace(microsecond=0)
    clock.tick(minutes=1)
    await run_slot(stores, clock, an_outcome(RunStatus.FAILURE))

    async def found(query: str) -> list[str]:
        return [each["status"] for each in (await api.get(f"/api/v1/runs?{query}")).json()["items"]]

    assert await found("status=failure") == await found("status=failed") == ["failure"]
    assert get_args(StatusFilter) == (*RunStatus, "failed")
    assert fault(await api.get("/api/v1/runs?status=well"))[0] == "status"
    assert await found("trigger=manual") == []
    assert await found("endpoint=billing&until=2025-01-01T00:00:30Z") == ["success"]
    assert await found("since=2025-01-01T01:00:30%2B01:00") == ["failure"]
    assert fault(await api.get("/api/v1/runs?since=yesterday"))[0] == "since"
    assert (await api.get("/api/v1/runs?endpoint=none")).status_code == 404


async def test_run_is_told_in_full_with_its_body_as_harmless_text(
    api: AsyncClient, stores: Stores, clock: FixedClock
) -> None:
    await make(api)
    (ended,) = await run_slot(stores, clock, an_outcome(body=EVIL))
    run = (await api.get(f"/api/v1/runs/{ended.run_id}")).json()
    body = (await api.get(f"/api/v1/runs/{ended.run_id}/body")).json()

    assert set(run) == set(RunDetailView.model_fields)
    assert run["trail"][0]["verdict"] == "won"
    assert body == run["body"]
    assert body["text"] == "<script>alert(1)</script>\\x1b[31m\ufffd\ufffd"


async def test_raw_body_is_a_file_that_nothing_opens(api: AsyncClient, stores: Stores, clock: FixedClock) -> None:
    await make(api)
    (ended,) = await run_slot(stores, clock, an_outcome(body=EVIL))
    raw = await api.get(f"/api/v1/runs/{ended.run_id}/body/raw")

    assert raw.content == EVIL.data
    assert raw.headers["content-type"] == "text/plain; charset=utf-8"
    assert raw.headers["content-disposition"] == 'attachment; filename="response.txt"'
    assert raw.headers["x-content-type-options"] == "nosniff"
    assert raw.headers["content-security-policy"] == "sandbox; default-src 'none'"


async def test_run_without_a_body_has_none_to_read(api: AsyncClient, stores: Stores, clock: FixedClock) -> None:
    await make(api)
    (ended,) = await run_slot(stores, clock, an_outcome(body=None))

    assert (await api.get(f"/api/v1/runs/{ended.run_id}")).json()["body"] is None
    assert (await api.get(f"/api/v1/runs/{ended.run_id}/body")).status_code == 404


async def test_events_are_read_on_without_gap_or_repetition(api: AsyncClient, stores: Stores) -> None:
    await make(api, "a")
    await told(stores)
    first = (await api.get("/api/v1/events")).json()
    await make(api, "b")
    await told(stores)
    since = (await api.get(f"/api/v1/events?cursor={first['next_cursor']}")).json()
    again = (await api.get(f"/api/v1/events?cursor={since['next_cursor']}")).json()
    everything = (await api.get("/api/v1/events?start=oldest")).json()

    assert [each["type"] for each in first["items"]] == ["job.created", "endpoint.created"]
    assert [(each["type"], each["endpoint"]) for each in since["items"]] == [("endpoint.created", "b")]
    assert again["items"] == []
    assert everything["items"] == [*first["items"], *since["items"]]
    assert set(first["items"][0]) == set(EventView.model_fields)
    (only,) = (await api.get("/api/v1/events?type=endpoint.created&endpoint=a")).json()["items"]
    assert only["data"]["name"] == "a"


async def test_filtered_events_are_found_beyond_the_page(api: AsyncClient, stores: Stores) -> None:
    for name in "abcdef":
        await make(api, name)
    await told(stores)

    newest = (await api.get("/api/v1/events?endpoint=b&limit=2")).json()
    oldest = (await api.get("/api/v1/events?endpoint=e&limit=2&start=oldest")).json()
    none = (await api.get("/api/v1/events?type=run.finished&limit=2&start=oldest")).json()
    after = (await api.get(f"/api/v1/events?limit=2&cursor={none['next_cursor']}")).json()

    assert [each["endpoint"] for each in newest["items"]] == ["b"]
    assert [each["endpoint"] for each in oldest["items"]] == ["e"]
    assert none["items"] == after["items"] == []  # and nothing that was looked through is looked through again


async def test_overview_counts_endpoints_and_runs(api: AsyncClient, stores: Stores, clock: FixedClock) -> None:
    await make(api, "a")
    await make(api, "b")
    await api.post("/api/v1/endpoints/b/pause")
    await run_slot(stores, clock, an_outcome(RunStatus.FAILURE))
    stats = (await api.get("/api/v1/dashboard/stats")).json()
    activity = (await api.get("/api/v1/dashboard/activity?hours=2")).json()
    upcoming = (await api.get("/api/v1/dashboard/upcoming")).json()["items"]

    assert stats["endpoints"] == {"active": 1, "paused": 1}
    assert (stats["failing"], stats["running"], stats["late"], stats["runs"]) == (1, 0, 0, {"failure": 1})
    assert [each["runs"] for each in activity["hours"]] == [{}, {"failure": 1}]
    assert activity["latest"][0]["endpoint"] == "a"
    assert [(each["endpoint"], each["job"]) for each in upcoming] == [("a", "default")]


async def test_hours_that_are_over_are_counted_once(api: AsyncClient, stores: Stores, clock: FixedClock) -> None:
    await make(api, every="1h")
    for _ in range(3):
        await run_slot(stores, clock)
        clock.at = clock.at.replace(microsecond=0)
        clock.tick(hours=1)

    async def hours() -> list[dict[str, int]]:
        return [each["runs"] for each in (await api.get("/api/v1/dashboard/activity?hours=4")).json()["hours"]]

    assert await hours() == [{"success": 1}, {"success": 1}, {"success": 1}, {}]
    await run_slot(stores, clock)
    assert await hours() == [{"success": 1}, {"success": 1}, {"success": 1}, {"success": 1}]


async def test_quotas_are_changed_and_usage_is_told(api: AsyncClient, stores: Stores, clock: FixedClock) -> None:
    await make(api)
    await run_slot(stores, clock)
    changed = (await api.patch("/api/v1/quotas", json={"runs_per_month": 1_000, "interval_ms_min": "10s"})).json()
    usage = (await api.get("/api/v1/usage")).json()

    assert changed == {
        "runs_per_month": 1_000,
        "tokens_per_month": None,
        "endpoints_max": None,
        "interval_ms_min": 10_000,
    }
    used = {"quotas": changed, "runs_this_month": 1, "endpoints": 1, "signing_keys": 0}
    assert usage == {"tenant": "default", "name": "default", **used}
    assert fault(await api.patch("/api/v1/quotas", json={"runs_per_month": -1}))[0] == "/runs_per_month"


async def test_workers_are_listed(api: AsyncClient, stores: Stores) -> None:
    await stores.presence.appear("worker-1")
    await stores.presence.beat("worker-1", {"scheduler": 100})

    (worker,) = (await api.get("/api/v1/workers")).json()["items"]
    assert (worker["id"], worker["kind"], worker["places"]) == ("worker-1", "scheduler", 100)


async def test_test_run_tells_what_came_back_and_moves_nothing(api: AsyncClient, tmp_path: Path) -> None:
    with Journal(tmp_path / "journal") as journal:
        await make(api, url=journal.url("/ok"), every="1h")
        before = (await api.get("/api/v1/endpoints/billing")).json()
        rehearsed = (await api.post("/api/v1/endpoints/billing/test?dry_run=true")).json()
        assert journal.entries() == []
        said = (await api.post("/api/v1/endpoints/billing/test")).json()

    assert rehearsed["would_call"]["url"] == before["url"]
    assert (said["status"], said["status_code"], said["trigger"]) == ("success", 200, "test")
    assert said["phases"]["first_byte_us"] > 0
    assert (await api.get("/api/v1/endpoints/billing")).json() == before
    assert (await api.get(f"/api/v1/runs/{said['id']}")).json()["trigger"] == "test"


async def test_unsaved_endpoint_is_called_and_leaves_nothing(api: AsyncClient, tmp_path: Path) -> None:
    with Journal(tmp_path / "journal") as journal:
        wish = {"name": "billing", "url": journal.url("/ok"), "every": "1m", "spread": False}
        said = (await api.post("/api/v1/endpoints/check", json=wish)).json()

    assert (said["status"], said["status_code"], said["address_verdict"]) == ("success", 200, "allowed")
    assert said["next_run_at"] == "2025-01-01T00:00:00Z"
    assert (await api.get("/api/v1/endpoints")).json()["items"] == []
    blocked = (await api.post("/api/v1/endpoints/check", json={**wish, "url": "http://10.1.2.3/"})).json()
    assert (blocked["status"], blocked["address_verdict"]) == ("blocked", "blocked")


async def test_run_of_a_deleted_tenant_of_nobody_is_not_found(api: AsyncClient) -> None:
    assert (await api.get("/api/v1/runs/run_none")).json()["detail"] == "no run 'run_none'"


async def test_cursor_of_another_list_another_tenant_or_nobody_is_refused(api: AsyncClient) -> None:
    for name in ("a", "b"):
        await make(api, name)
    cursor = (await api.get("/api/v1/endpoints?limit=1")).json()["next_cursor"]
    refused = [
        await api.get(f"/api/v1/runs?cursor={cursor}"),
        await api.get(f"/api/v1/endpoints?cursor={cursor[:-4]}AAA="),
        await api.get("/api/v1/endpoints?cursor=1"),
        await api.get("/api/v1/endpoints?cursor=%F0%9F%A6%84"),
        await api.get("/api/v1/endpoints?cursor="),
    ]
    async with client_of(api._transport.app, "other") as other:  # type: ignore[attr-defined]  # the same app
        refused.append(await other.get(f"/api/v1/endpoints?cursor={cursor}"))

    assert [fault(answer, 400)[0] for answer in refused] == ["cursor"] * 6

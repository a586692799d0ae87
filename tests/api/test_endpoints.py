"""Endpoints through the API, on both databases."""

import asyncio
from datetime import timedelta

import pytest
from httpx2 import AsyncClient

from mainspring.domain.run import RunStatus
from mainspring.ports.stores import Stores
from mainspring.views.endpoint import EndpointView, RunInFlight
from mainspring.views.sentences import MASK
from tests.actions import http_of
from tests.api.acting import URL, fault, make
from tests.harness.waiting import until_true
from tests.stores.world import START, FixedClock, an_outcome, claim, run_slot


async def test_endpoint_is_made_with_its_job_and_planned(api: AsyncClient) -> None:
    answer = await api.post(
        "/api/v1/endpoints",
        json={"name": "billing", "url": URL, "every": "1h30m", "spread": False, "job": "money"},
    )

    made = answer.json()
    assert answer.status_code == 201
    assert answer.headers["location"] == f"/api/v1/endpoints/{made['id']}"
    assert (made["job"], made["interval_ms"], made["status"]) == ("money", 5_400_000, "active")
    assert set(made) == set(EndpointView.model_fields)
    assert (await api.get("/api/v1/jobs/money")).json()["status"] == "active"


async def test_cron_whose_times_are_further_apart_than_its_maximum_is_refused(api: AsyncClient) -> None:
    given = {"name": "nightly", "url": URL, "cron": "0 2 * * *"}
    answer = await api.post("/api/v1/endpoints", json={**given, "max_interval": "1h"})
    await api.post("/api/v1/endpoints", json=given)
    edited = await api.patch("/api/v1/endpoints/nightly", json={"max_interval": "1h"})

    for each in (answer, edited):
        place, words = fault(each)
        assert (place, "leave it out, or give an interval in place of the cron" in words) == ("/cron", True)


@pytest.mark.parametrize(
    ("given", "ms"), [("30s", 30_000), ("5m", 300_000), ("1h30m", 5_400_000), (30_000, 30_000), ("45000", 45_000)]
)
async def test_durations_are_text_or_milliseconds(api: AsyncClient, given: object, ms: int) -> None:
    assert (await make(api, every=given))["interval_ms"] == ms


async def test_secret_header_is_never_shown_and_kept_by_its_mask(api: AsyncClient, stores: Stores) -> None:
    await make(api, headers=[{"name": "X-Api-Key", "value": "s3cret"}, {"name": "Accept", "value": "text/plain"}])
    before = await stores.endpoints.endpoint("default", "billing")
    answer = await api.patch(
        "/api/v1/endpoints/billing", json={"headers": [{"name": "X-Api-Key", "value": MASK, "secret": True}]}
    )
    after = await stores.endpoints.endpoint("default", "billing")

    assert answer.json()["headers"] == [{"name": "X-Api-Key", "value": MASK, "secret": True}]
    assert before is not None
    assert after is not None
    assert http_of(after).headers == http_of(before).headers[:1]
    assert "s3cret" not in answer.text


async def test_masked_header_of_which_nothing_is_stored_is_refused(api: AsyncClient) -> None:
    await make(api)
    answer = await api.patch("/api/v1/endpoints/billing", json={"headers": [{"name": "X-Api-Key", "value": MASK}]})

    assert fault(answer) == (
        "/headers",
        "header 'X-Api-Key' has no value, and none is stored under this name; give its value",
    )


async def test_merge_patch_changes_what_it_names_and_null_is_the_default(api: AsyncClient) -> None:
    made = await make(api, description="old", timeout="5s", max_interval="2h")
    patched = (
        await api.patch(
            "/api/v1/endpoints/billing",
            content=b'{"timeout": null, "max_interval": null}',
            headers={"content-type": "application/merge-patch+json"},
        )
    ).json()

    assert patched == {**made, "timeout_ms": 30_000, "max_interval_ms": None, "version": 2}


async def test_cron_takes_the_place_of_an_interval_and_back(api: AsyncClient) -> None:
    await make(api)
    by_cron = (await api.patch("/api/v1/endpoints/billing", json={"cron": "0 3 * * *"})).json()
    by_interval = (await api.patch("/api/v1/endpoints/billing", json={"every": "2m"})).json()

    assert (by_cron["cron"], by_cron["interval_ms"], by_cron["next_run_at"]) == (
        "0 3 * * *",
        None,
        "2025-01-01T03:00:00Z",
    )
    assert (by_interval["cron"], by_interval["interval_ms"]) == (None, 120_000)


@pytest.mark.parametrize("field", ["name", "url"])
async def test_what_an_endpoint_must_have_cannot_be_null(api: AsyncClient, field: str) -> None:
    await make(api)

    assert fault(await api.patch("/api/v1/endpoints/billing", json={field: None}))[0] == f"/{field}"


async def test_edit_of_a_version_that_is_no_longer_the_present_one_is_refused(api: AsyncClient) -> None:
    await make(api)
    etag = (await api.get("/api/v1/endpoints/billing")).headers["etag"]
    first = await api.patch("/api/v1/endpoints/billing", json={"timeout": "5s"}, headers={"If-Match": etag})
    second = await api.patch("/api/v1/endpoints/billing", json={"timeout": "6s"}, headers={"If-Match": etag})

    assert (first.status_code, second.status_code) == (200, 412)
    assert second.json()["type"] == "/problems/outdated"
    assert first.headers["etag"] != etag
    for path in ("archive", ""):
        verb = api.post if path else api.delete
        assert (
            await verb(f"/api/v1/endpoints/billing/{path}".rstrip("/"), headers={"If-Match": etag})
        ).status_code == 412
    assert (await api.delete("/api/v1/endpoints/billing", headers={"If-Match": "*"})).status_code == 200


async def test_run_that_ends_does_not_change_the_etag(api: AsyncClient, stores: Stores, clock: FixedClock) -> None:
    await make(api)
    before = await api.get("/api/v1/endpoints/billing")
    clock.tick(minutes=1)
    await run_slot(stores, clock)
    after = await api.get("/api/v1/endpoints/billing")

    assert after.json()["last_status"] == "success"
    assert after.headers["etag"] == before.headers["etag"]


async def test_endpoints_are_listed_in_pages_and_filtered(api: AsyncClient) -> None:
    for name in ("a", "b", "c", "d%"):
        await make(api, name, job="even" if name in "bd%" else "odd")
    await api.post("/api/v1/endpoints/c/pause")

    async def found(query: str) -> list[str]:
        return [each["name"] for each in (await api.get(f"/api/v1/endpoints?{query}")).json()["items"]]

    first = (await api.get("/api/v1/endpoints?limit=3")).json()
    assert [each["name"] for each in first["items"]] == ["a", "b", "c"]
    assert await found(f"limit=3&cursor={first['next_cursor']}") == ["d%"]
    assert await found("job=even") == ["b", "d%"]
    assert await found("state=paused") == ["c"]
    assert await found("text=%25") == ["d%"]
    assert await found("text=65001") == ["a", "b", "c", "d%"]


async def test_pause_has_an_end_and_a_reason_and_resume_ends_it(api: AsyncClient) -> None:
    await make(api)
    paused = (await api.post("/api/v1/endpoints/billing/pause", json={"duration": "2h", "reason": "deploy"})).json()
    resumed = (await api.post("/api/v1/endpoints/billing/resume")).json()

    assert (paused["status"], paused["paused_until"], paused["pause_reason"]) == (
        "paused",
        "2025-01-01T02:00:00Z",
        "deploy",
    )
    assert (resumed["status"], resumed["paused_until"]) == ("active", None)


async def test_pause_until_an_instant_that_has_passed_is_refused(api: AsyncClient) -> None:
    await make(api)
    answer = await api.post("/api/v1/endpoints/billing/pause", json={"until": "2024-01-01T00:00:00+01:00"})

    assert fault(answer)[0] == "/until"


async def test_hints_are_written_and_cleared(api: AsyncClient, stores: Stores, clock: FixedClock) -> None:
    await make(api, every="1h")
    await run_slot(stores, clock, took_ms=0)
    hinted = (await api.put("/api/v1/endpoints/billing/hints/interval", json={"every": "10s", "reason": "sale"})).json()
    once = (await api.put("/api/v1/endpoints/billing/hints/one-shot", json={"after": "5s"})).json()
    cleared = (await api.delete("/api/v1/endpoints/billing/hints")).json()

    assert hinted["interval_hint"] == {
        "interval_ms": 10_000,
        "expires_at": "2025-01-01T01:00:00Z",
        "reason": "sale",
        "author": "key:test",
    }
    assert once["next_run_at"] == "2025-01-01T00:00:05Z"
    assert (cleared["interval_hint"], cleared["one_shot_hint"]) == (None, None)


async def test_run_is_requested_once_however_often_it_is_asked_for(api: AsyncClient) -> None:
    await make(api, every="1h")
    answers_ = [await api.post("/api/v1/endpoints/billing/run") for _ in range(3)]

    assert [answer.status_code for answer in answers_] == [202] * 3
    assert {answer.json()["endpoint"]["run_requested_at"] for answer in answers_} == {"2025-01-01T00:00:00Z"}


async def test_run_that_is_waited_for_comes_back_ended(api: AsyncClient, stores: Stores, clock: FixedClock) -> None:
    await make(api, every="1h")
    await run_slot(stores, clock)
    asked = asyncio.create_task(api.post("/api/v1/endpoints/billing/run?wait=30s"))

    async def has_run() -> bool:
        return bool(await run_slot(stores, clock))

    await until_true(has_run, "the requested run")
    answer = await asked

    assert answer.status_code == 200
    assert (answer.json()["run"]["status"], answer.json()["run"]["trigger"]) == ("success", "manual")


async def test_run_that_does_not_end_in_time_is_answered_with_202(api: AsyncClient) -> None:
    await make(api, every="1h")
    answer = await api.post("/api/v1/endpoints/billing/run?wait=50ms")

    assert (answer.status_code, answer.json()["run"]) == (202, None)


async def test_failures_are_reset(api: AsyncClient, stores: Stores, clock: FixedClock) -> None:
    await make(api)
    clock.tick(minutes=1)
    await run_slot(stores, clock, an_outcome(RunStatus.FAILURE))
    before = (await api.get("/api/v1/endpoints/billing")).json()
    after = (await api.post("/api/v1/endpoints/billing/reset-failures")).json()

    assert (before["failure_count"], after["failure_count"]) == (1, 0)
    assert after["next_run_at"] < before["next_run_at"]


async def test_decision_says_why_in_data_and_in_words(api: AsyncClient) -> None:
    await make(api)
    said = (await api.get("/api/v1/endpoints/billing/decision")).json()

    assert said["trail"][0]["verdict"] == "won"
    assert said["sentences"][0].startswith("'billing' ")


async def test_preview_answers_what_if_runs_failed(api: AsyncClient) -> None:
    await make(api)
    usual = (await api.get("/api/v1/endpoints/billing/preview?count=3")).json()["runs"]
    failing = (await api.get("/api/v1/endpoints/billing/preview?count=3&failures=1")).json()["runs"]

    assert [each["next_run_at"][11:19] for each in usual] == ["00:00:00", "00:01:00", "00:02:00"]
    assert [each["next_run_at"][11:19] for each in failing] == ["00:02:00", "00:06:00", "00:14:00"]


async def test_health_sums_up_the_runs(api: AsyncClient, stores: Stores, clock: FixedClock) -> None:
    await make(api)
    await run_slot(stores, clock, an_outcome(RunStatus.FAILURE))
    said = (await api.get("/api/v1/endpoints/billing/health")).json()

    assert (said["failure_streak"], said["last_status"]) == (1, "failure")
    assert [
        (each["window"], each["runs"], each["success_share"], each["latency_p95_ms"]) for each in said["windows"]
    ] == [(window, 1, 0.0, 12) for window in ("1h", "24h", "7d", "30d")]


async def test_archived_endpoint_is_kept_by_its_id_and_its_name_is_free(api: AsyncClient) -> None:
    made = await make(api)
    archived = (await api.post("/api/v1/endpoints/billing/archive")).json()
    again = await make(api)

    assert archived["status"] == "archived"
    assert (await api.get(f"/api/v1/endpoints/{made['id']}")).json()["status"] == "archived"
    assert again["id"] != made["id"]
    listed = (await api.get("/api/v1/endpoints?state=archived")).json()["items"]
    assert [each["id"] for each in listed] == [made["id"]]


async def test_deleted_endpoint_is_gone_with_its_runs(api: AsyncClient, stores: Stores, clock: FixedClock) -> None:
    made = await make(api)
    await run_slot(stores, clock)
    deleted = await api.delete("/api/v1/endpoints/billing")

    assert deleted.json() == {"id": made["id"], "name": "billing", "deleted": True}
    assert (await api.get(f"/api/v1/endpoints/{made['id']}")).status_code == 404
    assert (await api.get("/api/v1/runs")).json()["items"] == []


async def test_taken_name_is_a_conflict(api: AsyncClient) -> None:
    await make(api)
    answer = await api.post("/api/v1/endpoints", json={"name": "billing", "url": URL, "every": "1m"})

    assert (answer.status_code, answer.json()["type"]) == (409, "/problems/conflict")


async def test_unknown_name_suggests_the_nearest(api: AsyncClient) -> None:
    await make(api)

    assert (await api.get("/api/v1/endpoints/biling")).json()["detail"] == (
        "no endpoint 'biling', did you mean 'billing'?"
    )


async def test_quota_for_endpoints_is_answered_with_429(api: AsyncClient) -> None:
    await make(api)
    await api.patch("/api/v1/quotas", json={"endpoints_max": 1})
    answer = await api.post("/api/v1/endpoints", json={"name": "b", "url": URL, "every": "1m"})

    assert (answer.status_code, answer.json()["type"]) == (429, "/problems/quota-exceeded")
    assert answer.headers["retry-after"] == "3600"


async def test_started_run_is_told_while_it_runs(api: AsyncClient, stores: Stores, clock: FixedClock) -> None:
    await make(api)
    batch = await claim(stores)
    clock.tick(seconds=1)
    said = (await api.get("/api/v1/endpoints/billing")).json()["running"]

    assert said["run_id"] == batch.claims[0].run_id
    assert set(said) == set(RunInFlight.model_fields)
    assert START + timedelta(seconds=1) == clock.now()


async def test_name_with_a_slash_is_answered_with_the_list_that_has_its_id(api: AsyncClient) -> None:
    made = await make(api, name="billing/hints")
    hinted = await make(api, name="billing")
    await api.put("/api/v1/endpoints/billing/hints/interval", json={"every": "30s"})

    answers = [
        await api.get("/api/v1/endpoints/billing%2Fhints"),
        await api.delete("/api/v1/endpoints/billing%2fhints"),
        await api.get("/api/v1/endpoints/billing%2Fhints/decision"),
    ]

    details = [(answer.status_code, answer.json()["detail"]) for answer in answers]
    rule = (
        "'billing/hints' contains '/', which is not possible in a path; use its id, which /api/v1/endpoints shows, and "
        "`mainspring endpoint list -o json`"
    )
    assert details == [(404, rule)] * 3
    assert (await api.get(f"/api/v1/endpoints/{made['id']}")).json()["name"] == "billing/hints"
    assert (await api.get(f"/api/v1/endpoints/{hinted['id']}")).json()["interval_hint"] is not None

"""Retries through the API, on both databases."""

from datetime import timedelta

from httpx2 import AsyncClient

from mainspring.domain.run import RunStatus
from mainspring.ports.stores import Stores
from tests.api.acting import URL, fault, make
from tests.stores.world import START, FixedClock, an_outcome, run_slot

DOWN = an_outcome(RunStatus.FAILURE, status_code=503, error_code="http_status", error="HTTP 503")


async def test_retry_is_one_value_with_defaults_and_is_patched_in_parts(api: AsyncClient) -> None:
    made = await make(api, retry={"attempts": 4, "delay": "5m"}, confirm="3  within 20s", backoff="none")
    patched = (await api.patch("/api/v1/endpoints/billing", json={"retry": {"on": ["timeout"]}})).json()
    reset = (await api.patch("/api/v1/endpoints/billing", json={"retry": {"attempts": None}})).json()
    removed = (await api.patch("/api/v1/endpoints/billing", json={"retry": None, "confirm": None})).json()

    wanted = {
        "attempts": 4,
        "delay_ms": 300_000,
        "factor": 2,
        "max_delay_ms": 3_600_000,
        "on": ["timeout", "connect", "5xx", "rate_limit"],
    }
    assert (made["retry"], made["confirm"], made["backoff"]) == (wanted, "3 within 20s", "none")
    assert patched["retry"] == wanted | {"on": ["timeout"]}
    assert reset["retry"] == wanted | {"on": ["timeout"], "attempts": 3}
    assert (removed["retry"], removed["confirm"]) == (None, None)


async def test_refusal_points_to_the_field_of_the_group(api: AsyncClient) -> None:
    wish = {"name": "x", "url": URL, "every": "1m"}
    unknown = await api.post("/api/v1/endpoints", json={**wish, "retry": {"tries": 3}})
    too_many = await api.post("/api/v1/endpoints", json={**wish, "retry": {"attempts": 99}})

    assert fault(unknown)[0] == "/retry/tries"
    assert fault(too_many) == ("/retry/attempts", "retry: attempts 99 is out of bounds; give 1 to 10")


async def test_waiting_attempt_is_shown_and_explained(api: AsyncClient, stores: Stores, clock: FixedClock) -> None:
    await make(api, every="1h", retry={"attempts": 3, "delay": "10s"})
    await run_slot(stores, clock, DOWN, took_ms=0)
    endpoint = (await api.get("/api/v1/endpoints/billing")).json()
    decision = (await api.get("/api/v1/endpoints/billing/decision")).json()
    upcoming = (await api.get("/api/v1/endpoints/billing/preview?count=2")).json()
    health = (await api.get("/api/v1/endpoints/billing/health")).json()

    assert (endpoint["source"], endpoint["last_status"], endpoint["failure_count"]) == ("retry", "retried", 0)
    assert decision["trail"][-1]["why"] == "attempt 1 of 3 failed (HTTP 503); the next attempt follows after 10s"
    assert any("set by the retry" in sentence for sentence in decision["sentences"])
    runs = upcoming["items"] if "items" in upcoming else upcoming["runs"]
    assert [each["source"] for each in runs] == ["retry", "baseline-interval"]
    assert health["windows"][0]["runs"] == 0
    clock.tick(seconds=10)
    await run_slot(stores, clock)
    runs = (await api.get("/api/v1/runs?endpoint=billing")).json()["items"]
    assert [(each["attempt"], each["status"], each["trigger"]) for each in runs] == [
        (2, "success", "retry"),
        (1, "retried", "schedule"),
    ]
    assert len((await api.get("/api/v1/runs?status=retried")).json()["items"]) == 1
    assert clock.now() == START + timedelta(seconds=10, milliseconds=12)

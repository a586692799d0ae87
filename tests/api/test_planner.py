"""Rules, sessions, the planner's modes and simulations over HTTP, on both databases."""

import asyncio

import pytest
from fastapi import FastAPI
from httpx2 import AsyncClient

from mainspring.domain.endpoint import Endpoint, Tenant
from mainspring.domain.errors import InvalidInput
from mainspring.domain.event import Event, EventType
from mainspring.domain.model.session import ModelSession, SessionDetail, ToolCall
from mainspring.domain.run import Body, RunStatus
from mainspring.observe import Metrics
from mainspring.ports.stores import Stores
from mainspring.settings import Settings
from mainspring.simulation.runner import SimulationRunner
from mainspring.workers.planner import Planner
from tests.api.acting import Json, fault, fingerprint, make
from tests.api.app import client_of, open_app
from tests.stores.databases import is_sqlite
from tests.stores.world import FixedClock, an_outcome, run_slot

BUSY: Json = {"name": "busy", "when": "body.depth > 10", "for": 2, "interval": "30s", "ttl": "10m"}


async def add_rule(api: AsyncClient, rule: Json, endpoint: str = "billing") -> Json:
    answer = await api.post("/api/v1/rules", json={"endpoint": endpoint, "rule": rule})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


async def ran(stores: Stores, clock: FixedClock, text: str) -> None:
    outcome = an_outcome(RunStatus.SUCCESS, body=Body(text.encode(), "application/json", False, len(text)))
    clock.tick(seconds=60)
    assert await run_slot(stores, clock, outcome, took_ms=0)
    planner = Planner(stores.planner, Metrics(), "planner")
    while await planner.run_once():
        pass


async def test_rule_is_made_read_changed_and_deleted(api: AsyncClient) -> None:
    await make(api)
    made = await add_rule(api, BUSY)

    listed = (await api.get("/api/v1/rules?endpoint=billing")).json()["items"]
    read = await api.get(f"/api/v1/rules/{made['id']}")
    edited = await api.patch(
        f"/api/v1/rules/{made['id']}",
        json={"rule": {"interval": "1m", "for": None}},
        headers={"If-Match": read.headers["etag"]},
    )
    late = await api.patch(
        f"/api/v1/rules/{made['id']}", json={"rule": {"ttl": "1m"}}, headers={"If-Match": read.headers["etag"]}
    )
    deleted = await api.delete(f"/api/v1/rules/{made['id']}")

    assert made["rule"] == BUSY
    assert [made[name] for name in ("endpoint", "does", "fired_at", "fault")] == [
        "billing", "every 30s for 10m", None, None,
    ]  # fmt: skip
    assert listed == [read.json()] == [made]
    assert edited.json()["rule"] == {"name": "busy", "when": "body.depth > 10", "interval": "1m", "ttl": "10m"}
    assert late.status_code == 412
    assert deleted.json() == {"id": made["id"], "name": "busy", "deleted": True}
    assert (await api.get("/api/v1/rules")).json() == {"items": [], "next_cursor": None}


async def test_rules_come_in_pages_and_belong_to_jobs_too(api: AsyncClient) -> None:
    await make(api)
    names = ["a", "b", "c"]
    for name in names:
        await add_rule(api, {**BUSY, "name": name})
    of_job = await api.post(
        "/api/v1/rules", json={"job": "default", "rule": {"name": "d", "when": "!ok", "clear_hints": True}}
    )

    seen, cursor = [], ""
    while True:
        page = (await api.get(f"/api/v1/rules?limit=3{cursor}")).json()
        seen += [each["rule"]["name"] for each in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert seen == [*names, "d"]
    assert of_job.json()["endpoint"] is None
    assert [each["rule"]["name"] for each in (await api.get("/api/v1/rules?job=default")).json()["items"]] == ["d"]


async def test_faults_of_a_rule_are_pointed_at(api: AsyncClient) -> None:
    await make(api)
    wrong = {
        "/rule/when": {"when": "body.depth >", "interval": "30s"},
        "/rule/interval": {"when": "ok", "interval": "soon"},
        "/rule/target": {"when": "ok", "interval": "30s", "target": "nobody"},
        "/rule/intervall": {"when": "ok", "intervall": "30s"},
    }
    seen = {}
    for pointer, rule in wrong.items():
        seen[pointer] = fault(await api.post("/api/v1/rules", json={"endpoint": "billing", "rule": rule}))[0]
    whose = fault(await api.post("/api/v1/rules", json={"rule": BUSY}))
    await add_rule(api, BUSY)
    again = await api.post("/api/v1/rules", json={"endpoint": "billing", "rule": BUSY})

    assert list(seen) == list(seen.values())
    assert whose == ("/endpoint", "neither or both of endpoint and job were given; give one of them")
    assert (again.status_code, again.json()["type"]) == (409, "/problems/conflict")


async def test_rules_are_checked_and_tried_on_recorded_runs(
    api: AsyncClient, stores: Stores, clock: FixedClock
) -> None:
    await make(api)
    for depth in (5, 20, 30):
        await ran(stores, clock, f'{{"depth": {depth}}}')

    checked = await api.post("/api/v1/rules/check", json={"rules": [{"when": "siblings.x.ok", "clear_hints": True}]})
    refused = await api.post(
        "/api/v1/rules/check", json={"endpoint": "billing", "rules": [{"when": "siblings.x.ok", "run": "now"}]}
    )
    tested = (await api.post("/api/v1/rules/test", json={"endpoint": "billing", "rules": [BUSY]})).json()

    assert checked.json() == {
        "ok": True, "rules": [{"name": "rule-1", "when": "siblings.x.ok", "clear_hints": True}],
    }  # fmt: skip
    assert "unknown sibling 'x'" in fault(refused)[1]
    assert [each["fired"] for each in tested["runs"]] == [[], [], ["busy"]]
    assert tested["fired"] == {"busy": 1}


async def test_edited_rule_counts_afresh_and_keeps_its_cooldown(
    api: AsyncClient, stores: Stores, clock: FixedClock
) -> None:
    await make(api)
    made = await add_rule(api, {**BUSY, "for": 1, "cooldown": "1h"})
    await ran(stores, clock, '{"depth": 11}')
    fired = (await api.get(f"/api/v1/rules/{made['id']}")).json()["fired_at"]

    await api.patch(f"/api/v1/rules/{made['id']}", json={"rule": {"interval": "45s"}})
    await ran(stores, clock, '{"depth": 11}')

    after = (await api.get(f"/api/v1/rules/{made['id']}")).json()
    assert (after["fired_at"], after["rule"]["interval"]) == (fired, "45s")


async def test_switch_says_what_is_in_force_and_undoes_it(api: AsyncClient, stores: Stores, clock: FixedClock) -> None:
    await make(api)
    await add_rule(api, {**BUSY, "for": 1})
    await ran(stores, clock, '{"depth": 11}')

    path, undo = "/api/v1/endpoints/billing/planner-mode", {"mode": "off", "undo": True}
    off = await api.put(path, json={"mode": "off"})
    await api.put(f"{path}?dry_run=true", json=undo)
    held = (await api.get("/api/v1/endpoints/billing")).json()["interval_hint"]
    undone = await api.put(path, json=undo)

    assert off.json() == {"scope": "billing", "mode": "off", "in_force": 1, "undone": 0}
    assert held is not None
    assert undone.json() == {"scope": "billing", "mode": "off", "in_force": 0, "undone": 1}
    assert (await api.get("/api/v1/endpoints/billing")).json()["interval_hint"] is None


async def test_shadow_mode_tells_what_would_have_happened(api: AsyncClient, stores: Stores, clock: FixedClock) -> None:
    endpoint = await make(api)
    await add_rule(api, {**BUSY, "for": 1})
    set_ = await api.put("/api/v1/endpoints/billing/planner-mode", json={"mode": "shadow"})

    await ran(stores, clock, '{"depth": 11}')

    (firing,) = (await api.get("/api/v1/planner/shadow")).json()["firings"]
    modes = (await api.get("/api/v1/planner")).json()["modes"]
    assert set_.json() == {"scope": "billing", "mode": "shadow", "in_force": 0, "undone": 0}
    assert (firing["rule"], firing["does"], firing["endpoint"]) == ("busy", "every 30s for 10m", "billing")
    assert modes == {
        "all": "live",
        "tenant": "live",
        "endpoints": [{"endpoint": "billing", "endpoint_id": endpoint["id"], "mode": "shadow"}],
    }
    assert (await api.get("/api/v1/endpoints/billing")).json()["interval_hint"] is None


async def asked(api: AsyncClient, stores: Stores, clock: FixedClock) -> Json:
    """A pending proposal of the rule `busy`."""
    await make(api)
    await add_rule(api, {**BUSY, "for": 1})
    await api.put("/api/v1/endpoints/billing/planner-mode", json={"mode": "ask"})
    await ran(stores, clock, '{"depth": 11}')
    (proposal,) = (await api.get("/api/v1/proposals?endpoint=billing&state=pending")).json()["items"]
    return dict(proposal)


async def test_proposal_is_listed_explained_and_approved(api: AsyncClient, stores: Stores, clock: FixedClock) -> None:
    proposal = await asked(api, stores, clock)
    before = (await api.get("/api/v1/endpoints/billing")).json()
    why = (await api.get("/api/v1/endpoints/billing/decision")).json()["sentences"]
    tried = await api.post(f"/api/v1/proposals/{proposal['id']}/approve?dry_run=true")
    still = (await api.get(f"/api/v1/proposals/{proposal['id']}")).json()
    waiting = (await api.get("/api/v1/planner")).json()["proposals_pending"]

    approved = await api.post(f"/api/v1/proposals/{proposal['id']}/approve")
    again = await api.post(f"/api/v1/proposals/{proposal['id']}/approve")

    assert before["interval_hint"] is None
    assert [proposal[name] for name in ("endpoint", "state", "kind", "author", "does", "decided_by")] == [
        "billing", "pending", "rule", "rule:busy", "every 30s for 10m", None,
    ]  # fmt: skip
    assert any(f"mainspring proposals approve {proposal['id']}, or reject" in each for each in why)
    assert (tried.json()["after"]["interval_hint"]["interval_ms"], still) == (30_000, proposal)
    assert waiting == 1
    assert approved.status_code == 200, approved.text
    assert (approved.json()["state"], approved.json()["decided_by"]) == ("approved", "key:test")
    hint = (await api.get("/api/v1/endpoints/billing")).json()["interval_hint"]
    assert (hint["interval_ms"], hint["author"]) == (30_000, "rule:busy")
    assert again.status_code == 409
    assert "is approved since" in again.json()["detail"]
    acts = [each["act"] for each in (await api.get("/api/v1/audit")).json()["items"]]
    assert "proposal.approved" in acts


async def test_proposal_is_rejected_with_a_reason_and_not_made_again(
    api: AsyncClient, stores: Stores, clock: FixedClock
) -> None:
    proposal = await asked(api, stores, clock)

    rejected = await api.post(f"/api/v1/proposals/{proposal['id']}/reject", json={"reason": "not tonight"})
    await ran(stores, clock, '{"depth": 11}')

    assert (rejected.json()["state"], rejected.json()["note"]) == ("rejected", "not tonight")
    assert [each["id"] for each in (await api.get("/api/v1/proposals")).json()["items"]] == [proposal["id"]]
    assert (await api.get("/api/v1/endpoints/billing")).json()["interval_hint"] is None


async def test_proposal_is_approved_by_nobody_after_its_time_and_withdrawn_by_the_switch(
    api: AsyncClient, stores: Stores, clock: FixedClock
) -> None:
    proposal = await asked(api, stores, clock)
    clock.tick(minutes=10)
    late = await api.post(f"/api/v1/proposals/{proposal['id']}/approve")
    shown = (await api.get(f"/api/v1/proposals/{proposal['id']}")).json()
    await ran(stores, clock, '{"depth": 11}')
    (second,) = (await api.get("/api/v1/proposals?state=pending")).json()["items"]
    await api.put("/api/v1/planner/mode", json={"mode": "off"})
    off = await api.post(f"/api/v1/proposals/{second['id']}/approve")

    assert (late.status_code, shown["state"]) == (409, "expired")
    assert "wait for a new one, or change the endpoint yourself" in late.json()["detail"]
    assert off.status_code == 409
    assert "is withdrawn since" in off.json()["detail"]


async def test_proposals_are_paged_and_unknown_ones_refused(
    api: AsyncClient, stores: Stores, clock: FixedClock
) -> None:
    await asked(api, stores, clock)
    await add_rule(api, {"name": "rest", "when": "ok", "pause": "1h"})
    await ran(stores, clock, '{"depth": 11}')

    first = (await api.get("/api/v1/proposals?limit=1")).json()
    rest = (await api.get(f"/api/v1/proposals?limit=1&cursor={first['next_cursor']}")).json()

    assert [each["does"] for each in first["items"] + rest["items"]] == ["pause for 1h", "every 30s for 10m"]
    assert rest["next_cursor"] is None
    assert (await api.get("/api/v1/proposals/prop_1")).status_code == 404
    assert (await api.post("/api/v1/proposals/prop_1/reject")).status_code == 404
    assert (await api.get("/api/v1/proposals?state=lost")).status_code == 422


async def test_another_tenants_modes_are_not_told(app: FastAPI, api: AsyncClient, stores: Stores) -> None:
    await make(api)
    await api.put("/api/v1/endpoints/billing/planner-mode", json={"mode": "off"})
    await api.put("/api/v1/planner/mode", json={"mode": "off"})
    await stores.endpoints.put_tenant(Tenant("other", "other"))

    async with client_of(app, "other") as other:
        seen = (await other.get("/api/v1/planner")).json()["modes"]

    assert seen == {"all": "live", "tenant": "live", "endpoints": []}


async def test_sessions_are_told_with_tools_tokens_and_cost(
    api: AsyncClient, stores: Stores, clock: FixedClock
) -> None:
    endpoint = await make(api)
    detail = SessionDetail((ToolCall("propose_interval", {"interval_ms": "30000"}, "done"),), "busy", "faster", "high")
    for number in range(3):
        session = ModelSession(
            f"ses_{number}", "default", endpoint["id"], clock.now(), "done", "live", "openai:x", 900, 100, 2_500, 800,
            clock.now(), 0, detail,
        )  # fmt: skip
        await stores.sessions.record_session(session, "w", Event(EventType.PLANNER_ANALYSED, clock.now(), "default"))

    first = (await api.get("/api/v1/sessions?limit=2")).json()
    rest = (await api.get(f"/api/v1/endpoints/billing/sessions?limit=2&cursor={first['next_cursor']}")).json()
    one = (await api.get("/api/v1/sessions/ses_1")).json()
    spend = (await api.get("/api/v1/planner")).json()["spend"]

    assert [each["id"] for each in first["items"] + rest["items"]] == ["ses_2", "ses_1", "ses_0"]
    assert one["tool_calls"] == [{"tool": "propose_interval", "arguments": {"interval_ms": "30000"}, "result": "done"}]
    assert (one["endpoint"], one["reasoning"], one["cost_usd"]) == ("billing", "busy", 0.0025)
    assert (spend["tokens"], spend["sessions"], spend["cost_usd"]) == (3_000, 3, 0.0075)


async def test_look_without_a_model_says_how_to_add_one(api: AsyncClient) -> None:
    await make(api)

    answer = await api.post("/api/v1/endpoints/billing/look")
    status = (await api.get("/api/v1/planner")).json()

    assert answer.status_code == 409
    assert "set MAINSPRING_MODEL to openai:NAME" in answer.json()["detail"]
    assert (status["policy"], status["model"]) == ("rules", None)
    assert "MAINSPRING_MODEL" in status["how_to_add_a_model"]


async def test_look_answers_with_its_session(stores: Stores, clock: FixedClock) -> None:
    async def look(endpoint: Endpoint) -> ModelSession | None:
        return ModelSession(
            "ses_1", "default", endpoint.id, clock.now(), "done", "live", "m", 1, 2, 3, 4, clock.now(), 0,
            SessionDetail(reasoning="all is well"),
        )  # fmt: skip

    async def busy(endpoint: Endpoint) -> ModelSession | None:
        return None

    chosen = Settings(model="openai:x", api_requests_per_minute=0, api_requests_per_minute_of_tenant=0)
    async with open_app(stores, clock, chosen, look=look) as app, client_of(app) as api:
        await make(api)
        seen = (await api.post("/api/v1/endpoints/billing/look")).json()
        policy = (await api.get("/api/v1/planner")).json()["policy"]
    async with open_app(stores, clock, chosen, look=busy) as app, client_of(app) as api:
        refused = await api.post("/api/v1/endpoints/billing/look")

    assert (seen["endpoint"], seen["reasoning"], policy) == ("billing", "all is well", "rules and model")
    assert refused.status_code == 409


async def test_recorded_runs_are_replayed_with_another_policy(
    api: AsyncClient, stores: Stores, clock: FixedClock
) -> None:
    await make(api)
    for depth in (5, 20, 30, 5, 5, 5):
        await ran(stores, clock, f'{{"depth": {depth}}}')

    slower = (await api.post("/api/v1/backtests", json={"endpoint": "billing", "every": "2m"})).json()
    quicker = (await api.post("/api/v1/backtests", json={"job": "default", "rules": [{**BUSY, "for": 1}]})).json()
    wrong = await api.post("/api/v1/backtests", json={"endpoint": "billing", "rules": [{"when": "ok"}]})
    whose = await api.post("/api/v1/backtests", json={})

    assert slower["calls"] == {"recorded": 6, "present": 6, "changed": 3, "saved": 3}
    assert (slower["limit"], slower["is_limited"], slower["is_cut"]) == (500, False, False)
    assert [each["rule"] for each in quicker["differs"]["only_changed"]] == ["busy"]
    assert quicker["calls"]["changed"] > quicker["calls"]["present"]
    assert "does nothing" in fault(wrong)[1]
    assert fault(whose)[0] == "/endpoint"


async def test_scenario_is_listed_read_and_played(api: AsyncClient, store_url: str) -> None:
    if not is_sqlite(store_url):
        pytest.skip("simulations use no database of ours")
    before = await fingerprint(store_url)

    listed = {each["name"] for each in (await api.get("/api/v1/simulations")).json()["items"]}
    read = (await api.get("/api/v1/simulations/flash-sale")).json()
    played = await api.post("/api/v1/simulations", json={"scenario": "flash-sale", "seed": 3})

    told = played.json()
    assert "flash-sale" in listed
    assert read["document"]["curve"][1]["visitors"] == 5000
    assert played.status_code == 200, played.text
    assert told["ok"], [each for each in told["checks"] if not each["ok"]]
    assert [each["phase"] for each in told["phases"]] == ["baseline", "surge", "strain", "critical", "recovery"]
    assert (len(told["endpoints"]), told["is_cut"]) == (10, False)
    assert told["endpoints"][0]["runs"][0]["source"] == "baseline-interval"
    assert {each["type"] for each in told["decisions"]} >= {"rule.fired", "endpoint.resumed"}
    assert await fingerprint(store_url) == before


async def test_what_is_no_scenario_is_refused(api: AsyncClient, store_url: str) -> None:
    if not is_sqlite(store_url):
        pytest.skip("simulations use no database of ours")
    neither = await api.post("/api/v1/simulations", json={"seed": 1})
    unknown = await api.post("/api/v1/simulations", json={"scenario": "flash-sail"})
    a_file = await api.post("/api/v1/simulations", json={"scenario": "/etc/passwd"})
    broken = await api.post("/api/v1/simulations", json={"document": "minutes: soon"})

    assert fault(neither)[0] == "/scenario"
    assert (unknown.status_code, a_file.status_code) == (404, 404)
    assert "did you mean 'flash-sale'" in unknown.json()["detail"]
    assert fault(broken)[0] == "/document"


async def test_scenario_that_takes_too_long_is_ended() -> None:
    endless = "name: x\nminutes: 40000\nendpoints: {a: {every: 1s, copies: 1000}}\n"

    with pytest.raises(InvalidInput, match=r"took longer than 0\.2 s"):
        await asyncio.wait_for(SimulationRunner(0.2).play("default", {"document": endless}), 60)

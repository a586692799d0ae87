"""Workflows and executions through the API, on both databases; a real ticker moves them."""

from pathlib import Path

from fastapi import FastAPI
from httpx2 import AsyncClient

from mainspring.domain.endpoint import Tenant
from mainspring.outbound.checkpoints import is_signed
from mainspring.ports.stores import Stores
from mainspring.workflow.bundle import check_bundle, read_bundle
from tests.api.acting import Json, fault
from tests.api.app import client_of
from tests.stores.flow_world import a_ticker, tick
from tests.stores.world import FixedClock

WAITS = (
    "name: waits\nreentry: refuse\nsteps:\n  - {id: a, wait_for: {event: go, timeout: 5d}}\n  - {id: b, end: went}\n"
)
DIVIDES = "name: divides\ninput: {by: integer}\nsteps:\n  - {id: a, set: {half: 1 / input.by}}\n  - {id: b, wait: 3d}\n"


async def publish(api: AsyncClient, document: str = WAITS) -> Json:
    answer = await api.post("/api/v1/workflows", json={"document": document})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


async def start(api: AsyncClient, workflow: str = "waits", **wish: object) -> Json:
    answer = await api.post(f"/api/v1/workflows/{workflow}/start", json=wish)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


async def test_document_is_rehearsed_published_once_and_compared(api: AsyncClient) -> None:
    rehearsed = await api.post("/api/v1/workflows?dry_run=true", json={"document": WAITS})
    assert (await api.get("/api/v1/workflows")).json()["items"] == []
    first = await publish(api)
    again = await api.post("/api/v1/workflows", json={"document": WAITS})
    changed = WAITS.replace("5d", "6d")
    told = await api.post("/api/v1/workflows?dry_run=true", json={"document": changed})
    await publish(api, changed)

    assert (rehearsed.json()["new"], rehearsed.json()["before"]) == (True, None)
    assert (first["version"], first["document"], first["new"], first["actor"]) == (1, WAITS, True, "key:test")
    assert (again.status_code, again.json()["new"], again.headers["etag"]) == (200, False, '"v1"')
    assert told.json()["differences"] == ["timeout of step 'a' changed from 5d to 6d"]
    diff = (await api.get("/api/v1/workflows/waits/diff")).json()
    assert diff == {"old": 1, "new": 2, "differences": ["timeout of step 'a' changed from 5d to 6d"]}
    assert [each["version"] for each in (await api.get("/api/v1/workflows/waits/versions")).json()["items"]] == [2, 1]
    assert (await api.get("/api/v1/workflows/waits/versions/1")).json()["document"] == WAITS
    assert (await api.get("/api/v1/workflows/waits")).json()["version"] == 2


async def test_publishing_over_a_version_that_was_not_read_is_refused(api: AsyncClient) -> None:
    await publish(api)
    await publish(api, WAITS.replace("5d", "6d"))

    answer = await api.post("/api/v1/workflows", json={"document": WAITS}, headers={"If-Match": '"v1"'})

    assert answer.status_code == 412
    assert "has changed since you read it" in answer.json()["detail"]


async def test_every_fault_of_a_document_comes_with_path_and_line(api: AsyncClient) -> None:
    broken = WAITS.replace("event: go", "evnt: go").replace("end: went", "goto: a")

    for path in ("/api/v1/workflows", "/api/v1/workflows/check"):
        answer = await api.post(path, json={"document": broken})
        errors = answer.json()["errors"]
        assert answer.status_code == 422
        assert {each["pointer"] for each in errors} == {"/document"}
        assert ("steps[0].wait_for.evnt", 4) in {(each["path"], each["line"]) for each in errors}
        assert any("did you mean 'event'?" in each["detail"] for each in errors)


async def test_document_is_drawn_as_nodes_and_edges(api: AsyncClient) -> None:
    document = WAITS.replace("timeout: 5d", "timeout: 5d, on_timeout: c") + "  - {id: c, set: {x: '1'}}\n"

    checked = (await api.post("/api/v1/workflows/check", json={"document": document})).json()

    graph = checked["graph"]
    assert [(each["id"], each["kind"], each["is_start"]) for each in graph["nodes"]] == [
        ("a", "wait_for", True), ("b", "end", False), ("c", "set", False), ("$end", "end", False),
    ]  # fmt: skip
    assert [(each["source"], each["target"], each["kind"]) for each in graph["edges"]] == [
        ("a", "b", "next"), ("a", "c", "timeout"), ("c", "$end", "next"),
    ]  # fmt: skip
    await publish(api, document)
    assert (await api.get("/api/v1/workflows/waits/graph")).json() == graph


async def test_every_kind_of_step_is_told(api: AsyncClient) -> None:
    document = (Path(__file__).parents[1] / "workflow" / "documents" / "order_follow_up.yaml").read_text()

    checked = (await api.post("/api/v1/workflows/check", json={"document": document})).json()
    played = (
        await api.post(
            "/api/v1/workflows/simulate", json={"document": document, "input": {"email": "a@example.com", "order": 7}}
        )
    ).json()

    assert {each["kind"] for each in checked["steps"]} == {"call", "email", "wait", "wait_for", "branch", "set", "end"}
    assert (played["outcome"], len(played["effects"])) == ("silent", 4)


async def test_second_start_under_a_key_is_the_first_and_reentry_is_refused(api: AsyncClient) -> None:
    await publish(api)
    first = await start(api, key="k1", correlation="order-7")
    rehearsed = await api.post("/api/v1/workflows/waits/start?dry_run=true", json={"key": "k1"})
    again = await api.post("/api/v1/workflows/waits/start", json={"key": "k1", "correlation": "order-7"})
    other = await api.post("/api/v1/workflows/waits/start", json={"key": "k2", "correlation": "order-7"})

    assert (rehearsed.json()["new"], rehearsed.json()["execution"]["id"]) == (False, first["id"])
    assert (again.status_code, again.json()["id"], again.json()["new"]) == (200, first["id"], False)
    assert other.status_code == 409
    assert f"as {first['id']}, and its reentry is refuse" in other.json()["detail"]


async def test_many_are_started_at_once_or_none(api: AsyncClient) -> None:
    await publish(api)
    await publish(api, DIVIDES)
    wishes = [{"correlation": "a", "key": "1"}, {"correlation": "a", "key": "2"}, {"key": "1"}, {}]
    many = await api.post("/api/v1/workflows/waits/start-many", json={"executions": wishes})
    bad = await api.post(
        "/api/v1/workflows/divides/start-many", json={"executions": [{"input": {"by": 1}}, {"input": {"by": "x"}}]}
    )

    told = many.json()
    assert (many.status_code, told["started"], told["existing"], told["refused"]) == (201, 2, 1, 1)
    assert [each["new"] for each in told["items"]] == [True, False, False, True]
    assert fault(bad)[0] == "/executions/1/input/by"
    assert len((await api.get("/api/v1/executions?workflow=waits")).json()["items"]) == 2
    assert (await api.get("/api/v1/executions?workflow=divides")).json()["items"] == []


async def test_execution_that_failed_waits_for_a_person_who_decides(
    api: AsyncClient, stores: Stores, clock: FixedClock
) -> None:
    await publish(api, DIVIDES)
    execution = await start(api, "divides", input={"by": 0})
    ticker = a_ticker(stores)
    await tick(ticker, clock)
    place = f"/api/v1/executions/{execution['id']}"
    (waiting,) = (await api.get("/api/v1/executions/attention")).json()["items"]
    refused = await api.post(f"{place}/resume")
    unexplained = await api.post(f"{place}/skip")
    skipped = await api.post(f"{place}/skip", json={"reason": "no half is needed"})
    await tick(ticker, clock, 2)

    assert (waiting["id"], waiting["status"], waiting["allows"]) == (
        execution["id"],
        "failed",
        ["retry", "skip", "cancel"],
    )
    assert "divide by zero" in waiting["error"]
    assert (refused.status_code, refused.json()["allowed"]) == (409, ["retry", "skip", "cancel"])
    assert fault(unexplained)[0] == "/reason"
    assert (skipped.status_code, skipped.json()["ordered"]) == (202, "skip")
    now = (await api.get(place)).json()
    assert (now["status"], now["step"], now["waits_for"]) == ("waiting", "b", "time")
    assert now["wake_at"] is not None
    assert (await api.get("/api/v1/executions/attention")).json()["items"] == []
    timeline = (await api.get(f"{place}/timeline")).json()["items"]
    (ordered,) = [each for each in timeline if each["action"] == "command"]
    assert (ordered["actor"], ordered["text"]) == ("key:test", "key:test ordered skip: no half is needed")
    assert (timeline[-1]["action"], timeline[-1]["until_at"], ordered["until_at"]) == ("wait", now["wake_at"], None)


async def test_event_reaches_those_that_run_under_its_key_once(
    api: AsyncClient, stores: Stores, clock: FixedClock
) -> None:
    await publish(api)
    execution = await start(api, correlation="order-7")
    ticker = a_ticker(stores)
    await tick(ticker, clock)
    event = {"to": "order-7", "type": "go", "data": {"by": "mail"}, "id": "mail-1"}
    rehearsed = await api.post("/api/v1/executions/send?dry_run=true", json=event)
    sent = await api.post("/api/v1/executions/send", json=event)
    many = await api.post("/api/v1/executions/send-many", json={"events": [event, {"to": "nobody", "type": "go"}]})
    await tick(ticker, clock, 2)

    assert rehearsed.json()["executions"] == [execution["id"]]
    assert (sent.status_code, sent.json()["new"]) == (202, 1)
    assert (many.json()["new"], many.json()["items"][1]["trouble"][:12]) == (0, "no execution")
    assert (await api.get(f"/api/v1/executions/{execution['id']}")).json()["outcome"] == "went"


async def test_past_is_stepped_through_proven_and_played_with_another_version(
    api: AsyncClient, stores: Stores, clock: FixedClock
) -> None:
    await publish(api)
    execution = await start(api, correlation="order-7")
    place = f"/api/v1/executions/{execution['id']}"
    ticker = a_ticker(stores)
    await tick(ticker, clock)
    await api.post("/api/v1/executions/send", json={"to": execution["id"], "type": "go"})
    await tick(ticker, clock, 2)
    ticks = (await api.get(f"{place}/state")).json()["ticks"]
    then = (await api.get(f"{place}/state?tick={ticks[0]}")).json()
    last = (await api.get(f"{place}/state")).json()
    verdict = (await api.get(f"{place}/verify")).json()
    same = (await api.post(f"{place}/replay")).json()
    other = (await api.post(f"{place}/replay", json={"document": WAITS.replace("went", "left")})).json()
    every = (await api.post("/api/v1/workflows/waits/replay", json={"document": WAITS.replace("went", "left")})).json()

    assert (then["status"], then["waits_for"], then["tick"]) == ("waiting", "event", ticks[0])
    assert (last["status"], last["outcome"], last["tick"]) == ("completed", "went", ticks[-1])
    assert (verdict["valid"], verdict["entries"]) == (True, last["entries"])
    assert (same["identical"], same["diffs"]) == (True, [])
    assert [(each["field"], each["step"]) for each in other["diffs"]] == [("output", "b")]
    assert (every["compared"], every["identical"], every["items"][0]["differences"]) == (1, 0, 1)
    assert (every["items"][0]["execution"], every["items"][0]["correlation"]) == (execution["id"], "order-7")
    log = (await api.get(f"{place}/log?limit=2")).json()
    rest = (await api.get(f"{place}/log", params={"cursor": log["next_cursor"]})).json()
    assert [each["number"] for each in log["items"] + rest["items"]] == list(range(1, last["entries"] + 1))


async def test_workflow_that_never_ran_is_simulated(api: AsyncClient) -> None:
    wish = {"document": WAITS, "events": [{"after": "4d", "type": "go"}]}

    played = (await api.post("/api/v1/workflows/simulate", json=wish)).json()
    unnamed = await api.post("/api/v1/workflows/simulate", json={})
    unknown = await api.post("/api/v1/workflows/simulate", json={**wish, "answers": {"z": []}})

    assert (played["status"], played["outcome"], played["last_tick"]) == ("completed", "went", 345_600)
    assert (played["timeline"][-1]["text"], played["cut"]) == ("completed: went", False)
    assert "neither document nor workflow was given" in fault(unnamed)[1]
    assert fault(unknown)[0] == "/answers"
    assert (await api.get("/api/v1/workflows")).json()["items"] == []


async def test_simulation_that_goes_on_and_on_is_cut_and_says_so(api: AsyncClient) -> None:
    document = "name: on\nsteps: [{id: a, visits: 10000, wait: 1d, next: a}]\n"

    played = (await api.post("/api/v1/workflows/simulate", json={"document": document})).json()

    assert (played["cut"], played["status"]) == (True, "waiting")


async def test_list_goes_on_page_by_page_and_by_filter(api: AsyncClient) -> None:
    await publish(api)
    ids = [(await start(api))["id"] for _ in range(3)]
    first = (await api.get("/api/v1/executions?limit=2&status=pending&version=1")).json()
    second = (await api.get("/api/v1/executions", params={"limit": 2, "cursor": first["next_cursor"]})).json()

    assert [each["id"] for each in first["items"] + second["items"]] == ids[::-1]
    assert second["next_cursor"] is None
    assert (await api.get("/api/v1/executions?step=nowhere")).json()["items"] == []
    assert (await api.get("/api/v1/executions?status=wating")).status_code == 422


async def test_many_are_ordered_by_what_they_share_after_a_preview(
    api: AsyncClient, stores: Stores, clock: FixedClock
) -> None:
    await publish(api)
    ids = [(await start(api))["id"] for _ in range(3)]
    wish = {"verb": "pause", "workflow": "waits", "reason": "holidays", "limit": 2}
    preview = (await api.post("/api/v1/executions/order?dry_run=true", json=wish)).json()
    ordered = await api.post("/api/v1/executions/order", json=wish)
    await tick(a_ticker(stores), clock, 2)

    assert (preview["count"], [each["id"] for each in preview["sample"]]) == (3, ids[::-1])
    assert (ordered.status_code, ordered.json()) == (202, {"verb": "pause", "ordered": 2, "more": True})
    need = (await api.get("/api/v1/executions/attention")).json()["items"]
    assert [(each["id"], each["allows"]) for each in need] == [(each, ["resume", "cancel"]) for each in ids[:0:-1]]
    assert fault(await api.post("/api/v1/executions/order", json={"verb": "pause"}))[0] == "/workflow"


async def test_execution_is_exported_with_its_proof(api: AsyncClient, stores: Stores, clock: FixedClock) -> None:
    await publish(api)
    execution = await start(api)
    await tick(a_ticker(stores), clock)

    exported = (await api.get(f"/api/v1/executions/{execution['id']}/export")).content

    assert check_bundle(read_bundle(exported), is_signed).valid


async def test_ticks_that_hold_other_tenants_are_exported_by_an_operator_alone(
    app: FastAPI, api: AsyncClient, stores: Stores, clock: FixedClock
) -> None:
    await publish(api)
    execution = await start(api)
    await tick(a_ticker(stores), clock)
    await stores.endpoints.put_tenant(Tenant("other", "other"))

    for_operator = read_bundle((await api.get(f"/api/v1/executions/{execution['id']}/export")).content)
    async with client_of(app) as member:
        for_member = read_bundle((await member.get(f"/api/v1/executions/{execution['id']}/export")).content)

    assert (len(for_operator.ticks), for_operator.note.startswith("the chain")) == (1, False)
    assert (for_member.ticks, for_member.note.partition(";")[0]) == (
        (),
        "the chain of ticks is left out: it names executions of other tenants",
    )
    assert for_member.log == for_operator.log


async def test_version_beyond_what_a_database_holds_is_refused(api: AsyncClient) -> None:
    answer = await api.post("/api/v1/workflows/nothing/start", json={"version": 2**63})

    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == "/version"

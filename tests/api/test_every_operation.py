"""Generated from the OpenAPI document: tenants are kept apart, scopes hold, rehearsals write nothing."""

import re
from datetime import datetime

import pytest
from fastapi import FastAPI
from httpx2 import AsyncClient, Response

from mainspring.domain.access.scope import SCOPES_OF, Role, Scope
from mainspring.domain.advice.approval import propose_for_step
from mainspring.domain.endpoint import Endpoint, Tenant
from mainspring.domain.event import Event, EventType
from mainspring.domain.model.session import ModelSession, SessionDetail
from mainspring.domain.notify.delivery import Delivery, DeliveryStatus
from mainspring.domain.schedule.changes import Change
from mainspring.domain.schedule.cron import CRON
from mainspring.ports.notifications import Intake
from mainspring.ports.stores import Stores
from tests.api.acting import URL, Json, fingerprint, make
from tests.api.app import client_of
from tests.api.every import (
    BODIES,
    GRANTS,
    NOT_NOW,
    RANDOM,
    WAITS,
    WITHOUT_DRY_RUN,
    WITHOUT_IDEMPOTENCY_KEY,
    every_operation,
)
from tests.stores.databases import is_sqlite
from tests.stores.flow_world import a_ticker, tick
from tests.stores.world import FixedClock, run_slot

REFERENCES = {"endpoint", "job", "workflow", "execution", "webhook", "alert"}  # what a query or a body may name
OF_NOBODY = {"scenario", "login", "passkey"}  # in paths: what belongs to no tenant
FOR_PEOPLE = {"list_login_sessions", "read_second_factor", "list_passkeys"}  # a key has none of them
OPEN_TO_ANYBODY = {
    "log_in",
    "begin_passkey_login",
    "log_in_with_passkey",
    "set_up",
    "read_link",
}  # who asks is what they find out
NASTY = (
    "%00",
    "%FF%FE",
    "..%2F..%2Fetc%2Fpasswd",
    "%F0%9F%A6%84",
    "a" * 3_000,
    "%0d%0aX-Evil:%201",
    "' OR 1=1 --",
    "%E2%80%AE",
)


@pytest.fixture
async def ids(api: AsyncClient, stores: Stores, clock: FixedClock) -> dict[str, str]:
    """What the tenant `default` has."""
    endpoint = await make(api)
    (ended,) = await run_slot(stores, clock)
    (job,) = (await api.get("/api/v1/jobs")).json()["items"]
    key = (await api.post("/api/v1/keys", json={"name": "reader", "scopes": ["read"], "expires_in": "30d"})).json()
    webhook = (await api.post("/api/v1/webhooks", json={"url": URL, "types": ["run.missed"]})).json()
    alert = (await api.post("/api/v1/alerts", json={"name": "ops", "to": ["ops@example.com"]})).json()
    window = (await api.post("/api/v1/maintenance", json=BODIES["create_maintenance"] | {"name": "night"})).json()
    calendar = (await api.post("/api/v1/calendars", json=BODIES["create_calendar"] | {"name": "closed"})).json()
    connection = (await api.post("/api/v1/connections", json={"name": "door", "base_url": URL})).json()
    rule = (await api.post("/api/v1/rules", json=BODIES["create_rule"])).json()
    calls = (await api.post("/api/v1/calls", json={"calls": [{"url": URL, "at": "in 10d"}]})).json()
    held = ModelSession(
        "ses_1",
        "default",
        endpoint["id"],
        clock.now(),
        "done",
        "live",
        "m",
        1,
        1,
        1,
        1,
        clock.now(),
        0,
        SessionDetail(),
    )
    await stores.sessions.record_session(held, "w", Event(EventType.PLANNER_ANALYSED, clock.now(), "default"))
    sent = Delivery(
        "msg_1", "default", webhook["id"], "", "1", "run.missed", "{}", DeliveryStatus.DELIVERED, 1,
        clock.now(), clock.now(), clock.now(),
    )  # fmt: skip
    await stores.outbox.take_in(Intake((sent,)))
    await api.post("/api/v1/workflows", json={"document": WAITS})
    execution = (await api.post("/api/v1/workflows/waits/start", json={"correlation": "order-7"})).json()
    await tick(a_ticker(stores), clock)
    signing_key = (await api.post("/api/v1/signing-keys")).json()
    place = {"email": "ann@example.com", "tenant": "default", "role": "operator"}
    user = (await api.post("/api/v1/users", json=place)).json()["user"]
    return {
        "endpoint": endpoint["id"],
        "job": job["id"],
        "run": ended.run_id,
        "call": calls["items"][0]["id"],
        "key": key["id"],
        "webhook": webhook["id"],
        "alert": alert["id"],
        "window": window["id"],
        "calendar": calendar["id"],
        "connection": connection["id"],
        "delivery": sent.id,
        "rule_id": rule["id"],
        "session": held.id,
        "proposal": await propose(stores, endpoint["id"]),
        "workflow": "waits",
        "execution": execution["id"],
        "version": "1",
        "user": user["id"],
        "signing_key": signing_key["id"],
        "tenant": "default",
    }


async def propose(stores: Stores, endpoint_id: str) -> str:
    def act(each: Endpoint, now: datetime) -> Change:
        wanted: dict[str, object] = {"every": 30_000}
        return propose_for_step(wanted, each, now, "exe_1", CRON)

    (change,) = await stores.endpoints.change_endpoints("default", [endpoint_id], act)
    return change.proposals[0].id


def told(answer: Response, ids: dict[str, str]) -> tuple[int, str]:
    """Status and text, without the id that was asked for and the request's own."""
    text = re.sub(r"req_[0-9a-f]+", "<request>", answer.text)
    for name in sorted(ids.values(), key=len, reverse=True):  # else a short one cuts a long one up
        text = text.replace(name, "<id>")
    return answer.status_code, text


async def test_another_tenants_ids_are_answered_like_ids_that_never_were(
    app: FastAPI, api: AsyncClient, stores: Stores, store_url: str, ids: dict[str, str]
) -> None:
    await stores.endpoints.put_tenant(Tenant("other", "other"))
    before = await fingerprint(store_url, "default")
    async with client_of(app, "other") as other:
        differing, seen = [], []
        for operation in (each for each in every_operation(app) if each.in_path):
            theirs, nobodys = await operation.send(other, ids), await operation.send(other, RANDOM)
            if told(theirs, ids) != told(nobodys, RANDOM):
                differing.append(operation.id)
            expected = 403 if operation.is_for_operators else 404
            if ids.keys() & set(operation.in_path) and theirs.status_code != expected:
                seen.append((operation.id, theirs.status_code))

    assert differing == []
    assert seen == []
    assert await fingerprint(store_url, "default") == before


CALLERS = {
    **{f"a key with {scope}": scope.value for scope in Scope},
    **{f"a {role}": " ".join(sorted(SCOPES_OF[role])) for role in Role},
}


async def test_every_role_and_key_is_answered_alike_for_foreign_and_random_ids(
    app: FastAPI, api: AsyncClient, stores: Stores, store_url: str, ids: dict[str, str]
) -> None:
    """Whatever the caller may do: a refusal for a missing scope tells as little as a 404 does."""
    await stores.endpoints.put_tenant(Tenant("other", "other"))
    before = await fingerprint(store_url, "default")
    differing, seen, asked = [], [], 0
    for caller, scopes in CALLERS.items():
        async with client_of(app, "other", scopes, actor=f"key:{scopes.replace(' ', '-')}") as other:
            for operation in (each for each in every_operation(app) if each.in_path):
                theirs, nobodys = await operation.send(other, ids), await operation.send(other, RANDOM)
                asked += 1
                if told(theirs, ids) != told(nobodys, RANDOM):
                    differing.append((caller, operation.id))
                if ids.keys() & set(operation.in_path) and theirs.status_code not in (403, 404):
                    seen.append((caller, operation.id, theirs.status_code))

    assert asked > 400
    assert differing == []
    assert seen == []
    assert await fingerprint(store_url, "default") == before


async def test_another_tenants_cursors_are_no_cursors(
    app: FastAPI, api: AsyncClient, stores: Stores, ids: dict[str, str]
) -> None:
    await stores.endpoints.put_tenant(Tenant("other", "other"))
    for number in range(3):
        await make(api, f"another {number}")
    differing, tried = [], []
    async with client_of(app, "other") as other:
        for operation in (each for each in every_operation(app) if "cursor" in each.in_query and not each.in_path):
            cursor = (await operation.send(api, ids, "?limit=1")).json().get("next_cursor")
            if cursor is None or cursor.isdigit():  # a number of a tenant's own trail: there is nothing to open
                continue
            tried.append(operation.id)
            theirs, nobodys = [await operation.send(other, RANDOM, f"?cursor={each}") for each in (cursor, "random")]
            if told(theirs, {"": cursor}) != told(nobodys, {"": "random"}):
                differing.append(operation.id)

    assert "list_endpoints" in tried
    assert differing == []


async def test_a_cursor_with_anything_added_is_refused_by_every_list(
    app: FastAPI, api: AsyncClient, ids: dict[str, str]
) -> None:
    for number in range(3):
        await make(api, f"another {number}")
    accepted, tried = [], set()
    for operation in (each for each in every_operation(app) if each.method == "get" and "cursor" in each.in_query):
        cursor = (await operation.send(api, ids, "?limit=1")).json().get("next_cursor")
        if cursor is None:
            continue
        tried.add(operation.id)
        for junk in ("!", "%20", "%0A", "=", "AAAA", ":", "%F0%9F%A6%84"):
            if cursor.isdigit() and junk == "AAAA":
                continue
            answer = await operation.send(api, ids, f"?limit=1&cursor={cursor}{junk}")
            if answer.status_code != 400 or answer.json()["errors"][0]["parameter"] != "cursor":
                accepted.append((operation.id, junk, answer.status_code))

    assert {"list_endpoints", "list_events", "list_audit_entries"} <= tried
    assert accepted == []


async def test_another_tenants_idempotency_key_and_name_in_a_header_give_nothing(
    app: FastAPI, api: AsyncClient, stores: Stores, ids: dict[str, str]
) -> None:
    await stores.endpoints.put_tenant(Tenant("other", "other"))
    key = {"Idempotency-Key": "shared"}
    mine = await api.post("/api/v1/jobs", json={"name": "mine"}, headers=key)
    async with client_of(app, "other") as other:
        theirs = await other.post("/api/v1/jobs", json={"name": "theirs"}, headers=key)
        named = await other.get("/api/v1/jobs", headers={"X-Mainspring-Tenant": "default"})

    assert (mine.status_code, theirs.status_code) == (201, 201)
    assert theirs.json()["name"] == "theirs"
    assert [each["name"] for each in named.json()["items"]] == ["theirs"]


async def test_another_tenants_ids_in_a_query_or_a_body_are_as_unknown_as_any(
    app: FastAPI, api: AsyncClient, stores: Stores, store_url: str, ids: dict[str, str]
) -> None:
    await stores.endpoints.put_tenant(Tenant("other", "other"))
    before = await fingerprint(store_url, "default")
    differing, asked = [], 0
    async with client_of(app, "other") as other:
        for operation in every_operation(app):
            for name in REFERENCES.intersection(operation.in_query):
                seen = [await operation.send(other, RANDOM, f"?{name}={each[name]}") for each in (ids, RANDOM)]
                asked += 1
                if told(seen[0], ids) != told(seen[1], RANDOM):
                    differing.append((operation.id, name))
            body = BODIES.get(operation.id, {})
            for name in REFERENCES.intersection(body):
                path = operation.path.format(**{each: RANDOM.get(each, "none") for each in operation.in_path})
                sent = [body | {name: each[name]} for each in (ids, RANDOM)]
                seen = [await other.request(operation.method.upper(), path, json=each) for each in sent]
                asked += 1
                if told(seen[0], ids) != told(seen[1], RANDOM):
                    differing.append((operation.id, name))

    assert asked > 5
    assert differing == []
    assert await fingerprint(store_url, "default") == before


def test_whatever_a_path_names_is_something_that_another_tenant_is_tried_with(
    app: FastAPI, ids: dict[str, str], store_url: str
) -> None:
    """A route with a new kind of id is tried only once the fixture makes one."""
    named = {name for operation in every_operation(app) for name in operation.in_path}

    assert named - ids.keys() == OF_NOBODY
    assert ids.keys() == RANDOM.keys()


async def test_each_operation_wants_the_scope_that_it_declares(
    app: FastAPI, ids: dict[str, str], store_url: str
) -> None:
    if not is_sqlite(store_url):
        pytest.skip("scopes are judged before any database is asked")
    wrong = []
    for operation in every_operation(app):
        declared = operation.described.get("x-scope")
        if declared is None or operation.is_stream:
            continue
        others = " ".join(scope for scope in Scope if scope != declared)
        rehearsed = "?dry_run=true" if "dry_run" in operation.in_query else ""
        async with (
            client_of(app, "") as nobody,
            client_of(app, scopes=others) as without,
            client_of(app, scopes=f"{declared} read" if operation.id in GRANTS else declared) as holder,
        ):
            seen = [(await operation.send(each, RANDOM)).status_code for each in (nobody, without)]
            allowed = (await operation.send(holder, RANDOM, rehearsed)).status_code
        if seen != [401, 403] or allowed in (401, 403):
            wrong.append((operation.id, seen, allowed))

    assert wrong == []


async def test_every_write_can_be_rehearsed_and_then_writes_nothing(
    app: FastAPI, api: AsyncClient, store_url: str, ids: dict[str, str]
) -> None:
    before = await fingerprint(store_url)
    refused = {}
    for operation in every_operation(app):
        if "dry_run" in operation.in_query:
            answer = await operation.send(api, ids, "?dry_run=true")
            if operation.id in NOT_NOW:
                assert answer.status_code == 409, answer.text
            elif answer.status_code != 200 or answer.json()["dry_run"] is not True:
                refused[operation.id] = answer.text

    assert refused == {}
    assert await fingerprint(store_url) == before


def test_every_write_has_a_dry_run_or_a_reason_for_none(app: FastAPI, store_url: str) -> None:
    writes = [operation for operation in every_operation(app) if operation.method != "get"]

    assert {each.id for each in writes if "dry_run" not in each.in_query} == set(WITHOUT_DRY_RUN)


def test_every_rehearsal_is_described_with_the_status_that_it_has(app: FastAPI, store_url: str) -> None:
    rehearsable = [operation for operation in every_operation(app) if "dry_run" in operation.in_query]

    assert [each.id for each in rehearsable if "200" not in each.described["responses"]] == []


def test_every_write_takes_an_idempotency_key_or_a_reason_for_none(app: FastAPI, store_url: str) -> None:
    writes = [operation for operation in every_operation(app) if operation.method != "get"]

    assert {each.id for each in writes if "Idempotency-Key" not in each.in_header} == set(WITHOUT_IDEMPOTENCY_KEY)


async def test_every_read_shows_what_is_there_and_writes_nothing(
    app: FastAPI, api: AsyncClient, store_url: str, ids: dict[str, str]
) -> None:
    before = await fingerprint(store_url)
    reads = [each for each in every_operation(app) if each.method == "get" and each.id not in FOR_PEOPLE]
    named = ids | {"scenario": "flash-sale"}
    statuses = {operation.id: (await operation.send(api, named)).status_code for operation in reads}

    assert {each: status for each, status in statuses.items() if status != 200} == {}
    assert await fingerprint(store_url) == before


async def test_nonsense_in_a_path_is_answered_with_a_problem(app: FastAPI, api: AsyncClient, store_url: str) -> None:
    strange = []
    for operation in every_operation(app):
        for nasty in NASTY if operation.in_path else ():
            answer = await operation.send(api, dict.fromkeys(operation.in_path, nasty))
            is_problem = answer.headers["content-type"] == "application/problem+json"
            if not (400 <= answer.status_code < 500 and is_problem):
                strange.append((operation.id, nasty[:20], answer.status_code, answer.text[:200]))

    assert strange == []


def test_every_operation_says_what_it_needs_and_is_named_for_what_it_does(app: FastAPI, store_url: str) -> None:
    found = every_operation(app)

    assert len({operation.id for operation in found}) == len(found)
    assert [each.id for each in found if not re.fullmatch(r"[a-z]+(_[a-z]+)+", each.id)] == []
    assert [each.id for each in found if not each.described.get("tags")] == []
    assert [each.id for each in found if each.described["security"] and not says_who_may(each.described)] == []
    assert [each.id for each in found if each.described["security"] and "401" not in each.described["responses"]] == []
    assert {each.id for each in found if not each.described["security"]} == OPEN_TO_ANYBODY
    assert set(BODIES) <= {each.id for each in found}
    assert app.openapi()["openapi"].startswith("3.1")


def says_who_may(described: Json) -> bool:
    """A scope, an operator of the installation, or whoever is recognised."""
    return "x-scope" in described or described.get("x-operator") is True or described["tags"] == ["auth"]

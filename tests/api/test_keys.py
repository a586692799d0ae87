"""API keys at the API's door: shown once, scoped, expiring, revoked at once in every process."""

import json
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from fastapi import FastAPI

from mainspring.domain.access.account import api_key_text
from mainspring.domain.access.scope import SCOPES_OF, Role, Scope
from mainspring.domain.endpoint import Tenant
from mainspring.ports.stores import Stores
from tests.api.people import Browser, a_key, a_user, open_door, operator_rows, program, scope_rows
from tests.stores.world import START, FixedClock

KEYS = "/api/v1/keys"
SESSION = "/api/v1/auth/session"


@pytest.fixture
async def app(stores: Stores, clock: FixedClock) -> AsyncIterator[FastAPI]:
    async with open_door(stores, clock) as made:
        yield made


@pytest.fixture
async def other_app(other_stores: Stores, clock: FixedClock) -> AsyncIterator[FastAPI]:
    async with open_door(other_stores, clock) as made:
        yield made


async def test_key_is_shown_once_and_works_at_once(app: FastAPI, stores: Stores) -> None:
    await a_user(stores)
    async with Browser(app) as browser:
        await browser.log_in()
        made = await browser.post(KEYS, json={"name": "ci", "scopes": ["read", "run"], "expires_in": "30d"})
        listed = await browser.get(KEYS)
    said = made.json()
    async with program(app, said["key"]) as client:
        who = (await client.get(SESSION)).json()

    assert made.status_code == 201
    assert (said["scopes"], said["created_by"]) == (["read", "run"], "user:ann@example.com")
    assert said["expires_at"] == "2025-01-31T00:00:00Z"
    assert said["key"].startswith(f"ms_{said['id']}_")
    assert said["key"] not in listed.text
    assert (who["actor"], who["scopes"]) == (f"key:{said['id']}", ["read", "run"])


async def test_revoked_key_is_refused_by_every_process_on_the_next_request(
    app: FastAPI, other_app: FastAPI, stores: Stores
) -> None:
    admin, doomed = await a_key(stores), await a_key(stores)
    async with program(app, admin) as client, program(other_app, doomed) as there:
        assert (await there.get(SESSION)).status_code == 200
        revoked = await client.delete(f"{KEYS}/{doomed.split('_')[1]}")
        again = await client.delete(f"{KEYS}/{doomed.split('_')[1]}")

        assert (revoked.status_code, revoked.json()["status"]) == (200, "revoked")
        assert again.status_code == 404
        assert (await there.get(SESSION)).status_code == 401


async def test_expired_key_is_refused(app: FastAPI, stores: Stores, clock: FixedClock) -> None:
    key = await a_key(stores)
    clock.at = START + timedelta(days=90)
    async with program(app, key) as client:
        assert (await client.get(SESSION)).status_code == 401


@pytest.mark.parametrize("scope", list(Scope))
async def test_scope_is_needed_exactly_where_it_is_declared(app: FastAPI, stores: Stores, scope: Scope) -> None:
    rows = list(scope_rows(app))
    async with program(app, await a_key(stores, scope)) as client:
        for method, path, needed in rows:
            answer = await client.request(method, path, json={} if method in ("POST", "PATCH", "PUT") else None)
            assert (answer.status_code == 403) == (scope is not needed), f"{method} {path}: {answer.text}"

    assert len(rows) >= 12


async def test_operators_routes_are_closed_to_owners_of_a_tenant(app: FastAPI, stores: Stores) -> None:
    rows = list(operator_rows(app))
    async with program(app, await a_key(stores)) as owner, program(app, await a_key(stores, is_operator=True)) as one:
        for method, path in rows:
            body: dict[str, object] | None = {} if method in ("POST", "PATCH") else None
            assert (await owner.request(method, path, json=body)).status_code == 403
            assert (await one.request(method, path, json=body)).status_code != 403

    assert len(rows) >= 8


async def test_nobody_gets_past_any_route_that_wants_to_know_who_asks(app: FastAPI) -> None:
    async with Browser(app) as browser:
        for method, path in [*[row[:2] for row in scope_rows(app)], *operator_rows(app)]:
            answer = await browser.request(method, path, json={} if method in ("POST", "PATCH", "PUT") else None)
            assert answer.status_code == 401, f"{method} {path}: {answer.text}"


async def test_key_cannot_make_a_key_that_can_do_more(app: FastAPI, stores: Stores) -> None:
    async with program(app, await a_key(stores, Scope.ADMIN, Scope.READ)) as client:
        more = await client.post(KEYS, json={"name": "more", "scopes": ["write"]})
        operator = await client.post(KEYS, json={"name": "more", "scopes": ["read"], "operator": True})
        same = await client.post(KEYS, json={"name": "same", "scopes": ["admin"]})

    assert (more.status_code, operator.status_code, same.status_code) == (403, 403, 201)


@pytest.mark.parametrize(
    ("wish", "pointer"),
    [
        ({"name": ""}, "/name"),
        ({"name": "x", "scopes": []}, "/scopes"),
        ({"name": "x", "scopes": ["root"]}, "/scopes/0"),
        ({"name": "x", "expires_in": "1s"}, "/expires_in"),
        ({"name": "x", "expires_in": "99999d"}, "/expires_in"),
        ({"name": "x", "expires": "1d"}, "/expires"),
        ({"name": "\u202e"}, "/name"),
    ],
    ids=json.dumps,
)
async def test_nonsense_is_refused_by_its_name(
    app: FastAPI, stores: Stores, wish: dict[str, object], pointer: str
) -> None:
    async with program(app, await a_key(stores)) as client:
        answer = await client.post(KEYS, json=wish)

    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == pointer


async def test_wrong_keys_are_throttled_and_the_right_one_still_works(
    app: FastAPI, stores: Stores, long_run: bool
) -> None:
    guesses = 1_000 if long_run else 200
    key = await a_key(stores)
    codes = []
    for number in range(guesses):
        wrong = api_key_text(key.split("_")[1], number.to_bytes(32))
        async with program(app, wrong) as client:
            codes.append((await client.get(SESSION)).status_code)
    async with program(app, key) as client:
        right = await client.get(SESSION)

    assert codes.count(401) == 20
    assert codes.count(429) == guesses - 20
    assert right.status_code == 200


async def test_key_of_another_tenant_does_not_exist(app: FastAPI, stores: Stores) -> None:
    await stores.endpoints.put_tenant(Tenant("acme", "Acme"))
    theirs = (await a_key(stores)).split("_")[1]
    async with program(app, await a_key(stores, tenant_id="acme")) as client:
        real = await client.delete(f"{KEYS}/{theirs}")
        random = await client.delete(f"{KEYS}/zzzzzzzz")
        listed = (await client.get(KEYS)).json()["items"]

    assert (real.status_code, random.status_code) == (404, 404)
    assert real.json()["detail"] == random.json()["detail"].replace("zzzzzzzz", theirs)
    assert theirs not in [key["id"] for key in listed]


async def test_request_with_a_key_that_names_another_tenant_does_nothing_in_the_keys_own(
    app: FastAPI, stores: Stores
) -> None:
    await stores.endpoints.put_tenant(Tenant("acme", "Acme"))
    async with program(app, await a_key(stores)) as client:
        others = [
            await client.post("/api/v1/jobs", json={"name": "shop"}, headers={"X-Mainspring-Tenant": tenant})
            for tenant in ("acme", "none")
        ]
        listed = (await client.get("/api/v1/jobs")).json()["items"]
        own = await client.post("/api/v1/jobs", json={"name": "shop"}, headers={"X-Mainspring-Tenant": "default"})

    assert [(each.status_code, each.json()["detail"]) for each in others] == [
        (404, "no tenant 'acme'"),
        (404, "no tenant 'none'"),
    ]
    assert "shop" not in [job["name"] for job in listed]
    assert own.status_code == 201


async def test_signing_key_is_made_listed_and_revoked(app: FastAPI, stores: Stores) -> None:
    async with program(app, await a_key(stores)) as client:
        made = (await client.post("/api/v1/signing-keys")).json()
        listed = await client.get("/api/v1/signing-keys")
        revoked = await client.delete(f"/api/v1/signing-keys/{made['id']}")
        left = (await client.get("/api/v1/signing-keys")).json()

    assert made["secret"].startswith("whsec_")
    assert [key["id"] for key in listed.json()["items"]] == [made["id"]]
    assert made["secret"] not in listed.text
    assert revoked.json() == {"id": made["id"], "revoked": True}
    assert left == {"items": []}


async def test_viewer_cannot_see_keys(app: FastAPI, stores: Stores) -> None:
    await a_user(stores, role=Role.VIEWER)
    async with Browser(app) as browser:
        await browser.log_in()

        assert (await browser.get(KEYS)).status_code == 403
        assert (await browser.get("/api/v1/members")).status_code == 200


OPERATORS_READ = ("users", "tenants", "users/ann@example.com", "tenants/default")
OPERATORS_WRITE = (
    ("POST", "users", {"email": "cy@example.com"}),
    ("PATCH", "users/ann@example.com", {"name": "Ann B."}),
    ("POST", "users/ann@example.com/link", None),
    ("POST", "tenants", {"id": "acme"}),
    ("PATCH", "tenants/default", {"endpoints_max": 5}),
    ("PUT", "planner/mode/everywhere", {"mode": "off"}),
)


@pytest.mark.parametrize("scopes", [[Scope.READ], [Scope.READ, Scope.RUN, Scope.WRITE]], ids=["read", "all but admin"])
async def test_operators_key_reads_with_read_and_changes_nothing_without_admin(
    app: FastAPI, stores: Stores, scopes: list[Scope]
) -> None:
    await a_user(stores)
    async with program(app, await a_key(stores, *scopes, is_operator=True)) as client:
        read = [(await client.get(f"/api/v1/{path}")).status_code for path in OPERATORS_READ]
        written = [
            (await client.request(method, f"/api/v1/{path}", json=body)).status_code
            for method, path, body in OPERATORS_WRITE
        ]

    assert set(read) == {200}
    assert set(written) <= {403, 404, 405}
    assert written[:5] == [403] * 5


async def test_operators_key_without_read_reads_nothing(app: FastAPI, stores: Stores) -> None:
    await a_user(stores)
    async with program(app, await a_key(stores, Scope.ADMIN, is_operator=True)) as client:
        assert {(await client.get(f"/api/v1/{path}")).status_code for path in OPERATORS_READ} == {403}


@pytest.mark.parametrize("scopes", [[Scope.ADMIN], [Scope.ADMIN, Scope.READ]], ids=["admin", "admin and read"])
async def test_key_gives_nobody_a_scope_that_it_lacks(app: FastAPI, stores: Stores, scopes: list[Scope]) -> None:
    await a_user(stores)
    await a_user(stores, "bo@example.com", Role.VIEWER)
    roles = {"viewer": SCOPES_OF[Role.VIEWER], "operator": SCOPES_OF[Role.OPERATOR], "owner": SCOPES_OF[Role.OWNER]}
    async with program(app, await a_key(stores, *scopes)) as client:
        for role, wanted in roles.items():
            allowed = wanted <= set(scopes)
            invited = await client.post("/api/v1/members", json={"email": f"{role}@example.com", "role": role})
            changed = await client.patch("/api/v1/members/bo@example.com", json={"role": role})
            assert (invited.status_code, changed.status_code) == ((201, 200) if allowed else (403, 403)), role
        key = await client.post("/api/v1/keys", json={"name": "more", "scopes": ["read", "run", "write", "admin"]})
        assert key.status_code == 403


async def test_operators_key_makes_operators_and_links_only_with_every_scope(app: FastAPI, stores: Stores) -> None:
    await a_user(stores)
    wishes = [
        ("users", {"email": "cy@example.com", "operator": True}),
        ("users", {"email": "di@example.com", "tenant": "default", "role": "owner"}),
        ("users/ann@example.com/link", None),
    ]
    for scopes, expected in (((Scope.READ, Scope.ADMIN), 403), (tuple(Scope), 201)):
        async with program(app, await a_key(stores, *scopes, is_operator=True)) as client:
            said = [(await client.post(f"/api/v1/{path}", json=body)).status_code for path, body in wishes]
        assert set(said) == {expected}

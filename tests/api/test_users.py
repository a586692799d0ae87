"""Users, members, tenants, and the trail that all of it leaves."""

from collections.abc import AsyncIterator

import pytest
from fastapi import FastAPI

from mainspring.domain.access.scope import Role
from mainspring.domain.endpoint import Tenant
from mainspring.ports.stores import Stores
from tests.api.people import PASSWORD, Browser, a_key, a_user, open_door, program
from tests.stores.databases import file_of, is_sqlite, query
from tests.stores.world import FixedClock


@pytest.fixture
async def app(stores: Stores, clock: FixedClock) -> AsyncIterator[FastAPI]:
    async with open_door(stores, clock) as made:
        yield made


@pytest.fixture
async def owner(app: FastAPI, stores: Stores) -> AsyncIterator[Browser]:
    """Owner of `default`, and operator of the installation."""
    await a_user(stores, is_operator=True)
    async with Browser(app) as browser:
        await browser.log_in()
        yield browser


def token_of(link: str) -> str:
    return link.partition("#token=")[2]


async def test_new_member_gets_a_link_sets_a_password_and_is_in(app: FastAPI, owner: Browser) -> None:
    made = await owner.post("/api/v1/members", json={"email": "Bo@Example.com", "role": "operator", "name": "Bo"})
    said = made.json()
    async with Browser(app) as bo:
        entered = await bo.post("/api/v1/auth/setup", json={"token": token_of(said["link"]), "password": PASSWORD})

    assert made.status_code == 201
    assert (said["member"]["email"], said["member"]["role"]) == ("bo@example.com", "operator")
    assert said["link"].startswith("http://127.0.0.1/setup#token=")
    assert entered.json()["scopes"] == ["read", "run", "write"]


async def test_user_who_exists_is_invited_like_anybody(owner: Browser, stores: Stores) -> None:
    await a_user(stores, "bo@example.com", role=None)
    made = (await owner.post("/api/v1/members", json={"email": "bo@example.com", "role": "viewer"})).json()

    assert (made["member"]["role"], made["member"]["status"]) == ("viewer", "invited")
    assert token_of(made["link"])


async def test_inviting_a_member_again_changes_the_role_and_needs_no_link(owner: Browser, stores: Stores) -> None:
    await a_user(stores, "bo@example.com", Role.VIEWER)
    made = (await owner.post("/api/v1/members", json={"email": "bo@example.com", "role": "operator"})).json()

    assert (made["member"]["role"], made["member"]["status"], made["link"]) == ("operator", "active", None)


async def test_role_changes_take_effect_on_the_next_request(app: FastAPI, owner: Browser, stores: Stores) -> None:
    await a_user(stores, "bo@example.com", Role.OWNER)
    async with Browser(app) as bo:
        await bo.log_in("bo@example.com")
        assert (await bo.get("/api/v1/keys")).status_code == 200
        changed = await owner.patch("/api/v1/members/bo@example.com", json={"role": "viewer"})
        assert changed.json()["role"] == "viewer"
        assert (await bo.get("/api/v1/keys")).status_code == 403
        assert (await owner.delete("/api/v1/members/bo@example.com")).status_code == 200
        assert (await bo.get("/api/v1/members")).status_code == 403


async def test_last_owner_cannot_leave(owner: Browser) -> None:
    answer = await owner.delete("/api/v1/members/ann@example.com")

    assert answer.status_code == 409
    assert "without an owner" in answer.json()["detail"]


async def test_last_operator_cannot_be_disabled(owner: Browser) -> None:
    answer = await owner.patch("/api/v1/users/ann@example.com", json={"disabled": True})

    assert answer.status_code == 409
    assert "the last operator" in answer.json()["detail"]


async def test_user_is_made_listed_renamed_disabled(owner: Browser) -> None:
    made = await owner.post(
        "/api/v1/users", json={"email": "bo@example.com", "tenant": "default", "role": "viewer", "name": "Bo"}
    )
    user_id = made.json()["user"]["id"]
    listed = (await owner.get("/api/v1/users")).json()["items"]
    renamed = (await owner.patch(f"/api/v1/users/{user_id}", json={"name": "Bob"})).json()
    disabled = (await owner.patch("/api/v1/users/bo@example.com", json={"disabled": True})).json()
    link = await owner.post(f"/api/v1/users/{user_id}/link")

    assert made.status_code == 201
    assert [user["email"] for user in listed] == ["ann@example.com", "bo@example.com"]
    assert renamed["name"] == "Bob"
    assert disabled["disabled"]
    assert token_of(link.json()["link"])


async def test_second_user_of_an_address_is_a_conflict(owner: Browser) -> None:
    answer = await owner.post("/api/v1/users", json={"email": "ANN@example.com"})

    assert answer.status_code == 409


async def test_user_of_an_unknown_tenant_is_not_made(owner: Browser) -> None:
    answer = await owner.post("/api/v1/users", json={"email": "bo@example.com", "tenant": "nothing"})

    assert answer.status_code == 404
    assert len((await owner.get("/api/v1/users")).json()["items"]) == 1


async def test_operator_makes_a_tenant_and_owns_it(owner: Browser) -> None:
    made = await owner.post("/api/v1/tenants", json={"id": "acme", "name": "Acme"})
    again = await owner.post("/api/v1/tenants", json={"id": "acme"})
    wrong = await owner.post("/api/v1/tenants", json={"id": "Ac me"})
    inside = await owner.get("/api/v1/auth/session", headers={"X-Mainspring-Tenant": "acme"})
    changed = await owner.patch("/api/v1/tenants/acme", json={"endpoints_max": 3, "name": "Acme Inc"})

    assert (made.status_code, again.status_code, wrong.status_code) == (201, 409, 422)
    assert inside.json()["scopes"] == ["admin", "read", "run", "write"]
    assert (changed.json()["endpoints_max"], changed.json()["name"]) == (3, "Acme Inc")
    assert [each["id"] for each in (await owner.get("/api/v1/tenants")).json()["items"]] == ["acme", "default"]
    assert (await owner.get("/api/v1/tenants/nothing")).status_code == 404


async def test_members_of_another_tenant_do_not_exist(app: FastAPI, owner: Browser, stores: Stores) -> None:
    await stores.endpoints.put_tenant(Tenant("acme", "Acme"))
    async with program(app, await a_key(stores, tenant_id="acme")) as client:
        for method in ("PATCH", "DELETE"):
            body = {"role": "viewer"} if method == "PATCH" else None
            real = await client.request(method, "/api/v1/members/ann@example.com", json=body)
            random = await client.request(method, "/api/v1/members/xyz@example.com", json=body)
            assert (real.status_code, random.status_code) == (404, 404)
            assert real.json()["detail"] == random.json()["detail"].replace("xyz", "ann")
        assert (await client.get("/api/v1/members")).json() == {"items": []}
        assert (await client.get("/api/v1/audit")).json()["items"][0]["act"] == "api_key.created"


async def test_each_act_leaves_one_entry(app: FastAPI, owner: Browser, stores: Stores) -> None:
    """In order: the installation's trail, then the tenant's."""
    made = (await owner.post("/api/v1/members", json={"email": "bo@example.com", "role": "viewer"})).json()
    async with Browser(app) as bo:
        await bo.post("/api/v1/auth/setup", json={"token": token_of(made["link"]), "password": PASSWORD})
    await owner.patch("/api/v1/members/bo@example.com", json={"role": "operator"})
    await owner.patch("/api/v1/users/bo@example.com", json={"disabled": True})
    key = (await owner.post("/api/v1/keys", json={"name": "x"})).json()
    await owner.delete(f"/api/v1/keys/{key['id']}")
    signing = (await owner.post("/api/v1/signing-keys")).json()
    await owner.delete(f"/api/v1/signing-keys/{signing['id']}")
    await owner.patch("/api/v1/tenants/default", json={"endpoints_max": 3})
    await owner.log_in(password="wrong wrong wrong")
    of_tenant = (await owner.get("/api/v1/audit")).json()
    of_all = (await owner.get("/api/v1/audit", params={"installation": "true"})).json()
    await owner.post("/api/v1/auth/logout")

    acts = [entry["act"] for entry in reversed(of_tenant["items"])]
    assert acts == [
        "member.changed", "member.invited", "member.changed", "member.changed", "api_key.created", "api_key.revoked",
        "signing_key.created", "signing_key.revoked", "quota.changed",
    ]  # fmt: skip
    assert [entry["act"] for entry in reversed(of_all["items"])] == [
        "user.created", "login.succeeded", "user.created", "login.succeeded", "user.updated", "login.failed",
    ]  # fmt: skip
    role = of_tenant["items"][5]
    assert (role["actor"], role["address"], role["subject"]) == ("user:ann@example.com", "192.0.2.1", "bo@example.com")
    assert (role["detail"]["before"], role["detail"]["after"]) == ("viewer", "operator")
    assert role["before_sha256"] != role["after_sha256"]
    assert (await stores.audit.audit_entries("", None, 1))[0].act == "logout"


async def test_trail_is_read_in_pages_and_verified(owner: Browser) -> None:
    for number in range(5):
        await owner.post("/api/v1/keys", json={"name": f"key {number}"})
    first = (await owner.get("/api/v1/audit", params={"limit": 4})).json()
    rest = (await owner.get("/api/v1/audit", params={"limit": 4, "cursor": first["next_cursor"]})).json()
    verdict = (await owner.get("/api/v1/audit/verify")).json()
    nonsense = await owner.get("/api/v1/audit", params={"cursor": "x"})

    assert [entry["seq"] for entry in first["items"] + rest["items"]] == [6, 5, 4, 3, 2, 1]
    assert rest["next_cursor"] is None
    assert verdict == {"whole": True, "entries": 6, "fault_at": None, "why": None}
    assert nonsense.status_code == 400


async def test_trail_names_the_endpoints_that_are_still_there(owner: Browser) -> None:
    wish = {"name": "billing", "url": "https://shop.example/", "every": "1h"}
    made = (await owner.post("/api/v1/endpoints", json=wish)).json()
    (entry,) = [each for each in (await owner.get("/api/v1/audit")).json()["items"] if each["subject"] == made["id"]]
    await owner.delete(f"/api/v1/endpoints/{made['id']}")
    left = (await owner.get("/api/v1/audit")).json()["items"][0]

    assert (entry["act"], entry["endpoint"]) == ("endpoint.created", "billing")
    assert (left["act"], left["subject"], left["endpoint"]) == ("endpoint.deleted", made["id"], None)


async def test_installations_trail_is_closed_to_owners_of_a_tenant(app: FastAPI, stores: Stores) -> None:
    async with program(app, await a_key(stores)) as client:
        assert (await client.get("/api/v1/audit", params={"installation": "true"})).status_code == 403


async def test_no_secret_is_in_the_database_or_in_a_later_answer(
    app: FastAPI, owner: Browser, stores: Stores, store_url: str, capfd: pytest.CaptureFixture[str]
) -> None:
    member = (await owner.post("/api/v1/members", json={"email": "bo@example.com", "role": "viewer"})).json()
    key = (await owner.post("/api/v1/keys", json={"name": "x", "scopes": ["read", "admin"]})).json()
    signing = (await owner.post("/api/v1/signing-keys")).json()
    token = token_of(member["link"])
    async with Browser(app) as bo:
        await bo.post("/api/v1/auth/setup", json={"token": token, "password": "swordfish swordfish"})
        sessions = [owner.cookies["mainspring"], bo.cookies["mainspring"]]
        devices = [owner.cookies["mainspring-device"], bo.cookies["mainspring-device"]]
    async with program(app, key["key"]) as client:
        later = [(await client.get(f"/api/v1/{path}")).text for path in ("keys", "signing-keys", "members", "audit")]
    later += [(await owner.get(path)).text for path in ("/api/v1/users", "/api/v1/audit?installation=true")]
    secrets = [PASSWORD, "swordfish swordfish", token, key["key"], key["key"].split("_")[2], signing["secret"]]
    stored = await everything(store_url)
    logged = "".join(capfd.readouterr())

    for secret in [*secrets, *sessions, *devices]:
        assert secret not in stored
        assert not any(secret in answer for answer in later)
        assert secret not in logged


async def everything(url: str) -> str:
    """All that is stored, as text."""
    if is_sqlite(url):
        names = await query(url, "SELECT name FROM sqlite_master WHERE type = 'table'")
        raw = file_of(url).read_bytes() + file_of(url).with_name("mainspring.db-wal").read_bytes()
    else:
        names = await query(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        raw = b""
    rows = [row for (name,) in names for row in await query(url, f"SELECT * FROM {name}")]
    assert len(rows) > 10
    return "\n".join(str(row) for row in rows) + raw.decode("latin-1")

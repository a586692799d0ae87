"""The first owner, logging in and out, and how slow guessing is."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from fastapi import FastAPI
from msgspec.structs import replace

from mainspring.domain.access.scope import Role
from mainspring.domain.endpoint import Tenant
from mainspring.operations.accounts import edit_user, make_link, make_setup_link, set_password
from mainspring.outbound.passwords import Argon2Hasher
from mainspring.ports.stores import Stores
from mainspring.settings import Settings
from tests.api.people import LOCKSMITH, PASSWORD, Browser, a_key, a_user, at_the_desk, open_door, program
from tests.stores.world import START, FixedClock

LOGIN = "/api/v1/auth/login"
SESSION = "/api/v1/auth/session"


@pytest.fixture
async def app(stores: Stores, clock: FixedClock) -> AsyncIterator[FastAPI]:
    async with open_door(stores, clock) as made:
        yield made


@pytest.fixture
async def other_app(other_stores: Stores, clock: FixedClock) -> AsyncIterator[FastAPI]:
    """Another process on the same database."""
    async with open_door(other_stores, clock) as made:
        yield made


async def test_setup_link_makes_the_first_owner_and_logs_in(app: FastAPI, stores: Stores) -> None:
    token = await make_setup_link(at_the_desk(stores), LOCKSMITH)
    wish = {"token": token, "email": "Ann@Example.com", "name": "Ann", "password": PASSWORD}
    async with Browser(app) as browser:
        answer = await browser.post("/api/v1/auth/setup", json=wish)
        again = await browser.get(SESSION)

    assert answer.status_code == 200
    said = answer.json()
    assert (said["actor"], said["tenant"], said["operator"]) == ("user:ann@example.com", "default", True)
    assert said["scopes"] == ["admin", "read", "run", "write"]
    assert again.json() == said


async def test_setup_link_opens_once(app: FastAPI, stores: Stores) -> None:
    token = await make_setup_link(at_the_desk(stores), LOCKSMITH)
    wish = {"token": token, "email": "ann@example.com", "password": PASSWORD}
    async with Browser(app) as browser:
        await browser.post("/api/v1/auth/setup", json=wish)
    async with Browser(app) as stranger:
        answer = await stranger.post("/api/v1/auth/setup", json={**wish, "email": "eve@example.com"})

    assert answer.status_code == 401
    assert "this link is not valid: it works once, within 24 hours" in answer.json()["detail"]


async def test_second_setup_link_does_not_make_a_second_owner(app: FastAPI, stores: Stores) -> None:
    tokens = [await make_setup_link(at_the_desk(stores), LOCKSMITH) for _ in range(2)]
    codes = []
    for token, email in zip(tokens, ("ann@example.com", "eve@example.com"), strict=True):
        async with Browser(app) as browser:
            wish = {"token": token, "email": email, "password": PASSWORD}
            codes.append((await browser.post("/api/v1/auth/setup", json=wish)).status_code)

    assert codes == [200, 409]
    assert [user.email for user in await stores.accounts.users()] == ["ann@example.com"]


@pytest.mark.parametrize(
    ("wrong", "pointer"),
    [({"password": "short"}, "/password"), ({"email": "nobody"}, "/email"), ({"email": None}, "/email")],
    ids=["short password", "no address", "address left out"],
)
async def test_wrong_input_does_not_use_the_link_up(
    app: FastAPI, stores: Stores, wrong: dict[str, str | None], pointer: str
) -> None:
    token = await make_setup_link(at_the_desk(stores), LOCKSMITH)
    wish = {"token": token, "email": "ann@example.com", "password": PASSWORD}
    async with Browser(app) as browser:
        refused = await browser.post("/api/v1/auth/setup", json={**wish, **wrong})
        answer = await browser.post("/api/v1/auth/setup", json=wish)

    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"] == pointer
    assert answer.status_code == 200


async def test_link_of_a_user_sets_a_password_and_ends_older_sessions(app: FastAPI, stores: Stores) -> None:
    await a_user(stores)
    invitation = await make_link(at_the_desk(stores), LOCKSMITH, "ann@example.com")
    async with Browser(app) as old, Browser(app) as new:
        await old.log_in()
        wish = {"token": invitation.token, "password": "an entirely new one"}
        assert (await new.post("/api/v1/auth/setup", json=wish)).status_code == 200
        assert (await old.get(SESSION)).status_code == 401
        assert (await old.log_in()).status_code == 401
        assert (await old.log_in(password="an entirely new one")).status_code == 200


async def test_session_cookie_is_out_of_reach_of_scripts(app: FastAPI, stores: Stores) -> None:
    await a_user(stores)
    async with Browser(app) as browser:
        answer = await browser.log_in()
    (cookie, device) = answer.headers.get_list("set-cookie")

    assert cookie.startswith("mainspring=")
    assert device.startswith("mainspring-device=")
    for each in (cookie, device):
        assert "HttpOnly" in each
        assert "SameSite=lax" in each
        assert "Path=/" in each
        assert "Secure" not in each


async def test_https_has_a_secure_host_cookie(stores: Stores, clock: FixedClock) -> None:
    await a_user(stores)
    settings = Settings(public_url="https://spring.example.com", allowed_hosts=("spring.example.com",))
    async with open_door(stores, clock, settings) as app, Browser(app, site="https://spring.example.com") as browser:
        cookie = (await browser.log_in()).headers.get_list("set-cookie")[0]
        again = await browser.get(SESSION)

    assert cookie.startswith("__Host-mainspring=")
    assert "Secure" in cookie
    assert again.status_code == 200


async def test_every_login_has_a_token_of_its_own(app: FastAPI, stores: Stores) -> None:
    await a_user(stores)
    async with Browser(app) as browser:
        tokens = [(await browser.log_in()).cookies["mainspring"] for _ in range(3)]

    assert len(set(tokens)) == 3
    assert all(len(token) >= 43 for token in tokens)


@pytest.mark.parametrize(
    "credentials",
    [("ann@example.com", "wrong wrong wrong"), ("nobody@example.com", PASSWORD), ("gone@example.com", PASSWORD)],
    ids=["wrong password", "unknown user", "disabled user"],
)
async def test_refusals_are_all_alike(app: FastAPI, stores: Stores, credentials: tuple[str, str]) -> None:
    await a_user(stores)
    await a_user(stores, "gone@example.com", Role.VIEWER)
    await edit_user(at_the_desk(stores, ""), "gone@example.com", disabled=True)
    async with Browser(app) as browser:
        answer = await browser.log_in(*credentials)

    assert answer.status_code == 401
    said = answer.json()
    assert said["detail"] == "the email address or the password is wrong; try again, or ask for a link to set a new one"
    assert "set-cookie" not in answer.headers


class Counting(Argon2Hasher):
    """How often a password was held against a hash: what a refusal costs."""

    def __init__(self) -> None:
        super().__init__(memory_kib=8, passes=1)
        self.count = 0

    async def fits(self, password: str, stored: str) -> bool:
        self.count += 1
        return await super().fits(password, stored)


async def test_refusal_of_an_unknown_user_takes_the_same_work_as_of_a_wrong_password(
    app: FastAPI, stores: Stores
) -> None:
    await a_user(stores)
    await a_user(stores, "gone@example.com", Role.VIEWER)
    await edit_user(at_the_desk(stores, ""), "gone@example.com", disabled=True)
    work = {}
    async with Browser(app) as browser:
        for email in ("ann@example.com", "nobody@example.com", "gone@example.com"):
            counting = Counting()
            app.state.context = replace(app.state.context, hasher=counting)
            assert (await browser.log_in(email, "wrong wrong wrong")).status_code == 401
            work[email] = counting.count

    assert work == dict.fromkeys(work, 1)


ENDINGS = ["logout", "password changed", "password set", "disabled", "idle", "too old"]


@pytest.mark.parametrize("ending", ENDINGS)
async def test_session_is_over_in_every_process_on_the_next_request(
    app: FastAPI, other_app: FastAPI, stores: Stores, clock: FixedClock, ending: str
) -> None:
    await a_user(stores)
    async with Browser(app) as here, Browser(other_app) as there:
        await here.log_in()
        there.cookies = here.cookies
        assert (await there.get(SESSION)).status_code == 200
        match ending:
            case "logout":
                assert (await here.post("/api/v1/auth/logout")).status_code == 204
            case "password changed":
                wish = {"current": PASSWORD, "password": "an entirely new one"}
                async with Browser(app) as elsewhere:
                    await elsewhere.log_in()
                    assert (await elsewhere.post("/api/v1/auth/password", json=wish)).status_code == 200
                    assert (await elsewhere.get(SESSION)).status_code == 200
            case "password set":
                await set_password(at_the_desk(stores), LOCKSMITH, "ann@example.com", "an entirely new one")
            case "disabled":
                await edit_user(at_the_desk(stores, ""), "ann@example.com", disabled=True)
            case "idle":
                clock.tick(hours=12)
            case "too old":
                for _ in range(30):
                    await there.get(SESSION)
                    clock.tick(hours=11.5)
                assert clock.at > START + timedelta(days=14)

        assert (await there.get(SESSION)).status_code == 401


async def test_wrong_present_password_changes_nothing(app: FastAPI, stores: Stores) -> None:
    await a_user(stores)
    async with Browser(app) as browser:
        await browser.log_in()
        wish = {"current": "not this one at all", "password": "an entirely new one"}
        answer = await browser.post("/api/v1/auth/password", json=wish)

        assert answer.status_code == 422
        assert answer.json()["errors"][0]["pointer"] == "/current"
        assert (await browser.get(SESSION)).status_code == 200


async def test_guesses_at_one_account_are_looked_at_twenty_times_an_hour(
    app: FastAPI, stores: Stores, clock: FixedClock, long_run: bool
) -> None:
    """From a hundred addresses. The owner, on a device that was used before, still gets in."""
    guesses = 1_000 if long_run else 200
    await a_user(stores)
    async with Browser(app, "198.51.100.9") as owner:
        await owner.log_in()
        looked_at = 0
        for number in range(guesses):
            async with Browser(app, f"192.0.2.{number % 100}") as guesser:
                answer = await guesser.log_in(password=f"guess number {number}")
            assert answer.status_code in (401, 429)
            looked_at += answer.status_code == 401
            clock.tick(seconds=3_600 / guesses)
        owner.cookies.delete("mainspring")
        assert (await owner.log_in()).status_code == 200

    assert answer.json()["detail"].startswith("too many wrong attempts")
    assert int(answer.headers["retry-after"]) > 0
    assert 15 <= looked_at <= 20


async def test_accounts_tried_from_one_address_are_throttled(app: FastAPI, long_run: bool) -> None:
    accounts = 1_000 if long_run else 200
    async with Browser(app, "192.0.2.66") as browser:
        codes = [(await browser.log_in(f"user{number}@example.com")).status_code for number in range(accounts)]

    assert codes.count(401) == 20
    assert codes.count(429) == accounts - 20


async def test_right_logins_are_not_throttled(app: FastAPI, stores: Stores) -> None:
    await a_user(stores)
    async with Browser(app) as browser:
        codes = [(await browser.log_in()).status_code for _ in range(30)]

    assert codes == [200] * 30


async def test_device_of_one_user_is_none_of_another(app: FastAPI, stores: Stores) -> None:
    await a_user(stores)
    await a_user(stores, "eve@example.com")
    async with Browser(app) as browser:
        await browser.log_in("eve@example.com")
        codes = [(await browser.log_in("ann@example.com", f"wrong guess {n}")).status_code for n in range(7)]
    async with Browser(app, "192.0.2.2") as stranger:
        codes.append((await stranger.log_in("ann@example.com", "wrong guess again")).status_code)

    assert codes == [401] * 5 + [429] * 3


async def test_key_and_session_at_once_are_refused(app: FastAPI, stores: Stores) -> None:
    await a_user(stores)
    async with Browser(app) as browser:
        await browser.log_in()
        answer = await browser.get(SESSION, headers={"Authorization": f"Bearer {await a_key(stores)}"})

    assert answer.status_code == 400
    assert answer.json()["detail"].startswith("both an API key and a session were sent")


async def test_session_acts_in_the_tenant_that_was_named(app: FastAPI, stores: Stores) -> None:
    await stores.endpoints.put_tenant(Tenant("acme", "Acme"))
    await stores.endpoints.put_tenant(Tenant("other", "Other"))
    await a_user(stores, role=Role.VIEWER, tenant_id="acme")
    async with Browser(app) as browser:
        await browser.log_in()
        first = (await browser.get(SESSION)).json()
        other = await browser.get(SESSION, headers={"X-Mainspring-Tenant": "other"})
        nothing = await browser.get(SESSION, headers={"X-Mainspring-Tenant": "nothing"})

    assert (first["tenant"], first["scopes"]) == ("acme", ["read"])
    assert (other.status_code, nothing.status_code) == (404, 404)
    assert other.json()["detail"] == nothing.json()["detail"].replace("nothing", "other")


async def test_session_says_whether_the_installation_has_one_tenant(app: FastAPI, stores: Stores) -> None:
    await a_user(stores, role=Role.VIEWER)
    async with Browser(app) as browser:
        await browser.log_in()
        one = (await browser.get(SESSION)).json()
        await stores.endpoints.put_tenant(Tenant("acme", "Acme"))
        two = (await browser.get(SESSION)).json()

    assert (one["sole_tenant"], two["sole_tenant"]) == (True, False)
    assert two["tenants"] == one["tenants"]  # nothing is told about tenants of others


async def test_user_of_no_tenant_may_do_nothing_in_one(app: FastAPI, stores: Stores) -> None:
    await a_user(stores, role=None)
    async with Browser(app) as browser:
        await browser.log_in()

        assert (await browser.get(SESSION)).json()["tenant"] is None
        assert (await browser.get("/api/v1/members")).status_code == 403


async def test_key_is_somebody_too_but_cannot_log_out(app: FastAPI, stores: Stores) -> None:
    async with program(app, await a_key(stores)) as client:
        said = (await client.get(SESSION)).json()
        answer = await client.post("/api/v1/auth/logout")

    assert said["actor"].startswith("key:")
    assert (said["tenant"], said["user"]) == ("default", None)
    assert answer.status_code == 403


@pytest.mark.parametrize("header", ["Basic YTpi", "Bearer", "Bearer ", "ms_1", "Bearer ms_a_b_c", "Bearer \xff"])
async def test_authorization_that_is_no_key_of_ours_is_not_authenticated(app: FastAPI, header: str) -> None:
    async with Browser(app) as browser:
        answer = await browser.get(SESSION, headers={b"Authorization": header.encode("latin-1")})

    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")


async def test_sessions_are_listed_and_ended_one_by_one_or_all_but_this(app: FastAPI, stores: Stores) -> None:
    await a_user(stores)
    async with Browser(app) as here, Browser(app, "192.0.2.9") as there, Browser(app) as third:
        for each in (here, there, third):
            await each.log_in()
        listed = (await here.get("/api/v1/auth/sessions")).json()["items"]
        (away,) = [each["id"] for each in listed if each["address"] == "192.0.2.9"]
        ended = await here.delete(f"/api/v1/auth/sessions/{away}")
        again = await here.delete(f"/api/v1/auth/sessions/{away}")
        assert (await there.get("/api/v1/auth/session")).status_code == 401
        others = await here.delete("/api/v1/auth/sessions")
        assert (await third.get("/api/v1/auth/session")).status_code == 401
        assert (await here.get("/api/v1/auth/session")).status_code == 200

    assert [each["current"] for each in listed].count(True) == 1
    assert (len(listed), ended.json(), again.status_code, others.json()) == (3, {"ended": 1}, 404, {"ended": 1})


async def test_session_of_another_user_cannot_be_seen_or_ended(app: FastAPI, stores: Stores) -> None:
    await a_user(stores)
    await a_user(stores, "bo@example.com")
    async with Browser(app) as ann, Browser(app) as bo:
        await ann.log_in()
        await bo.log_in("bo@example.com")
        (theirs,) = (await ann.get("/api/v1/auth/sessions")).json()["items"]
        listed = (await bo.get("/api/v1/auth/sessions")).json()["items"]
        real = await bo.delete(f"/api/v1/auth/sessions/{theirs['id']}")
        random = await bo.delete("/api/v1/auth/sessions/ses_0000")
        assert (await ann.get("/api/v1/auth/session")).status_code == 200

    assert theirs["id"] not in [each["id"] for each in listed]
    assert (real.status_code, random.status_code) == (404, 404)
    assert real.json()["detail"].replace(theirs["id"], "ses_0000") == random.json()["detail"]

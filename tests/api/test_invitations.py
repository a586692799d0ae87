"""Nobody becomes a member, or uses an account, through another tenant's link."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from fastapi import FastAPI
from httpx2 import Response
from msgspec.structs import replace

from mainspring.domain.access.account import Proof, digest
from mainspring.domain.access.scope import Role
from mainspring.domain.endpoint import Tenant
from mainspring.operations.accounts import make_link, set_password
from mainspring.outbound.passwords import Argon2Hasher
from mainspring.ports.stores import Stores
from mainspring.settings import Settings
from tests.api.people import LOCKSMITH, PASSWORD, Browser, a_user, at_the_desk, open_door
from tests.peers.post_office import PostOffice
from tests.stores.world import FixedClock

MALLORY, ALICE, VICTIM = "mallory@b.example", "alice@a.example", "victim@example.com"
THEIRS = "a password of the attacker"


@pytest.fixture
async def app(stores: Stores, clock: FixedClock) -> AsyncIterator[FastAPI]:
    for tenant in ("a", "b"):
        await stores.endpoints.put_tenant(Tenant(tenant, tenant.upper()))
    await a_user(stores, ALICE, tenant_id="a")
    await a_user(stores, MALLORY, tenant_id="b")
    async with open_door(stores, clock) as made:
        yield made


async def invite(app: FastAPI, owner: str, email: str = VICTIM, role: str = "owner") -> str:
    """The token of the link that an owner gets for inviting somebody."""
    async with Browser(app) as browser:
        await browser.log_in(owner)
        answer = await browser.post("/api/v1/members", json={"email": email, "role": role})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["link"] or "").rpartition("#token=")[2]


async def set_up(browser: Browser, token: str, password: str = PASSWORD) -> Response:
    return await browser.post("/api/v1/auth/setup", json={"token": token, "password": password})


async def tenants_of(browser: Browser) -> list[str]:
    answer = await browser.get("/api/v1/auth/session")
    return [each["tenant"] for each in answer.json().get("tenants", [])]


async def test_account_made_through_one_tenants_link_gets_no_role_in_another(app: FastAPI) -> None:
    """The attack: make the account, set its password, wait until another tenant invites the same address."""
    async with Browser(app) as attacker, Browser(app) as mallory:
        entered = await set_up(attacker, await invite(app, MALLORY), THEIRS)
        assert entered.status_code == 200
        await mallory.log_in(MALLORY)
        assert (await mallory.delete(f"/api/v1/members/{VICTIM}")).status_code == 200
        token = await invite(app, ALICE)

        assert await tenants_of(attacker) == []  # the open session
        assert (await attacker.log_in(VICTIM, THEIRS)).status_code == 401  # a new one
        assert token
        refused = await attacker.get("/api/v1/endpoints", headers={"X-Mainspring-Tenant": "a"})
        assert refused.status_code == 401


async def test_person_accepts_by_setting_a_new_password_and_the_old_one_is_void(app: FastAPI) -> None:
    async with Browser(app) as attacker, Browser(app) as victim:
        await set_up(attacker, await invite(app, MALLORY), THEIRS)
        entered = await set_up(victim, await invite(app, ALICE))

        assert entered.status_code == 200
        assert await tenants_of(victim) == ["a"]
        assert (await attacker.log_in(VICTIM, THEIRS)).status_code == 401


async def test_new_link_of_the_first_tenant_opens_no_door_in_the_second(app: FastAPI) -> None:
    """Neither tenant's word proves the address, so a password counts in the tenant whose link set it."""
    async with Browser(app) as attacker, Browser(app) as victim:
        await set_up(victim, await invite(app, ALICE))
        await set_up(attacker, await invite(app, MALLORY), THEIRS)

        assert await tenants_of(attacker) == ["b"]
        denied = await attacker.get("/api/v1/endpoints", headers={"X-Mainspring-Tenant": "a"})
        assert denied.status_code == 404


async def test_invited_person_is_no_member_until_accepting(app: FastAPI) -> None:
    await invite(app, ALICE, role="viewer")
    async with Browser(app) as alice:
        await alice.log_in(ALICE)
        items = (await alice.get("/api/v1/members")).json()["items"]
        gone = await alice.delete(f"/api/v1/members/{VICTIM}")
        left = (await alice.get("/api/v1/members")).json()["items"]

    (invited,) = [each for each in items if each["email"] == VICTIM]
    assert (invited["status"], invited["user_id"], invited["role"]) == ("invited", None, "viewer")
    assert gone.status_code == 200
    assert [each["email"] for each in left] == [ALICE]


async def test_proved_account_accepts_while_logged_in_and_only_then(app: FastAPI, stores: Stores) -> None:
    await a_user(stores, VICTIM, role=None)  # by an operator
    token = await invite(app, ALICE, role="viewer")
    async with Browser(app) as victim, Browser(app) as thief:
        with_password = await set_up(thief, token, THEIRS)
        await thief.log_in(MALLORY)
        as_another = await thief.post("/api/v1/auth/accept", json={"token": token})
        await victim.log_in(VICTIM)
        before = await tenants_of(victim)
        sight = (await victim.post("/api/v1/auth/link", json={"token": token})).json()
        accepted = await victim.post("/api/v1/auth/accept", json={"token": token})
        again = await victim.post("/api/v1/auth/accept", json={"token": token})

    assert (with_password.status_code, as_another.status_code) == (409, 403)
    assert before == []
    assert (sight["use"], sight["tenant"], sight["role"], sight["needs_login"]) == ("invitation", "a", "viewer", True)
    assert accepted.json()["tenants"] == [{"tenant": "a", "name": "A", "role": "viewer"}]
    assert again.status_code == 401


async def test_unproved_account_that_is_logged_in_cannot_accept_elsewhere(app: FastAPI, stores: Stores) -> None:
    """Also with the link in hand: the session may be of who set the password."""
    async with Browser(app) as attacker:
        await set_up(attacker, await invite(app, MALLORY), THEIRS)
        token = await invite(app, ALICE)
        # The invitation voided the session; this is the same account with a password that its tenant set once more.
        await set_up(attacker, await invite(app, MALLORY), THEIRS)
        answer = await attacker.post("/api/v1/auth/accept", json={"token": token})

    assert answer.status_code == 409
    assert "never verified" in answer.json()["detail"]
    user, _ = await stores.accounts.user(VICTIM) or (None, "")
    assert user is not None
    assert user.proof == "tenant:b"


async def test_operator_may_not_promote_an_account_whose_address_was_never_proved(app: FastAPI, stores: Stores) -> None:
    await a_user(stores, "root@example.com", role=None, is_operator=True)
    async with Browser(app) as attacker, Browser(app) as operator:
        await set_up(attacker, await invite(app, MALLORY), THEIRS)
        await operator.log_in("root@example.com")
        answer = await operator.patch(f"/api/v1/users/{VICTIM}", json={"operator": True})

    assert answer.status_code == 409


async def test_account_that_an_operator_made_cannot_be_taken_before_its_link_is_used(
    app: FastAPI, stores: Stores
) -> None:
    await a_user(stores, "root@example.com", role=None, is_operator=True)
    async with Browser(app) as operator, Browser(app) as attacker:
        await operator.log_in("root@example.com")
        await operator.post("/api/v1/users", json={"email": VICTIM, "operator": True})
        answer = await set_up(attacker, await invite(app, MALLORY), THEIRS)

    assert answer.status_code == 409


async def test_link_of_an_operator_proves_the_address_and_wakes_every_membership(app: FastAPI, stores: Stores) -> None:
    async with Browser(app) as victim:
        await set_up(victim, await invite(app, MALLORY))
        await set_up(victim, await invite(app, ALICE))
        assert await tenants_of(victim) == ["a"]
        made = await make_link(at_the_desk(stores), LOCKSMITH, VICTIM)
        await set_up(victim, made.token)

        assert await tenants_of(victim) == ["a", "b"]


@pytest.mark.parametrize("dry_run", ["true", "false"])
async def test_invitation_says_the_same_for_known_and_unknown_addresses(
    app: FastAPI, stores: Stores, dry_run: str
) -> None:
    await a_user(stores, "known@example.com", role=None)
    said = []
    async with Browser(app) as alice:
        await alice.log_in(ALICE)
        for email in ("known@example.com", "other@example.com"):
            wish = {"email": email, "role": "viewer"}
            answer = await alice.post("/api/v1/members", params={"dry_run": dry_run}, json=wish)
            body = answer.json()
            body["link"] = bool(body.get("link"))
            listed = (await alice.get("/api/v1/members")).json()
            text = str((answer.status_code, body, [each for each in listed["items"] if each["email"] == email]))
            said.append(text.replace(email.partition("@")[0], "x"))

    assert said[0] == said[1]
    assert "usr_" not in said[0]


def mailing(office: PostOffice) -> Settings:
    return Settings(smtp_url=f"smtp://127.0.0.1:{office.port}", public_url="https://spring.example.com")


async def test_link_goes_by_email_where_a_mail_server_is_set_and_proves_the_address(
    stores: Stores, clock: FixedClock
) -> None:
    await stores.endpoints.put_tenant(Tenant("a", "A"))
    await a_user(stores, ALICE, tenant_id="a")
    async with (
        PostOffice() as office,
        open_door(stores, clock, mailing(office)) as app,
        Browser(app, site="https://127.0.0.1") as browser,
    ):
        await browser.log_in(ALICE)
        made = (await browser.post("/api/v1/members", json={"email": VICTIM, "role": "viewer"})).json()
        (letter,) = office.letters
        (link,) = [word for word in letter.get_content().split() if "#token=" in word]
        async with Browser(app, site="https://127.0.0.1") as victim:
            await set_up(victim, link.rpartition("#token=")[2])
            assert await tenants_of(victim) == ["a"]

    assert (made["link"], made["emailed"]) == (None, True)
    assert link.startswith("https://spring.example.com/setup#token=")  # never the Host of the request
    user, _ = await stores.accounts.user(VICTIM) or (None, "")
    assert user is not None
    assert user.proof == Proof.EMAIL


async def test_address_is_not_filled_with_invitations(stores: Stores, clock: FixedClock) -> None:
    await stores.endpoints.put_tenant(Tenant("a", "A"))
    await a_user(stores, ALICE, tenant_id="a")
    async with (
        PostOffice() as office,
        open_door(stores, clock, mailing(office)) as app,
        Browser(app, site="https://127.0.0.1") as browser,
    ):
        await browser.log_in(ALICE)
        wish = {"email": VICTIM, "role": "viewer"}
        answers = [await browser.post("/api/v1/members", json=wish) for _ in range(5)]

    assert [answer.status_code for answer in answers] == [201, 201, 201, 429, 429]
    assert int(answers[-1].headers["retry-after"]) > 60
    assert len(office.letters) == 3


async def test_using_one_link_or_changing_the_password_voids_the_others(app: FastAPI, stores: Stores) -> None:
    await a_user(stores, VICTIM, role=None)
    desk = at_the_desk(stores)
    older, newer = [(await make_link(desk, LOCKSMITH, VICTIM)).token for _ in range(2)]
    async with Browser(app) as browser:
        assert (await set_up(browser, newer)).status_code == 200
        assert (await set_up(browser, older, THEIRS)).status_code == 401
        third = (await make_link(desk, LOCKSMITH, VICTIM)).token
        await set_password(desk, LOCKSMITH, VICTIM, PASSWORD)
        assert (await set_up(browser, third, THEIRS)).status_code == 401


class MeetingHasher(Argon2Hasher):
    """Two requests meet here: both have found the link, and none has used it."""

    def __init__(self) -> None:
        super().__init__(memory_kib=8, passes=1)
        self._both = asyncio.Barrier(2)

    async def hash_password(self, password: str) -> str:
        async with asyncio.timeout(60):
            await self._both.wait()
        return await super().hash_password(password)


async def test_link_that_is_used_twice_at_once_sets_one_password(app: FastAPI, stores: Stores) -> None:
    await a_user(stores, VICTIM, role=None)
    token = (await make_link(at_the_desk(stores), LOCKSMITH, VICTIM)).token
    app.state.context = replace(app.state.context, hasher=MeetingHasher())
    async with Browser(app) as browser, Browser(app) as other:
        answers = await asyncio.gather(set_up(browser, token), set_up(other, token, THEIRS))

    assert sorted(answer.status_code for answer in answers) == [200, 401]


class CountingHasher(Argon2Hasher):
    hashed = 0

    async def hash_password(self, password: str) -> str:
        self.hashed += 1
        return await super().hash_password(password)


async def test_wrong_token_is_throttled_first_and_never_hashed_for(app: FastAPI) -> None:
    hasher = CountingHasher(memory_kib=8, passes=1)
    app.state.context = replace(app.state.context, hasher=hasher)
    statuses = []
    async with Browser(app) as browser:
        for number in range(25):
            token = ("inv_" if number % 2 else "") + digest(str(number))[:43]
            statuses.append((await set_up(browser, token)).status_code)

    assert set(statuses[:20]) == {401}
    assert set(statuses[20:]) == {429}
    assert hasher.hashed == 0


async def test_request_that_names_no_tenant_acts_in_the_persons_own_choice(
    app: FastAPI, stores: Stores, clock: FixedClock
) -> None:
    """Whatever others call their tenants: the one joined first, until the person chooses."""
    await stores.endpoints.put_tenant(Tenant("zoo", "Zoo"))
    await a_user(stores, VICTIM, Role.VIEWER, tenant_id="zoo")
    clock.tick(seconds=1)
    token = await invite(app, ALICE, role="viewer")
    async with Browser(app) as victim:
        await victim.log_in(VICTIM)
        await victim.post("/api/v1/auth/accept", json={"token": token})
        first = (await victim.get("/api/v1/auth/session")).json()["tenant"]
        chosen = (await victim.put("/api/v1/auth/tenant", json={"tenant": "a"})).json()["tenant"]
        after = (await victim.log_in(VICTIM)).json()["tenant"]
        unknown = await victim.put("/api/v1/auth/tenant", json={"tenant": "b"})

    assert (first, chosen, after) == ("zoo", "a", "a")
    assert unknown.status_code == 404

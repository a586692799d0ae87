"""Log in through an issuer that really answers, and through one that lies in every way."""

import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any
from urllib.parse import quote

import pytest
from fastapi import FastAPI
from httpx2 import Response

from mainspring.domain.access.scope import Role
from mainspring.operations.accounts import edit_user
from mainspring.operations.members import add_member
from mainspring.outbound.oidc import OidcIssuer
from mainspring.outbound.vault import AesVault, KeyRing
from mainspring.ports.stores import Stores
from mainspring.settings import Settings
from tests.api.issuer import CLIENT_ID, CLIENT_SECRET, OTHER_KEY, LittleIssuer
from tests.api.people import LOCKSMITH, Browser, a_user, at_the_desk, open_door
from tests.stores.world import FixedClock

LOGIN = "/api/v1/auth/oidc/login"
OFFER = "/api/v1/auth/oidc"
SESSION = "/api/v1/auth/session"


@pytest.fixture
def issuer() -> Iterator[LittleIssuer]:
    with LittleIssuer() as running:
        yield running


@pytest.fixture
async def app(stores: Stores, clock: FixedClock, issuer: LittleIssuer) -> AsyncIterator[FastAPI]:
    adapter = OidcIssuer(issuer.url, CLIENT_ID, CLIENT_SECRET)
    async with open_door(stores, clock, issuer=adapter) as made:
        yield made


async def come_back(browser: Browser, issuer: LittleIssuer) -> str:
    """Why the login was refused; empty where it was not."""
    begun = await browser.get(LOGIN)
    assert begun.status_code == 302
    return await refusal(browser, await browser.get(issuer.log_in(begun.headers["location"])))


async def refusal(browser: Browser, answer: Response) -> str:
    """What the login page shows after this answer; empty where the answer leads elsewhere. It shows it once."""
    assert answer.status_code == 303
    if not answer.headers["location"].startswith("/login"):
        return ""
    assert "mainspring-oidc-refusal" in answer.headers["set-cookie"]
    assert (await browser.get(SESSION)).status_code == 401
    said = (await browser.get(OFFER)).json()["refusal"]
    assert said
    assert (await browser.get(OFFER)).json()["refusal"] == ""
    return str(said)


async def test_user_of_a_verified_address_logs_in(app: FastAPI, issuer: LittleIssuer, stores: Stores) -> None:
    await a_user(stores)
    async with Browser(app) as browser:
        assert await come_back(browser, issuer) == ""
        said = (await browser.get(SESSION)).json()
    entries = await stores.audit.audit_entries("", None, 2)

    assert (said["actor"], said["user"]["oidc"]) == ("user:ann@example.com", True)
    assert [entry.act for entry in entries] == ["login.succeeded", "user.updated"]


@pytest.mark.parametrize(
    ("asked", "reached"),
    [
        ("/t/acme/endpoints?state=failing", "/t/acme/endpoints?state=failing"),
        ("", "/"),
        ("https://evil.example/", "/"),
        ("//evil.example/", "/"),
        ("/\\evil.example/", "/"),
        ("/a\r\nSet-Cookie: x=y", "/"),
        ("/" + "a" * 1_000, "/"),
    ],
)
async def test_login_returns_to_the_page_of_this_site_that_was_asked_for(
    app: FastAPI, issuer: LittleIssuer, stores: Stores, asked: str, reached: str
) -> None:
    await a_user(stores)
    async with Browser(app) as browser:
        begun = await browser.get(f"{LOGIN}?from={quote(asked, safe='')}")
        returned = await browser.get(issuer.log_in(begun.headers["location"]))

    assert (returned.status_code, returned.headers["location"]) == (303, reached)


async def test_login_page_learns_whether_single_sign_on_is_configured(
    app: FastAPI, stores: Stores, clock: FixedClock
) -> None:
    async with Browser(app) as browser, open_door(stores, clock) as plain, Browser(plain) as other:
        answers = [(await each.get("/api/v1/auth/oidc")).json() for each in (browser, other)]

    assert answers == [{"configured": True, "refusal": ""}, {"configured": False, "refusal": ""}]


async def test_user_is_known_by_subject_when_the_address_has_changed(
    app: FastAPI, issuer: LittleIssuer, stores: Stores
) -> None:
    await a_user(stores)
    async with Browser(app) as browser:
        await come_back(browser, issuer)
        issuer.claims |= {"email": "ann.new@example.com", "email_verified": False}
        assert await come_back(browser, issuer) == ""
        assert (await browser.get(SESSION)).json()["actor"] == "user:ann@example.com"


async def test_stranger_is_refused_unless_a_role_is_set_for_strangers(
    app: FastAPI, issuer: LittleIssuer, stores: Stores, clock: FixedClock
) -> None:
    async with Browser(app) as browser:
        assert "no user has the email address ann@example.com" in await come_back(browser, issuer)
    adapter = OidcIssuer(issuer.url, CLIENT_ID, CLIENT_SECRET)
    settings = Settings(oidc_role="viewer")
    async with open_door(stores, clock, settings, issuer=adapter) as open_to_all, Browser(open_to_all) as browser:
        assert await come_back(browser, issuer) == ""
        assert (await browser.get(SESSION)).json()["scopes"] == ["read"]


async def test_disabled_user_is_refused(app: FastAPI, issuer: LittleIssuer, stores: Stores) -> None:
    await a_user(stores, role=Role.VIEWER)
    await edit_user(at_the_desk(stores, ""), "ann@example.com", disabled=True)
    async with Browser(app) as browser:
        assert "this account is disabled" in await come_back(browser, issuer)


def _says(**claims: Any) -> Callable[[LittleIssuer], None]:
    return lambda issuer: issuer.overrides.update(claims)


def _signs(key: Any, algorithm: str) -> Callable[[LittleIssuer], None]:
    def lie(issuer: LittleIssuer) -> None:
        issuer.signing_key, issuer.algorithm = key, algorithm

    return lie


LIES: dict[str, Callable[[LittleIssuer], None]] = {
    "for another client": _says(aud="another"),
    "of another issuer": _says(iss="https://evil.example"),
    "that has expired": _says(exp=int(time.time()) - 3_600),
    "of another login": _says(nonce="another"),
    "without a nonce": _says(nonce=None),
    "for an address that is not verified": _says(email_verified=False),
    "that calls it verified in words": _says(email_verified="true"),
    "made for another client of several": _says(aud=[CLIENT_ID, "other"], azp="other"),
    "for several clients, and not said which": _says(aud=[CLIENT_ID, "other"]),
    "issued for another client": _says(azp="other"),
    "with a list of addresses": _says(email=["ann@example.com"]),
    "with a subject that is no text": _says(sub=42),
    "with an endless subject": _says(sub="x" * 256),
    "with an endless address": _says(email="a" * 300 + "@example.com"),
    "with a name that is a mapping": _says(name={"a": 1}),
    "signed by another key": _signs(OTHER_KEY, "RS256"),
    "not signed at all": _signs(None, "none"),
    "signed with the client's secret": _signs(CLIENT_SECRET.ljust(64), "HS256"),
}


@pytest.mark.parametrize("lie", LIES)
async def test_token_is_refused(app: FastAPI, issuer: LittleIssuer, stores: Stores, lie: str) -> None:
    await a_user(stores)
    LIES[lie](issuer)
    async with Browser(app) as browser:
        assert await come_back(browser, issuer)
        assert (await browser.get(SESSION)).status_code == 401


async def test_callback_of_a_login_begun_elsewhere_is_refused(
    app: FastAPI, issuer: LittleIssuer, stores: Stores
) -> None:
    await a_user(stores)
    async with Browser(app) as attacker, Browser(app) as victim:
        lure = issuer.log_in((await attacker.get(LOGIN)).headers["location"])
        without_any = await refusal(victim, await victim.get(lure))
        await victim.get(LOGIN)
        with_another = await refusal(victim, await victim.get(lure))

    assert "not started in this browser" in without_any
    assert "not started in this browser" in with_another


@pytest.mark.parametrize(
    "kept", ["made up", AesVault(KeyRing(b"x" * 32)).seal("{}", "oidc")], ids=["text", "other key"]
)
async def test_callback_with_a_cookie_that_we_did_not_make_is_refused(
    app: FastAPI, issuer: LittleIssuer, stores: Stores, kept: str
) -> None:
    await a_user(stores)
    async with Browser(app) as browser:
        back = issuer.log_in((await browser.get(LOGIN)).headers["location"])
        browser.cookies.clear()
        browser.cookies.set("mainspring-oidc", kept)
        said = await refusal(browser, await browser.get(back))

    assert "not started in this browser" in said


async def test_address_that_is_tied_to_one_account_is_not_given_to_another(
    app: FastAPI, issuer: LittleIssuer, stores: Stores
) -> None:
    await a_user(stores)
    async with Browser(app) as ann, Browser(app) as other:
        assert await come_back(ann, issuer) == ""
        issuer.claims |= {"sub": "43"}
        begun = await other.get(LOGIN)
        said = await refusal(other, await other.get(issuer.log_in(begun.headers["location"])))

    assert "ann@example.com is linked to another account of the identity provider" in said


async def test_single_sign_on_voids_a_password_that_a_tenants_link_set(
    app: FastAPI, issuer: LittleIssuer, stores: Stores
) -> None:
    _, token = await add_member(at_the_desk(stores), LOCKSMITH, "ann@example.com", "viewer")
    async with Browser(app) as attacker, Browser(app) as ann:
        await attacker.post("/api/v1/auth/setup", json={"token": token, "password": "a password of the attacker"})
        assert await come_back(ann, issuer) == ""

        assert (await attacker.get(SESSION)).status_code == 401
        assert (await attacker.log_in(password="a password of the attacker")).status_code == 401
        assert (await ann.get(SESSION)).json()["scopes"] == ["read"]


async def test_single_sign_on_keeps_a_password_of_a_proved_address(
    app: FastAPI, issuer: LittleIssuer, stores: Stores
) -> None:
    await a_user(stores)
    async with Browser(app) as ann:
        assert await come_back(ann, issuer) == ""
        assert (await ann.log_in()).status_code == 200


async def test_person_who_was_invited_comes_in_by_single_sign_on_and_accepts(
    app: FastAPI, issuer: LittleIssuer, stores: Stores
) -> None:
    _, token = await add_member(at_the_desk(stores), LOCKSMITH, "ann@example.com", "viewer")
    async with Browser(app) as ann:
        assert await come_back(ann, issuer) == ""
        before = (await ann.get(SESSION)).json()["tenants"]
        accepted = await ann.post("/api/v1/auth/accept", json={"token": token})

    assert before == []
    assert accepted.json()["scopes"] == ["read"]


async def test_code_is_redeemed_once(app: FastAPI, issuer: LittleIssuer, stores: Stores) -> None:
    await a_user(stores)
    async with Browser(app) as browser:
        begun = await browser.get(LOGIN)
        back = issuer.log_in(begun.headers["location"])
        kept = browser.cookies["mainspring-oidc"]
        first = await refusal(browser, await browser.get(back))
        browser.cookies.clear()
        browser.cookies.set("mainspring-oidc", kept)
        again = await refusal(browser, await browser.get(back))

    assert first == ""
    assert "start again" in again


async def test_state_is_good_for_one_return_and_ten_minutes(
    app: FastAPI, issuer: LittleIssuer, stores: Stores, clock: FixedClock
) -> None:
    await a_user(stores)
    async with Browser(app) as browser:
        begun = await browser.get(LOGIN)
        kept = browser.cookies["mainspring-oidc"]
        first = await refusal(browser, await browser.get(issuer.log_in(begun.headers["location"])))
        browser.cookies.clear()
        browser.cookies.set("mainspring-oidc", kept)
        back = await browser.get(issuer.log_in(begun.headers["location"]))  # with a new code
        again = await refusal(browser, back)
        late = await browser.get(LOGIN)
        clock.tick(minutes=10, seconds=1)
        too_late = await refusal(browser, await browser.get(issuer.log_in(late.headers["location"])))

    assert first == ""
    assert "was already completed" in again
    assert "started too long ago" in too_late


@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/keys"])
@pytest.mark.parametrize("body", ["[" * 100_000, '{"a":' * 50_000, "x" * 300_000], ids=["lists", "objects", "long"])
async def test_answer_of_the_issuer_that_nests_or_never_ends_is_refused(
    stores: Stores, clock: FixedClock, path: str, body: str
) -> None:
    with LittleIssuer() as issuer:
        issuer.raw[path] = body
        adapter = OidcIssuer(issuer.url, CLIENT_ID, CLIENT_SECRET)
        async with open_door(stores, clock, issuer=adapter) as app, Browser(app) as browser:
            begun = await browser.get(LOGIN)
            if path == "/keys":
                begun = await browser.get(issuer.log_in(begun.headers["location"]))
            said = await refusal(browser, begun)

    assert "sign-in failed at the identity provider" in said


async def test_issuer_that_is_away_or_refuses_is_said_in_words(app: FastAPI, issuer: LittleIssuer) -> None:
    async with Browser(app) as browser:
        said = await refusal(browser, await browser.get("/api/v1/auth/oidc/callback?error=access_denied"))
    assert said.startswith("sign-in failed at the identity provider: access_denied")


async def test_refused_login_keeps_the_page_that_was_asked_for(app: FastAPI, issuer: LittleIssuer) -> None:
    async with Browser(app) as browser:
        begun = await browser.get(f"{LOGIN}?from=%2Fruns%3Fstatus%3Dfailed")
        refused = await browser.get(issuer.log_in(begun.headers["location"]))

    assert refused.headers["location"] == "/login?from=%2Fruns%3Fstatus%3Dfailed"


async def test_long_reason_with_characters_of_any_script_fits_the_cookie(app: FastAPI, issuer: LittleIssuer) -> None:
    issuer.claims |= {"email": "a" * 230 + "@example.com"}
    async with Browser(app) as browser:
        said = await come_back(browser, issuer)
        odd = await refusal(browser, await browser.get("/api/v1/auth/oidc/callback?error=%E2%82%AC%0D%0A" + "x" * 900))

    assert "@example.com" in said
    assert len(odd) <= 500
    assert "\n" not in odd


async def test_without_an_issuer_there_is_no_single_sign_on(stores: Stores, clock: FixedClock) -> None:
    async with open_door(stores, clock) as app, Browser(app) as browser:
        answer = await browser.get(LOGIN)

    assert answer.status_code == 404
    assert "MAINSPRING_OIDC_ISSUER" in answer.json()["detail"]

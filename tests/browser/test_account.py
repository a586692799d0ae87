"""The account's cards in a real browser: the app that shows codes, passkeys, and where one is logged in."""

from base64 import b32decode
from collections.abc import Iterator
from contextlib import contextmanager
from time import time

import pytest
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.browser.accounts import PASSWORD, come_in
from tests.browser.site import Site, cookies_for
from tests.browser.tab import PATIENCE_MS

AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


@contextmanager
def opened(browser: Browser, url: str) -> Iterator[tuple[BrowserContext, Page]]:
    context = browser.new_context(base_url=url, viewport={"width": 1440, "height": 900})
    context.set_default_timeout(PATIENCE_MS)
    yield context, context.new_page()
    context.close()


def a_person(site: Site, email: str) -> str:
    """A user with a password; the link that sets it is used."""
    made = site.call("POST", "/users", {"email": email, "tenant": "default", "role": "viewer"})
    come_in(site, made["link"])
    return email


def sign_in(page: Page, email: str) -> None:
    page.goto("/login")
    page.get_by_label("Email").fill(email)
    page.locator("input[autocomplete=current-password]").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()


def card(page: Page, title: str) -> Locator:
    heading = page.get_by_role("heading", name=title, exact=True)
    return page.locator(".mantine-Card-root").filter(has=heading)


def code_of(secret: str) -> str:
    return TOTP(b32decode(secret), 6, SHA1(), 30).generate(int(time())).decode()


def at_localhost(site: Site) -> str:
    """The same server by the name that browsers take for a secure place."""
    return site.url.replace("127.0.0.1", "localhost")


def test_app_is_set_up_asked_for_at_login_and_disabled(browser: Browser, site: Site) -> None:
    email = a_person(site, "totp@example.com")
    with opened(browser, site.url) as (_, page):
        sign_in(page, email)
        expect(page.get_by_role("heading", name="Overview", level=1)).to_be_visible()
        page.goto("/settings?tab=account")
        factor = card(page, "Second factor")
        factor.get_by_role("button", name="Set up second factor").click()
        secret = factor.locator(".mantine-Code-root").first.inner_text()
        factor.get_by_label("Code").fill("000")
        factor.get_by_role("button", name="Confirm code").click()
        expect(page.get_by_text("The code is wrong or was already used").first).to_be_visible()
        factor.get_by_label("Code").fill(code_of(secret))
        factor.get_by_role("button", name="Confirm code").click()
        expect(factor.get_by_text("Signing in requires a code. 10 recovery codes left.")).to_be_visible()
        recovery = factor.locator(".mantine-Code-root").first.inner_text().split()

    with opened(browser, site.url) as (_, page):
        sign_in(page, email)
        page.get_by_label("Code").fill("wrong")
        page.get_by_role("button", name="Sign in", exact=True).click()
        expect(page.get_by_role("alert")).to_contain_text("The code is wrong or was already used")
        page.get_by_label("Code").fill(recovery[0])
        page.get_by_role("button", name="Sign in", exact=True).click()
        expect(page.get_by_role("heading", name="Overview", level=1)).to_be_visible()
        page.goto("/settings?tab=account")
        factor = card(page, "Second factor")
        expect(factor.get_by_text("9 recovery codes left")).to_be_visible()
        factor.get_by_label("Code").fill(recovery[1])
        factor.get_by_role("button", name="Disable second factor").click()
        expect(factor.get_by_role("button", name="Set up second factor")).to_be_visible()


def test_sessions_are_listed_and_ended(browser: Browser, site: Site) -> None:
    email = a_person(site, "sessions@example.com")
    with opened(browser, site.url) as (_, here), opened(browser, site.url) as (_, there):
        for page in (here, there):
            sign_in(page, email)
            expect(page.get_by_role("heading", name="Overview", level=1)).to_be_visible()
        here.goto("/settings?tab=account")
        sessions = card(here, "Sessions")
        expect(sessions.get_by_text("(this one)")).to_have_count(1)
        expect(sessions.get_by_role("button", name="End session")).to_have_count(2)  # with the one of the link
        sessions.get_by_role("button", name="End session").first.click()
        expect(sessions.get_by_role("button", name="End session")).to_have_count(1)
        there.goto("/endpoints")
        expect(there.get_by_role("button", name="Sign in", exact=True)).to_be_visible()

        sign_in(there, email)
        expect(there.get_by_role("heading", name="Overview", level=1)).to_be_visible()
        here.reload()
        sessions.get_by_role("button", name="End all other sessions").click()
        expect(sessions.get_by_role("button", name="End session")).to_have_count(0)
        there.goto("/endpoints")
        expect(there.get_by_role("button", name="Sign in", exact=True)).to_be_visible()
        here.reload()
        expect(sessions.get_by_text("(this one)")).to_be_visible()


def test_passkey_is_added_and_logs_in_with_and_without_the_password(browser: Browser, site: Site) -> None:
    email = a_person(site, "passkey@example.com")
    with opened(browser, at_localhost(site)) as (context, page):
        wire = context.new_cdp_session(page)
        wire.send("WebAuthn.enable")
        authenticator = wire.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})["authenticatorId"]
        sign_in(page, email)
        expect(page.get_by_role("heading", name="Overview", level=1)).to_be_visible()
        page.goto("/settings?tab=account")
        passkeys = card(page, "Passkeys")
        passkeys.get_by_role("button", name="Add passkey").click()
        passkeys.get_by_label("Passkey name").fill("work laptop")
        passkeys.locator("input[type=password]").fill("wrong")
        passkeys.get_by_role("button", name="Create passkey").click()
        expect(passkeys.get_by_role("alert")).to_contain_text("The password is wrong")
        passkeys.locator("input[type=password]").fill(PASSWORD)
        passkeys.get_by_role("button", name="Create passkey").click()
        expect(passkeys.get_by_text("work laptop")).to_be_visible()
        recovery = passkeys.locator(".mantine-Code-root").first.inner_text().split()
        assert len(recovery) == 10
        assert len(wire.send("WebAuthn.getCredentials", {"authenticatorId": authenticator})["credentials"]) == 1

        context.clear_cookies()
        sign_in(page, email)
        expect(page.get_by_role("heading", name="Overview", level=1)).to_be_visible()

        context.clear_cookies()
        page.goto("/login")
        page.get_by_role("button", name="Sign in with a passkey").click()
        expect(page.get_by_role("heading", name="Overview", level=1)).to_be_visible()

        wire.send("WebAuthn.setUserVerified", {"authenticatorId": authenticator, "isUserVerified": False})
        context.clear_cookies()
        page.goto("/login")
        page.get_by_role("button", name="Sign in with a passkey").click()
        expect(page.get_by_role("alert")).to_be_visible()
        wire.send("WebAuthn.removeVirtualAuthenticator", {"authenticatorId": authenticator})
        wire.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})  # another device, which has none
        sign_in(page, email)
        expect(page.get_by_role("alert")).to_be_visible()
        page.get_by_label("Code").fill(recovery[0])
        page.get_by_role("button", name="Sign in", exact=True).click()
        expect(page.get_by_role("heading", name="Overview", level=1)).to_be_visible()

        page.goto("/settings?tab=account")
        passkeys.get_by_role("button", name="Rename passkey work laptop").click()
        passkeys.get_by_label("Passkey name").fill("old laptop")
        passkeys.get_by_role("button", name="Rename passkey", exact=True).click()
        passkeys.get_by_role("button", name="Remove passkey old laptop").click()
        passkeys.locator("input[type=password]").fill(PASSWORD)
        passkeys.get_by_role("button", name="Remove passkey", exact=True).click()
        expect(passkeys.get_by_text("old laptop")).to_have_count(0)

        context.clear_cookies()
        sign_in(page, email)
        expect(page.get_by_role("heading", name="Overview", level=1)).to_be_visible()


def test_address_without_passkeys_says_what_to_set(browser: Browser, site: Site) -> None:
    email = a_person(site, "nowhere@example.com")
    with opened(browser, site.url) as (_, page):
        sign_in(page, email)
        expect(page.get_by_role("heading", name="Overview", level=1)).to_be_visible()
        page.goto("/settings?tab=account")
        passkeys = card(page, "Passkeys")

        expect(passkeys.get_by_role("status")).to_contain_text("set MAINSPRING_PUBLIC_URL to its https URL")
        expect(passkeys.get_by_role("button", name="Add passkey")).to_have_count(0)


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_query_string_of_an_endpoint_is_hidden_on_every_page_of_it(browser: Browser, site: Site, role: str) -> None:
    endpoint = site.add(f"hidden from {role}", "/ok?token=canary-Zq81")
    made = site.call("POST", "/users", {"email": f"{role}-q@example.com", "tenant": "default", "role": role})
    with opened(browser, site.url) as (context, page):
        context.add_cookies(cookies_for(site, come_in(site, made["link"])))
        page.goto(f"/endpoints/{endpoint['id']}")
        expect(page.get_by_text("/ok?••••").first).to_be_visible()
        assert "canary" not in page.content()
        page.goto(f"/endpoints/{endpoint['id']}/edit")
        if role == "operator":
            expect(page.get_by_label("URL")).to_have_value(f"{site.shop}/ok?••••")
            page.get_by_label("Description").fill("kept")
            page.get_by_role("button", name="Save").click()
            expect(page.get_by_role("heading", name=f"hidden from {role}")).to_be_visible()
        assert "canary" not in page.content()
    assert site.run(endpoint["id"])["status"] == "success"

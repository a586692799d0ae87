"""The tenant of a tab: in its address, header and title, on every request, and untouched by what another tab does."""

import re
from collections.abc import Iterator
from itertools import count

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.api.issuer import LittleIssuer
from tests.browser.accounts import PASSWORD, signed_in
from tests.browser.site import EMAIL, Site
from tests.browser.site import PASSWORD as OWNERS_PASSWORD
from tests.browser.tab import LEAVE, settle

PLACES = count(1)


@pytest.fixture
def person(browser: Browser, site: Site) -> Iterator[Page]:
    """A page of somebody who joined `default` first, and then made a tenant that comes before it by name."""
    place = next(PLACES)
    with signed_in(browser, site, f"tia{place}@example.com", "owner", operator=True) as page:
        wish = {"id": f"aardvark{place}", "name": "Aardvark"}
        answer = page.request.post("/api/v1/tenants", data=wish, headers={"Origin": site.url})
        assert answer.status == 201, answer.text()
        yield page


def sign_in(page: Page, email: str, password: str) -> None:
    page.get_by_label("Email").fill(email)
    page.locator("input[type=password]").fill(password)
    page.get_by_role("button", name="Sign in", exact=True).click()


def email_of(page: Page) -> str:
    return str(page.request.get("/api/v1/auth/session").json()["user"]["email"])


def names_of(site: Site, tenant: str) -> list[str]:
    return [each["name"] for each in site.call("GET", "/endpoints?limit=200", tenant=tenant)["items"]]


def test_form_is_saved_into_the_tenant_of_its_tab_after_another_tab_went_elsewhere(person: Page, site: Site) -> None:
    email = email_of(person)
    person.goto("/endpoints/new")
    expect(person).to_have_url(re.compile("/t/default/endpoints/new$"))
    person.get_by_label("Name").fill("typed in default")
    person.get_by_label("URL").fill(f"{site.shop}/ok")
    other = person.context.new_page()
    other.goto("/")
    other.get_by_role("button", name="Tenant default").click()
    other.get_by_role("menuitem", name="Aardvark").click()
    expect(other.get_by_role("button", name="Tenant Aardvark")).to_be_visible()
    person.get_by_role("button", name="Create endpoint").click()
    expect(person.get_by_role("heading", level=1, name="typed in default")).to_be_visible()
    here, there = person.url, other.url
    third = person.context.new_page()
    third.goto("/endpoints")
    expect(third.get_by_role("button", name="Tenant Aardvark")).to_be_visible()  # the last choice, for new tabs

    assert "typed in default" in names_of(site, "default")
    assert "/t/default/endpoints/" in here
    assert re.fullmatch(rf"{site.url}/t/aardvark\d+/", there)
    assert third.url == f"{there}endpoints"
    third.get_by_role("button", name="Account").click()
    third.get_by_role("menuitem", name="Sign out").click()
    sign_in(third, email, PASSWORD)
    expect(third.get_by_role("button", name="Tenant Aardvark")).to_be_visible()


def test_login_leads_to_the_tenant_that_was_joined_first_and_not_to_the_first_by_name(person: Page, site: Site) -> None:
    email = email_of(person)
    person.context.clear_cookies()
    person.goto("/")
    sign_in(person, email, PASSWORD)
    expect(person.get_by_role("button", name="Tenant default")).to_be_visible()

    assert person.url == f"{site.url}/t/default/"


def test_tabs_of_two_tenants_show_each_its_own_and_hear_each_its_own_events(
    two_tabs: tuple[Page, Page], site: Site
) -> None:
    here, there = two_tabs
    here.goto("/t/default/endpoints?text=only-in")
    there.goto("/t/annex/endpoints?text=only-in")
    for page in two_tabs:
        expect(page.get_by_label("Events: live")).to_be_visible()
    wish = {"name": "only-in-annex", "url": f"{site.shop}/ok", "every": "30d"}
    made = site.call("POST", "/endpoints", wish, tenant="annex")["id"]
    site.add("only-in-default")
    expect(there.get_by_role("link", name="only-in-annex")).to_be_visible()
    expect(here.get_by_role("link", name="only-in-default")).to_be_visible()
    links = [page.get_by_role("link", name="only-in").get_attribute("href") or "" for page in two_tabs]
    found = [page.get_by_role("link", name="only-in").count() for page in two_tabs]
    titles = [page.title() for page in two_tabs]
    site.call("DELETE", f"/endpoints/{made}", tenant="annex")

    assert found == [1, 1]
    assert titles == ["Endpoints · default · Mainspring", "Endpoints · Annex · Mainspring"]
    assert links[0].startswith("/t/default/endpoints/")
    assert links[1] == f"/t/annex/endpoints/{made}"


def test_link_to_a_page_of_another_tenant_opens_in_that_tenant(two_tabs: tuple[Page, Page], site: Site) -> None:
    page, _ = two_tabs
    wish = {"name": "shared by link", "url": f"{site.shop}/ok", "every": "30d"}
    made = site.call("POST", "/endpoints", wish, tenant="annex")["id"]
    page.goto("/t/default/")
    settle(page)
    page.goto(f"/t/annex/endpoints/{made}")
    expect(page.get_by_role("heading", level=1, name="shared by link")).to_be_visible()
    expect(page.get_by_role("button", name="Tenant Annex")).to_be_visible()
    page.evaluate(LEAVE, "/t/default/jobs")
    expect(page.get_by_role("button", name="Tenant default")).to_be_visible()
    expect(page.get_by_role("heading", level=1, name="Jobs")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", level=1, name="shared by link")).to_be_visible()

    assert page.title() == "shared by link · Annex · Mainspring"


def test_link_to_a_tenant_of_others_says_so_and_leads_to_ones_own(browser: Browser, site: Site) -> None:
    with signed_in(browser, site, "outsider@example.com", "viewer") as page:
        page.goto("/t/annex/endpoints")
        expect(page.get_by_role("heading", name="You are not a member of this tenant")).to_be_visible()
        expect(page.get_by_text("not a member of the tenant annex")).to_contain_text("outsider@example.com")
        page.get_by_role("link", name="Go to default").click()
        expect(page.get_by_role("heading", level=1, name="Overview")).to_be_visible()

        assert page.url == f"{site.url}/t/default/"


def test_login_returns_to_the_address_that_was_asked_for(browser_page: Page, site: Site) -> None:
    browser_page.goto("/t/annex/runs?status=failure")
    sign_in(browser_page, EMAIL, OWNERS_PASSWORD)
    expect(browser_page.get_by_role("heading", level=1, name="Runs")).to_be_visible()

    assert browser_page.url == f"{site.url}/t/annex/runs?status=failure"


def test_single_sign_on_has_a_button_and_returns_to_the_address_that_was_asked_for(
    browser_page: Page, site: Site, issuer: LittleIssuer
) -> None:
    made = site.call("POST", "/users", {"email": "sam@example.com", "tenant": "default", "role": "viewer"})
    issuer.claims |= {"sub": "sam", "email": made["user"]["email"]}
    browser_page.goto("/t/default/jobs")
    browser_page.get_by_role("link", name="Sign in with single sign-on").click()
    expect(browser_page.get_by_role("heading", level=1, name="Jobs")).to_be_visible()

    assert browser_page.url == f"{site.url}/t/default/jobs"


def test_refused_single_sign_on_leads_to_the_login_page_with_the_reason(
    browser_page: Page, site: Site, issuer: LittleIssuer
) -> None:
    issuer.claims |= {"sub": "stranger", "email": "stranger@example.com"}
    browser_page.goto("/t/default/jobs")
    browser_page.get_by_role("link", name="Sign in with single sign-on").click()
    reason = browser_page.get_by_role("alert").filter(has_text="stranger@example.com")
    expect(reason).to_contain_text("ask an owner to add it as a member")
    assert browser_page.url == f"{site.url}/login?from=%2Ft%2Fdefault%2Fjobs"
    sign_in(browser_page, EMAIL, OWNERS_PASSWORD)

    expect(browser_page.get_by_role("heading", level=1, name="Jobs")).to_be_visible()
    browser_page.goto("/login")
    expect(reason).to_have_count(0)

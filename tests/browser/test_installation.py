"""Users and tenants of the installation in a real browser: made, disabled, limited; and hidden from who may not."""

from playwright.sync_api import Browser, Page, expect

from tests.browser.accounts import come_in, signed_in
from tests.browser.site import Site
from tests.browser.tab import serious, settle


def test_user_is_added_with_a_link_that_is_shown_once_then_disabled_and_enabled(page: Page, site: Site) -> None:
    page.goto("/settings?tab=installation")
    users = page.get_by_role("region", name="Users")
    users.get_by_role("button", name="New user").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Email").fill("nobody")
    faults = serious(page)
    form.get_by_label("Email").fill("bo@example.com")
    form.get_by_label("Name").fill("Bo")
    form.get_by_role("button", name="Create user").click()
    shown = page.get_by_role("alert").filter(has_text="Link for bo@example.com")
    expect(shown.get_by_role("button", name="Copy")).to_be_visible()
    link = shown.locator("pre").inner_text()
    row = users.get_by_role("row").filter(has_text="bo@example.com")
    expect(row).to_contain_text("invited")
    come_in(site, link)
    page.reload()
    expect(row).to_contain_text("active")
    expect(page.get_by_text("#token=")).to_have_count(0)

    row.get_by_role("button", name="More for bo@example.com").click()
    page.get_by_role("menuitem", name="Disable").click()
    expect(page.get_by_role("dialog")).to_contain_text("signed out everywhere")
    faults += serious(page)
    page.get_by_role("dialog").get_by_role("button", name="Disable").click()
    expect(row).to_contain_text("disabled")
    is_disabled = site.call("GET", "/users/bo@example.com")["disabled"]
    row.get_by_role("button", name="Enable").click()
    expect(row).to_contain_text("active")
    row.get_by_role("button", name="New link").click()
    expect(shown).to_contain_text("#token=")

    assert (is_disabled, site.call("GET", "/users/bo@example.com")["disabled"]) == (True, False)
    assert faults == []


def test_address_that_is_taken_is_said_in_the_form(page: Page, site: Site) -> None:
    site.call("POST", "/users", {"email": "taken@example.com"})
    page.goto("/settings?tab=installation")
    page.get_by_role("button", name="New user").click()
    page.get_by_role("dialog").get_by_label("Email").fill("taken@example.com")
    page.get_by_role("dialog").get_by_role("button", name="Create user").click()

    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("taken@example.com")


def test_operator_is_made_after_asking_and_oneself_cannot_be_disabled(page: Page, site: Site) -> None:
    site.call("POST", "/users", {"email": "second@example.com"})
    page.goto("/settings?tab=installation")
    users = page.get_by_role("region", name="Users")
    expect(users.get_by_role("button", name="More for ann@example.com")).to_have_count(0)
    users.get_by_role("button", name="More for second@example.com").click()
    page.get_by_role("menuitem", name="Make operator").click()
    page.get_by_role("dialog").get_by_role("button", name="Make operator").click()
    expect(users.get_by_role("row").filter(has_text="second@example.com")).to_contain_text("operator")

    assert site.call("GET", "/users/second@example.com")["operator"] is True


def test_tenant_is_made_and_limited_and_whoever_made_it_stays_where_they_are(browser: Browser, site: Site) -> None:
    with signed_in(browser, site, "founder@example.com", "viewer", operator=True) as page:
        page.goto("/settings?tab=installation")
        tenants = page.get_by_role("region", name="Tenants")
        tenants.get_by_role("button", name="New tenant").click()
        form = page.get_by_role("dialog")
        form.get_by_label("ID").fill("Acme Inc")
        form.get_by_role("button", name="Create tenant").click()
        expect(form.get_by_label("ID")).to_have_attribute("aria-invalid", "true")
        form.get_by_label("ID").fill("acme")
        form.get_by_label("Name").fill("Acme Inc")  # before 'default' by name: the first is taken where none is chosen
        form.get_by_role("button", name="Create tenant").click()
        row = tenants.get_by_role("row").filter(has_text="Acme Inc")
        expect(row).to_contain_text("of 50,000,000")  # what every new tenant may do
        row.get_by_role("button", name="Edit Acme Inc").click()
        form.get_by_label("Runs per month").fill("1000")
        form.get_by_label("Shortest interval").fill("soon")
        expect(form.get_by_role("button", name="Save")).to_be_disabled()
        form.get_by_label("Shortest interval").fill("1m30s")
        faults = serious(page)
        form.get_by_role("button", name="Save").click()
        expect(row).to_contain_text("of 1,000")
        expect(row).to_contain_text("1m30s")
        page.goto("/settings?tab=members")
        expect(page.get_by_text("Members of default and their roles.")).to_be_visible()
        page.get_by_role("button", name="Tenant default").click()
        page.get_by_role("menuitem", name="Acme Inc").click()
        expect(page.get_by_role("heading", level=1, name="Overview")).to_be_visible()
        page.goto("/t/acme/settings?tab=members")
        expect(page.get_by_text("Members of acme and their roles.")).to_be_visible()

    made = site.call("GET", "/tenants/acme")
    assert (made["runs_per_month"], made["interval_ms_min"], made["endpoints_max"]) == (1_000, 90_000, 1_000)
    assert faults == []


def test_owner_who_is_no_operator_does_not_see_the_installation(browser: Browser, site: Site) -> None:
    with signed_in(browser, site, "owner@example.com", "owner") as page:
        page.goto("/settings?tab=installation")
        settle(page)

        expect(page.get_by_role("tab", name="Members")).to_be_visible()
        expect(page.get_by_role("tab", name="Installation")).to_have_count(0)
        expect(page.get_by_role("region", name="Users")).to_have_count(0)


def test_whoever_no_longer_belongs_to_the_chosen_tenant_is_led_to_where_they_do(browser: Browser, site: Site) -> None:
    with signed_in(browser, site, "moved@example.com", "viewer") as page:
        page.goto("/settings?tab=members")
        settle(page)
        page.evaluate("localStorage.setItem('mainspring-tenant', 'gone')")
        page.reload()

        expect(page.get_by_text("Members of default and their roles.")).to_be_visible()

"""Settings in a real browser: who is told, by which way, and whether it arrived."""

from playwright.sync_api import Page, expect

from tests.browser.site import Site


def test_webhook_is_made_tried_watched_and_switched_off_and_on(page: Page, site: Site) -> None:
    page.goto("/settings?tab=webhooks")
    page.get_by_role("button", name="New webhook").click()
    page.get_by_label("URL").fill(f"{site.shop}/ok/hook")
    page.get_by_label("Name").fill("truck bus")
    page.get_by_role("combobox", name="Events").fill("endpoint.*")
    page.get_by_role("button", name="Create webhook").click()
    expect(page.get_by_text("whsec_")).to_be_visible()

    row = page.get_by_role("row").filter(has_text="truck bus")
    row.get_by_role("button", name="Test").click()
    page.get_by_role("button", name="Send test message").click()
    expect(page.get_by_role("status").filter(has_text="Accepted")).to_be_visible()
    page.get_by_role("dialog").get_by_text("Close").click()

    site.add("told of")
    row.get_by_role("button", name="Deliveries").click()
    drawer = page.get_by_role("dialog")
    expect(drawer.get_by_text("delivered 200")).to_be_visible()
    drawer.get_by_role("button", name="Show message").click()
    expect(drawer.get_by_label("Message")).to_contain_text("told of")
    drawer.get_by_role("button", name="Send again").click()
    expect(page.get_by_text("Sent again")).to_be_visible()
    page.keyboard.press("Escape")
    row.get_by_role("button", name="More for truck bus").click()
    page.get_by_role("menuitem", name="Turn off").click()
    row.get_by_role("button", name="Turn on").click()
    expect(row.get_by_role("button", name="Test")).to_be_visible()


def test_alert_about_one_endpoint_finds_it_by_a_part_of_its_name_and_names_it(page: Page, site: Site) -> None:
    site.add("cash register")
    page.goto("/settings?tab=alerts")
    page.get_by_role("button", name="New alert").click()
    page.get_by_label("Name").fill("till watch")
    page.get_by_role("combobox", name="To").fill(f"{site.shop}/ok")
    page.get_by_placeholder("every endpoint").fill("regis")
    page.get_by_role("option", name="cash register").click()
    expect(page.get_by_placeholder("every endpoint")).to_have_value("cash register")
    page.get_by_role("button", name="Create alert").click()
    expect(page.get_by_role("row").filter(has_text="till watch")).to_contain_text("cash register")
    page.goto("/settings?tab=audit")
    expect(page.get_by_role("row").filter(has_text="alert.created").filter(has_text="till watch")).to_be_visible()


def test_alert_is_made_with_quiet_hours_and_its_way_is_tried(page: Page, site: Site) -> None:
    page.goto("/settings?tab=alerts")
    page.get_by_role("button", name="New alert").click()
    page.get_by_label("Name").fill("night watch")
    page.get_by_role("combobox", name="To").fill(f"{site.shop}/fail/alert")
    page.get_by_label("Quiet hours", exact=True).fill("25:00-07:00")
    page.get_by_role("button", name="Create alert").click()
    expect(page.get_by_label("Quiet hours", exact=True)).to_have_attribute("aria-invalid", "true")
    page.get_by_label("Quiet hours", exact=True).fill("22:00-07:00")
    page.get_by_role("button", name="Create alert").click()

    row = page.get_by_role("row").filter(has_text="night watch")
    expect(row).to_contain_text("22:00-07:00")
    row.get_by_role("button", name="Test").click()
    page.get_by_role("button", name="Send test message").click()
    expect(page.get_by_role("status").filter(has_text="not delivered")).to_be_visible()


def test_maintenance_window_is_made_changed_and_deleted(page: Page, site: Site) -> None:
    page.goto("/settings?tab=maintenance")
    page.get_by_role("button", name="New maintenance window").click()
    page.get_by_label("Name").fill("patch night")
    page.get_by_label("Cron").fill("0 * * * *")
    page.get_by_label("Duration").fill("2h")
    page.get_by_role("button", name="Create maintenance window").click()
    expect(page.get_by_label("Duration")).to_have_attribute("aria-invalid", "true")
    page.get_by_label("Duration").fill("30m")
    page.get_by_role("button", name="Create maintenance window").click()

    row = page.get_by_role("row").filter(has_text="patch night")
    expect(row).to_contain_text("skipped")
    row.get_by_role("button", name="Edit").click()
    page.get_by_text("Once", exact=True).click()
    page.get_by_role("textbox", name="Start").fill("2090-01-31T22:00:00Z")
    page.get_by_role("textbox", name="End").fill("2090-02-01T02:00:00Z")
    page.get_by_text("Continue runs").click()
    page.get_by_role("button", name="Save").click()
    expect(row).to_contain_text("continue")
    expect(row).to_contain_text("upcoming")
    row.get_by_role("button", name="Delete patch night").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(row).to_have_count(0)


def test_calendar_is_made_used_by_an_endpoint_and_kept_while_in_use(page: Page, site: Site) -> None:
    page.goto("/settings?tab=calendars")
    page.get_by_role("button", name="New calendar").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("closed")
    dialog.get_by_label("Public holidays").fill("XX")
    dialog.get_by_label("Dates").fill("2090-12-24 Company closed")
    for day in ("Saturday", "Sunday"):
        dialog.get_by_text(day, exact=True).click()
    dialog.get_by_role("button", name="Create calendar").click()
    expect(dialog.get_by_label("Public holidays")).to_have_attribute("aria-invalid", "true")
    dialog.get_by_label("Public holidays").fill("DE")
    dialog.get_by_role("button", name="Create calendar").click()
    row = page.get_by_role("row").filter(has_text="closed")
    expect(row).to_contain_text("Holidays of DE, sat, sun, 1 date")

    page.goto("/endpoints/new")
    page.get_by_label("Name").fill("payroll")
    page.get_by_label("URL").fill(f"{site.shop}/ok")
    page.get_by_text("Cron schedule", exact=True).click()
    page.get_by_role("button", name="Calendars").click()
    page.get_by_role("combobox", name="Except").click()
    page.get_by_role("option", name="closed").click()
    page.get_by_role("combobox", name="On an excluded day").click()
    page.get_by_role("option", name="Run on the next allowed day").click()
    page.get_by_role("button", name="Create endpoint").click()
    expect(page.get_by_role("heading", name="payroll")).to_be_visible()
    expect(page.get_by_text("No runs on these days")).to_be_visible()

    page.goto("/settings?tab=calendars")
    expect(row).to_contain_text("payroll")
    row.get_by_role("button", name="Edit").click()
    page.get_by_label("Description").fill("Days off")
    page.get_by_role("button", name="Save").click()
    expect(row).to_contain_text("Days off")
    row.get_by_role("button", name="Delete closed").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("is used by 1 endpoint: 'payroll'")).to_be_visible()


def test_connection_is_made_tried_used_and_kept_while_in_use(page: Page, site: Site) -> None:
    page.goto("/settings?tab=connections")
    page.get_by_role("button", name="New connection").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("till")
    dialog.get_by_label("Base URL").fill(site.shop)
    dialog.get_by_role("textbox", name="Header", exact=True).fill("X-Api-Key")
    dialog.get_by_label("Value").fill("canary-Zq81")
    dialog.get_by_role("button", name="Create connection").click()

    page.get_by_role("button", name="Test till").click()
    page.get_by_label("Path").fill("/ok")
    page.get_by_role("button", name="Call", exact=True).click()
    expect(page.get_by_role("status").filter(has_text="Reached")).to_contain_text("first byte")
    page.get_by_role("dialog").get_by_text("Close").click()

    page.goto("/endpoints/new")
    page.get_by_label("Name").fill("drawer")
    page.get_by_role("combobox", name="Connection").click()
    page.get_by_role("option", name="till").click()
    page.get_by_label("URL").fill("/ok/drawer")
    page.get_by_role("button", name="Create endpoint").click()
    expect(page.get_by_role("heading", name="drawer")).to_be_visible()

    page.goto("/settings?tab=connections")
    page.get_by_role("button", name="Delete till").click()
    expect(page.get_by_role("dialog")).to_contain_text("Used by: endpoint drawer")
    expect(page.get_by_role("dialog").get_by_role("button", name="Delete")).to_be_disabled()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Edit till").click()
    expect(page.get_by_label("Value")).to_have_value("••••")
    assert "canary" not in page.content()

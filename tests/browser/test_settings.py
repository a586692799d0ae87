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

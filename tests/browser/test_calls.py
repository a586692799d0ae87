"""The page of calls: created, listed, explained and cancelled."""

from playwright.sync_api import Page, expect

from tests.browser.site import Site


def test_call_is_created_listed_by_state_and_cancelled(page: Page, site: Site) -> None:
    page.goto("/calls")
    page.get_by_role("button", name="New call").click()
    form = page.get_by_role("dialog", name="New call")
    form.get_by_label("URL").fill(f"{site.shop}/ok")
    form.get_by_label("Time").fill("in a while")
    form.get_by_label("Key").fill("order-17")
    form.get_by_role("button", name="Create call").click()
    expect(form).to_contain_text("'a while' is not a duration")
    form.get_by_label("Time").fill("in 1h")
    form.get_by_role("button", name="Create call").click()
    row = page.get_by_role("row").filter(has_text="order-17")
    expect(row).to_contain_text("waiting")
    row.get_by_role("button", name="Cancel call").click()
    page.get_by_role("dialog", name="Cancel order-17?").get_by_role("button", name="Cancel call").click()

    expect(row).to_contain_text("cancelled")
    page.goto("/calls?state=waiting")
    expect(page.get_by_role("heading", level=1, name="Calls")).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="order-17")).to_have_count(0)


def test_endpoint_form_makes_a_single_run_with_retries(page: Page, site: Site) -> None:
    page.goto("/endpoints/new")
    page.get_by_label("Name").fill("gift")
    page.get_by_label("URL").fill(f"{site.shop}/ok")
    page.get_by_text("Once", exact=True).click()
    page.get_by_role("textbox", name="Time").fill("2999-12-24T18:00:00Z")
    page.get_by_role("button", name="Retries").click()
    page.get_by_label("Attempts").fill("99")
    page.get_by_role("button", name="Create endpoint").click()
    expect(page.get_by_text("attempts 99 is out of bounds").first).to_be_visible()
    page.get_by_label("Attempts").fill("4")
    page.get_by_role("button", name="Create endpoint").click()
    expect(page.get_by_role("heading", level=1, name="gift")).to_be_visible()
    made = site.call("GET", "/endpoints/gift")

    assert (made["once_at"], made["interval_ms"], made["retry"]["attempts"]) == ("2999-12-24T18:00:00Z", None, 4)
    expect(page.get_by_text("4 attempts, the second after 1m")).to_be_visible()

"""The very first visit: the link that the server printed, and the way in."""

from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.browser.site import EMAIL, PASSWORD, open_site
from tests.browser.tab import PATIENCE_MS, serious
from tests.harness.processes import Processes


def test_printed_link_opens_a_page_of_the_ui_that_leads_to_the_first_endpoint(browser: Browser, tmp_path: Path) -> None:
    with Processes() as processes, open_site(processes, tmp_path) as site:
        context = browser.new_context(base_url=site.url)
        context.set_default_timeout(PATIENCE_MS)
        page = context.new_page()
        page.goto("/login")
        expect(page.get_by_role("button", name="Sign in", exact=True)).to_be_visible()
        ways = page.get_by_role("link", name="single sign-on").count()
        page.goto(site.link)
        expect(page.get_by_role("heading", name="Set your password")).to_be_visible()
        found = serious(page)
        page.get_by_label("Email").fill(EMAIL)
        page.get_by_label("Name").fill("Ann")
        page.get_by_role("textbox", name="Password").fill(PASSWORD)
        page.get_by_role("button", name="Create account").click()
        page.get_by_role("link", name="Create your first endpoint").click()
        expect(page.get_by_role("heading", name="New endpoint")).to_be_visible()
        address, title = page.url, page.title()
        context.close()

    assert found == []
    assert ways == 0
    assert (address, title) == (f"{site.url}/endpoints/new", "New endpoint · Mainspring")  # one tenant: not named

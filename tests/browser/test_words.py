"""What a newcomer reads where something stands still, was undone, or has not happened yet."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.site import Site


def test_pause_without_an_end_says_that_it_lasts_until_it_is_resumed(page: Page, site: Site) -> None:
    endpoint = site.add("held")["id"]
    site.call("POST", f"/endpoints/{endpoint}/pause", {"reason": "moving"})
    page.goto(f"/endpoints/{endpoint}")

    expect(page.get_by_role("alert").filter(has_text="Paused")).to_contain_text("moving. Until resumed.")


def test_first_run_says_why_it_stands_where_it_stands(page: Page, site: Site) -> None:
    endpoint = site.add("fresh")["id"]
    page.goto(f"/endpoints/{endpoint}")
    expect(page.get_by_text("The first run is spread within the interval")).to_be_visible()
    site.run(endpoint)

    expect(page.get_by_text("The first run is spread")).to_have_count(0)


def test_failing_endpoint_names_buttons_of_the_page_and_no_commands(page: Page, site: Site) -> None:
    endpoint = site.add("faltering", "/fail")["id"]
    site.run(endpoint)
    page.goto(f"/endpoints/{endpoint}")

    words = "A success, a manual run or a reset of the failures ends the backoff."
    expect(page.get_by_text(words)).to_be_visible()


@pytest.mark.parametrize("width", [1440, 390])
def test_outcome_of_a_test_call_comes_into_sight(width: int, page: Page, site: Site) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    page.goto("/endpoints/new")
    page.get_by_label("Name").first.fill("tried")
    page.get_by_label("URL").first.fill(f"{site.shop}/ok")
    page.get_by_role("button", name="Send test call").click()

    expect(page.get_by_role("heading", name="Test call")).to_be_in_viewport()


def test_silent_heartbeat_says_what_it_waited_for_and_nothing_about_calls(page: Page, site: Site) -> None:
    site.call("POST", "/endpoints", {"name": "silent", "kind": "heartbeat", "every": "5s", "grace": "1s"})
    page.goto("/endpoints/silent")
    expect(page.get_by_role("heading", name="Next deadline")).to_be_visible()
    expect(page.get_by_role("button", name="If every run fails")).to_have_count(0)
    page.get_by_role("row").filter(has_text="missed").last.get_by_role("link").click()

    expect(page.get_by_role("alert")).to_contain_text("no ping arrived within 1s")
    expect(page.get_by_text("No worker could start")).to_have_count(0)
    expect(page.get_by_role("heading", name="Call")).to_have_count(0)
    site.call("POST", "/endpoints/silent/archive")


def test_call_that_was_not_made_says_why_once(page: Page, site: Site) -> None:
    endpoint = site.add("beyond the guard")["id"]
    site.call("PATCH", f"/endpoints/{endpoint}", {"url": "http://10.1.2.3/"})
    page.goto(f"/runs/{site.run(endpoint)['id']}")

    expect(page.get_by_role("alert")).to_have_count(1)
    expect(page.get_by_role("alert")).to_contain_text("Address not allowed")

"""An open page follows what others do without being loaded again, on both stores; it says when it cannot."""

import subprocess
from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import WAITING
from tests.browser.site import Json, Site
from tests.browser.tab import Tab, go
from tests.harness.processes import COMMAND, clean_environment


def test_every_list_shows_what_was_just_made_without_being_loaded_again(page: Page, site: Site) -> None:
    site.call("POST", "/workflows", {"document": WAITING})
    page.goto("/endpoints")
    page.evaluate("window.loaded = 'once'")

    endpoint = appears(page, "/endpoints", lambda: site.add("newcomer")["id"], row_of(page, "newcomer"))
    appears(page, "/runs", lambda: site.run(endpoint), row_of(page, "newcomer").first)
    appears(page, "/", lambda: pause(site, endpoint, "seen from above"), page.get_by_text("seen from above").first)
    appears(page, "/events", lambda: pause(site, endpoint, "once more"), page.get_by_text("once more").first)
    start = {"correlation": "order-live"}
    started = lambda: site.call("POST", "/workflows/waiting/start", start)  # noqa: E731  # one act among others
    appears(page, "/executions", started, row_of(page, "order-live"))
    looked = lambda: site.call("POST", f"/endpoints/{endpoint}/look")  # noqa: E731
    appears(page, "/planner?tab=sessions", looked, row_of(page, "newcomer").first)
    alert = {"name": "live alert", "to": [f"{site.shop}/ok"]}
    appears(page, "/settings?tab=alerts", lambda: site.call("POST", "/alerts", alert), row_of(page, "live alert"))
    assert page.evaluate("window.loaded") == "once"


def test_what_the_command_line_and_the_planner_do_appears_in_the_open_endpoint(either_tab: Tab) -> None:
    page, site = either_tab.page, either_tab.site
    endpoint = site.add("by command")["id"]
    site.run(endpoint)
    page.goto(f"/endpoints/{endpoint}")
    expect(page.get_by_label("Events: live")).to_be_visible()

    site.call("POST", f"/endpoints/{endpoint}/look")
    expect(page.get_by_text("stock runs low").first).to_be_visible()
    pausing = [*COMMAND, "endpoint", "pause", "by command", "--reason", "by a terminal"]
    subprocess.run(pausing, env=clean_environment() | site.env, check=True, capture_output=True)
    expect(page.get_by_text("by a terminal").first).to_be_visible()


def appears(page: Page, path: str, act: Callable[[], Json], wanted: Locator) -> Json:
    """Open a page, see that it lacks what is about to come, act, and wait for it; what the act answered."""
    go(page, path)
    expect(page.get_by_label("Events: live")).to_be_visible()
    expect(wanted).to_have_count(0)
    answer = act()
    expect(wanted).to_be_visible()
    return answer


def row_of(page: Page, text: str) -> Locator:
    return page.get_by_role("row").filter(has_text=text)


def pause(site: Site, endpoint: str, reason: str) -> Json:
    return site.call("POST", f"/endpoints/{endpoint}/pause", {"reason": reason})


def test_page_that_was_hidden_rests_and_then_shows_what_it_missed(page: Page, site: Site) -> None:
    endpoint = site.add("while hidden")["id"]
    page.goto(f"/endpoints/{endpoint}")
    expect(page.get_by_label("Events: live")).to_be_visible()
    hide = "hidden => { Object.defineProperty(document, 'hidden', { value: hidden, configurable: true }); "
    hide += "document.dispatchEvent(new Event('visibilitychange')); }"
    page.evaluate(hide, True)
    expect(page.get_by_label("Events: paused")).to_be_visible()
    site.call("POST", f"/endpoints/{endpoint}/pause", {"reason": "behind its back"})
    page.evaluate(hide, False)

    expect(page.get_by_label("Events: live")).to_be_visible()
    expect(page.get_by_text("behind its back").first).to_be_visible()


def test_cut_stream_is_called_stale_and_comes_back_by_itself(troubled_page: Page) -> None:
    troubled_page.route("**/events/stream*", lambda route: route.abort())
    troubled_page.goto("/endpoints")
    expect(troubled_page.get_by_label("Events: stale")).to_be_visible()
    troubled_page.unroute("**/events/stream*")

    expect(troubled_page.get_by_label("Events: live")).to_be_visible()

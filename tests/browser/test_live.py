"""An open page follows what others do, says when it cannot, shows what it missed, and tells of a server that fails."""

import os
import subprocess

from playwright.sync_api import Page, Route, expect

from tests.browser.site import Json, Site
from tests.harness.processes import COMMAND


def test_what_the_command_line_does_appears_in_an_open_page(page: Page, site: Site) -> None:
    endpoint = site.add("by command")["id"]
    page.goto(f"/endpoints/{endpoint}")
    expect(page.get_by_label("Events: live")).to_be_visible()

    pausing = [*COMMAND, "endpoint", "pause", "by command", "--reason", "by a terminal"]
    env = {"MAINSPRING_DATA_DIR": str(site.folder), "PATH": os.environ.get("PATH", "")}
    subprocess.run(pausing, env={**env, **_python()}, check=True, capture_output=True)

    expect(page.get_by_text("by a terminal").first).to_be_visible()


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


def test_cut_stream_is_called_stale_and_comes_back_by_itself(browser_page: Page, cookies: list[Json]) -> None:
    browser_page.context.add_cookies(cookies)
    browser_page.route("**/events/stream*", lambda route: route.abort())
    browser_page.goto("/endpoints")
    expect(browser_page.get_by_label("Events: stale")).to_be_visible()
    browser_page.unroute("**/events/stream*")

    expect(browser_page.get_by_label("Events: live")).to_be_visible(timeout=15_000)


def test_every_page_says_that_the_server_fails_and_offers_to_try_again(
    browser_page: Page, cookies: list[Json], shown: dict[str, str]
) -> None:
    def fail(route: Route) -> None:
        if "/auth/" in route.request.url:
            route.continue_()
        else:
            said = {"type": "/problems/internal", "title": "Broken", "status": 500, "detail": "a wheel came off"}
            route.fulfill(status=500, json={**said, "request_id": "req_1"}, content_type="application/problem+json")

    browser_page.context.add_cookies(cookies)
    thrown: list[str] = []
    browser_page.on("pageerror", lambda error: thrown.append(str(error)))
    browser_page.route("**/api/v1/**", fail)
    silent = []
    details = [f"/endpoints/{shown['endpoint']}", f"/runs/{shown['run']}"]
    for path in ["/", *details, "/runs", "/planner", "/settings?tab=usage"]:
        browser_page.goto(path)
        try:
            expect(browser_page.get_by_role("alert").first).to_contain_text("a wheel came off", timeout=12_000)
        except AssertionError:
            silent.append(path)
    browser_page.unroute("**/api/v1/**")
    browser_page.get_by_role("button", name="Try again").first.click()
    expect(browser_page.get_by_text("This month")).to_be_visible()

    assert silent == []
    assert thrown == []


def _python() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name == "PYTHONPATH"}

"""Every page when the API fails, refuses, is silent, or when the server is gone: it says so, and recovers."""

from playwright.sync_api import Page, Route, expect

from tests.browser.site import EMAIL, PASSWORD, Site
from tests.browser.tab import PAGES, follow, settle

SILENT = {"new endpoint", "settings", "configuration", "demo"}  # they read nothing but who is signed in
HURRY = "() => { const later = window.setTimeout; window.setTimeout = (act, ms) => later(act, (ms ?? 0) / 20); }"
FAILED = {"type": "/problems/internal", "title": "Broken", "status": 500, "detail": "a wheel came off"}
REFUSED = {"type": "/problems/unauthenticated", "title": "Sign in", "status": 401, "detail": "your session has ended"}


def read_by(shown: dict[str, str]) -> list[str]:
    return [path.format(**shown) for name, path in PAGES.items() if name not in SILENT]


def answering(page: Page, problem: dict[str, object]) -> None:
    """From now on every read is answered so, but the one of who is signed in."""

    def answer(route: Route) -> None:
        if "/auth/" in route.request.url:
            route.continue_()
        else:
            said = {**problem, "request_id": "req_1"}
            route.fulfill(status=int(str(problem["status"])), json=said, content_type="application/problem+json")

    page.goto("/demo")
    settle(page)
    page.evaluate(HURRY)  # the page tries again before it complains
    page.route("**/api/v1/**", answer)


def test_every_page_says_that_the_server_fails_and_offers_to_try_again(
    troubled_page: Page, shown: dict[str, str]
) -> None:
    answering(troubled_page, FAILED)
    for path in read_by(shown):
        follow(troubled_page, path)
        expect(troubled_page.get_by_role("alert").first, path).to_contain_text("A wheel came off")
        expect(troubled_page.get_by_role("button", name="Try again").first, path).to_be_visible()
    follow(troubled_page, "/settings?tab=usage")
    expect(troubled_page.get_by_role("alert").first).to_be_visible()
    troubled_page.unroute_all()
    troubled_page.get_by_role("button", name="Try again").first.click()

    expect(troubled_page.get_by_text("This month")).to_be_visible()


def test_answer_that_is_none_of_ours_is_told_in_plain_words(troubled_page: Page) -> None:
    troubled_page.goto("/demo")
    settle(troubled_page)
    troubled_page.evaluate(HURRY)
    troubled_page.route(
        "**/api/v1/endpoints*", lambda route: route.fulfill(status=502, body="<html>", content_type="text/html")
    )
    follow(troubled_page, "/endpoints")
    expect(troubled_page.get_by_role("alert")).to_contain_text("The server failed")
    expect(troubled_page.get_by_role("alert")).to_contain_text("status 502 without a reason")


def test_what_is_not_there_leads_to_what_is(troubled_page: Page) -> None:
    troubled_page.goto("/endpoints/no-such")
    troubled_page.get_by_role("link", name="Go to endpoints").click()
    expect(troubled_page.get_by_role("heading", level=1, name="Endpoints")).to_be_visible()


def test_session_that_ended_leads_from_every_page_to_the_login_and_back(
    troubled_page: Page, shown: dict[str, str]
) -> None:
    answering(troubled_page, REFUSED)
    for path in read_by(shown):
        follow(troubled_page, path)
        expect(troubled_page.get_by_role("heading", name="Sign in"), path).to_be_visible()
        came_from = "() => new URLSearchParams(location.search).get('from')"
        assert troubled_page.evaluate(came_from) == f"/t/default{path}", path
    troubled_page.unroute_all()
    troubled_page.get_by_label("Email").fill(EMAIL)
    troubled_page.locator("input[type=password]").fill(PASSWORD)
    troubled_page.get_by_role("button", name="Sign in", exact=True).click()

    expect(troubled_page.get_by_role("heading", level=1, name="Settings")).to_be_visible()


def test_every_page_waits_for_a_server_that_is_silent_and_shows_what_comes_at_last(
    page: Page, shown: dict[str, str]
) -> None:
    page.goto("/demo")
    settle(page)
    held: list[Route] = []
    is_silent = True

    def hold(route: Route) -> None:
        if is_silent:
            held.append(route)
        else:
            route.continue_()

    page.route("**/api/v1/**", hold)
    for path in read_by(shown):
        is_silent = True
        follow(page, path)
        expect(page.locator("[aria-busy=true], h1").first, path).to_be_visible()
        is_silent = False
        while held:
            held.pop().continue_()
        settle(page)
        expect(page.get_by_role("button", name="Try again"), path).to_have_count(0)


def test_server_that_is_gone_is_said_on_every_page_and_when_it_is_back_they_go_on(
    troubled_page: Page, shown: dict[str, str], site: Site
) -> None:
    troubled_page.goto("/demo")
    expect(troubled_page.get_by_label("Events: live")).to_be_visible()
    banner = troubled_page.get_by_role("status", name="Server")
    site.stop()
    try:
        expect(banner).to_contain_text("The server is not responding.")  # on a page that nobody touched
        expect(troubled_page.get_by_label("Events: stale")).to_be_visible()
        troubled_page.evaluate(HURRY)
        for path in read_by(shown):
            follow(troubled_page, path)
            expect(troubled_page.get_by_role("alert").first, path).to_contain_text("is not responding")
    finally:
        site.start_again()
    expect(banner).to_have_count(0)
    expect(troubled_page.get_by_role("alert")).to_have_count(0)  # the page that was open has read everything again
    expect(troubled_page.get_by_role("button", name="Try again")).to_have_count(0)
    added = site.add("after the outage")["id"]
    follow(troubled_page, f"/endpoints/{added}")

    expect(troubled_page.get_by_role("heading", level=1, name="after the outage")).to_be_visible()
    expect(troubled_page.get_by_label("Events: live")).to_be_visible()


def test_click_without_a_network_is_told_to_have_failed(troubled_page: Page, site: Site) -> None:
    endpoint = site.add("unplugged")["id"]
    troubled_page.goto(f"/endpoints/{endpoint}")
    settle(troubled_page)
    troubled_page.context.set_offline(True)
    try:
        troubled_page.get_by_role("button", name="Run now").click()
        expect(troubled_page.get_by_role("alert")).to_contain_text("The server is not responding")
    finally:
        troubled_page.context.set_offline(False)


def test_cut_connection_is_said_at_the_login(browser_page: Page) -> None:
    browser_page.goto("/login")
    browser_page.route("**/api/**", lambda route: route.abort())
    browser_page.get_by_label("Email").fill(EMAIL)
    browser_page.locator("input[type=password]").fill(PASSWORD)
    browser_page.get_by_role("button", name="Sign in", exact=True).click()
    expect(browser_page.get_by_role("alert")).to_contain_text("is not responding")

"""How often pages ask the server: each thing once when a page opens, and at a bounded rate while events come."""

import itertools
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page, Request, Route, expect

from tests.browser.site import Json, Site
from tests.browser.tab import LEAVE, PAGES, PATIENCE_MS, THERE, settle

BUSY_S = 20
REQUESTS_PER_MINUTE_MAX = 60
FRESH_MS = 3_000  # events do not make a page read again what it read so lately: see web/src/api/live.tsx
AT_REST_MS = 600  # so long nothing was asked: the page has what it wants
AGAIN = """freshMs => {
    const readAt = new Map(), again = [];
    for (const { name, startTime, responseEnd } of performance.getEntriesByType('resource')) {
        const path = name.split('/api/v1')[1];
        if (!path || path.startsWith('/events/stream')) continue;
        if (startTime - readAt.get(path) < freshMs) again.push(path);
        readAt.set(path, responseEnd);
    }
    return again;
}"""
QUIET = "() => performance.getEntriesByType('resource').every(each => performance.now() - each.responseEnd > %d)"


@contextmanager
def requests_of(page: Page) -> Iterator[list[str]]:
    """The reads of the API that the page sends meanwhile; the stream of events is none."""
    sent: list[str] = []

    def hear(request: Request) -> None:
        if "/api/v1/" in request.url and "/events/stream" not in request.url:
            sent.append(f"{request.method} {request.url.partition('/api/v1')[2]}")

    page.on("request", hear)
    yield sent
    page.remove_listener("request", hear)


def read_again_at_once(page: Page) -> list[str]:
    """What the open page read, and then again before an event may cause it.

    The browser's own times count, so neither what the previous page asked nor a slow machine changes the answer.
    """
    found: list[str] = page.evaluate(AGAIN, FRESH_MS)
    return found


@contextmanager
def busy(site: Site, *endpoints: str) -> Iterator[list[int]]:
    """Runs one after the other, each with its events, until the test has seen enough; how many there were."""
    done, over = [0], threading.Event()

    def work() -> None:
        for endpoint in itertools.cycle(endpoints):
            if over.is_set():
                return
            site.run(endpoint)
            done[0] += 1

    worker = threading.Thread(target=work)
    worker.start()
    try:
        yield done
    finally:
        over.set()
        worker.join()


def test_every_page_reads_each_thing_once_when_it_opens(page: Page, shown: dict[str, str]) -> None:
    page.goto("/demo")
    twice: dict[str, list[str]] = {}
    for name, path in PAGES.items():
        page.goto(path.format(**shown))
        settle(page)
        page.wait_for_function(QUIET % AT_REST_MS)
        if again := read_again_at_once(page):
            twice[name] = again

    assert twice == {}


def test_first_visit_reads_each_thing_once_while_runs_go_on(
    browser: Browser, site_and_cookies: tuple[Site, list[Json]], shown: dict[str, str]
) -> None:
    """Nothing is cached, and events come from the first moment on: they must not make the page read it all again."""
    site, cookies = site_and_cookies
    twice: dict[str, list[str]] = {}
    with busy(site, shown["endpoint"]):
        for path in ("/", "/endpoints", "/runs", f"/endpoints/{shown['endpoint']}"):
            context = browser.new_context(base_url=site.url)
            context.add_cookies(cookies)
            context.set_default_timeout(PATIENCE_MS)
            page = context.new_page()
            page.goto(path)
            settle(page)
            if again := read_again_at_once(page):
                twice[path] = again
            context.close()

    assert twice == {}


def test_event_before_a_page_is_drawn_does_not_make_it_read_again(
    page: Page, site: Site, shown: dict[str, str]
) -> None:
    """What a page reads is asked for beside its code, so an event may come between the answer and the drawing."""
    site.run(shown["endpoint"])
    event = site.call("GET", f"/events?endpoint={shown['endpoint']}&limit=1")["items"][0]
    code: list[Route] = []
    streams: list[Route] = []
    page.route("**/assets/Overview-*.js", lambda route: code.append(route))  # noqa: PLW0108  # Playwright takes no method of a list
    page.route("**/events/stream*", lambda route: streams.append(route))  # noqa: PLW0108
    page.goto("/settings")
    settle(page)
    with page.expect_response("**/dashboard/activity*"):
        page.evaluate(LEAVE, "/")
    page.wait_for_function(QUIET % 100)
    for each in streams:
        each.fulfill(content_type="text/event-stream", body=f"data: {json.dumps(event)}\n\n")
    expect(page.get_by_label("Events: stale")).to_be_visible()  # the event was heard, and the stream ended
    page.unroute("**/events/stream*")
    for each in code:
        each.continue_()
    page.wait_for_function(THERE)
    settle(page)
    page.wait_for_function(QUIET % AT_REST_MS)

    assert (bool(streams), bool(code)) == (True, True)
    assert read_again_at_once(page) == []


def test_busy_minute_of_events_costs_a_page_fewer_than_sixty_requests(
    page: Page, site: Site, shown: dict[str, str]
) -> None:
    """Of all pages the overview reads the most."""
    page.goto("/")
    settle(page)
    expect(page.get_by_label("Events: live")).to_be_visible()
    with busy(site, shown["endpoint"]) as runs, requests_of(page) as sent:
        page.wait_for_timeout(BUSY_S * 1_000)  # a rate is requests over time: there is nothing else to wait for

    assert runs[0] > BUSY_S, "the site was not busy"
    assert 0 < len(sent) * 60 / BUSY_S < REQUESTS_PER_MINUTE_MAX


def test_hidden_tab_reads_nothing_while_events_come(page: Page, site: Site, shown: dict[str, str]) -> None:
    page.goto("/")
    settle(page)
    expect(page.get_by_label("Events: live")).to_be_visible()
    hide = "hidden => { Object.defineProperty(document, 'hidden', { value: hidden, configurable: true }); "
    hide += "document.dispatchEvent(new Event('visibilitychange')); }"
    site.run(shown["endpoint"])  # what its events make old waits for the tab to be shown again
    page.evaluate(hide, True)
    expect(page.get_by_label("Events: paused")).to_be_visible()
    page.wait_for_function(QUIET % 1)
    with requests_of(page) as sent:
        for _ in range(5):
            site.run(shown["endpoint"])
        page.wait_for_function(QUIET % 2_500)

    assert [each for each in sent if "/workers" not in each and "/dashboard/stats" not in each] == []
    with page.expect_response("**/dashboard/activity*"):
        page.evaluate(hide, False)


def test_events_join_the_list_without_its_being_read_again(page: Page, site: Site, shown: dict[str, str]) -> None:
    page.goto("/events")
    settle(page)
    expect(page.get_by_label("Events: live")).to_be_visible()
    with page.expect_response("**/api/v1/events?*"):
        site.run(shown["endpoint"])  # the list is older than the stream: it is read once more
    page.wait_for_function(QUIET % AT_REST_MS)
    with requests_of(page) as sent:
        site.call("POST", f"/endpoints/{shown['endpoint']}/pause", {"reason": "told by the stream"})
        expect(page.get_by_text("told by the stream").first).to_be_visible()
        site.call("POST", f"/endpoints/{shown['endpoint']}/resume")

    assert sent == []

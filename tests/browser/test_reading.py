"""How often pages ask the server: each thing once when a page opens, and at a bounded rate while events come."""

import itertools
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page, Request, expect

from tests.browser.site import Json, Site
from tests.browser.tab import PAGES, PATIENCE_MS, settle

BUSY_S = 20
REQUESTS_PER_MINUTE_MAX = 60
RELOADED_S = 2  # of a tab's budget, for each reload that events cause: see web/src/api/live.tsx
AT_REST_MS = 600  # so long nothing was asked: the page has what it wants
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


def too_often(sent: list[str], began_s: float) -> list[str]:
    """What was read more than once when the page opened. An event may have it read again after RELOADED_S."""
    allowed = 1 + int((time.monotonic() - began_s) / RELOADED_S)
    return [each for each, count in Counter(sent).items() if count > allowed]


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
        address = path.format(**shown)
        # An event of what was just set up may have one thing read again, but not when the page is opened once more.
        if read_too_often(page, address) and (many := read_too_often(page, address)):
            twice[name] = many

    assert twice == {}


def read_too_often(page: Page, address: str) -> list[str]:
    """What a page reads more than once when it is loaded."""
    began_s = time.monotonic()
    with requests_of(page) as sent:
        page.goto(address)
        settle(page)
        page.wait_for_function(QUIET % AT_REST_MS)
    return too_often(sent, began_s)


def test_first_visit_reads_each_thing_once_while_runs_go_on(
    browser: Browser, site_and_cookies: tuple[Site, list[Json]], shown: dict[str, str]
) -> None:
    """Nothing is cached, and events come from the first moment on: they must not make the page read it all again."""
    site, cookies = site_and_cookies
    with busy(site, shown["endpoint"]):
        for path in ("/", "/endpoints", "/runs", f"/endpoints/{shown['endpoint']}"):
            # The first reload that an event causes may come early; it does not at every visit.
            visits = [_read_too_often_at_first(browser, site, cookies, path) for _ in range(3)]
            assert [] in visits, path


def _read_too_often_at_first(browser: Browser, site: Site, cookies: list[Json], path: str) -> list[str]:
    context = browser.new_context(base_url=site.url)
    context.add_cookies(cookies)
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    began_s = time.monotonic()
    with requests_of(page) as sent:
        page.goto(path)
        settle(page)
    context.close()
    return too_often(sent, began_s)


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

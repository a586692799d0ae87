"""One server with its UI, one browser and one signed-in page for many tests; a console error fails who saw it.

A fresh page costs two seconds of a processor, one that goes elsewhere half a second: so tests hand the page on.
They run in processes of their own (`make test` does so): Playwright keeps an event loop, beside which async tests fail.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.api.issuer import CLIENT_ID, CLIENT_SECRET, LittleIssuer
from tests.browser.site import CHROMIUM, FLAGS, START_S, Json, Site, cookies_for, open_site, require
from tests.browser.tab import PATIENCE_MS, Tab
from tests.harness.postgres import Cluster
from tests.harness.processes import Processes

expect.set_options(timeout=PATIENCE_MS)

WAITING = """\
name: waiting
description: Wait for an answer.
steps:
  - id: reply
    wait_for: {event: reply, timeout: 2d, on_timeout: silent}
    next: end
  - id: silent
    end: silent
"""


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    require()
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS, timeout=1_000 * START_S)
        yield launched
        launched.close()


@pytest.fixture(scope="package")
def issuer() -> Iterator[LittleIssuer]:
    with LittleIssuer() as running:
        yield running


@pytest.fixture(scope="package")
def site_and_cookies(
    tmp_path_factory: pytest.TempPathFactory, issuer: LittleIssuer
) -> Iterator[tuple[Site, list[Json]]]:
    require()
    folder: Path = tmp_path_factory.mktemp("site")
    single_sign_on = {
        "MAINSPRING_OIDC_ISSUER": issuer.url,
        "MAINSPRING_OIDC_CLIENT_ID": CLIENT_ID,
        "MAINSPRING_OIDC_CLIENT_SECRET": CLIENT_SECRET,
    }
    with Processes() as processes, open_site(processes, folder, **single_sign_on) as site:
        cookies = cookies_for(site, site.log_in())
        site.call("POST", "/tenants", {"id": "annex", "name": "Annex"})  # two tenants, so every address names its own
        yield site, cookies


@pytest.fixture
def site(site_and_cookies: tuple[Site, list[Json]]) -> Site:
    return site_and_cookies[0]


@pytest.fixture(scope="package")
def shown(site_and_cookies: tuple[Site, list[Json]]) -> dict[str, str]:
    """An endpoint that has run, with a hint and a failing neighbour; a session; a workflow that waits; who is told.

    Settings and a call have long names.
    """
    return fill(site_and_cookies[0])


def fill(site: Site) -> dict[str, str]:
    endpoint = site.add("shown", job="shop", description="Is the shop open?")["id"]
    failing = site.add("failing", "/fail", job="shop")["id"]
    site.call("PUT", f"/endpoints/{endpoint}/hints/interval", {"every": "30m", "reason": "sale"})
    site.run(failing)
    run = site.run(endpoint)["id"]
    session = site.call("POST", f"/endpoints/{failing}/look")["id"]  # without a description only we look at it
    site.call("POST", "/workflows", {"document": WAITING})
    execution = site.call("POST", "/workflows/waiting/start", {"correlation": "order-0"})["id"]
    site.call("POST", "/webhooks", {"url": f"{site.shop}/ok", "name": "shown hook"})
    site.call("POST", "/alerts", {"name": "shown alert", "to": [f"{site.shop}/ok"]})
    window = {"name": f"window-{'w' * 90}", "start": "2090-01-31T22:00:00Z", "end": "2090-02-01T02:00:00Z"}
    site.call("POST", "/maintenance", {**window, "description": "The hosts restart. " * 9})
    dates = [f"2090-03-{day:02} Inventory of all stores" for day in range(1, 9)]
    site.call("POST", "/calendars", {"name": f"days-{'w' * 90}", "dates": dates, "weekdays": ["sat", "sun"]})
    site.call("POST", "/connections", {"name": f"door-{'w' * 90}", "base_url": f"{site.shop}/{'deep/' * 30}"})
    key = f"key-{'w' * 90}"
    site.call("POST", "/calls", {"calls": [{"url": f"{site.shop}/ok?{'w' * 90}", "at": "in 30d", "key": key}]})
    return {"endpoint": endpoint, "run": run, "session": session, "workflow": "waiting", "execution": execution}


@pytest.fixture(scope="package")
def tab(browser: Browser, site_and_cookies: tuple[Site, list[Json]]) -> Iterator[Tab]:
    made = Tab(browser, *site_and_cookies)
    yield made
    made.close()


@pytest.fixture(scope="package")
def postgres_tab(
    browser: Browser, postgres_cluster: Cluster, postgres_template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Tab]:
    """A page of a second server, on PostgreSQL."""
    url = postgres_cluster.create_database("browser", template=postgres_template)
    folder: Path = tmp_path_factory.mktemp("postgres")
    with Processes() as processes, open_site(processes, folder, MAINSPRING_DATABASE_URL=url) as site:
        made = Tab(browser, site, cookies_for(site, site.log_in()))
        yield made
        made.close()


@pytest.fixture(params=["sqlite", "postgres"])
def either_tab(request: pytest.FixtureRequest) -> Iterator[Tab]:
    """The page on each store, watched like `page`."""
    found: Tab = request.getfixturevalue("tab" if request.param == "sqlite" else "postgres_tab")
    found.take()
    yield found
    assert found.give_back() == []


@pytest.fixture
def page(tab: Tab) -> Iterator[Page]:
    """A signed-in page; it fails its test for every error in the console and every exception in a script."""
    yield tab.take()
    assert tab.give_back() == []


@pytest.fixture
def troubled_page(tab: Tab) -> Iterator[Page]:
    """The same for tests in which the network fails: the browser reports that itself, so only exceptions count."""
    yield tab.take()
    assert [fault for fault in tab.give_back() if fault.startswith("exception")] == []


@pytest.fixture
def two_tabs(browser: Browser, site_and_cookies: tuple[Site, list[Json]]) -> Iterator[tuple[Page, Page]]:
    """Two tabs of one browser, in which the owner of both tenants is signed in."""
    site, cookies = site_and_cookies
    context = browser.new_context(base_url=site.url, viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE_MS)
    context.add_cookies(cookies)
    yield context.new_page(), context.new_page()
    context.close()


@pytest.fixture
def browser_page(browser: Browser, site: Site) -> Iterator[Page]:
    """Nobody is signed in. Refusals are part of what is tried here, so the console is not watched."""
    context = browser.new_context(base_url=site.url, viewport={"width": 1440, "height": 900})
    context.set_default_timeout(PATIENCE_MS)
    yield context.new_page()
    context.close()

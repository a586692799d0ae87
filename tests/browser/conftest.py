"""One server with its UI for all browser tests; a console error fails whichever test saw it.

They run in a process of their own (`make test` does so): Playwright keeps an event loop, beside which async tests fail.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

from tests.browser.site import CHROMIUM, FLAGS, WHY_NOT, Json, Site, cookies_for, open_site
from tests.harness.processes import Processes


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    if WHY_NOT:
        pytest.skip(WHY_NOT)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield launched
        launched.close()


@pytest.fixture(scope="package")
def site_and_cookies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, list[Json]]]:
    if WHY_NOT:
        pytest.skip(WHY_NOT)
    folder: Path = tmp_path_factory.mktemp("site")
    with Processes() as processes, open_site(processes, folder) as site:
        yield site, cookies_for(site, site.log_in())


@pytest.fixture
def site(site_and_cookies: tuple[Site, list[Json]]) -> Site:
    return site_and_cookies[0]


@pytest.fixture
def cookies(site_and_cookies: tuple[Site, list[Json]]) -> list[Json]:
    return site_and_cookies[1]


@pytest.fixture(scope="package")
def shown(site_and_cookies: tuple[Site, list[Json]]) -> dict[str, str]:
    """An endpoint that has run, with a hint and a failing neighbour."""
    site = site_and_cookies[0]
    endpoint = site.add("shown", job="shop", description="Is the shop open?")["id"]
    failing = site.add("failing", "/fail", job="shop")["id"]
    site.call("PUT", f"/endpoints/{endpoint}/hints/interval", {"interval_ms": "30m", "reason": "sale"})
    site.run(failing)
    run = site.run(endpoint)["id"]
    session = site.call("POST", f"/endpoints/{failing}/look")["id"]  # without a description only we look at it
    return {"endpoint": endpoint, "run": run, "session": session}


@pytest.fixture
def page(browser: Browser, site_and_cookies: tuple[Site, list[Json]]) -> Iterator[Page]:
    """A signed-in page; it fails its test for every error in the console and every exception in a script."""
    site, cookies = site_and_cookies
    context = browser.new_context(base_url=site.url, viewport={"width": 1440, "height": 900})
    context.add_cookies(cookies)
    context.set_default_timeout(15_000)
    page = context.new_page()
    faults: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        # The browser itself reports every refusal; a form that asks before it saves meets some.
        is_refusal = re.search(r"status of (409|422)", message.text)
        if message.type in ("error", "warning") and not is_refusal:
            faults.append(f"{message.type}: {message.text}")

    page.on("console", hear)
    page.on("pageerror", lambda error: faults.append(f"exception: {error}"))
    yield page
    context.close()
    assert faults == []


@pytest.fixture
def browser_page(browser: Browser, site: Site) -> Iterator[Page]:
    """Nobody is signed in. Refusals are part of what is tried here, so the console is not watched."""
    context = browser.new_context(base_url=site.url, viewport={"width": 1440, "height": 900})
    context.set_default_timeout(15_000)
    yield context.new_page()
    context.close()

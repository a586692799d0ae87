"""The main walk with a history on PostgreSQL; `--long`: 10,000 endpoints and 1,000,000 runs, on both stores.

How fast the pages are then is measured by `python -m benchmarks.pages`.
"""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from benchmarks.pages import fill
from playwright.sync_api import Browser, Page, expect

from tests.browser.site import cookies_for, open_site
from tests.browser.tab import Tab
from tests.harness.processes import Processes


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    long_run = metafunc.config.getoption("--long")
    metafunc.parametrize("old_site", ["postgres", "sqlite"] if long_run else ["postgres"], indirect=True)


@pytest.fixture
def old_site(
    request: pytest.FixtureRequest, processes: Processes, tmp_path: Path, long_run: bool, browser: Browser
) -> Iterator[Page]:
    endpoints, runs = (10_000, 1_000_000) if long_run else (300, 6_000)
    is_sqlite = request.param == "sqlite"
    url = f"sqlite://{tmp_path}/old.db" if is_sqlite else str(request.getfixturevalue("postgres_url"))
    with ThreadPoolExecutor(1) as thread:  # beside Playwright's own loop
        thread.submit(asyncio.run, fill(url, endpoints, runs)).result()
    with open_site(processes, tmp_path, MAINSPRING_DATABASE_URL=url) as site:
        tab = Tab(browser, site, cookies_for(site, site.log_in()))
        yield tab.take()
        assert tab.give_back() == []
        tab.close()


def test_main_walk_with_a_history(old_site: Page) -> None:
    old_site.goto("/")
    expect(old_site.get_by_role("heading", level=2, name="Next runs")).to_be_visible()
    old_site.get_by_role("link", name="Endpoints", exact=True).click()
    expect(old_site.get_by_role("heading", level=1, name="Endpoints")).to_be_visible()  # the overview names some too
    expect(old_site.get_by_role("link", name="bench 0", exact=True)).to_be_visible()
    old_site.get_by_label("Filter by text").fill("bench 7")
    expect(old_site.get_by_role("link", name="bench 7", exact=True)).to_be_visible()
    old_site.get_by_role("link", name="bench 7", exact=True).click()
    expect(old_site.get_by_role("heading", name="Time between runs")).to_be_visible()
    old_site.get_by_role("button", name="Pause").click()
    old_site.get_by_label("Reason").fill("it is old")
    old_site.get_by_role("dialog").get_by_role("button", name="Pause").click()
    expect(old_site.get_by_text("it is old").first).to_be_visible()
    old_site.get_by_role("button", name="Resume").click()
    expect(old_site.get_by_role("button", name="Pause")).to_be_visible()
    old_site.get_by_role("link", name="Runs", exact=True).click()
    expect(old_site.get_by_role("button", name="Show more")).to_be_visible()
    old_site.goto("/runs?status=failure")
    old_site.locator("tbody a").first.click()
    expect(old_site.get_by_role("heading", level=1, name="Run of bench")).to_be_visible()

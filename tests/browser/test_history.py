"""The main walk on PostgreSQL with a history; `--long`: 10,000 endpoints, 1,000,000 runs, and how fast pages paint."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from benchmarks.api_reads import seed
from benchmarks.world import filled
from playwright.sync_api import Browser, Page, expect

from mainspring.wiring.clock import SystemClock
from tests.browser.site import cookies_for, open_site
from tests.harness.processes import Processes

PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"


async def _fill(url: str, endpoints: int, runs: int) -> None:
    now = SystemClock().now()
    soon = now + timedelta(hours=1)
    async with filled(url, endpoints, "http://127.0.0.1:9/", soon, spread_s=3600, interval_ms=3_600_000):
        await seed(url, endpoints, runs, now)


@pytest.fixture
def old_site(
    processes: Processes, postgres_url: str, tmp_path: Path, long_run: bool, browser: Browser
) -> Iterator[Page]:
    endpoints, runs = (10_000, 1_000_000) if long_run else (300, 6_000)
    with ThreadPoolExecutor(1) as thread:  # beside Playwright's own loop
        thread.submit(asyncio.run, _fill(postgres_url, endpoints, runs)).result()
    with open_site(processes, tmp_path, MAINSPRING_DATABASE_URL=postgres_url) as site:
        context = browser.new_context(base_url=site.url, viewport={"width": 1440, "height": 900})
        context.add_cookies(cookies_for(site, site.log_in()))
        yield context.new_page()
        context.close()


def test_main_walk_on_postgresql_with_a_history(
    old_site: Page, record_property: Callable[[str, object], None], long_run: bool
) -> None:
    old_site.goto("/")
    expect(old_site.get_by_role("heading", level=2, name="Next runs")).to_be_visible()
    old_site.get_by_role("link", name="Endpoints", exact=True).click()
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

    if long_run:
        paints = []
        for path in ("/", "/endpoints", "/runs", "/endpoints/ep_bench_0000007"):
            old_site.goto(path)
            expect(old_site.locator("[aria-busy=true]")).to_have_count(0)
            paints.append(round(old_site.evaluate(PAINT)))
        record_property("figures", f"first paint in ms: {paints}")

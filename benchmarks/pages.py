"""How fast pages are in a real Chromium with a long history: 10,000 endpoints and 1,000,000 runs over 30 days.

    python -m benchmarks.pages [--stores sqlite postgres] [--endpoints 10000] [--runs 1000000] [--rounds 5]

For each store a real server is started on the filled database. Printed, as median and worst of the rounds, in ms:
1. first paint: each page loaded by its address with warm caches of the browser, until something of it is drawn;
2. content: the same, until the page shows what it is about and nothing of it is still being read;
3. next paint: from a key or a click until the page is drawn again, as the browser itself reports it;
4. answer: from the same key or click until what was asked for is on the page, the server's part and the 250 ms in which
   a filter waits for the next key included;
5. change: from the answer to a change made elsewhere through the API until an open page shows it.
"""

import argparse
import asyncio
import statistics
import tempfile
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright
from tests.browser.site import CHROMIUM, FLAGS, WHY_NOT, Site, cookies_for, open_site
from tests.browser.tab import settle
from tests.harness.processes import Processes

from benchmarks.api_reads import seed
from benchmarks.world import database_url, filled
from mainspring.wiring.clock import SystemClock

PAINT_GOAL_MS, INTERACTION_GOAL_MS, CHANGE_GOAL_MS = 1_000, 100, 1_000
ONE = "/endpoints/ep_bench_0000007"
PAGES = {"overview": "/", "endpoints": "/endpoints", "runs": "/runs", "one endpoint": ONE, "events": "/events"}
PAINT = """() => new Promise((done) => {
  const keep = (each) => { if (each.name === "first-contentful-paint") done(each.startTime); };
  new PerformanceObserver((list) => list.getEntries().forEach(keep)).observe({ type: "paint", buffered: true });
})"""
CONTENT = """
window.contentAfter = new Promise((resolve) => {
  const look = () => (document.querySelector("h1") && !document.querySelector("[aria-busy=true]")
    ? resolve(performance.now()) : requestAnimationFrame(look));
  requestAnimationFrame(look);
});
"""
WATCH = """() => {
  window.paints = [];
  const keep = (each) => { if (each.interactionId) window.paints.push(each.duration); };
  const observer = new PerformanceObserver((list) => list.getEntries().forEach(keep));
  observer.observe({ type: "event", durationThreshold: 16 });
}"""
# Begin to count now or with the next key or click, and end with the first frame that shows the text in that place.
COUNT = """([selector, text, isNow]) => {
  window.shownAfter = new Promise((resolve) => {
    const begin = () => {
      const start = performance.now();
      const look = () => ([...document.querySelectorAll(selector)].some((each) => each.textContent.includes(text))
        ? resolve(performance.now() - start) : requestAnimationFrame(look));
      requestAnimationFrame(look);
    };
    if (isNow) begin();
    else for (const kind of ["keydown", "pointerdown"]) addEventListener(kind, begin, { once: true, capture: true });
  });
}"""


class Figures:
    def __init__(self) -> None:
        self.found: dict[str, list[float]] = {}

    def add(self, what: str, ms: float) -> None:
        self.found.setdefault(what, []).append(ms)

    def tell(self, kind: str, goal_ms: int) -> None:
        for what, spans in self.found.items():
            if what.startswith(kind):
                ratio = max(spans) / goal_ms
                print(f"  {what:44} p50 {statistics.median(spans):6.0f}   worst {max(spans):6.0f}   {ratio:.2f} x goal")


async def fill(url: str, endpoints: int, runs: int) -> None:
    now = SystemClock().now()
    soon = now + timedelta(hours=1)
    async with filled(url, endpoints, "http://127.0.0.1:9/", soon, spread_s=3600, interval_ms=3_600_000):
        await seed(url, endpoints, runs, now)


def interact(page: Page, figures: Figures, last: str) -> None:
    """Filter, page on, open: each counted until its next paint and until its answer."""

    def count(what: str) -> None:
        figures.add(f"answer, {what}", page.evaluate("window.shownAfter"))
        page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)))")
        for ms in page.evaluate("window.paints.splice(0)") or [16]:  # below 16 ms the browser reports nothing
            figures.add(f"next paint, {what}", ms)

    page.goto("/endpoints")
    settle(page)
    page.evaluate(WATCH)
    row = "tbody tr"
    page.evaluate(COUNT, [row, last, False])
    page.get_by_label("Filter by text").press_sequentially(last)
    count("filter the endpoints by text")
    page.get_by_label("Filter by text").fill("")
    page.get_by_role("button", name="Show more").wait_for()
    page.evaluate(COUNT, [f"{row}:nth-child(90)", "bench", False])
    page.get_by_role("button", name="Show more").click()
    count("50 more endpoints")
    page.evaluate(COUNT, ["h1", "bench 0", False])
    page.get_by_role("link", name="bench 0", exact=True).click()
    count("open an endpoint")
    page.evaluate(COUNT, ["[role=dialog]", "Reason", False])
    page.get_by_role("button", name="Pause", exact=True).click()
    count("open a dialog")
    page.keyboard.press("Escape")
    page.evaluate(COUNT, ["h1", "Endpoints", False])
    page.get_by_role("link", name="Endpoints", exact=True).click()
    count("back to a list of 100")
    page.evaluate(COUNT, ["[role=region]", "selected", False])
    page.get_by_label("Select all shown").click()
    count("select 100")
    page.evaluate(COUNT, ["[role=dialog]", "Pages", False])
    page.keyboard.press("Control+k")
    count("open the palette")
    page.evaluate(COUNT, ["[role=option]", last, False])
    page.keyboard.type(last)
    count("find an endpoint in the palette")
    page.keyboard.press("Escape")
    page.evaluate(COUNT, ["h1", "Overview", False])
    page.get_by_role("link", name="Overview", exact=True).click()
    count("to the overview")
    page.goto("/runs")
    settle(page)
    page.evaluate(WATCH)
    page.evaluate(COUNT, [f"{row}:nth-child(90)", "bench", False])
    page.get_by_role("button", name="Show more").click()
    count("50 more runs")


def follow(page: Page, site: Site, figures: Figures, place: int) -> None:
    page.goto(ONE)
    settle(page)
    expect(page.get_by_label("Events: live")).to_be_visible()
    site.call("POST", f"{ONE}/pause", {"reason": f"for the round {place}"})
    page.evaluate(COUNT, ["main", f"for the round {place}", True])
    figures.add("change, a pause seen in its endpoint", page.evaluate("window.shownAfter"))
    site.call("POST", f"{ONE}/resume")


def measure(url: str, rounds: int, last: str) -> Figures:
    figures = Figures()
    with (
        tempfile.TemporaryDirectory() as folder,
        Processes() as processes,
        open_site(processes, Path(folder), MAINSPRING_DATABASE_URL=url) as site,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        context = browser.new_context(base_url=site.url, viewport={"width": 1440, "height": 900})
        context.set_default_timeout(60_000)
        context.add_cookies(cookies_for(site, site.log_in()))
        context.add_init_script(CONTENT)
        page = context.new_page()
        for place in range(rounds + 1):
            some = figures if place else Figures()  # the first fills caches, the database's too
            for what, path in PAGES.items():
                page.goto(path)
                settle(page)
                some.add(f"first paint, {what}", page.evaluate(PAINT))
                some.add(f"content, {what}", page.evaluate("window.contentAfter"))
            interact(page, some, last)
            follow(page, site, some, place)
        browser.close()
    return figures


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--stores", nargs="+", default=["sqlite", "postgres"])
    parser.add_argument("--endpoints", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    wanted = parser.parse_args()
    if WHY_NOT:
        raise SystemExit(WHY_NOT)
    expect.set_options(timeout=60_000)
    for kind in wanted.stores:
        with database_url(kind) as url:
            asyncio.run(fill(url, wanted.endpoints, wanted.runs))
            with ThreadPoolExecutor(1) as thread:
                figures = thread.submit(measure, url, wanted.rounds, f"bench {wanted.endpoints - 1}").result()
        print(f"\n{kind}: {wanted.endpoints:,} endpoints, {wanted.runs:,} runs; ms")
        figures.tell("first paint", PAINT_GOAL_MS)
        figures.tell("content", PAINT_GOAL_MS)
        figures.tell("next paint", INTERACTION_GOAL_MS)
        figures.tell("answer", INTERACTION_GOAL_MS)
        figures.tell("change", CHANGE_GOAL_MS)


if __name__ == "__main__":
    main()

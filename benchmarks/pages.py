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
from collections.abc import Callable
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
    """Go, filter, page on, select, open, switch: each counted until its next paint and until its answer."""

    def act(what: str, do: Callable[[], object], place: str, text: str) -> None:
        """`text` in `place` is the answer."""
        page.evaluate("window.paints.splice(0)")
        page.evaluate(COUNT, [place, text, False])
        do()
        figures.add(f"answer, {what}", page.evaluate("window.shownAfter"))
        settle(page)
        page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)))")
        paints = page.evaluate("window.paints.splice(0)")
        figures.add(f"next paint, {what}", max(paints, default=16))  # below 16 ms the browser reports nothing

    def go(name: str) -> None:
        act(f"go to {name}", page.get_by_role("link", name=name, exact=True).first.click, "h1", name)

    def press(name: str) -> Callable[[], object]:
        return page.get_by_role("button", name=name, exact=True).click

    row, keyboard, words = "tbody tr", page.keyboard, page.get_by_label("Filter by text")
    page.goto("/")
    settle(page)
    page.evaluate(WATCH)
    for name in ("Endpoints", "Jobs", "Runs", "Events", "Workflows", "Executions", "Planner", "Settings", "Overview"):
        go(name)
    act("runs of 7 days", page.get_by_text("7 d", exact=True).click, "svg[role=img]", "")
    scheme = page.get_by_label("Show in dark colours").or_(page.get_by_label("Show in light colours"))
    act("dark colours", scheme.click, "[data-mantine-color-scheme=dark] h1", "")
    act("light colours", scheme.click, "[data-mantine-color-scheme=light] h1", "")
    act("open the palette", lambda: keyboard.press("Control+k"), "[role=dialog]", "Pages")
    act("find an endpoint in the palette", lambda: keyboard.type(last), "[role=option]", last)
    keyboard.press("Escape")
    go("Endpoints")
    act("filter the endpoints by text", lambda: words.press_sequentially(last), row, last)
    act("clear the filter", page.get_by_label("Clear the text").click, f"{row}:nth-child(40)", "bench")
    act("50 more endpoints", press("Show more"), f"{row}:nth-child(90)", "bench")
    act("the next row of 100", lambda: keyboard.press("j"), "tr[data-chosen]", "bench")
    act("select 100", page.get_by_label("Select all shown").click, "[role=region]", "selected")
    act("open an endpoint", page.get_by_role("link", name="bench 0", exact=True).click, "h1", "bench 0")
    act("open a dialog", press("Pause"), "[role=dialog]", "Reason")
    keyboard.press("Escape")
    act("open the form of a rule", press("Add a rule"), "[role=dialog]", "When")
    keyboard.press("Escape")
    act("back to a list of 100", page.get_by_role("link", name="Endpoints", exact=True).first.click, "h1", "Endpoints")
    go("Runs")
    act("50 more runs", press("Show more"), f"{row}:nth-child(90)", "bench")
    act("open a run", page.locator("tbody a.go").first.click, "h1", "Run of")


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

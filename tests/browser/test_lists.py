"""Lists of thousands: how many there are, in which order, and that only what is in sight is drawn."""

import asyncio
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from benchmarks.pages import fill
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.site import Site, cookies_for, open_site
from tests.browser.tab import Tab, go, settle
from tests.harness.processes import Processes

ENDPOINTS, RUNS = 1_200, 3_000
DRAWN_MAX = 120
TO_THE_END = "() => window.scrollTo(0, document.documentElement.scrollHeight)"
TRIES = 5
LONGEST_FRAME = """async () => {
    let longest = 0, before = performance.now();
    for (let step = 0; step < 40; step += 1) {
        window.scrollBy(0, 400);
        await new Promise(requestAnimationFrame);
        const now = performance.now();
        longest = Math.max(longest, now - before);
        before = now;
    }
    return longest;
}"""


@pytest.fixture(scope="module")
def long_lists(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    """A site with a history, on SQLite."""
    folder: Path = tmp_path_factory.mktemp("long")
    url = f"sqlite://{folder}/long.db"
    with ThreadPoolExecutor(1) as thread:  # beside Playwright's own loop
        thread.submit(asyncio.run, fill(url, ENDPOINTS, RUNS)).result()
    with Processes() as processes, open_site(processes, folder, MAINSPRING_DATABASE_URL=url) as site:
        tab = Tab(browser, site, cookies_for(site, site.log_in()))
        tab.take()
        yield tab
        assert tab.give_back() == []
        tab.close()


def rows(page: Page) -> Locator:
    return page.locator("tr[data-row]")


def scroll_until(page: Page, place: int) -> None:
    """Scroll to the end, and to the next one when another page has come, until so many rows are loaded."""
    page.wait_for_function(
        "place => { window.scrollTo(0, document.documentElement.scrollHeight); "
        "return [...document.querySelectorAll('tr[data-row]')].some(row => Number(row.dataset.row) >= place); }",
        arg=place,
    )


def longest_frame(page: Page) -> float:
    page.evaluate("window.scrollTo(0, 0)")
    return float(page.evaluate(LONGEST_FRAME))


@pytest.mark.parametrize(("path", "words"), [("/endpoints", "1,200 endpoints"), ("/runs", "3,000 runs")])
def test_long_list_says_its_total_and_draws_what_is_in_sight(long_lists: Tab, path: str, words: str) -> None:
    page = long_lists.page
    go(page, path)
    if path == "/endpoints":
        expect(page.get_by_role("status").filter(has_text=words)).to_be_visible()
    else:  # endpoints of the history may run meanwhile
        expect(page.get_by_role("status").filter(has_text=re.compile(r"^[23],\d{3} runs$"))).to_be_visible()
    scroll_until(page, 700)

    assert rows(page).count() < DRAWN_MAX
    page.evaluate("window.scrollTo(0, 0)")
    expect(page.locator("tr[data-row='0']")).to_be_visible()
    # 20 ms on a quiet machine. A slow list is slow each time; beside other work one try may wait for a processor.
    assert any(longest_frame(page) < 250 for _ in range(TRIES)), "scrolling stutters"


def test_endpoints_are_sorted_by_the_server_over_all_pages(long_lists: Tab) -> None:
    page = long_lists.page
    go(page, "/endpoints")
    page.get_by_role("button", name="Endpoint", exact=False).first.click()
    page.wait_for_url("**/endpoints?sort=-name")
    expect(page.locator("tr[data-row='0']")).to_contain_text("bench 999")
    expect(page.get_by_role("columnheader", name="Endpoint")).to_have_attribute("aria-sort", "descending")
    page.get_by_role("button", name="Next run").click()
    page.wait_for_url("**/endpoints?sort=next_run_at")
    soonest = long_lists.site.call("GET", "/endpoints?sort=next_run_at&limit=1")["items"][0]["name"]
    expect(page.locator("tr[data-row='0']")).to_contain_text(soonest)


def test_runs_are_read_oldest_first(long_lists: Tab) -> None:
    page = long_lists.page
    oldest = long_lists.site.call("GET", "/runs?sort=started_at&limit=1")["items"][0]["id"]
    go(page, "/runs")
    page.get_by_role("button", name="Started").click()
    page.wait_for_url("**/runs?sort=started_at")
    expect(page.locator(f"tr[data-row='0'] a[href='/runs/{oldest}']")).to_be_visible()


def test_audit_trail_and_deliveries_say_their_total(page: Page, site: Site, shown: dict[str, str]) -> None:
    page.goto("/settings?tab=audit")
    settle(page)
    newest = site.call("GET", "/audit?limit=1")["items"][0]["seq"]
    expect(page.get_by_role("status").filter(has_text=f"{newest:,} entries")).to_be_visible()
    page.goto("/settings?tab=webhooks")
    page.get_by_role("row").filter(has_text="shown hook").get_by_role("button", name="Deliveries").click()
    expect(page.get_by_role("dialog").get_by_text(re.compile(r"^[\d,]+\+? deliver(y|ies)$"))).to_be_visible()


def test_number_of_failing_endpoints_is_the_same_on_the_overview_and_in_the_list(page: Page, site: Site) -> None:
    """One that is paused while it fails counts in both, and its row says so."""
    endpoint = site.add("fails and rests", "/fail")["id"]
    site.run(endpoint)
    site.call("POST", f"/endpoints/{endpoint}/pause", {"reason": "too loud"})
    page.goto("/")
    figure = page.locator("a", has=page.get_by_text("Failing", exact=True))
    count = int(figure.locator("p").nth(1).inner_text())
    figure.click()
    page.wait_for_url("**/endpoints?state=failing")
    expect(page.get_by_role("status").filter(has_text="endpoint")).to_have_text(
        f"{count} endpoints" if count > 1 else "1 endpoint"
    )
    expect(page.get_by_role("row").filter(has_text="fails and rests")).to_contain_text("paused, failing")
    page.goto("/")
    card = page.locator(".mantine-Card-root").filter(has=page.get_by_role("heading", name="Failures in the last"))
    expect(card.get_by_text("failing", exact=True).first).to_be_visible()
    site.call("DELETE", f"/endpoints/{endpoint}")


def test_deliveries_of_a_webhook_that_is_off_say_that_nothing_is_sent(
    page: Page, site: Site, shown: dict[str, str]
) -> None:
    hook = site.call("POST", "/webhooks", {"url": f"{site.shop}/fail", "name": "silenced"})["id"]
    site.run(shown["endpoint"])
    page.goto("/settings?tab=webhooks")
    page.get_by_role("row").filter(has_text="silenced").get_by_role("button", name="Deliveries").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("next ").first).to_be_visible()  # it failed, and is to be tried again
    site.call("PATCH", f"/webhooks/{hook}", {"enabled": False})
    page.goto("/settings?tab=webhooks")
    page.get_by_role("row").filter(has_text="silenced").get_by_role("button", name="Deliveries").click()
    expect(dialog.get_by_role("note")).to_contain_text("The webhook is off")
    expect(dialog.get_by_text("not sent while this is off").first).to_be_visible()
    expect(dialog.get_by_role("button", name="Send again")).to_have_count(0)
    site.call("DELETE", f"/webhooks/{hook}")


def test_back_test_says_over_which_endpoints_it_played(page: Page, site: Site) -> None:
    first = site.add("played one", job="played")["id"]
    second = site.add("played two", job="played")["id"]
    for each in (first, second, first):
        site.run(each)
    page.goto(f"/planner?tab=backtest&endpoint={first}")
    page.get_by_label("Run every").fill("1h")
    page.get_by_role("button", name="Run back-test").click()
    expect(page.get_by_role("status").filter(has_text="Played over")).to_contain_text(
        re.compile(r"recorded runs of 2 endpoints, all of the job: played (one|two), played (one|two)")
    )
    site.call("DELETE", f"/endpoints/{first}")
    site.call("DELETE", f"/endpoints/{second}")


def test_activity_is_in_the_order_in_which_it_happened(page: Page, shown: dict[str, str]) -> None:
    page.goto("/events")
    settle(page)
    times = page.locator(".feed time").evaluate_all("all => all.map(each => Date.parse(each.dateTime))")

    assert len(times) > 3
    assert times == sorted(times, reverse=True)


def test_list_names_the_time_zone_of_a_cron_and_the_next_change_of_its_clocks(page: Page, site: Site) -> None:
    """Of two yearly times in Berlin one is in summer, so clocks change before one of them, whatever the day is."""
    job = "clocks"
    crons = {"in January": "30 2 15 1 *", "in July": "30 2 15 7 *"}
    made = {
        name: site.add(f"{name} in Berlin", cron=cron, timezone="Europe/Berlin", job=job)
        for name, cron in crons.items()
    }
    site.add("daily in UTC", cron="30 2 * * *", timezone="UTC", job=job)
    site.add("an interval", timezone="Europe/Berlin", job=job)

    go(page, f"/endpoints?job={job}")
    expect(rows(page)).to_have_count(4)
    told = {name: page.get_by_role("row").filter(has_text=f"{name} in Berlin") for name in crons}

    for name, row in told.items():
        expect(row).to_contain_text(re.compile(r"at 02:30.*, Europe/Berlin", re.IGNORECASE))
        day = clocks_change_on("Europe/Berlin", made[name]["next_run_at"])
        expect(row.get_by_text("clocks change on")).to_have_text([f"clocks change on {day}"] if day else [])
    assert any(row.get_by_text("clocks change on").count() for row in told.values())
    daily = page.get_by_role("row").filter(has_text="daily in UTC")
    expect(daily).to_contain_text(", UTC")
    expect(daily.get_by_text("clocks change on")).to_have_count(0)
    interval = page.get_by_role("row").filter(has_text="an interval")
    expect(interval).to_contain_text("every 30d")
    expect(interval).not_to_contain_text("Berlin")
    site.call("POST", "/bulk/archive", {"matching": {"job": job}})


def clocks_change_on(zone: str, next_run_at: str) -> str | None:
    """The day within a week, or before the next run, after which the zone has another offset."""
    now = datetime.now(ZoneInfo(zone))
    end = max(now + timedelta(days=7), datetime.fromisoformat(next_run_at).astimezone(ZoneInfo(zone)))
    if end.utcoffset() == now.utcoffset():
        return None
    at = now.astimezone(UTC)
    while at.astimezone(ZoneInfo(zone)).utcoffset() == now.utcoffset():
        at += timedelta(minutes=1)
    return at.astimezone(ZoneInfo(zone)).date().isoformat()

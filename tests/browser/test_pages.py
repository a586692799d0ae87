"""Every page in a real browser: it shows, nothing in it fails, and axe finds nothing serious."""

import json
from collections.abc import Iterator
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.site import EMAIL, PASSWORD, Json, Site, many_endpoints
from tests.browser.tab import PAGES, PATIENCE_MS, go, serious, settle

SCREENS: dict[str, tuple[Literal["light", "dark"], int, tuple[str, ...]]] = {
    "light": ("light", 1440, ()),
    "dark and narrow": ("dark", 390, ("color-contrast", "scrollable-region-focusable")),  # the rest is the same
}

# Ticks the box of a list as it appears, before the page gets to do anything else.
# Colours have faded over. An animation that repeats for ever never finishes, so this does not wait for long.
FADED = """() => Promise.race([
  Promise.allSettled(document.getAnimations().map((each) => each.finished)),
  new Promise((wake) => setTimeout(wake, 5000)),
])"""
TICKED_AT_ONCE = """() => {
  const look = (_, self) => {
    const box = document.querySelector('[aria-label="Select all shown"]');
    if (box) { self.disconnect(); box.click(); }
  };
  new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
}"""


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("name", PAGES)
def test_page_shows_and_is_accessible(name: str, screen: str, page: Page, shown: dict[str, str]) -> None:
    scheme, width, rules = SCREENS[screen]
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    go(page, PAGES[name].format(**shown))
    expect(page.locator(f"html[data-mantine-color-scheme={scheme}]")).to_have_count(1)
    page.evaluate(FADED)

    assert serious(page, rules) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_who_is_not_signed_in_is_led_to_the_login_and_back(browser_page: Page, shown: dict[str, str]) -> None:
    browser_page.goto("/endpoints?state=failing")
    browser_page.get_by_label("Email").fill(EMAIL)
    browser_page.locator("input[type=password]").fill("wrong words in a row")
    browser_page.get_by_role("button", name="Sign in", exact=True).click()
    expect(browser_page.get_by_role("alert")).to_be_visible()
    browser_page.locator("input[type=password]").fill(PASSWORD)
    browser_page.get_by_role("button", name="Sign in", exact=True).click()

    expect(browser_page.get_by_role("heading", level=1, name="Endpoints")).to_be_visible()
    assert browser_page.url.endswith("/t/default/endpoints?state=failing")
    browser_page.get_by_role("button", name="Account").click()
    browser_page.get_by_role("menuitem", name="Sign out").click()
    expect(browser_page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_endpoint_is_made_with_its_runs_foreseen_then_run_paused_and_resumed(page: Page, site: Site) -> None:
    page.goto("/endpoints/new")
    page.get_by_label("Name").fill("by hand")
    page.get_by_label("URL").fill(f"{site.shop}/ok")
    page.get_by_text("Cron schedule").click()
    page.get_by_label("Cron expression").fill("0 3 * * *")
    expect(page.get_by_text("At 03:00")).to_be_visible()
    page.get_by_role("button", name="Send test call").click()
    expect(page.get_by_text("success 200")).to_be_visible()
    page.get_by_role("button", name="Create endpoint").click()
    expect(page.get_by_role("heading", level=1, name="by hand")).to_be_visible()

    page.get_by_role("button", name="Run now").click()
    expect(page.get_by_role("row").get_by_text("success 200")).to_be_visible()
    page.get_by_role("button", name="Pause").click()
    page.get_by_label("Reason").fill("moving house")
    page.get_by_role("dialog").get_by_role("button", name="Pause").click()
    expect(page.get_by_text("moving house").first).to_be_visible()
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()


def test_endpoint_that_waits_for_the_rate_of_its_host_says_so(page: Page, site: Site) -> None:
    address = f"127.0.0.2:{site.shop.rpartition(':')[2]}"
    first, second = (site.add(name, url=f"http://{address}/ok")["id"] for name in ("goes first", "waits"))
    site.run(first)
    site.call("POST", f"/endpoints/{second}/run")
    page.goto(f"/endpoints/{second}")

    notice = page.get_by_role("note").filter(has_text=f"Waiting for {address}")
    expect(notice).to_contain_text(f"waits for host {address}, which is limited to 1/h")
    expect(notice).to_contain_text(f"raise the rate of {address} in MAINSPRING_HOST_LIMITS")


def test_smallest_phone_shows_when_long_names_run_next_and_both_kinds_of_schedules(page: Page, site: Site) -> None:
    name = "a name so long that it alone would fill more than one line of any phone"
    endpoint = site.add(name, every="30s")["id"]
    page.set_viewport_size({"width": 360, "height": 800})
    page.goto("/")
    instant = page.locator(".lines .instant").first
    expect(instant).to_be_visible()
    expect(page.get_by_title("a name so long")).to_be_visible()
    next_run = instant.bounding_box()
    page.goto("/endpoints/new")
    kind = page.get_by_text("Cron schedule").bounding_box()
    frame = page.get_by_role("radiogroup", name="Schedule type").bounding_box()
    site.call("DELETE", f"/endpoints/{endpoint}")  # its runs would be told to webhooks of other tests

    assert next_run is not None
    assert next_run["x"] + next_run["width"] < 360
    assert kind is not None
    assert frame is not None
    assert kind["x"] + kind["width"] <= frame["x"] + frame["width"]


def test_times_of_a_new_endpoint_are_chosen_in_words_and_meant_where_the_reader_is(
    browser: Browser, site_and_cookies: tuple[Site, list[Json]]
) -> None:
    site, cookies = site_and_cookies
    context = browser.new_context(base_url=site.url, timezone_id="Asia/Tokyo")
    context.add_cookies(cookies)
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.goto("/endpoints/new")
    page.get_by_label("Name").fill("in Tokyo")
    page.get_by_label("URL").fill(f"{site.shop}/ok")
    page.get_by_text("Cron schedule").click()
    page.get_by_role("button", name="weekdays at 09:00").click()
    expect(page.get_by_label("Cron expression")).to_have_value("0 9 * * 1-5")
    expect(page.get_by_label("Time zone")).to_have_value("Asia/Tokyo")
    expect(page.get_by_role("cell", name="09:00:00 GMT+9").first).to_be_visible()
    context.close()


def test_mistake_in_the_form_is_said_where_it_is(page: Page, site: Site) -> None:
    page.goto("/endpoints/new")
    page.get_by_label("Name").fill("mistaken")
    page.get_by_label("URL").fill(f"{site.shop}/ok")
    page.get_by_role("textbox", name="Interval", exact=True).fill("1ms")
    expect(page.get_by_role("textbox", name="Interval", exact=True)).to_have_attribute("aria-invalid", "true")


@pytest.fixture
def herd(site: Site) -> Iterator[None]:
    """More endpoints than a page of the list holds."""
    with many_endpoints(site, "herd", 52):
        yield


def test_select_all_shown_includes_rows_that_are_not_drawn_yet(page: Page, herd: None) -> None:
    """The first rows are drawn at once and the rest a moment later. On a busy machine that moment is long enough."""
    page.goto("/")
    settle(page)
    page.evaluate(TICKED_AT_ONCE)
    go(page, "/endpoints?job=herd")
    expect(page.get_by_label("Select all shown")).to_be_checked()
    expect(page.get_by_role("region", name="Selection")).to_contain_text("50 selected")
    expect(page.get_by_role("button", name="Select all matching")).to_be_visible()


def test_all_that_match_are_paused_at_once_after_their_number_is_told(page: Page, site: Site, herd: None) -> None:
    page.goto("/endpoints?job=herd")
    page.get_by_label("Select all shown").check()
    page.get_by_role("button", name="Select all matching").click()
    page.get_by_role("region", name="Selection").get_by_role("button", name="Pause").click()
    expect(page.get_by_text("52 of 52 would change.")).to_be_visible()
    page.get_by_label("Reason").fill("moving the herd")
    page.get_by_role("dialog").get_by_role("button", name="Pause").click()
    expect(page.get_by_text("52 paused")).to_be_visible()

    assert len(site.call("GET", "/endpoints?job=herd&state=paused&limit=200")["items"]) == 52


def test_run_shows_what_was_sent_and_the_decisions_before_and_after(page: Page, site: Site) -> None:
    endpoint = site.add("decided")["id"]
    first, second = site.run(endpoint)["id"], site.run(endpoint)["id"]
    page.goto(f"/runs/{second}")
    expect(page.get_by_role("heading", name="Planned at that time")).to_be_visible()  # it was asked for
    expect(page.get_by_text("Current: the next run")).to_be_visible()
    expect(page.get_by_text(f"GET {site.shop}/ok")).to_be_visible()
    page.get_by_role("link", name="Previous run").click()
    expect(page.get_by_text(first)).to_be_visible()
    expect(page.get_by_text("Scheduled the next run.")).to_be_visible()
    page.get_by_role("link", name="Next run", exact=True).click()
    expect(page.get_by_text(second)).to_be_visible()


def test_overview_leads_to_all_that_failed_a_blocked_run_says_why_and_is_quieted(page: Page, site: Site) -> None:
    walled = site.add("walled", url="http://10.1.2.3/")["id"]
    site.run(walled)
    page.goto("/")
    card = page.locator(".mantine-Card-root").filter(
        has=page.get_by_role("heading", name="Failures in the last 24 hours")
    )
    expect(card.get_by_role("link", name="walled")).to_be_visible()
    card.get_by_role("link", name="All failed runs").click()
    expect(page.get_by_role("row").filter(has_text="walled")).to_contain_text("10.1.2.3 is private")
    page.get_by_role("link", name="walled").click()
    notice = page.get_by_role("note").filter(has_text="The last run failed")
    expect(notice).to_contain_text("10.1.2.3 is private")
    notice.get_by_role("button", name="Pause endpoint").click()
    page.get_by_role("dialog", name="Pause walled").get_by_role("button", name="Pause").click()
    expect(page.get_by_text("Paused by ann@example.com", exact=True)).to_be_visible()
    go(page, "/")  # a page of what is deleted would ask for it, and the next test would see the refusal
    site.call("DELETE", f"/endpoints/{walled}")


def test_runs_of_an_endpoint_are_found_by_a_part_of_its_name(page: Page, shown: dict[str, str]) -> None:
    page.goto("/runs")
    endpoint = page.get_by_placeholder("Any endpoint")
    endpoint.press_sequentially("no such name")
    expect(page.get_by_text("No endpoint matches")).to_be_visible()
    endpoint.fill("show")
    page.get_by_role("option", name="shown").click()
    page.wait_for_url(f"**/runs?endpoint={shown['endpoint']}")
    expect(page.get_by_role("row").filter(has_text="success 200").first).to_contain_text("shown")


def go_by_keys(page: Page, key: str, title: str) -> None:
    """The two keys belong together for 1.2 s; between them a browser that has no core may take longer."""
    there = page.get_by_role("heading", level=1, name=title)
    for _ in range(10):
        page.keyboard.press("g")
        page.keyboard.press(key)
        try:
            expect(there).to_be_visible(timeout=6_000)
        except AssertionError:
            continue
        return
    expect(there).to_be_visible()


def test_keyboard_alone_finds_and_opens_an_endpoint(page: Page, shown: dict[str, str]) -> None:
    page.goto("/")
    settle(page)
    go_by_keys(page, "e", "Endpoints")
    expect(page.locator("tr[data-row='0']")).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Run now")).to_be_visible()
    page.keyboard.press("Control+k")
    expect(page.get_by_placeholder("Find an endpoint, a page, an action")).to_be_focused()
    page.keyboard.type("shown")
    expect(page.get_by_role("option", selected=True)).to_contain_text("shop · every 30d")  # not what "s" found
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="shown")).to_be_visible()


def test_pause_ends_at_an_instant_of_ones_own_and_every_place_says_so(page: Page, site: Site) -> None:
    endpoint = site.add("until then")["id"]
    page.goto(f"/endpoints/{endpoint}")
    page.get_by_role("button", name="Pause", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Duration").first.click()
    page.get_by_role("option", name="until a date and time").click()
    dialog.get_by_label("Until").fill("2000-01-01T09:30")
    dialog.get_by_role("button", name="Pause").click()
    expect(dialog.get_by_text("give a later time")).to_be_visible()
    dialog.get_by_label("Until").fill("2090-01-31T09:30")
    dialog.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("alert").filter(has_text="Resumes in ")).to_be_visible()
    expect(page.get_by_text("Set by the pause.")).to_be_visible()
    page.get_by_text("Local", exact=True).first.click()
    expect(page.get_by_text("2090-01-31 09:30:00")).not_to_have_count(0)
    expect(page.get_by_text("2090-01-31 09:30 UTC")).to_have_count(0)
    go(page, "/")
    site.call("DELETE", f"/endpoints/{endpoint}")


def test_who_is_signed_in_passes_the_login_by_and_an_unknown_tab_is_the_first(page: Page) -> None:
    page.goto("/planner?tab=nonsense")
    expect(page.get_by_role("tab", name="Rules")).to_have_attribute("aria-selected", "true")
    page.goto("/login")
    expect(page.get_by_role("heading", level=1, name="Overview")).to_be_visible()


def test_dialog_keeps_the_focus_gives_it_back_and_is_sent_by_enter(page: Page, site: Site) -> None:
    endpoint = site.add("by keys")["id"]
    page.goto(f"/endpoints/{endpoint}")
    pause = page.get_by_role("button", name="Pause", exact=True)
    pause.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Reason")).to_be_focused()
    for _ in range(8):
        page.keyboard.press("Tab")
        assert dialog.evaluate("each => each.contains(document.activeElement)")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(pause).to_be_focused()
    page.keyboard.press("Control+k")
    page.keyboard.press("Escape")
    expect(pause).to_be_focused()
    page.keyboard.press("Enter")
    expect(dialog.get_by_label("Reason")).to_be_focused()
    page.keyboard.type("it is noisy")
    page.keyboard.press("Enter")

    expect(page.get_by_role("alert").filter(has_text="it is noisy")).to_be_visible()


def test_body_is_shown_as_a_tree(page: Page, shown: dict[str, str]) -> None:
    page.goto(f"/runs/{shown['run']}")
    expect(page.get_by_test_id("body-tree")).to_contain_text(json.dumps("fine"))
    page.get_by_text("Hex", exact=True).click()
    expect(page.get_by_label("Body in hex")).to_contain_text("00000000")

"""Every page in a real browser: it shows, nothing in it fails, and axe finds nothing serious."""

import json
from typing import cast

import pytest
from playwright.sync_api import Page, expect

from tests.browser.site import EMAIL, PASSWORD, Json, Site
from tests.web.tools import AXE

PAGES = {
    "overview": "/",
    "endpoints": "/endpoints",
    "endpoint": "/endpoints/{endpoint}",
    "new endpoint": "/endpoints/new",
    "edit endpoint": "/endpoints/{endpoint}/edit",
    "jobs": "/jobs",
    "runs": "/runs",
    "run": "/runs/{run}",
    "events": "/events",
    "planner": "/planner",
    "sessions": "/planner?tab=sessions",
    "session": "/planner/sessions/{session}",
    "shadow results": "/planner?tab=shadow",
    "simulation": "/simulation",
    "settings": "/settings",
    "alerts": "/settings?tab=alerts",
    "webhooks": "/settings?tab=webhooks",
    "usage": "/settings?tab=usage",
    "keys": "/settings?tab=keys",
    "signing keys": "/settings?tab=signing",
    "members": "/settings?tab=members",
    "audit trail": "/settings?tab=audit",
}


def open_page(page: Page, path: str) -> None:
    page.goto(path)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.locator("[aria-busy=true]")).to_have_count(0)


def serious(page: Page, rules: tuple[str, ...] = ()) -> list[str]:
    """What axe calls serious or worse, as rule and first place; all its rules unless some are named."""
    # Through the debugger, which the page's policy does not bind.
    page.evaluate(AXE.read_text())
    only = {"runOnly": list(rules)} if rules else {}
    found = cast(Json, page.evaluate("only => axe.run(document, {resultTypes: ['violations'], ...only})", only))
    return [
        f"{each['id']}: {each['nodes'][0]['html'][:200]} {each['nodes'][0]['failureSummary'][:200]}"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("name", PAGES)
def test_page_shows_and_is_accessible_in_light_and_dark(name: str, page: Page, shown: dict[str, str]) -> None:
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    open_page(page, PAGES[name].format(**shown))
    light = serious(page)
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.locator("html[data-mantine-color-scheme=dark]")).to_have_count(1)
    page.evaluate("Promise.allSettled(document.getAnimations().map(each => each.finished))")  # colours fade over
    dark = serious(page, ("color-contrast", "scrollable-region-focusable"))  # the rest is the same document
    width = page.evaluate("document.documentElement.scrollWidth")

    assert light == []
    assert dark == []
    assert width <= 390


def test_who_is_not_signed_in_is_led_to_the_login_and_back(browser_page: Page, shown: dict[str, str]) -> None:
    browser_page.goto("/endpoints?state=failing")
    browser_page.get_by_label("E-mail").fill(EMAIL)
    browser_page.locator("input[type=password]").fill("wrong words in a row")
    browser_page.get_by_role("button", name="Sign in").click()
    expect(browser_page.get_by_role("alert")).to_be_visible()
    browser_page.locator("input[type=password]").fill(PASSWORD)
    browser_page.get_by_role("button", name="Sign in").click()

    expect(browser_page.get_by_role("heading", level=1, name="Endpoints")).to_be_visible()
    assert browser_page.url.endswith("/endpoints?state=failing")
    browser_page.get_by_role("button", name="Account").click()
    browser_page.get_by_role("menuitem", name="Sign out").click()
    expect(browser_page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_endpoint_is_made_with_its_runs_foreseen_then_run_paused_and_resumed(page: Page, site: Site) -> None:
    page.goto("/endpoints/new")
    page.get_by_label("Name").fill("by hand")
    page.get_by_label("URL").fill(f"{site.shop}/ok")
    page.get_by_text("At certain times (cron)").click()
    page.get_by_label("Cron expression").fill("0 3 * * *")
    expect(page.get_by_text("At 03:00")).to_be_visible()
    page.get_by_role("button", name="Send a test call").click()
    expect(page.get_by_text("success 200")).to_be_visible()
    page.get_by_role("button", name="Add the endpoint").click()
    expect(page.get_by_role("heading", level=1, name="by hand")).to_be_visible()

    page.get_by_role("button", name="Run now").click()
    expect(page.get_by_role("row").get_by_text("success 200")).to_be_visible()
    page.get_by_role("button", name="Pause").click()
    page.get_by_label("Reason").fill("moving house")
    page.get_by_role("dialog").get_by_role("button", name="Pause").click()
    expect(page.get_by_text("moving house").first).to_be_visible()
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()


def test_change_made_elsewhere_appears_without_reload(page: Page, site: Site) -> None:
    endpoint = site.add("elsewhere")["id"]
    page.goto(f"/endpoints/{endpoint}")
    expect(page.get_by_label("Events: live")).to_be_visible()

    site.call("POST", f"/endpoints/{endpoint}/pause", {"reason": "by another"})

    expect(page.get_by_text("by another").first).to_be_visible(timeout=5_000)


def test_mistake_in_the_form_is_said_where_it_is(page: Page, site: Site) -> None:
    page.goto("/endpoints/new")
    page.get_by_label("Name").fill("mistaken")
    page.get_by_label("URL").fill(f"{site.shop}/ok")
    page.get_by_label("Interval").fill("1ms")
    expect(page.get_by_label("Interval")).to_have_attribute("aria-invalid", "true")


def test_all_that_match_are_paused_at_once_after_their_number_is_told(page: Page, site: Site) -> None:
    herd = {f"herd {place:02}": {"url": f"{site.shop}/ok", "every": "1h", "job": "herd"} for place in range(52)}
    site.call("POST", "/config/apply", {"document": json.dumps({"endpoints": herd})})  # more than a page of the list
    page.goto("/endpoints?job=herd")
    page.get_by_label("Select all shown").check()
    page.get_by_role("button", name="Select all that match").click()
    page.get_by_role("region", name="Selection").get_by_role("button", name="Pause").click()
    expect(page.get_by_text("52 of 52 would change.")).to_be_visible()
    page.get_by_label("Reason").fill("moving the herd")
    page.get_by_role("dialog").get_by_role("button", name="Pause").click()
    expect(page.get_by_text("52 paused")).to_be_visible()

    assert len(site.call("GET", "/endpoints?job=herd&state=paused&limit=200")["items"]) == 52
    site.call("POST", "/bulk/archive", {"matching": {"job": "herd"}})


def test_run_shows_what_was_sent_and_the_decisions_before_and_after(page: Page, site: Site) -> None:
    endpoint = site.add("decided")["id"]
    first, second = site.run(endpoint)["id"], site.run(endpoint)["id"]
    page.goto(f"/runs/{second}")
    expect(page.get_by_role("heading", name="The decision that planned it")).to_be_visible()
    expect(page.get_by_text("It stands now")).to_be_visible()
    expect(page.get_by_text(f"GET {site.shop}/ok")).to_be_visible()
    page.get_by_role("link", name="Run before").click()
    expect(page.get_by_text(first)).to_be_visible()
    expect(page.get_by_text("It planned the next run.")).to_be_visible()
    page.get_by_role("link", name="Run after").click()
    expect(page.get_by_text(second)).to_be_visible()


def test_keyboard_alone_finds_and_opens_an_endpoint(page: Page, shown: dict[str, str]) -> None:
    page.goto("/")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("e")
    expect(page.get_by_role("heading", level=1, name="Endpoints")).to_be_visible()
    expect(page.get_by_role("link", name="shown", exact=True)).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Run now")).to_be_visible()
    page.keyboard.press("Control+k")
    expect(page.get_by_placeholder("Find an endpoint, a page, an action")).to_be_focused()
    page.keyboard.type("shown")
    expect(page.get_by_role("dialog").get_by_text("shop · every 1h", exact=False).first).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="shown")).to_be_visible()


def test_cut_connection_is_said(browser_page: Page, site: Site) -> None:
    browser_page.goto("/login")
    browser_page.route("**/api/**", lambda route: route.abort())
    browser_page.get_by_label("E-mail").fill(EMAIL)
    browser_page.locator("input[type=password]").fill(PASSWORD)
    browser_page.get_by_role("button", name="Sign in").click()
    expect(browser_page.get_by_role("alert")).to_contain_text("does not answer")


def test_body_is_shown_as_a_tree(page: Page, shown: dict[str, str]) -> None:
    page.goto(f"/runs/{shown['run']}")
    expect(page.get_by_test_id("body-tree")).to_contain_text(json.dumps("fine"))
    page.get_by_text("Hex", exact=True).click()
    expect(page.get_by_label("Body in hex")).to_contain_text("00000000")

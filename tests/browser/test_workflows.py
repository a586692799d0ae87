"""Workflows in a real browser, on one long walk: published, started, answered, proved, replayed, ordered about."""

import re

from playwright.sync_api import Page, expect

from tests.browser.site import Site
from tests.browser.tab import serious

DOCUMENT = """\
name: opinion
description: Ask, and wait for an answer.
input: {{order: integer}}
steps:
  - id: ask
    call: {{url: "{shop}{path}", method: POST, body: {{order: "{{{{ input.order }}}}"}}}}
  - id: reply
    wait_for: {{event: reply, timeout: {timeout}, on_timeout: silent}}
    next: end
  - id: silent
    end: silent
"""


def settle(page: Page) -> list[str]:
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    return serious(page)


def test_input_that_does_not_fit_is_told_in_the_dialog_that_starts_it(page: Page, site: Site) -> None:
    document = DOCUMENT.format(shop=site.shop, path="/ok", timeout="2d").replace("opinion", "picky")
    site.call("POST", "/workflows", {"document": document})
    page.goto("/workflows/picky")
    page.get_by_role("button", name="Start").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Input").fill('{"order": "seven"}')
    form.get_by_role("button", name="Start").click()
    expect(form.get_by_role("alert")).to_contain_text("The input 'order' is 'seven'")


def test_workflow_is_published_started_answered_proved_and_replayed(page: Page, site: Site) -> None:
    page.goto("/workflows")
    faults = settle(page)
    page.get_by_role("button", name="Publish workflow").first.click()
    form = page.get_by_role("dialog")
    form.get_by_label("Document").fill("name: opinion\nsteps: [{id: ask, wait: nonsense}]\n")
    expect(form.get_by_role("alert")).to_contain_text("nonsense")
    form.get_by_label("Document").fill(DOCUMENT.format(shop=site.shop, path="/ok", timeout="2d"))
    expect(form.get_by_text("opinion is new")).to_be_visible()
    form.get_by_role("button", name="Publish").click()
    expect(page.get_by_role("group", name="Graph of")).to_be_visible()
    faults += settle(page)

    page.get_by_role("button", name="Start").click()
    page.get_by_role("dialog").get_by_label("Correlation key").fill("order-7")
    page.get_by_role("dialog").get_by_role("button", name="Start").click()
    expect(page.get_by_role("heading", level=1, name="order-7")).to_be_visible()
    expect(page.get_by_text("reply, waits for an event")).to_be_visible()
    expect(page.get_by_text("waits for 'reply' until 20")).to_be_visible()
    page.get_by_role("button", name="Send event").click()
    page.get_by_role("dialog").get_by_label("Type").fill("reply")
    page.get_by_role("dialog").get_by_label("Data").fill('{"rating": 5}')
    page.get_by_role("dialog").get_by_role("button", name="Send").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("completed")
    page.get_by_role("slider", name="Tick").press("Home")
    expect(page.get_by_role("button", name="Previous tick")).to_be_disabled()
    faults += settle(page)
    page.get_by_role("tab", name="Log and proof").click()
    page.get_by_role("button", name="Verify hash chain").click()
    expect(page.get_by_text("Log verified")).to_be_visible()
    faults += settle(page)
    page.get_by_role("tab", name="Replay").click()
    page.get_by_role("button", name="Replay").click()
    expect(page.get_by_text("Identical, all")).to_be_visible()

    page.get_by_role("link", name="opinion").click()
    page.get_by_role("button", name="New version").click()
    form.get_by_label("Document").fill(DOCUMENT.format(shop=site.shop, path="/fail", timeout="3d"))
    expect(form.get_by_text("opinion: version 2")).to_be_visible()
    form.get_by_role("button", name="Publish").click()
    page.get_by_role("tab", name="Versions").click()
    expect(page.get_by_role("listitem").first).to_be_visible()
    faults += settle(page)

    page.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Archive").click()
    page.get_by_role("dialog").get_by_role("button", name="Archive").click()
    expect(page.get_by_role("button", name="Start")).to_have_count(0)
    page.get_by_role("link", name="Workflows", exact=True).click()
    page.get_by_text(re.compile(r"^Archived \(\d+\)$")).click()
    page.get_by_role("link", name="opinion").click()
    page.get_by_role("button", name="Restore").click()
    expect(page.get_by_role("button", name="Start")).to_be_visible()

    assert "\n".join(faults) == ""


def test_execution_that_failed_is_found_and_skipped_and_another_paused_and_cancelled(page: Page, site: Site) -> None:
    document = DOCUMENT.format(shop=site.shop, path="/fail", timeout="2d").replace("opinion", "doomed")
    site.call("POST", "/workflows", {"document": document})
    failed = site.call("POST", "/workflows/doomed/start", {"input": {"order": 1}, "correlation": "order-1"})

    page.goto("/")
    page.get_by_role("link", name="View all").click()
    expect(page.get_by_role("link", name="order-1")).to_be_visible()
    page.goto("/executions?status=attention&workflow=doomed")
    expect(page.get_by_role("link", name="order-1")).to_be_visible()
    page.get_by_role("button", name="All matching").click()
    page.get_by_role("menuitem", name="Retry").click()
    expect(page.get_by_role("dialog")).to_contain_text("1 execution allows this command.")
    page.keyboard.press("Escape")
    page.get_by_role("link", name="order-1").click()
    expect(page.get_by_role("alert")).to_contain_text("failed and needs attention")
    expect(page.get_by_role("alert")).to_contain_text("Skip: Continues after the step that failed")
    graph = page.get_by_role("group", name="Graph of")
    expect(graph).to_contain_text("failed")
    faults = settle(page)
    page.get_by_role("button", name="Skip").click()
    expect(page.get_by_role("dialog").get_by_role("button", name="Skip")).to_be_disabled()
    page.get_by_role("dialog").get_by_label("Reason").fill("the shop is closed")
    page.get_by_role("dialog").get_by_role("button", name="Skip").click()
    expect(page.get_by_text("reply, waits for an event")).to_be_visible()
    expect(graph).to_contain_text("not done")
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("dialog").get_by_role("button", name="Pause").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("paused")
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("dialog").get_by_label("Reason").fill("nobody answers")
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("cancelled")
    page.goto("/executions?workflow=doomed")
    expect(page.get_by_role("row").filter(has_text="order-1")).to_contain_text("cancelled")
    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(color_scheme="dark")
    faults += settle(page)
    page.goto(f"/executions/{failed['id']}")
    expect(page.get_by_role("group", name="Graph of")).to_be_visible()
    faults += settle(page)

    assert "\n".join(faults) == ""
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_workflow_is_tried_with_events_of_ones_own_and_nothing_of_it_is_kept(page: Page, site: Site) -> None:
    document = DOCUMENT.replace("opinion", "rehearsed").format(shop=site.shop, path="/ok", timeout="2d")
    site.call("POST", "/workflows", {"document": document})
    page.goto("/workflows/rehearsed?tab=try")
    page.get_by_role("button", name="Run trial").click()
    ending = page.get_by_role("status", name="Result")
    expect(ending).to_contain_text("silent")
    page.get_by_role("textbox", name="Events").fill('[{"type": "reply", "after": "1d", "data": {"rating": 5}}]')
    page.get_by_role("button", name="Run trial").click()
    expect(ending).not_to_contain_text("silent")
    expect(ending).to_contain_text("completed")
    expect(page.get_by_text("received 'reply'")).to_be_visible()
    expect(page.get_by_text("1d after the start").first).to_be_visible()  # it has no day in the calendar
    faults = settle(page)
    page.get_by_role("textbox", name="Events").fill("[")
    expect(page.get_by_text("Not a JSON list")).to_be_visible()

    assert faults == []
    assert site.call("GET", "/executions?workflow=rehearsed")["items"] == []

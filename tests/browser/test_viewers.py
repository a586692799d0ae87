"""Every page as a viewer has it: no control that the server would refuse."""

from playwright.sync_api import Browser, Page, expect

from tests.browser.accounts import signed_in
from tests.browser.site import Site
from tests.browser.tab import PAGES, go

# What a viewer may do: look, look elsewhere, try without effect, and keep their own account. Any other control fails.
READING = {
    "All sessions", "Copy", "Deliveries", "Executions", "More", "Next tick",
    "Run back-test", "Replay", "Next run", "Previous run", "Download", "Download YAML", "Clear filters", "Show more",
    "Previous tick", "Go to endpoint", "Run trial", "Verify hash chain", "If every run fails", "Filter executions",
    "Workflows",
}  # fmt: skip
SORTING = {"Endpoint ↑", "Next run", "Started ↓"}
ACCOUNT = {"Change password", "Set up second factor", "Toggle password visibility"}
CONTROLS = """() => [...document.querySelectorAll('#main button, #main [role=switch], #main a.mantine-Button-root')]
  .filter(each => each.checkVisibility() && !each.closest('[role=tablist]'))
  .map(each => (each.getAttribute('aria-label') || each.textContent || each.title).trim())"""


def controls(page: Page) -> set[str]:
    """By name; `More for NAME` opens what may be done with one of a list, and is looked at where it opens."""
    return {str(each) for each in page.evaluate(CONTROLS) if not str(each).startswith("More for ")}


def test_viewer_sees_no_control_on_any_page_that_would_be_refused(
    browser: Browser, site: Site, shown: dict[str, str]
) -> None:
    paused = site.add("paused for viewers")["id"]
    site.call("POST", f"/endpoints/{paused}/pause", {"reason": "holiday"})
    more = {"paused endpoint": f"/endpoints/{paused}", "workflow's executions": "/workflows/waiting?tab=executions"}
    seen: dict[str, set[str]] = {}
    with signed_in(browser, site, "looks-only@example.com", "viewer") as page:
        for name, path in {**PAGES, **more}.items():
            go(page, path.format(**shown))
            seen[name] = controls(page)
        page.keyboard.press("c")  # creates an endpoint, for those who may
        go(page, f"/endpoints/{shown['endpoint']}")
        page.get_by_role("button", name="More", exact=True).click()
        expect(page.get_by_role("menuitem")).not_to_have_count(0)
        menu = page.get_by_role("menuitem").all_inner_texts()
        expect(page.get_by_role("link", name="New endpoint")).to_have_count(0)
        go(page, "/planner")
        mode = page.get_by_label("Planner mode").inner_text()
        site.call("PUT", "/planner/mode", {"mode": "off"})
        banner = page.get_by_role("note", name="Planner is off")
        try:
            expect(banner).to_be_visible()
            offered = banner.get_by_role("button").count()
        finally:
            site.call("PUT", "/planner/mode", {"mode": "live"})
        expect(banner).to_have_count(0)

    assert {name: extra for name, found in seen.items() if (extra := found - READING - SORTING - ACCOUNT)} == {}
    assert menu == ["Events"]
    assert mode == "Live"
    assert offered == 0

"""The planner in a real browser: a rule is written, tried and kept; a session is read; the switch stops it all."""

import re

from playwright.sync_api import Page, expect

from tests.browser.site import Site, many_endpoints


def test_rule_is_checked_while_it_is_written_tried_on_past_runs_and_kept(page: Page, site: Site) -> None:
    endpoint = site.add("ruled")["id"]
    site.run(endpoint)
    page.goto(f"/endpoints/{endpoint}")
    page.get_by_role("button", name="Add rule").click()
    when = page.get_by_role("textbox", name="When")
    when.fill("body.stock.left <")
    expect(when).to_have_attribute("aria-invalid", "true")
    when.fill("body.stock.left < 20")
    expect(page.get_by_text("Looks good: ready to save.")).to_be_visible()
    page.get_by_role("button", name="Test on past runs").click()
    expect(page.get_by_text("The rule would have matched once")).to_be_visible()
    expect(page.get_by_text("calls either way")).to_be_visible()  # one run is no stretch to play over
    page.get_by_label("Reason").fill("stock runs low")
    page.get_by_role("dialog").get_by_label("Name", exact=True).fill("low stock")
    page.get_by_role("button", name="Save rule").click()
    expect(page.get_by_role("row").filter(has_text="low stock")).to_contain_text("every 30s for 10m")

    site.run(endpoint)
    expect(page.get_by_text("The planner changed this schedule")).to_be_visible()  # the rule fired
    page.get_by_role("link", name="All planner changes").click()
    row = page.get_by_role("row").filter(has_text="ruled")
    expect(row).to_contain_text("stock runs low")
    row.get_by_role("button", name="Undo").click()
    expect(row).to_have_count(0)
    assert site.call("GET", f"/endpoints/{endpoint}")["interval_hint"] is None


def test_pause_by_a_rule_says_whose_it_is_and_is_undone(page: Page, site: Site) -> None:
    endpoint = site.add("lulled")["id"]
    rule = {"name": "rest", "when": "ok", "pause": "forever", "reason": "it ran once"}
    site.call("POST", "/rules", {"endpoint": endpoint, "rule": rule})
    site.run(endpoint)
    page.goto(f"/endpoints/{endpoint}")
    expect(page.get_by_text("Paused by rule rest", exact=True)).to_be_visible()
    page.goto("/planner?tab=done")
    row = page.get_by_role("row").filter(has_text="lulled")
    expect(row).to_contain_text("paused")
    expect(row).to_contain_text("it ran once")
    row.get_by_role("button", name="Undo").click()
    expect(row).to_have_count(0)
    assert site.call("GET", f"/endpoints/{endpoint}")["status"] == "active"


def test_endpoint_beyond_the_first_twenty_is_found_by_a_part_of_its_name(page: Page, site: Site) -> None:
    with many_endpoints(site, "crowd", 21):
        page.goto("/planner")
        page.get_by_role("button", name="New rule").click()
        field = page.get_by_role("dialog").get_by_placeholder("Type part of the name")
        field.press_sequentially("wd 20")
        expect(page.get_by_role("option")).to_have_text(["crowd 20"])
        field.press("ArrowDown")
        field.press("Enter")
        expect(field).to_have_value("crowd 20")
        page.get_by_role("textbox", name="When").fill("status_code >= 500")
        page.get_by_role("button", name="Save rule").click()
        expect(page.get_by_role("row").filter(has_text="crowd 20")).to_be_visible()


def test_rules_are_drafted_from_words_played_over_the_past_and_kept(page: Page, site: Site) -> None:
    endpoint = site.add("in words", description="Look more often while little is left.")["id"]
    site.run(endpoint)
    page.goto(f"/endpoints/{endpoint}")
    page.get_by_role("button", name="Draft with model").click()
    form = page.get_by_role("dialog")
    form.get_by_role("button", name="Draft rules").click()
    expect(form.get_by_text("More often while little is left")).to_be_visible()
    form.get_by_role("checkbox", name="down").uncheck()
    form.get_by_role("button", name="Save rule").click()
    expect(page.get_by_role("row").filter(has_text="body.stock.left < 20")).to_contain_text("every 2m for 30m")

    page.get_by_role("link", name="Back-test").click()
    page.get_by_label("Run every").fill("soon")
    page.get_by_role("button", name="Run back-test").click()
    expect(page.get_by_label("Run every")).to_have_attribute("aria-invalid", "true")
    page.get_by_label("Run every").fill("10m")
    page.get_by_role("checkbox", name="low").uncheck()
    page.get_by_role("button", name="Run back-test").click()
    expect(page.get_by_text(re.compile(r"^Played over \d+ recorded runs"))).to_be_visible()


def test_turning_the_planner_off_offers_to_undo_what_is_in_force(page: Page, site: Site) -> None:
    endpoint = site.add("hinted")["id"]
    rule = {"name": "closer", "when": "ok", "interval": "45s", "ttl": "20m", "reason": "look closer"}
    site.call("POST", "/rules", {"endpoint": endpoint, "rule": rule})
    site.run(endpoint)
    page.goto(f"/endpoints/{endpoint}")
    expect(page.get_by_text("look closer").first).to_be_visible()
    page.get_by_role("radiogroup", name="Planner mode for this endpoint").get_by_text("Off").click()
    offer = page.get_by_role("dialog", name="Undo planner changes?")
    expect(offer).to_contain_text("still active on 1 endpoint")
    offer.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Undone for 1")).to_be_visible()

    assert site.call("GET", f"/endpoints/{endpoint}")["interval_hint"] is None


def test_planner_is_stopped_for_one_endpoint_and_for_all(page: Page, site: Site) -> None:
    endpoint = site.add("stopped")["id"]
    page.goto(f"/endpoints/{endpoint}")
    page.get_by_role("radiogroup", name="Planner mode for this endpoint").get_by_text("Off").click()
    expect(page.get_by_text("Rules are not evaluated, the model is not called")).to_be_visible()
    # Other tests may have left advice in force, which the page then offers to undo.
    offer = page.get_by_role("dialog", name="Undo planner changes?")
    page.add_locator_handler(offer, lambda: page.keyboard.press("Escape"))
    page.goto("/planner")
    expect(page.get_by_text("stopped is off")).to_be_visible()
    mode = page.get_by_role("radiogroup", name="Planner mode")
    mode.get_by_text("Shadow").click()
    expect(page.get_by_text("Changes are recorded")).to_be_visible()
    assert site.call("GET", "/planner")["modes"]["tenant"] == "shadow"
    mode.get_by_text("Live").click()
    expect(page.get_by_text("Rules and the model change schedules.")).to_be_visible()


def test_proposal_is_approved_on_the_endpoints_page_and_rejected_on_the_planners(page: Page, site: Site) -> None:
    ids = {}
    for name in ("asked", "refused"):
        ids[name] = site.add(name)["id"]
        rule = {"name": "busy", "when": "ok", "interval": "45s", "ttl": "20m", "reason": f"{name} is busy"}
        site.call("POST", "/rules", {"endpoint": ids[name], "rule": rule})
    page.goto(f"/endpoints/{ids['asked']}")
    page.get_by_role("radiogroup", name="Planner mode for this endpoint").get_by_text("Ask").click()
    expect(page.get_by_text("need approval")).to_be_visible()
    site.call("PUT", f"/endpoints/{ids['refused']}/planner-mode", {"mode": "ask"})
    for endpoint in ids.values():
        site.run(endpoint)

    row = page.get_by_role("row").filter(has_text="asked is busy")
    expect(row).to_contain_text("every 45s for 20m")
    assert site.call("GET", f"/endpoints/{ids['asked']}")["interval_hint"] is None
    row.get_by_role("button", name="Approve").click()
    expect(page.get_by_text("Proposal approved and applied")).to_be_visible()
    expect(row.get_by_role("button", name="Approve")).to_have_count(0)
    assert site.call("GET", f"/endpoints/{ids['asked']}")["interval_hint"]["interval_ms"] == 45_000

    page.goto("/planner?tab=proposals")
    row = page.get_by_role("row").filter(has_text="refused is busy")
    row.get_by_role("button", name="Reject").click()
    form = page.get_by_role("dialog", name="Reject proposal?")
    form.get_by_label("Reason (optional)").fill("not tonight")
    form.get_by_role("button", name="Reject").click()
    expect(row).to_have_count(0)
    page.get_by_role("radiogroup", name="Proposal filter").get_by_text("All").click()
    expect(page.get_by_role("row").filter(has_text="refused is busy")).to_contain_text("not tonight")
    assert site.call("GET", f"/endpoints/{ids['refused']}")["interval_hint"] is None


def test_planner_is_turned_off_for_a_tenant_after_asking_and_every_page_of_it_says_so(
    two_tabs: tuple[Page, Page], site: Site
) -> None:
    page, other = two_tabs
    other.goto("/t/default/jobs")
    page.goto("/t/annex/planner")
    mode = page.get_by_role("radiogroup", name="Planner mode")
    mode.get_by_text("Off").click()
    question = page.get_by_role("dialog", name="Turn the planner off for the tenant Annex?")
    question.get_by_role("button", name="Cancel").click()
    before = site.call("GET", "/planner", tenant="annex")["modes"]["tenant"]
    mode.get_by_text("Off").click()
    question.get_by_role("button", name="Turn off").click()
    banner = page.get_by_role("note", name="Planner is off")
    expect(banner).to_contain_text("The planner is off for Annex.")
    page.get_by_role("link", name="Endpoints").click()
    expect(page.get_by_role("heading", level=1, name="Endpoints")).to_be_visible()
    expect(banner).to_be_visible()
    expect(other.get_by_role("note", name="Planner is off")).to_have_count(0)
    after = site.call("GET", "/planner", tenant="annex")["modes"]["tenant"]
    banner.get_by_role("button", name="Turn on").click()
    expect(banner).to_have_count(0)

    assert (before, after) == ("live", "off")
    assert site.call("GET", "/planner", tenant="annex")["modes"]["tenant"] == "live"


def test_session_is_read_step_by_step(page: Page, site: Site) -> None:
    endpoint = site.add("looked at")["id"]
    site.run(endpoint)
    page.goto(f"/endpoints/{endpoint}")
    page.get_by_role("button", name="Analyze now").click()
    expect(page.get_by_role("heading", level=1, name="Session on looked at")).to_be_visible()
    expect(page.get_by_label("Arguments of step 2")).to_contain_text("stock runs low")
    expect(page.get_by_text("halved the interval", exact=True)).to_be_visible()
    page.get_by_role("link", name="All sessions").click()
    expect(page.get_by_role("row").filter(has_text="looked at").first).to_contain_text("$0.00")

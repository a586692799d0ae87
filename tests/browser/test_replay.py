"""A workflow's recorded executions replayed in a real browser: with a version, and with a document before it is one."""

from playwright.sync_api import Browser, Page, expect

from tests.browser.accounts import signed_in
from tests.browser.site import Json, Site
from tests.browser.tab import serious

DOCUMENT = """\
name: {name}
steps:
  - id: reply
    wait_for: {{event: reply, timeout: {timeout}, on_timeout: silent}}
    next: end
  - id: silent
    end: silent
"""


def publish(site: Site, name: str, timeout: str) -> None:
    site.call("POST", "/workflows", {"document": DOCUMENT.format(name=name, timeout=timeout)})


def record(page: Page, site: Site, name: str, correlation: str) -> str:
    """An execution that has made its first turn, and waits."""
    made: Json = site.call("POST", f"/workflows/{name}/start", {"correlation": correlation})
    page.goto(f"/executions/{made['id']}")
    expect(page.get_by_text("reply, waits for an event")).to_be_visible()
    return str(made["id"])


def test_version_is_replayed_over_executions_and_each_that_differs_leads_to_where(page: Page, site: Site) -> None:
    publish(site, "patience", "2d")
    first = record(page, site, "patience", "order-1")
    record(page, site, "patience", "order-2")
    publish(site, "patience", "3d")
    record(page, site, "patience", "order-3")
    page.goto("/workflows/patience?tab=versions")
    replay = page.get_by_role("region", name="Replay")
    replay.get_by_role("button", name="Replay").click()
    expect(replay.get_by_role("status")).to_contain_text("2 of 3 differ")
    expect(replay.get_by_role("status")).to_contain_text("The other execution is identical with version 2.")
    row = replay.get_by_role("row").filter(has_text="order-1")
    expect(row).to_contain_text("Entry 2, reply, output")
    faults = serious(page)
    row.get_by_role("link", name="order-1").click()
    expect(page.get_by_role("combobox", name="With version")).to_have_value("v2")
    page.get_by_role("button", name="Replay").click()
    expect(page.get_by_role("status").filter(has_text="difference")).to_be_visible()

    assert page.url.endswith(f"/executions/{first}?tab=replay&version=v2")
    assert faults == []


def test_executions_of_a_version_are_identical_under_it_and_what_that_proves_is_said(page: Page, site: Site) -> None:
    publish(site, "steady", "2d")
    record(page, site, "steady", "order-1")
    page.goto("/workflows/steady?tab=versions")
    page.get_by_role("region", name="Replay").get_by_role("button", name="Replay").click()
    said = page.get_by_role("region", name="Replay").get_by_role("status")

    expect(said).to_contain_text("Identical (1 execution)")
    expect(said).to_contain_text("A log cannot prove what happened outside Mainspring.")
    expect(page.get_by_role("table", name="Executions that differ")).to_have_count(0)


def test_workflow_without_executions_has_nothing_to_replay_and_a_failing_server_is_said(
    troubled_page: Page, site: Site
) -> None:
    publish(site, "unused", "2d")
    troubled_page.goto("/workflows/unused?tab=versions")
    replay = troubled_page.get_by_role("region", name="Replay")
    problem = {"type": "/problems/internal", "title": "Broken", "status": 500, "detail": "a wheel came off"}
    troubled_page.route("**/unused/replay", lambda route: route.fulfill(status=500, json=problem))
    replay.get_by_role("button", name="Replay").click()
    expect(replay.get_by_role("alert")).to_contain_text("A wheel came off")
    troubled_page.unroute_all()
    replay.get_by_role("button", name="Try again").click()

    expect(replay.get_by_role("status")).to_contain_text("No recorded executions to replay")


def test_document_is_replayed_before_it_is_published_and_nothing_is_kept_of_it(page: Page, site: Site) -> None:
    publish(site, "draft", "2d")
    record(page, site, "draft", "order-1")
    page.goto("/workflows/draft")
    page.get_by_role("button", name="New version").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Document").fill(DOCUMENT.format(name="draft", timeout="4d"))
    form.get_by_role("button", name="Replay recorded executions").click()
    expect(form.get_by_role("status")).to_contain_text("1 of 1 differs")
    link = form.get_by_role("link", name="order-1")
    faults = serious(page)

    expect(link).to_have_attribute("target", "_blank")  # the document stays where it is
    assert faults == []
    assert site.call("GET", "/workflows/draft")["version"] == 1


def test_viewer_replays_too_for_it_changes_nothing(browser: Browser, site: Site) -> None:
    publish(site, "watched", "2d")
    with signed_in(browser, site, "looks@example.com", "viewer") as page:
        record(page, site, "watched", "order-1")
        page.goto("/workflows/watched?tab=versions")
        page.get_by_role("region", name="Replay").get_by_role("button", name="Replay").click()

        expect(page.get_by_role("region", name="Replay").get_by_role("status")).to_contain_text("Identical")
        expect(page.get_by_role("button", name="New version")).to_have_count(0)

"""Everything as one document, in a real browser: saved, checked, applied, and what would be lost asked for."""

from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.site import Site

ONE = "source: ship\nendpoints:\n  {name}:\n    url: {url}\n    every: {every}\n"


def test_document_shows_its_plan_before_it_is_applied_and_only_then_changes_anything(page: Page, site: Site) -> None:
    page.goto("/settings?tab=configuration")
    document = page.get_by_label("Document")
    plan = page.get_by_role("status").filter(has_text="endpoint")
    document.fill(ONE.format(name="anchor", url=f"{site.shop}/ok", every="1h"))
    expect(plan).to_contain_text("create endpoint anchor")
    names = [each["name"] for each in site.call("GET", "/endpoints?text=anchor")["items"]]
    page.get_by_role("button", name="Apply", exact=False).last.click()
    expect(page.get_by_text("Applied:")).to_be_visible()
    made = site.call("GET", "/endpoints/anchor")
    document.fill(ONE.format(name="anchor", url=f"{site.shop}/ok", every="2h"))
    expect(plan).to_contain_text("→")
    expect(plan).to_contain_text("1 changed")

    assert names == []
    assert made["interval_ms"] == 3_600_000
    assert site.call("GET", "/endpoints/anchor")["interval_ms"] == 3_600_000


def test_document_with_a_fault_names_the_line_and_cannot_be_applied(page: Page, site: Site) -> None:
    page.goto("/settings?tab=configuration")
    page.get_by_label("Document").fill(ONE.format(name="rudder", url=f"{site.shop}/ok", every="soon"))

    expect(page.get_by_role("alert").filter(has_text="Cannot be applied yet")).to_contain_text("Line 5")
    expect(page.get_by_role("button", name="Apply", exact=True)).to_be_disabled()


def test_what_a_document_no_longer_describes_is_removed_only_when_asked_twice(
    page: Page, site: Site, tmp_path: Path
) -> None:
    both = "source: keel\nendpoints:\n" + "".join(
        f"  {name}: {{url: {site.shop}/ok, every: 1h}}\n" for name in ("keel-a", "keel-b")
    )
    site.call("POST", "/config/apply", {"document": both})
    one = tmp_path / "keel.yaml"
    one.write_text(f"source: keel\nendpoints:\n  keel-a: {{url: {site.shop}/ok, every: 1h}}\n")
    page.goto("/settings?tab=configuration")
    page.locator("input[type=file]").set_input_files(one)
    expect(page.get_by_role("status").filter(has_text="No changes")).to_be_visible()
    page.get_by_label("Remove objects that this source no longer describes").check()
    page.get_by_role("button", name="Apply 1 change").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("endpoint keel-b")
    before = site.call("GET", "/endpoints/keel-b")["status"]
    dialog.get_by_role("button", name="Apply and remove").click()
    expect(page.get_by_text("Applied: 1 archived")).to_be_visible()

    assert before != "archived"
    assert [each["name"] for each in site.call("GET", "/endpoints?state=archived&text=keel")["items"]] == ["keel-b"]


def test_configuration_is_saved_as_a_file_that_changes_nothing_when_it_is_applied(page: Page, site: Site) -> None:
    site.add("mast")
    page.goto("/settings?tab=configuration")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download YAML").click()
    text = Path(download.value.path()).read_text()

    assert download.value.suggested_filename == "mainspring.yaml"
    assert "mast" in text
    assert site.call("POST", "/config/apply?dry_run=true", {"document": text})["steps"] == []

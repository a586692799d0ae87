"""Nothing is cut off or hidden: graphs, states, axes, legends; bodies that are no text are shown as what they are."""

from contextlib import suppress

import pytest
from playwright.sync_api import Page, expect
from playwright.sync_api import TimeoutError as TimedOut

from tests.browser.site import Site
from tests.browser.tab import PAGES, go, settle

WINDING = """\
name: winding
description: Ways over several rows, and ways back.
steps:
  - id: begin
    wait_for: {event: begun, timeout: 2d, on_timeout: last}
    next: middle
  - id: middle
    wait_for: {event: moved, timeout: 2d, on_timeout: begin}
    next: late
  - id: late
    wait_for: {event: shipped, timeout: 2d, on_timeout: middle}
    next: last
  - id: last
    end: over
"""
# Points along each edge that lie inside a step; an edge may touch those it joins.
HIDDEN = """() => {
    const boxes = [...document.querySelectorAll('.graph .node rect')].map(each => each.getBoundingClientRect());
    return [...document.querySelectorAll('.graph .edge')].flatMap((edge, place) => {
        const matrix = edge.getScreenCTM(), length = edge.getTotalLength(), found = [];
        for (let at = 6; at < length - 6; at += 3) {
            const point = edge.getPointAtLength(at).matrixTransform(matrix);
            const isIn = box => point.x > box.left + 1 && point.x < box.right - 1
                && point.y > box.top + 1 && point.y < box.bottom - 1;
            if (boxes.some(isIn)) found.push(at);
        }
        return found.length ? [[place, found[0]]] : [];
    });
}"""
OUTSIDE = """() => [...document.querySelectorAll('main svg[role=img] text, .graph text, .graph .edge')].filter(each => {
    const box = each.getBoundingClientRect(), frame = each.ownerSVGElement.getBoundingClientRect();
    const isBeside = box.left < frame.left - 1 || box.right > frame.right + 1;
    return box.width > 0 && (isBeside || box.top < frame.top - 2 || box.bottom > frame.bottom + 2);
}).map(each => each.textContent || each.getAttribute('d'))"""
CUT = """() => [...document.querySelectorAll('main :is(td, th, label, button, .mark, .mantine-Badge-root)')].filter(
each => {
    if (each.matches('[role=tab]')) return false;  // where tabs do not fit, their list scrolls
    const box = each.getBoundingClientRect();
    const head = each.closest('thead');  // of a table that is shown as a list it is there for screen readers alone
    if (!box.width || (head && getComputedStyle(head).position === 'absolute')) return false;
    const word = each.querySelector('.mantine-Badge-label') ?? each;
    if (each.matches('.mark, .mantine-Badge-root') && word.scrollWidth > word.clientWidth + 1) return true;
    for (let above = each.parentElement; above && above.tagName !== 'MAIN'; above = above.parentElement) {
        const cuts = !['visible', 'auto'].includes(getComputedStyle(above).overflowX);
        if (cuts && box.right > above.getBoundingClientRect().right + 1) return true;
    }
    return box.right > document.documentElement.clientWidth + 1;
}).map(each => each.textContent.slice(0, 60))"""


# Keeps every chart that is ever shown without a width; the page looks again after each change of its own.
NARROW = """() => {
    window.narrow = [];
    const look = () => { for (const each of document.querySelectorAll('main svg[role=img]'))
        if (!each.getBoundingClientRect().width) window.narrow.push(each.getAttribute('aria-label')); };
    new MutationObserver(look).observe(document.body, {childList: true, subtree: true});
}"""


def left(page: Page, script: str) -> list[object]:
    """What a script still finds once the page has followed a change of its width; charts are drawn again after it."""
    with suppress(TimedOut):
        page.wait_for_function(f"() => ({script})().length === 0", timeout=5_000)
    found: list[object] = page.evaluate(script)
    return found


def test_ways_of_a_workflow_pass_behind_no_step_and_nothing_is_cut_off(page: Page, site: Site) -> None:
    site.call("POST", "/workflows", {"document": WINDING})
    for width in (1440, 768):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto("/workflows/winding")
        expect(page.locator(".graph .edge")).not_to_have_count(0)

        assert left(page, HIDDEN) == []
        assert left(page, OUTSIDE) == []
        graph = page.locator(".graph")
        assert graph.evaluate("each => each.scrollHeight <= each.clientHeight + 20"), "a part is hidden below"


@pytest.mark.parametrize("width", [1440, 1024, 768, 390])
def test_states_cells_and_controls_are_whole_at_every_width(
    page: Page, site: Site, shown: dict[str, str], width: int
) -> None:
    site.add(f"{width}{'w' * 90}", f"/ok?{'long=' * 90}", job=f"{width}{'j' * 90}")
    page.set_viewport_size({"width": width, "height": 900})
    cut: dict[str, list[object]] = {}
    for path in PAGES.values():
        go(page, path.format(**shown))
        if found := left(page, CUT):
            cut[path] = found[:3]

    assert cut == {}


def test_axes_are_whole_and_legends_name_every_colour(page: Page, site: Site, shown: dict[str, str]) -> None:
    site.run(shown["endpoint"])
    site.run(shown["endpoint"])
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 900})
        go(page, "/")
        for hours in ("24 h", "7 d"):
            page.get_by_label("Time range").get_by_text(hours).click()
            settle(page)
            assert left(page, OUTSIDE) == []
        go(page, f"/endpoints/{shown['endpoint']}")
        expect(page.get_by_role("img", name="Time between the last")).to_be_visible()
        assert left(page, OUTSIDE) == []
    page.set_viewport_size({"width": 1440, "height": 900})
    go(page, "/")
    card = page.locator(".mantine-Card-root").filter(has=page.get_by_role("heading", name="Runs", exact=True))
    expect(card).to_contain_text("success")
    expect(card).to_contain_text("failure")  # what the server calls it, as in the list of runs


def test_charts_have_their_width_before_they_are_first_shown(page: Page, site: Site) -> None:
    drawn = site.add("drawn at once")["id"]
    go(page, "/jobs")
    page.evaluate(NARROW)
    go(page, "/")
    expect(page.get_by_role("img", name="runs in the last 24 hours")).to_be_visible()
    go(page, f"/endpoints/{drawn}")
    expect(page.get_by_text("The chart appears after three runs.")).to_be_visible()
    for _ in range(3):
        site.run(drawn)
    expect(page.get_by_role("img", name="Time between the last 2 runs")).to_be_visible()

    assert page.evaluate("window.narrow") == []


@pytest.mark.parametrize(
    ("path", "is_picture"), [("/picture", True), ("/bytes", False), ("/liar", False)], ids=["png", "bytes", "a lie"]
)
def test_body_that_is_no_text_is_shown_as_image_or_in_hex(page: Page, site: Site, path: str, is_picture: bool) -> None:
    endpoint = site.add(f"body {path[1:]}", path)["id"]
    page.goto(f"/runs/{site.run(endpoint)['id']}")
    picture = page.get_by_role("img", name="The response body")
    if is_picture:
        expect(picture).to_be_visible()
        page.wait_for_function("document.querySelector('.body-picture').naturalWidth === 1")
        assert picture.get_attribute("src", timeout=1_000).startswith("blob:")  # type: ignore[union-attr]  # it has one
    else:
        expect(page.get_by_label("Body in hex")).to_be_visible()
        expect(picture).to_have_count(0)
    assert page.evaluate("window.hacked") is None


def test_drawing_that_could_act_is_text(page: Page, site: Site) -> None:
    endpoint = site.add("a drawing", "/drawing")["id"]
    page.goto(f"/runs/{site.run(endpoint)['id']}")
    expect(page.get_by_label("Body", exact=True)).to_contain_text("onload")
    expect(page.get_by_text("Image", exact=True)).to_have_count(0)
    assert page.evaluate("window.hacked") is None

"""Scripts as names, bodies, headers, URLs, reasons, errors and thoughts are text: nothing runs, whatever the policy."""

import json
from collections.abc import Callable, Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Dialog, Page, expect

from tests.browser.payloads import PAYLOADS
from tests.browser.site import THOUGHTS, Json, Shop, Site
from tests.browser.tab import PATIENCE_MS, go, settle

# What no text of a stranger may have become.
MADE = "a[href^='javascript' i], iframe, object, embed, base, script:not([src]), [onerror], [onload], [onfocus]"
ALL = " ".join(PAYLOADS)
SOME = PAYLOADS[16]
WORKFLOW = {
    "name": "evil",
    "description": ALL[:900],
    "input": {"note": "text"},
    "steps": [
        {"id": "ask", "call": {"url": "{shop}/evil", "method": "POST", "body": {"note": "{{ input.note }}"}}},
        {"id": "reply", "wait_for": {"event": "reply", "timeout": "2d", "on_timeout": "silent"}, "next": "end"},
        {"id": "silent", "end": "silent"},
    ],
}
RULE = {"when": "ok", "interval": "30s", "ttl": "5m", "reason": SOME}
PLAYED = {"every": "1m", "answer": {SOME: SOME}, "rules": [RULE]}
SCENARIO = {"name": SOME, "minutes": 5, "endpoints": {"played": PLAYED}}


@pytest.fixture
def evil_shop() -> Iterator[None]:
    Shop.evil = "".join(PAYLOADS)
    thoughts: dict[str, object] = {"reasoning": ALL[:2_000], "actions_taken": [SOME, PAYLOADS[0]], "confidence": "high"}
    proposal: dict[str, object] = {"interval_ms": 1_800_000, "ttl_minutes": 30, "reason": SOME}
    Shop.thoughts = (THOUGHTS[0], ("propose_interval", proposal), ("submit_analysis", thoughts))
    yield
    Shop.thoughts = THOUGHTS


def fill(site: Site) -> list[str]:
    """Every payload in every place that takes text; the pages that show them."""
    site.call("POST", "/webhooks", {"url": f"{site.shop}/evil", "name": SOME, "description": PAYLOADS[0]})
    site.call("POST", "/alerts", {"name": SOME, "to": [f"{site.shop}/evil"], "description": PAYLOADS[0]})
    site.call("POST", "/keys", {"name": SOME, "scopes": ["read"], "expires_in": "1d"})
    endpoints = {
        f"{place:02} {payload}".replace("\t", " ")[:100]: {
            "url": f"{site.shop}/evil?{quote(payload)}",
            "every": "1h",
            "job": "evil",
            "description": payload,
        }
        for place, payload in enumerate(PAYLOADS)
    }
    site.call("POST", "/config/apply", {"document": json.dumps({"endpoints": endpoints})})
    made = [each["id"] for each in site.call("GET", "/endpoints?job=evil&limit=200")["items"]]
    assert len(made) == len(PAYLOADS)
    for place in range(0, len(PAYLOADS), 16):
        reason = " ".join(PAYLOADS[place : place + 16])[:1_000]
        site.call("POST", f"/endpoints/{made[place]}/pause", {"reason": reason})
        site.call("PUT", f"/endpoints/{made[place]}/hints/interval", {"every": "30m", "reason": reason})
    site.call("POST", "/rules", {"endpoint": made[1], "rule": {"when": "ok", "interval": "40m", "reason": SOME[:60]}})
    away = site.add(f"away {SOME}", "/away", job="evil", redirects_max=3)["id"]
    failed = site.run(away)
    assert "hacked" in failed["error"]
    run = site.run(made[1])["id"]
    session = site.call("POST", f"/endpoints/{away}/look")["id"]  # without a description only we look at it
    shown = [f"/endpoints/{made[0]}", f"/endpoints/{made[1]}", f"/endpoints/{away}", f"/endpoints/{made[16]}/edit"]
    results = [f"/runs/{run}", f"/runs/{failed['id']}", f"/planner/sessions/{session}", "/planner?tab=sessions"]
    settings = [f"/settings?tab={tab}" for tab in ("alerts", "webhooks", "keys", "audit")]
    lists = ["/endpoints?job=evil", "/", "/runs", "/events", "/jobs", "/planner", "/simulation"]
    return [*lists, *shown, *results, *start(site), *settings]


def start(site: Site) -> list[str]:
    """A workflow whose every text is a payload, cancelled for a reason that is one; its pages."""
    site.call("POST", "/workflows", {"document": json.dumps(WORKFLOW).replace("{shop}", site.shop)})
    wish = {"input": {"note": ALL[:2_000]}, "correlation": SOME}
    execution = site.call("POST", "/workflows/evil/start", wish)["id"]
    site.call("POST", f"/executions/{execution}/cancel", {"reason": SOME})
    tabs = [f"/executions/{execution}", f"/executions/{execution}?tab=log"]
    return ["/workflows", "/workflows/evil", "/workflows/evil?tab=document", "/executions", *tabs]


def show_more(page: Page) -> None:
    """Rows are drawn where they are in sight, and the next ones are read at the end of the list."""
    page.wait_for_function(
        "() => { window.scrollTo(0, document.documentElement.scrollHeight); "
        "return document.body.innerText.includes('79 javascript:'); }"
    )
    expect(page.get_by_text("79 javascript:")).to_be_visible()


def show_message(page: Page) -> None:
    page.get_by_role("row").filter(has_text=SOME).get_by_role("button", name="Deliveries").click()
    page.get_by_role("button", name="Show message").first.click()
    expect(page.get_by_label("Message")).to_contain_text("hacked")
    page.keyboard.press("Escape")


def play(page: Page) -> None:
    page.get_by_role("switch", name="Custom scenario").press("Space")
    page.get_by_label("Scenario in YAML").fill(json.dumps(SCENARIO))
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("heading", name="Runs over time")).to_be_visible()


DEEPER: dict[str, Callable[[Page], None]] = {
    "/endpoints?job=evil": show_more,
    "/settings?tab=webhooks": show_message,
    "/simulation": play,
}


def walk(page: Page, paths: list[str]) -> list[str]:
    """The pages on which something ran, or became more than text."""
    ran = []
    for path in paths:
        go(page, path)
        if path in DEEPER:
            DEEPER[path](page)
            settle(page)
        if page.evaluate("window.hacked") is not None or page.locator(MADE).count():
            ran.append(path)
    return ran


def test_nothing_that_a_stranger_wrote_runs(
    browser: Browser, site_and_cookies: tuple[Site, list[Json]], evil_shop: None
) -> None:
    site, cookies = site_and_cookies
    paths = fill(site)
    dialogs: list[str] = []

    def hear(dialog: Dialog) -> None:
        dialogs.append(dialog.message)
        dialog.dismiss()

    ran = {}
    try:
        for bypass_csp in (True, False):
            context = browser.new_context(base_url=site.url, bypass_csp=bypass_csp, reduced_motion="reduce")
            context.set_default_timeout(PATIENCE_MS)
            context.add_cookies(cookies)
            page = context.new_page()
            page.on("dialog", hear)
            ran[bypass_csp] = walk(page, paths)
            context.close()
    finally:
        site.call("POST", "/bulk/archive", {"matching": {"job": "evil"}})  # or they would hide those of other tests

    assert ran == {True: [], False: []}
    assert dialogs == []

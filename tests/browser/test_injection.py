"""Scripts as names, bodies, headers, URLs and reasons are text: nothing runs, also without the page's policy."""

import json
from urllib.parse import quote

from playwright.sync_api import Browser, Dialog, Page, expect

from tests.browser.payloads import PAYLOADS
from tests.browser.site import Json, Shop, Site

# What no text of a stranger may have become.
MADE = "a[href^='javascript' i], iframe, object, embed, base, script:not([src]), [onerror], [onload], [onfocus]"


def fill(site: Site) -> list[str]:
    """Every payload as name, description and part of a URL; many as reasons, header, body; the pages that show them."""
    Shop.evil = "".join(PAYLOADS)
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
        site.call("PUT", f"/endpoints/{made[place]}/hints/interval", {"interval_ms": "30m", "reason": reason})
    some = PAYLOADS[16][:60]
    site.call("POST", "/rules", {"endpoint": made[1], "rule": {"when": "ok", "interval": "40m", "reason": some}})
    site.call("POST", "/webhooks", {"url": f"{site.shop}/evil", "name": some, "description": PAYLOADS[0]})
    site.call("POST", "/alerts", {"name": some, "to": [f"{site.shop}/evil"], "description": PAYLOADS[0]})
    site.call("POST", "/keys", {"name": some, "scopes": ["read"], "expires_in": "1d"})
    run = site.run(made[1])["id"]
    shown = [f"/endpoints/{made[0]}", f"/endpoints/{made[1]}", f"/endpoints/{made[16]}/edit", f"/runs/{run}"]
    settings = [f"/settings?tab={tab}" for tab in ("alerts", "webhooks", "keys", "audit")]
    return ["/endpoints?job=evil", *shown, "/", "/runs", "/events", "/jobs", "/planner", *settings]


def walk(page: Page, paths: list[str]) -> list[str]:
    """The pages on which something ran, or became more than text."""
    ran = []
    for path in paths:
        page.goto(path)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        expect(page.locator("[aria-busy=true]")).to_have_count(0)
        if path.startswith("/endpoints?"):
            page.get_by_role("button", name="Show more").click()
            expect(page.get_by_text("79 javascript:")).to_be_visible()
        if page.evaluate("window.hacked") is not None or page.locator(MADE).count():
            ran.append(path)
    return ran


def test_nothing_that_a_stranger_wrote_runs(browser: Browser, site_and_cookies: tuple[Site, list[Json]]) -> None:
    site, cookies = site_and_cookies
    paths = fill(site)
    dialogs: list[str] = []

    def hear(dialog: Dialog) -> None:
        dialogs.append(dialog.message)
        dialog.dismiss()

    ran = {}
    for bypass_csp, some in ((True, paths), (False, paths[:2])):
        context = browser.new_context(base_url=site.url, bypass_csp=bypass_csp)
        context.add_cookies(cookies)
        page = context.new_page()
        page.on("dialog", hear)
        ran[bypass_csp] = walk(page, some)
        context.close()
    site.call("POST", "/bulk/archive", {"matching": {"job": "evil"}})

    assert ran == {True: [], False: []}
    assert dialogs == []

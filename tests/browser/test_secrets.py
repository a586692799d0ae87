"""Secrets that came in by the API are on no page: not drawn, not in a field, not in what a page reads or keeps.

The server beside them is a real one, so its folder and its log are searched as well.
"""

import json
from pathlib import Path

from playwright.sync_api import Browser, Page, Response, expect

from tests.api.planted import Planted
from tests.browser.site import Json, Site
from tests.browser.tab import PAGES, PATIENCE_MS, go, settle

PLAIN = "seen-in-the-clear"
KEPT = """JSON.stringify([
    {...localStorage}, {...sessionStorage}, [...document.querySelectorAll("input, textarea")].map(each => each.value)
])"""
SHOWN = ("run", "edit endpoint")  # pages that show what is no secret: the search would find it
ECHOES = {"name": "echoes", "steps": [{"id": "a", "call": {"endpoint": "planted"}}, {"id": "b", "end": "went"}]}


def plant(site: Site, planted: Planted) -> dict[str, str]:
    """A secret in all that takes one, told to targets that answer with it; what the pages are about."""
    headers: list[Json] = [{"name": name, "value": planted.new()} for name in ("Authorization", "Cookie", "X-Api-Key")]
    headers += [{"name": "X-Mine", "value": planted.new(), "secret": True}, {"name": "X-Plain", "value": PLAIN}]
    endpoint = site.add("planted", "/echo", job="planted", headers=headers)["id"]
    run = site.run(endpoint)["id"]
    session = site.call("POST", f"/endpoints/{endpoint}/look")["id"]
    told: Json = {"url": f"{site.shop}/echo?token={planted.new()}", "name": "planted", "types": ["run", "workflow"]}
    planted.given(site.call("POST", "/webhooks", told)["secret"])
    to = [f"{site.shop}/echo/{planted.new()}?key={planted.new()}"]
    site.call("POST", "/alerts", {"name": "planted", "to": to})
    for path in ("webhooks", "alerts"):
        assert "[redacted]" in json.dumps(site.call("POST", f"/{path}/planted/test"))
    planted.given(site.call("POST", "/keys", {"name": "planted", "scopes": ["read"]})["key"])
    planted.given(site.call("POST", "/signing-keys")["secret"])
    member = {"email": "planted@example.com", "role": "viewer"}
    planted.given(site.call("POST", "/members", member)["link"].rpartition("=")[2])
    site.call("POST", "/workflows", {"document": json.dumps(ECHOES)})
    execution = site.call("POST", "/workflows/echoes/start", {"correlation": "planted"})["id"]
    return {"endpoint": endpoint, "run": run, "session": session, "workflow": "echoes", "execution": execution}


def show_delivery(page: Page) -> None:
    """Every message, for this webhook is told of the runs of others, too; among them the one that is looked for."""
    row = page.get_by_role("row").filter(has_text="planted")
    row.get_by_role("button", name="Deliveries").click()
    closed = page.get_by_role("button", name="Show message")
    expect(closed.first).to_be_visible()
    for place in reversed(range(closed.count())):
        closed.nth(place).click()
    expect(page.get_by_label("Message").filter(has_text="planted").first).to_be_visible()
    expect(page.get_by_text("[redacted]").first).to_be_visible()


def test_no_page_shows_or_reads_a_planted_secret(browser: Browser, site_and_cookies: tuple[Site, list[Json]]) -> None:
    site, cookies = site_and_cookies
    planted = Planted()
    ids = plant(site, planted)
    context = browser.new_context(base_url=site.url, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE_MS)
    context.add_cookies(cookies)
    page = context.new_page()
    read: list[Response] = []

    def hear(answer: Response) -> None:
        if "/api/v1/" in answer.url and "/stream" not in answer.url:
            read.append(answer)

    page.on("response", hear)
    drawn = {}
    for name, path in PAGES.items():
        go(page, path.format(**ids))
        if name in SHOWN:
            page.wait_for_function(f"() => {KEPT}.includes('{PLAIN}') || document.body.textContent.includes('{PLAIN}')")
        if name == "webhooks":
            show_delivery(page)
            settle(page)
        drawn[name] = f"{page.content()}{page.evaluate(KEPT)}"
    answers = [answer.body() for answer in read]
    context.close()
    kept = b"".join(file.read_bytes() for file in Path(site.env["MAINSPRING_DATA_DIR"]).iterdir() if file.is_file())

    assert {name: found for name, html in drawn.items() if (found := planted.found_in(html.encode()))} == {}
    assert planted.found_in(b"".join(answers)) == []
    assert planted.found_in(kept + site.log.encode()) == []
    assert len(answers) > len(PAGES)
    assert [name for name in SHOWN if PLAIN not in drawn[name]] == []

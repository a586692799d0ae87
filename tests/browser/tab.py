"""A signed-in page that tests hand on, the console it is watched by, and what is asked of every page."""

import re
from typing import cast

from playwright.sync_api import Browser, ConsoleMessage, Page, expect

from tests.browser.site import Json, Site
from tests.web.tools import AXE

PATIENCE_MS = 60_000  # beside a whole suite on two cores; what comes is not waited for
# Navigate as a link of the page does, without loading it again. The promise of the router is not returned: if another
# navigation starts meanwhile, the router never settles it, and `evaluate` has no timeout.
LEAVE = "path => { void __TSR_ROUTER__.navigate({ href: path }); }"
THERE = "() => __TSR_ROUTER__.state.resolvedLocation?.href === __TSR_ROUTER__.latestLocation.href"

PAGES = {
    "overview": "/",
    "endpoints": "/endpoints",
    "endpoint": "/endpoints/{endpoint}",
    "new endpoint": "/endpoints/new",
    "edit endpoint": "/endpoints/{endpoint}/edit",
    "calls": "/calls",
    "jobs": "/jobs",
    "runs": "/runs",
    "run": "/runs/{run}",
    "events": "/events",
    "planner": "/planner",
    "sessions": "/planner?tab=sessions",
    "session": "/planner/sessions/{session}",
    "shadow results": "/planner?tab=shadow",
    "proposals": "/planner?tab=proposals",
    "what the planner did": "/planner?tab=done",
    "back-test": "/planner?tab=backtest&endpoint={endpoint}",
    "workflows": "/workflows",
    "workflow": "/workflows/{workflow}",
    "versions": "/workflows/{workflow}?tab=versions",
    "trying a workflow": "/workflows/{workflow}?tab=try",
    "executions": "/executions",
    "execution": "/executions/{execution}",
    "execution log": "/executions/{execution}?tab=log",
    "simulation": "/simulation",
    "demo": "/demo",
    "settings": "/settings",
    "alerts": "/settings?tab=alerts",
    "webhooks": "/settings?tab=webhooks",
    "maintenance": "/settings?tab=maintenance",
    "calendars": "/settings?tab=calendars",
    "connections": "/settings?tab=connections",
    "usage": "/settings?tab=usage",
    "configuration": "/settings?tab=configuration",
    "keys": "/settings?tab=keys",
    "signing keys": "/settings?tab=signing",
    "members": "/settings?tab=members",
    "installation": "/settings?tab=installation",
    "audit trail": "/settings?tab=audit",
}


class Tab:
    def __init__(self, browser: Browser, site: Site, cookies: list[Json]) -> None:
        self._context = browser.new_context(base_url=site.url)
        self._context.add_cookies(cookies)
        self._context.set_default_timeout(PATIENCE_MS)
        self._faults: list[str] = []
        self.site, self.page = site, self._context.new_page()
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self._faults.append(f"exception: {error}"))

    def take(self) -> Page:
        """The page as a visitor with a wide, light screen and still pictures has it."""
        self.page.set_viewport_size({"width": 1440, "height": 900})
        self.page.emulate_media(color_scheme="light", reduced_motion="reduce")
        self._faults.clear()
        return self.page

    def give_back(self) -> list[str]:
        """Forget what a test set up; the errors that its page reported."""
        self.page.unroute_all(behavior="ignoreErrors")
        if self.page.url.startswith("http"):
            self.page.evaluate("localStorage.clear()")
        return list(self._faults)

    def close(self) -> None:
        self._context.close()

    def _hear(self, message: ConsoleMessage) -> None:
        # The browser itself reports every refusal; a form that asks before it saves meets some.
        is_refusal = re.search(r"status of (409|422)", message.text)
        if message.type in ("error", "warning") and not is_refusal:
            self._faults.append(f"{message.type}: {message.text}")


def settle(page: Page) -> None:
    """Wait until the page shows what it is about, and nothing is still being read."""
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.locator("[aria-busy=true]")).to_have_count(0)


def go(page: Page, path: str) -> None:
    """Follow a link within the open page, or load it where none is open."""
    if page.url.startswith("http"):
        follow(page, path)
    else:
        page.goto(path)
    settle(page)


def follow(page: Page, path: str) -> None:
    """Follow a link within the open page; whether the new page shows anything is for the caller to see."""
    page.evaluate(LEAVE, path)
    page.wait_for_function(THERE)


def serious(page: Page, rules: tuple[str, ...] = ()) -> list[str]:
    """What axe calls serious or worse, as rule and first place; all its rules unless some are named."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text())  # through the debugger, which the page's policy does not bind
    only = {"runOnly": list(rules)} if rules else {}
    found = cast(Json, page.evaluate("only => axe.run(document, {resultTypes: ['violations'], ...only})", only))
    return [
        f"{each['id']}: {each['nodes'][0]['html'][:200]} {each['nodes'][0]['failureSummary'][:200]}"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ]

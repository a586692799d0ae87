"""Somebody else's browser: a user who came in by a link."""

from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
from playwright.sync_api import Browser, Page

from tests.browser.site import PATIENCE_S, Site, cookies_for
from tests.browser.tab import PATIENCE_MS

PASSWORD = "another four words here"


def come_in(site: Site, link: str) -> dict[str, str]:
    """Set the password by a link; the cookies of the session that begins with it."""
    with httpx2.Client(base_url=site.url, timeout=PATIENCE_S) as client:
        wish = {"token": link.partition("#token=")[2], "password": PASSWORD}
        answer = client.post("/api/v1/auth/setup", json=wish, headers={"Origin": site.url})
        assert answer.status_code == 200, answer.text
        return dict(client.cookies)


@contextmanager
def signed_in(browser: Browser, site: Site, email: str, role: str, *, operator: bool = False) -> Iterator[Page]:
    wish = {"email": email, "tenant": "default", "role": role, "operator": operator}
    made = site.call("POST", "/users", wish)
    context = browser.new_context(base_url=site.url, viewport={"width": 1440, "height": 900})
    context.set_default_timeout(PATIENCE_MS)
    context.add_cookies(cookies_for(site, come_in(site, made["link"])))
    yield context.new_page()
    context.close()

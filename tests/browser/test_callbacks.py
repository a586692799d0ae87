"""A run that waits for its callback: made in the form, and its progress on the pages of the endpoint and the run."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue

import httpx2
import pytest
from playwright.sync_api import Page, expect

from tests.browser.site import Site
from tests.harness.addresses import HOST

WAIT_S = 60


class Target:
    """Answers 202, and keeps the callback URLs it was given."""

    def __init__(self) -> None:
        urls: Queue[str] = Queue()

        class Accepting(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(202)
                self.send_header("Content-Length", "0")
                self.end_headers()
                urls.put(self.headers["Mainspring-Callback-Url"])

            def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
                """Says nothing."""

        self.urls = urls
        self.server = ThreadingHTTPServer((HOST, 0), Accepting)
        self.url = f"http://{HOST}:{self.server.server_address[1]}/import"


@pytest.fixture
def target() -> Iterator[Target]:
    made = Target()
    threading.Thread(target=made.server.serve_forever, daemon=True).start()
    yield made
    made.server.shutdown()
    made.server.server_close()


def test_progress_of_a_run_is_shown_until_its_callback(page: Page, site: Site, target: Target) -> None:
    page.goto("/endpoints/new")
    page.get_by_label("Name").fill("import")
    page.get_by_label("URL").fill(target.url)
    page.get_by_role("textbox", name="Interval", exact=True).fill("30d")
    page.get_by_role("button", name="Completion and success condition").click()
    page.get_by_role("combobox", name="Completed by").click()
    page.get_by_role("option", name="A callback, after the target answered 202").click()
    page.get_by_label("Callback timeout").fill("6h")
    page.get_by_role("button", name="Create endpoint").click()
    expect(page.get_by_role("heading", level=1, name="import")).to_be_visible()
    site.call("POST", "/endpoints/import/run")
    url = target.urls.get(timeout=WAIT_S)
    notice = page.get_by_role("note").filter(has_text="Waiting for the callback")
    expect(notice).to_be_visible()
    httpx2.post(f"{url}/progress", params={"percent": 40, "text": "copying tables"})
    expect(notice).to_contain_text("40 %")
    expect(notice).to_contain_text("copying tables")
    (run,) = site.call("GET", "/endpoints/import/runs")["items"]
    page.goto(f"/runs/{run['id']}")
    expect(notice).to_contain_text("40 %")

    assert httpx2.post(url).status_code == 200

    expect(notice).to_have_count(0)
    assert site.call("GET", f"/runs/{run['id']}")["status"] == "success"

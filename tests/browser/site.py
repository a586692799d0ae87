"""A real server with its UI, a shop that it calls, and a browser that looks at it."""

import json
import os
import shutil
import threading
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest

from mainspring.api.frontend import BUILT
from tests.harness.addresses import HOST, free_port
from tests.harness.processes import Process, Processes

NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next((path for name in NAMES if (path := shutil.which(name))), None)
WHY_NOT = (
    "there is no Chromium on this machine: tests/browser/bring_chromium.sh brings one as root on Debian and Ubuntu, "
    "elsewhere install chromium and have it on the PATH"
    if CHROMIUM is None
    else "the web UI is not built: make web builds it"
    if not (BUILT / "index.html").exists()
    else ""
)
OPT_OUT = "SKIP_BROWSER_TESTS"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
EMAIL, PASSWORD = "ann@example.com", "four words in a row"
Json = Any  # what a stranger's JSON may be
PATIENCE_S = 70
START_S = 300.0  # a cold start beside a whole suite; a start that succeeds does not wait for it
# A first run stands anywhere within its interval: this is so long that none comes by itself while a test looks.
RARELY = "30d"


# A picture of one pixel, bytes that are nothing, and a drawing that would act.
PIXEL = b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
OTHER_BODIES = {
    "/picture": ("image/png", PIXEL),
    "/bytes": ("application/octet-stream", bytes(range(256))),
    "/drawing": ("image/svg+xml", b"<svg xmlns='http://www.w3.org/2000/svg' onload='window.hacked=1'/>"),
    "/liar": ("image/png", b"<svg xmlns='http://www.w3.org/2000/svg' onload='window.hacked=1'/>"),
}
# What the model of the tests thinks, one step after the other.
THOUGHTS: tuple[tuple[str, dict[str, object]], ...] = (
    ("get_latest_response", {}),
    ("propose_interval", {"interval_ms": 1_800_000, "ttl_minutes": 30, "reason": "stock runs low"}),
    (
        "submit_analysis",
        {"reasoning": "Twelve are left.", "actions_taken": ["halved the interval"], "confidence": "high"},
    ),
)
DRAFT: tuple[str, dict[str, object]] = (
    "submit_rules",
    {
        "rules": [
            {"name": "low", "when": "body.stock.left < 20", "interval": "2m", "ttl": "30m", "reason": "stock runs low"},
            {"name": "down", "when": "status_code >= 500", "interval": "1m", "ttl": "10m", "reason": "it is down"},
        ],
        "explanation": "More often while little is left, and while it is down.",
    },
)


class Shop(BaseHTTPRequestHandler):
    """Answers by its path: /ok, /fail, /evil, /echo, /away (which leads nowhere), /picture, /bytes, /drawing.

    Its model thinks `thoughts`.
    """

    protocol_version = "HTTP/1.1"
    evil = "<script>window.hacked = 1</script>"
    thoughts = THOUGHTS

    def do_GET(self) -> None:
        status = 500 if self.path.startswith("/fail") else 302 if self.path.startswith("/away") else 200
        body = json.dumps({"ok": status == 200, "stock": {"left": 12, "of": ["a", "b"]}, "note": "fine"}).encode()
        kind = "application/json"
        if self.path.startswith("/evil"):
            body, kind = self.evil.encode(), "text/html"
        if self.path in OTHER_BODIES:
            kind, body = OTHER_BODIES[self.path]
        if self.path.startswith("/echo"):
            body, kind = f"{self.path}\n{self.headers}".encode(), "text/plain"
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if status == 302:
            self.send_header("Location", "http://<img/src=x/onerror=window.hacked=1>/")
        self.send_header("X-Evil", self.evil.replace("\n", " "))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        sent = self.rfile.read(int(self.headers["Content-Length"]))  # or the next request on the line would begin in it
        if not self.path.endswith("/chat/completions"):
            self.do_GET()
            return
        asked = json.loads(sent)
        done = sum(message["role"] == "tool" for message in asked["messages"])
        is_draft = any(tool["function"]["name"] == "submit_rules" for tool in asked["tools"])
        name, arguments = DRAFT if is_draft else self.thoughts[min(done, len(self.thoughts) - 1)]
        call = {
            "id": f"call_{done}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        choice = {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {"role": "assistant", "content": None, "tool_calls": [call]},
        }
        usage = {"prompt_tokens": 900, "completion_tokens": 40, "total_tokens": 940}
        self._answer(
            {
                "id": "chat_1",
                "object": "chat.completion",
                "created": 1,
                "model": "small",
                "choices": [choice],
                "usage": usage,
            }
        )

    def _answer(self, said: Json) -> None:
        body = json.dumps(said).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name it has there
        pass


def require() -> None:
    """A test of the pages that did not run is no test that passed: only who asks for it goes without."""
    if os.environ.get(OPT_OUT):
        pytest.skip(f"{OPT_OUT} is set")
    if WHY_NOT:
        pytest.fail(f"{WHY_NOT}; or go without the browser tests: {OPT_OUT}=1", pytrace=False)


class Site:
    """A running server and its shop; it may be stopped and started again at the same address."""

    def __init__(self, processes: Processes, env: dict[str, str], shop: str) -> None:
        self._processes, self._port = processes, free_port()
        self.env, self.shop = env, shop
        self.url = f"http://{HOST}:{self._port}"
        self._server = self._start()
        self.link = self._server.wait_for("#token=", START_S).strip().rpartition(" ")[2]
        self._client = httpx2.Client(base_url=self.url, timeout=PATIENCE_S)

    @property
    def log(self) -> str:
        return self._server.output

    def stop(self) -> None:
        """As the kernel would: nobody is told."""
        self._server.kill()

    def start_again(self) -> None:
        self._server = self._start()

    def _start(self) -> Process:
        server = self._processes.start("serve", "--port", str(self._port), env=self.env)
        server.wait_for("listening on http", START_S)
        return server

    def log_in(self) -> dict[str, str]:
        """Make the first owner, once; the cookies of its session."""
        token = self.link.partition("#token=")[2]
        wish = {"token": token, "email": EMAIL, "password": PASSWORD, "name": "Ann"}
        answer = self._client.post("/api/v1/auth/setup", json=wish, headers={"Origin": self.url})
        assert answer.status_code == 200, answer.text
        return dict(self._client.cookies)

    def call(self, method: str, path: str, body: Json = None, *, tenant: str = "default") -> Json:
        headers = {"Origin": self.url, "X-Mainspring-Tenant": tenant}
        answer = self._client.request(method, f"/api/v1{path}", json=body, headers=headers)
        assert answer.status_code < 300, f"{method} {path}: {answer.text}"
        return answer.json()

    def add(self, name: str, path: str = "/ok", **more: object) -> Json:
        wish = {
            "name": name,
            "url": f"{self.shop}{path}",
            **({} if "cron" in more else {"every": RARELY}),
            **more,
        }
        return self.call("POST", "/endpoints", wish)

    def run(self, endpoint: str) -> Json:
        return self.call("POST", f"/endpoints/{endpoint}/run?wait=60s")["run"]

    def close(self) -> None:
        self._client.close()


@contextmanager
def open_site(processes: Processes, folder: Path, **settings: str) -> Iterator[Site]:
    shop = ThreadingHTTPServer((HOST, 0), Shop)
    threading.Thread(target=shop.serve_forever, daemon=True).start()
    env = {
        "MAINSPRING_DATA_DIR": str(folder),
        "MAINSPRING_ALLOW_CIDRS": "127.0.0.0/8",
        "MAINSPRING_HOST_LIMITS": "127.0.0.2 = 1/h",
        "MAINSPRING_COMMANDS": "/bin/printf = default",
        "PATH": os.environ.get("PATH", ""),
        "MAINSPRING_MODEL": "openai:small",
        "MAINSPRING_MODEL_URL": f"http://{HOST}:{shop.server_address[1]}/v1",
        "MAINSPRING_MODEL_PRICE_IN": "3",
        "MAINSPRING_API_REQUESTS_PER_MINUTE": "0",
        "MAINSPRING_API_REQUESTS_PER_MINUTE_OF_TENANT": "0",
        **settings,
    }
    site = Site(processes, env, f"http://{HOST}:{shop.server_address[1]}")
    try:
        yield site
    finally:
        site.close()
        shop.shutdown()
        shop.server_close()


@contextmanager
def many_endpoints(site: Site, job: str, count: int) -> Iterator[None]:
    """So many endpoints of a job, archived in the end, also when the test fails: they would hide those of others."""
    wanted = {f"{job} {place:02}": {"url": f"{site.shop}/ok", "every": "1h", "job": job} for place in range(count)}
    site.call("POST", "/config/apply", {"document": json.dumps({"endpoints": wanted})})
    try:
        yield
    finally:
        site.call("POST", "/bulk/archive", {"matching": {"job": job}})


def cookies_for(site: Site, cookies: dict[str, str]) -> list[Json]:
    return [{"name": name, "value": value, "url": site.url} for name, value in cookies.items()]

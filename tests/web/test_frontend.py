"""How the UI is served: what is cached, what is a page, and what stays a problem."""

import gzip
import re
from pathlib import Path

import pytest
from fastapi import FastAPI
from httpx2 import ASGITransport, AsyncClient

from mainspring.api import frontend
from mainspring.api.routes import setup_page

FIRST_LOAD_MAX = 300_000


@pytest.fixture
def built(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def client(built: Path) -> AsyncClient:
    app = FastAPI(redirect_slashes=False)
    app.router.routes.extend(frontend.routes(built))
    return AsyncClient(transport=ASGITransport(app=app), base_url="http://site")


def fill(built: Path) -> None:
    (built / "assets").mkdir()
    (built / "index.html").write_text("<!doctype html><title>Mainspring</title>")
    (built / "assets" / "main-1a2b.js").write_text("let a = 1;" * 100)


def test_frontend_without_its_page_is_not_built(built: Path) -> None:
    before = frontend.is_built(built)
    fill(built)

    assert (before, frontend.is_built(built)) == (False, True)


async def test_page_is_asked_for_again_and_its_scripts_never(built: Path, client: AsyncClient) -> None:
    fill(built)

    page = await client.get("/endpoints/anything?tab=x")
    script = await client.get("/assets/main-1a2b.js")

    assert (page.status_code, page.headers["cache-control"]) == (200, "no-cache")
    assert "script-src 'self';" in page.headers["content-security-policy"]
    assert (script.status_code, script.headers["cache-control"]) == (200, frontend.FOR_EVER)
    assert script.headers["content-encoding"] == "gzip"
    assert script.headers["content-type"].startswith("text/javascript")
    assert (await client.get("/", headers={"If-None-Match": page.headers["etag"]})).status_code == 304


@pytest.mark.parametrize("path", ["/api/v1/nothing", "/api", "/mcp", "/metrics/x", "/problems/x"])
async def test_what_is_for_programs_is_never_a_page(path: str, built: Path, client: AsyncClient) -> None:
    fill(built)

    assert (await client.get(path)).status_code == 404


async def test_only_reading_gives_a_page(built: Path, client: AsyncClient) -> None:
    fill(built)

    assert (await client.head("/runs")).status_code == 200
    assert (await client.post("/runs")).status_code == 404


async def test_missing_ui_says_how_to_build_it(client: AsyncClient) -> None:
    answer = await client.get("/")

    assert answer.status_code == 200
    assert "make web" in answer.text


def test_first_load_is_small() -> None:
    built = frontend.BUILT
    if not (built / "index.html").exists():
        pytest.skip("the web UI is not built; build it: make web")
    needed = re.findall(r'(?:src|href)="/(assets/[^"]+\.js)"', (built / "index.html").read_text())

    assert needed
    assert sum(len(gzip.compress((built / name).read_bytes())) for name in needed) <= FIRST_LOAD_MAX


async def test_link_for_a_password_has_a_bare_form_for_where_the_ui_is_not_built() -> None:
    app = FastAPI()
    app.include_router(setup_page.router)
    client = AsyncClient(transport=ASGITransport(app=app), base_url="http://site")

    page, script = await client.get("/setup"), await client.get("/setup.js")
    assert "set a password" in page.text
    assert "/api/v1/auth/" in script.text
    assert 'send("setup"' in script.text

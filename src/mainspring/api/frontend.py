"""The web UI: the files built into the package, and the one page that all its URLs show.

It answers below every other route and never for paths of the API, so a mistyped API path stays a problem document.
Scripts are loaded from here only. Styles may also be inline, because UI components compute theirs.
"""

import asyncio
import gzip
import mimetypes
from functools import lru_cache, partial
from hashlib import sha256
from html import escape
from pathlib import Path

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Match, Route
from starlette.types import Scope

from mainspring.api.compression import takes_gzip
from mainspring.api.middleware import CONTENT_SECURITY
from mainspring.api.problems import HttpProblem

BUILT = Path(__file__).parent.parent / "web"
FOR_PROGRAMS = ("/api", "/mcp", "/healthz", "/readyz", "/metrics", "/problems", "/assets")
PAGE_SECURITY = CONTENT_SECURITY.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'").replace(
    "img-src 'self' data:",
    "img-src 'self' data: blob:",  # a response body that is a raster image, created by the page itself
)
FOR_EVER = "public, max-age=31536000, immutable"  # their names are derived from their content
COMPRESSED = ("text/", "application/json", "image/svg", "application/javascript", "application/manifest")

NOT_BUILT = """\
<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Mainspring</title><h1>Mainspring is running</h1>
<p>Everything works but these pages: the web UI has not been built here.</p>
<p>In the folder of the source run <code>make web</code>, then load this page again.
It needs an npm registry once; an installed wheel has the UI inside.</p>
<p>Meanwhile: <code>mainspring --help</code>, <a href="/api/docs">the API</a>,
<a href="/readyz">readiness</a>, <a href="/metrics">metrics</a>.</p></html>
"""


class Pages(Route):
    """Handles every path without another route, for GET and HEAD."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        path = scope.get("path", "")
        if scope.get("method") not in ("GET", "HEAD") or any(_is_below(path, prefix) for prefix in FOR_PROGRAMS):
            return Match.NONE, {}
        return super().matches(scope)


def routes(built: Path = BUILT) -> list[Route]:
    return [
        Route("/assets/{name}", partial(_asset, built), include_in_schema=False),
        Pages("/{path:path}", partial(_page, built), include_in_schema=False),
    ]


def is_built(built: Path = BUILT) -> bool:
    return (built / "index.html").is_file()


async def _asset(built: Path, request: Request) -> Response:
    name = request.path_params["name"]
    found = await _load(built / "assets" / name) if "/" not in name and not name.startswith(".") else None
    if found is None:
        raise HttpProblem("not-found", "this file of the web UI does not exist; reload the page, which may be outdated")
    return _send(request, *found, cache_control=FOR_EVER)


async def _page(built: Path, request: Request) -> Response:
    name = request.path_params["path"]
    if "/" not in name and "." in name and not name.startswith("."):  # favicon.svg and the like
        found = await _load(built / name)
        if found is None or name == "index.html":
            raise HttpProblem("not-found", f"file {escape(name)[:100]} does not exist; pages have no file extension")
        return _send(request, *found, cache_control="public, max-age=3600")
    index = await _load(built / "index.html")
    if index is None:
        return HTMLResponse(NOT_BUILT, headers={"Cache-Control": "no-store"})
    return _send(request, *index, cache_control="no-cache")


def _send(request: Request, media_type: str, tag: str, plain: bytes, packed: bytes, cache_control: str) -> Response:
    headers = {"Cache-Control": cache_control, "ETag": tag, "Vary": "Accept-Encoding"}
    if media_type.startswith("text/html"):
        headers["Content-Security-Policy"] = PAGE_SECURITY
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if packed and takes_gzip(request.headers.get("accept-encoding", "")):
        return Response(packed, media_type=media_type, headers={**headers, "Content-Encoding": "gzip"})
    return Response(plain, media_type=media_type, headers=headers)


async def _load(path: Path) -> tuple[str, str, bytes, bytes] | None:
    """Media type, entity tag, content and compressed content; cached until the file changes.

    Runs in a thread: the largest file takes 20 ms to compress, and a disk may take any time.
    """
    return await asyncio.to_thread(_load_now, path)


def _load_now(path: Path) -> tuple[str, str, bytes, bytes] | None:
    try:
        changed = path.stat()
    except (OSError, ValueError):
        return None
    return _read(path, changed.st_mtime_ns, changed.st_size) if path.is_file() else None


@lru_cache(maxsize=256)
def _read(path: Path, changed_ns: int, size: int) -> tuple[str, str, bytes, bytes]:
    content = path.read_bytes()
    media_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    if path.suffix == ".js":  # the tables of machines differ
        media_type = "text/javascript"
    packed = gzip.compress(content, mtime=0) if media_type.startswith(COMPRESSED) else b""
    return media_type, f'"{sha256(content).hexdigest()[:20]}"', content, packed


def _is_below(path: str, prefix: str) -> bool:
    return path == prefix or path.startswith(f"{prefix}/")

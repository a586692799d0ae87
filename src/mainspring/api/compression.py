"""Compress the long lists of the API, and nothing else.

The length of compressed data reveals repetitions (BREACH): an attacker who can place text beside a secret, make a
browser repeat a request, and see the lengths, can guess the secret. Cookies are `SameSite=Lax`, so pages of other sites
cannot send requests with them, which alone would be enough. In addition only the paths in `LISTS` are compressed, for
GET: none contains a secret, and none repeats a parameter of its request. Not compressed:

- what is shown once (keys, links, signing secrets): it is the response to a POST;
- sessions, second factors and keys;
- one run, one delivery, one execution, and exports, which contain responses of targets beside other data;
- event streams, which must not wait for a block to fill. Files of the web UI are compressed by `frontend`, once.

A body of 32 kB or more is compressed in a thread: zlib takes about 20 ms per megabyte, in which the loop continues.
"""

import re

from starlette.datastructures import Headers
from starlette.middleware.gzip import GZipResponder
from starlette.types import ASGIApp, Receive, Scope, Send

SIZE_MIN = 1_000  # bytes; a shorter response fits into one packet
IN_THREAD_MIN = 32_000
LEVEL = 5  # higher levels make a list 2 % smaller and take twice as long
LISTS = re.compile(
    r"/api/v1/(?:"
    r"jobs|endpoints|rules|sessions|runs|events|workflows|executions(?:/attention)?|audit|workers|members|tenants"
    r"|dashboard/[a-z]+|simulations|config/schema|openapi\.json"
    r"|endpoints/[^/]+/(?:runs|sessions)|workflows/[^/]+/(?:versions|graph)"
    r")"
)


class Compression:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app
        if is_compressed(scope):
            app = GZipResponder(self._app, SIZE_MIN, compresslevel=LEVEL, thread_minimum_size=IN_THREAD_MIN)
        await app(scope, receive, send)


def is_compressed(scope: Scope) -> bool:
    """Whether the response may be compressed: a list, requested with GET by a client that accepts gzip."""
    if scope["type"] != "http" or scope["method"] != "GET" or LISTS.fullmatch(scope["path"]) is None:
        return False
    return takes_gzip(Headers(scope=scope).get("accept-encoding", ""))


def takes_gzip(accepted: str) -> bool:
    """`gzip;q=0` is a refusal."""
    for each in accepted.lower().split(","):
        name, _, weight = (part.strip() for part in each.partition(";"))
        if name in ("gzip", "*"):
            return re.fullmatch(r"q=0(\.0{0,3})?", weight.replace(" ", "")) is None
    return False

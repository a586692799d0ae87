"""Compress the long lists of the API, and nothing else.

What is compressed tells by its length what repeats in it (BREACH): a stranger who can put text beside a secret, make a
browser ask again and again, and see the lengths, can guess the secret. Cookies are `SameSite=Lax`, so another site's
page cannot make a browser ask with them; that alone would do. Beside it only what is in `LISTS` is compressed, read
with GET: none holds a secret, and none repeats a parameter of its request. Left as they are:

- what is shown once (keys, links, signing secrets): it answers a POST;
- sessions, second factors and keys;
- one run, one delivery, one execution, and exports, which hold what a stranger's server answered beside other data;
- event streams, which must not wait for a block to fill. Files of the web UI are compressed by `frontend`, once.

A body of 32 kB or more is compressed in a thread: zlib takes about 20 ms for a megabyte, in which the loop goes on.
"""

import re

from starlette.datastructures import Headers
from starlette.middleware.gzip import GZipResponder
from starlette.types import ASGIApp, Receive, Scope, Send

SIZE_MIN = 1_000  # bytes; a shorter answer fits into one packet as it is
IN_THREAD_MIN = 32_000
LEVEL = 5  # beyond it a list becomes 2 % smaller and takes twice as long
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
    """Whether the answer may be compressed: a list, asked for with GET by a client that takes gzip."""
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

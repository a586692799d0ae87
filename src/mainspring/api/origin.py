"""The origin of a request: its address, for the audit trail, and whether another site made a browser send it.

A browser states in Sec-Fetch-Site which site caused a request, or at least its Origin. A request that changes something
with a browser's cookies must come from our own pages, and must not be of a kind that a plain form can send. Programs
with an API key send no cookie and are not checked.
"""

from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from mainspring.api.cookies import SESSION
from mainspring.api.problems import problem
from mainspring.ports.accounts import ORIGIN

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
OWN_SITES = ("same-origin", "none")
FORM_TYPES = ("application/x-www-form-urlencoded", "multipart/form-data", "text/plain")  # any page can send these


class OwnPagesOnly:
    def __init__(self, app: ASGIApp, public_url: str = "") -> None:
        self._app = app
        self._public_host = urlsplit(public_url).netloc.lower()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        ORIGIN.set(_address(scope))
        headers = Headers(scope=scope)
        if scope["method"] in SAFE_METHODS or self._is_ours(headers):
            await self._app(scope, receive, send)
            return
        detail = (
            "this request changes something and may come from a page of another site; send it from "
            "Mainspring's own pages as JSON, or with an API key and no cookie"
        )
        await problem("forbidden", detail, scope["state"]["request_id"])(scope, receive, send)

    def _is_ours(self, headers: Headers) -> bool:
        has_session = any(
            part.strip().startswith((f"{SESSION}=", f"__Host-{SESSION}="))
            for part in headers.get("cookie", "").split(";")
        )
        if not has_session and "authorization" in headers:
            return True
        if has_session and headers.get("content-type", "").partition(";")[0].strip().lower() in FORM_TYPES:
            return False
        site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        if site is not None:
            return site in OWN_SITES
        if origin is not None:
            return urlsplit(origin).netloc.lower() in (headers.get("host", "").lower(), self._public_host or None)
        return not has_session


def _address(scope: Scope) -> str:
    """The address of a request in normalised form. A proxy may pass anything on: an invalid address counts as none."""
    try:
        return str(ip_address(str(scope["client"][0]).strip())) if scope.get("client") else ""
    except ValueError:
        return ""

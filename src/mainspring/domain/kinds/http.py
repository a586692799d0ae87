"""Kind `http`: one HTTP request. Its action is `HttpAction`; how responses are judged: `outbound/http.py`."""

import re
from typing import ClassVar
from urllib.parse import urlsplit

from msgspec.structs import replace

from mainspring.domain.errors import InvalidInput
from mainspring.domain.expressions.condition import shape_of
from mainspring.domain.expressions.pattern import check_pattern
from mainspring.domain.kinds.expiry import check_days
from mainspring.domain.kinds.kind import CallPolicy, Fact, Kind
from mainspring.domain.run import CALLBACK, Action, Header, HttpAction
from mainspring.domain.target import HIDDEN_QUERY, check_header, check_shown_url, check_url, origin_of, shown_url

HEADERS_MAX = 50
NO_SITE = (
    "the address at which targets reach this server with their callbacks is not known; set MAINSPRING_PUBLIC_URL at "
    "the server and its workers"
)
SECRET_WORDS = ("authorization", "cookie", "token", "secret", "password", "api-key", "apikey", "x-auth", "signature")
PLAIN_KEYS = {"idempotency", "correlation", "partition", "cache"}  # these names identify things, and grant no access


class HttpKind(Kind[HttpAction]):
    name = "http"
    about = "Sends one HTTP request."
    action = HttpAction
    has_status_code = True
    has_tls = True
    status_label = "HTTP"
    pairs = "headers"
    pair = "header"
    searched = ("url",)
    facts: ClassVar[tuple[Fact, ...]] = (
        Fact("status_code", "Status code of the response."),
        Fact("headers", "Response headers, by lower-case name."),
        Fact("body", "The body, if it is JSON."),
        Fact("tls", "The certificate, if the endpoint asks for it: `days_left`, `issuer`, `subject`, `not_after`."),
    )

    def check(self, action: HttpAction, policy: CallPolicy) -> HttpAction:
        check_header_count(len(action.headers))
        if action.literal:
            check_url(action.url.removesuffix(HIDDEN_QUERY), policy.allow_ports)
        url, method = check_shown_url(action.url, policy.allow_ports).url, action.method.upper()
        contains, matches = action.contains or None, action.matches or None
        _check_text(contains, matches, method, action.body_cap)
        _check_expiry(action, url)
        if action.completes == CALLBACK and not policy.site:
            raise InvalidInput(f"completes callback is not possible: {NO_SITE}", field="completes", value=CALLBACK)
        return replace(
            action,
            url=url,
            method=method,
            contains=contains,
            matches=matches,
            headers=tuple(marked_secret(header) for header in action.headers),
        )

    def host_key(self, action: HttpAction) -> str:
        parts = urlsplit(action.url)
        default = 443 if parts.scheme == "https" else 80
        return parts.netloc if parts.port else f"{parts.netloc}:{default}"

    def summary(self, action: HttpAction) -> str:
        return f"{action.method} {shown_url(action.url)}"

    def origin(self, action: HttpAction) -> str:
        return origin_of(action.url)


def reads_certificate(action: HttpAction) -> bool:
    """Whether a call must ask for the certificate of its target."""
    if action.warn_days or action.fail_days:
        return True
    return action.condition is not None and "tls" in shape_of(action.condition).names


def url_of(action: Action) -> str:
    """The URL, or "" of an action that has none."""
    return action.url if isinstance(action, HttpAction) else ""


def query_of(action: Action) -> str:
    """The encrypted query string, or ""."""
    return action.query if isinstance(action, HttpAction) else ""


def with_query(action: Action, query: str) -> Action:
    """The action as stored or shown: its URL without the query string, which is stored separately and encrypted."""
    return replace(action, url=shown_url(action.url), query=query) if isinstance(action, HttpAction) else action


def marked_secret(header: Header) -> Header:
    """A header whose name suggests a secret is treated as one, whether or not it was marked."""
    check_header(header.name, header.value)
    return replace(header, secret=header.secret or speaks_of_a_secret(header.name))


def speaks_of_a_secret(name: str) -> bool:
    """Whether the value of a header with this name is a secret, judged by the name."""
    words = re.split("[-_]", name.lower())
    is_key = words[-1] == "key" and PLAIN_KEYS.isdisjoint(words)
    return is_key or any(word in name.lower() for word in SECRET_WORDS)


def _check_text(contains: str | None, matches: str | None, method: str, body_cap: int) -> None:
    if matches is not None:
        check_pattern(matches, body_cap)
    if method == "HEAD" and (contains or matches):
        field = "contains" if contains else "matches"
        raise InvalidInput(
            f"{field} with method HEAD, whose responses have no body; choose GET, or leave {field} out", field=field
        )


def _check_expiry(action: HttpAction, url: str) -> None:
    if action.warn_days:
        check_days(action.warn_days, action.fail_days)
    if (action.warn_days or action.fail_days) and not url.startswith("https://"):
        field = "warn_days" if action.warn_days else "fail_days"
        raise InvalidInput(
            f"{field} for {shown_url(url)[:200]}, which has no certificate; give an https:// URL, or leave {field} out",
            field=field,
        )


def check_header_count(count: int) -> None:
    if count > HEADERS_MAX:
        raise InvalidInput(f"headers {count} is out of bounds; give 0 to {HEADERS_MAX}", field="headers", value=count)

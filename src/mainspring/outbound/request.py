"""Prepare the request of a call: a template per action, headers per attempt, and the next hop of a redirect.

The template holds everything about an action that never changes: the checked target, header lines, the body's bytes. A
prepared request is one attempt, with identity and signature. `redirected` turns it into the request for the next hop
and drops everything confidential for good as soon as the origin changes.
"""

import re
from urllib.parse import urljoin

import msgspec
from msgspec.structs import replace

from mainspring.domain.errors import InvalidInput
from mainspring.domain.instant import rfc3339
from mainspring.domain.kinds.http import reads_certificate
from mainspring.domain.run import HttpAction, Request
from mainspring.domain.target import HEADERS_MAX, HIDDEN_QUERY, Target, check_header, check_url
from mainspring.outbound.signing import signature_header

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
METHODS_WITHOUT_BODY = frozenset({"GET", "HEAD"})
METHODS_WITH_LENGTH = frozenset({"POST", "PUT", "PATCH"})  # these send `Content-Length: 0` instead of nothing
CONFIDENTIAL = frozenset({"authorization", "cookie", "proxy-authorization"})
REDIRECTS = frozenset({301, 302, 303, 307, 308})

_UNSEEN = re.compile(r"[^\x21-\x7e]")

Line = str | bytes


class RequestTemplate(msgspec.Struct, frozen=True):
    """A checked action, prepared for sending. An encrypted query string is not in its target."""

    target: Target
    method: str
    body: bytes | None
    open_lines: tuple[Line, ...]  # may follow a redirect to any origin
    confidential_lines: tuple[Line, ...]  # stay with their origin
    body_lines: tuple[Line, ...]  # describe the body; dropped with it
    secrets: tuple[tuple[str, str], ...]  # name, encrypted value; stay with their origin
    follows_redirects: bool = False
    wants_certificate: bool = False


class PreparedRequest(msgspec.Struct, frozen=True):
    """One request, ready to send."""

    target: Target
    method: str
    body: bytes | None
    lines: list[Line]
    open_lines: list[Line]  # what remains of `lines` at another origin
    body_lines: tuple[Line, ...]
    bodiless_signature: Line | None = None  # replaces the signature if a redirect drops the body
    has_left_home: bool = False


def template_for(action: HttpAction, allow_ports: frozenset[int]) -> RequestTemplate:
    """Checks an action again and prepares it. Raises InvalidInput: a stored action may be older than a rule."""
    method = action.method.upper()
    if method not in METHODS:
        raise InvalidInput(
            f"method {action.method[:20]!r} is unknown; use one of {', '.join(sorted(METHODS))}", field="method"
        )
    if len(action.headers) > HEADERS_MAX:
        raise InvalidInput(
            f"{len(action.headers)} headers are set; at most {HEADERS_MAX} are allowed; remove some", field="headers"
        )
    body = None if method in METHODS_WITHOUT_BODY else _body_bytes(action, method)
    names = {header.name.lower() for header in action.headers}
    open_lines: list[Line] = [] if "accept-encoding" in names else ["Accept-Encoding: identity"]
    # An empty `Expect:` stops libcurl from waiting for permission to send a body of more than 1 MB.
    body_lines: list[Line] = [] if body is None else ["Expect:"]
    if body is not None and "content-type" not in names:
        body_lines.append(f"Content-Type: {_guessed_type(body)}" if action.body is not None else "Content-Type:")
    confidential: list[Line] = []
    secrets = []
    for header in action.headers:
        check_header(header.name, "" if header.secret else header.value)
        lower = header.name.lower()
        if header.secret:
            secrets.append((header.name, header.value))
        elif lower in CONFIDENTIAL:
            confidential.append(header_line(header.name, header.value))
        elif lower == "content-type" and body is not None:
            body_lines.append(header_line(header.name, header.value))
        else:
            open_lines.append(header_line(header.name, header.value))
    # Decrypted with each call: it is encrypted for one endpoint, and a template serves all with the same action.
    target = check_url(action.url.removesuffix(HIDDEN_QUERY) if action.query else action.url, allow_ports)
    return RequestTemplate(
        target, method, body, tuple(open_lines), tuple(confidential), tuple(body_lines), tuple(secrets),
        action.redirects_max > 0, reads_certificate(action),
    )  # fmt: skip


def prepare_request(
    plan: RequestTemplate,
    target: Target,
    request: Request,
    timestamp: int,
    secret_lines: list[Line],
    signing_keys: tuple[str, ...],
) -> PreparedRequest:
    """The first request of an attempt. `target` is the template's target with its query string. `signing_keys` are
    decrypted; without keys, nothing is signed.
    """
    open_lines: list[Line] = [
        f"webhook-id: {request.slot_id}",
        f"webhook-timestamp: {timestamp}",
        f"Mainspring-Slot: {rfc3339(request.slot_at)}",
        f"Mainspring-Attempt: {request.attempt}",
        *plan.open_lines,
        *plan.body_lines,
    ]
    lines, bodiless_signature = open_lines, None
    if plan.confidential_lines or secret_lines or signing_keys:
        lines = [*open_lines, *plan.confidential_lines, *secret_lines]
    if signing_keys:
        lines.append(_signature_line(signing_keys, request.slot_id, timestamp, plan.body or b""))
        if plan.follows_redirects and plan.body is not None:
            bodiless_signature = _signature_line(signing_keys, request.slot_id, timestamp, b"")
    return PreparedRequest(target, plan.method, plan.body, lines, open_lines, plan.body_lines, bodiless_signature)


def redirected(
    prepared: PreparedRequest, status_code: int, location: str, allow_ports: frozenset[int]
) -> PreparedRequest:
    """The next request after a redirect, as browsers do it. Raises InvalidInput if the target may not be called."""
    if _UNSEEN.search(location):
        raise InvalidInput(
            "the Location contains characters that are not allowed in a URL; correct the target", field="location"
        )
    try:
        url = urljoin(prepared.target.url, location)
    except ValueError as fault:
        raise InvalidInput(f"the Location is not a URL ({fault}); correct the target", field="location") from None
    target = check_url(url, allow_ports)
    has_left_home = prepared.has_left_home or target.origin != prepared.target.origin
    method, body, lines, open_lines = prepared.method, prepared.body, prepared.lines, prepared.open_lines
    becomes_get = method not in METHODS_WITHOUT_BODY if status_code == 303 else method == "POST"
    if becomes_get and status_code in (301, 302, 303):
        method, body = "GET", None
        open_lines = [line for line in open_lines if line not in prepared.body_lines]
        lines = [line for line in lines if line not in prepared.body_lines and not _is_signature(line)]
        if prepared.bodiless_signature is not None:
            lines.append(prepared.bodiless_signature)
    return replace(
        prepared,
        target=target,
        method=method,
        body=body,
        lines=open_lines if has_left_home else lines,
        open_lines=open_lines,
        has_left_home=has_left_home,
    )


def header_line(name: str, value: str) -> Line:
    """A header in libcurl's syntax: `Name;` sends an empty value, where `Name:` would send nothing."""
    line = f"{name}: {value}" if value.strip() else f"{name};"
    return line if line.isascii() else line.encode("latin-1")


def _body_bytes(action: HttpAction, method: str) -> bytes | None:
    if action.body is None:
        return b"" if method in METHODS_WITH_LENGTH else None
    try:
        return action.body.encode()
    except UnicodeEncodeError:
        raise InvalidInput("the body contains half a character (a lone surrogate); remove it", field="body") from None


def _guessed_type(body: bytes) -> str:
    try:
        msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return "text/plain; charset=utf-8"
    return "application/json"


def _signature_line(keys: tuple[str, ...], message_id: str, timestamp: int, body: bytes) -> Line:
    return f"webhook-signature: {signature_header(keys, message_id, timestamp, body)}"


def _is_signature(line: Line) -> bool:
    return isinstance(line, str) and line.startswith("webhook-signature:")

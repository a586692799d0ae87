"""Make the HTTP call of a run and return its outcome. The only exit for a tenant's requests.

    caller = HttpCaller(AddressGuard(), Vault(ring), clock=now)
    outcome = await caller.call(request)

Every result is an Outcome with a stable `error_code`; only cancellation raises. One deadline covers name resolution,
connection, TLS, request and response, over all redirects. The rule that must not break: nothing goes out unsigned that
should be signed, nothing goes to an address the guard refuses, and no secret is stored with the response.

    blocked   invalid_request, secret, signing (nothing was sent), blocked_address (nothing was sent there)
    timeout   deadline
    failure   dns, connect (also: closed before a response), tls, protocol, headers_too_large,
              redirect_limit, redirect_invalid, http_status, condition

Bodies are requested unencoded (`Accept-Encoding: identity`), so that the cap counts the stored bytes and a compression
bomb stays small; a body that the target compresses anyway is stored as received. A name with several addresses is not
refused as a whole: addresses that the guard refuses are left out.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime
from http import HTTPStatus

import pycurl
from msgspec.structs import replace

from mainspring import __version__
from mainspring.domain.access.sealing import header_place, query_place, query_secrets, signing_place
from mainspring.domain.errors import InvalidInput, MainspringError
from mainspring.domain.expressions import condition
from mainspring.domain.run import Body, HttpAction, Outcome, Phases, Request, RunStatus
from mainspring.domain.target import Target, check_header, check_url, shown_url
from mainspring.domain.text import clean_text
from mainspring.outbound.curl import CurlMulti, Transfer
from mainspring.outbound.guard import AddressGuard
from mainspring.outbound.request import (
    REDIRECTS,
    Line,
    PreparedRequest,
    RequestTemplate,
    header_line,
    prepare_request,
    redirected,
    template_for,
)
from mainspring.outbound.resolver import Lookup, Resolution, Resolver, Route, system_lookup
from mainspring.outbound.response import HEAD_BYTES_MAX, Headers, fault_of, read_headers, retry_after_s, value_of
from mainspring.ports.outbound import Vault

REDIRECTS_MAX = 5
CONNECTIONS_MAX = 512  # sockets, in use and kept; below the usual limit of 1,024 files
PLANS_MAX = 4_096
ERROR_CHARS_MAX = 500
LOCATIONS = frozenset({"location", "content-location"})  # response headers that contain a URL
REDACTED = b"[redacted]"
REDACTED_INLINE_BYTES_MAX = 4_000_000  # searched through in some milliseconds; more in a thread
JUDGED_INLINE_BYTES_MAX = 50_000
REDACTED_CHARS_MIN = 6  # a shorter secret occurs in every text

LATE = Route(Resolution(()))  # no response within the deadline
PHRASES = {status.value: status.phrase for status in HTTPStatus}
CURL_TOO_LARGE = 100
# libcurl's codes by what a person can do about them; all others mean that the peer violated the protocol.
CODES = {
    pycurl.E_COULDNT_RESOLVE_HOST: "dns",
    pycurl.E_COULDNT_CONNECT: "connect",
    pycurl.E_OPERATION_TIMEDOUT: "deadline",
    pycurl.E_URL_MALFORMAT: "invalid_request",
    pycurl.E_SSL_CONNECT_ERROR: "tls",
    pycurl.E_PEER_FAILED_VERIFICATION: "tls",
    pycurl.E_SSL_CERTPROBLEM: "tls",
    pycurl.E_SSL_CIPHER: "tls",
    pycurl.E_SSL_CACERT_BADFILE: "tls",
    pycurl.E_SSL_ISSUER_ERROR: "tls",
    CURL_TOO_LARGE: "headers_too_large",
}
BROKEN_OFF = frozenset({pycurl.E_GOT_NOTHING, pycurl.E_SEND_ERROR, pycurl.E_RECV_ERROR, pycurl.E_ABORTED_BY_CALLBACK})

Judge = Callable[[str, int, Headers, bytes, int], bool | str]


class HttpCaller:
    """Calls targets on behalf of tenants. One instance per process and loop, any number of concurrent calls.

    `connections_max` bounds calls in flight and sockets (512); `allow_ports` permits ports that `check_url` refuses;
    `ca_file` replaces the system's certificate authorities; `conditions` evaluates success conditions (CEL).
    """

    def __init__(
        self,
        guard: AddressGuard,
        vault: Vault,
        *,
        clock: Callable[[], datetime],
        conditions: Judge | None = None,
        user_agent: str = f"Mainspring/{__version__}",
        connections_max: int = CONNECTIONS_MAX,
        allow_ports: frozenset[int] = frozenset(),
        ca_file: str | None = None,
        lookup: Lookup = system_lookup,
    ) -> None:
        self._guard = guard
        self._vault = vault
        self._clock = clock
        self._judge = conditions or condition.evaluate
        self._judging = asyncio.Lock()
        self._allow_ports = allow_ports
        self._user_agent = user_agent
        self._connections_max = connections_max
        self._ca_file = ca_file
        self._lookup = lookup
        self._lines: tuple[CurlMulti, Resolver] | None = None  # created on the loop of the first call
        self._plans: dict[HttpAction, RequestTemplate] = {}
        self._queries: dict[tuple[str, str, str], tuple[Target, tuple[str, ...]]] = {}

    async def call(self, request: Request) -> Outcome:
        """Makes one attempt.

        1. Check and prepare the request; decrypt its secrets and signing keys; if any of it fails, send nothing.
        2. Exchange, following redirects while the endpoint allows them and the deadline lasts.
        3. Judge the response and redact every secret that was sent.
        """
        action = request.action
        try:
            plan = self._plans.get(action) or self._plan(action)
        except InvalidInput as refusal:
            return _unsent("invalid_request", str(refusal))
        try:
            secrets = self._open_secrets(plan, request) if plan.secrets else ()
            target, hidden = self._open_query(plan, request) if action.query else (plan.target, ())
        except MainspringError as fault:
            return _unsent("secret", str(fault))
        try:
            prepared = self._prepared_request(plan, target, request, secrets)
        except MainspringError as fault:
            return _unsent("signing", str(fault))
        outcome = _without_queries(await self._deliver(prepared, request))
        if not secrets and not request.hidden and not hidden:
            return outcome
        values = [*(value for _, value in secrets), *request.hidden, *hidden]
        if outcome.body is not None and len(outcome.body.data) * len(values) > REDACTED_INLINE_BYTES_MAX:
            return await asyncio.to_thread(_redacted, outcome, values)
        return _redacted(outcome, values)

    async def aclose(self) -> None:
        """Cancels every call in flight and closes every connection."""
        if self._lines is not None:
            self._lines[0].close()

    def _open_lines(self) -> tuple[CurlMulti, Resolver]:
        wire = CurlMulti(
            self._guard, user_agent=self._user_agent, connections_max=self._connections_max, ca_file=self._ca_file
        )
        self._lines = wire, Resolver(self._guard, self._lookup)
        return self._lines

    def _plan(self, action: HttpAction) -> RequestTemplate:
        plan = template_for(action, self._allow_ports)
        if len(self._plans) >= PLANS_MAX:
            del self._plans[next(iter(self._plans))]
        self._plans[action] = plan
        return plan

    def _open_secrets(self, plan: RequestTemplate, request: Request) -> tuple[tuple[str, str], ...]:
        opened = []
        for name, sealed in plan.secrets:
            value = self._vault.open(sealed, header_place(request.tenant_id, request.endpoint_id, name))
            check_header(name, value)
            opened.append((name, value))
        return tuple(opened)

    def _open_query(self, plan: RequestTemplate, request: Request) -> tuple[Target, tuple[str, ...]]:
        """The target with its query string, and the parts to redact; computed once per endpoint."""
        place = query_place(request.tenant_id, request.endpoint_id)
        key = (plan.target.url, request.action.query, place)
        found = self._queries.get(key)
        if found is None:
            query = self._vault.open(request.action.query, place)
            found = check_url(f"{plan.target.url}?{query}", self._allow_ports), tuple(query_secrets(query))
            if len(self._queries) >= PLANS_MAX:
                del self._queries[next(iter(self._queries))]
            self._queries[key] = found
        return found

    def _prepared_request(
        self, plan: RequestTemplate, target: Target, request: Request, secrets: tuple[tuple[str, str], ...]
    ) -> PreparedRequest:
        keys: tuple[str, ...] = ()
        if request.signing_keys:
            place = request.signing_place or signing_place(request.tenant_id)
            keys = tuple([self._vault.open(sealed, place) for sealed in request.signing_keys])
        lines: list[Line] = [header_line(name, value) for name, value in secrets]
        return prepare_request(plan, target, request, int(self._clock().timestamp()), lines, keys)

    async def _deliver(self, prepared: PreparedRequest, request: Request) -> Outcome:
        """Exchanges until a response is final. `spent_us` is the part of the deadline used by earlier steps."""
        wire, resolver = self._lines or self._open_lines()
        action = request.action
        hops_max = min(action.redirects_max, REDIRECTS_MAX)
        hops = spent_us = 0
        while True:
            target, entry = prepared.target, ""
            if target.name is not None:
                route = resolver.known_route(target.name, target.port)
                if route is None:
                    route, spent_us = await self._look_up(resolver, target, request, spent_us)
                if not route.entry:
                    return _unreached(target, route, action, spent_us)
                entry = route.entry
            code, transfer = await wire.exchange(
                prepared.method,
                target.url,
                prepared.lines,
                prepared.body,
                host_key=target.host_key,
                entry=entry,
                timeout_ms=max(1, action.timeout_ms - spent_us // 1_000),
                cap=action.body_cap,
            )
            try:
                outcome = await self._read_in_turn(code, transfer, action, spent_us)
            finally:
                wire.release(transfer)
            if hops_max <= 0 or outcome.error_code != "http_status" or outcome.status_code not in REDIRECTS:
                return outcome
            if hops == hops_max:
                return _amended(outcome, "redirect_limit", f"more than {hops_max} redirects; the last was not followed")
            location = value_of(outcome.headers, "location")
            if location is None:
                return _amended(outcome, "redirect_invalid", f"HTTP {outcome.status_code} has no Location header")
            try:
                prepared = redirected(prepared, outcome.status_code, location, self._allow_ports)
            except InvalidInput as refusal:
                return _amended(outcome, "redirect_invalid", f"redirect refused: {refusal}")
            hops += 1
            spent_us = outcome.phases.total_us if outcome.phases else spent_us

    async def _look_up(self, resolver: Resolver, target: Target, request: Request, spent_us: int) -> tuple[Route, int]:
        """The route and the microseconds spent so far; a route is `late` if the deadline passed meanwhile."""
        assert target.name is not None
        time = asyncio.get_running_loop().time
        started_at = time()
        limit_s = request.action.timeout_ms / 1_000 - spent_us / 1_000_000
        try:
            async with asyncio.timeout(limit_s):
                route = await resolver.route(target.name, target.port, request.tenant_id)
        except TimeoutError:
            route = LATE
        return route, spent_us + int((time() - started_at) * 1_000_000)

    async def _read_in_turn(self, code: int, transfer: Transfer, action: HttpAction, offset_us: int) -> Outcome:
        """Judging a large answer takes tens of milliseconds: of many that arrive together, one in each turn."""
        if action.condition is None or transfer.bytes_seen <= JUDGED_INLINE_BYTES_MAX:
            return self._read(code, transfer, action, offset_us)
        async with self._judging:
            await asyncio.sleep(0)
            return self._read(code, transfer, action, offset_us)

    def _read(self, code: int, transfer: Transfer, action: HttpAction, offset_us: int) -> Outcome:
        """Turns what a transfer received into an outcome; judges the status but not redirects."""
        info = transfer.curl.getinfo
        status_code: int = info(pycurl.RESPONSE_CODE)
        headers = read_headers(transfer.head)
        if info(pycurl.NUM_CONNECTS):
            dns_us = offset_us + info(pycurl.NAMELOOKUP_TIME_T)
            connect_us = offset_us + info(pycurl.CONNECT_TIME_T)
            tls_us = offset_us + info(pycurl.APPCONNECT_TIME_T)
        else:  # a kept connection: no name resolution, connection or TLS handshake
            dns_us = connect_us = tls_us = offset_us
        first_byte_us = offset_us + info(pycurl.STARTTRANSFER_TIME_T)
        phases = Phases(dns_us, connect_us, tls_us, first_byte_us, offset_us + info(pycurl.TOTAL_TIME_T))
        duration_ms = (phases.total_us + 500) // 1_000
        truncated = transfer.truncated
        if truncated:
            code = pycurl.E_OK  # we stopped reading; that is not a fault of the target
        body = None
        if transfer.bytes_seen:
            kind = value_of(headers, "content-type") or ""
            body = Body(bytes(transfer.body), kind, truncated or code != pycurl.E_OK, transfer.bytes_seen)
        if info(pycurl.HEADER_SIZE) > HEAD_BYTES_MAX and status_code >= 200:
            code = CURL_TOO_LARGE
        if code != pycurl.E_OK:
            ending: tuple[str, str] | None = _failure(code, transfer, action)
        else:
            ending = self._verdict(action, status_code, headers, body, duration_ms)
        error_code, error = ending or (None, None)
        return Outcome(
            _STATUSES.get(error_code, RunStatus.FAILURE),
            duration_ms,
            status_code if status_code >= 200 else None,
            error_code,
            error,
            body,
            headers,
            phases,
            retry_after_s(headers, self._clock()) if status_code in (429, 503) else None,
            info(pycurl.PRIMARY_IP) or None,
        )

    def _verdict(
        self, action: HttpAction, status_code: int, headers: Headers, body: Body | None, duration_ms: int
    ) -> tuple[str, str] | None:
        """None for success, otherwise the code and the message."""
        if (fault := fault_of(headers)) is not None:
            return "protocol", fault
        accepted = action.accept_codes
        if status_code not in accepted if accepted else not 200 <= status_code < 300:
            wanted = ", ".join(map(str, accepted)) or "2xx"
            phrase = PHRASES.get(status_code)
            return "http_status", f"HTTP {status_code}{' ' + phrase if phrase else ''}; expected {wanted}"
        if action.condition is None:
            return None
        answer = self._judge(action.condition, status_code, headers, body.data if body else b"", duration_ms)
        if answer is True:
            return None
        reason = f"the condition is false: {action.condition}" if answer is False else f"the condition failed: {answer}"
        return "condition", clean_text(reason, ERROR_CHARS_MAX)


_STATUSES = {
    None: RunStatus.SUCCESS,
    "deadline": RunStatus.TIMEOUT,
    "blocked_address": RunStatus.BLOCKED,
    "invalid_request": RunStatus.BLOCKED,
}


def _failure(code: int, transfer: Transfer, action: HttpAction) -> tuple[str, str]:
    if code == pycurl.E_COULDNT_CONNECT and transfer.blocked is not None:
        return "blocked_address", f"not called: {transfer.blocked}"
    if code == CURL_TOO_LARGE:
        return "headers_too_large", f"the response headers are larger than {HEAD_BYTES_MAX} bytes"
    words = clean_text(transfer.curl.errstr() or pycurl.easy_strerror(code), ERROR_CHARS_MAX)
    error_code = CODES.get(code, "protocol")
    if error_code == "deadline":
        return error_code, f"no complete response within {action.timeout_ms} ms: {words}"
    if code in BROKEN_OFF and not transfer.head:
        rest = "the request may or may not have arrived" if code == pycurl.E_ABORTED_BY_CALLBACK else words
        return "connect", f"the connection was closed before a response: {rest}"
    return error_code, words


def _unreached(target: Target, route: Route, action: HttpAction, spent_us: int) -> Outcome:
    """The outcome of a call whose name could not be resolved."""
    if route is LATE:
        error_code, error = "deadline", f"{target.name} was not resolved within {action.timeout_ms} ms"
    elif route.blocked is not None:
        error_code, error = "blocked_address", f"not called: {target.name} is {route.blocked}"
    else:
        error_code, error = "dns", f"{target.name} could not be resolved: {route.fault}"
    return Outcome(
        _STATUSES.get(error_code, RunStatus.FAILURE),
        (spent_us + 500) // 1_000,
        error_code=error_code,
        error=clean_text(error, ERROR_CHARS_MAX),
        phases=Phases(dns_us=spent_us, total_us=spent_us),
    )


def _unsent(error_code: str, error: str) -> Outcome:
    return Outcome(RunStatus.BLOCKED, 0, error_code=error_code, error=clean_text(f"not sent: {error}", ERROR_CHARS_MAX))


def _amended(outcome: Outcome, error_code: str, error: str) -> Outcome:
    status = _STATUSES.get(error_code, RunStatus.FAILURE)
    return replace(outcome, status=status, error_code=error_code, error=clean_text(error, ERROR_CHARS_MAX))


def _without_queries(outcome: Outcome) -> Outcome:
    """The outcome without the query string of a redirect's target, which may hold a token like the endpoint's own."""
    if not any("?" in value and name.lower() in LOCATIONS for name, value in outcome.headers):
        return outcome
    headers = [(name, shown_url(value) if name.lower() in LOCATIONS else value) for name, value in outcome.headers]
    return replace(outcome, headers=tuple(headers))


def _redacted(outcome: Outcome, secrets: list[str]) -> Outcome:
    """The outcome without the values sent as secrets, whole or as their last word (`Bearer <token>`).

    Matches values as they were sent; a secret that a target encodes before echoing it is not caught.
    """
    found = {
        text for value in secrets for text in (value.strip(), value.split(" ")[-1]) if len(text) >= REDACTED_CHARS_MIN
    }
    texts = sorted(found, key=len, reverse=True)
    body = outcome.body
    if body is not None:
        data = body.data
        for text in texts:
            raw = _raw(text)
            data = data.replace(raw, REDACTED)
            if body.truncated:
                data = _without_cut_secret(data, raw)
        body = replace(body, data=data)
    headers = tuple([(name, _hide(value, texts)) for name, value in outcome.headers])
    error = None if outcome.error is None else _hide(outcome.error, texts)
    return replace(outcome, body=body, headers=headers, error=error)


def _raw(text: str) -> bytes:
    """As sent; a value decoded from a query string may hold any character."""
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode()


def _hide(text: str, secrets: list[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, REDACTED.decode("ascii"))
    return text


def _without_cut_secret(data: bytes, secret: bytes) -> bytes:
    """A body cut in the middle of a secret ends with its beginning, which is redacted too."""
    for length in range(len(secret) - 1, REDACTED_CHARS_MIN - 1, -1):
        if data.endswith(secret[:length]):
            return data[:-length] + REDACTED
    return data

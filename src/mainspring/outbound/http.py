"""Make the HTTP call of a run and return its outcome. The only exit for a tenant's requests.

    caller = HttpCaller(AddressGuard(), Vault(ring), clock=now)
    outcome = await caller.call(request)

Every result is an Outcome with a stable `error_code`; only cancellation raises. One deadline covers name resolution,
connection, TLS, request and response, over all redirects. The rule that must not break: nothing goes out unsigned that
should be signed, nothing goes to an address the guard refuses, and no secret is stored with the response.

    running   202 to a call whose run a callback ends
    blocked   invalid_request, secret, signing, connection (nothing was sent), blocked_address (nothing was sent there)
    timeout   deadline
    failure   dns, connect (also: closed before a response), tls, protocol, headers_too_large,
              redirect_limit, redirect_invalid, http_status, unexpected (its text), condition,
              certificate_expiring (or a success with a warning), token (of a connection), proxy (of a connection)

Bodies are requested unencoded (`Accept-Encoding: identity`), so that the cap counts the stored bytes and a compression
bomb stays small; a body that the target compresses anyway is stored as received. A name with several addresses is not
refused as a whole: addresses that the guard refuses are left out.
"""

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime
from http import HTTPStatus

import pycurl
from msgspec.structs import replace

from mainspring import __version__
from mainspring.domain.access.callback_token import CALLBACK_HEADER, CALLBACK_PLACE, CallbackTarget, callback_url
from mainspring.domain.access.sealing import header_place, query_place, query_secrets, signing_place
from mainspring.domain.errors import InvalidInput, MainspringError
from mainspring.domain.expressions import condition
from mainspring.domain.expressions.pattern import is_found
from mainspring.domain.kinds.expiry import EXPIRING, expiry_of
from mainspring.domain.kinds.http import NO_SITE
from mainspring.domain.run import CALLBACK, Body, Certificate, HttpAction, Outcome, Phases, Request, RunStatus
from mainspring.domain.schedule.callback import ACCEPTED, judge_overdue
from mainspring.domain.target import Target, check_header, check_url, shown_url
from mainspring.domain.text import clean_text
from mainspring.outbound.certificates import certificate_of
from mainspring.outbound.connections import Attachment, Connector, NotAttached
from mainspring.outbound.curl import READ_CERTIFICATE, CurlMulti, Transfer, WireOptions
from mainspring.outbound.guard import AddressGuard
from mainspring.outbound.redaction import redacted
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
from mainspring.ports.connections import ConnectionStore
from mainspring.ports.outbound import Vault

REDIRECTS_MAX = 5
CONNECTIONS_MAX = 512  # sockets, in use and kept; below the usual limit of 1,024 files
PLANS_MAX = 4_096
ERROR_CHARS_MAX = 500
LOCATIONS = frozenset({"location", "content-location"})  # response headers that contain a URL
REDACTED_INLINE_BYTES_MAX = 4_000_000  # searched through in some milliseconds; more in a thread
JUDGED_INLINE_BYTES_MAX = 50_000

LATE = Route(Resolution(()))  # no response within the deadline
PHRASES = {status.value: status.phrase for status in HTTPStatus}
CURL_TOO_LARGE = 100
CURL_PROXY = 97  # CURLE_PROXY, which pycurl does not name
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
    pycurl.E_COULDNT_RESOLVE_PROXY: "proxy",
    CURL_PROXY: "proxy",
}
BROKEN_OFF = frozenset({pycurl.E_GOT_NOTHING, pycurl.E_SEND_ERROR, pycurl.E_RECV_ERROR, pycurl.E_ABORTED_BY_CALLBACK})

Judge = Callable[[str, int, Headers, bytes, int, Mapping[str, object] | None], bool | str]


class HttpCaller:
    """Calls targets on behalf of tenants. One instance per process and loop, any number of concurrent calls.

    `connections_max` bounds calls in flight and sockets (512); `allow_ports` permits ports that `check_url` refuses;
    `ca_file` replaces the system's certificate authorities; `conditions` evaluates success conditions (CEL);
    `connections` finds those that actions name, and `proxies` are the URLs of those that they name. `site` is where
    targets reach this installation with their callbacks; "": they cannot.
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
        connections: ConnectionStore | None = None,
        proxies: Mapping[str, str] | None = None,
        site: str = "",
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
        self._site = site
        self._connector = Connector(connections, vault, clock, proxies or {}, self.call, allow_ports)

    async def call(self, request: Request, attached: Attachment | None = None) -> Outcome:
        """Makes one attempt. `attached` is what a connection adds; without it, an action that names one gets it here.

        1. Check and prepare the request; decrypt its secrets and signing keys; if any of it fails, send nothing.
        2. Exchange, following redirects while the endpoint allows them and the deadline lasts.
        3. Judge the response and redact every secret that was sent.
        """
        action = request.action
        assert isinstance(action, HttpAction)  # callers are chosen by the kind of the action
        if attached is None and action.connection:
            return await self._call_connected(request, action)
        token = ""
        if action.completes == CALLBACK and request.run_id:
            if not self._site:
                return _unsent("invalid_request", NO_SITE)
            target_run = CallbackTarget(request.tenant_id, request.endpoint_id, request.run_id)
            token = self._vault.seal(target_run.text(), CALLBACK_PLACE)
        try:
            # Filled-in templates differ with every call: they are not kept.
            plan = (
                template_for(action, self._allow_ports)
                if action.templated
                else self._plans.get(action) or self._plan(action)
            )
        except InvalidInput as refusal:
            return _unsent("invalid_request", str(refusal))
        try:
            secrets = self._open_secrets(plan, request) if plan.secrets else ()
            target, hidden = self._open_query(plan, action.query, request) if action.query else (plan.target, ())
        except MainspringError as fault:
            return _unsent("secret", str(fault))
        try:
            prepared = self._prepared_request(plan, target, request, secrets, attached, token)
        except MainspringError as fault:
            return _unsent("signing", str(fault))
        wants_certificate = plan.wants_certificate or request.wants_certificate
        outcome = _without_queries(await self._deliver(prepared, action, request, attached, wants_certificate))
        if not secrets and not request.hidden and not hidden and attached is None and not token:
            return outcome
        values = [*(value for _, value in secrets), *request.hidden, *hidden, *(attached.secrets if attached else ())]
        if token:
            values.append(token)
            outcome = _accepted(outcome)
        if outcome.body is not None and len(outcome.body.data) * len(values) > REDACTED_INLINE_BYTES_MAX:
            return await asyncio.to_thread(redacted, outcome, values)
        return redacted(outcome, values)

    async def _call_connected(self, request: Request, action: HttpAction) -> Outcome:
        """If the connection uses tokens, a 401 renews the token and sends the request again."""
        try:
            complete, attached = await self._connector.attach(request, action)
            outcome = await self.call(complete, attached)
            if attached.token and outcome.error_code == "http_status" and outcome.status_code == 401:
                renewed = await self._connector.renew(complete, action.connection, attached, outcome)
                return outcome if renewed is None else await self.call(complete, renewed)
            return outcome
        except NotAttached as refusal:
            return refusal.outcome

    async def judge(self, started_at: datetime) -> Outcome:
        """The outcome of a run that its target accepted and did not end before the deadline."""
        return judge_overdue(started_at, self._clock())

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

    def _open_query(self, plan: RequestTemplate, sealed: str, request: Request) -> tuple[Target, tuple[str, ...]]:
        """The target with its query string, and the parts to redact; computed once per endpoint."""
        place = query_place(request.tenant_id, request.endpoint_id)
        key = (plan.target.url, sealed, place)
        found = self._queries.get(key)
        if found is None:
            query = self._vault.open(sealed, place)
            found = check_url(f"{plan.target.url}?{query}", self._allow_ports), tuple(query_secrets(query))
            if len(self._queries) >= PLANS_MAX:
                del self._queries[next(iter(self._queries))]
            self._queries[key] = found
        return found

    def _prepared_request(
        self,
        plan: RequestTemplate,
        target: Target,
        request: Request,
        secrets: tuple[tuple[str, str], ...],
        attached: Attachment | None,
        token: str,
    ) -> PreparedRequest:
        keys: tuple[str, ...] = ()
        if request.signing_keys:
            place = request.signing_place or signing_place(request.tenant_id)
            keys = tuple([self._vault.open(sealed, place) for sealed in request.signing_keys])
        lines: list[Line] = [header_line(name, value) for name, value in secrets]
        if attached is not None:
            lines += attached.lines
        if token:
            lines.append(header_line(CALLBACK_HEADER, callback_url(self._site, token)))
        return prepare_request(plan, target, request, int(self._clock().timestamp()), lines, keys)

    async def _deliver(
        self,
        prepared: PreparedRequest,
        action: HttpAction,
        request: Request,
        attached: Attachment | None,
        wants_certificate: bool,
    ) -> Outcome:
        """Exchanges until a response is final. `spent_us` is the part of the deadline used by earlier steps."""
        wire, resolver = self._lines or self._open_lines()
        hops_max = min(action.redirects_max, REDIRECTS_MAX)
        hops, spent_us = 0, 0 if attached is None else attached.spent_us
        options = WireOptions(READ_CERTIFICATE) if wants_certificate else None
        while True:
            target, entry = prepared.target, ""
            if target.name is not None:
                route = resolver.known_route(target.name, target.port)
                if route is None:
                    route, spent_us = await self._look_up(resolver, target, action, request.tenant_id, spent_us)
                if not route.entry:
                    return _unreached(target, route, action, spent_us)
                entry = route.entry
            if attached is not None:
                if attached.proxy and target.name is None and (why := self._guard.refusal(target.host, target.port)):
                    return _unreached(target, Route(Resolution(()), blocked=why), action, spent_us)
                options = attached.options(target, entry, prepared.has_left_home, wants_certificate)
            code, transfer = await wire.exchange(
                prepared.method,
                target.url,
                prepared.lines,
                prepared.body,
                host_key=target.host_key,
                entry=entry,
                timeout_ms=max(1, action.timeout_ms - spent_us // 1_000),
                cap=action.body_cap,
                options=options,
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

    async def _look_up(
        self, resolver: Resolver, target: Target, action: HttpAction, tenant_id: str, spent_us: int
    ) -> tuple[Route, int]:
        """The route and the microseconds spent so far; a route is `late` if the deadline passed meanwhile."""
        assert target.name is not None
        time = asyncio.get_running_loop().time
        started_at = time()
        limit_s = action.timeout_ms / 1_000 - spent_us / 1_000_000
        try:
            async with asyncio.timeout(limit_s):
                route = await resolver.route(target.name, target.port, tenant_id)
        except TimeoutError:
            route = LATE
        return route, spent_us + int((time() - started_at) * 1_000_000)

    async def _read_in_turn(self, code: int, transfer: Transfer, action: HttpAction, offset_us: int) -> Outcome:
        """Judging a large response takes tens of milliseconds: of many, one is judged per turn of the loop."""
        is_cheap = action.condition is None and action.matches is None
        if is_cheap or transfer.bytes_seen <= JUDGED_INLINE_BYTES_MAX:
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
        certificate = None
        if transfer.pool is None:
            certificate = certificate_of(info(pycurl.INFO_CERTINFO), self._clock())
        if code != pycurl.E_OK:
            ending: tuple[str, str] | None = _failure(code, transfer, action)
        else:
            ending = self._verdict(action, status_code, headers, body, duration_ms, certificate)
        status = _STATUSES.get(None if ending is None else ending[0], RunStatus.FAILURE)
        if ending is None and certificate is not None:
            status, ending = _judged_expiry(action, certificate)
        error_code, error = ending or (None, None)
        return Outcome(
            status,
            duration_ms,
            status_code if status_code >= 200 else None,
            error_code,
            error,
            body,
            headers,
            phases,
            retry_after_s(headers, self._clock()) if status_code in (429, 503) else None,
            info(pycurl.PRIMARY_IP) or None,
            certificate,
        )

    def _verdict(
        self,
        action: HttpAction,
        status_code: int,
        headers: Headers,
        body: Body | None,
        duration_ms: int,
        certificate: Certificate | None,
    ) -> tuple[str, str] | None:
        """None for success, otherwise the code and the message."""
        if (fault := fault_of(headers)) is not None:
            return "protocol", fault
        accepted = action.accept_codes
        if status_code not in accepted if accepted else not 200 <= status_code < 300:
            wanted = ", ".join(map(str, accepted)) or "2xx"
            phrase = PHRASES.get(status_code)
            return "http_status", f"HTTP {status_code}{' ' + phrase if phrase else ''}; expected {wanted}"
        if (action.contains or action.matches) and (missing := _missing_text(action, body)):
            return "unexpected", clean_text(missing, ERROR_CHARS_MAX)
        if action.condition is None:
            return None
        tls = None if certificate is None else certificate.facts
        answer = self._judge(action.condition, status_code, headers, body.data if body else b"", duration_ms, tls)
        if answer is True:
            return None
        reason = f"the condition is false: {action.condition}" if answer is False else f"the condition failed: {answer}"
        return "condition", clean_text(reason, ERROR_CHARS_MAX)


def _missing_text(action: HttpAction, body: Body | None) -> str:
    """What a response lacks that it must contain; "" if nothing."""
    data = body.data if body is not None else b""
    does_not = "the response does not"
    if body is not None and body.truncated:
        does_not = f"the first {len(data):,} bytes of the response do not"
    if action.contains and action.contains.encode("utf-8", "surrogatepass") not in data:
        return f"{does_not} contain {action.contains!r}"
    if action.matches and not is_found(action.matches, data):
        return f"{does_not} match {action.matches!r}"
    return ""


def _judged_expiry(action: HttpAction, certificate: Certificate) -> tuple[RunStatus, tuple[str, str] | None]:
    left = certificate.days_left
    found = None if left is None else expiry_of(left, action.warn_days, action.fail_days)
    if found is None or not (action.warn_days or action.fail_days):
        return RunStatus.SUCCESS, None
    return RunStatus.FAILURE if found[0] else RunStatus.SUCCESS, (EXPIRING, found[1])


_STATUSES = {
    None: RunStatus.SUCCESS,
    "deadline": RunStatus.TIMEOUT,
    "blocked_address": RunStatus.BLOCKED,
    "invalid_request": RunStatus.BLOCKED,
}


def _failure(code: int, transfer: Transfer, action: HttpAction) -> tuple[str, str]:
    if code == pycurl.E_COULDNT_CONNECT and transfer.blocked is not None:
        return "blocked_address", f"not called: {transfer.blocked}"
    if transfer.proxy is not None and (status := transfer.curl.getinfo(pycurl.HTTP_CONNECTCODE)) not in (0, 200):
        return "proxy", f"the proxy refused the connection with HTTP {status}"
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


def _accepted(outcome: Outcome) -> Outcome:
    """202 does not end a run that a callback ends, regardless of accepted codes; the condition judges the callback."""
    if outcome.status_code != ACCEPTED or outcome.error_code not in (None, "http_status", "condition"):
        return outcome
    return replace(outcome, status=RunStatus.RUNNING, error_code=None, error=None)


def _amended(outcome: Outcome, error_code: str, error: str) -> Outcome:
    status = _STATUSES.get(error_code, RunStatus.FAILURE)
    return replace(outcome, status=status, error_code=error_code, error=clean_text(error, ERROR_CHARS_MAX))


def _without_queries(outcome: Outcome) -> Outcome:
    """The outcome without the query string of a redirect's target, which may hold a token like the endpoint's own."""
    if not any("?" in value and name.lower() in LOCATIONS for name, value in outcome.headers):
        return outcome
    headers = [(name, shown_url(value) if name.lower() in LOCATIONS else value) for name, value in outcome.headers]
    return replace(outcome, headers=tuple(headers))

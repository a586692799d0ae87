"""Handlers of effects: an HTTP request, a run of an endpoint, an email. Each returns a result.

A handler never raises for what the other side does. `success` carries a result that the execution can read as
`steps.<id>.result`; `failure` a code and a message; `unknown` is for effects that may have arrived and must not be sent
twice.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Protocol, cast

import msgspec
from msgspec.structs import replace

from mainspring.domain.errors import InvalidInput, MainspringError
from mainspring.domain.event import Event, EventType
from mainspring.domain.expressions.condition import parse_bounded
from mainspring.domain.run import Header, HttpAction, Outcome, Request, Run, RunStatus, RunTrigger
from mainspring.domain.target import check_header, check_url
from mainspring.domain.text import sanitised_view
from mainspring.ports.outbound import Caller, Ids, Vault
from mainspring.ports.stores import Stores
from mainspring.ports.workflows import Intent
from mainspring.workers.effects.hint import HintHandler
from mainspring.workers.effects.secrets import StepSecrets
from mainspring.workflow.audit import canonical
from mainspring.workflow.model import Idempotency

BODY_CAP = 60_000  # bytes: what fits into the context of an execution
# Error codes of calls that ended before the request can have arrived.
NEVER_SENT = frozenset(
    {"dns", "connect", "tls", "blocked_address", "blocked", "signing", "invalid_request", "no_endpoint", "mail"}
    | {"secret", "connection", "token", "proxy", "template"}
)

NOT_SHOWN = "the request is invalid once its secrets are filled in: they have characters that are not allowed there"

Ending = tuple[str, dict[str, object]]


class EffectHandler(Protocol):
    async def run(self, intent: Intent) -> Ending:
        """`success`, `failure` or `unknown`, and the data for the execution."""


class CallHandler:
    """An HTTP request through the guarded caller, signed if the tenant signs; the key is its `webhook-id`."""

    def __init__(self, stores: Stores, caller: Caller, vault: Vault, allow_ports: frozenset[int] = frozenset()) -> None:
        self._stores = stores
        self._caller = caller
        self._secrets = StepSecrets(vault)
        self._allow_ports = allow_ports

    async def run(self, intent: Intent) -> Ending:
        try:
            wanted, opened = self._secrets.opened(intent)
        except MainspringError as fault:
            return "failure", {"code": "secret", "error": str(fault)}
        try:
            action = action_of(replace(intent, request=wanted), self._allow_ports)
        except InvalidInput as fault:
            return "failure", {"code": "invalid_request", "error": NOT_SHOWN if opened else str(fault)}
        tenant = await self._stores.endpoints.tenant(intent.tenant_id)
        now = await self._stores.schedule.now()
        keys = tenant.signing_keys if tenant else ()
        request = Request(
            intent.tenant_id, intent.execution_id, intent.key, now, intent.attempt, action, keys, hidden=opened
        )
        outcome = await self._caller.call(request)
        ending, data = ending_of(outcome, intent)
        if ending != "success":
            return ending, data
        try:
            result = cast("dict[str, object]", data["result"])
            return ending, {"result": self._secrets.sealed(intent, outcome, result)}
        except InvalidInput as fault:
            return "failure", {"code": "no_secret", "error": str(fault)}


class EndpointHandler:
    """A run of an endpoint by name: with its own request, secrets and conditions; recorded among its runs."""

    def __init__(self, stores: Stores, caller: Caller, ids: Ids, worker: str) -> None:
        self._stores = stores
        self._caller = caller
        self._ids = ids
        self._worker = worker

    async def run(self, intent: Intent) -> Ending:
        name = str(intent.request.get("endpoint", ""))
        endpoint = await self._stores.endpoints.endpoint(intent.tenant_id, name)
        if endpoint is None or endpoint.archived_at is not None:
            error = f"endpoint {name!r} does not exist any more; create it, then retry"
            return "failure", {"code": "no_endpoint", "error": error}
        tenant = await self._stores.endpoints.tenant(intent.tenant_id)
        now = await self._stores.schedule.now()
        keys = tenant.signing_keys if tenant else ()
        request = Request(
            intent.tenant_id, endpoint.id, intent.key, now, intent.attempt, endpoint.action, keys,
            endpoint=endpoint.name, job=endpoint.job,
        )  # fmt: skip
        outcome = await self._caller.call(request)
        run = Run(
            self._ids.new("run", now), intent.tenant_id, endpoint.id, now, intent.attempt, RunTrigger.MANUAL,
            "workflow", outcome.status, now, None, self._worker, now + timedelta(milliseconds=outcome.duration_ms),
            outcome.duration_ms, outcome.status_code, outcome.error_code, outcome.error,
        )  # fmt: skip
        data: dict[str, object] = {"status": outcome.status, "execution": intent.execution_id, "trigger": "workflow"}
        actor = f"execution:{intent.execution_id}"
        event = Event(EventType.RUN_FINISHED, now, intent.tenant_id, endpoint.id, run.id, actor, data)
        await self._stores.runs.add_test_run(run, outcome, [event])
        return ending_of(outcome, intent)


class EffectMailer(Protocol):
    async def send(self, to: str, title: str, text: str, message_id: str, *, sender: str, timeout_s: float) -> Outcome:
        """Sends an email; "" uses the default sender. A result with the code `mail` cannot have arrived."""


class EmailHandler:
    """An email through a mailer; the key becomes its Message-ID, so a mailbox shows duplicates once."""

    def __init__(self, postman: EffectMailer) -> None:
        self._postman = postman

    async def run(self, intent: Intent) -> Ending:
        to, title, text, sender = (str(intent.request.get(each) or "") for each in ("to", "subject", "body", "from"))
        outcome = await self._postman.send(
            to, title, text, intent.key, sender=sender, timeout_s=intent.timeout_ms / 1000
        )
        return ending_of(outcome, intent)


def handlers_of(
    stores: Stores,
    caller: Caller,
    mailer: EffectMailer,
    ids: Ids,
    vault: Vault,
    worker: str,
    allow_ports: frozenset[int],
) -> dict[str, EffectHandler]:
    """All handlers by the kind of effect; those of email by channel."""
    return {
        "call": CallHandler(stores, caller, vault, allow_ports),
        "endpoint": EndpointHandler(stores, caller, ids, worker),
        "hint": HintHandler(stores),
        "smtp": EmailHandler(mailer),
    }


def action_of(intent: Intent, allow_ports: frozenset[int]) -> HttpAction:
    """The request to send; checked again because its templates now have values."""
    wanted = intent.request
    url, connection = str(wanted.get("url", "")), str(wanted.get("connection") or "")
    if not connection:
        url = check_url(url, allow_ports).url  # with a connection, the caller completes and checks the URL
    given = cast("Mapping[str, str]", wanted.get("headers") or {})
    headers = [Header(name, text) for name, text in given.items()]
    names = {name.lower() for name in given}
    body = wanted.get("body")
    if body is not None and not isinstance(body, str):
        body = msgspec.json.encode(body).decode()
        if "content-type" not in names:
            headers.append(Header("Content-Type", "application/json"))
    if "idempotency-key" not in names:
        headers.append(Header("Idempotency-Key", intent.key))
    for header in headers:
        check_header(header.name, header.value)
    return HttpAction(
        url=url, method=str(wanted.get("method", "POST")), headers=tuple(headers), body=body,
        timeout_ms=intent.timeout_ms, body_cap=BODY_CAP,
        accept_codes=tuple(cast("list[int]", wanted.get("accept_codes") or [])), connection=connection,
    )  # fmt: skip


def ending_of(outcome: Outcome, intent: Intent) -> Ending:
    """What an execution gets: the status code, and the body as JSON if it is JSON, otherwise as text."""
    if outcome.status is RunStatus.SUCCESS:
        return "success", {"result": {"status_code": outcome.status_code, "body": _body(outcome)}}
    code = str(outcome.status_code) if outcome.status_code is not None else outcome.error_code or outcome.status.value
    data: dict[str, object] = {"code": code, "error": (outcome.error or f"it answered {code}")[:2_000]}
    may_have_arrived = outcome.status_code is None and outcome.error_code not in NEVER_SENT
    if intent.idempotency == Idempotency.AT_MOST_ONCE and may_have_arrived:
        return "unknown", data
    return "failure", data


def _body(outcome: Outcome) -> object:
    body = outcome.body
    if body is None or not body.data:
        return None
    value, nodes = parse_bounded(body.data)
    try:
        text = canonical(value)
    except (UnicodeEncodeError, ValueError, OverflowError):  # half a character, or a number that JSON cannot represent
        nodes, text = 0, b""
    if nodes and len(text) <= BODY_CAP and b'"$double"' not in body.data:
        return value
    return sanitised_view(body.data[: BODY_CAP // 4], body.content_type)

"""A server instead of a database: the same commands through the API.

A command reads the server's JSON into the view that it would make from its own database, and prints that. Error
responses become the errors that the server raised.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from mainspring.domain.duration import IN, format_duration
from mainspring.domain.errors import (
    Conflict,
    Forbidden,
    InvalidInput,
    MainspringError,
    NotAuthenticated,
    NotFound,
    QuotaExceeded,
    StoreUnavailable,
    TooManyRequests,
)
from mainspring.domain.name import shown

if TYPE_CHECKING:
    from mainspring.client import ApiError, Client
    from mainspring.documents.faults import InvalidDocument
    from mainspring.domain.config_field import ConfigField
    from mainspring.domain.endpoint import EndpointConfig
    from mainspring.ports.filters import EndpointOrder
    from mainspring.views.document import Applied
    from mainspring.views.endpoint import EndpointView, RunRequested
    from mainspring.views.notification import DeliveryView

T = TypeVar("T")
Shape = Mapping[str, Any]  # as a server sent it
PAGE = 200
WAIT_S_MAX = 20.0  # of one request; the client gives up on an answer after 30
POLL_S = 0.5
NO_KEY = (
    "the server wants an API key and MAINSPRING_API_KEY is not set; make a key where the server runs, with "
    "`mainspring apikey create NAME --scope read --scope run --scope write`, and set MAINSPRING_API_KEY to it"
)


def ask_server(server: str, work: Callable[["Client"], T], tenant: str = "") -> T:
    """Let `work` use a client of that server; the key is MAINSPRING_API_KEY, and must be one of `tenant` if given."""
    import msgspec

    from mainspring.client import ApiError, Client
    from mainspring.views.view import Unreadable

    if not _is_address(server):
        raise InvalidInput(
            f"server {server!r} is not an address; write scheme, host and port: --server http://127.0.0.1:8080",
            field="server",
        )
    try:
        with Client(server) as client:
            if tenant:
                _check_tenant(client, tenant)
            return work(client)
    except ApiError as refusal:
        error = error_of(refusal)
        if isinstance(error, NotAuthenticated) and not os.environ.get("MAINSPRING_API_KEY"):
            error.args = (NO_KEY,)
        raise error from None
    except Unreadable as fault:
        first = fault.errors()[0]
        place = ".".join(str(part) for part in (fault.title, *first["loc"]))
        raise misunderstood(server, f"{place}: {first['msg']}") from fault
    except msgspec.ValidationError as fault:
        raise misunderstood(server, str(fault)) from fault


def _check_tenant(client: "Client", tenant: str) -> None:
    """An API key belongs to one tenant: it cannot act in another one, and must not do so unnoticed."""
    acts_in = client.auth.read_session()["tenant"]
    if acts_in != tenant:
        raise InvalidInput(
            f"MAINSPRING_TENANT is '{shown(tenant)}', but the API key acts in the tenant {acts_in!r}; with --server "
            f"the key decides: use a key of '{shown(tenant)}', or unset MAINSPRING_TENANT",
            field="tenant",
        )


def _is_address(server: str) -> bool:
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(server)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # brackets that do not match, a port beyond 65535
        return False


def misunderstood(server: str, why: str) -> InvalidInput:
    """The error for a response that a command cannot read."""
    return InvalidInput(
        f"the server {server!r} gave an answer that this version of Mainspring does not understand "
        f"({why}); --server must be the URL of a Mainspring server of the same version; "
        "correct the URL, or update the older side",
        field="server",
    )


def error_of(refusal: "ApiError") -> MainspringError:
    """The error that the server raised, with its message, so that the exit code is the same."""
    places = (each.get("path") or each.get("pointer") or each.get("parameter") or "" for each in refusal.errors)
    field = str(next(places, "")).strip("/")
    by_kind: dict[str, MainspringError] = {
        "not-found": _not_found(refusal),
        "conflict": Conflict("", kind=refusal.subject, name=""),
        "quota-exceeded": QuotaExceeded("", quota="", limit=0),
        "not-authenticated": NotAuthenticated(),
        "forbidden": Forbidden("", scope=""),
        "too-many-requests": TooManyRequests("", retry_after_s=int(refusal.retry_after_s or 0)),
        "store-unavailable": StoreUnavailable(),
    }
    unknown = StoreUnavailable() if refusal.status >= 500 or not refusal.status else InvalidInput("", field=field)
    error = by_kind.get(refusal.kind, _faults_of(refusal) or unknown)
    error.args = (refusal.detail,)
    return error


def _not_found(refusal: "ApiError") -> NotFound:
    fault = NotFound(refusal.subject, "")
    fault.suggestion = refusal.suggestion
    return fault


def _faults_of(refusal: "ApiError") -> MainspringError | None:
    """The errors of a workflow document, if it was refused because of them."""
    from mainspring.workflow.document import InvalidWorkflow
    from mainspring.workflow.yaml_lines import WorkflowFault

    faults = []
    for each in refusal.errors:
        if each.get("pointer") == "/document" and "path" in each:
            faults.append(WorkflowFault(each["path"], each["message"], each["line"]))
    return InvalidWorkflow(faults) if faults else None


def wait_for_run(client: "Client", endpoint_id: str, timeout_s: float) -> "RunRequested":
    """Requests a run and waits until it has ended. The run is None after the timeout."""
    import time

    from mainspring.views.endpoint import RunRequested
    from mainspring.views.run import RunView

    deadline = time.monotonic() + timeout_s
    wait = f"{int(min(timeout_s, WAIT_S_MAX) * 1_000)}ms"
    asked = RunRequested.model_validate(client.endpoints.run(endpoint_id, wait=wait))
    while asked.run is None and time.monotonic() < deadline:
        time.sleep(min(POLL_S, max(0.0, deadline - time.monotonic())))
        for run in RunView.read_all(client.runs.list(endpoint=endpoint_id)["items"]):
            if run.slot_at == asked.endpoint.run_requested_at and run.status not in ("running", "abandoned"):
                return RunRequested(endpoint=asked.endpoint, run=run)
    return asked


def read_deliveries(client: "Client", found: "Iterator[Shape]", count: int, *, in_full: bool) -> list["DeliveryView"]:
    """The newest deliveries. Payloads are fetched one by one if they are shown."""
    from itertools import islice

    from mainspring.views.notification import DeliveryDetailView, DeliveryView

    if not in_full:
        return DeliveryView.read_all(islice(found, count))
    return [
        DeliveryDetailView.model_validate(client.webhooks.read_delivery(each["id"])) for each in islice(found, count)
    ]


def is_served(client: "Client") -> bool:
    return any(worker["kind"] == "scheduler" for worker in client.system.list_workers()["items"])


def endpoints_of(
    client: "Client",
    job: str | None,
    count: int | None,
    *,
    state: str | None = None,
    text: str | None = None,
    order: "EndpointOrder" = "name",
) -> list["EndpointView"]:
    from itertools import islice

    from mainspring.views.endpoint import EndpointView

    group: Any = client.endpoints  # its types are the words of the API
    found = group.iterate(job=job, state=state, text=text, sort=order, limit=min(count or PAGE, PAGE))
    return EndpointView.read_all(islice(found, count))


def change(
    client: "Client", name: str, verb: Callable[["Client", "EndpointView"], object]
) -> tuple["EndpointView", bool]:
    """The endpoint after `verb`, which gets the client and the previous endpoint; None: nothing to do."""
    from mainspring.views.endpoint import EndpointView

    before = EndpointView.model_validate(client.endpoints.read(name))
    answer = verb(client, before)
    after = before if answer is None else EndpointView.model_validate(answer)
    return after, after != before


def config_of(endpoint: "EndpointView") -> "EndpointConfig":
    """The configuration of an endpoint. Secrets are masks, which the server replaces by the stored values."""
    from msgspec import convert

    from mainspring.domain.endpoint import SETTINGS, new_config
    from mainspring.domain.kinds.registry import PAIRS
    from mainspring.domain.run import Header

    inputs = {field.key: getattr(endpoint, field.name) for field in SETTINGS}
    for field in SETTINGS:
        if field.struct is not None and inputs[field.key] is not None:
            inputs[field.key] = convert(inputs[field.key].model_dump(), field.struct)
    for key in PAIRS:
        inputs[key] = tuple(Header(each.name, each.value, each.secret) for each in getattr(endpoint, key))
    return new_config(endpoint.name, inputs | {"url": endpoint.url})


def new_fields_of(config: "EndpointConfig") -> dict[str, Any]:
    """The fields of a new endpoint that are not its defaults, as the API takes them."""
    from msgspec import to_builtins

    from mainspring.domain.endpoint import config_value, fields_of

    pairs = [(field, config_value(config, field)) for field in fields_of(config)]
    given = [(field, value) for field, value in pairs if field.is_required or value != field.default]
    return {field.key: to_builtins(_sent(field, value)) for field, value in given}


def changed_fields_of(config: "EndpointConfig", before: "EndpointConfig") -> dict[str, Any]:
    """The changed fields as the API takes them. An unchanged secret is sent as its mask."""
    from msgspec import to_builtins

    from mainspring.domain.endpoint import config_value, fields_of
    from mainspring.domain.kinds.registry import kind_of

    if kind_of(config.action) is not kind_of(before.action):
        return new_fields_of(config)
    pairs = [(field, config_value(before, field), config_value(config, field)) for field in fields_of(config)]
    return {field.key: to_builtins(_sent(field, new)) for field, old, new in pairs if new != old}


def _sent(field: "ConfigField", value: Any) -> object:
    """A value as the API takes it: a group by key, a delay as text."""
    if isinstance(value, timedelta):
        return f"{IN}{format_duration(value // timedelta(milliseconds=1))}"
    return field.all_inputs_of(value) if value is not None and field.parts else value


def apply_documents(
    client: "Client",
    files: "Sequence[tuple[str, bytes]]",
    references: dict[str, str],
    *,
    source: str | None,
    prune: bool,
    take_over: bool,
    dry_run: bool,
) -> "Applied":
    """Applies documents through a server. Errors have the line of the document."""
    from mainspring.client import ApiError
    from mainspring.views.document import Applied

    texts = [(name, data.decode("utf-8-sig", "replace")) for name, data in files]
    try:
        applied = client.config.apply(
            files=[{"name": name, "content": text} for name, text in texts],
            references=references,
            source=source,
            prune=prune,
            take_over=take_over,
            dry_run=dry_run,
        )
    except ApiError as refusal:
        if refused := _document_faults(refusal, texts):
            raise refused from None
        raise
    return Applied.model_validate(applied)


def _document_faults(refusal: "ApiError", texts: "Sequence[tuple[str, str]]") -> "InvalidDocument | None":
    from mainspring.documents.faults import DocumentFault, InvalidDocument, SourcePlace

    faults = []
    for each in refusal.errors:
        if "line" in each and str(each.get("pointer", "")).startswith("/files/"):
            name, text = texts[int(str(each["pointer"]).split("/")[2])]
            lines = text.splitlines()
            line = lines[each["line"] - 1] if each["line"] <= len(lines) else ""
            place = SourcePlace(name, each["line"], each["column"], each.get("length", 1), line)
            faults.append(DocumentFault(place.masked() if each.get("masked") else place, each["message"]))
    return InvalidDocument(faults) if faults else None

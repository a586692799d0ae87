"""What a server answered about people, keys, messages and documents, as the values that commands show.

As in `remote`: the API gives out the objects of `shapes`, and here they are read back.
"""

from typing import TYPE_CHECKING, Any

from mainspring.cli.remote import Shape
from mainspring.domain.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from mainspring.client import ApiError, Client
    from mainspring.documents.apply import Report
    from mainspring.documents.faults import InvalidDocument
    from mainspring.domain.access.account import ApiKey, Member, User
    from mainspring.domain.access.audit import AuditEntry, AuditFault, AuditHead
    from mainspring.domain.endpoint import Tenant
    from mainspring.domain.event import StoredEvent
    from mainspring.domain.notify.delivery import Delivery
    from mainspring.domain.notify.subscription import Destination, Subscription
    from mainspring.domain.run import Outcome
    from mainspring.operations.accounts import Invitation

EVENTS_MAX = 200  # the newest that a server tells at once


def now() -> "datetime":
    from mainspring.wiring.clock import SystemClock

    return SystemClock().now()


def at(text: str) -> "datetime":
    from msgspec import convert

    return convert(text, _datetime())


def maybe_at(text: str | None) -> "datetime | None":
    return None if text is None else at(text)


def _datetime() -> type["datetime"]:
    from datetime import datetime

    return datetime


def tenant_of(shape: Shape) -> "Tenant":
    from mainspring.domain.endpoint import Tenant

    quotas = shape.get("quotas", shape)
    return Tenant(
        shape.get("id") or shape["tenant"],
        shape["name"],
        quotas["runs_per_month"],
        quotas["tokens_per_month"],
        quotas["endpoints_max"],
        quotas["interval_ms_min"],
        shape["runs_this_month"],
        ("",) * shape["signing_keys"],
    )


def user_of(shape: Shape) -> "User":
    from mainspring.domain.access.account import User

    created_at = at(shape["created_at"])
    disabled_at = created_at if shape["disabled"] else None
    subject = "known" if shape["oidc"] else ""
    return User(
        shape["id"], shape["email"], shape["name"], shape["operator"], created_at, disabled_at, subject,
        shape["has_password"],
    )  # fmt: skip


def invitation_of(shape: Shape) -> "Invitation":
    from mainspring.operations.accounts import Invitation

    return Invitation(user_of(shape["user"]), token_of(shape["link"]))


def token_of(link: str | None) -> str:
    return (link or "").rpartition("#token=")[2]


def refuse_emailed(made: Shape) -> None:
    """A server that sends links by email shows none, so no password can be set in the person's place."""
    if made["emailed"]:
        raise InvalidInput(
            f"the server has sent the link to {made['user']['email']} by email; the person sets the password",
            field="password",
        )


def set_password(client: "Client", email: str, password: str) -> "User":
    """By a link that opens once: nobody but the user may set a password without one."""
    made = client.users.create_link(email)
    refuse_emailed(made)
    client.auth.set_up(token=token_of(made["link"]), password=password)
    return user_of(client.users.read(made["user"]["id"]))


def member_of(shape: Shape) -> "Member":
    from msgspec import convert

    from mainspring.domain.access.account import Member

    return convert({**shape, "tenant_id": "", "user_id": shape["user_id"] or ""}, Member)


def key_of(shape: Shape) -> "ApiKey":
    from msgspec import convert

    from mainspring.domain.access.account import ApiKey

    return convert({**shape, "tenant_id": "", "is_operator": shape["operator"]}, ApiKey)


def audit_of(shape: Shape) -> "AuditEntry":
    import json

    from mainspring.domain.access.audit import AuditEntry

    return AuditEntry(
        "", shape["seq"], at(shape["at"]), shape["actor"], shape["address"] or "", shape["act"],
        shape["subject"] or "", json.dumps(shape["detail"]), shape["before_sha256"] or "",
        shape["after_sha256"] or "", "", shape["seal"],
    )  # fmt: skip


def verdict_of(shape: Shape) -> "AuditHead | AuditFault":
    from mainspring.domain.access.audit import AuditFault, AuditHead

    return AuditHead(shape["entries"]) if shape["whole"] else AuditFault(shape["fault_at"], shape["why"])


def event_of(shape: Shape) -> "StoredEvent":
    from mainspring.domain.event import Event, EventType, StoredEvent

    event = Event(
        EventType(shape["type"]), at(shape["at"]), "", shape["endpoint_id"] or "", shape["run_id"] or "",
        shape["actor"], shape["data"],
    )  # fmt: skip
    return StoredEvent(shape["cursor"], event)


def names_in(shapes: "Iterable[Shape]") -> dict[str, str]:
    return {shape["endpoint_id"]: shape["endpoint"] for shape in shapes if shape["endpoint"]}


def webhook_of(shape: Shape) -> "Subscription":
    from mainspring.domain.notify.subscription import Webhook

    return _subscription(shape, Webhook(shape["url"], tuple(shape["types"]), (), shape["description"]))


def alert_of(shape: Shape) -> "Subscription":
    from mainspring.domain.notify.quiet_hours import parse_span
    from mainspring.domain.notify.subscription import Alert, AlertKind, DuringQuiet, Quiet

    quiet = shape["quiet"]
    config = Alert(
        tuple(AlertKind(kind) for kind in shape["kinds"]),
        tuple(channel_of(way) for way in shape["to"]),
        shape["failures"],
        shape["endpoint_id"] or "",
        shape["job_id"] or "",
        shape["cooldown_ms"],
        None if quiet is None else Quiet(*parse_span(quiet), shape["timezone"], DuringQuiet(shape["during_quiet"])),
        shape["description"],
    )
    return _subscription(shape, config)


def channel_of(shown: str) -> "Destination":
    from mainspring.domain.notify.subscription import Destination, DestinationKind

    return Destination("", DestinationKind.WEBHOOK, "", shown)


def _subscription(shape: Shape, config: Any) -> "Subscription":
    from mainspring.domain.notify.subscription import Subscription

    created_at = at(shape["created_at"])
    return Subscription(
        shape["id"], "", shape["name"], config, shape["enabled"], shape["version"], created_at,
        at(shape["updated_at"]), created_at, maybe_at(shape["failing_since"]), shape["failure_count"],
        shape["disabled_reason"] or "", shape["managed_by"] or "",
    )  # fmt: skip


def deliveries_of(client: "Client", found: "Iterator[Shape]", count: int, *, in_full: bool) -> list["Delivery"]:
    """The newest so many; their payloads are fetched one by one, where they are shown."""
    from itertools import islice

    shapes = list(islice(found, count))
    return [delivery_of(client.webhooks.read_delivery(each["id"]) if in_full else each) for each in shapes]


def delivery_of(shape: Shape) -> "Delivery":
    import json

    from mainspring.domain.notify.delivery import Delivery, DeliveryStatus

    created_at = at(shape["created_at"])
    return Delivery(
        shape["id"], "", shape["subscription_id"], shape["channel"] or "", "", shape["type"],
        json.dumps(shape.get("payload")), DeliveryStatus(shape["status"]), shape["attempts"],
        maybe_at(shape["next_attempt_at"]) or created_at, created_at, created_at, maybe_at(shape["sent_at"]),
        shape["status_code"], shape["error"], shape["response"] or "", shape["duration_ms"],
    )  # fmt: skip


def tried_of(shape: Shape) -> "Outcome":
    """How a test message went."""
    from mainspring.domain.run import Body, Outcome, RunStatus

    status = RunStatus.SUCCESS if shape["ok"] else RunStatus.FAILURE
    response = shape["response"]
    body = None if response is None else Body(response.encode(), "text/plain", False, len(response.encode()))
    return Outcome(status, shape["duration_ms"], shape["status_code"], shape["error_code"], shape["error"], body)


def apply_afar(
    client: "Client",
    files: "Sequence[tuple[str, bytes]]",
    references: dict[str, str],
    *,
    source: str | None,
    prune: bool,
    take_over: bool,
    dry_run: bool,
) -> "Report":
    """Apply documents through a server; their faults come back with the lines they stand in."""
    from mainspring.client import ApiError

    texts = [(name, data.decode("utf-8-sig", "replace")) for name, data in files]
    try:
        shape = client.config.apply(
            files=[{"name": name, "content": text} for name, text in texts],
            references=references,
            source=source,
            prune=prune,
            take_over=take_over,
            dry_run=dry_run,
        )
    except ApiError as refusal:
        if refused := _faults_of(refusal, texts):
            raise refused from None
        raise
    return report_of(shape)


def _faults_of(refusal: "ApiError", texts: "Sequence[tuple[str, str]]") -> "InvalidDocument | None":
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


def report_of(shape: Shape) -> "Report":
    from mainspring.documents.apply import Report
    from mainspring.documents.plan import FieldChange, PlanStep

    steps = tuple(
        PlanStep(
            each["act"],
            each["kind"],
            each["name"],
            tuple(FieldChange(one["field"], one["before"], one["after"]) for one in each["fields"]),
            each["renamed_from"],
        )
        for each in shape["steps"]
    )
    return Report(steps, shape["counts"]["unchanged"], tuple(shape["notes"]), tuple(shape["sources"]), shape["written"])


def documents_of(text: str) -> list[dict[str, object]]:
    """The documents of an export."""
    from mainspring.documents.yaml_reader import read_documents

    return [tree.value for tree in read_documents("export", text.encode()) if isinstance(tree.value, dict)]

"""Events and the audit log as all interfaces show them."""

from typing import Any, Self

import msgspec
from pydantic import Field

from mainspring.domain.access.audit import AuditEntry, AuditFault, AuditHead
from mainspring.domain.event import StoredEvent
from mainspring.domain.target import shown_url
from mainspring.views.view import At, OrNull, View


class EventView(View):
    cursor: str
    type: str
    at: At
    endpoint: str | None
    endpoint_id: str | None
    run_id: str | None
    actor: str
    data: dict[str, Any]

    @classmethod
    def of(cls, stored: StoredEvent, endpoint: str | None) -> Self:
        event = stored.event
        return cls.from_value(
            event,
            cursor=stored.cursor,
            endpoint=endpoint,
            endpoint_id=event.endpoint_id or None,
            run_id=event.run_id or None,
            data=shown_data(event.data),
        )


def shown_data(data: dict[str, Any]) -> dict[str, Any]:
    """Data of the change. Older records of created endpoints contain the query string of their URL."""
    url = data.get("url")
    return {**data, "url": shown_url(url)} if isinstance(url, str) else data


class AuditEntryView(View):
    seq: int
    at: At
    actor: str
    address: OrNull
    act: str
    subject: OrNull
    endpoint: str | None = Field(description="Current name of the endpoint, if the subject is an endpoint.")
    detail: dict[str, Any]
    before_sha256: OrNull
    after_sha256: OrNull
    seal: str

    @classmethod
    def of(cls, entry: AuditEntry, endpoint: str | None) -> Self:
        return cls.from_value(
            entry,
            endpoint=endpoint,
            detail=shown_data(msgspec.json.decode(entry.detail)),
            before_sha256=entry.before,
            after_sha256=entry.after,
        )


class AuditVerdict(View):
    whole: bool
    entries: int = Field(description="Number of valid entries, counted from the first.")
    fault_at: int | None = Field(description="The first entry that is not valid.")
    why: str | None

    @classmethod
    def of(cls, found: AuditHead | AuditFault) -> Self:
        if isinstance(found, AuditFault):
            return cls(whole=False, entries=found.seq - 1, fault_at=found.seq, why=found.why)
        return cls(whole=True, entries=found.seq, fault_at=None, why=None)

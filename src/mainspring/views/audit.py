"""The audit log as every door shows it."""

from typing import Any, Self

import msgspec
from pydantic import Field

from mainspring.domain.access.audit import AuditEntry, AuditFault, AuditHead
from mainspring.views.event import shown_data
from mainspring.views.view import At, OrNull, View


class AuditEntryView(View):
    seq: int
    at: At
    actor: str
    address: OrNull
    act: str
    subject: OrNull
    endpoint: str | None = Field(description="The name that the endpoint has now, where the subject is one.")
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
    entries: int = Field(description="How many entries fit, from the first one on.")
    fault_at: int | None = Field(description="The first entry that does not.")
    why: str | None

    @classmethod
    def of(cls, found: AuditHead | AuditFault) -> Self:
        if isinstance(found, AuditFault):
            return cls(whole=False, entries=found.seq - 1, fault_at=found.seq, why=found.why)
        return cls(whole=True, entries=found.seq, fault_at=None, why=None)

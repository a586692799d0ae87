"""Partitions of workflows and their proofs, as every door shows them."""

from datetime import datetime
from typing import Self

from pydantic import Field

from mainspring.operations.partitions import PartitionVerdict
from mainspring.ports.workflows import PartitionView
from mainspring.views.execution_log import BreachView
from mainspring.views.view import At, View


class PartitionStatus(View):
    partition: int
    tick: int = Field(description="The last one that moved something.")
    ticks: int = Field(description="How many moved something.")
    writer: str = Field(description="The ticker that writes it; empty: none does.")
    lease_until: At | None
    waits_since: At | None = Field(description="When the first of its executions wants to move, or had an arrival.")
    overdue: int = Field(description="Executions that should have moved already.")

    @classmethod
    def of(cls, view: PartitionView, now: datetime) -> Self:
        is_leased = view.lease_until > now
        return cls.from_value(
            view, writer=view.worker if is_leased else "", lease_until=view.lease_until if is_leased else None
        )


class SignedCheckpoint(View):
    """Where a partition stood, signed with Ed25519."""

    partition: int
    sequence: int
    tick: int
    head: str
    signed_at: At
    public_key: str
    signature: str


class SignedCheckpoints(View):
    format: str
    checkpoints: list[SignedCheckpoint]


class PartitionVerified(View):
    valid: bool
    partition: int
    ticks: int
    executions: int
    checkpoints: int = Field(description="Stored ones that held.")
    kept: int = Field(description="Given ones that held.")
    unreachable: int = Field(description="Given ones of ticks that retention has removed.")
    unsigned: int = Field(description="Ticks after the last stored checkpoint.")
    breach: BreachView | None

    @classmethod
    def of(cls, found: PartitionVerdict) -> Self:
        return cls.from_value(found)

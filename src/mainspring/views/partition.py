"""Partitions of workflows and their proofs, as all interfaces show them."""

from datetime import datetime
from typing import Self

from pydantic import Field

from mainspring.operations.partitions import PartitionVerdict
from mainspring.ports.workflows import PartitionView
from mainspring.views.execution_log import BreachView
from mainspring.views.view import At, View


class PartitionStatus(View):
    partition: int
    tick: int = Field(description="The last tick with a change.")
    ticks: int = Field(description="Number of ticks with a change.")
    writer: str = Field(description="The ticker that owns the partition; empty: none.")
    lease_until: At | None
    waits_since: At | None = Field(description="When the first execution is due, or received an event.")
    overdue: int = Field(description="Executions that are overdue.")

    @classmethod
    def of(cls, view: PartitionView, now: datetime) -> Self:
        is_leased = view.lease_until > now
        return cls.from_value(
            view, writer=view.worker if is_leased else "", lease_until=view.lease_until if is_leased else None
        )


class SignedCheckpoint(View):
    """The state of a partition at a tick, signed with Ed25519."""

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
    checkpoints: int = Field(description="Number of stored checkpoints that are valid.")
    kept: int = Field(description="Number of given checkpoints that are valid.")
    unreachable: int = Field(description="Number of given checkpoints whose ticks were removed by retention.")
    unsigned: int = Field(description="Ticks after the last stored checkpoint.")
    breach: BreachView | None

    @classmethod
    def of(cls, found: PartitionVerdict) -> Self:
        return cls.from_value(found)

"""What the routes of partitions take and answer with, field by field."""

from pydantic import ConfigDict, Field

from mainspring.api.models.answers import At, ResponseModel
from mainspring.api.models.fields import RequestModel
from mainspring.api.models.workflows import BreachView
from mainspring.inputs.values import Instant, Text


class Partition(ResponseModel):
    partition: int
    tick: int = Field(description="The last one that moved something.")
    ticks: int = Field(description="How many moved something.")
    writer: str = Field(description="The ticker that writes it; empty: none does.")
    lease_until: At | None
    waits_since: At | None = Field(description="When the first of its executions wants to move, or had an arrival.")
    overdue: int = Field(description="Executions that should have moved already.")


class Partitions(ResponseModel):
    items: list[Partition]


class SignedCheckpoint(ResponseModel):
    """Where a partition stood, signed with Ed25519."""

    partition: int
    sequence: int
    tick: int
    head: str
    signed_at: At
    public_key: str
    signature: str


class SignedCheckpoints(ResponseModel):
    format: str
    checkpoints: list[SignedCheckpoint]


class KeptCheckpoint(RequestModel):
    partition: int = Field(ge=0, le=9_999)
    sequence: int = Field(ge=0, le=2**53)
    tick: int = Field(ge=-1, le=2**53)
    head: Text = Field(max_length=64)
    signed_at: Instant
    public_key: Text = Field(max_length=64)
    signature: Text = Field(max_length=128)


class PartitionVerifyRequest(RequestModel):
    """Every partition, or one; compared with checkpoints that were kept elsewhere, if any are given."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"partition": 0}]})

    partition: int | None = Field(default=None, ge=0, le=9_999)
    checkpoints: list[KeptCheckpoint] = Field(default=[], max_length=10_000)


class PartitionVerified(ResponseModel):
    valid: bool
    partition: int
    ticks: int
    executions: int
    checkpoints: int = Field(description="Stored ones that held.")
    kept: int = Field(description="Given ones that held.")
    unreachable: int = Field(description="Given ones of ticks that retention has removed.")
    unsigned: int = Field(description="Ticks after the last stored checkpoint.")
    breach: BreachView | None


class PartitionsVerified(ResponseModel):
    items: list[PartitionVerified]

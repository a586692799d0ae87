"""What the routes of partitions take."""

from pydantic import ConfigDict, Field

from mainspring.api.models.fields import RequestModel
from mainspring.inputs.values import Instant, Text


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

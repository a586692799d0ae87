"""Partitions of workflows, which hold executions of every tenant: for operators of the installation."""

from fastapi import APIRouter

from mainspring.api.access import Operating
from mainspring.api.models.partitions import Partitions, PartitionsVerified, PartitionVerifyRequest, SignedCheckpoints
from mainspring.operations import partitions
from mainspring.ports.workflows import Checkpoint
from mainspring.views.shapes import Shape
from mainspring.views.workflow_shapes import partition_shape, partition_verdict_shape, plain

router = APIRouter(prefix="/partitions", tags=["partitions"])


@router.get("", response_model=Partitions)
async def list_partitions(desk: Operating) -> Shape:
    """Where each partition stands, who writes it, and what waits in it."""
    now = await desk.stores.flows.workflows.now()
    return {"items": [partition_shape(view, now) for view in await desk.stores.flows.partitions.views(now)]}


@router.get("/checkpoints", response_model=SignedCheckpoints)
async def export_checkpoints(desk: Operating) -> Shape:
    """The newest signed checkpoint of each partition, to keep where this database cannot be written."""
    shape: Shape = plain(await partitions.export_checkpoints(desk))
    return shape


@router.post("/verify", response_model=PartitionsVerified)
async def verify_partitions(desk: Operating, wish: PartitionVerifyRequest) -> Shape:
    """Whether partitions are what was written: their ticks, all their executions, and checkpoints kept elsewhere."""
    kept = [Checkpoint(**each.model_dump()) for each in wish.checkpoints]
    found = await partitions.verify_partitions(desk, wish.partition, kept)
    return {"items": [partition_verdict_shape(each) for each in found]}

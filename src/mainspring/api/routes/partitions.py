"""Partitions of workflows, which contain executions of every tenant: for operators of the installation."""

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
    """Position, writer and waiting work of each partition."""
    now = await desk.stores.flows.workflows.now()
    return {"items": [partition_shape(view, now) for view in await desk.stores.flows.partitions.views(now)]}


@router.get("/checkpoints", response_model=SignedCheckpoints)
async def export_checkpoints(desk: Operating) -> Shape:
    """The newest signed checkpoint of each partition, to keep outside of this database."""
    shape: Shape = plain(await partitions.export_checkpoints(desk))
    return shape


@router.post("/verify", response_model=PartitionsVerified)
async def verify_partitions(desk: Operating, wish: PartitionVerifyRequest) -> Shape:
    """Verify partitions: their ticks, all their executions, and checkpoints kept elsewhere."""
    kept = [Checkpoint(**each.model_dump()) for each in wish.checkpoints]
    found = await partitions.verify_partitions(desk, wish.partition, kept)
    return {"items": [partition_verdict_shape(each) for each in found]}

"""Partitions of workflows, which contain executions of every tenant: for operators of the installation."""

from fastapi import APIRouter

from mainspring.api.access import Operating
from mainspring.api.models.requests import PartitionVerifyRequest
from mainspring.operations import partitions
from mainspring.ports.workflows import Checkpoint
from mainspring.views.partition import PartitionStatus, PartitionVerified, SignedCheckpoints
from mainspring.views.view import ListOf

router = APIRouter(prefix="/partitions", tags=["partitions"])


@router.get("")
async def list_partitions(desk: Operating) -> ListOf[PartitionStatus]:
    """Position, writer and waiting work of each partition."""
    now = await desk.stores.flows.workflows.now()
    return ListOf(items=[PartitionStatus.of(view, now) for view in await desk.stores.flows.partitions.views(now)])


@router.get("/checkpoints")
async def export_checkpoints(desk: Operating) -> SignedCheckpoints:
    """The newest signed checkpoint of each partition, to keep outside of this database."""
    return SignedCheckpoints.model_validate(await partitions.export_checkpoints(desk))


@router.post("/verify")
async def verify_partitions(desk: Operating, wish: PartitionVerifyRequest) -> ListOf[PartitionVerified]:
    """Verify partitions: their ticks, all their executions, and checkpoints kept elsewhere."""
    kept = [Checkpoint(**each.model_dump()) for each in wish.checkpoints]
    found = await partitions.verify_partitions(desk, wish.partition, kept)
    return ListOf(items=[PartitionVerified.of(each) for each in found])

"""Partitions of workflows, which hold executions of every tenant: for operators of the installation."""

from fastapi import APIRouter

from mainspring.api.access import Operating
from mainspring.api.models.partitions import PartitionVerifyRequest
from mainspring.operations import partitions
from mainspring.ports.workflows import Checkpoint
from mainspring.views.partition import PartitionStatus, PartitionVerified, SignedCheckpoints
from mainspring.views.view import ListOf

router = APIRouter(prefix="/partitions", tags=["partitions"])


@router.get("")
async def list_partitions(desk: Operating) -> ListOf[PartitionStatus]:
    """Where each partition stands, who writes it, and what waits in it."""
    now = await desk.stores.flows.workflows.now()
    return ListOf(items=[PartitionStatus.of(view, now) for view in await desk.stores.flows.partitions.views(now)])


@router.get("/checkpoints")
async def export_checkpoints(desk: Operating) -> SignedCheckpoints:
    """The newest signed checkpoint of each partition, to keep where this database cannot be written."""
    return SignedCheckpoints.model_validate(await partitions.export_checkpoints(desk))


@router.post("/verify")
async def verify_partitions(desk: Operating, wish: PartitionVerifyRequest) -> ListOf[PartitionVerified]:
    """Whether partitions are what was written: their ticks, all their executions, and checkpoints kept elsewhere."""
    kept = [Checkpoint(**each.model_dump()) for each in wish.checkpoints]
    found = await partitions.verify_partitions(desk, wish.partition, kept)
    return ListOf(items=[PartitionVerified.of(each) for each in found])

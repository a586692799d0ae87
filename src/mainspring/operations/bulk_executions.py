"""Send a command to many executions: by a filter, with a preview, in bounded batches."""

from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.errors import InvalidInput, did_you_mean
from mainspring.domain.name import shown
from mainspring.operations.context import Desk
from mainspring.operations.executions import check_reason, give_orders
from mainspring.ports.workflows import Execution, ExecutionFilter
from mainspring.workflow.engine import ALLOWED
from mainspring.workflow.model import Status

VERBS = ("pause", "resume", "cancel", "retry", "skip")
BATCH = 500
SAMPLE = 10
LIMIT_MAX = 10_000


class BulkPreview(Struct, frozen=True):
    """What a command would reach: how many, and the newest of them."""

    count: int
    sample: list[Execution]


async def preview_orders(desk: Desk, verb: str, wanted: ExecutionFilter) -> BulkPreview:
    count, sample = 0, []
    for each in allowing(verb, wanted):
        count += await desk.stores.flows.workflows.count(desk.tenant_id, each)
        sample += await desk.stores.flows.workflows.executions(desk.tenant_id, replace(each, limit=SAMPLE))
    sample.sort(key=lambda execution: execution.id, reverse=True)
    return BulkPreview(count, sample[:SAMPLE])


async def order_executions(desk: Desk, verb: str, wanted: ExecutionFilter, reason: str) -> list[str]:
    """Sends the command to at most `wanted.limit` executions whose status allows it, newest first; returns their
    ids.
    """
    check_reason(verb, reason)
    if not 1 <= wanted.limit <= LIMIT_MAX:
        raise InvalidInput(f"limit {wanted.limit} is out of bounds; give 1 to {LIMIT_MAX}", field="limit")
    ordered: list[str] = []
    for each in allowing(verb, wanted):
        before = each.before_id
        while left := wanted.limit - len(ordered):
            page = await desk.stores.flows.workflows.executions(
                desk.tenant_id, replace(each, before_id=before, limit=min(BATCH, left))
            )
            if not page:
                break
            await give_orders(desk, page, verb, reason)
            ordered += [execution.id for execution in page]
            before = page[-1].id
    return ordered


def allowing(verb: str, wanted: ExecutionFilter) -> list[ExecutionFilter]:
    """The filter for every status that allows the command. InvalidInput if the command is not possible."""
    if verb not in VERBS:
        near = did_you_mean(verb, VERBS) or ";"
        raise InvalidInput(f"unknown command '{shown(verb)}'{near} choose one of {', '.join(VERBS)}", field="verb")
    if wanted.workflow is None and wanted.correlation is None:
        raise InvalidInput(
            "neither workflow nor correlation was given; a bulk command needs one of them: name one",
            field="workflow",
        )
    statuses = [status for status, verbs in ALLOWED.items() if verb in verbs]
    if wanted.status is not None and wanted.status not in statuses:
        raise InvalidInput(
            f"executions that are {wanted.status} do not allow {verb}; it is allowed for {', '.join(statuses)}",
            field="status",
        )
    chosen: list[Status] = [wanted.status] if wanted.status is not None else statuses
    return [replace(wanted, status=status) for status in chosen]

"""What others change while a document is applied: everything is planned again from what they wrote."""

from collections.abc import Awaitable, Callable

import pytest
from msgspec.structs import replace

from mainspring.documents.apply import TRIES_MAX
from mainspring.domain.endpoint import JobStatus
from mainspring.domain.errors import Conflict
from mainspring.domain.schedule.changes import Change
from mainspring.operations.context import Desk
from mainspring.operations.endpoints import edit_endpoint, find_endpoint
from mainspring.operations.jobs import set_job_status
from mainspring.ports.endpoints import EndpointFilter
from tests.documents.texts import apply
from tests.operations.rival import Meanwhile, interrupted

SHOP = "endpoints:\n  health:\n    url: https://example.com/health\n    every: 30s\n    job: shop\n"
SLOWER = SHOP.replace("30s", "1m")
RULED = SHOP + "    rules:\n      - {name: calm, when: ok, interval: 5m}\n"


class Applying:
    """A desk at which somebody is faster, so many times, when a plan is written; and how often one was."""

    def __init__(self, desk: Desk, meanwhile: Meanwhile, times: int = 1) -> None:
        self.plans = 0
        self.desk = interrupted(
            interrupted(desk, "apply", meanwhile, "configuration", times), "apply", self._count, "configuration", 99
        )

    async def _count(self) -> None:
        self.plans += 1


async def describe(desk: Desk) -> Change:
    """Each time in other words, so that each is an edit."""
    return await edit_endpoint(desk, "health", lambda old: replace(old, description=old.description + "by hand "))


async def endpoint_is(desk: Desk) -> tuple[int | None, bool]:
    found = await find_endpoint(desk, "health")
    return found.interval_ms, found.next_run_at is not None


DOCUMENTS: dict[str, tuple[str, Callable[[Desk], Awaitable[object]], tuple[int, bool]]] = {
    "an endpoint that the document changes": (SLOWER, describe, (60_000, True)),
    "an endpoint that gets rules": (RULED, describe, (30_000, True)),
    "a job that somebody pauses": (
        SLOWER,
        lambda desk: set_job_status(desk, "shop", JobStatus.PAUSED),
        (60_000, False),
    ),
}


@pytest.mark.parametrize("what", DOCUMENTS)
async def test_document_is_planned_again_when_others_are_faster_at(desk: Desk, what: str) -> None:
    text, change, expected = DOCUMENTS[what]
    await apply(desk, SHOP)

    slow = Applying(desk, lambda: change(desk))
    report = await apply(slow.desk, text)

    assert (report.written, report.counts["changed"], slow.plans) == (True, 1, 2)
    assert await endpoint_is(desk) == expected
    assert (await apply(desk, text)).steps == ()


async def test_document_is_planned_once_when_nobody_is_faster(desk: Desk) -> None:
    await apply(desk, SHOP)

    alone = Applying(desk, lambda: describe(desk), times=0)
    await apply(alone.desk, SLOWER)

    assert alone.plans == 1


async def test_endpoint_that_is_pruned_while_somebody_edits_it_is_archived_as_edited(desk: Desk) -> None:
    await apply(desk, SHOP)

    slow = Applying(desk, lambda: describe(desk))
    report = await apply(slow.desk, "jobs: {shop: {}}", prune=True)

    assert (report.counts["archived"], slow.plans) == (1, 2)
    (archived,) = await desk.stores.endpoints.endpoints("default", EndpointFilter(archived=True))
    assert archived.description == "by hand "


async def test_document_that_others_outrun_every_time_is_a_conflict_and_nothing_is_written(desk: Desk) -> None:
    await apply(desk, SHOP)

    with pytest.raises(Conflict, match="being changed concurrently; try again in a moment"):
        await apply(Applying(desk, lambda: describe(desk), TRIES_MAX).desk, SLOWER)
    assert await endpoint_is(desk) == (30_000, True)

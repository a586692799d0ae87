"""Maintenance windows as code: made, changed, renamed, exported and pruned like endpoints."""

from datetime import timedelta

from mainspring.documents.export import export_documents
from mainspring.documents.yaml_writer import as_yaml
from mainspring.domain.schedule.maintenance import MaintenanceDraft
from mainspring.operations.context import Desk
from mainspring.operations.maintenance import add_window
from tests.documents.texts import apply, faults, told
from tests.stores.world import FixedClock, claim

NIGHT = """\
source: shop
endpoints:
  till: {url: "https://shop.example.com/", cron: "*/10 * * * *"}
maintenance:
  night:
    cron: 0 0 * * *
    duration: 2h
    endpoint: till
"""


async def test_window_is_made_with_its_endpoint_and_applied_again_changes_nothing(desk: Desk) -> None:
    steps = told(await apply(desk, NIGHT))
    assert "create maintenance window night cron:None>0 0 * * * duration:None>2h endpoint:None>till" in steps
    (window,) = await desk.stores.maintenance.windows(desk.tenant_id)
    till = await desk.stores.endpoints.endpoint(desk.tenant_id, "till")
    assert till is not None
    assert (window.endpoint_id, window.managed_by) == (till.id, "shop")
    assert told(await apply(desk, NIGHT)) == []


async def test_export_applied_changes_nothing(desk: Desk) -> None:
    await apply(desk, NIGHT)
    await add_window(
        desk, MaintenanceDraft("move", start="2030-01-31T22:00:00Z", end="2030-02-01T02:00:00Z", job="default")
    )
    assert told(await apply(desk, as_yaml(await export_documents(desk)), prune=True)) == []


async def test_changed_window_gives_back_the_runs_that_it_moved(desk: Desk, clock: FixedClock) -> None:
    await apply(desk, NIGHT)
    clock.tick(minutes=10)
    assert (await claim(desk.stores)).claims == ()
    clock.tick(minutes=5)
    steps = told(await apply(desk, NIGHT.replace("2h", "15m")))
    assert steps == ["change maintenance window night duration:2h>15m"]
    till = await desk.stores.endpoints.endpoint(desk.tenant_id, "till")
    assert till is not None
    assert till.next_run_at == clock.now() + timedelta(minutes=5)


async def test_renamed_window_keeps_its_id(desk: Desk) -> None:
    await apply(desk, NIGHT)
    (before,) = await desk.stores.maintenance.windows(desk.tenant_id)
    await apply(desk, NIGHT.replace("  night:\n", "  late:\n    renamed_from: night\n"))
    (after,) = await desk.stores.maintenance.windows(desk.tenant_id)
    assert (after.id, after.name) == (before.id, "late")


async def test_window_that_is_not_described_any_more_is_pruned(desk: Desk) -> None:
    await apply(desk, NIGHT)
    rest = NIGHT.partition("maintenance:")[0]
    assert told(await apply(desk, rest)) == []
    assert told(await apply(desk, rest, prune=True)) == ["delete maintenance window night"]
    assert await desk.stores.maintenance.windows(desk.tenant_id) == []


async def test_window_of_another_source_needs_to_be_taken_over(desk: Desk) -> None:
    await apply(desk, NIGHT)
    other = NIGHT.replace("source: shop", "source: other").replace(NIGHT.splitlines()[2] + "\n", "")
    (fault,) = await faults(desk, other.replace("endpoints:\n", "").replace("2h", "1h"))
    assert "maintenance window 'night' is managed by the source 'shop'" in fault
    taken = other.replace("endpoints:\n", "")
    assert told(await apply(desk, taken, take_over=True)) == ["change maintenance window night managed_by:shop>other"]


async def test_every_fault_is_told_with_its_place(desk: Desk) -> None:
    found = await faults(
        desk,
        """\
        maintenance:
          a: {cron: 0 * * * *, duration: 2h}
          b: {cron: 0 0 * * *, duration: 2h, endpoint: nope}
          c: {description: no time at all}
        """,
    )
    assert [each.partition(" ")[0] for each in found] == ["2:34", "3:48", "4:3"]
    assert "a window must close before it opens again" in found[0]
    assert "no endpoint 'nope'" in found[1]
    assert "neither cron nor start were given" in found[2]

"""Maintenance windows in the database: written with their event, seen by every scheduler, marked on runs, swept."""

from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.harness.waiting import until_true
from tests.stores.world import START, FixedClock, add, an_endpoint, an_outcome, claim, finished, get, get_run, told

from mainspring.domain.endpoint import Tenant
from mainspring.domain.errors import Conflict
from mainspring.domain.event import Event, EventType
from mainspring.domain.run import RunStatus
from mainspring.domain.schedule.maintenance import DuringMaintenance, MaintenanceWindow
from mainspring.ports.stores import Stores
from mainspring.ports.upkeep import Retention

HOUR = timedelta(hours=1)
WINDOW = MaintenanceWindow(
    "mnt_1", "default", "night", "", None, "UTC", START, START + HOUR, "", "", DuringMaintenance.SKIP, "", 1, START,
    START,
)  # fmt: skip


def event(kind: EventType, tenant_id: str = "default") -> Event:
    return Event(kind, START, tenant_id, actor="user:ann", data={"subject": "mnt_1"})


async def put(stores: Stores, window: MaintenanceWindow) -> None:
    await stores.maintenance.add_window(window, event(EventType.MAINTENANCE_CREATED, window.tenant_id))


async def test_window_is_read_as_it_was_written_with_its_event_and_audit_entry(stores: Stores) -> None:
    by_cron = replace(
        WINDOW, id="mnt_2", name="a", cron="0 2 * * *", duration_ms=60_000, starts_at=None, ends_at=None,
        endpoint_id="ep", runs=DuringMaintenance.CONTINUE, description="why", managed_by="git",
    )  # fmt: skip
    await put(stores, WINDOW)
    await put(stores, by_cron)
    assert await stores.maintenance.windows("default") == [by_cron, WINDOW]
    assert [each.type for each in await told(stores)] == [EventType.MAINTENANCE_CREATED] * 2
    assert [entry.act for entry in await stores.audit.audit_entries("default", None, 10)] == ["maintenance.created"] * 2


async def test_second_window_of_a_name_is_refused_in_its_tenant_only(stores: Stores) -> None:
    await stores.endpoints.put_tenant(Tenant("other", "other"))
    await put(stores, WINDOW)
    await put(stores, replace(WINDOW, id="mnt_2", tenant_id="other"))
    with pytest.raises(Conflict, match="another maintenance window is named 'night' already"):
        await put(stores, replace(WINDOW, id="mnt_3"))
    assert [each.id for each in await stores.maintenance.windows("default")] == ["mnt_1"]
    assert [each.id for each in await stores.maintenance.windows(None)] == ["mnt_1", "mnt_2"]


async def test_edit_of_an_outdated_version_changes_nothing(stores: Stores) -> None:
    await put(stores, WINDOW)
    edited = replace(WINDOW, version=2, description="first")
    updated = event(EventType.MAINTENANCE_UPDATED)
    assert await stores.maintenance.put_window(edited, updated)
    assert not await stores.maintenance.put_window(replace(edited, description="second"), updated)
    assert await stores.maintenance.windows("default") == [edited]


async def test_name_of_another_window_is_refused_in_an_edit(stores: Stores) -> None:
    await put(stores, WINDOW)
    await put(stores, replace(WINDOW, id="mnt_2", name="day"))
    renamed = replace(WINDOW, version=2, name="day")
    with pytest.raises(Conflict):
        await stores.maintenance.put_window(renamed, event(EventType.MAINTENANCE_UPDATED))


async def test_window_of_another_tenant_is_neither_changed_nor_deleted(stores: Stores) -> None:
    await stores.endpoints.put_tenant(Tenant("other", "other"))
    await put(stores, WINDOW)
    foreign = replace(WINDOW, tenant_id="other", version=2, name="stolen")
    assert not await stores.maintenance.put_window(foreign, event(EventType.MAINTENANCE_UPDATED, "other"))
    assert not await stores.maintenance.delete_window("other", "mnt_1", event(EventType.MAINTENANCE_DELETED, "other"))
    assert await stores.maintenance.windows("default") == [WINDOW]


async def test_claim_skips_a_slot_in_a_window_and_runs_after_it(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint(interval_ms=7 * 60_000)
    await add(stores, endpoint)
    await put(stores, WINDOW)

    assert (await claim(stores)).claims == ()
    skipped = await get(stores, endpoint)
    assert skipped.next_run_at == START + timedelta(minutes=63)
    clock.tick(minutes=63)
    assert [each.slot_at for each in (await claim(stores)).claims] == [skipped.next_run_at]


async def test_window_holds_endpoints_of_its_own_tenant_only(stores: Stores) -> None:
    await stores.endpoints.put_tenant(Tenant("other", "other"))
    mine, theirs = an_endpoint(), an_endpoint(tenant_id="other", job_id="job_other")
    await add(stores, mine, theirs)
    await put(stores, WINDOW)
    assert [each.endpoint.id for each in (await claim(stores)).claims] == [theirs.id]


async def test_edit_is_seen_by_the_next_claim_of_the_same_process(stores: Stores) -> None:
    endpoint, other = an_endpoint(), an_endpoint()
    await add(stores, endpoint, other)
    await put(stores, replace(WINDOW, endpoint_id=endpoint.id))
    assert [each.endpoint.id for each in (await claim(stores)).claims] == [other.id]
    third = an_endpoint()
    await add(stores, third)
    widened = replace(WINDOW, endpoint_id="", version=2)
    await stores.maintenance.put_window(widened, event(EventType.MAINTENANCE_UPDATED))
    assert (await claim(stores)).claims == ()
    await stores.maintenance.delete_window("default", "mnt_1", event(EventType.MAINTENANCE_DELETED))
    fourth = an_endpoint()
    await add(stores, fourth)
    assert [each.endpoint.id for each in (await claim(stores)).claims] == [fourth.id]


async def test_edit_is_seen_by_another_process_within_a_second(stores: Stores, other_stores: Stores) -> None:
    await add(stores, an_endpoint())
    assert len((await claim(other_stores)).claims) == 1  # it has just looked, and knows of no window
    await put(stores, WINDOW)

    async def is_held() -> bool:
        await add(stores, an_endpoint())
        return not (await claim(other_stores)).claims

    await until_true(is_held, "a claim of the other process that starts nothing")


async def test_failure_in_a_window_is_marked_and_counts_neither_as_failure_nor_for_health(
    stores: Stores, clock: FixedClock
) -> None:
    endpoint = an_endpoint(failure_count=1, interval_ms=1_800_000)  # with its backoff, every hour
    await add(stores, endpoint)
    await put(stores, replace(WINDOW, runs=DuringMaintenance.CONTINUE))

    (inside,) = (await claim(stores)).claims
    await stores.schedule.finish([finished(inside, an_outcome(RunStatus.FAILURE))])
    assert (await get(stores, endpoint)).failure_count == 1
    assert (await get_run(stores, inside)).maintenance == "night"
    assert await stores.look.results("default", endpoint.id, START - HOUR) == []

    clock.tick(hours=1)
    (after,) = (await claim(stores)).claims
    await stores.schedule.finish([finished(after, an_outcome(RunStatus.FAILURE))])
    assert (await get(stores, endpoint)).failure_count == 2
    assert (await get_run(stores, after)).maintenance == ""
    assert len(await stores.look.results("default", endpoint.id, START - HOUR)) == 1


async def test_windows_that_were_over_long_ago_are_removed_unless_a_document_describes_them(
    stores: Stores, clock: FixedClock
) -> None:
    await put(stores, WINDOW)
    await put(stores, replace(WINDOW, id="mnt_2", name="described", managed_by="git"))
    await put(stores, replace(WINDOW, id="mnt_3", name="recent", ends_at=START + 3 * HOUR))
    clock.tick(hours=4)
    never = START - HOUR
    await stores.upkeep.sweep(Retention(START + 2 * HOUR, never, never, 10_000), 100)
    assert [each.name for each in await stores.maintenance.windows("default")] == ["described", "recent"]

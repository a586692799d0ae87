"""Maintenance windows that two change at once, and how many there may be."""

from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.operations.rival import interrupted
from tests.stores.world import START, FixedClock, add, an_endpoint, claim, get

from mainspring.domain.errors import Conflict, NotFound, QuotaExceeded
from mainspring.domain.instant import rfc3339
from mainspring.domain.schedule.maintenance import MaintenanceDraft
from mainspring.operations.context import Desk
from mainspring.operations.maintenance import (
    WINDOWS_MAX,
    WindowStatus,
    add_window,
    delete_window,
    dry_run_of,
    edit_window,
    find_window,
)

NIGHT = MaintenanceDraft("night", cron="0 2 * * *", duration_ms=3_600_000)


async def rename(desk: Desk, name: str) -> WindowStatus:
    return await edit_window(desk, "night", {"name": name})


async def test_tenant_keeps_so_many_windows_and_no_more(desk: Desk) -> None:
    for number in range(WINDOWS_MAX):
        await add_window(desk, replace(NIGHT, name=f"window {number}"))
    with pytest.raises(QuotaExceeded, match="has 100 maintenance windows, which is the maximum; delete one"):
        await add_window(desk, NIGHT)


async def test_window_that_somebody_edits_meanwhile_is_a_conflict_for_the_slower_one(desk: Desk) -> None:
    await add_window(desk, NIGHT)
    slow = interrupted(desk, "put_window", lambda: rename(desk, "first"), "maintenance")
    with pytest.raises(Conflict, match="maintenance window 'night' was changed concurrently"):
        await rename(slow, "second")
    assert (await find_window(desk, "first")).window.version == 2


async def test_window_that_is_deleted_twice_at_once_is_found_once(desk: Desk) -> None:
    await add_window(desk, NIGHT)
    slow = interrupted(desk, "delete_window", lambda: delete_window(desk, "night"), "maintenance")
    with pytest.raises(NotFound, match="no maintenance window 'night'"):
        await delete_window(slow, "night")


async def test_unknown_window_names_the_nearest(desk: Desk) -> None:
    await add_window(desk, NIGHT)
    with pytest.raises(NotFound, match="did you mean 'night'"):
        await find_window(desk, "nigth")


async def test_rehearsal_refuses_a_name_that_is_taken(desk: Desk) -> None:
    await add_window(desk, NIGHT)
    await add_window(desk, replace(NIGHT, name="day"))
    there = dry_run_of(desk)
    for act in (add_window(there, NIGHT), rename(there, "day")):
        with pytest.raises(Conflict, match="another maintenance window is named"):
            await act
    assert (await rename(there, "evening")).name == "evening"
    assert (await delete_window(there, "night")).name == "night"
    assert (await find_window(desk, "night")).window.version == 1


async def test_window_of_one_endpoint_is_changed_where_the_endpoint_is_gone(desk: Desk) -> None:
    endpoint = an_endpoint("billing")
    await add(desk.stores, endpoint)
    made = await add_window(desk, replace(NIGHT, endpoint="billing"))
    assert made.window.endpoint_id == endpoint.id
    moved = await edit_window(desk, "night", {"endpoint": "", "job": endpoint.job_id})
    assert (moved.window.endpoint_id, moved.window.job_id) == ("", endpoint.job_id)


async def test_changed_window_gives_back_the_runs_of_its_job_alone(desk: Desk, clock: FixedClock) -> None:
    mine, other = an_endpoint("mine", cron="*/10 * * * *"), an_endpoint("other", job_id="job_other")
    await add(desk.stores, mine, other)
    start, end = rfc3339(START), rfc3339(START + timedelta(hours=2))
    made = await add_window(desk, MaintenanceDraft("move", job=mine.job_id, start=start, end=end))
    assert made.is_open
    assert [each.endpoint.name for each in (await claim(desk.stores)).claims] == ["other"]
    assert (await get(desk.stores, mine)).next_run_at == START + timedelta(hours=2)
    clock.tick(minutes=15)
    await delete_window(desk, "move")
    assert (await get(desk.stores, mine)).next_run_at == START + timedelta(minutes=20)

"""Calendars as code: made with the endpoints that use them, changed, exported and pruned."""

from datetime import UTC, datetime

from mainspring.documents.apply import make_plan
from mainspring.documents.document import parse_documents
from mainspring.documents.export import export_documents
from mainspring.documents.plan import Options
from mainspring.documents.references import sent
from mainspring.documents.yaml_writer import as_yaml
from mainspring.domain.calendar import CALENDARS_MAX, CalendarConfig
from mainspring.operations.calendars import add_calendar
from mainspring.operations.context import Desk
from tests.documents.texts import MESSENGERS, apply, faults, told
from tests.harness.loop_watch import LoopWatch
from tests.harness.pace import SHARED
from tests.stores.world import FixedClock

CLOSED = """\
source: shop
calendars:
  closed:
    dates: [2025-01-02 Inventory, 2025-01-03]
    weekdays: sat
endpoints:
  report: {url: "https://shop.example.com/", cron: 0 9 * * *, except: closed}
"""


async def next_run(desk: Desk) -> datetime | None:
    found = await desk.stores.endpoints.endpoint(desk.tenant_id, "report")
    assert found is not None
    return found.next_run_at


async def test_calendar_is_made_with_its_endpoint_and_applied_again_changes_nothing(
    desk: Desk, clock: FixedClock
) -> None:
    clock.tick(hours=12)
    steps = told(await apply(desk, CLOSED))
    assert "create calendar closed dates:None>['2025-01-02 Inventory', '2025-01-03'] weekdays:None>['sat']" in steps
    assert await next_run(desk) == datetime(2025, 1, 5, 9, tzinfo=UTC)
    (calendar,) = await desk.stores.calendars.calendars(desk.tenant_id)
    assert calendar.managed_by == "shop"
    assert told(await apply(desk, CLOSED)) == []


async def test_export_applied_changes_nothing(desk: Desk) -> None:
    await apply(desk, CLOSED)
    await add_calendar(desk, "holidays", CalendarConfig(holidays="DE", description="Days off"))
    assert told(await apply(desk, as_yaml(await export_documents(desk)), prune=True)) == []


async def test_changed_calendar_plans_its_endpoints_again(desk: Desk, clock: FixedClock) -> None:
    clock.tick(hours=12)
    await apply(desk, CLOSED)
    steps = told(await apply(desk, CLOSED.replace("[2025-01-02 Inventory, 2025-01-03]", "2025-01-02")))
    assert steps == ["change calendar closed dates:['2025-01-02 Inventory', '2025-01-03']>['2025-01-02']"]
    assert await next_run(desk) == datetime(2025, 1, 3, 9, tzinfo=UTC)


async def test_endpoint_leaves_its_calendar(desk: Desk, clock: FixedClock) -> None:
    clock.tick(hours=12)
    await apply(desk, CLOSED)
    assert told(await apply(desk, CLOSED.replace(", except: closed", ""))) == ["change endpoint report except:closed>"]
    assert await next_run(desk) == datetime(2025, 1, 2, 9, tzinfo=UTC)


async def test_calendar_in_use_is_not_pruned(desk: Desk) -> None:
    await apply(desk, CLOSED)
    endpoints = "source: shop\nendpoints:" + CLOSED.partition("endpoints:")[2]
    report = await apply(desk, endpoints, prune=True)
    assert told(report) == []
    assert report.notes == ("calendar 'closed' is kept although no document describes it, because it is in use",)
    assert told(await apply(desk, endpoints.replace(", except: closed", ""), prune=True)) == [
        "change endpoint report except:closed>",
        "delete calendar closed",
    ]
    assert await desk.stores.calendars.calendars(desk.tenant_id) == []


async def test_calendar_of_another_source_is_taken_over_only_when_told(desk: Desk) -> None:
    await apply(desk, CLOSED)
    other = "source: other\ncalendars: {closed: {dates: [2025-01-02 Inventory, 2025-01-03], weekdays: sat}}\n"
    assert any("is managed by the source 'shop'" in each for each in await faults(desk, other))
    assert told(await apply(desk, other, take_over=True)) == ["change calendar closed managed_by:shop>other"]


async def test_every_error_is_found_at_its_place(desk: Desk) -> None:
    text = """\
calendars:
  wrong: {dates: tomorrow}
  empty: {description: nothing}
  odd_: {holidays: XX}
endpoints:
  report: {url: "https://shop.example.com/", cron: 0 9 * * *, except: wrong}
  other: {url: "https://shop.example.com/", cron: 0 9 * * *, only: missing}
"""
    found = await faults(desk, text)
    assert len(found) == 4
    assert "date 'tomorrow' is not understood" in found[0]
    assert "the calendar has no days" in found[1]
    assert "no such country" in found[2]
    assert "calendar 'missing' does not exist" in found[3]


async def test_number_of_calendars_is_limited(desk: Desk) -> None:
    many = "calendars:\n" + "".join(f"  c{n}: {{weekdays: sun}}\n" for n in range(CALENDARS_MAX + 1))
    assert "would have 101 calendars" in (await faults(desk, many))[0]


async def test_many_endpoints_with_calendars_leave_the_event_loop_free(desk: Desk) -> None:
    dates = ", ".join(f"{2024 + n // 300}-{n // 25 % 12 + 1:02d}-{n % 25 + 1:02d}" for n in range(1_000))
    endpoints = "".join(
        f"  e{n}: {{url: 'https://example.com/{n}', cron: '0 9 * * *', except: shut, only: open}}\n" for n in range(200)
    )
    text = f"calendars:\n  shut: {{dates: [{dates}]}}\n  open: {{weekdays: [mon, tue], dates: [{dates}]}}\nendpoints:\n"
    documents = parse_documents([("a.yaml", (text + endpoints).encode())], None)
    async with LoopWatch() as watch:
        plan = await make_plan(desk, documents, Options(sent({}), MESSENGERS))

    assert len(plan.new_endpoints) == 200
    assert watch.longest_s < 0.1 * SHARED

"""Make it so: created, changed field by field, renamed, archived; twice is once; all or nothing."""

from msgspec.structs import replace

from mainspring.domain.endpoint import JobStatus
from mainspring.operations.context import Desk
from mainspring.operations.endpoints import add_endpoint, archive_endpoint, edit_endpoint, find_endpoint, pause_endpoint
from mainspring.operations.jobs import find_job, set_job_status
from mainspring.ports.endpoints import EndpointFilter
from tests.documents.texts import apply, faults, told
from tests.harness.config import a_config
from tests.stores.world import FixedClock

SHOP = """
    jobs:
      billing: {description: Money}
    endpoints:
      health:
        url: https://example.com/health
        every: 30s
      invoices:
        url: https://example.com/invoices
        cron: '0 3 * * *'
        timezone: Europe/Berlin
        job: billing
        timeout: 1m
"""


async def names(desk: Desk) -> list[str]:
    return [each.name for each in await desk.stores.endpoints.endpoints(desk.tenant_id, EndpointFilter())]


async def test_what_is_described_is_made_and_managed(desk: Desk) -> None:
    report = await apply(desk, SHOP)

    assert report.counts == {"created": 4, "changed": 0, "archived": 0, "deleted": 0, "unchanged": 0}
    invoices = await find_endpoint(desk, "invoices")
    assert (invoices.cron, invoices.timezone, invoices.action.timeout_ms) == ("0 3 * * *", "Europe/Berlin", 60_000)
    assert invoices.managed_by == "shop"
    assert invoices.next_run_at is not None
    assert (await find_job(desk, "billing")).managed_by == "shop"
    assert (await find_job(desk, "default")).managed_by == ""


async def test_applying_twice_changes_nothing_and_writes_nothing(desk: Desk, clock: FixedClock) -> None:
    await apply(desk, SHOP)
    before = await desk.stores.endpoints.endpoints(desk.tenant_id, EndpointFilter())
    clock.tick(minutes=5)

    report = await apply(desk, SHOP, prune=True)

    assert (report.steps, report.written, report.unchanged) == ((), False, 3)
    assert await desk.stores.endpoints.endpoints(desk.tenant_id, EndpointFilter()) == before


async def test_dry_run_tells_the_same_and_writes_nothing(desk: Desk) -> None:
    report = await apply(desk, SHOP, dry_run=True)

    assert report.counts["created"] == 4
    assert not report.written
    assert await names(desk) == []


async def test_change_is_told_field_by_field(desk: Desk) -> None:
    await apply(desk, SHOP)

    report = await apply(
        desk, SHOP.replace("30s", "1m").replace("timeout: 1m", "method: post").replace("Money", "Cash")
    )

    assert told(report) == [
        "change job billing description:Money>Cash",
        "change endpoint health every:30s>1m",
        "change endpoint invoices method:GET>POST timeout:1m>30s",
    ]
    assert (await find_endpoint(desk, "health")).version == 2


async def test_prune_archives_only_what_the_source_manages(desk: Desk) -> None:
    await add_endpoint(desk, a_config("mine", "https://example.com/", interval_ms=60_000))
    await apply(desk, "endpoints: {other: {url: 'https://example.com/', every: 1m}}", file="other.yaml")
    await apply(desk, SHOP)

    report = await apply(desk, "endpoints: {health: {url: 'https://example.com/health', every: 30s}}", prune=True)

    assert told(report) == ["archive endpoint invoices", "archive job billing"]
    assert await names(desk) == ["health", "mine", "other"]
    assert (await find_job(desk, "billing")).status is JobStatus.ARCHIVED


async def test_without_prune_nothing_is_archived(desk: Desk) -> None:
    await apply(desk, SHOP)

    assert (await apply(desk, "endpoints: {}")).steps == ()


async def test_job_that_others_still_use_is_not_pruned(desk: Desk) -> None:
    await apply(desk, SHOP)
    await add_endpoint(desk, a_config("mine", "https://example.com/", job="billing", interval_ms=60_000))

    report = await apply(desk, "endpoints: {}", prune=True)

    assert told(report) == ["archive endpoint health", "archive endpoint invoices"]
    assert report.notes == ("job 'billing' is kept although no document describes it, because it still has endpoints",)


async def test_archived_job_comes_back_when_it_is_described(desk: Desk) -> None:
    await apply(desk, SHOP)
    await apply(desk, "endpoints: {}", prune=True)

    report = await apply(desk, SHOP)

    assert "change job billing status:archived>active" in told(report)
    assert await names(desk) == ["health", "invoices"]


async def test_endpoint_in_an_archived_job_that_is_not_described_is_refused(desk: Desk) -> None:
    await apply(desk, "jobs: {billing: {}}")
    await set_job_status(desk, "billing", JobStatus.ARCHIVED)

    assert await faults(desk, "endpoints: {a: {url: 'https://example.com/', every: 1m, job: billing}}") == [
        "1:62 job 'billing' is archived; list it under `jobs` to restore it, or choose another"
    ]


async def test_rename_keeps_the_endpoint_and_its_state(desk: Desk) -> None:
    await apply(desk, SHOP)
    old = await find_endpoint(desk, "health")
    await pause_endpoint(desk, "health", lambda now: None)

    report = await apply(desk, SHOP.replace("health:\n", "vitals:\n        renamed_from: health\n"), prune=True)

    vitals = await find_endpoint(desk, "vitals")
    assert [(step.act, step.name, step.renamed_from) for step in report.steps] == [("change", "vitals", "health")]
    assert vitals.id == old.id
    assert vitals.paused_until is not None


async def test_rename_that_was_done_before_changes_nothing(desk: Desk) -> None:
    text = SHOP.replace("health:\n", "vitals:\n        renamed_from: health\n")
    await apply(desk, text)

    assert (await apply(desk, text, prune=True)).steps == ()


async def test_job_is_renamed_with_its_endpoints(desk: Desk) -> None:
    await apply(desk, SHOP)

    report = await apply(
        desk, SHOP.replace("billing: {", "money: {renamed_from: billing, ").replace("job: billing", "job: money")
    )

    assert told(report) == ["change job money name:billing>money"]
    assert [job.name for job in await desk.stores.endpoints.jobs(desk.tenant_id)] == ["default", "money"]


async def test_what_another_source_manages_is_refused_unless_taken_over(desk: Desk) -> None:
    await apply(desk, SHOP)
    other = "source: mine\nendpoints:\n  health: {url: 'https://example.com/health', every: 30s}\n"

    assert await faults(desk, other) == [
        "3:3 endpoint 'health' is managed by the source 'shop', and this is 'mine'; remove it from one of the two, "
        "or apply with --take-over"
    ]
    assert told(await apply(desk, other, take_over=True)) == ["change endpoint health managed_by:shop>mine"]


async def test_document_without_a_source_describes_but_does_not_manage(desk: Desk) -> None:
    await apply(desk, SHOP)

    await apply(desk, "source: null\n" + "endpoints: {health: {url: 'https://example.com/', every: 30s}}", prune=True)

    assert (await find_endpoint(desk, "health")).managed_by == "shop"
    assert await names(desk) == ["health", "invoices"]


async def test_what_people_made_is_adopted(desk: Desk) -> None:
    await add_endpoint(desk, a_config("health", "https://example.com/health", interval_ms=30_000))

    report = await apply(desk, "endpoints: {health: {url: 'https://example.com/health', every: 30s}}")

    assert told(report) == ["change endpoint health managed_by:>shop"]


async def test_edit_by_hand_is_undone_by_the_next_apply(desk: Desk) -> None:
    await apply(desk, SHOP)
    await edit_endpoint(desk, "health", lambda before: replace(before, interval_ms=5_000))

    assert told(await apply(desk, SHOP)) == ["change endpoint health every:5s>30s"]


async def test_fault_anywhere_leaves_everything_as_it_was(desk: Desk) -> None:
    assert await faults(desk, SHOP.replace("timeout: 1m", "timeout: 1y")) != []
    assert await names(desk) == []


async def test_endpoint_that_was_archived_by_hand_is_made_anew(desk: Desk) -> None:
    await apply(desk, SHOP)
    await archive_endpoint(desk, "health")

    assert [step.act for step in (await apply(desk, SHOP)).steps] == ["create"]


async def test_new_endpoint_of_a_paused_job_does_not_run(desk: Desk) -> None:
    await apply(desk, "jobs: {billing: {}}")
    await set_job_status(desk, "billing", JobStatus.PAUSED)

    await apply(desk, SHOP.replace("{description: Money}", "{}"))

    assert (await find_endpoint(desk, "invoices")).next_run_at is None


async def test_quota_counts_what_would_be_there(desk: Desk) -> None:
    tenant = await desk.stores.endpoints.tenant(desk.tenant_id)
    assert tenant is not None
    await desk.stores.endpoints.put_tenant(replace(tenant, endpoints_max=1))

    assert await faults(desk, SHOP) == [
        "8:3 there would be 2 endpoints, and the tenant's quota endpoints_max is 1; describe fewer or raise the quota"
    ]


async def test_rules_are_held_to_the_tenants_minimum_interval(desk: Desk) -> None:
    tenant = await desk.stores.endpoints.tenant(desk.tenant_id)
    assert tenant is not None
    await desk.stores.endpoints.put_tenant(replace(tenant, interval_ms_min=60_000))
    document = "jobs:\n  shop:\n    rules:\n      - when: ok\n        interval: 30s\n"

    assert await faults(desk, document) == ["5:19 interval 30s is below the tenant's minimum 1m; raise it"]


async def test_configuration_event_tells_what_was_done(desk: Desk) -> None:
    await apply(desk, SHOP)

    events = [stored.event for stored in await desk.stores.runs.latest_events(desk.tenant_id, 50)]
    assert [event.type.value for event in events] == [
        "job.created",
        "job.created",
        "endpoint.created",
        "endpoint.created",
        "configuration.applied",
    ]
    assert events[-1].data == {
        "sources": ["shop"],
        "created": 4,
        "changed": 0,
        "archived": 0,
        "deleted": 0,
        "unchanged": 0,
    }

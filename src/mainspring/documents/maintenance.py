"""The section `maintenance`: windows in which runs are skipped or not counted, and alerts are silent."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from mainspring.documents.entries import DocumentEntry, MaintenanceEntry, written
from mainspring.documents.plan import (
    CHANGE,
    CREATE,
    DELETE,
    DocumentPlan,
    ExportedEntry,
    FieldChange,
    PlanStep,
    WantedEntry,
    renamed,
)
from mainspring.domain.config_field import values_of
from mainspring.domain.errors import InvalidInput, did_you_mean
from mainspring.domain.event import EventType
from mainspring.domain.schedule.maintenance import (
    KIND,
    MAINTENANCE_FIELDS,
    MaintenanceDraft,
    MaintenanceWindow,
    check_window,
    draft_of,
)
from mainspring.operations.context import Desk
from mainspring.operations.documents import live_endpoints
from mainspring.operations.maintenance import WINDOWS_MAX, told

Names = Mapping[str, str]  # by id


class MaintenanceSection:
    key = "maintenance"
    entry: type[DocumentEntry] = MaintenanceEntry

    async def plan(self, plan: DocumentPlan, wanted: Sequence[WantedEntry]) -> None:
        there = {each.name: each for each in await plan.desk.stores.maintenance.windows(plan.desk.tenant_id)}
        names = {each.name for each in wanted}
        endpoints = {endpoint.id: endpoint.name for endpoint in plan.endpoints} | plan.name_of
        jobs = {job.id: job.name for job in plan.jobs.values()}
        for each in wanted:
            old = there.get(each.name) or there.get(renamed(each, names) or "")
            if old is not None and not plan.may_manage(each, KIND, old.managed_by):
                continue
            window = _window(plan, each, old)
            if window is not None:
                _plan(plan, each, old, window, endpoints, jobs)
        if plan.new_windows and len(there) + len(plan.new_windows) > WINDOWS_MAX:
            count = len(there) + len(plan.new_windows)
            plan.fault(
                wanted[-1].place,
                f"there would be {count} {KIND}s; a tenant has at most {WINDOWS_MAX}: describe fewer",
            )

    async def prune(self, plan: DocumentPlan, wanted: Sequence[WantedEntry]) -> None:
        names = {each.name for each in wanted}
        changed = {new.id for _, new in plan.changed_windows}
        for each in await plan.desk.stores.maintenance.windows(plan.desk.tenant_id):
            if each.name not in names and each.id not in changed and plan.is_pruned(each.managed_by):
                plan.deleted_windows.append(each)
                plan.events.append(told(plan.desk, EventType.MAINTENANCE_DELETED, plan.now, each, None))
                plan.steps.append(PlanStep(DELETE, KIND, each.name))

    async def export(self, desk: Desk) -> list[ExportedEntry]:
        endpoints = {endpoint.id: endpoint.name for endpoint in await live_endpoints(desk)}
        jobs = {job.id: job.name for job in await desk.stores.endpoints.jobs(desk.tenant_id)}
        return [
            ExportedEntry(each.managed_by, each.name, _written(each, endpoints, jobs))
            for each in await desk.stores.maintenance.windows(desk.tenant_id)
        ]


def _window(plan: DocumentPlan, wanted: WantedEntry, old: MaintenanceWindow | None) -> MaintenanceWindow | None:
    """The window of an entry; None if an error was recorded."""
    assert isinstance(wanted.entry, MaintenanceEntry)
    draft = replace(MaintenanceDraft(wanted.name), **values_of(MAINTENANCE_FIELDS, wanted.entry.sent()))
    subject = _subject(plan, wanted, draft, old)
    window_id = plan.desk.ids.new("mnt", plan.now) if old is None else old.id
    try:
        window = check_window(draft, window_id, plan.desk.tenant_id, plan.now)
    except InvalidInput as fault:
        is_written = fault.field in wanted.entry.model_fields_set
        plan.fault(wanted.at(fault.field) if is_written else wanted.place, str(fault))
        return None
    return None if subject is None else replace(window, endpoint_id=subject[0], job_id=subject[1])


def _subject(
    plan: DocumentPlan, wanted: WantedEntry, draft: MaintenanceDraft, old: MaintenanceWindow | None
) -> tuple[str, str] | None:
    """The ids of the endpoint and the job after the plan. Deleted ones may stay unchanged."""
    endpoints = {name: endpoint_id for endpoint_id, name in plan.name_of.items()}
    jobs = {job.name: job.id for job in plan.jobs.values()}
    found: list[str] = []
    for key, name, ids in (("endpoint", draft.endpoint, endpoints), ("job", draft.job, jobs)):
        if not name or name in ids:
            found.append(ids.get(name, ""))
        elif old is not None and name in (old.endpoint_id, old.job_id):
            found.append(name)
        else:
            hint = did_you_mean(name, tuple(ids)) or f"; describe it, or leave `{key}` out to mean all"
            plan.fault(wanted.at(key), f"no {key} {name!r}{hint}")
            return None
    return found[0], found[1]


def _plan(
    plan: DocumentPlan,
    wanted: WantedEntry,
    old: MaintenanceWindow | None,
    window: MaintenanceWindow,
    endpoints: Names,
    jobs: Names,
) -> None:
    after = _written(window, endpoints, jobs)
    if old is None:
        new = replace(window, managed_by=wanted.source or "")
        plan.new_windows.append(new)
        plan.events.append(told(plan.desk, EventType.MAINTENANCE_CREATED, plan.now, None, new))
        fields = tuple(FieldChange(key, None, value) for key, value in after.items())
        plan.steps.append(PlanStep(CREATE, KIND, new.name, fields))
        return
    source = old.managed_by if wanted.source is None else wanted.source
    kept = replace(window, version=old.version, created_at=old.created_at, updated_at=old.updated_at, managed_by=source)
    if kept == old:
        plan.unchanged += 1
        return
    before = _written(old, endpoints, jobs)
    keys = [*before, *(key for key in after if key not in before)]
    changes = [FieldChange(key, before.get(key), after.get(key)) for key in keys if before.get(key) != after.get(key)]
    if source != old.managed_by:
        changes.append(FieldChange("managed_by", old.managed_by, source))
    new = replace(kept, version=old.version + 1, updated_at=plan.now)
    plan.changed_windows.append((old, new))
    plan.events.append(told(plan.desk, EventType.MAINTENANCE_UPDATED, plan.now, old, new))
    plan.steps.append(PlanStep(CHANGE, KIND, new.name, tuple(changes), old.name if new.name != old.name else None))


def _written(window: MaintenanceWindow, endpoints: Names, jobs: Names) -> dict[str, object]:
    """The settings of a window as an entry has them, without defaults; the name is the entry's key."""
    draft = draft_of(window)
    shown = replace(draft, endpoint=endpoints.get(draft.endpoint, draft.endpoint), job=jobs.get(draft.job, draft.job))
    pairs = ((field, getattr(shown, field.name)) for field in MAINTENANCE_FIELDS if field.key != "name")
    return {field.key: written(field, value) for field, value in pairs if value != field.default}

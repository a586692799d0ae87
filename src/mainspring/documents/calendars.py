"""The section `calendars`: named sets of days on which endpoints run or do not run."""

from collections.abc import Sequence

from msgspec.structs import replace

from mainspring.documents.entries import CalendarEntry, DocumentEntry, written
from mainspring.documents.plan import (
    CHANGE,
    CREATE,
    DELETE,
    DocumentPlan,
    ExportedEntry,
    FieldChange,
    PlanStep,
    WantedEntry,
)
from mainspring.domain.calendar import (
    CALENDAR_FIELDS,
    KIND,
    Calendar,
    CalendarConfig,
    check_calendar,
    check_calendar_name,
    renewed,
    years_of,
)
from mainspring.domain.config_field import values_of
from mainspring.domain.errors import InvalidInput, QuotaExceeded
from mainspring.domain.event import EventType
from mainspring.operations.calendars import check_room, found_days, told
from mainspring.operations.context import Desk


class CalendarSection:
    key = "calendars"
    entry: type[DocumentEntry] = CalendarEntry

    async def plan(self, plan: DocumentPlan, wanted: Sequence[WantedEntry]) -> None:
        for each in wanted:
            old = plan.calendars.get(each.name)
            if old is None or plan.may_manage(each, KIND, old.managed_by):
                await _plan_one(plan, each, old)
        if wanted and (plan.new_calendars or plan.changed_calendars):
            try:
                check_room(plan.desk, plan.calendars.values())
            except QuotaExceeded as fault:
                plan.fault(wanted[-1].place, str(fault))

    async def prune(self, plan: DocumentPlan, wanted: Sequence[WantedEntry]) -> None:
        names = {each.name for each in wanted}
        for calendar in list(plan.calendars.values()):
            if calendar.name in names or not plan.is_pruned(calendar.managed_by):
                continue
            if any(calendar.name in used for used in plan.calendars_of.values()):
                plan.notes.append(
                    f"calendar {calendar.name!r} is kept although no document describes it, because it is in use"
                )
                continue
            plan.deleted_calendars.append(calendar.id)
            plan.events.append(told(plan.desk, EventType.CALENDAR_DELETED, plan.now, calendar))
            plan.steps.append(PlanStep(DELETE, KIND, calendar.name))

    async def export(self, desk: Desk) -> list[ExportedEntry]:
        return [
            ExportedEntry(each.managed_by, each.name, _written(each.config))
            for each in await desk.stores.calendars.calendars(desk.tenant_id)
        ]


async def _plan_one(plan: DocumentPlan, wanted: WantedEntry, old: Calendar | None) -> None:
    assert isinstance(wanted.entry, CalendarEntry)
    given = CalendarConfig(**values_of(CALENDAR_FIELDS, wanted.entry.sent()))
    try:
        name = check_calendar_name(wanted.name)
        config = check_calendar(given)
        is_same = old is not None and config == old.config
        found = old.found if old is not None and is_same else await found_days(plan.desk, config, plan.now)
    except InvalidInput as fault:
        is_written = fault.field in wanted.entry.model_fields_set
        plan.fault(wanted.at(fault.field) if is_written else wanted.place, str(fault))
        # Still counted as known, so that its users are not reported as well.
        plan.calendars.setdefault(
            wanted.name,
            Calendar("", plan.desk.tenant_id, wanted.name, CalendarConfig(), (), plan.now.year, 1, plan.now, plan.now),
        )
        return
    source = wanted.source or ""
    if old is None:
        made = Calendar(
            plan.desk.ids.new("cal", plan.now), plan.desk.tenant_id, name, config, found, years_of(plan.now)[1], 1,
            plan.now, plan.now, source,
        )  # fmt: skip
        plan.calendars[name] = made
        plan.new_calendars.append(made)
        plan.events.append(told(plan.desk, EventType.CALENDAR_CREATED, plan.now, made))
        fields = tuple(FieldChange(key, None, value) for key, value in _written(config).items())
        plan.steps.append(PlanStep(CREATE, KIND, name, fields))
        return
    source = old.managed_by if wanted.source is None else source
    if is_same and source == old.managed_by:
        plan.unchanged += 1
        return
    new = replace(
        renewed(old, found, old.found_until if is_same else years_of(plan.now)[1], plan.now),
        config=config,
        managed_by=source,
    )
    plan.calendars[name] = new
    plan.changed_calendars.append(new)
    plan.events.append(told(plan.desk, EventType.CALENDAR_UPDATED, plan.now, new))
    plan.steps.append(PlanStep(CHANGE, KIND, name, tuple(_changes(old, new))))


def _changes(old: Calendar, new: Calendar) -> list[FieldChange]:
    before, after = _written(old.config), _written(new.config)
    keys = [*before, *(key for key in after if key not in before)]
    changes = [FieldChange(key, before.get(key), after.get(key)) for key in keys if before.get(key) != after.get(key)]
    if new.managed_by != old.managed_by:
        changes.append(FieldChange("managed_by", old.managed_by, new.managed_by))
    return changes


def _written(config: CalendarConfig) -> dict[str, object]:
    """A configuration as a document has it, without defaults."""
    pairs = ((field, getattr(config, field.name)) for field in CALENDAR_FIELDS)
    return {field.key: written(field, value) for field, value in pairs if value != field.default}

"""The section `workflows`: steps that are taken one after the other. A new version is published where one changed.

Versions are never taken back, because executions run them: what is no longer described stays, without its mark.
"""

import re
from collections.abc import Sequence

from msgspec.structs import replace

from mainspring.configuration.entries import Entry, WorkflowEntry
from mainspring.configuration.planning import CHANGE, CREATE, Exported, FieldChange, Plan, Step, Wanted
from mainspring.configuration.writing import as_yaml
from mainspring.domain.errors import InvalidInput
from mainspring.domain.event import Event, EventType
from mainspring.operations.endpoints import Desk
from mainspring.operations.workflows import check_workflow
from mainspring.ports.configuration import Publication
from mainspring.ports.flows import Published
from mainspring.workflow.difference import differences
from mainspring.workflow.document import InvalidDocument
from mainspring.workflow.markup import read_markup
from mainspring.workflow.model import Workflow

_PART = re.compile(r"[^.\[\]]+|\[\d+\]")


class WorkflowSection:
    key = "workflows"
    entry: type[Entry] = WorkflowEntry

    async def plan(self, plan: Plan, wanted: Sequence[Wanted]) -> None:
        if not wanted:
            return
        newest = {each.workflow.name: each for each in await _newest(plan.desk)}
        sources = await plan.desk.stores.configuration.workflow_sources(plan.desk.tenant_id)
        for each in wanted:
            source = sources.get(each.name, "")
            if plan.may_manage(each, "workflow", source):
                old = newest.get(each.name)
                _plan_one(plan, each, old.workflow if old is not None else None, source)
                if old is not None and old.archived_at is not None and each.name not in _published(plan):
                    plan.notes.append(
                        f"workflow {each.name!r} stays archived, because its entry says nothing new; "
                        f"`mainspring workflow restore {each.name}` brings it back"
                    )

    async def prune(self, plan: Plan, wanted: Sequence[Wanted]) -> None:
        names = {each.name for each in wanted}
        for name, source in (await plan.desk.stores.configuration.workflow_sources(plan.desk.tenant_id)).items():
            if name not in names and plan.is_pruned(source):
                plan.workflow_sources[name] = ""
                plan.steps.append(Step(CHANGE, "workflow", name, (FieldChange("managed_by", source, ""),)))
                plan.notes.append(f"workflow {name!r} stays, although no document describes it: its versions are kept")

    async def export(self, desk: Desk) -> list[Exported]:
        sources = await desk.stores.configuration.workflow_sources(desk.tenant_id)
        found = []
        for published in await _newest(desk):
            name = published.workflow.name
            said, _ = read_markup(published.document)
            assert isinstance(said, dict)
            entry = {key: value for key, value in said.items() if key != "name"}
            found.append(Exported(sources.get(name, ""), name, entry))
        return found


def _published(plan: Plan) -> set[str]:
    return {each.workflow.name for each in plan.publications}


async def _newest(desk: Desk) -> list[Published]:
    return await desk.stores.flows.workflows.versions(desk.tenant_id, None)


def _plan_one(plan: Plan, wanted: Wanted, old: Workflow | None, source: str) -> None:
    assert isinstance(wanted.entry, WorkflowEntry)
    document = as_yaml([{"name": wanted.name, **wanted.entry.model_dump(exclude_unset=True)}])
    new = _checked(plan, wanted, document)
    if new is None:
        return
    fields: list[FieldChange] = []
    version = old.version if old is not None else 0
    if old is None or replace(old, version=0) != new:
        plan.publications.append(Publication(new, document, version))
        data: dict[str, object] = {"workflow": new.name, "version": version + 1}
        event = Event(EventType.WORKFLOW_PUBLISHED, plan.now, plan.desk.tenant_id, actor=plan.desk.actor, data=data)
        plan.events.append(event)
        fields.append(FieldChange("version", version or None, version + 1))
        fields += [FieldChange("document", None, said) for said in (differences(old, new) if old is not None else ())]
    if wanted.source is not None and wanted.source != source:
        plan.workflow_sources[new.name] = wanted.source
        if old is not None:
            fields.append(FieldChange("managed_by", source, wanted.source))
    if fields:
        plan.steps.append(Step(CREATE if old is None else CHANGE, "workflow", new.name, tuple(fields)))
    else:
        plan.unchanged += 1


def _checked(plan: Plan, wanted: Wanted, document: str) -> Workflow | None:
    try:
        return check_workflow(plan.desk, document)
    except InvalidDocument as refused:
        for fault in refused.faults:
            path = tuple(int(part[1:-1]) if part[0] == "[" else part for part in _PART.findall(fault.path))
            place = wanted.tree.key if path and isinstance(path[-1], str) else wanted.tree.at
            at = place((*wanted.path, *path))
            if "headers" in path or "url" in path[-1:]:
                at = at.masked()
            plan.fault(at, f"{fault.path or wanted.name} {fault.message}")
    except InvalidInput as fault:
        plan.fault(wanted.place, str(fault))
    return None

"""The section `workflows`. A new version is published if a workflow changed.

Versions are never removed, because executions run them: a workflow that is no longer described stays, without a source.
"""

import re
from collections.abc import Sequence

from msgspec.structs import replace

from mainspring.documents.entries import DocumentEntry, WorkflowEntry
from mainspring.documents.plan import CHANGE, CREATE, DocumentPlan, ExportedEntry, FieldChange, PlanStep, WantedEntry
from mainspring.documents.yaml_writer import as_yaml
from mainspring.domain.errors import InvalidInput
from mainspring.domain.event import Event, EventType
from mainspring.operations.context import Desk
from mainspring.ports.documents import Publication
from mainspring.ports.workflows import Published
from mainspring.workflow.difference import differences
from mainspring.workflow.document import InvalidWorkflow, parse_text
from mainspring.workflow.model import Workflow
from mainspring.workflow.yaml_lines import read_yaml

_PART = re.compile(r"[^.\[\]]+|\[\d+\]")


class WorkflowSection:
    key = "workflows"
    entry: type[DocumentEntry] = WorkflowEntry

    async def plan(self, plan: DocumentPlan, wanted: Sequence[WantedEntry]) -> None:
        if not wanted:
            return
        newest = {each.workflow.name: each for each in await _newest(plan.desk)}
        sources = await plan.desk.stores.configuration.workflow_sources(plan.desk.tenant_id)
        desk = plan.desk
        entries = [{"name": each.name, **each.entry.model_dump(exclude_unset=True)} for each in wanted]
        read = await desk.sandbox.call(desk.tenant_id, read_entries, entries, desk.allow_ports)
        for each, (document, new) in zip(wanted, read, strict=True):
            source = sources.get(each.name, "")
            if plan.may_manage(each, "workflow", source):
                old = newest.get(each.name)
                if isinstance(new, InvalidInput):
                    _tell_faults(plan, each, new)
                else:
                    await _plan_one(plan, each, document, new, old.workflow if old is not None else None, source)
                if old is not None and old.archived_at is not None and each.name not in _published(plan):
                    plan.notes.append(
                        f"workflow {each.name!r} stays archived, because its entry did not change; "
                        f"`mainspring workflow restore {each.name}` restores it"
                    )

    async def prune(self, plan: DocumentPlan, wanted: Sequence[WantedEntry]) -> None:
        names = {each.name for each in wanted}
        for name, source in (await plan.desk.stores.configuration.workflow_sources(plan.desk.tenant_id)).items():
            if name not in names and plan.is_pruned(source):
                plan.workflow_sources[name] = ""
                plan.steps.append(PlanStep(CHANGE, "workflow", name, (FieldChange("managed_by", source, ""),)))
                plan.notes.append(
                    f"workflow {name!r} is kept although no document describes it, because its versions are kept"
                )

    async def export(self, desk: Desk) -> list[ExportedEntry]:
        sources = await desk.stores.configuration.workflow_sources(desk.tenant_id)
        newest = await _newest(desk)
        said = await desk.sandbox.call(desk.tenant_id, written_entries, [each.document for each in newest])
        names = [each.workflow.name for each in newest]
        return [ExportedEntry(sources.get(name, ""), name, entry) for name, entry in zip(names, said, strict=True)]


def _published(plan: DocumentPlan) -> set[str]:
    return {each.workflow.name for each in plan.publications}


async def _newest(desk: Desk) -> list[Published]:
    return await desk.stores.flows.workflows.versions(desk.tenant_id, None)


def read_entries(
    entries: Sequence[dict[str, object]], allow_ports: frozenset[int]
) -> list[tuple[str, Workflow | InvalidInput]]:
    """Each entry as the document of a workflow, and the workflow; or its errors."""
    return [_read_entry(entry, allow_ports) for entry in entries]


def _read_entry(entry: dict[str, object], allow_ports: frozenset[int]) -> tuple[str, Workflow | InvalidInput]:
    document = as_yaml([entry])
    try:
        return document, parse_text(document, allow_ports)
    except InvalidInput as refused:
        return document, refused


def written_entries(documents: Sequence[str]) -> list[dict[str, object]]:
    """Documents of workflows as entries, whose names are their keys."""
    entries = []
    for document in documents:
        said, _ = read_yaml(document)
        assert isinstance(said, dict)
        entries.append({key: value for key, value in said.items() if key != "name"})
    return entries


async def _plan_one(
    plan: DocumentPlan, wanted: WantedEntry, document: str, new: Workflow, old: Workflow | None, source: str
) -> None:
    fields: list[FieldChange] = []
    version = old.version if old is not None else 0
    if old is None or replace(old, version=0) != new:
        plan.publications.append(Publication(new, document, version))
        data: dict[str, object] = {"workflow": new.name, "version": version + 1}
        event = Event(EventType.WORKFLOW_PUBLISHED, plan.now, plan.desk.tenant_id, actor=plan.desk.actor, data=data)
        plan.events.append(event)
        fields.append(FieldChange("version", version or None, version + 1))
        said = await _differences(plan.desk, old, new)
        fields += [FieldChange("document", None, each) for each in said]
    if wanted.source is not None and wanted.source != source:
        plan.workflow_sources[new.name] = wanted.source
        if old is not None:
            fields.append(FieldChange("managed_by", source, wanted.source))
    if fields:
        plan.steps.append(PlanStep(CREATE if old is None else CHANGE, "workflow", new.name, tuple(fields)))
    else:
        plan.unchanged += 1


async def _differences(desk: Desk, old: Workflow | None, new: Workflow) -> list[str]:
    return [] if old is None else await desk.sandbox.call(desk.tenant_id, differences, old, new)


def _tell_faults(plan: DocumentPlan, wanted: WantedEntry, refused: InvalidInput) -> None:
    if not isinstance(refused, InvalidWorkflow):
        plan.fault(wanted.place, str(refused))
        return
    for fault in refused.faults:
        path = tuple(int(part[1:-1]) if part[0] == "[" else part for part in _PART.findall(fault.path))
        place = wanted.tree.key if path and isinstance(path[-1], str) else wanted.tree.at
        at = place((*wanted.path, *path))
        if "headers" in path or "url" in path[-1:]:
            at = at.masked()
        plan.fault(at, f"{fault.path or wanted.name} {fault.message}")

"""The section `endpoints`: one thing to call each, and when."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from mainspring.documents.entries import DEFAULTS, DocumentEntry, EndpointEntry
from mainspring.documents.headers import WantedHeader, changed_headers, exported_headers, keep_or_seal, wishes_of
from mainspring.documents.jobs import add_job
from mainspring.documents.plan import (
    ARCHIVE,
    CHANGE,
    CREATE,
    DocumentPlan,
    ExportedEntry,
    FieldChange,
    PlanStep,
    WantedEntry,
    renamed,
)
from mainspring.documents.references import STORED, escaped, has_reference, resolved
from mainspring.documents.rules import exported_rules
from mainspring.domain.definition import Definition, definition_of
from mainspring.domain.duration import format_duration
from mainspring.domain.endpoint import Endpoint, Job, JobStatus
from mainspring.domain.errors import InvalidInput, QuotaExceeded
from mainspring.domain.run import Header
from mainspring.domain.target import HIDDEN_QUERY, origin_of, shown_url
from mainspring.operations.documents import archive_act, edit_act, live_endpoints, plan_endpoint
from mainspring.operations.endpoints import Desk, checked_definition, is_moved, sealed_query

TURN_EVERY = 50  # so many take some 20 ms; a process that serves and schedules has other things to do too
NEW_QUERY = "(another query string)"
FAULTS_MAX = 20  # of one endpoint; more than it has fields
# A value that is surely good, to go on with after a fault: so that the next one is found too.
HARMLESS: dict[str, dict[str, object]] = {
    "name": {"name": "x"},
    "url": {"url": "https://example.com/"},
    "job": {"job": "default"},
    "cron": {"cron": None, "interval_ms": 60_000, "min_interval_ms": None, "max_interval_ms": None},
    "interval": {"cron": None, "interval_ms": 60_000, "min_interval_ms": None, "max_interval_ms": None},
    "min_interval": {"min_interval_ms": None},
    "max_interval": {"max_interval_ms": None},
}


class Key(NamedTuple):
    """A key of an entry and the field of a definition that it becomes."""

    key: str
    field: str
    is_duration: bool = False


KEYS = (
    Key("url", "url"),
    Key("every", "interval_ms", is_duration=True),
    Key("cron", "cron"),
    Key("timezone", "timezone"),
    Key("job", "job"),
    Key("description", "description"),
    Key("method", "method"),
    Key("body", "body"),
    Key("timeout", "timeout_ms", is_duration=True),
    Key("min_interval", "min_interval_ms", is_duration=True),
    Key("max_interval", "max_interval_ms", is_duration=True),
    Key("backoff", "backoff"),
    Key("jitter", "jitter_ms", is_duration=True),
    Key("spread", "spread"),
    Key("misfire", "misfire"),
    Key("catch_up_max", "catch_up_max"),
    Key("max_lateness", "max_lateness_ms", is_duration=True),
    Key("on_lost_worker", "on_lost_worker"),
    Key("body_cap", "body_cap"),
    Key("redirects_max", "redirects_max"),
    Key("accept_codes", "accept_codes"),
    Key("condition", "condition"),
    Key("advice", "advice"),
)
_KEY_OF = {"interval": "every"}  # what the domain calls it, what a document does


class EndpointSection:
    key = "endpoints"
    entry: type[DocumentEntry] = EndpointEntry

    async def plan(self, plan: DocumentPlan, wanted: Sequence[WantedEntry]) -> None:
        by_name = {endpoint.name: endpoint for endpoint in plan.endpoints}
        names = {each.name for each in wanted}
        for number, each in enumerate(wanted):
            if number % TURN_EVERY == 0:
                await asyncio.sleep(0)
            old = by_name.get(each.name) or by_name.get(renamed(each, names) or "")
            if old is None or plan.may_manage(each, "endpoint", old.managed_by):
                _plan_one(plan, each, old)

    async def prune(self, plan: DocumentPlan, wanted: Sequence[WantedEntry]) -> None:
        names = {each.name for each in wanted}
        for endpoint in plan.endpoints:
            if endpoint.name not in names and endpoint.id not in plan.acts and plan.is_pruned(endpoint.managed_by):
                plan.acts[endpoint.id] = archive_act(plan.desk, endpoint)
                plan.freed.append(endpoint.id)
                del plan.job_of[endpoint.id], plan.name_of[endpoint.id]
                plan.steps.append(PlanStep(ARCHIVE, "endpoint", endpoint.name))
        _check_count(plan, wanted)

    async def export(self, desk: Desk) -> list[ExportedEntry]:
        jobs = {job.id: job.name for job in await desk.stores.endpoints.jobs(desk.tenant_id)}
        rules = await exported_rules(desk)
        found = []
        for endpoint in await live_endpoints(desk):
            entry = _exported(definition_of(endpoint, jobs[endpoint.job_id]))
            if endpoint.id in rules:
                entry["rules"] = rules[endpoint.id]
            found.append(ExportedEntry(endpoint.managed_by, endpoint.name, entry))
        return found


def _plan_one(plan: DocumentPlan, wanted: WantedEntry, old: Endpoint | None) -> None:
    desk = plan.desk
    endpoint_id = old.id if old is not None else desk.ids.new("ep", plan.now)
    wishes = wishes_of(plan, wanted)
    checked = _checked(plan, wanted, endpoint_id, wishes)
    if checked is None:
        return
    definition, host = checked
    query = _query(plan, wanted, endpoint_id, definition.url, old)
    job = plan.jobs.get(definition.job) or add_job(plan, definition.job, "", "")
    if job.status is JobStatus.ARCHIVED:
        message = f"job {job.name!r} is archived; list it under `jobs` to bring it back, or choose another"
        plan.fault(wanted.at("job"), message)
        return
    stored = old.action.headers if old is not None else ()
    moved_from = origin_of(old.action.url) if old is not None and is_moved(old, definition.url) else None
    headers = keep_or_seal(plan, wanted, endpoint_id, wishes, definition.headers, stored, moved_from)
    plan.job_of[endpoint_id], plan.name_of[endpoint_id] = job.id, definition.name
    if headers is None or query is None:
        return
    if old is None:
        _create(plan, wanted, endpoint_id, definition, headers, host, job)
    else:
        _change(plan, wanted, old, replace(definition, url=shown_url(definition.url)), headers, query, host, job)


def _query(plan: DocumentPlan, wanted: WantedEntry, endpoint_id: str, url: str, old: Endpoint | None) -> str | None:
    """The sealed query string to store; None where a fault was noted."""
    try:
        return sealed_query(plan.desk, endpoint_id, url, old)
    except InvalidInput as fault:
        plan.fault(wanted.at("url").masked(), str(fault))
        return None


def _create(
    plan: DocumentPlan,
    wanted: WantedEntry,
    endpoint_id: str,
    definition: Definition,
    headers: tuple[Header, ...],
    host: str,
    job: Job,
) -> None:
    bare = replace(definition, headers=())
    endpoint, event = plan_endpoint(plan.desk, endpoint_id, bare, host, job, wanted.source or "", plan.now)
    plan.new_endpoints.append(replace(endpoint, action=replace(endpoint.action, headers=headers)))
    plan.events.append(event)
    shown = _exported(replace(definition, url=shown_url(definition.url), headers=headers))
    fields = tuple(FieldChange(key, None, value) for key, value in shown.items())
    plan.steps.append(PlanStep(CREATE, "endpoint", endpoint.name, fields))


def _change(
    plan: DocumentPlan,
    wanted: WantedEntry,
    old: Endpoint,
    definition: Definition,
    headers: tuple[Header, ...],
    query: str,
    host: str,
    job: Job,
) -> None:
    source = old.managed_by if wanted.source is None else wanted.source
    jobs = {each.id: each.name for each in plan.jobs.values()}
    before = definition_of(old, jobs[old.job_id])
    before = replace(before, url=shown_url(before.url))
    fields = [
        FieldChange(key.key, _written(key, getattr(before, key.field)), _written(key, getattr(definition, key.field)))
        for key in KEYS
        if getattr(before, key.field) != getattr(definition, key.field)
    ]
    if definition.url == before.url and query != old.action.query:
        fields.append(FieldChange("url", before.url, f"{definition.url} {NEW_QUERY}"))
    fields += changed_headers(old.action.headers, headers)
    renamed_from = old.name if definition.name != old.name else None
    if source != old.managed_by:
        fields.append(FieldChange("managed_by", old.managed_by, source))
    if not fields and renamed_from is None:
        plan.unchanged += 1
        return
    plan.acts[old.id] = edit_act(plan.desk, old, definition, headers, query, host, job, source)
    if renamed_from is not None:
        plan.freed.append(old.id)
    plan.steps.append(PlanStep(CHANGE, "endpoint", definition.name, tuple(fields), renamed_from))


def _checked(
    plan: DocumentPlan, wanted: WantedEntry, endpoint_id: str, wishes: list[WantedHeader]
) -> tuple[Definition, str] | None:
    """The definition, checked; every fault in it is noted, not only the first."""
    entry = wanted.entry
    assert isinstance(entry, EndpointEntry)
    values = {key.field: getattr(entry, key.key) for key in KEYS}
    values["url"], is_good = _url(plan, wanted)
    values["accept_codes"] = tuple(entry.accept_codes)
    values["advice"] = tuple(entry.advice)
    headers = tuple(Header(wish.name, wish.value, wish.secret) for wish in wishes if wish.value is not None)
    definition = Definition(name=wanted.name, headers=headers, **values)
    if (definition.cron is None) == (definition.interval_ms is None):
        if definition.cron is None:
            plan.fault(wanted.place, f"{wanted.name!r} has no schedule; give it `every: 5m` or `cron: '0 3 * * *'`")
        else:
            plan.fault(wanted.at("cron"), f"{wanted.name!r} has both `every` and `cron`; keep one of them")
        is_good = False
        definition = replace(definition, **HARMLESS["interval"])
    for _ in range(FAULTS_MAX):
        try:
            checked = checked_definition(plan.desk, definition, plan.tenant, endpoint_id)
            return checked if is_good else None
        except (InvalidInput, QuotaExceeded) as fault:
            field = fault.field if isinstance(fault, InvalidInput) else "interval"
            _note(plan, wanted, field, fault)
            is_good = False
            definition = _without(definition, field, getattr(fault, "value", None))
    return None


def _url(plan: DocumentPlan, wanted: WantedEntry) -> tuple[str, bool]:
    """What it calls, with what its references stand for, and whether that is so; otherwise a fault was noted."""
    assert isinstance(wanted.entry, EndpointEntry)
    path, mark, query = wanted.entry.url.partition("?")
    try:
        if has_reference(path):
            raise ValueError("what is before the `?` of a url is shown; put the reference behind it")
        url = resolved(path, plan.options.resolve)
        return url + (HIDDEN_QUERY if query == STORED else mark + resolved(query, plan.options.resolve)), True
    except ValueError as fault:
        plan.fault(wanted.at("url").masked(), str(fault))
        return str(HARMLESS["url"]["url"]), False


def _note(plan: DocumentPlan, wanted: WantedEntry, field: str, fault: InvalidInput | QuotaExceeded) -> None:
    if field == "name":
        plan.fault(wanted.place, str(fault))
    elif field == "headers" and isinstance(fault, InvalidInput):
        plan.fault(wanted.at("headers", str(fault.value)).masked(), str(fault))
    elif field == "url":  # it may carry a password or a token
        plan.fault(wanted.at("url").masked(), str(fault))
    else:
        plan.fault(wanted.at(_KEY_OF.get(field, field)), str(fault))


def _without(definition: Definition, field: str, value: object) -> Definition:
    """The definition with what was wrong put right, to see what else is."""
    if field == "headers":
        left = tuple(header for header in definition.headers if header.name[:60] != value)
        return replace(definition, headers=left if len(left) < len(definition.headers) else ())
    if field in HARMLESS:
        return replace(definition, **HARMLESS[field])
    name = field if field in DEFAULTS else f"{field}_ms"
    return replace(definition, **{name: DEFAULTS[name]})


def _check_count(plan: DocumentPlan, wanted: Sequence[WantedEntry]) -> None:
    most = plan.tenant.endpoints_max
    archived = sum(step.act == ARCHIVE and step.kind == "endpoint" for step in plan.steps)
    count = len(plan.endpoints) + len(plan.new_endpoints) - archived
    if most is not None and plan.new_endpoints and count > most:
        plan.fault(
            wanted[-1].place,
            f"there would be {count:,} endpoints, and the tenant's quota endpoints_max is {most:,}; "
            "describe fewer or raise the quota",
        )


def _exported(definition: Definition) -> dict[str, object]:
    """A definition as a document writes it; what is so by default is left out, and secrets are references."""
    entry: dict[str, object] = {}
    for key in KEYS:
        value = getattr(definition, key.field)
        if key.field not in DEFAULTS or value != DEFAULTS[key.field]:
            entry[key.key] = _written(key, value)
    path, mark, _ = definition.url.partition("?")
    entry["url"] = escaped(path) + (mark and f"?{STORED}")
    if definition.headers:
        entry["headers"] = exported_headers(definition.headers)
    return entry


def _written(key: Key, value: object) -> object:
    if value is None or isinstance(value, bool):
        return value
    if key.is_duration and isinstance(value, int):
        return format_duration(value)
    if isinstance(value, tuple):
        return list(value)
    return value if isinstance(value, int) else str(value)

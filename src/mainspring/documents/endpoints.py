"""The section `endpoints`: one thing to call each, and when."""

import asyncio
from collections.abc import Sequence

from msgspec.structs import replace

from mainspring.documents.entries import DocumentEntry, EndpointEntry
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
from mainspring.domain.config_field import ConfigField, FieldKind
from mainspring.domain.definition import config_of
from mainspring.domain.duration import format_duration
from mainspring.domain.endpoint import (
    CONFIG_FIELDS,
    Endpoint,
    EndpointConfig,
    Job,
    JobStatus,
    config_value,
    with_inputs,
    with_values,
)
from mainspring.domain.errors import InvalidInput, QuotaExceeded
from mainspring.domain.run import Header, HttpAction
from mainspring.domain.target import HIDDEN_QUERY, origin_of, shown_url
from mainspring.operations.documents import archive_act, edit_act, live_endpoints, plan_endpoint
from mainspring.operations.endpoints import Desk, checked_config, is_moved, sealed_query

TURN_EVERY = 50  # so many take some 20 ms; a process that serves and schedules has other things to do too
NEW_QUERY = "(another query string)"
FAULTS_MAX = 20  # of one endpoint; more than it has fields
# A value that is surely good, to go on with after a fault: so that the next one is found too.
HARMLESS_URL = "https://example.com/"
HARMLESS_SCHEDULE: dict[str, object] = {"every": 60_000, "min_interval": None, "max_interval": None}
HARMLESS: dict[str, dict[str, object]] = {
    "name": {"name": "x"},
    "url": {"url": HARMLESS_URL},
    "cron": HARMLESS_SCHEDULE,
    "every": HARMLESS_SCHEDULE,
}
KEYS = tuple(field for field in CONFIG_FIELDS if field.key not in ("name", "headers"))


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
        rules = await exported_rules(desk)
        found = []
        for endpoint in await live_endpoints(desk):
            entry = _exported(config_of(endpoint))
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
    config, host = checked
    query = _query(plan, wanted, endpoint_id, config.action.url, old)
    job = plan.jobs.get(config.job) or add_job(plan, config.job, "", "")
    if job.status is JobStatus.ARCHIVED:
        message = f"job {job.name!r} is archived; list it under `jobs` to bring it back, or choose another"
        plan.fault(wanted.at("job"), message)
        return
    stored = old.action.headers if old is not None else ()
    moved_from = origin_of(old.action.url) if old is not None and is_moved(old, config.action.url) else None
    headers = keep_or_seal(plan, wanted, endpoint_id, wishes, config.action.headers, stored, moved_from)
    plan.job_of[endpoint_id], plan.name_of[endpoint_id] = job.id, config.name
    if headers is None or query is None:
        return
    if old is None:
        _create(plan, wanted, endpoint_id, config, headers, host, job)
    else:
        shown = with_values(config, {"url": shown_url(config.action.url)})
        _change(plan, wanted, old, shown, headers, query, host, job)


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
    config: EndpointConfig,
    headers: tuple[Header, ...],
    host: str,
    job: Job,
) -> None:
    bare = with_values(config, {"headers": ()})
    endpoint, event = plan_endpoint(plan.desk, endpoint_id, bare, host, job, wanted.source or "", plan.now)
    plan.new_endpoints.append(replace(endpoint, action=replace(endpoint.action, headers=headers)))
    plan.events.append(event)
    shown = _exported(with_values(config, {"url": shown_url(config.action.url), "headers": headers}))
    fields = tuple(FieldChange(key, None, value) for key, value in shown.items())
    plan.steps.append(PlanStep(CREATE, "endpoint", endpoint.name, fields))


def _change(
    plan: DocumentPlan,
    wanted: WantedEntry,
    old: Endpoint,
    config: EndpointConfig,
    headers: tuple[Header, ...],
    query: str,
    host: str,
    job: Job,
) -> None:
    source = old.managed_by if wanted.source is None else wanted.source
    jobs = {each.id: each.name for each in plan.jobs.values()}
    before = with_values(config_of(old), {"url": shown_url(old.action.url), "job": jobs[old.job_id]})
    fields = [
        FieldChange(
            field.key, _written(field, config_value(before, field)), _written(field, config_value(config, field))
        )
        for field in KEYS
        if config_value(before, field) != config_value(config, field)
    ]
    url = config.action.url
    if url == before.action.url and query != old.action.query:
        fields.append(FieldChange("url", url, f"{url} {NEW_QUERY}"))
    fields += changed_headers(old.action.headers, headers)
    renamed_from = old.name if config.name != old.name else None
    if source != old.managed_by:
        fields.append(FieldChange("managed_by", old.managed_by, source))
    if not fields and renamed_from is None:
        plan.unchanged += 1
        return
    plan.acts[old.id] = edit_act(plan.desk, old, config, headers, query, host, job, source)
    if renamed_from is not None:
        plan.freed.append(old.id)
    plan.steps.append(PlanStep(CHANGE, "endpoint", config.name, tuple(fields), renamed_from))


def _checked(
    plan: DocumentPlan, wanted: WantedEntry, endpoint_id: str, wishes: list[WantedHeader]
) -> tuple[EndpointConfig, str] | None:
    """The configuration, checked; every fault in it is noted, not only the first."""
    entry = wanted.entry
    assert isinstance(entry, EndpointEntry)
    url, is_good = _url(plan, wanted)
    headers = tuple(Header(wish.name, wish.value, wish.secret) for wish in wishes if wish.value is not None)
    sent = entry.sent()
    config = with_inputs(
        EndpointConfig(wanted.name, HttpAction(url, headers=headers)), {"every": None, "cron": None} | sent
    )
    if (config.cron is None) == (config.interval_ms is None):
        if config.cron is None:
            plan.fault(wanted.place, f"{wanted.name!r} has no schedule; give it `every: 5m` or `cron: '0 3 * * *'`")
        else:
            plan.fault(wanted.at("cron"), f"{wanted.name!r} has both `every` and `cron`; keep one of them")
        is_good = False
        config = with_inputs(config, HARMLESS_SCHEDULE)
    for _ in range(FAULTS_MAX):
        try:
            checked = checked_config(plan.desk, config, plan.tenant, endpoint_id)
            return checked if is_good else None
        except (InvalidInput, QuotaExceeded) as fault:
            field = fault.field if isinstance(fault, InvalidInput) else "every"
            _note(plan, wanted, field, fault)
            is_good = False
            config = _without(config, field, getattr(fault, "value", None))
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
        return HARMLESS_URL, False


def _note(plan: DocumentPlan, wanted: WantedEntry, field: str, fault: InvalidInput | QuotaExceeded) -> None:
    if field == "name":
        plan.fault(wanted.place, str(fault))
    elif field == "headers" and isinstance(fault, InvalidInput):
        plan.fault(wanted.at("headers", str(fault.value)).masked(), str(fault))
    elif field == "url":  # it may carry a password or a token
        plan.fault(wanted.at("url").masked(), str(fault))
    else:
        plan.fault(wanted.at(field), str(fault))


def _without(config: EndpointConfig, key: str, value: object) -> EndpointConfig:
    """The configuration with what was wrong put right, to see what else is."""
    if key == "headers":
        headers = config.action.headers
        left = tuple(header for header in headers if header.name[:60] != value)
        return with_values(config, {"headers": left if len(left) < len(headers) else ()})
    return with_inputs(config, HARMLESS.get(key, {key: None}))


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


def _exported(config: EndpointConfig) -> dict[str, object]:
    """A configuration as a document writes it; defaults are left out, and secrets are references."""
    entry: dict[str, object] = {}
    for field in KEYS:
        value = config_value(config, field)
        if field.is_required or value != field.default:
            entry[field.key] = _written(field, value)
    path, mark, _ = config.action.url.partition("?")
    entry["url"] = escaped(path) + (mark and f"?{STORED}")
    if config.action.headers:
        entry["headers"] = exported_headers(config.action.headers)
    return entry


def _written(field: ConfigField, value: object) -> object:
    if value is None or isinstance(value, bool):
        return value
    if field.kind is FieldKind.DURATION and isinstance(value, int):
        return format_duration(value)
    if isinstance(value, tuple):
        return list(value)
    return value if isinstance(value, int) else str(value)

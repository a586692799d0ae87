"""The section `endpoints`."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import timedelta

from msgspec.structs import replace

from mainspring.documents.entries import DocumentEntry, EndpointEntry, written
from mainspring.documents.faults import SourcePlace
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
from mainspring.domain.connection import attach, connection_name, rebased_url, relative_url
from mainspring.domain.definition import config_of
from mainspring.domain.endpoint import (
    CONFIG_FIELDS,
    SCHEDULES,
    Endpoint,
    EndpointConfig,
    Job,
    JobStatus,
    config_value,
    fields_of,
    new_config,
    with_inputs,
)
from mainspring.domain.errors import Conflict, InvalidInput, QuotaExceeded
from mainspring.domain.kinds.command import CommandRefused
from mainspring.domain.kinds.http import query_of, url_of, with_query
from mainspring.domain.kinds.registry import KIND_FIELD, KINDS, PAIRS, kind_of
from mainspring.domain.kinds.templated import marked
from mainspring.domain.run import Header
from mainspring.domain.target import HIDDEN_QUERY, split_query
from mainspring.operations.connections import connected_endpoints, rebase_act
from mainspring.operations.context import Desk
from mainspring.operations.documents import archive_act, edit_act, live_endpoints, plan_endpoint
from mainspring.operations.endpoints import checked_config, is_moved, sealed_query

TURN_EVERY = 20  # so many take some 20 ms; a process that serves and schedules has other things to do too
NEW_QUERY = "(another query string)"
FAULTS_MAX = 20  # of one endpoint; more than it has fields
# A valid value, to continue with after an error, so that the next one is found too.
HARMLESS_URL = "https://example.com/"
HARMLESS_SCHEDULE: dict[str, object] = {"every": 60_000, "min_interval": None, "max_interval": None}
HARMLESS: dict[str, dict[str, object]] = {
    "name": {"name": "x"},
    "connection": {"connection": None, "url": HARMLESS_URL},
    "cron": HARMLESS_SCHEDULE,
    "every": HARMLESS_SCHEDULE,
}
APART = {"name", *PAIRS}  # an entry writes these in its own form
KEYS = tuple(field for field in CONFIG_FIELDS if field.key not in APART)


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
        await _move_others(plan)

    async def prune(self, plan: DocumentPlan, wanted: Sequence[WantedEntry]) -> None:
        names = {each.name for each in wanted}
        for endpoint in plan.endpoints:
            if endpoint.name not in names and endpoint.id not in plan.acts and plan.is_pruned(endpoint.managed_by):
                plan.acts[endpoint.id] = archive_act(plan.desk, endpoint)
                plan.freed.append(endpoint.id)
                del plan.job_of[endpoint.id], plan.name_of[endpoint.id]
                plan.connection_of.pop(endpoint.id, None)
                plan.calendars_of.pop(endpoint.id, None)
                plan.steps.append(PlanStep(ARCHIVE, "endpoint", endpoint.name))
        _check_count(plan, wanted)

    async def export(self, desk: Desk) -> list[ExportedEntry]:
        rules = await exported_rules(desk)
        there = await desk.stores.connections.connections(desk.tenant_id)
        bases = {each.name: each.config.base_url for each in there}
        found = []
        for endpoint in await live_endpoints(desk):
            entry = _exported(config_of(endpoint), bases)
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
    query = _query(plan, wanted, endpoint_id, url_of(config.action), old)
    job = plan.jobs.get(config.job) or add_job(plan, config.job, "", "")
    if job.status is JobStatus.ARCHIVED:
        message = f"job {job.name!r} is archived; list it under `jobs` to restore it, or choose another"
        plan.fault(wanted.at("job"), message)
        return
    kind = kind_of(config.action)
    stored: tuple[Header, ...] = ()
    moved_from = None
    if old is not None and kind_of(old.action) is kind:
        stored = kind.pairs_of(old.action)
        moved_from = kind.origin(old.action) if is_moved(old, config.action) else None
    headers = keep_or_seal(plan, wanted, endpoint_id, wishes, config.action, stored, moved_from)
    plan.job_of[endpoint_id], plan.name_of[endpoint_id] = job.id, config.name
    plan.connection_of[endpoint_id] = connection_name(config.action)
    plan.calendars_of.pop(endpoint_id, None)
    if config.except_calendar or config.only_calendar:
        plan.calendars_of[endpoint_id] = config.except_calendar, config.only_calendar
    if headers is None or query is None:
        return
    if old is None:
        _create(plan, wanted, endpoint_id, config, headers, host, job)
    else:
        _change(plan, wanted, old, replace(config, action=with_query(config.action, "")), headers, query, host, job)


def _query(plan: DocumentPlan, wanted: WantedEntry, endpoint_id: str, url: str, old: Endpoint | None) -> str | None:
    """The encrypted query string to store; None if an error was recorded."""
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
    kind = kind_of(config.action)
    bare = replace(config, action=kind.with_pairs(config.action, ()))
    days = plan.open_days(config)
    endpoint, event = plan_endpoint(plan.desk, endpoint_id, bare, host, job, wanted.source or "", days, plan.now)
    action = marked(kind.with_pairs(endpoint.action, headers), already=endpoint.action.templated)
    plan.new_endpoints.append(replace(endpoint, action=action))
    plan.events.append(event)
    shown = _exported(replace(config, action=kind.with_pairs(with_query(config.action, ""), headers)))
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
    before = replace(config_of(old), action=with_query(old.action, ""), job=jobs[old.job_id])
    fields = [
        FieldChange(field.key, written(field, config_value(before, field)), written(field, config_value(config, field)))
        for field in KEYS
        if config_value(before, field) != config_value(config, field)
    ]
    url = url_of(config.action)
    if url == url_of(before.action) and query != query_of(old.action):
        fields.append(FieldChange("url", url, f"{url} {NEW_QUERY}"))
    kind, kind_before = kind_of(config.action), kind_of(old.action)
    if kind_before is kind:
        fields += changed_headers(kind.pairs, kind.pairs_of(old.action), headers)
    renamed_from = old.name if config.name != old.name else None
    if source != old.managed_by:
        fields.append(FieldChange("managed_by", old.managed_by, source))
    if not fields and renamed_from is None:
        plan.unchanged += 1
        return
    days = plan.open_days(config)
    plan.acts[old.id] = edit_act(plan.desk, old, config, headers, query, host, job, source, days)
    if renamed_from is not None:
        plan.freed.append(old.id)
    plan.steps.append(PlanStep(CHANGE, "endpoint", config.name, tuple(fields), renamed_from))


def _checked(
    plan: DocumentPlan, wanted: WantedEntry, endpoint_id: str, wishes: list[WantedHeader]
) -> tuple[EndpointConfig, str] | None:
    """The checked configuration. Every error is recorded, not only the first."""
    entry = wanted.entry
    assert isinstance(entry, EndpointEntry)
    found, is_good = _configured(plan, wanted, wishes)
    if found is None:
        return None
    config = found
    if fault := _schedule_fault(wanted, config, entry.sent()):
        plan.fault(*fault)
        is_good = False
        config = with_inputs(config, HARMLESS_SCHEDULE)
    for _ in range(FAULTS_MAX):
        try:
            checked = checked_config(plan.desk, _attached(plan, config), plan.tenant, endpoint_id)
            plan.open_days(checked[0])  # raises if it names a calendar that does not exist
            return checked if is_good else None
        except (InvalidInput, QuotaExceeded) as fault:
            field = fault.field if isinstance(fault, InvalidInput) else "every"
            _note(plan, wanted, field, fault)
            if isinstance(fault, CommandRefused):
                plan.refused_commands.append((wanted.name, fault))
                return None
            is_good = False
            config = _without(config, field, getattr(fault, "value", None))
    return None


def _schedule_fault(
    wanted: WantedEntry, config: EndpointConfig, sent: Mapping[str, object]
) -> tuple[SourcePlace, str] | None:
    found = [key for key in SCHEDULES if sent.get(key) is not None]
    if not found:
        return wanted.place, f"{wanted.name!r} has no schedule; give it `every: 5m`, `cron: '0 3 * * *'` or `at`"
    if len(found) > 1:
        both = "both " if len(found) == 2 else ""
        names = " and ".join(f"`{key}`" for key in found)
        return wanted.at(found[-1]), f"{wanted.name!r} has {both}{names}; keep one of them"
    at: object = config.once_at
    if isinstance(at, timedelta):
        words = f"at of {wanted.name!r} is a delay, which would start again with every apply; give the time itself"
        return wanted.at("at"), words
    return None


def _attached(plan: DocumentPlan, config: EndpointConfig) -> EndpointConfig:
    """The configuration with a complete URL, if it names a connection; it may be one of the same documents."""
    found = plan.connection(connection_name(config.action))
    return config if found is None else attach(config, found, plan.desk.allow_ports)


async def _move_others(plan: DocumentPlan) -> None:
    """Endpoints that no document describes, and waiting calls, also move with the base URL of their connection."""
    for before in plan.rebased.values():
        after = plan.connections[before.name]
        for endpoint in await connected_endpoints(plan.desk, before.name):
            if endpoint.id in plan.acts or plan.connection_of.get(endpoint.id, before.name) != before.name:
                continue  # described
            try:
                plan.acts[endpoint.id] = rebase_act(plan.desk, endpoint, before, after)
            except InvalidInput as fault:
                raise Conflict(str(fault), kind="connection", name=before.name) from None
            url = rebased_url(url_of(endpoint.action), before.config.base_url, after.config.base_url)
            change = FieldChange("url", url_of(endpoint.action), url)
            plan.steps.append(PlanStep(CHANGE, "call" if endpoint.call_key else "endpoint", endpoint.name, (change,)))


def _configured(
    plan: DocumentPlan, wanted: WantedEntry, wishes: list[WantedHeader]
) -> tuple[EndpointConfig | None, bool]:
    """The values of an entry before they are checked, and whether the entry is free of errors; errors are recorded."""
    entry = wanted.entry
    assert isinstance(entry, EndpointEntry)
    inputs: dict[str, object] = dict.fromkeys(SCHEDULES) | entry.sent()
    is_good = True
    if entry.url is not None:
        inputs["url"], is_good = _url(plan, wanted, entry.url)
    pairs = tuple(Header(wish.name, wish.value, wish.secret) for wish in wishes if wish.value is not None)
    own = {kind.pairs for kind in KINDS if kind.name == entry.kind_name}
    for key in PAIRS:
        if getattr(entry, key):
            inputs[key] = pairs if key in own else getattr(entry, key)
    for _ in range(FAULTS_MAX):
        try:
            return new_config(wanted.name, inputs), is_good
        except InvalidInput as fault:
            if inputs.get(fault.field) is None:
                plan.fault(wanted.place, str(fault))
            else:
                _note(plan, wanted, fault.field, fault)
            is_good = False
            if fault.field == "url":
                inputs |= HARMLESS["connection"]
            elif inputs.pop(fault.field, None) is None or fault.field == KIND_FIELD.key:
                return None, False
    return None, False


def _url(plan: DocumentPlan, wanted: WantedEntry, given: str) -> tuple[str, bool]:
    """The URL with resolved references, and whether it is valid; otherwise an error was recorded."""
    path, mark, query = split_query(given)
    try:
        if has_reference(path):
            raise ValueError("the part of a url before the `?` is shown; put the reference after it")
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
        plan.fault(wanted.at(*field.split(".")), str(fault))


def _without(config: EndpointConfig, key: str, value: object) -> EndpointConfig:
    """The configuration with an invalid value replaced, to find further errors."""
    if key == "url":
        return with_inputs(config, HARMLESS["connection"])
    kind = kind_of(config.action)
    if key == kind.pairs:
        pairs = kind.pairs_of(config.action)
        left = tuple(pair for pair in pairs if pair.name[:60] != value)
        return replace(config, action=kind.with_pairs(config.action, left if len(left) < len(pairs) else ()))
    return with_inputs(config, HARMLESS.get(key, {key.partition(".")[0]: None}))


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


def _exported(config: EndpointConfig, bases: Mapping[str, str] = {}) -> dict[str, object]:
    """A configuration as a document has it, without defaults. Secrets are references. `bases` are the base URLs of
    connections, which URLs are relative to.
    """
    entry: dict[str, object] = {}
    kind = kind_of(config.action)
    for field in fields_of(config):
        value = config_value(config, field)
        if field.key not in APART and (field.is_required or value != field.default):
            entry[field.key] = written(field, value)
    if "url" in entry:
        path, mark, _ = split_query(url_of(config.action))
        if (base := bases.get(connection_name(config.action))) is not None:
            path = relative_url(path, base)
        entry["url"] = escaped(path) + (mark and f"?{STORED}")
    if pairs := kind.pairs_of(config.action):
        entry[kind.pairs] = exported_headers(pairs)
    return entry

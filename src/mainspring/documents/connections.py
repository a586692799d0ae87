"""The section `connections`: base URLs with credentials, TLS and proxy settings that endpoints share."""

from collections.abc import Sequence

from msgspec.structs import replace

from mainspring.documents.entries import ConnectionEntry, DocumentEntry, written
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
from mainspring.documents.references import STORED, escaped, has_reference, resolved
from mainspring.domain.connection import (
    CONNECTION_FIELDS,
    MASK,
    SECRETS,
    Connection,
    ConnectionConfig,
    with_fields,
)
from mainspring.domain.errors import InvalidInput, QuotaExceeded
from mainspring.domain.event import EventType
from mainspring.domain.name import check_name
from mainspring.operations.connections import (
    changed_fields,
    check_room,
    connection_users,
    sealed_config,
    told,
)
from mainspring.operations.context import Desk

SECRET, NEW_SECRET = "(secret)", "(another secret)"
FAULTS_MAX = 20  # of one connection; more than it has fields
HARMLESS: dict[str, object] = {"base_url": "https://example.com/", "token_url": "https://example.com/token"}


class ConnectionSection:
    key = "connections"
    entry: type[DocumentEntry] = ConnectionEntry

    async def plan(self, plan: DocumentPlan, wanted: Sequence[WantedEntry]) -> None:
        for each in wanted:
            old = plan.connections.get(each.name)
            if old is not None and not plan.may_manage(each, "connection", old.managed_by):
                continue
            _plan_one(plan, each, old)
        if wanted and plan.new_connections:
            try:
                check_room(plan.desk, len(plan.connections))
            except QuotaExceeded as fault:
                plan.fault(wanted[-1].place, str(fault))

    async def prune(self, plan: DocumentPlan, wanted: Sequence[WantedEntry]) -> None:
        names = {each.name for each in wanted}
        for connection in list(plan.connections.values()):
            if connection.name in names or not plan.is_pruned(connection.managed_by):
                continue
            if connection.name in plan.connection_of.values() or await _has_other_users(plan, connection):
                plan.notes.append(
                    f"connection {connection.name!r} is kept although no document describes it, because it is in use"
                )
                continue
            plan.deleted_connections.append(connection.id)
            plan.events.append(told(plan.desk, EventType.CONNECTION_DELETED, plan.now, connection))
            plan.steps.append(PlanStep(DELETE, "connection", connection.name))

    async def export(self, desk: Desk) -> list[ExportedEntry]:
        return [
            ExportedEntry(each.managed_by, each.name, _exported(each.config))
            for each in await desk.stores.connections.connections(desk.tenant_id)
        ]


def _plan_one(plan: DocumentPlan, wanted: WantedEntry, old: Connection | None) -> None:
    try:
        check_name(wanted.name, field="name", kind="connection")
    except InvalidInput as fault:
        plan.fault(wanted.place, str(fault))
        return
    connection_id = plan.desk.ids.new("con", plan.now) if old is None else old.id
    config = _configured(plan, wanted, connection_id, old)
    if config is None:
        _stand_in(plan, wanted, connection_id, old)
    elif old is None:
        _create(plan, wanted, connection_id, config)
    else:
        _change(plan, wanted, old, config)


def _stand_in(plan: DocumentPlan, wanted: WantedEntry, connection_id: str, old: Connection | None) -> None:
    """A connection with an error is known, so that its users are not reported as well."""
    if old is None:
        assert isinstance(wanted.entry, ConnectionEntry)
        try:
            blank = sealed_config(plan.desk, connection_id, ConnectionConfig(wanted.entry.base_url), None)
        except InvalidInput:
            blank = ConnectionConfig("https://example.com/")
        made = Connection(connection_id, plan.desk.tenant_id, wanted.name, blank, 1, plan.now, plan.now)
        plan.connections[wanted.name] = made


def _configured(
    plan: DocumentPlan, wanted: WantedEntry, connection_id: str, old: Connection | None
) -> ConnectionConfig | None:
    """The configuration to store; None if errors were recorded, all of them and not only the first."""
    entry = wanted.entry
    assert isinstance(entry, ConnectionEntry)
    before = None if old is None else old.config
    is_good = True
    inputs: dict[str, object] = {"base_url": entry.base_url}
    for key, value in entry.sent().items():
        try:
            inputs[key] = _resolved(plan, key, value)
        except ValueError as fault:
            plan.fault(wanted.at(key).masked(), str(fault))
            is_good = False
    if not is_good:
        return None
    config = with_fields(ConnectionConfig(entry.base_url), inputs)
    for _ in range(FAULTS_MAX):
        try:
            sealed = sealed_config(plan.desk, connection_id, config, before)
            return sealed if is_good else None
        except InvalidInput as fault:
            place = wanted.at(fault.field) if fault.field in inputs else wanted.place
            plan.fault(place.masked() if fault.field in SECRETS else place, str(fault))
            is_good = False
            if fault.field not in HARMLESS or getattr(config, fault.field) == HARMLESS[fault.field]:
                return None
            config = replace(config, **{fault.field: HARMLESS[fault.field]})
    return None


def _resolved(plan: DocumentPlan, key: str, value: object) -> object:
    """The value with its references. A secret is always a reference, because many people can read documents."""
    if not isinstance(value, str) or (key in SECRETS and not value):
        return value
    if key in SECRETS and value == STORED:
        return MASK
    if key in SECRETS and not has_reference(value):
        raise ValueError(f"{key} in a document is a reference; write ${{env:NAME}} or ${{file:/path}}")
    return resolved(value, plan.options.resolve)


def _create(plan: DocumentPlan, wanted: WantedEntry, connection_id: str, config: ConnectionConfig) -> None:
    made = Connection(
        connection_id, plan.desk.tenant_id, wanted.name, config, 1, plan.now, plan.now, wanted.source or ""
    )
    plan.connections[made.name] = made
    plan.new_connections.append(made)
    plan.events.append(told(plan.desk, EventType.CONNECTION_CREATED, plan.now, made))
    fields = tuple(
        FieldChange(key, None, SECRET if key in SECRETS else each) for key, each in _exported(config).items()
    )
    plan.steps.append(PlanStep(CREATE, "connection", made.name, fields))


def _change(plan: DocumentPlan, wanted: WantedEntry, old: Connection, config: ConnectionConfig) -> None:
    source = old.managed_by if wanted.source is None else wanted.source
    names = changed_fields(old.config, config)
    if not names and source == old.managed_by:
        plan.unchanged += 1
        return
    if config.base_url != old.config.base_url:
        plan.rebased[old.name] = old
    before, after = _exported(old.config), _exported(config)
    fields = [_field_change(key, before.get(key), after.get(key)) for key in names]
    if source != old.managed_by:
        fields.append(FieldChange("managed_by", old.managed_by, source))
    new = replace(old, config=config, version=old.version + 1, updated_at=plan.now, managed_by=source)
    plan.connections[new.name] = new
    plan.changed_connections.append(new)
    plan.events.append(told(plan.desk, EventType.CONNECTION_UPDATED, plan.now, new, names))
    plan.steps.append(PlanStep(CHANGE, "connection", new.name, tuple(fields)))


def _field_change(key: str, before: object, after: object) -> FieldChange:
    if key not in SECRETS:
        return FieldChange(key, before, after)
    return FieldChange(key, SECRET if before else None, (NEW_SECRET if before else SECRET) if after else None)


async def _has_other_users(plan: DocumentPlan, connection: Connection) -> bool:
    deleted = set(plan.deleted_subscriptions)
    users = await connection_users(plan.desk, connection)
    return any(each.kind != "endpoint" and each.id not in deleted for each in users)


def _exported(config: ConnectionConfig) -> dict[str, object]:
    """A configuration as a document has it, without defaults. Secrets are references to the stored ones."""
    entry: dict[str, object] = {}
    for field in CONNECTION_FIELDS:
        value = getattr(config, field.name)
        if field.name in SECRETS:
            if value:
                entry[field.key] = STORED
        elif field.is_required or value != field.default:
            text = written(field, value)
            entry[field.key] = escaped(text) if isinstance(text, str) else text
    return entry

"""Operations on connections: named base URLs with credentials, TLS and proxy settings.

A secret is encrypted for its connection and its field, and is never shown again. Users name the connection, so an edit
changes what all of them send from the next call on. An edit of the base URL moves the endpoints that use it.
"""

from collections.abc import Callable, Sequence
from datetime import datetime

from msgspec.structs import replace

from mainspring.domain.connection import (
    CONNECTION_FIELDS,
    CONNECTIONS_MAX,
    MASK,
    SECRETS,
    Connection,
    ConnectionConfig,
    ConnectionUser,
    StoredToken,
    check_connection,
    full_url,
    named_twice,
    rebased_url,
    refuse_delete,
    secret_place,
)
from mainspring.domain.endpoint import Endpoint
from mainspring.domain.errors import Conflict, InvalidInput, Misconfigured, NotFound, QuotaExceeded
from mainspring.domain.event import Event, EventType
from mainspring.domain.name import as_stored, check_name
from mainspring.domain.run import HttpAction, Outcome, Request
from mainspring.domain.schedule import changes
from mainspring.domain.schedule.changes import Act, Change
from mainspring.domain.target import check_shown_url
from mainspring.operations.context import Desk
from mainspring.ports.connections import ConnectionStore
from mainspring.ports.documents import ChangedMeanwhile, Changeset
from mainspring.ports.endpoints import EndpointFilter
from mainspring.ports.outbound import Caller
from mainspring.workflow.model import Call

TEST_TIMEOUT_MS = 20_000
TEST_BODY_CAP = 4_000
PAGE = 1_000


async def add_connection(desk: Desk, name: str, config: ConnectionConfig) -> Connection:
    there = await desk.stores.connections.connections(desk.tenant_id)
    check_room(desk, len(there) + 1)
    now = await desk.stores.schedule.now()
    name = check_name(name, field="name", kind="connection")
    connection_id = desk.ids.new("con", now)
    made = Connection(
        connection_id, desk.tenant_id, name, sealed_config(desk, connection_id, config, None), 1, now, now
    )
    await desk.stores.connections.add_connection(made, told(desk, EventType.CONNECTION_CREATED, now, made))
    return made


async def find_connection(desk: Desk, name_or_id: str) -> Connection:
    found = await desk.stores.connections.connection(desk.tenant_id, as_stored(name_or_id))
    if found is None:
        there = await desk.stores.connections.connections(desk.tenant_id)
        raise NotFound("connection", name_or_id, tuple(each.name for each in there))
    return found


async def edit_connection(
    desk: Desk, name_or_id: str, edit: Callable[[ConnectionConfig], ConnectionConfig]
) -> Connection:
    """Changes the configuration by a function of the current one; secrets that stay are encrypted as before.

    Endpoints that use it move with the base URL, in the same transaction.
    """
    found = await find_connection(desk, name_or_id)
    config = sealed_config(desk, found.id, edit(found.config), found.config)
    if config == found.config:
        return found
    now = await desk.stores.schedule.now()
    edited = replace(found, config=config, version=found.version + 1, updated_at=now)
    event = told(desk, EventType.CONNECTION_UPDATED, now, edited, changed_fields(found.config, config))
    if config.base_url == found.config.base_url:
        if not await desk.stores.connections.put_connection(edited, event):
            raise _changed_meanwhile(found)
        return edited
    users = await connected_endpoints(desk, found.name)
    acts = {each.id: rebase_act(desk, each, found, edited) for each in users}
    changeset = Changeset(changed_connections=[edited], acts=acts, events=[event], actor=desk.actor)
    try:
        await desk.stores.configuration.apply(desk.tenant_id, changeset)
    except (ChangedMeanwhile, NotFound):
        raise _changed_meanwhile(found) from None
    return edited


async def delete_connection(desk: Desk, name_or_id: str) -> Connection:
    """Deletes a connection with its token. Raises Conflict, with the list of users, if it is in use."""
    found = await find_connection(desk, name_or_id)
    refuse_delete(found, await connection_users(desk, found))
    now = await desk.stores.schedule.now()
    event = told(desk, EventType.CONNECTION_DELETED, now, found)
    if not await desk.stores.connections.delete_connection(desk.tenant_id, found.id, event):
        raise NotFound("connection", name_or_id)
    return found


async def connection_users(desk: Desk, connection: Connection) -> list[ConnectionUser]:
    """What calls through a connection, by kind and name. For a workflow, its newest version counts."""
    newest = await desk.stores.flows.workflows.versions(desk.tenant_id, None)
    workflows = [
        ConnectionUser("workflow", each.workflow.name, each.workflow.name)
        for each in newest
        if any(isinstance(step, Call) and step.connection == connection.name for step in each.workflow.steps.values())
    ]
    return [*await desk.stores.connections.users(desk.tenant_id, connection.name), *workflows]


async def test_connection(desk: Desk, caller: Caller, name_or_id: str, path: str) -> tuple[str, Outcome]:
    """Calls the base URL, or a path relative to it, once. Returns the URL and the outcome; nothing is stored."""
    found = await find_connection(desk, name_or_id)
    url = full_url(path, found, desk.allow_ports) if path else found.config.base_url
    now = await desk.stores.schedule.now()
    action = HttpAction(url, timeout_ms=TEST_TIMEOUT_MS, body_cap=TEST_BODY_CAP, connection=found.name)
    request = Request(desk.tenant_id, found.id, desk.ids.new("msg", now), now, 1, action, wants_certificate=True)
    outcome = await caller.call(request)
    data = {"status": outcome.status, "status_code": outcome.status_code, "error_code": outcome.error_code}
    event = told(desk, EventType.CONNECTION_TESTED, now, found, (), **data)
    await desk.stores.runs.add_events([event])
    return url, outcome


def check_room(desk: Desk, count: int) -> None:
    if count > CONNECTIONS_MAX:
        raise QuotaExceeded(
            f"tenant {desk.tenant_id!r} would have {count} connections, more than {CONNECTIONS_MAX}; delete one",
            quota="connections",
            limit=CONNECTIONS_MAX,
        )


def sealed_config(
    desk: Desk, connection_id: str, given: ConnectionConfig, before: ConnectionConfig | None
) -> ConnectionConfig:
    """The checked configuration with its secrets encrypted; a mask keeps the stored secret."""
    wanted = replace(given, **{name: _kept(name, getattr(given, name), before) for name in SECRETS})
    checked = check_connection(wanted, before, desk.allow_ports, desk.proxies)
    for field in ("base_url", "token_url"):
        url = getattr(checked, field)
        if url and (why := desk.never_called(check_shown_url(url, desk.allow_ports).host)):
            raise InvalidInput(f"{field} {url[:100]!r} is never called: {why}; choose another target", field=field)
    _check_certificates(desk, connection_id, checked, before)
    sealed = {}
    for name in SECRETS:
        value = getattr(checked, name)
        if not value or (before is not None and value == getattr(before, name)):
            continue
        place = secret_place(desk.tenant_id, connection_id, name)
        stored = getattr(before, name) if before is not None else ""
        # The same text keeps its encryption, so that a document applied again changes nothing.
        sealed[name] = stored if stored and _opens_to(desk, stored, place, value) else desk.vault.seal(value, place)
    return replace(checked, **sealed)


def changed_fields(before: ConnectionConfig, after: ConnectionConfig) -> list[str]:
    return [field.key for field in CONNECTION_FIELDS if getattr(before, field.name) != getattr(after, field.name)]


async def connected_endpoints(desk: Desk, name: str) -> list[Endpoint]:
    users = await desk.stores.connections.users(desk.tenant_id, name)
    ids = [each.id for each in users if each.kind in ("endpoint", "call")]
    found: list[Endpoint] = []
    for start in range(0, len(ids), PAGE):
        page = EndpointFilter(ids=tuple(ids[start : start + PAGE]), limit=PAGE)
        found += await desk.stores.endpoints.endpoints(desk.tenant_id, page)
    return found


def rebase_act(desk: Desk, seen: Endpoint, before: Connection, after: Connection) -> Act:
    """Moves an endpoint with the base URL of its connection. Its own secrets stay with their origin."""
    action = seen.action
    assert isinstance(action, HttpAction)  # no other kind names a connection
    url = rebased_url(action.url, before.config.base_url, after.config.base_url)
    if before.origin != after.origin and (action.query or any(header.secret for header in action.headers)):
        raise InvalidInput(
            f"endpoint {seen.name!r} has its own secret headers or query string, given for {before.origin}; "
            "remove them from the endpoint, then change base_url and give them again",
            field="base_url",
        )
    host = check_shown_url(url, desk.allow_ports).host_key

    def act(old: Endpoint, at: datetime) -> Change:
        if old.version != seen.version:
            raise ChangedMeanwhile
        return changes.edit(
            old, replace(old, action=replace(old.action, url=url), host=host), at, desk.actor, desk.cron
        )

    return act


def told(
    desk: Desk,
    kind: EventType,
    now: datetime,
    connection: Connection,
    fields: Sequence[str] = (),
    **others: object,
) -> Event:
    """The names of changed fields, never values: every user who may read sees events."""
    data: dict[str, object] = {"connection": connection.id, "name": connection.name, **others}
    if fields:
        data["fields"] = list(fields)
    if connection.managed_by:
        data["managed_by"] = connection.managed_by
    return Event(kind, now, desk.tenant_id, actor=desk.actor, data=data)


def dry_run_of(desk: Desk) -> Desk:
    """A desk at which connections are checked as usual, and nothing is written."""
    stores = desk.stores
    dry = _DryRunConnections(stores.connections)
    configuration = _DryRunConfiguration()
    return replace(desk, stores=replace(stores, connections=dry, configuration=configuration))


class _DryRunConnections:
    """A ConnectionStore that reads from a real one and writes nothing."""

    def __init__(self, real: ConnectionStore) -> None:
        self._real = real
        self.connection, self.connections, self.users, self.token = (
            real.connection,
            real.connections,
            real.users,
            real.token,
        )

    async def add_connection(self, connection: Connection, event: Event) -> None:
        if any(each.name == connection.name for each in await self._real.connections(connection.tenant_id)):
            raise named_twice(connection)

    async def put_connection(self, connection: Connection, event: Event) -> bool:
        return True

    async def delete_connection(self, tenant_id: str, connection_id: str, event: Event) -> bool:
        return True

    async def put_token(self, token: StoredToken) -> None:
        return None


class _DryRunConfiguration:
    async def apply(self, tenant_id: str, changeset: Changeset) -> None:
        return None

    async def workflow_sources(self, tenant_id: str) -> dict[str, str]:
        return {}


def _kept(name: str, value: str, before: ConnectionConfig | None) -> str:
    if value != MASK:
        return value
    stored = getattr(before, name) if before is not None else ""
    if not stored:
        raise InvalidInput(f"{name} is {MASK}, which keeps a stored value, and none is stored; give it", field=name)
    return str(stored)


def _check_certificates(
    desk: Desk, connection_id: str, checked: ConnectionConfig, before: ConnectionConfig | None
) -> None:
    key = checked.client_key
    if key and before is not None and key == before.client_key:
        if checked.client_certificate == before.client_certificate and checked.ca == before.ca:
            return
        key = desk.vault.open(key, secret_place(desk.tenant_id, connection_id, "client_key"))
    desk.check_certificates(checked.ca, checked.client_certificate, key)


def _opens_to(desk: Desk, stored: str, place: str, value: str) -> bool:
    """Also False if no key decrypts it: then the same text is encrypted again."""
    try:
        return desk.vault.open(stored, place) == value
    except Misconfigured:
        return False


def _changed_meanwhile(connection: Connection) -> Conflict:
    return Conflict(
        f"connection {connection.name!r} was changed concurrently; read it again and retry",
        kind="connection",
        name=connection.name,
    )

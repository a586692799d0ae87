"""Operations on endpoints: one function per verb.

The interfaces parse and format; the rules are here and in the domain. Every function works within one tenant.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta

from msgspec.structs import replace

from mainspring.domain.access.sealing import pair_place, query_place
from mainspring.domain.connection import Connection, attach, connection_name
from mainspring.domain.definition import check_config, check_minimum, config_of, configured
from mainspring.domain.endpoint import Endpoint, EndpointConfig, Job, JobStatus, Tenant
from mainspring.domain.errors import (
    Conflict,
    InvalidInput,
    Misconfigured,
    NotFound,
    Outdated,
    QuotaExceeded,
    did_you_mean,
)
from mainspring.domain.event import Event, EventType
from mainspring.domain.instant import rfc3339
from mainspring.domain.kinds.command import CommandRefused
from mainspring.domain.kinds.http import check_header_count, query_of, url_of
from mainspring.domain.kinds.registry import HTTP, kind_of
from mainspring.domain.name import as_stored, shown
from mainspring.domain.run import Action, Header
from mainspring.domain.schedule import changes
from mainspring.domain.schedule.anchor import plan_first
from mainspring.domain.schedule.changes import Change
from mainspring.domain.schedule.hint import (
    INTERVAL_TTL_DEFAULT,
    ONE_SHOT_TTL_DEFAULT,
    make_interval_hint,
    make_one_shot_hint,
)
from mainspring.domain.target import HIDDEN_QUERY, origin_of, shown_url, split_query
from mainspring.domain.text import check_text
from mainspring.operations.calendars import days_of, look_again
from mainspring.operations.context import Desk
from mainspring.ports.endpoints import EndpointFilter

REASON_MAX = 1_000
NAMES_FOR_SUGGESTIONS = 1_000
EDIT_TRIES_MAX = 5
PAST_MAX = timedelta(minutes=1)  # explained by slow typing or another clock; an older time was mistyped


class _EditedMeanwhile(Exception):
    """Another request wrote the configuration between our read and our lock."""


async def add_endpoint(desk: Desk, config: EndpointConfig) -> Endpoint:
    """Creates an endpoint, and its job if that is new. The first run is planned; nothing is back-filled."""
    tenant = await tenant_of(desk)
    now = await desk.stores.schedule.now()
    endpoint_id = desk.ids.new("ep", now)
    complete = with_time(await attached(desk, config), now)
    async with audited_refusals(desk, config.name):
        checked, host = checked_config(desk, complete, tenant, endpoint_id)
    job = await job_named(desk, checked.job, now)
    days = await days_of(desk, checked)
    endpoint = replace(new_endpoint(desk, endpoint_id, checked, host, job, now), days=days)
    data = created_data(endpoint)
    event = Event(EventType.ENDPOINT_CREATED, now, desk.tenant_id, endpoint.id, "", desk.actor, data)

    def join(new: Endpoint, status: JobStatus, others: int) -> Endpoint:
        nonlocal endpoint
        _check_count(tenant, others)
        _check_open(job.name, status)
        endpoint = plan_first(replace(new, job_active=status is JobStatus.ACTIVE), now, desk.cron)
        return endpoint

    await desk.stores.endpoints.add_endpoint(endpoint, event, join)
    return await look_again(desk, endpoint)


async def draft_endpoint(desk: Desk, config: EndpointConfig) -> Endpoint:
    """The endpoint of a configuration, checked and encrypted, but neither stored nor in a stored job."""
    now = await desk.stores.schedule.now()
    endpoint_id = desk.ids.new("ep", now)
    tenant = await tenant_of(desk)
    complete = with_time(await attached(desk, config), now)
    async with audited_refusals(desk, config.name):
        checked, host = checked_config(desk, complete, tenant, endpoint_id)
    job = Job("", desk.tenant_id, checked.job, "", JobStatus.ACTIVE, now, now)
    endpoint = new_endpoint(desk, endpoint_id, checked, host, job, now)
    return plan_first(replace(endpoint, days=await days_of(desk, checked)), now, desk.cron)


async def find_endpoint(desk: Desk, name_or_id: str) -> Endpoint:
    endpoint = await desk.stores.endpoints.endpoint(desk.tenant_id, as_stored(name_or_id))
    if endpoint is None:
        raise await _no_endpoint(desk, name_or_id)
    return endpoint


async def _no_endpoint(desk: Desk, name: str) -> NotFound:
    """The nearest name, or the id of an archived endpoint of that name, which is only found by its id."""
    page = EndpointFilter(archived=True, after=(as_stored(name), ""))
    archived = await desk.stores.endpoints.endpoints(desk.tenant_id, page)
    if same := [each.id for each in archived if each.name == as_stored(name)]:
        return NotFound("endpoint", name, rule=f"an archived endpoint had this name; its id is {same[-1]}")
    near = await desk.stores.endpoints.endpoints(desk.tenant_id, EndpointFilter(limit=NAMES_FOR_SUGGESTIONS))
    return NotFound("endpoint", name, tuple(each.name for each in near))


async def edit_endpoint(
    desk: Desk,
    name_or_id: str,
    edit: Callable[[EndpointConfig], EndpointConfig],
    version: int | None = None,
    *,
    found: Endpoint | None = None,
) -> Change:
    """Changes the configuration by a function of the current one; unchanged secrets stay encrypted.

    Two concurrent edits of different fields both succeed: the second is applied again to what the first has written.
    With a `version`, the edit applies to that version or raises Outdated. `found` is the endpoint if it was just read.
    """
    for _ in range(EDIT_TRIES_MAX):
        found = found or await find_endpoint(desk, name_or_id)
        if version is not None and found.version != version:
            raise Outdated("endpoint", found.name)
        try:
            return await _edit_once(desk, found, edit)
        except _EditedMeanwhile:
            found = None
    raise Conflict(
        f"endpoint {name_or_id!r} is being edited concurrently; try again in a moment",
        kind="endpoint",
        name=name_or_id,
    )


async def _edit_once(desk: Desk, found: Endpoint, edit: Callable[[EndpointConfig], EndpointConfig]) -> Change:
    tenant = await tenant_of(desk)
    wanted = await attached(desk, edit(config_of(found)))
    if wanted.once_at != found.once_at:
        wanted = with_time(wanted, await desk.stores.schedule.now())
    kind = kind_of(wanted.action)
    stored = kind.pairs_of(found.action) if kind is kind_of(found.action) else ()
    given = kind.pairs_of(wanted.action)
    check_header_count(len(given))
    plain = replace(wanted, action=kind.with_pairs(wanted.action, tuple(pair for pair in given if pair not in stored)))
    async with audited_refusals(desk, found.name):
        checked, host = checked_config(desk, plain, tenant, found.id)
    _refuse_kept_secrets(found, checked.action, [pair for pair in given if pair in stored])
    query = sealed_query(desk, found.id, url_of(checked.action), found)
    job = None if checked.job == found.job else await job_named(desk, checked.job, await desk.stores.schedule.now())
    days = await days_of(desk, checked)
    new = iter(sealed(desk, found.id, checked.action))
    pairs = tuple(pair if pair in stored else next(new) for pair in given)

    def act(old: Endpoint, at: datetime) -> Change:
        if old.version != found.version:
            raise _EditedMeanwhile
        config = checked if job is not None else replace(checked, job=old.job)  # it may be renamed by now
        edited = replace(moved(configured(old, config, pairs, query), host, job), days=days)
        return changes.edit(old, edited, at, desk.actor, desk.cron)

    change = await _change(desk, found, act)
    return replace(change, endpoint=await look_again(desk, change.endpoint))


def moved(endpoint: Endpoint, host: str, job: Job | None) -> Endpoint:
    """The endpoint with its host and its job; None: in its present job."""
    if job is None:
        return replace(endpoint, host=host)
    return replace(endpoint, host=host, job_id=job.id, job=job.name, job_active=job.status is JobStatus.ACTIVE)


async def put_interval_hint(
    desk: Desk, name_or_id: str, interval_ms: int, ttl: timedelta = INTERVAL_TTL_DEFAULT, reason: str = ""
) -> Change:
    reason = check_text(reason, "reason", REASON_MAX)
    endpoint = await find_endpoint(desk, name_or_id)
    check_minimum(interval_ms, await tenant_of(desk))

    def act(each: Endpoint, now: datetime) -> Change:
        hint = make_interval_hint(now, interval_ms, ttl, reason, desk.actor)
        return changes.put_interval_hint(each, hint, now, desk.cron)

    return await _change(desk, endpoint, act)


async def put_one_shot_hint(
    desk: Desk,
    name_or_id: str,
    when: Callable[[datetime], datetime],
    ttl: timedelta = ONE_SHOT_TTL_DEFAULT,
    reason: str = "",
) -> Change:
    """`when` returns the time from the store's now, so that "in 30 seconds" uses the clock that counts."""
    reason = check_text(reason, "reason", REASON_MAX)

    def act(endpoint: Endpoint, now: datetime) -> Change:
        at = when(now)
        if at < now - PAST_MAX:
            raise InvalidInput(
                f"one-shot at {rfc3339(at)} is in the past, the current time is {rfc3339(now)}; give a "
                "later time; to run the endpoint now, request a run",
                field="at",
                value=rfc3339(at),
            )
        hint = make_one_shot_hint(now, at, ttl, reason, desk.actor)
        return changes.put_one_shot_hint(endpoint, hint, now, desk.cron)

    return await _change(desk, await find_endpoint(desk, name_or_id), act)


async def clear_hints(desk: Desk, name_or_id: str) -> Change:
    endpoint = await find_endpoint(desk, name_or_id)
    return await _change(desk, endpoint, lambda each, now: changes.clear_hints(each, now, desk.actor, desk.cron))


async def pause_endpoint(
    desk: Desk,
    name_or_id: str,
    until: Callable[[datetime], datetime | None],
    reason: str = "",
    *,
    advice_may_resume: bool = False,
) -> Change:
    """`until` returns the end from the store's now; None: until resumed.

    Only a person ends the pause, unless rules, workflows and the model may resume the endpoint.
    """
    reason = check_text(reason, "reason", REASON_MAX)

    def act(endpoint: Endpoint, now: datetime) -> Change:
        return changes.pause(
            endpoint, until(now), reason, now, desk.actor, desk.cron, advice_may_resume=advice_may_resume
        )

    return await _change(desk, await find_endpoint(desk, name_or_id), act)


async def resume_endpoint(desk: Desk, name_or_id: str) -> Change:
    endpoint = await find_endpoint(desk, name_or_id)
    return await _change(desk, endpoint, lambda each, now: changes.resume(each, now, desk.actor, desk.cron))


async def run_endpoint(desk: Desk, name_or_id: str) -> Change:
    endpoint = await find_endpoint(desk, name_or_id)
    return await _change(desk, endpoint, lambda each, now: changes.request_run(each, now, desk.actor, desk.cron))


async def reset_failures(desk: Desk, name_or_id: str) -> Change:
    endpoint = await find_endpoint(desk, name_or_id)
    return await _change(desk, endpoint, lambda each, now: changes.reset_failures(each, now, desk.actor, desk.cron))


async def archive_endpoint(desk: Desk, name_or_id: str) -> Change:
    endpoint = await find_endpoint(desk, name_or_id)
    return await _change(desk, endpoint, lambda each, now: changes.archive(each, now, desk.actor))


async def delete_endpoint(desk: Desk, name_or_id: str) -> Endpoint:
    endpoint = await find_endpoint(desk, name_or_id)
    now = await desk.stores.schedule.now()
    data: dict[str, object] = {"name": endpoint.name}
    event = Event(EventType.ENDPOINT_DELETED, now, desk.tenant_id, endpoint.id, "", desk.actor, data)
    if not await desk.stores.endpoints.delete_endpoint(desk.tenant_id, endpoint.id, event):
        raise NotFound("endpoint", name_or_id)
    return endpoint


def with_time(config: EndpointConfig, now: datetime) -> EndpointConfig:
    """The configuration with the time of its single run: counted from the store's now, and not in the past."""
    at: object = config.once_at
    if at is None:
        return config
    if isinstance(at, timedelta):
        return replace(config, once_at=now + at)
    assert isinstance(at, datetime)
    if at < now - PAST_MAX:
        raise InvalidInput(
            f"at {rfc3339(at)} is in the past, the current time is {rfc3339(now)}; give a later time; to run the "
            "endpoint now, request a run",
            field="at",
            value=rfc3339(at),
        )
    return replace(config, once_at=max(at, now))


def checked_config(desk: Desk, config: EndpointConfig, tenant: Tenant, endpoint_id: str) -> tuple[EndpointConfig, str]:
    checked, host = check_config(config, tenant, endpoint_id, desk.allow_ports, desk.commands, desk.callback_site)
    if why := desk.never_called(host.rpartition(":")[0]):
        url = shown_url(url_of(checked.action))
        field, value = ("url", url) if url else ("host", host.rpartition(":")[0])
        raise InvalidInput(
            f"{field} {value[:100]!r} is never called: {why}; choose another target", field=field, value=value
        )
    return checked, host


async def attached(desk: Desk, config: EndpointConfig) -> EndpointConfig:
    """The configuration with a complete URL, if it names a connection."""
    found = await connection_of(desk, connection_name(config.action))
    return config if found is None else attach(config, found, desk.allow_ports)


async def connection_of(desk: Desk, name: str) -> Connection | None:
    """The connection that something names, by name or id; None if it names none."""
    if not name:
        return None
    found = await desk.stores.connections.connection(desk.tenant_id, as_stored(name))
    if found is None:
        known = tuple(each.name for each in await desk.stores.connections.connections(desk.tenant_id))
        raise no_connection(name, known)
    return found


def no_connection(name: str, known: tuple[str, ...]) -> InvalidInput:
    return InvalidInput(
        f"connection '{shown(name)}' does not exist{did_you_mean(name, known)}; create it, or choose another",
        field="connection",
        value=shown(name),
    )


@asynccontextmanager
async def audited_refusals(desk: Desk, name: str) -> AsyncIterator[None]:
    """Records in the audit trail that the operator's list refused a command; the caller gets the refusal."""
    try:
        yield
    except CommandRefused as refused:
        await record_refused_command(desk, name, refused)
        raise


async def record_refused_command(desk: Desk, name: str, refused: CommandRefused) -> None:
    now = await desk.stores.schedule.now()
    data: dict[str, object] = {"name": name[:200], "program": refused.value, "reason": str(refused)}
    await desk.stores.runs.add_events(
        [Event(EventType.COMMAND_REFUSED, now, desk.tenant_id, actor=desk.actor, data=data)]
    )


def created_data(endpoint: Endpoint) -> dict[str, object]:
    """The data of the event of a new endpoint."""
    kind = kind_of(endpoint.action)
    if kind is HTTP:
        return {"name": endpoint.name, "url": url_of(endpoint.action)}
    return {"name": endpoint.name, "kind": kind.name, "target": kind.summary(endpoint.action)}


def is_moved(found: Endpoint, action: Action) -> bool:
    """Whether an action has another origin (scheme, host, port) than the endpoint's, or is of another kind."""
    kind = kind_of(found.action)
    return kind is not kind_of(action) or kind.origin(action) != kind.origin(found.action)


def _refuse_kept_secrets(found: Endpoint, action: Action, kept: Sequence[Header]) -> None:
    """A stored secret was given for one origin: it is never sent to another one chosen later."""
    names = ", ".join(sorted({repr(pair.name[:60]) for pair in kept if pair.secret}))
    if names and is_moved(found, action):
        kind = kind_of(action)
        raise InvalidInput(
            f"the {'url' if kind is HTTP else 'target'} has another origin than before, and the secret {kind.pairs} "
            f"{names} were given for {kind.origin(found.action)}; give their values again, or remove them",
            field=kind.pairs,
        )


async def _change(desk: Desk, endpoint: Endpoint, act: changes.Act) -> Change:
    changed = await desk.stores.endpoints.change_endpoints(desk.tenant_id, [endpoint.id], act)
    if not changed:
        raise NotFound("endpoint", endpoint.name)
    return changed[0]


async def tenant_of(desk: Desk) -> Tenant:
    tenant = await desk.stores.endpoints.tenant(desk.tenant_id)
    if tenant is None:
        raise NotFound("tenant", desk.tenant_id)
    return tenant


def _check_count(tenant: Tenant, there: int) -> None:
    most = tenant.endpoints_max
    if most is not None and there >= most:
        raise QuotaExceeded(
            f"tenant {tenant.id!r} has {there} endpoints, the maximum of its quota endpoints_max; archive "
            "one or raise the quota",
            quota="endpoints_max",
            limit=most,
        )


def _check_open(name: str, status: JobStatus) -> None:
    if status is JobStatus.ARCHIVED:
        raise Conflict(f"job {name!r} is archived; choose another job", kind="job", name=name)


async def job_named(desk: Desk, name: str, now: datetime) -> Job:
    """The job of that name; created if new, so that one endpoint does not need two commands."""
    for job in await desk.stores.endpoints.jobs(desk.tenant_id):
        if job.name == name:
            _check_open(name, job.status)
            return job
    job = Job(desk.ids.new("job", now), desk.tenant_id, name, "", JobStatus.ACTIVE, now, now)
    event = Event(EventType.JOB_CREATED, now, desk.tenant_id, actor=desk.actor, data={"name": name})
    await desk.stores.endpoints.add_job(job, event)
    return job


def sealed(desk: Desk, endpoint_id: str, action: Action) -> tuple[Header, ...]:
    """The named values of an action (headers), the secret ones encrypted."""
    return tuple(
        replace(pair, value=desk.vault.seal(pair.value, pair_place(desk.tenant_id, endpoint_id, action, pair.name)))
        if pair.secret
        else pair
        for pair in kind_of(action).pairs_of(action)
    )


def sealed_query(desk: Desk, endpoint_id: str, url: str, there: Endpoint | None) -> str:
    """The encrypted query string of a checked URL, or "" if it has none. `there` is the stored endpoint.

    The hidden form keeps the stored one, for the same origin only; an unchanged text keeps its encryption.
    """
    path, mark, query = split_query(url)
    if not mark:
        return ""
    place = query_place(desk.tenant_id, endpoint_id)
    stored = "" if there is None else query_of(there.action)
    stored_url = "" if there is None else url_of(there.action)
    if mark + query != HIDDEN_QUERY:
        return stored if stored and _opens_to(desk, stored, place, query) else desk.vault.seal(query, place)
    if "?" not in stored_url:
        raise InvalidInput(
            f"url {url[:100]!r} has a hidden query string, and none is stored; give the full URL", field="url"
        )
    if origin_of(path) != origin_of(stored_url):
        raise InvalidInput(
            "the url has another origin than before, and its hidden query string was given for "
            f"{origin_of(stored_url)}; give the query string again, or remove it",
            field="url",
        )
    return stored or desk.vault.seal(split_query(stored_url)[2], place)


def _opens_to(desk: Desk, stored: str, place: str, query: str) -> bool:
    """Also False if no key decrypts it: then the same text is encrypted again."""
    try:
        return desk.vault.open(stored, place) == query
    except Misconfigured:
        return False


def new_endpoint(desk: Desk, endpoint_id: str, config: EndpointConfig, host: str, job: Job, now: datetime) -> Endpoint:
    blank = Endpoint(
        config.name, config.action, id=endpoint_id, tenant_id=desk.tenant_id, created_at=now, updated_at=now,
        anchor_at=now,
    )  # fmt: skip
    query = sealed_query(desk, endpoint_id, url_of(config.action), None)
    return moved(configured(blank, config, sealed(desk, endpoint_id, config.action), query), host, job)

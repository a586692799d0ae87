"""Operations on alerts: notify people when something fails, recovers, is late or exceeds a quota.

A destination may hold a token, so it is encrypted and never shown again: `shown` replaces it, also in an edit.
"""

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from mainspring.domain.errors import InvalidInput, did_you_mean
from mainspring.domain.event import EventType
from mainspring.domain.name import as_stored, check_name, shown
from mainspring.domain.notify.delivery import hidden_parts, message_action
from mainspring.domain.notify.message import Message, message_payload, read_message
from mainspring.domain.notify.quiet_hours import format_span, parse_span
from mainspring.domain.notify.subscription import (
    ALERT_FIELDS,
    CHANNELS_MAX,
    MASK,
    Alert,
    AlertDraft,
    AlertKind,
    Destination,
    DestinationKind,
    DuringQuiet,
    Quiet,
    Subscription,
    SubscriptionKind,
    destination_place,
)
from mainspring.domain.run import Outcome, Request
from mainspring.domain.schedule.cron import check_timezone
from mainspring.domain.target import check_url
from mainspring.operations.context import Desk
from mainspring.operations.endpoints import connection_of, find_endpoint
from mainspring.operations.jobs import find_job
from mainspring.operations.subscriptions import (
    check_room,
    find_subscription,
    put_subscription,
    switched,
    told,
)
from mainspring.ports.notifications import Messenger
from mainspring.ports.outbound import Caller

CHECKED = ("failures", "cooldown", "during_quiet", "description")  # checked by their limits only
CONNECTION = "connection:"  # the beginning of a destination that is a path of a connection
Messengers = Mapping[DestinationKind, Messenger]


async def add_alert(desk: Desk, messengers: Messengers, draft: AlertDraft) -> Subscription:
    await check_room(desk, SubscriptionKind.ALERT)
    now = await desk.stores.schedule.now()
    alert_id = desk.ids.new("alr", now)
    name = check_name(draft.name, field="name", kind="alert")
    await _check_connections(desk, draft)
    config = alert_config(desk, messengers, alert_id, draft, (), await _subject(desk, draft))
    alert = Subscription(alert_id, desk.tenant_id, name, config, draft.enabled, 1, now, now, now)
    await desk.stores.subscriptions.add_subscription(alert, told(desk, EventType.ALERT_CREATED, now, alert))
    return alert


async def find_alert(desk: Desk, name_or_id: str) -> Subscription:
    return await find_subscription(desk, SubscriptionKind.ALERT, name_or_id)


async def edit_alert(
    desk: Desk, messengers: Messengers, name_or_id: str, edit: Callable[[AlertDraft], AlertDraft]
) -> Subscription:
    """Applies `edit`; a destination given in its shown form stays unchanged."""
    found = await find_alert(desk, name_or_id)
    wanted = edit(draft_of(found))
    await _check_connections(desk, wanted)
    now = await desk.stores.schedule.now()
    edited = replace(
        found,
        name=check_name(wanted.name, field="name", kind="alert"),
        config=alert_config(desk, messengers, found.id, wanted, _config(found).channels, await _subject(desk, wanted)),
    )
    edited = switched(edited, wanted.enabled, now)
    return await put_subscription(desk, edited, told(desk, EventType.ALERT_UPDATED, now, edited), now)


async def test_alert(
    desk: Desk, caller: Caller, messengers: Messengers, name_or_id: str
) -> list[tuple[Destination, Outcome]]:
    """Sends a test message to every destination now, ignoring quiet hours; returns the result of each."""
    found = await find_alert(desk, name_or_id)
    now = await desk.stores.schedule.now()
    text = f"This is a test of the alert {found.name}. Nothing happened."
    payload = message_payload(Message("alert.test", now, "a test", text, {"alert": found.name, "alert_id": found.id}))
    outcomes = []
    for channel in _config(found).channels:
        target = desk.vault.open(channel.target, destination_place(desk.tenant_id, found.id, channel.id))
        message_id = desk.ids.new("msg", now)
        if channel.kind is DestinationKind.WEBHOOK:
            tenant = await desk.stores.endpoints.tenant(desk.tenant_id)
            keys = tenant.signing_keys if tenant else ()
            action = message_action(target, payload, channel.connection)
            request = Request(desk.tenant_id, found.id, message_id, now, 1, action, keys, hidden=hidden_parts(target))
            outcome = await caller.call(request)
        else:
            outcome = await messengers[channel.kind].send(target, *read_message(payload), message_id)
        outcomes.append((channel, outcome))
    return outcomes


def draft_of(alert: Subscription) -> AlertDraft:
    config = _config(alert)
    quiet = config.quiet
    return AlertDraft(
        alert.name,
        tuple(channel.shown for channel in config.channels),
        config.kinds,
        config.failures,
        config.endpoint_id,
        config.job_id,
        config.cooldown_ms,
        format_span(quiet) if quiet else "",
        quiet.timezone if quiet else "UTC",
        quiet.instead if quiet else DuringQuiet.DIGEST,
        config.description,
        alert.enabled,
    )


async def _subject(desk: Desk, draft: AlertDraft) -> tuple[str, str]:
    """The ids of the endpoint and the job that the alert is about."""
    _check_subject(draft)
    return (
        (await find_endpoint(desk, draft.endpoint)).id if draft.endpoint else "",
        (await find_job(desk, draft.job)).id if draft.job else "",
    )


def _check_subject(draft: AlertDraft) -> None:
    if draft.endpoint and draft.job:
        raise InvalidInput(
            "both endpoint and job were given; an alert is about one of them, or about all: give one or none",
            field="endpoint",
        )


def alert_config(
    desk: Desk,
    messengers: Messengers,
    alert_id: str,
    draft: AlertDraft,
    there: tuple[Destination, ...],
    subject: tuple[str, str],
) -> Alert:
    """The alert of a draft, checked and encrypted; `subject` has the ids of its endpoint and its job."""
    _check_subject(draft)
    checked = {field.name: field.checked(getattr(draft, field.name)) for field in ALERT_FIELDS if field.key in CHECKED}
    return Alert(
        kinds=_kinds(draft.kinds),
        channels=_channels(desk, messengers, alert_id, draft.to, there),
        failures=checked["failures"],
        endpoint_id=subject[0],
        job_id=subject[1],
        cooldown_ms=checked["cooldown_ms"],
        quiet=_quiet(draft),
        description=checked["description"],
    )


def _kinds(wanted: tuple[str, ...]) -> tuple[AlertKind, ...]:
    known = tuple(kind.value for kind in AlertKind)
    for kind in wanted:
        if kind not in known:
            near = did_you_mean(kind, known) or f"; choose one of {', '.join(known)}"
            raise InvalidInput(f"unknown alert event '{shown(kind)}'{near}", field="kinds", value=shown(kind))
    if not wanted:
        raise InvalidInput(f"the alert has no events; name at least one of {', '.join(known)}", field="kinds")
    return tuple(dict.fromkeys(AlertKind(kind) for kind in wanted))


def _quiet(draft: AlertDraft) -> Quiet | None:
    check_timezone(draft.timezone)
    if not draft.quiet:
        return None
    return Quiet(*parse_span(draft.quiet), draft.timezone, DuringQuiet(draft.during_quiet))


def _channels(
    desk: Desk, messengers: Messengers, alert_id: str, wanted: tuple[str, ...], there: tuple[Destination, ...]
) -> tuple[Destination, ...]:
    if not 1 <= len(wanted) <= CHANNELS_MAX:
        raise InvalidInput(
            f"{len(wanted)} destinations were given; an alert has 1 to {CHANNELS_MAX}: give email addresses "
            "or URLs as `to`",
            field="to",
        )
    left, channels = list(there), []
    used = {channel.id for channel in there}
    for text in wanted:
        kept = next((channel for channel in left if text in (channel.shown, channel.id)), None)
        if kept is not None:
            left.remove(kept)
            channels.append(kept)
            continue
        channel_id = next(name for name in (f"c{count}" for count in range(1, 1_000)) if name not in used)
        used.add(channel_id)
        kind, target, shown_as = read_way(desk, messengers, text.strip())
        sealed = desk.vault.seal(target, destination_place(desk.tenant_id, alert_id, channel_id))
        connection = named_connection(text.strip())[0] if kind is DestinationKind.WEBHOOK else ""
        channels.append(Destination(channel_id, kind, sealed, shown_as, connection))
    return tuple(channels)


def read_way(desk: Desk, messengers: Messengers, text: str) -> tuple[DestinationKind, str, str]:
    """The kind of a destination, its target, and its shown form."""
    if MASK in text:
        raise InvalidInput(
            f"to '{shown(text)}' is the shown form of a destination that this alert does not have; give it in full",
            field="to",
        )
    name, path = named_connection(text)
    if name:
        check_url(f"https://connection.invalid{path}", desk.allow_ports)
        return DestinationKind.WEBHOOK, path, f"{CONNECTION}{name}" + (f"/{MASK}" if path != "/" else "")
    scheme, separator, _ = text.partition("://")
    if scheme.lower() in ("http", "https") and separator:
        target = check_url(text, desk.allow_ports)
        host = target.host_key.rpartition(":")[0]
        if why := desk.never_called(host):
            raise InvalidInput(f"to {target.origin!r} is never called: {why}; choose another", field="to")
        path = target.url.removeprefix(scheme.lower() + "://").partition("/")[2]
        return DestinationKind.WEBHOOK, target.url, target.origin + (f"/{MASK}" if path else "/")
    if separator:
        messengers[DestinationKind.APPRISE].check(text)
        return DestinationKind.APPRISE, text, f"{scheme}://{MASK}"
    address = text.removeprefix("mailto:")
    messengers[DestinationKind.MAIL].check(address)
    return DestinationKind.MAIL, address, address


def named_connection(text: str) -> tuple[str, str]:
    """The connection and the path of `connection:NAME/path`; "" for any other destination."""
    if not text.startswith(CONNECTION):
        return "", ""
    name, _, path = text.removeprefix(CONNECTION).partition("/")
    return as_stored(name), f"/{path}"


async def _check_connections(desk: Desk, draft: AlertDraft) -> None:
    for text in draft.to:
        try:
            await connection_of(desk, named_connection(text.strip())[0])
        except InvalidInput as fault:
            raise InvalidInput(str(fault), field="to", value=fault.value) from None


def _config(alert: Subscription) -> Alert:
    assert isinstance(alert.config, Alert)
    return alert.config

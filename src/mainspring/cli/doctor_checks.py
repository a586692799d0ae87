"""The part of `doctor` that checks how the installation is used: messages, users and keys, workflows."""

import socket
from datetime import datetime, timedelta
from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mainspring.cli.doctor import ERROR, OK, WARNING, Finding
from mainspring.domain.access.scope import Role
from mainspring.domain.calendar import is_running_out
from mainspring.domain.duration import format_duration
from mainspring.domain.history import span_width
from mainspring.domain.notify.subscription import Alert, DestinationKind, SubscriptionKind
from mainspring.ports.endpoints import EndpointFilter
from mainspring.ports.upkeep import Retention
from mainspring.views.sentences import relative, span_in_words

if TYPE_CHECKING:
    from mainspring.domain.notify.subscription import Subscription
    from mainspring.ports.stores import Stores
    from mainspring.ports.upkeep import OpenTransaction, Replication
    from mainspring.settings import Settings

EXPIRES_SOON = timedelta(days=14)
STUCK_AFTER = timedelta(minutes=30)  # longer than any effect with its retries takes
CONNECT_S = 3
OVERDUE_AFTER = timedelta(minutes=1)
STEP_SHOWN = timedelta(days=1)
SKEW_SHOWN = timedelta(minutes=15)  # a worker whose clock differs reports it every ten minutes
DEAD_ROWS_MAX = 10_000  # with 100,000, a query reads 18,000 blocks instead of 200
DEAD_ROWS_PER_ENDPOINT_MAX = 5  # autovacuum runs far earlier
OPEN_S_MAX = 60  # a younger transaction is not the cause
NAMED_MAX = 3
LOOKED_AT_MAX = 200


async def check_use(stores: "Stores", settings: "Settings") -> list[Finding]:
    now = await stores.schedule.now()
    subscriptions = await stores.subscriptions.subscriptions(settings.tenant, None)
    return [
        await _events(stores, settings),
        *await _dead_rows(stores),
        *await _partitions(stores, settings),
        *_mail(subscriptions, settings),
        *_webhooks(subscriptions),
        *await _deliveries(stores, now),
        *await _people(stores, settings),
        *await _keys(stores, settings, now),
        *await _workflows(stores, settings, now),
        *await _proposals(stores, settings),
        *await _calendars(stores, settings, now),
        _retention(settings),
    ]


def check_replication(found: "Replication") -> list[Finding]:
    """Which host is the primary, and whether a promotion of a standby would lose acknowledged results."""
    if not found.roles:
        return []
    shown = ", ".join(f"{host} {role}" for host, role in found.roles)
    if len(found.primaries) > 1:
        message = f"{len(found.primaries)} hosts accept writes: {shown}; processes may use different databases"
        return [Finding("servers", ERROR, message, "stop the old primary, rewind it, and start it as a standby")]
    if any(role == "unreachable" for _, role in found.roles):
        return [Finding("servers", WARNING, shown, "start the unreachable host, or remove it from the URL")]
    if found.synchronous:
        return [Finding("servers", OK, f"{shown}; commits wait for a standby")]
    standbys = f"{found.standbys} asynchronous standbys: a promotion loses the last results" if found.standbys else ""
    return [Finding("servers", OK, "; ".join(filter(None, (shown, standbys or "no standby"))))]


async def _events(stores: "Stores", settings: "Settings") -> Finding:
    """Whether readers of events wait for an open transaction."""
    lag = await stores.upkeep.event_lag()
    behind = timedelta(seconds=lag.seconds)
    if behind <= settings.late_after:
        return Finding("events", OK, "readers see every committed event")
    message = f"rules, alerts, webhooks and event streams are {span_in_words(behind)} behind"
    if not lag.writers:  # it ended between the two reads
        return Finding("events", WARNING, f"{message}, and nothing holds them back any more", "run doctor again")
    who, end = _transaction(lag.writers[0])
    return Finding("events", ERROR, f"{message}: {who} wrote events and has not committed", end)


async def _dead_rows(stores: "Stores") -> list[Finding]:
    """Whether queries for due endpoints scan many dead rows, and which transaction keeps them."""
    rows = await stores.upkeep.dead_rows()
    if rows.dead <= max(DEAD_ROWS_MAX, DEAD_ROWS_PER_ENDPOINT_MAX * rows.live):
        return []
    message = f"{rows.dead:,} dead rows for {rows.live:,} endpoints make queries for due endpoints slow"
    if rows.oldest is None or rows.oldest.open_s < OPEN_S_MAX:
        way_out = (
            "switch autovacuum on and run VACUUM schedule; if they stay, a superuser finds an open transaction of "
            "another database user in pg_stat_activity, or a replication slot in pg_replication_slots"
        )
        return [Finding("dead rows", WARNING, message, way_out)]
    who, end = _transaction(rows.oldest)
    return [Finding("dead rows", WARNING, f"{message}: {who} keeps them", end)]


async def _partitions(stores: "Stores", settings: "Settings") -> list[Finding]:
    """Whether there are partitions for the runs to come, and none is long past its retention."""
    facts = await stores.upkeep.facts()
    if facts.kind != "postgresql":
        return []
    now = await stores.schedule.now()
    width = span_width(settings.keep_runs)
    keep = Retention(now - settings.keep_runs - 2 * width, now, now - 2 * settings.keep_events, 1)
    findings = []
    room = await stores.upkeep.run_room()
    if room.until_at is not None and room.seconds < width.total_seconds():
        ahead = span_in_words(timedelta(seconds=room.seconds))
        message = f"there are partitions for the runs of the next {ahead} only"
        findings.append(
            Finding("partitions", WARNING, message, "start a scheduler; its janitor makes partitions ahead")
        )
    old = [each.name for each in await stores.upkeep.expired_partitions(keep)]
    if old:
        message = f"{len(old)} partitions are past their retention: {', '.join(old[:NAMED_MAX])}"
        way_out = "start a scheduler, whose janitor drops them; if it does not, end the transactions that read them"
        findings.append(Finding("partitions", WARNING, message, way_out))
    return findings


def _transaction(found: "OpenTransaction") -> tuple[str, str]:
    """Which transaction it is, and how to end it."""
    if found.pid is None:
        return (
            f"the prepared transaction {found.name!r}",
            f"end the transaction in the database: ROLLBACK PREPARED '{found.name}'",
        )
    since = f", {found.state} for {span_in_words(timedelta(seconds=found.open_s))}" if found.state else ""
    return (
        f"process {found.pid} ({found.name}{since})",
        f"end the transaction in the database: SELECT pg_terminate_backend({found.pid})",
    )


async def check_clock(stores: "Stores") -> list[Finding]:
    """Steps of the database clock in the last day, workers whose clock differs, and workflows stopped by a step."""
    from mainspring.cli.clock import span_text
    from mainspring.operations.partitions import clock_status

    status, now = await clock_status(stores), await stores.clock.now()
    findings = []
    if status.stopped:
        worst = max(status.stopped, key=lambda each: each.ahead)
        plural = "" if len(status.stopped) == 1 else "s"
        message = (
            f"{len(status.stopped)} workflow partition{plural} stopped until {relative(now, now + worst.ahead)}: "
            f"the ticks are {span_text(worst.ahead)} of the clock, because the clock was set back"
        )
        way_out = "check that the clock is right, then let them continue: mainspring clock repair"
        findings.append(Finding("clock steps", ERROR, message, way_out))
    steps = [each for each in status.reports if each.kind == "step" and now - each.at < STEP_SHOWN]
    if steps:
        message = (
            f"the database clock was set {len(steps)} time{'' if len(steps) == 1 else 's'} in the last day, last "
            f"{relative(now, steps[0].at)}: {span_text(steps[0].span)}; {steps[0].changed:,} runs were planned again"
        )
        way_out = "synchronise the machine by NTP, in small steps; details: mainspring clock show"
        findings.append(Finding("clock steps", WARNING, message, way_out))
    differs = {each.worker: each for each in reversed(status.reports) if each.kind == "skew"}
    if recent := [each for each in differs.values() if abs(now - each.at) < SKEW_SHOWN]:
        names = [f"{each.worker} {span_text(each.span)}" for each in recent]
        message = f"the clock of {_named('worker', names)} more than 30 s from the database clock"
        findings.append(Finding("clock steps", ERROR, message, "synchronise every machine by NTP"))
    return findings or [Finding("clock steps", OK, "the clock was not set in the last day")]


def _mail(subscriptions: list["Subscription"], settings: "Settings") -> list[Finding]:
    by_mail = [
        each.name
        for each in subscriptions
        if isinstance(each.config, Alert) and any(way.kind is DestinationKind.MAIL for way in each.config.channels)
    ]
    if not settings.smtp_url:
        if not by_mail:
            return [Finding("mail", OK, "no mail server is configured, and no alert uses email")]
        message = f"{_named('alert', by_mail)} to be sent by email, and no mail server is configured"
        return [
            Finding("mail", ERROR, message, "set MAINSPRING_SMTP_URL to smtp://host:port, and MAINSPRING_MAIL_FROM")
        ]
    server = urlsplit(settings.smtp_url)
    port = server.port or (465 if server.scheme == "smtps" else 25)
    where = f"{server.hostname}:{port}"
    try:
        socket.create_connection((server.hostname or "", port), CONNECT_S).close()
    except OSError as fault:
        way_out = "start it, or correct MAINSPRING_SMTP_URL; then `mainspring alert test NAME`"
        return [Finding("mail", ERROR, f"the mail server {where} does not respond: {fault.strerror or fault}", way_out)]
    return [Finding("mail", OK, f"the mail server {where} responds")]


def _webhooks(subscriptions: list["Subscription"]) -> list[Finding]:
    webhooks = [each for each in subscriptions if each.kind is SubscriptionKind.WEBHOOK]
    if given_up := [each.name for each in webhooks if each.disabled_reason]:
        way_out = "fix the receiver, test it with `mainspring webhook test NAME`, then `webhook edit NAME --enable`"
        message = f"{_named('webhook', given_up)} disabled, because deliveries failed for too long"
        return [Finding("webhooks", WARNING, message, way_out)]
    if failing := [each.name for each in webhooks if each.enabled and each.failing_since is not None]:
        way_out = "check the receiver's responses: mainspring webhook deliveries NAME"
        return [Finding("webhooks", WARNING, f"{_named('webhook', failing)} failing", way_out)]
    return [Finding("webhooks", OK, f"{len(webhooks)} configured, none failing")]


async def _deliveries(stores: "Stores", now: datetime) -> list[Finding]:
    """Waiting messages of all tenants: one notifier sends them all."""
    overdue = await stores.outbox.overdue(_ms(OVERDUE_AFTER), LOOKED_AT_MAX)
    if not overdue:
        return [Finding("deliveries", OK, "no webhook or alert message is overdue")]
    count, oldest_at = sum(each.count for each in overdue), min(each.oldest_at for each in overdue)
    message = (
        f"{count:,} message{'' if count == 1 else 's'} overdue, the oldest due {relative(now, oldest_at)}; "
        f"most of them, {overdue[0].count:,}, for {overdue[0].name!r}"
    )
    way_out = (
        "start a notifier if none is running (`mainspring serve` has one); else check the receiver's "
        "responses: mainspring webhook deliveries NAME"
    )
    return [Finding("deliveries", WARNING, message, way_out)]


async def _people(stores: "Stores", settings: "Settings") -> list[Finding]:
    if not await stores.accounts.users():
        return [Finding("accounts", OK, "no users yet; `mainspring user link` creates the link for the first owner")]
    owners = [
        each for each in await stores.accounts.members(settings.tenant) if each.role is Role.OWNER and not each.disabled
    ]
    if not owners:
        message = f"tenant {settings.tenant!r} has no owner who can log in"
        way_out = "create one: mainspring member add EMAIL --role owner"
        return [Finding("accounts", WARNING, message, way_out)]
    return [Finding("accounts", OK, f"{len(owners)} owner{'' if len(owners) == 1 else 's'} of {settings.tenant!r}")]


async def _keys(stores: "Stores", settings: "Settings", now: datetime) -> list[Finding]:
    live = [each for each in await stores.credentials.api_keys(settings.tenant) if each.is_live(now)]
    ending = sorted((each for each in live if each.expires_at - now < EXPIRES_SOON), key=lambda each: each.expires_at)
    if not ending:
        return [Finding("API keys", OK, f"{len(live)} active, none expires within {EXPIRES_SOON.days} days")]
    first = relative(now, ending[0].expires_at)
    message = f"{_named('key', [each.name for each in ending])} about to expire, the first {first}"
    return [
        Finding("API keys", WARNING, message, "create new ones with `mainspring apikey create`, and distribute them")
    ]


async def _workflows(stores: "Stores", settings: "Settings", now: datetime) -> list[Finding]:
    from mainspring.ports.workflows import ExecutionFilter
    from mainspring.workflow.model import Status

    if overdue := await _overdue(stores):
        return [overdue]
    store = stores.flows.workflows
    failed = await store.executions(settings.tenant, ExecutionFilter(status=Status.FAILED, limit=LOOKED_AT_MAX))
    active = await store.executions(settings.tenant, ExecutionFilter(status=Status.ACTIVE, limit=LOOKED_AT_MAX))
    stuck = [each.id for each in active if now - each.moved_at > STUCK_AFTER]
    if stuck:
        message = f"{_named('execution', stuck)} active, but without progress for {format_duration(_ms(STUCK_AFTER))}"
        way_out = (
            "start a scheduler if none is running: its ticker advances them; else inspect one: mainspring "
            "execution show ID"
        )
        return [Finding("workflows", WARNING, message, way_out)]
    if failed:
        message = f"{_named('execution', [each.id for each in failed])} failed, and waiting for a person"
        way_out = "see why: mainspring execution show ID; then `execution retry`, `skip` or `cancel`"
        return [Finding("workflows", WARNING, message, way_out)]
    return [Finding("workflows", OK, "no execution is stuck or waits for a person")]


async def _overdue(stores: "Stores") -> Finding | None:
    """Workflow work that waits for a writer, for its tick, or to be sent."""
    from mainspring.ports.workflow_health import OVERDUE_AFTER, read_workflow_health

    found = await read_workflow_health(stores.flows)
    if found.unwritten:
        numbers = ", ".join(map(str, found.unwritten))
        message = (
            f"no ticker writes partition {numbers}, in which executions wait for {span_in_words(found.lag)}; "
            f"{found.overdue} are overdue"
        )
        way_out = "start a scheduler, or let one own it: MAINSPRING_WORKFLOW_PARTITIONS_OWNED names those it may write"
        return Finding("workflows", ERROR, message, way_out)
    if found.overdue:
        message = f"{found.overdue} executions are overdue, the oldest by {span_in_words(found.lag)}"
        way_out = "see mainspring_tick_seconds; raise MAINSPRING_EXECUTIONS_PER_TICK, or use more partitions"
        return Finding("workflows", WARNING, message, way_out)
    if found.effect_age > OVERDUE_AFTER:
        message = f"the oldest effect has been waiting to be sent for {span_in_words(found.effect_age)}"
        way_out = "start a scheduler if none is running: its dispatcher sends them"
        return Finding("workflows", WARNING, message, way_out)
    return None


async def _proposals(stores: "Stores", settings: "Settings") -> list[Finding]:
    """Pending proposals of mode ask; nothing if there are none."""
    pending = await stores.proposals.count_pending(settings.tenant)
    if not pending:
        return []
    message = (
        f"{pending} proposal{' waits' if pending == 1 else 's wait'} for a decision; nothing is applied until then"
    )
    way_out = "see them: mainspring proposals list; then `proposals approve` or `reject`"
    return [Finding("proposals", WARNING, message, way_out)]


async def _calendars(stores: "Stores", settings: "Settings", now: datetime) -> list[Finding]:
    """Whether later years of holidays and events can be found, and endpoints have days left to run on."""
    calendars = await stores.calendars.calendars(settings.tenant)
    if not calendars:
        return []
    findings = []
    for extra, package, names in (
        ("holidays", "holidays", [each.name for each in calendars if each.config.holidays]),
        ("ics", "recurring_ical_events", [each.name for each in calendars if each.config.ics]),
    ):
        if names and find_spec(package) is None:
            message = f"{_named('calendar', names)} not extended to later years, because a package is missing"
            findings.append(Finding("calendars", WARNING, message, f"install mainspring[{extra}] where workers run"))
    ids = await stores.calendars.endpoints_with_days(settings.tenant, "", LOOKED_AT_MAX)
    endpoints = await stores.endpoints.endpoints(settings.tenant, EndpointFilter(ids=tuple(ids))) if ids else []
    if ending := [each.name for each in endpoints if is_running_out(each, now)]:
        message = f"{_named('endpoint', ending)} about to have no day left in the calendar of `only`, or has none"
        findings.append(Finding("calendars", WARNING, message, "add days to the calendar; `mainspring why` names it"))
    return findings or [Finding("calendars", OK, f"{len(calendars)}, used by {len(ids)} endpoints")]


def _retention(settings: "Settings") -> Finding:
    kept = {"runs": settings.keep_runs, "bodies": settings.keep_bodies, "events": settings.keep_events}
    said = ", ".join(f"{what} {format_duration(_ms(span))}" for what, span in kept.items())
    return Finding("retention", OK, f"retention: {said}, and {settings.keep_runs_per_endpoint:,} runs of an endpoint")


def _ms(span: timedelta) -> int:
    return span // timedelta(milliseconds=1)


def _named(kind: str, names: list[str]) -> str:
    """`2 alerts are`, with the first names."""
    more = f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else ""
    verb = "is" if len(names) == 1 else "are"
    plural = "" if len(names) == 1 else "s"
    return f"{len(names)} {kind}{plural} ({', '.join(names[:NAMED_MAX])}{more}) {verb}"

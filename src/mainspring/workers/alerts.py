"""The alerter, a part of the notifier: builds the messages of alerts that `domain/notify/alerting` decided."""

import asyncio
from collections.abc import Sequence
from datetime import datetime

import msgspec
from msgspec.structs import replace

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.event import Event, EventType, StoredEvent
from mainspring.domain.instant import to_us
from mainspring.domain.kinds.expiry import EXPIRING
from mainspring.domain.notify.alerting import (
    OF_ENDPOINTS,
    AlertState,
    Turn,
    endpoints_in_question,
    judge,
    judge_lateness,
    judge_put_off,
)
from mainspring.domain.notify.delivery import Delivery, DeliveryStatus
from mainspring.domain.notify.message import AlertFacts, Message, compose, message_payload, sum_up
from mainspring.domain.notify.quiet_hours import quiet_until
from mainspring.domain.notify.subscription import Alert, AlertKind, DuringQuiet, Subscription
from mainspring.domain.run import RunStatus
from mainspring.domain.schedule.cron import CRON
from mainspring.domain.schedule.hint import author_in_words
from mainspring.domain.schedule.maintenance import MaintenanceWindow, WindowSpan, occurrences
from mainspring.ports.notifications import Intake
from mainspring.ports.outbound import Ids
from mainspring.ports.records import RunFilter
from mainspring.ports.stores import Stores

LATE_MAX = 1_000
STREAK_MAX = 50  # number of runs searched for the start of a failure
TOLD_ONE_BY_ONE_MAX = 5  # per alert at once; more become one message


class AlertWriter:
    """`late_ms` is when an endpoint counts as late; `public_url` is used in links."""

    def __init__(self, stores: Stores, ids: Ids, late_ms: int, public_url: str) -> None:
        self._stores = stores
        self._ids = ids
        self._late_ms = late_ms
        self._public_url = public_url.rstrip("/")

    async def judge(self, events: Sequence[StoredEvent], alerts: Sequence[Subscription], now: datetime) -> Intake:
        states = await self._states()
        asked = await asyncio.to_thread(endpoints_in_question, events, alerts, states)
        found = [await self._stores.endpoints.endpoint(tenant_id, each) for tenant_id, each in sorted(asked)]
        jobs = {endpoint.id: endpoint.job_id for endpoint in found if endpoint is not None}
        since = min((stored.event.at for stored in events), default=now)
        maintenance = await self._maintenance(since, now)
        turns = await asyncio.to_thread(judge, events, alerts, states, jobs, now, maintenance)
        return await self._intake(turns, now)

    async def watch(self, alerts: Sequence[Subscription], now: datetime) -> Intake:
        states = await self._states()
        turns = await asyncio.to_thread(judge_put_off, alerts, states, now)
        kinds = {kind for alert in alerts if isinstance(alert.config, Alert) for kind in alert.config.kinds}
        if kinds & {AlertKind.LATE, AlertKind.RECOVERED}:
            late = await self._stores.outbox.late(self._late_ms, LATE_MAX)
            maintenance = await self._maintenance(now, now) if late else {}
            turns += await asyncio.to_thread(judge_lateness, late, alerts, states, now, maintenance)
        return await self._intake(turns, now)

    def merge(self, held: Sequence[Delivery], now: datetime) -> Delivery:
        """The messages held back for one destination, as one message; a single one is sent unchanged."""
        if len(held) == 1:
            return replace(held[0], status=DeliveryStatus.PENDING, next_attempt_at=now)
        message = sum_up([_message(each) for each in held], "during quiet hours", now)
        return replace(
            held[0],
            id=self._ids.new("msg", now),
            key=f"digest:{held[0].id}",
            type=message.type,
            payload=message_payload(message),
            status=DeliveryStatus.PENDING,
            next_attempt_at=now,
            created_at=now,
        )

    async def _states(self) -> dict[tuple[str, AlertKind, str], AlertState]:
        """Every state of every alert: as many as there are alerts times endpoints in trouble."""
        found = await self._stores.subscriptions.alert_states(None)
        return await asyncio.to_thread(lambda: {state.key: state for state in found})

    async def _maintenance(self, since: datetime, until: datetime) -> dict[str, list[WindowSpan]]:
        """The maintenance windows that were open at any time between two times, by tenant."""
        return await asyncio.to_thread(_open_by_tenant, await self._stores.maintenance.windows(None), since, until)

    async def _intake(self, turns: Sequence[Turn], now: datetime) -> Intake:
        """The last state of each subject, and the alerts on the way there."""
        states: dict[tuple[str, AlertKind, str], AlertState] = {}
        told: dict[str, list[tuple[Turn, Message]]] = {}
        for turn in turns:
            first = states.get(turn.state.key)
            states[turn.state.key] = turn.state if first is None else replace(turn.state, revision=first.revision)
            if turn.tells is not None:
                message = compose(turn, await self._facts(turn), now)
                told.setdefault(turn.alert.id, []).append((turn, message))
        deliveries: list[Delivery] = []
        events: list[Event] = []
        for pairs in told.values():
            await asyncio.sleep(0)  # an alert may report hundreds of endpoints at once
            deliveries += self._deliveries(pairs, now)
            events += [_fired(turn, message, now) for turn, message in pairs]
        return Intake(tuple(deliveries), tuple(states.values()), events=tuple(events))

    def _deliveries(self, pairs: Sequence[tuple[Turn, Message]], now: datetime) -> list[Delivery]:
        alert = pairs[0][0].alert
        messages = [(_key(turn, place), message) for place, (turn, message) in enumerate(pairs)]
        if len(messages) > TOLD_ONE_BY_ONE_MAX:
            messages = [(f"together:{messages[0][0]}", sum_up([each for _, each in messages], "at once", now))]
        config = alert.config
        assert isinstance(config, Alert)
        deliveries = []
        for key, message in messages:
            payload = message_payload(message)
            for channel in config.channels:
                new_id = self._ids.new("msg", now)
                made = pending(new_id, alert, channel.id, key, message.type, payload, message.at, now)
                deliveries.append(_hushed(made, config, now))
        return deliveries

    async def _facts(self, turn: Turn) -> AlertFacts:
        tenant_id, subject_id = turn.state.tenant_id, turn.state.subject_id
        match turn.state.trouble:
            case AlertKind.QUOTA | AlertKind.OVERDUE:
                tenant = await self._stores.endpoints.tenant(tenant_id)
                return AlertFacts(f"tenant {tenant.name if tenant else tenant_id}")
            case AlertKind.WEBHOOK_DISABLED:
                return AlertFacts(str(turn.data.get("name") or subject_id))
            case AlertKind.MODEL_FAILING:
                about = str(turn.data.get("endpoint") or "an endpoint")
                return AlertFacts(about, last_error=str(turn.data.get("note") or ""))
            case AlertKind.STOPPED:
                link = self._link(tenant_id, f"executions/{subject_id}")
                name = f"{turn.data.get('workflow', 'a workflow')} ({subject_id})"
                return AlertFacts(name, last_error=str(turn.data.get("error") or ""), link=link)
            case _:
                endpoint = await self._stores.endpoints.endpoint(tenant_id, subject_id)
                return AlertFacts(subject_id) if endpoint is None else await self._endpoint_facts(turn, endpoint)

    async def _endpoint_facts(self, turn: Turn, endpoint: Endpoint) -> AlertFacts:
        since, error, failures = None, endpoint.parked_reason, 0
        if turn.state.trouble is AlertKind.FAILING:
            since, last_error, failures = await self._streak(turn, endpoint)
            error = error or last_error
            if turn.tells is AlertKind.FAILING:
                failures = max(failures, endpoint.failure_count)
            elif since is not None:
                since = min(since, turn.state.since)  # the failure started before the searched runs
        link = self._link(endpoint.tenant_id, f"endpoints/{endpoint.id}")
        by = author_in_words(endpoint.pause_author) or "advice"
        if turn.state.trouble is AlertKind.ADVICE_PAUSED:
            error = endpoint.pause_reason
        elif turn.state.trouble is AlertKind.EXPIRING:
            error = await self._warning(endpoint)
        elif turn.state.trouble is AlertKind.PROPOSAL_WAITING:
            error, by = str(turn.data.get("reason") or ""), author_in_words(str(turn.data.get("author") or "advice"))
        return AlertFacts(endpoint.name, since, failures, error, endpoint.next_run_at, link, by, endpoint.runbook)

    async def _warning(self, endpoint: Endpoint) -> str:
        """What the newest run that warned says about the certificate."""
        for run in await self._stores.runs.runs(endpoint.tenant_id, RunFilter(endpoint.id, limit=STREAK_MAX)):
            if run.error_code == EXPIRING:
                return run.error or ""
        return "its certificate expires soon"

    def _link(self, tenant_id: str, path: str) -> str:
        """The URL of a page, with the tenant in it, because the reader may have another tenant open."""
        return f"{self._public_url}/t/{tenant_id}/{path}" if self._public_url else ""

    async def _streak(self, turn: Turn, endpoint: Endpoint) -> tuple[datetime | None, str, int]:
        """Start of the failure, last error and runs; for a recovery, those before the run that ended it."""
        since, error, failures = None, "", 0
        is_over = turn.tells is AlertKind.RECOVERED
        for run in await self._stores.runs.runs(endpoint.tenant_id, RunFilter(endpoint.id, limit=STREAK_MAX)):
            if is_over:
                is_over = run.id != turn.run_id
            elif run.status is RunStatus.SUCCESS:
                break
            elif run.has_result:
                since, error, failures = run.started_at, error or run.error or "", failures + 1
        return since, error, failures


def _open_by_tenant(
    windows: Sequence[MaintenanceWindow], since: datetime, until: datetime
) -> dict[str, list[WindowSpan]]:
    found: dict[str, list[WindowSpan]] = {}
    for window in windows:
        if open_ := occurrences(window, since, until, CRON):
            found.setdefault(window.tenant_id, []).extend(open_)
    return found


def pending(
    delivery_id: str,
    subscription: Subscription,
    channel: str,
    key: str,
    kind: str,
    payload: str,
    happened_at: datetime,
    now: datetime,
) -> Delivery:
    """A delivery that is due now."""
    return Delivery(
        delivery_id, subscription.tenant_id, subscription.id, channel, key, kind, payload, DeliveryStatus.PENDING, 0,
        now, now, happened_at,
    )  # fmt: skip


def _hushed(delivery: Delivery, alert: Alert, now: datetime) -> Delivery:
    until = quiet_until(alert.quiet, now)
    if alert.quiet is None or until is None:
        return delivery
    if alert.quiet.instead is DuringQuiet.DROP:
        return replace(delivery, status=DeliveryStatus.DROPPED)
    return replace(delivery, status=DeliveryStatus.HELD, next_attempt_at=until)


def _fired(turn: Turn, message: Message, now: datetime) -> Event:
    state = turn.state
    endpoint_id = state.subject_id if state.trouble in OF_ENDPOINTS else ""
    data = {name: value for name, value in message.data.items() if name not in ("link", "run_id")}
    return Event(EventType.ALERT_FIRED, now, state.tenant_id, endpoint_id, turn.run_id or "", "notifier", data)


def _key(turn: Turn, place: int) -> str:
    state = turn.state
    return f"{state.trouble}:{state.subject_id}:{turn.tells}:{state.revision}:{to_us(turn.at)}:{place}"


def _message(delivery: Delivery) -> Message:
    payload = msgspec.json.decode(delivery.payload)
    data = payload["data"]
    return Message(delivery.type, delivery.happened_at, data["title"], data["text"], data)

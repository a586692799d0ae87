"""The section `alerts`: who is notified when something fails or recovers."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from mainspring.documents.entries import AlertEntry, DocumentEntry
from mainspring.documents.faults import SourcePlace
from mainspring.documents.plan import DocumentPlan, ExportedEntry, WantedEntry
from mainspring.documents.references import has_reference, resolved
from mainspring.documents.subscriptions import (
    first_good,
    is_wanted,
    plan_subscriptions,
    prune_subscriptions,
    written_settings,
)
from mainspring.domain.config_field import values_of
from mainspring.domain.errors import InvalidInput, did_you_mean
from mainspring.domain.notify.subscription import (
    ALERT_FIELDS,
    Alert,
    AlertDraft,
    Subscription,
    SubscriptionKind,
    destination_place,
)
from mainspring.operations.alerts import alert_config, draft_of, named_connection, read_way
from mainspring.operations.context import Desk
from mainspring.operations.documents import live_endpoints
from mainspring.operations.subscriptions import list_subscriptions

SOMEWHERE = ("ops@example.com",)  # a harmless destination, to find the faults after one in `to`
HARMLESS: dict[str, object] = {field.key: field.default for field in ALERT_FIELDS if not field.is_required} | {
    "to": SOMEWHERE
}


class AlertSection:
    key = "alerts"
    entry: type[DocumentEntry] = AlertEntry

    async def plan(self, plan: DocumentPlan, wanted: Sequence[WantedEntry]) -> None:
        endpoints = {endpoint.id: endpoint.name for endpoint in plan.endpoints} | plan.name_of
        jobs = {job.id: job.name for job in plan.jobs.values()}

        def written(alert: Subscription) -> dict[str, object]:
            return _written(alert, endpoints, jobs)

        await plan_subscriptions(plan, SubscriptionKind.ALERT, wanted, _configured, written)

    async def prune(self, plan: DocumentPlan, wanted: Sequence[WantedEntry]) -> None:
        await prune_subscriptions(plan, SubscriptionKind.ALERT, wanted)

    async def export(self, desk: Desk) -> list[ExportedEntry]:
        endpoints = {endpoint.id: endpoint.name for endpoint in await live_endpoints(desk)}
        jobs = {job.id: job.name for job in await desk.stores.endpoints.jobs(desk.tenant_id)}
        return [
            ExportedEntry(alert.managed_by, alert.name, _written(alert, endpoints, jobs))
            for alert in await list_subscriptions(desk, SubscriptionKind.ALERT)
        ]


def _configured(plan: DocumentPlan, wanted: WantedEntry, alert_id: str, old: Subscription | None) -> Alert | None:
    entry = wanted.entry
    assert isinstance(entry, AlertEntry)
    there = old.config if old is not None and isinstance(old.config, Alert) else None
    ways = _ways(plan, wanted, alert_id, there)
    given = values_of(ALERT_FIELDS, entry.sent() | {"to": ways or SOMEWHERE})
    draft = replace(AlertDraft(wanted.name, ()), **given)
    subject = _subject(plan, wanted, draft, there)
    channels = there.channels if there is not None else ()

    def make(mended: Mapping[str, object]) -> Alert:
        return alert_config(
            plan.desk,
            plan.options.messengers,
            alert_id,
            replace(draft, **values_of(ALERT_FIELDS, mended)),
            channels,
            subject or ("", ""),
        )

    def place(field: str) -> SourcePlace:
        return wanted.at(field)

    made = first_good(plan, make, HARMLESS, place)
    assert made is None or isinstance(made, Alert)
    return made if ways is not None and subject is not None else None


def _ways(plan: DocumentPlan, wanted: WantedEntry, alert_id: str, there: Alert | None) -> tuple[str, ...] | None:
    """The destinations. A stored destination is named by its channel id, so that it stays unchanged."""
    assert isinstance(wanted.entry, AlertEntry)
    sent = wanted.entry.sent()
    texts: Any = sent.get("to")
    if not texts:
        place = wanted.at("to") if "to" in sent else wanted.place
        plan.fault(place, f"{wanted.name!r} has no destination; give it `to:` with email addresses or URLs")
        return None
    stored = _targets(plan.desk, alert_id, there)
    ways: list[str] = []
    is_good = True
    for number, text in enumerate(texts):
        place = wanted.at("to", number)
        try:
            if there is not None and any(text == channel.shown for channel in there.channels):
                ways.append(text)
                continue
            way = resolved(text, plan.options.resolve)
            plan.connection(named_connection(way.strip())[0])
            target = read_way(plan.desk, plan.options.messengers, way.strip())[1]
            ways.append(stored.get(target, way))
        except (ValueError, InvalidInput) as fault:
            told = str(fault) if not has_reference(text) or isinstance(fault, ValueError) else _masked(text)
            plan.fault(place.masked() if "://" in text else place, told)
            is_good = False
    return tuple(ways) if is_good else None


def _masked(text: str) -> str:
    return f"the value of {text} is not an email address or an allowed URL; change it there"


def _targets(desk: Desk, alert_id: str, there: Alert | None) -> dict[str, str]:
    """The stored channels by target."""
    if there is None:
        return {}
    return {
        desk.vault.open(channel.target, destination_place(desk.tenant_id, alert_id, channel.id)): channel.id
        for channel in there.channels
    }


def _subject(plan: DocumentPlan, wanted: WantedEntry, draft: AlertDraft, there: Alert | None) -> tuple[str, str] | None:
    """The ids of the endpoint and the job after the plan. Deleted ones may stay unchanged."""
    endpoints = {name: endpoint_id for endpoint_id, name in plan.name_of.items()}
    jobs = {job.name: job.id for job in plan.jobs.values()}
    found: list[str] = []
    for key, name, ids in (("endpoint", draft.endpoint, endpoints), ("job", draft.job, jobs)):
        if not name or name in ids:
            found.append(ids.get(name, ""))
        elif there is not None and name in (there.endpoint_id, there.job_id):
            found.append(name)
        else:
            hint = did_you_mean(name, tuple(ids)) or f"; describe it, or leave `{key}` out to mean all"
            plan.fault(wanted.at(key), f"no {key} {name!r}{hint}")
            return None
    return found[0], found[1]


def _written(alert: Subscription, endpoints: Mapping[str, str], jobs: Mapping[str, str]) -> dict[str, object]:
    draft = draft_of(alert)
    endpoint, job = draft.endpoint, draft.job
    shown = replace(draft, endpoint=endpoints.get(endpoint, endpoint), job=jobs.get(job, job), enabled=is_wanted(alert))
    return written_settings(shown, ALERT_FIELDS)

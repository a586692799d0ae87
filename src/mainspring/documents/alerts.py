"""The section `alerts`: who is told when something breaks or recovers."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from mainspring.documents.entries import ALERT_DEFAULTS, AlertEntry, DocumentEntry
from mainspring.documents.faults import SourcePlace
from mainspring.documents.plan import DocumentPlan, ExportedEntry, WantedEntry
from mainspring.documents.references import has_reference, resolved
from mainspring.documents.subscriptions import (
    first_good,
    is_wanted,
    minimal,
    plan_subscriptions,
    prune_subscriptions,
)
from mainspring.domain.duration import format_duration
from mainspring.domain.errors import InvalidInput, did_you_mean
from mainspring.domain.notify.quiet_hours import format_span
from mainspring.domain.notify.subscription import Alert, Subscription, SubscriptionKind, destination_place
from mainspring.operations.alerts import KINDS_DEFAULT, AlertDraft, alert_config, read_way
from mainspring.operations.documents import live_endpoints
from mainspring.operations.endpoints import Desk
from mainspring.operations.subscriptions import list_subscriptions

HARMLESS: dict[str, object] = {
    **{key: ALERT_DEFAULTS[key] for key in ("kinds", "failures", "cooldown", "quiet", "during_quiet", "timezone")},
    "description": "",
    "to": ("ops@example.com",),
    "endpoint": "",
}
DEFAULTS: dict[str, object] = {
    "kinds": [str(kind) for kind in KINDS_DEFAULT],
    "failures": ALERT_DEFAULTS["failures"],
    "endpoint": "",
    "job": "",
    "cooldown": "0s",
    "quiet": "",
    "timezone": ALERT_DEFAULTS["timezone"],
    "during_quiet": str(ALERT_DEFAULTS["during_quiet"]),
    "description": "",
    "enabled": True,
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
    subject = _subject(plan, wanted, entry, there)
    draft = AlertDraft(
        wanted.name, ways or ("ops@example.com",), tuple(entry.kinds), entry.failures, entry.endpoint, entry.job,
        entry.cooldown, entry.quiet, entry.timezone, entry.during_quiet, entry.description,
    )  # fmt: skip
    channels = there.channels if there is not None else ()

    def make(mended: Mapping[str, object]) -> Alert:
        return alert_config(
            plan.desk, plan.options.messengers, alert_id, replace(draft, **mended), channels, subject or ("", "")
        )

    def place(field: str) -> SourcePlace:
        return wanted.at(field)

    made = first_good(plan, make, HARMLESS, place)
    assert made is None or isinstance(made, Alert)
    return made if ways is not None and subject is not None else None


def _ways(plan: DocumentPlan, wanted: WantedEntry, alert_id: str, there: Alert | None) -> tuple[str, ...] | None:
    """Where it goes; a way that is stored already by the name of its channel, so that it stays as it lies."""
    assert isinstance(wanted.entry, AlertEntry)
    if not wanted.entry.to:
        place = wanted.at("to") if "to" in wanted.entry.model_fields_set else wanted.place
        plan.fault(place, f"{wanted.name!r} goes nowhere; give it `to:` with mail addresses or URLs")
        return None
    stored = _targets(plan.desk, alert_id, there)
    ways: list[str] = []
    is_good = True
    for number, text in enumerate(wanted.entry.to):
        place = wanted.at("to", number)
        try:
            if there is not None and any(text == channel.shown for channel in there.channels):
                ways.append(text)
                continue
            way = resolved(text, plan.options.resolve)
            target = read_way(plan.desk, plan.options.messengers, way.strip())[1]
            ways.append(stored.get(target, way))
        except (ValueError, InvalidInput) as fault:
            told = str(fault) if not has_reference(text) or isinstance(fault, ValueError) else _masked(text)
            plan.fault(place.masked() if "://" in text else place, told)
            is_good = False
    return tuple(ways) if is_good else None


def _masked(text: str) -> str:
    return f"what {text} stands for is no mail address and no URL that may be called; change it there"


def _targets(desk: Desk, alert_id: str, there: Alert | None) -> dict[str, str]:
    """The channels that are stored, by where they lead."""
    if there is None:
        return {}
    return {
        desk.vault.open(channel.target, destination_place(desk.tenant_id, alert_id, channel.id)): channel.id
        for channel in there.channels
    }


def _subject(plan: DocumentPlan, wanted: WantedEntry, entry: AlertEntry, there: Alert | None) -> tuple[str, str] | None:
    """The ids of the endpoint and the job it is about, as they will be; what is gone may stay as it was."""
    endpoints = {name: endpoint_id for endpoint_id, name in plan.name_of.items()}
    jobs = {job.name: job.id for job in plan.jobs.values()}
    found: list[str] = []
    for key, name, ids in (("endpoint", entry.endpoint, endpoints), ("job", entry.job, jobs)):
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
    config = alert.config
    assert isinstance(config, Alert)
    quiet = config.quiet
    entry: dict[str, object] = {
        "to": [channel.shown for channel in config.channels],
        "kinds": [str(kind) for kind in config.kinds],
        "failures": config.failures,
        "endpoint": endpoints.get(config.endpoint_id, config.endpoint_id),
        "job": jobs.get(config.job_id, config.job_id),
        "cooldown": format_duration(config.cooldown_ms),
        "quiet": format_span(quiet) if quiet else "",
        "timezone": quiet.timezone if quiet else "UTC",
        "during_quiet": str(quiet.instead) if quiet else DEFAULTS["during_quiet"],
        "description": config.description,
        "enabled": is_wanted(alert),
    }
    return minimal(entry, DEFAULTS)

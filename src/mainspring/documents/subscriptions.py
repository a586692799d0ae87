"""The code that the sections `alerts` and `webhooks` share.

Whether delivery works is state, not configuration: a subscription that was disabled after failures stays disabled until
a person enables it again, regardless of the document.
"""

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from mainspring.documents.entries import written
from mainspring.documents.faults import SourcePlace
from mainspring.documents.plan import CHANGE, CREATE, DELETE, DocumentPlan, FieldChange, PlanStep, WantedEntry, renamed
from mainspring.domain.config_field import ConfigField
from mainspring.domain.errors import InvalidInput
from mainspring.domain.event import EventType
from mainspring.domain.name import check_name
from mainspring.domain.notify.subscription import (
    Alert,
    AlertDraft,
    Subscription,
    SubscriptionKind,
    Webhook,
    WebhookDraft,
)
from mainspring.operations.subscriptions import SUBSCRIPTIONS_MAX, list_subscriptions, switched, told

Config = Alert | Webhook
Entry = dict[str, object]
# Builds the result: the plan, the entry, its id, the existing one. None if an error was recorded.
Configure = Callable[[DocumentPlan, WantedEntry, str, Subscription | None], Config | None]

_MADE = {SubscriptionKind.ALERT: EventType.ALERT_CREATED, SubscriptionKind.WEBHOOK: EventType.WEBHOOK_CREATED}
_EDITED = {SubscriptionKind.ALERT: EventType.ALERT_UPDATED, SubscriptionKind.WEBHOOK: EventType.WEBHOOK_UPDATED}
_ENDED = {SubscriptionKind.ALERT: EventType.ALERT_DELETED, SubscriptionKind.WEBHOOK: EventType.WEBHOOK_DELETED}
_PREFIX = {SubscriptionKind.ALERT: "alr", SubscriptionKind.WEBHOOK: "whk"}


async def plan_subscriptions(
    plan: DocumentPlan,
    kind: SubscriptionKind,
    wanted: Sequence[WantedEntry],
    configure: Configure,
    written: Callable[[Subscription], Entry],
) -> None:
    there = {each.name: each for each in await list_subscriptions(plan.desk, kind)}
    names = {each.name for each in wanted}
    for each in wanted:
        old = there.get(each.name) or there.get(renamed(each, names) or "")
        if old is not None and not plan.may_manage(each, kind, old.managed_by):
            continue
        if not _is_name(plan, each, kind):
            continue
        subscription_id = plan.desk.ids.new(_PREFIX[kind], plan.now) if old is None else old.id
        config = configure(plan, each, subscription_id, old)
        if config is None:
            continue
        if old is None:
            _create(plan, each, subscription_id, config, written)
        else:
            _change(plan, each, old, config, written)
    _check_count(plan, kind, wanted, len(there))


async def prune_subscriptions(plan: DocumentPlan, kind: SubscriptionKind, wanted: Sequence[WantedEntry]) -> None:
    names = {each.name for each in wanted}
    changed = {each.id for each in plan.changed_subscriptions}
    for each in await list_subscriptions(plan.desk, kind):
        if each.name not in names and each.id not in changed and plan.is_pruned(each.managed_by):
            plan.deleted_subscriptions.append(each.id)
            plan.events.append(told(plan.desk, _ENDED[kind], plan.now, each))
            plan.steps.append(PlanStep(DELETE, kind, each.name))


def is_wanted(subscription: Subscription) -> bool:
    """Whether its owner has it enabled; failures may have disabled it anyway."""
    return subscription.enabled or bool(subscription.disabled_reason)


def written_settings(draft: AlertDraft | WebhookDraft, settings: Sequence[ConfigField]) -> Entry:
    """The settings of a draft as an entry has them, without defaults; the name is the entry's key."""
    pairs = ((field, getattr(draft, field.name)) for field in settings if field.key != "name")
    return {field.key: written(field, value) for field, value in pairs if field.is_required or value != field.default}


def first_good(
    plan: DocumentPlan,
    make: Callable[[Mapping[str, object]], Config],
    harmless: Mapping[str, object],
    place: Callable[[str], SourcePlace],
) -> Config | None:
    """The result of `make`; every error is recorded and replaced by a harmless value, to find the next one."""
    mended: dict[str, object] = {}
    while True:
        try:
            made = make(mended)
            return None if mended else made
        except InvalidInput as fault:
            plan.fault(place(fault.field), str(fault))
            if fault.field not in harmless or fault.field in mended:
                return None
            mended[fault.field] = harmless[fault.field]


def _create(
    plan: DocumentPlan,
    wanted: WantedEntry,
    subscription_id: str,
    config: Config,
    written: Callable[[Subscription], Entry],
) -> None:
    new = Subscription(
        subscription_id, plan.desk.tenant_id, wanted.name, config, _enabled(wanted), 1, plan.now, plan.now, plan.now,
        managed_by=wanted.source or "",
    )  # fmt: skip
    plan.new_subscriptions.append(new)
    plan.events.append(told(plan.desk, _MADE[new.kind], plan.now, new))
    fields = tuple(FieldChange(key, None, value) for key, value in written(new).items())
    plan.steps.append(PlanStep(CREATE, new.kind, new.name, fields))


def _change(
    plan: DocumentPlan, wanted: WantedEntry, old: Subscription, config: Config, written: Callable[[Subscription], Entry]
) -> None:
    source = old.managed_by if wanted.source is None else wanted.source
    new = replace(old, name=wanted.name, config=config, managed_by=source)
    if _enabled(wanted) != is_wanted(old):
        new = switched(new, _enabled(wanted), plan.now)
        new = replace(new, disabled_reason="")
    if new == old:
        plan.unchanged += 1
        return
    before, after = written(old), written(new)
    keys = [*before, *(key for key in after if key not in before)]
    fields = [FieldChange(key, before.get(key), after.get(key)) for key in keys if before.get(key) != after.get(key)]
    if config != old.config and not fields:
        fields = [FieldChange(*_hidden(old, config))]
    if source != old.managed_by:
        fields.append(FieldChange("managed_by", old.managed_by, source))
    renamed_from = old.name if new.name != old.name else None
    new = replace(new, version=old.version + 1, updated_at=plan.now)
    plan.changed_subscriptions.append(new)
    plan.events.append(told(plan.desk, _EDITED[new.kind], plan.now, new))
    plan.steps.append(PlanStep(CHANGE, new.kind, new.name, tuple(fields), renamed_from))


def _hidden(old: Subscription, config: Config) -> tuple[str, str, str]:
    """The change if no shown field changed."""
    if isinstance(config, Alert) or isinstance(old.config, Alert):
        return "to", "(secret)", "(another secret)"
    return "url" if config.target != old.config.target else "secret", "(secret)", "(another secret)"


def _enabled(wanted: WantedEntry) -> bool:
    return getattr(wanted.entry, "enabled", None) is not False  # the default is enabled


def _is_name(plan: DocumentPlan, wanted: WantedEntry, kind: str) -> bool:
    try:
        check_name(wanted.name, field="name", kind=kind)
    except InvalidInput as fault:
        plan.fault(wanted.place, str(fault))
        return False
    return True


def _check_count(plan: DocumentPlan, kind: SubscriptionKind, wanted: Sequence[WantedEntry], there: int) -> None:
    new = sum(each.kind is kind for each in plan.new_subscriptions)
    if new and there + new > SUBSCRIPTIONS_MAX:
        message = f"there would be {there + new} {kind}s; a tenant has at most {SUBSCRIPTIONS_MAX}: describe fewer"
        plan.fault(wanted[-1].place, message)

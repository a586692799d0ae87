"""Check and normalise what a user configures for an endpoint, before anything is stored.

All interfaces build an EndpointConfig and get the same refusals: what was wrong, the rule, the fix. Most rules are the
bounds in the description of a field; this module has those that need more than one field.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from msgspec.structs import replace

from mainspring.domain.config_field import check_duration
from mainspring.domain.duration import format_duration
from mainspring.domain.endpoint import (
    FIELD_BY_KEY,
    Endpoint,
    EndpointConfig,
    Tenant,
    config_value,
    fields_of,
    with_values,
)
from mainspring.domain.errors import InvalidInput, QuotaExceeded
from mainspring.domain.instant import FOREVER
from mainspring.domain.kinds.command_policy import NO_COMMANDS, CommandPolicy
from mainspring.domain.kinds.http import with_query
from mainspring.domain.kinds.kind import CallPolicy
from mainspring.domain.kinds.registry import KIND_FIELD, kind_of
from mainspring.domain.kinds.templated import check_templates, keeps_templates, marked
from mainspring.domain.name import as_stored, check_name
from mainspring.domain.retry import RETRY_CAUSES, confirm_text, read_confirm
from mainspring.domain.run import Header, HttpAction
from mainspring.domain.schedule.cron import check_cron, check_timezone, occurrences
from mainspring.domain.schedule.open_days import Shift

CRON_JITTER_MS_MAX = 3_600_000
# The times of a cron that are checked for their distances: a day of quarters of an hour, two years of weeks.
PACED_FROM, PACED_TIMES = datetime(2025, 1, 1, tzinfo=UTC), 100


def check_config(
    given: EndpointConfig,
    tenant: Tenant,
    endpoint_id: str = "",
    allow_ports: frozenset[int] = frozenset(),
    commands: CommandPolicy = NO_COMMANDS,
    site: str = "",
) -> tuple[EndpointConfig, str]:
    """The normalised configuration and its `host:port`, or InvalidInput that names the first error."""
    kind = kind_of(given.action)
    plain = replace(
        given,
        name=check_name(given.name, field="name", kind="endpoint"),
        job=check_name(given.job, field="job", kind="job"),
        action=kind.check(given.action, CallPolicy(allow_ports, tenant.id, commands, site)),
        confirm=None if given.confirm is None else confirm_text(given.confirm),
        retry=None if given.retry is None or given.retry.attempts == 1 else given.retry,
        except_calendar=as_stored(given.except_calendar),
        only_calendar=as_stored(given.only_calendar),
    )
    if plain.action.is_expected:
        _check_expected(plain)
    if plain.action.callback_within_ms and plain.confirm is not None:
        raise InvalidInput(
            f"confirm for {plain.name[:100]!r} has no effect: a run that a callback ends takes longer than a check is "
            "confirmed in; leave confirm out, or give retry",
            field="confirm",
        )
    _check_schedule(plain, endpoint_id)
    _check_calendars(plain)
    checked = with_values(
        plain,
        {
            field.name: field.checked(config_value(plain, field))
            for field in fields_of(plain)
            if field is not KIND_FIELD
        },
    )
    _check_limits(checked, tenant, endpoint_id)
    _check_attempts(checked, tenant)
    most = checked.interval_ms // 2 if checked.interval_ms else CRON_JITTER_MS_MAX
    check_duration(checked.jitter_ms, 0, most, FIELD_BY_KEY["jitter"])
    kind.check_whole(checked.action)
    check_templates(checked.action)
    checked = replace(checked, action=marked(checked.action))
    return checked, kind.host_key(checked.action) or endpoint_id


def config_of(endpoint: Endpoint) -> EndpointConfig:
    """The configuration of an endpoint; secret header values stay encrypted, the query string stays hidden."""
    values = {name: getattr(endpoint, name) for name in EndpointConfig.__struct_fields__}
    action = endpoint.action
    hidden = replace(action, query="") if isinstance(action, HttpAction) else action
    return EndpointConfig(**values | {"action": hidden})


def configured(endpoint: Endpoint, config: EndpointConfig, pairs: tuple[Header, ...], query: str) -> Endpoint:
    """The endpoint with its whole configuration; `pairs` (headers) and `query` are encrypted."""
    values = {name: getattr(config, name) for name in EndpointConfig.__struct_fields__}
    already = config.action.templated or keeps_templates(endpoint.action, query)
    values["action"] = marked(
        kind_of(config.action).with_pairs(with_query(config.action, query), pairs), already=already
    )
    return replace(endpoint, **values)


def check_minimum(interval_ms: int | None, tenant: Tenant) -> None:
    """The tenant's minimum applies to every source of an interval: a schedule, a hint, a rule."""
    floor = tenant.interval_ms_min
    if floor is not None and interval_ms is not None and interval_ms < floor:
        raise QuotaExceeded(
            f"interval {format_duration(interval_ms)} is below the tenant's minimum {format_duration(floor)}; raise it",
            quota="interval_ms_min",
            limit=floor,
        )


def _check_expected(given: EndpointConfig) -> None:
    """An endpoint that waits for pings has no call to retry, and expects more than one ping."""
    for key, value in (("retry", given.retry), ("confirm", given.confirm), ("at", given.once_at)):
        if value is not None:
            instead = "give every or cron" if key == "at" else f"leave {key} out"
            raise InvalidInput(
                f"{key} for {given.name[:100]!r} has no effect: kind {kind_of(given.action).name} calls nothing and "
                f"expects pings on a schedule; {instead}",
                field=key,
            )


def _check_schedule(given: EndpointConfig, endpoint_id: str) -> None:
    schedules = {"an interval": given.interval_ms, "a cron expression": given.cron, "a single time": given.once_at}
    found = [words for words, value in schedules.items() if value is not None]
    if len(found) != 1:
        raise InvalidInput(
            f"{' and '.join(found) or 'no schedule'} for {given.name!r}; an endpoint has exactly one of every, cron "
            "and at: give one (on the command line: --every, --cron or --at)",
            field="every",
        )
    check_timezone(given.timezone)
    if given.cron is not None:
        check_cron(given.cron, given.timezone, endpoint_id=endpoint_id)


def _check_calendars(given: EndpointConfig) -> None:
    key = "except" if given.except_calendar else "only"
    has_calendar = bool(given.except_calendar or given.only_calendar)
    if has_calendar and given.once_at is not None:
        raise InvalidInput(
            f"{key} for {given.name!r}, which runs once; a single run is at its time on any day: leave {key} out, or "
            "give every or cron in place of at",
            field=key,
        )
    if given.except_calendar and given.except_calendar == given.only_calendar:
        raise InvalidInput(
            f"except and only of {given.name!r} name the same calendar {given.only_calendar!r}, so no day is left to "
            "run on; leave one of them out",
            field="only",
        )
    if given.shift != Shift.SKIP and (given.cron is None or not has_calendar):
        raise InvalidInput(
            f"shift {given.shift} for {given.name!r} has no effect; it moves times of cron that a calendar excludes: "
            "give cron, and except or only, or leave shift out",
            field="shift",
        )


def _check_limits(given: EndpointConfig, tenant: Tenant, endpoint_id: str) -> None:
    low, high, interval = given.min_interval_ms, given.max_interval_ms, given.interval_ms
    if low is not None and high is not None and low > high:
        raise InvalidInput(
            f"min_interval {format_duration(low)} is above max_interval {format_duration(high)}; "
            "no run could satisfy both: lower the one or raise the other",
            field="min_interval",
            value=low,
        )
    if interval is not None and low is not None and interval < low:
        raise InvalidInput(
            f"interval {format_duration(interval)} for {given.name!r} is below its min_interval "
            f"{format_duration(low)}; raise the interval or lower min_interval",
            field="every",
            value=interval,
        )
    if interval is not None and high is not None and interval > high:
        raise InvalidInput(
            f"interval {format_duration(interval)} for {given.name!r} is above its max_interval "
            f"{format_duration(high)}; lower the interval or raise max_interval",
            field="every",
            value=interval,
        )
    if given.once_at is not None and high is not None:
        raise InvalidInput(
            f"max_interval {format_duration(high)} for {given.name!r}, which runs once; a single run has no interval: "
            "leave max_interval out, or give every or cron in place of at",
            field="max_interval",
            value=high,
        )
    if words := contradiction_of(given.cron, high, endpoint_id):
        raise InvalidInput(words, field="cron", value=given.cron)
    check_minimum(interval, tenant)
    if given.cron is not None and tenant.interval_ms_min is not None:
        _check_pace(given.cron, endpoint_id, tenant.interval_ms_min)


def _check_attempts(given: EndpointConfig, tenant: Tenant) -> None:
    if (retry := given.retry) is not None:
        if retry.max_delay_ms < retry.delay_ms:
            raise InvalidInput(
                f"retry: max_delay {format_duration(retry.max_delay_ms)} is below delay "
                f"{format_duration(retry.delay_ms)}; raise max_delay or lower delay",
                field="retry.max_delay",
                value=retry.max_delay_ms,
            )
        if not retry.on:
            raise InvalidInput(
                f"retry: on is empty, so nothing is retried; name one of {', '.join(RETRY_CAUSES)}, or remove retry",
                field="retry.on",
            )
        check_minimum(retry.delay_ms, tenant)
    if given.confirm is not None:
        check_minimum(read_confirm(given.confirm).gap_ms, tenant)


def contradiction_of(cron: str | None, max_interval_ms: int | None, endpoint_id: str) -> str:
    """The note for a cron whose times are all further apart than the maximum: few of its runs are at its times.

    New ones are refused; endpoints that are older than this rule get an explanation.
    """
    if cron is None or not max_interval_ms:
        return ""
    closest_ms = _closest_ms(cron, endpoint_id)
    if closest_ms is None or closest_ms <= max_interval_ms:
        return ""
    most = format_duration(max_interval_ms)
    return (
        f"the times of cron {cron!r} are at least {format_duration(closest_ms)} apart, above max_interval {most}, "
        f"so it would run every {most} instead of at those times; raise max_interval, "
        "leave it out, or give an interval in place of the cron"
    )


def _closest_ms(cron: str, endpoint_id: str) -> int | None:
    """By its expression alone, without a zone: a daily cron runs every day, even if a day has 23 hours."""
    times = occurrences(cron, "UTC", PACED_FROM, FOREVER, PACED_TIMES, endpoint_id=endpoint_id)
    return min(((after - at) // timedelta(milliseconds=1) for at, after in pairwise(times)), default=None)


def _check_pace(cron: str, endpoint_id: str, floor_ms: int) -> None:
    closest_ms = _closest_ms(cron, endpoint_id)
    if closest_ms is not None and closest_ms < floor_ms:
        raise QuotaExceeded(
            f"cron {cron!r} has times only {format_duration(closest_ms)} apart, and the tenant's minimum is "
            f"{format_duration(floor_ms)}; choose times further apart",
            quota="interval_ms_min",
            limit=floor_ms,
        )


def check_powers(given: Iterable[str]) -> tuple[str, ...]:
    """What advice may do, each permission once and in a fixed order; an empty list: nothing."""
    return tuple(FIELD_BY_KEY["advice"].checked(given))

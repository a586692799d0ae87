"""What a user writes down about an endpoint, checked and normalised before anything is stored.

Every door builds an EndpointConfig and every door gets the same refusals: what was wrong, the rule, the way out. Most
rules are the bounds in the description of a field; here are those that need more than one field to see.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from msgspec.structs import replace

from mainspring.domain.config_field import check_duration
from mainspring.domain.duration import format_duration
from mainspring.domain.endpoint import (
    CONFIG_FIELDS,
    FIELD_BY_KEY,
    Endpoint,
    EndpointConfig,
    Tenant,
    config_value,
    with_values,
)
from mainspring.domain.errors import InvalidInput, QuotaExceeded
from mainspring.domain.expressions.condition import check_condition
from mainspring.domain.instant import FOREVER
from mainspring.domain.name import check_name
from mainspring.domain.run import Header
from mainspring.domain.schedule.cron import check_cron, check_timezone, occurrences
from mainspring.domain.target import check_header, check_shown_url, shown_url

HEADERS_MAX = 50
CRON_JITTER_MS_MAX = 3_600_000
# How close the times of a cron come to each other is seen from so many of them: a day of quarters, two years of weeks.
PACED_FROM, PACED_TIMES = datetime(2025, 1, 1, tzinfo=UTC), 100
SECRET_WORDS = ("authorization", "cookie", "token", "secret", "password", "api-key", "apikey", "x-auth", "signature")
PLAIN_KEYS = {"idempotency", "correlation", "partition", "cache"}  # these tell things apart, and open nothing


def check_config(
    given: EndpointConfig, tenant: Tenant, endpoint_id: str = "", allow_ports: frozenset[int] = frozenset()
) -> tuple[EndpointConfig, str]:
    """The normalised configuration and its `host:port`, or InvalidInput naming the first fault."""
    target = check_shown_url(given.action.url, allow_ports)
    plain = with_values(
        given,
        {
            "name": check_name(given.name, field="name", kind="endpoint"),
            "job": check_name(given.job, field="job", kind="job"),
            "url": target.url,
            "method": given.action.method.upper(),
            "headers": tuple(marked_secret(header) for header in given.action.headers),
        },
    )
    _check_schedule(plain, endpoint_id)
    checked = with_values(plain, {field.name: field.checked(config_value(plain, field)) for field in CONFIG_FIELDS})
    _check_limits(checked, tenant, endpoint_id)
    _check_call(checked)
    return checked, target.host_key


def config_of(endpoint: Endpoint) -> EndpointConfig:
    """What an endpoint was made from; secret header values stay sealed, the query string stays hidden."""
    values = {name: getattr(endpoint, name) for name in EndpointConfig.__struct_fields__}
    return EndpointConfig(**values | {"action": replace(endpoint.action, query="")})


def configured(endpoint: Endpoint, config: EndpointConfig, headers: tuple[Header, ...], query: str) -> Endpoint:
    """The endpoint with its whole configuration; `headers` and `query` are the sealed ones."""
    values = {name: getattr(config, name) for name in EndpointConfig.__struct_fields__}
    values["action"] = replace(config.action, url=shown_url(config.action.url), headers=headers, query=query)
    return replace(endpoint, **values)


def marked_secret(header: Header) -> Header:
    """A header whose name speaks of a secret is treated as one, whether or not it was marked."""
    check_header(header.name, header.value)
    return replace(header, secret=header.secret or speaks_of_a_secret(header.name))


def speaks_of_a_secret(name: str) -> bool:
    """Whether the value of a header with this name is a secret, as far as a name can tell."""
    words = re.split("[-_]", name.lower())
    is_key = words[-1] == "key" and PLAIN_KEYS.isdisjoint(words)
    return is_key or any(word in name.lower() for word in SECRET_WORDS)


def check_minimum(interval_ms: int | None, tenant: Tenant) -> None:
    """The tenant's minimum holds for whatever asks for an interval: a schedule, a hint, a rule."""
    floor = tenant.interval_ms_min
    if floor is not None and interval_ms is not None and interval_ms < floor:
        raise QuotaExceeded(
            f"interval {format_duration(interval_ms)} is below the tenant's minimum {format_duration(floor)}; raise it",
            quota="interval_ms_min",
            limit=floor,
        )


def _check_schedule(given: EndpointConfig, endpoint_id: str) -> None:
    if (given.cron is None) == (given.interval_ms is None):
        both = given.cron is not None
        raise InvalidInput(
            f"{'both a cron expression and an interval' if both else 'neither a cron expression nor an interval'} "
            f"for {given.name!r}; an endpoint has exactly one of them: give one "
            "(on the command line: --cron or --every)",
            field="every",
        )
    check_timezone(given.timezone)
    if given.cron is not None:
        check_cron(given.cron, given.timezone, endpoint_id=endpoint_id)


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
    if words := contradiction_of(given.cron, high, endpoint_id):
        raise InvalidInput(words, field="cron", value=given.cron)
    check_minimum(interval, tenant)
    if given.cron is not None and tenant.interval_ms_min is not None:
        _check_pace(given.cron, endpoint_id, tenant.interval_ms_min)


def contradiction_of(cron: str | None, max_interval_ms: int | None, endpoint_id: str) -> str:
    """What to say of a cron whose times are all further apart than the maximum: few of its runs are at its times.

    Refused when it is written; endpoints that are older than this rule are explained.
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
    """By its expression alone, without a zone: a daily cron is one of every day, also where one has 23 hours."""
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


def _check_call(given: EndpointConfig) -> None:
    most = given.interval_ms // 2 if given.interval_ms else CRON_JITTER_MS_MAX
    check_duration(given.jitter_ms, 0, most, FIELD_BY_KEY["jitter"])
    check_header_count(len(given.action.headers))
    if given.action.condition is not None:
        check_condition(given.action.condition)


def check_powers(given: Iterable[str]) -> tuple[str, ...]:
    """What advice may do, each once and in one order; an empty list: nothing."""
    return tuple(FIELD_BY_KEY["advice"].checked(given))


def check_header_count(count: int) -> None:
    if count > HEADERS_MAX:
        raise InvalidInput(f"headers {count} is out of bounds; give 0 to {HEADERS_MAX}", field="headers", value=count)

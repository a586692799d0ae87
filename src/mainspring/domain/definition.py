"""What a user writes down about an endpoint, checked and normalised before anything is stored.

Every door builds a Definition and every door gets the same refusals: what was wrong, the rule, the way out.
"""

import re
import unicodedata
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.duration import format_duration
from mainspring.domain.endpoint import (
    CATCH_UP_MAX,
    INTERVAL_MS_MAX,
    INTERVAL_MS_MIN,
    LIMIT_MS_MIN,
    POWERS,
    TIMEOUT_MS_MAX,
    BackoffPolicy,
    Endpoint,
    LostWorkerPolicy,
    MisfirePolicy,
    Tenant,
)
from mainspring.domain.errors import InvalidInput, QuotaExceeded, did_you_mean
from mainspring.domain.expressions.condition import check_condition
from mainspring.domain.instant import FOREVER
from mainspring.domain.name import check_name
from mainspring.domain.run import Header, HttpAction
from mainspring.domain.schedule.cron import check_cron, check_timezone, occurrences
from mainspring.domain.target import check_header, check_shown_url, shown_url

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
HEADERS_MAX = 50
BODY_MAX = 1_000_000
BODY_CAP_MAX = 10_000_000
DESCRIPTION_MAX = 10_000
# How close the times of a cron come to each other is seen from so many of them: a day of quarters, two years of weeks.
PACED_FROM, PACED_TIMES = datetime(2025, 1, 1, tzinfo=UTC), 100
REDIRECTS_MAX = 5
SECRET_WORDS = ("authorization", "cookie", "token", "secret", "password", "api-key", "apikey", "x-auth", "signature")
PLAIN_KEYS = {"idempotency", "correlation", "partition", "cache"}  # these tell things apart, and open nothing


class Definition(Struct, frozen=True):
    """One endpoint as its owner describes it. Header values and the URL's query string are plain here; operations seal
    the secret ones. `?••••` at the end of the URL stands for the query string that is stored.
    """

    name: str
    url: str
    job: str = "default"
    description: str = ""
    method: str = "GET"
    headers: tuple[Header, ...] = ()
    body: str | None = None
    cron: str | None = None
    interval_ms: int | None = None
    timezone: str = "UTC"
    timeout_ms: int = 30_000
    min_interval_ms: int | None = None
    max_interval_ms: int | None = None
    backoff: str = BackoffPolicy.DEFAULT
    jitter_ms: int = 0
    spread: bool = True
    misfire: str = MisfirePolicy.RUN_ONCE
    catch_up_max: int = 10
    max_lateness_ms: int | None = None
    on_lost_worker: str = LostWorkerPolicy.RETRY
    body_cap: int = 100_000
    redirects_max: int = 0
    accept_codes: tuple[int, ...] = ()
    condition: str | None = None
    advice: tuple[str, ...] = POWERS  # what rules, workflows and the model may do


def check_definition(
    given: Definition, tenant: Tenant, endpoint_id: str = "", allow_ports: frozenset[int] = frozenset()
) -> tuple[Definition, str]:
    """The normalised definition and its `host:port`, or InvalidInput naming the first fault."""
    target = check_shown_url(given.url, allow_ports)
    checked = replace(
        given,
        name=check_name(given.name, field="name", kind="endpoint"),
        job=check_name(given.job, field="job", kind="job"),
        description=check_text(given.description, "description", DESCRIPTION_MAX),
        url=target.url,
        method=_one_of(given.method.upper(), METHODS, "method"),
        backoff=_one_of(given.backoff, tuple(BackoffPolicy), "backoff"),
        misfire=_one_of(given.misfire, tuple(MisfirePolicy), "misfire"),
        on_lost_worker=_one_of(given.on_lost_worker, tuple(LostWorkerPolicy), "on_lost_worker"),
        min_interval_ms=given.min_interval_ms or None,
        max_interval_ms=given.max_interval_ms or None,
        headers=tuple(marked_secret(header) for header in given.headers),
        advice=check_powers(given.advice),
    )
    _check_schedule(checked, endpoint_id)
    _check_limits(checked, tenant, endpoint_id)
    _check_call(checked)
    return checked, target.host_key


def check_text(text: str, field: str, most: int, *, is_payload: bool = False) -> str:
    """Free text, NFC: at most `most` characters, no NUL and no lone surrogate (PostgreSQL stores neither).

    Text for people has line breaks and tabs but no other control characters; a payload goes out as it is.
    """
    if len(text) > most:
        raise InvalidInput(
            f"{field} has {len(text):,} characters; at most {most:,} are kept, shorten it", field=field, value=len(text)
        )
    if "\x00" in text or any(0xD800 <= ord(character) <= 0xDFFF for character in text):
        raise InvalidInput(
            f"{field} contains a NUL or half a surrogate pair; these are not text, remove them", field=field
        )
    if is_payload:
        return text
    for character in text:
        if character not in "\n\r\t" and unicodedata.category(character) == "Cc":
            raise InvalidInput(
                f"{field} contains a control character (U+{ord(character):04X}); it is text for people: remove it",
                field=field,
            )
    return unicodedata.normalize("NFC", text)


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


def action_of(definition: Definition, headers: tuple[Header, ...], query: str) -> HttpAction:
    """The action to store: `headers` are the definition's with secret values sealed, `query` is its query string."""
    return HttpAction(
        url=shown_url(definition.url),
        method=definition.method,
        headers=headers,
        body=definition.body,
        timeout_ms=definition.timeout_ms,
        body_cap=definition.body_cap,
        redirects_max=definition.redirects_max,
        accept_codes=definition.accept_codes,
        condition=definition.condition,
        query=query,
    )


def definition_of(endpoint: Endpoint, job: str) -> Definition:
    """The definition an endpoint was made from; secret header values stay sealed, the query string stays hidden."""
    action = endpoint.action
    return Definition(
        name=endpoint.name, url=action.url, job=job, description=endpoint.description, method=action.method,
        headers=action.headers, body=action.body, cron=endpoint.cron, interval_ms=endpoint.interval_ms,
        timezone=endpoint.timezone, timeout_ms=action.timeout_ms, min_interval_ms=endpoint.min_interval_ms,
        max_interval_ms=endpoint.max_interval_ms, backoff=endpoint.backoff, jitter_ms=endpoint.jitter_ms,
        spread=endpoint.spread, misfire=endpoint.misfire, catch_up_max=endpoint.catch_up_max,
        max_lateness_ms=endpoint.max_lateness_ms, on_lost_worker=endpoint.on_lost_worker, body_cap=action.body_cap,
        redirects_max=action.redirects_max, accept_codes=action.accept_codes, condition=action.condition,
        advice=endpoint.advice,
    )  # fmt: skip


def _check_schedule(given: Definition, endpoint_id: str) -> None:
    if (given.cron is None) == (given.interval_ms is None):
        both = given.cron is not None
        raise InvalidInput(
            f"{'both a cron expression and an interval' if both else 'neither a cron expression nor an interval'} "
            f"for {given.name!r}; an endpoint has exactly one of them: give one "
            "(on the command line: --cron or --every)",
            field="interval",
        )
    check_timezone(given.timezone)
    if given.cron is not None:
        check_cron(given.cron, given.timezone, endpoint_id=endpoint_id)
    if given.interval_ms is not None:
        _in_bounds(given.interval_ms, INTERVAL_MS_MIN, INTERVAL_MS_MAX, "interval")


def _check_limits(given: Definition, tenant: Tenant, endpoint_id: str) -> None:
    low, high, interval = given.min_interval_ms, given.max_interval_ms, given.interval_ms
    for field, value in (("min_interval", low), ("max_interval", high)):
        if value is not None:
            _in_bounds(value, LIMIT_MS_MIN, INTERVAL_MS_MAX, field)
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
            field="interval",
            value=interval,
        )
    if interval is not None and high is not None and interval > high:
        raise InvalidInput(
            f"interval {format_duration(interval)} for {given.name!r} is above its max_interval "
            f"{format_duration(high)}; lower the interval or raise max_interval",
            field="interval",
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


def _check_call(given: Definition) -> None:
    _in_bounds(given.timeout_ms, 1, TIMEOUT_MS_MAX, "timeout")
    _in_bounds(given.jitter_ms, 0, given.interval_ms // 2 if given.interval_ms else 3_600_000, "jitter")
    if given.max_lateness_ms is not None:
        _in_bounds(given.max_lateness_ms, 0, INTERVAL_MS_MAX, "max_lateness")
    _count_in_bounds(given.catch_up_max, 1, CATCH_UP_MAX, "catch_up_max")
    _count_in_bounds(given.redirects_max, 0, REDIRECTS_MAX, "redirects_max")
    _count_in_bounds(given.body_cap, 0, BODY_CAP_MAX, "body_cap")
    check_header_count(len(given.headers))
    if given.body is not None:
        check_text(given.body, "body", BODY_MAX, is_payload=True)
    for code in given.accept_codes:
        _count_in_bounds(code, 100, 999, "accept_codes")
    if given.condition is not None:
        check_condition(given.condition)


def check_powers(given: Iterable[str]) -> tuple[str, ...]:
    """What advice may do, each once and in one order; an empty list: nothing."""
    wanted = {_one_of(each, POWERS, "advice") for each in given}
    return tuple(power for power in POWERS if power in wanted)


def _one_of(value: str, allowed: tuple[str, ...], field: str) -> str:
    if value not in allowed:
        raise InvalidInput(
            f"unknown {field} {value!r}{did_you_mean(value, allowed)}; choose one of {', '.join(allowed)}",
            field=field,
            value=value,
        )
    return value


def _in_bounds(value: int, low: int, high: int, field: str) -> None:
    if isinstance(value, bool) or not low <= value <= high:
        raise InvalidInput(
            f"{field} {value} ms is out of bounds; give {format_duration(low) if low else '0'} "
            f"to {format_duration(high)}",
            field=field,
            value=value,
        )


def check_header_count(count: int) -> None:
    _count_in_bounds(count, 0, HEADERS_MAX, "headers")


def _count_in_bounds(value: int, low: int, high: int, field: str) -> None:
    if isinstance(value, bool) or not low <= value <= high:
        raise InvalidInput(f"{field} {value} is out of bounds; give {low:,} to {high:,}", field=field, value=value)

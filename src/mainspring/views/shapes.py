"""Domain values as JSON objects: the stable form that every door gives out.

Instants are RFC 3339, durations milliseconds. Secret header values and query strings are never here, sealed or open.
"""

from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from mainspring.domain.instant import rfc3339

if TYPE_CHECKING:
    from mainspring.domain.endpoint import Endpoint, EndpointConfig, RefusedAdvice
    from mainspring.domain.health import WindowHealth
    from mainspring.domain.schedule.hint import IntervalHint, OneShotHint
    from mainspring.domain.schedule.queue import QueueWait

Shape = dict[str, object]

MASK = "••••"  # stands where a secret is


def instant(at: datetime | None) -> str | None:
    return None if at is None else rfc3339(at)


def state_of(endpoint: "Endpoint", now: datetime) -> str:
    """What an endpoint is doing, in one word: the strongest reason not to run comes first."""
    if endpoint.archived_at is not None:
        return "archived"
    if endpoint.parked_at is not None:
        return "parked"
    if not endpoint.job_active:
        return "job-paused"
    if endpoint.is_paused(now):
        return "paused"
    if endpoint.deferred_until is not None and endpoint.deferred_until > now:
        return "deferred"
    return "active"


def endpoint_shape(endpoint: "Endpoint", job: str, now: datetime) -> Shape:
    from mainspring.domain.target import shown_url

    return {
        "id": endpoint.id,
        "name": endpoint.name,
        "status": state_of(endpoint, now),
        "url": shown_url(endpoint.action.url),
        "headers": [
            {"name": header.name, "value": MASK if header.secret else header.value, "secret": header.secret}
            for header in endpoint.action.headers
        ],
        **settings_shape(endpoint),
        "job": job,
        "schedule": _schedule(endpoint),
        "managed_by": endpoint.managed_by or None,
        "version": endpoint.version,
        "created_at": instant(endpoint.created_at),
        "updated_at": instant(endpoint.updated_at),
        **_state(endpoint),
    }


def settings_shape(config: "EndpointConfig") -> Shape:
    """Every setting by the name of its field: numbers, text, lists."""
    from mainspring.domain.endpoint import SETTINGS, config_value

    values = {field.name: config_value(config, field) for field in SETTINGS}
    return {name: list(value) if isinstance(value, tuple) else _plain(value) for name, value in values.items()}


def _plain(value: object) -> object:
    return value.value if isinstance(value, StrEnum) else value


def _schedule(endpoint: "Endpoint") -> str:
    from mainspring.domain.schedule.cron import describe, describe_interval

    if endpoint.cron is None:
        return describe_interval(endpoint.interval_ms or 0)
    return describe(endpoint.cron, endpoint.id)


def _state(endpoint: "Endpoint") -> Shape:
    return {
        "paused_until": instant(endpoint.paused_until),
        "pause_reason": endpoint.pause_reason,
        "pause_author": endpoint.pause_author,
        "advice_may_resume": endpoint.advice_may_resume,
        "parked_at": instant(endpoint.parked_at),
        "parked_reason": endpoint.parked_reason,
        "archived_at": instant(endpoint.archived_at),
        "deferred_until": instant(endpoint.deferred_until),
        "failure_count": endpoint.failure_count,
        "not_before": instant(endpoint.not_before),
        "interval_hint": _interval_hint(endpoint.interval_hint),
        "one_shot_hint": _one_shot_hint(endpoint.one_shot_hint),
        "refused_advice": _refused_advice(endpoint.refused_advice),
        "next_run_at": instant(endpoint.next_run_at),
        "source": endpoint.source,
        "run_requested_at": instant(endpoint.manual_at),
        "running": _running(endpoint),
        "last_run_at": instant(endpoint.last_run_at),
        "last_status": endpoint.last_status or None,
    }


def wait_shape(wait: "QueueWait", due_at: datetime | None) -> Shape:
    """What an endpoint that is due waits for; `since` is when it was due itself."""
    return {
        "cause": wait.cause.value,
        "name": wait.name,
        "limit": wait.limit,
        "in_flight": wait.in_flight,
        "since": instant(due_at),
        "waiting": wait.waiting,
        "setting": wait.setting or None,
    }


def health_shape(window: "WindowHealth") -> Shape:
    return {
        "window": window.window,
        "since": instant(window.since),
        "runs": window.runs,
        "successes": window.successes,
        "success_share": window.success_share,
        "latency_p50_ms": window.latency_p50_ms,
        "latency_p95_ms": window.latency_p95_ms,
    }


def _refused_advice(refused: "RefusedAdvice | None") -> Shape | None:
    if refused is None:
        return None
    return {
        "at": instant(refused.at),
        "author": refused.author,
        "does": refused.does,
        "because": refused.because,
    }


def _interval_hint(hint: "IntervalHint | None") -> Shape | None:
    if hint is None:
        return None
    return {
        "interval_ms": hint.interval_ms,
        "expires_at": instant(hint.expires_at),
        "reason": hint.reason,
        "author": hint.author,
    }


def _one_shot_hint(hint: "OneShotHint | None") -> Shape | None:
    if hint is None:
        return None
    return {
        "next_run_at": instant(hint.next_run_at),
        "expires_at": instant(hint.expires_at),
        "reason": hint.reason,
        "author": hint.author,
    }


def _running(endpoint: "Endpoint") -> Shape | None:
    if not endpoint.is_running:
        return None
    return {
        "run_id": endpoint.run_id,
        "slot_at": instant(endpoint.slot_at),
        "attempt": endpoint.attempt,
        "trigger": endpoint.trigger.value,
        "worker": endpoint.claimed_by,
        "lease_until": instant(endpoint.lease_until),
    }

"""Domain values as JSON objects: the stable form that every door gives out.

Instants are RFC 3339, durations milliseconds. Secret header values and query strings are never here, sealed or open.
"""

from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from mainspring.domain.instant import rfc3339

if TYPE_CHECKING:
    from mainspring.domain.access.account import ApiKey, Member, User
    from mainspring.domain.access.audit import AuditEntry
    from mainspring.domain.endpoint import Endpoint, EndpointConfig, Job, RefusedAdvice, Tenant
    from mainspring.domain.event import StoredEvent
    from mainspring.domain.health import WindowHealth
    from mainspring.domain.notify.delivery import Delivery
    from mainspring.domain.notify.subscription import Subscription
    from mainspring.domain.run import Body, Outcome, Run
    from mainspring.domain.schedule.governor import Decision, DecisionStep
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


def job_shape(job: "Job") -> Shape:
    return {
        "id": job.id,
        "name": job.name,
        "description": job.description,
        "status": job.status.value,
        "managed_by": job.managed_by or None,
        "created_at": instant(job.created_at),
        "updated_at": instant(job.updated_at),
    }


def run_shape(run: "Run", endpoint: str) -> Shape:
    return {
        "id": run.id,
        "endpoint": endpoint,
        "endpoint_id": run.endpoint_id,
        "slot_at": instant(run.slot_at),
        "attempt": run.attempt,
        "trigger": run.trigger.value,
        "source": run.source,
        "status": run.status.value,
        "started_at": instant(run.started_at),
        "finished_at": instant(run.finished_at),
        "duration_ms": run.duration_ms,
        "status_code": run.status_code,
        "error": run.error,
    }


def run_in_full(run: "Run", endpoint: str, body: "Body | None") -> Shape:
    import msgspec

    from mainspring.domain.schedule.governor import decode_trail

    detail = msgspec.json.decode(run.detail, type=dict[str, object])
    return {
        **run_shape(run, endpoint),
        "error_code": run.error_code,
        "worker": run.worker,
        "missed_count": run.missed_count,
        "phases": _phases(detail.get("phases")),
        "address": detail.get("address"),
        "headers": detail.get("headers") or [],
        "body": None if body is None else body_shape(body),
        "trail": [step_shape(step) for step in decode_trail(run.trail)],
    }


def _phases(stored: object) -> Shape | None:
    """Where the time went, since the start of the call; rows keep them as a list in this order."""
    if not isinstance(stored, list):
        return None
    return dict(zip(("dns_us", "connect_us", "tls_us", "first_byte_us", "total_us"), stored, strict=False))


def body_shape(body: "Body") -> Shape:
    from mainspring.domain.text import sanitised_view

    return {
        "content_type": body.content_type,
        "bytes_kept": len(body.data),
        "bytes_seen": body.bytes_seen,
        "truncated": body.truncated,
        "text": sanitised_view(body.data, body.content_type),
    }


def decision_shape(decision: "Decision") -> Shape:
    return {
        "next_run_at": rfc3339(decision.next_run_at),
        "source": decision.source,
        "trail": [step_shape(step) for step in decision.trail],
    }


def step_shape(step: "DecisionStep") -> Shape:
    return {"rule": step.rule, "at": instant(step.at), "verdict": step.verdict, "why": step.why}


def event_shape(stored: "StoredEvent", endpoint: str | None) -> Shape:
    event = stored.event
    return {
        "cursor": stored.cursor,
        "type": event.type.value,
        "at": instant(event.at),
        "endpoint": endpoint,
        "endpoint_id": event.endpoint_id or None,
        "run_id": event.run_id or None,
        "actor": event.actor,
        "data": shown_data(event.data),
    }


def shown_data(data: Shape) -> Shape:
    """What is told of a change; older records of created endpoints hold the query string of their URL."""
    from mainspring.domain.target import shown_url

    url = data.get("url")
    return {**data, "url": shown_url(url)} if isinstance(url, str) else data


def tenant_shape(tenant: "Tenant") -> Shape:
    return {
        "id": tenant.id,
        "name": tenant.name,
        "runs_per_month": tenant.runs_per_month,
        "tokens_per_month": tenant.tokens_per_month,
        "endpoints_max": tenant.endpoints_max,
        "interval_ms_min": tenant.interval_ms_min,
        "runs_this_month": tenant.runs_this_month,
        "signing_keys": len(tenant.signing_keys),
    }


def webhook_shape(webhook: "Subscription") -> Shape:
    from mainspring.domain.notify.subscription import Webhook

    config = webhook.config
    assert isinstance(config, Webhook)
    return {
        "id": webhook.id,
        "name": webhook.name,
        "url": config.url,
        "types": list(config.types),
        "description": config.description,
        **_subscription(webhook),
    }


def _subscription(subscription: "Subscription") -> Shape:
    return {
        "enabled": subscription.enabled,
        "disabled_reason": subscription.disabled_reason or None,
        "failing_since": instant(subscription.failing_since),
        "failure_count": subscription.failure_count,
        "managed_by": subscription.managed_by or None,
        "version": subscription.version,
        "created_at": instant(subscription.created_at),
        "updated_at": instant(subscription.updated_at),
    }


def delivery_shape(delivery: "Delivery", *, with_payload: bool = False) -> Shape:
    import msgspec

    shape: Shape = {
        "id": delivery.id,
        "subscription_id": delivery.subscription_id,
        "channel": delivery.channel or None,
        "type": delivery.type,
        "status": delivery.status.value,
        "attempts": delivery.attempt,
        "next_attempt_at": instant(delivery.next_attempt_at) if delivery.status in ("pending", "held") else None,
        "created_at": instant(delivery.created_at),
        "sent_at": instant(delivery.sent_at),
        "status_code": delivery.status_code,
        "error": delivery.error,
        "response": delivery.snippet or None,
        "duration_ms": delivery.duration_ms,
    }
    return shape | {"payload": msgspec.json.decode(delivery.payload)} if with_payload else shape


def outcome_shape(outcome: "Outcome") -> Shape:
    """How an attempt went, for whoever asked for a test."""
    from mainspring.domain.text import sanitised_view

    body = outcome.body
    return {
        "ok": outcome.status == "success",
        "status_code": outcome.status_code,
        "error_code": outcome.error_code,
        "error": outcome.error,
        "duration_ms": outcome.duration_ms,
        "response": None if body is None else sanitised_view(body.data, body.content_type)[:500],
    }


def user_shape(user: "User") -> Shape:
    return {
        "id": user.id,
        "email": user.email,
        "name": user.name,
        "operator": user.is_operator,
        "disabled": user.disabled_at is not None,
        "has_password": user.has_password,
        "oidc": bool(user.subject),
        "created_at": instant(user.created_at),
    }


def member_shape(member: "Member") -> Shape:
    return {
        "user_id": member.user_id or None,
        "email": member.email,
        "name": member.name,
        "role": member.role.value,
        "disabled": member.disabled,
        "status": member.status.value,
        "created_at": instant(member.created_at),
        "expires_at": instant(member.expires_at) if member.expires_at else None,
    }


def api_key_shape(key: "ApiKey", now: datetime) -> Shape:
    return {
        "id": key.id,
        "name": key.name,
        "scopes": sorted(key.scopes),
        "operator": key.is_operator,
        "status": "revoked" if key.revoked_at else "live" if key.is_live(now) else "expired",
        "created_by": key.created_by,
        "created_at": instant(key.created_at),
        "expires_at": instant(key.expires_at),
        "last_used_at": instant(key.last_used_at),
        "revoked_at": instant(key.revoked_at),
    }


def audit_shape(entry: "AuditEntry") -> Shape:
    import msgspec

    return {
        "seq": entry.seq,
        "at": instant(entry.at),
        "actor": entry.actor,
        "address": entry.address or None,
        "act": entry.act,
        "subject": entry.subject or None,
        "detail": shown_data(msgspec.json.decode(entry.detail)),
        "before_sha256": entry.before or None,
        "after_sha256": entry.after or None,
        "seal": entry.seal,
    }


def alert_shape(alert: "Subscription") -> Shape:
    from mainspring.domain.notify.quiet_hours import format_span
    from mainspring.domain.notify.subscription import Alert

    config = alert.config
    assert isinstance(config, Alert)
    quiet = config.quiet
    return {
        "id": alert.id,
        "name": alert.name,
        "kinds": [kind.value for kind in config.kinds],
        "to": [channel.shown for channel in config.channels],
        "failures": config.failures,
        "endpoint_id": config.endpoint_id or None,
        "job_id": config.job_id or None,
        "cooldown_ms": config.cooldown_ms,
        "quiet": None if quiet is None else format_span(quiet),
        "timezone": "UTC" if quiet is None else quiet.timezone,
        "during_quiet": "digest" if quiet is None else quiet.instead.value,
        "description": config.description,
        **_subscription(alert),
    }

"""The errand of a `hint` step: advice to an endpoint's schedule, within the limits that all advice has."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import cast

from mainspring.domain.advice import advise_clear, advise_interval, advise_one_shot, note_refusal
from mainspring.domain.changes import Change
from mainspring.domain.definition import check_minimum
from mainspring.domain.duration import format_duration
from mainspring.domain.endpoint import Endpoint
from mainspring.domain.errors import AdviceRefused, MainspringError, StoreUnavailable
from mainspring.domain.hint import INTERVAL_TTL_DEFAULT, ONE_SHOT_TTL_DEFAULT, make_interval_hint, make_one_shot_hint
from mainspring.domain.instant import rfc3339
from mainspring.domain.schedule import CRON
from mainspring.ports.flows import Intent
from mainspring.ports.stores import Stores

Ending = tuple[str, dict[str, object]]


class HintErrand:
    """Writes the hint in the transaction that moves the next run; limits and pauses of the endpoint win over it.

    A hint that a person set stays: the step then fails, and the endpoint records what was refused.
    """

    def __init__(self, stores: Stores) -> None:
        self._stores = stores

    async def run(self, intent: Intent) -> Ending:
        name = str(intent.request.get("endpoint", ""))
        endpoint = await self._stores.endpoints.endpoint(intent.tenant_id, name)
        if endpoint is None or endpoint.archived_at is not None:
            error = f"there is no endpoint {name!r} any more; add it, then retry"
            return "failure", {"code": "no_endpoint", "error": error}
        author = f"execution:{intent.execution_id}"
        tenant = await self._stores.endpoints.tenant(intent.tenant_id)
        try:
            if tenant is not None:
                check_minimum(cast("int | None", intent.request.get("interval_ms")), tenant)
            (change,), refusal = await self._advise(intent, endpoint.id, author)
            if refusal:
                return "failure", {"code": AdviceRefused.code, "error": refusal}
        except StoreUnavailable:
            raise
        except MainspringError as refusal:
            return "failure", {"code": refusal.code, "error": str(refusal)}
        next_run_at = change.endpoint.next_run_at
        result = {"endpoint": name, "next_run_at": None if next_run_at is None else rfc3339(next_run_at)}
        return "success", {"result": result}

    async def _advise(self, intent: Intent, endpoint_id: str, author: str) -> tuple[list[Change], str]:
        refusal = ""

        def act(each: Endpoint, now: datetime) -> Change:
            nonlocal refusal
            try:
                return advised(each, now, intent.request, author)
            except AdviceRefused as refused:
                refusal = str(refused)
                return note_refusal(each, author, _in_words(intent.request), refusal, now)

        return await self._stores.endpoints.change_endpoints(intent.tenant_id, [endpoint_id], act), refusal


def advised(endpoint: Endpoint, now: datetime, wanted: Mapping[str, object], author: str) -> Change:
    """The endpoint after the step's hint. Raises AdviceRefused where a person decided otherwise."""
    reason, ttl_ms = str(wanted.get("reason", ""))[:1_000], cast("int | None", wanted.get("ttl_ms"))
    if wanted.get("clear"):
        return advise_clear(endpoint, now, author, CRON)
    if (interval_ms := cast("int | None", wanted.get("interval_ms"))) is not None:
        ttl = INTERVAL_TTL_DEFAULT if ttl_ms is None else timedelta(milliseconds=ttl_ms)
        return advise_interval(endpoint, make_interval_hint(now, interval_ms, ttl, reason, author), now, CRON)
    ttl = ONE_SHOT_TTL_DEFAULT if ttl_ms is None else timedelta(milliseconds=ttl_ms)
    at = now + timedelta(milliseconds=cast(int, wanted.get("after_ms") or 0))
    return advise_one_shot(endpoint, make_one_shot_hint(now, at, ttl, reason, author), now, CRON)


def _in_words(wanted: Mapping[str, object]) -> str:
    if wanted.get("clear"):
        return "clear hints"
    if (interval_ms := cast("int | None", wanted.get("interval_ms"))) is not None:
        return f"every {format_duration(interval_ms)}"
    return f"run in {format_duration(cast(int, wanted.get('after_ms') or 0))}"

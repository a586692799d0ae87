"""The errand of a `hint` step: advice to an endpoint's schedule, bounded as everybody's is."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import cast

from mainspring.domain import changes
from mainspring.domain.changes import Change
from mainspring.domain.definition import check_minimum
from mainspring.domain.endpoint import Endpoint
from mainspring.domain.errors import MainspringError, StoreUnavailable
from mainspring.domain.hint import INTERVAL_TTL_DEFAULT, ONE_SHOT_TTL_DEFAULT, make_interval_hint, make_one_shot_hint
from mainspring.domain.instant import rfc3339
from mainspring.domain.schedule import CRON
from mainspring.ports.flows import Intent
from mainspring.ports.stores import Stores

Ending = tuple[str, dict[str, object]]


class HintErrand:
    """Writes the hint in the transaction that moves the next run; limits and pauses of the endpoint win over it."""

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
            (change,) = await self._stores.endpoints.change_endpoints(
                intent.tenant_id, [endpoint.id], lambda each, now: _advised(each, now, intent.request, author)
            )
        except StoreUnavailable:
            raise
        except MainspringError as refusal:
            return "failure", {"code": refusal.code, "error": str(refusal)}
        next_run_at = change.endpoint.next_run_at
        result = {"endpoint": name, "next_run_at": None if next_run_at is None else rfc3339(next_run_at)}
        return "success", {"result": result}


def _advised(endpoint: Endpoint, now: datetime, wanted: Mapping[str, object], author: str) -> Change:
    reason, ttl_ms = str(wanted.get("reason", ""))[:1_000], cast("int | None", wanted.get("ttl_ms"))
    if wanted.get("clear"):
        return changes.clear_hints(endpoint, now, author, CRON)
    if (interval_ms := cast("int | None", wanted.get("interval_ms"))) is not None:
        ttl = INTERVAL_TTL_DEFAULT if ttl_ms is None else timedelta(milliseconds=ttl_ms)
        return changes.put_interval_hint(endpoint, make_interval_hint(now, interval_ms, ttl, reason, author), now, CRON)
    ttl = ONE_SHOT_TTL_DEFAULT if ttl_ms is None else timedelta(milliseconds=ttl_ms)
    at = now + timedelta(milliseconds=cast(int, wanted.get("after_ms") or 0))
    return changes.put_one_shot_hint(endpoint, make_one_shot_hint(now, at, ttl, reason, author), now, CRON)

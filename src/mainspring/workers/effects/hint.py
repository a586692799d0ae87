"""Handle a `hint` step: advice to an endpoint's schedule, within the limits of all advice."""

from collections.abc import Mapping
from datetime import datetime
from typing import cast

from mainspring.domain.advice.approval import propose_for_step
from mainspring.domain.advice.authority import note_refusal
from mainspring.domain.advice.step_hint import apply_step, step_in_words
from mainspring.domain.definition import check_minimum
from mainspring.domain.endpoint import Endpoint
from mainspring.domain.errors import AdviceRefused, MainspringError, StoreUnavailable
from mainspring.domain.instant import rfc3339
from mainspring.domain.rules.apply import ASK, LIVE
from mainspring.domain.rules.judge import mode_of
from mainspring.domain.schedule.changes import Change
from mainspring.domain.schedule.cron import CRON
from mainspring.ports.stores import Stores
from mainspring.ports.workflows import Intent

Ending = tuple[str, dict[str, object]]


class HintHandler:
    """Writes the hint in the transaction that moves the next run; limits and pauses of the endpoint win.

    A hint that a person set is kept: the step then fails, and the endpoint records the refusal. In the modes `ask`,
    `shadow` and `off` of the endpoint nothing changes: the step succeeds with a note, and `ask` stores a proposal.
    """

    def __init__(self, stores: Stores) -> None:
        self._stores = stores

    async def run(self, intent: Intent) -> Ending:
        name = str(intent.request.get("endpoint", ""))
        endpoint = await self._stores.endpoints.endpoint(intent.tenant_id, name)
        if endpoint is None or endpoint.archived_at is not None:
            return _gone(name)
        author = f"execution:{intent.execution_id}"
        tenant = await self._stores.endpoints.tenant(intent.tenant_id)
        try:
            if tenant is not None:
                check_minimum(cast("int | None", intent.request.get("interval_ms")), tenant)
            change, mode, refusal = await self._advise(intent, endpoint, author)
            if change is None:
                return _gone(name)
            if refusal:
                return "failure", {"code": AdviceRefused.code, "error": refusal}
        except StoreUnavailable:
            raise
        except MainspringError as refusal:
            return "failure", {"code": refusal.code, "error": str(refusal)}
        next_run_at = change.endpoint.next_run_at
        result: dict[str, object] = {
            "endpoint": name,
            "next_run_at": None if next_run_at is None else rfc3339(next_run_at),
        }
        if mode != LIVE:
            proposal = change.proposals[0].id if change.proposals else None
            result |= {"applied": False, "mode": mode, "proposal": proposal}
        return "success", {"result": result}

    async def _advise(self, intent: Intent, endpoint: Endpoint, author: str) -> tuple[Change | None, str, str]:
        """The change, the mode that applied, and why it was refused."""
        mode = refusal = ""

        def act(each: Endpoint, modes: Mapping[str, str], now: datetime) -> Change:
            nonlocal mode, refusal
            mode = mode_of(modes, intent.tenant_id, each.id)
            try:
                if mode == ASK:
                    return propose_for_step(intent.request, each, now, intent.execution_id, CRON)
                return apply_step(intent.request, each, now, author, CRON) if mode == LIVE else Change(each)
            except AdviceRefused as refused:
                refusal = str(refused)
                if mode == ASK:
                    return Change(each)
                return note_refusal(each, author, step_in_words(intent.request), refusal, now)

        change = await self._stores.planner.commit_advice(intent.tenant_id, endpoint.id, act)
        return change, mode, refusal


def _gone(name: str) -> Ending:
    error = f"endpoint {name!r} does not exist any more; create it, then retry"
    return "failure", {"code": "no_endpoint", "error": error}

"""Pauses that are advice, from a rule or a model: they may hold a run back, never bring one forward. Pure.

The governor lets a pause win over everything, so an endpoint runs the moment its pause ends. A person who pauses until
then wants that; advice that pauses for a second after every run would turn the limits of its owner into nothing.
"""

from datetime import datetime

from mainspring.domain import changes
from mainspring.domain.changes import Change
from mainspring.domain.endpoint import Endpoint
from mainspring.domain.governor import CronReader
from mainspring.domain.instant import after_ms


def advise_pause(
    endpoint: Endpoint, until: datetime, reason: str, now: datetime, actor: str, cron: CronReader
) -> Change:
    """Pause until `until`, or until the run that is planned anyway and the owner's minimum allow, if that is later."""
    began_at = now if endpoint.is_running else endpoint.anchor_at
    earliest = after_ms(began_at, endpoint.min_interval_ms or 0)
    planned = endpoint.next_run_at if endpoint.next_run_at is not None and not endpoint.is_running else until
    return changes.pause(endpoint, max(until, planned, earliest), reason, now, actor, cron)

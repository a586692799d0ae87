"""How lists are cut into pages, the same on both databases."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.instant import EPOCH
from mainspring.domain.looking import EndpointLook, RunLook, RunMark, RunPage
from mainspring.domain.run import Run
from mainspring.ports.endpoints import EndpointFilter
from mainspring.stores.rows import id_floor

LOOKED_AT_MAX = 20_000  # runs that a filter goes through for one page: about 20 ms
RESULTS_MAX = 20_000  # twice what is kept of one endpoint by default
NEWEST = "run`"  # sorts after every id of a run: '`' follows '_'
# What `shapes.state_of` says, for filters and counts; the tests hold the one against the other.
STATE = """CASE WHEN archived_at IS NOT NULL THEN 'archived' WHEN parked_at IS NOT NULL THEN 'parked'
    WHEN NOT job_active THEN 'job-paused' WHEN paused_until > :now THEN 'paused'
    WHEN deferred_until > :now THEN 'deferred' ELSE 'active' END"""
IN_STATE = f"""(CAST(:state AS text) IS NULL OR (:state = 'failing' AND failure_count > 0)
    OR (:state = 'running' AND lease_until IS NOT NULL)
    OR (:state = 'adapting' AND (hint_interval_expires_at > :now OR hint_one_shot_expires_at > :now))
    OR {STATE} = :state)"""

ENDED_SO = """(CAST(:status AS text) IS NULL OR status = :status
    OR (:status = 'failed' AND status IN ('failure', 'timeout', 'blocked')))"""


def look_fragments(position: str, action: str) -> dict[str, str]:
    """What endpoints and runs are filtered by, in the words of a database."""
    places = ("name", "description", f"{action} ->> 'url'")
    found = " OR ".join(f"{position}(lower({place}), lower(:text)) > 0" for place in places)
    has_text = f"(CAST(:text AS text) IS NULL OR {found})"
    return {"state": STATE, "in_state": IN_STATE, "has_text": has_text, "ended_so": ENDED_SO}


def filtered_query(tenant_id: str, wanted: EndpointFilter) -> tuple[str, Sequence[object]]:
    state = "archived" if wanted.archived else None
    look = EndpointLook(job_id=wanted.job_id, state=state, after=wanted.after, limit=wanted.limit)
    return page_query(tenant_id, look, EPOCH)  # no matter when: neither state depends on it


def page_query(tenant_id: str, wanted: EndpointLook, now: datetime) -> tuple[str, Sequence[object]]:
    """The query that begins a page where the last one ended, and its values."""
    name, last_id = wanted.after or ("", "")
    if wanted.state == "archived":
        return "look_archived_endpoints", (tenant_id, wanted.job_id, wanted.text, name, last_id, wanted.limit)
    filters = (wanted.state, now, wanted.text, name, wanted.limit)
    if wanted.job_id is not None:
        return "look_endpoints_of_job", (tenant_id, wanted.job_id, *filters)
    return "look_endpoints", (tenant_id, *filters)


def in_order(found: Iterable[Endpoint], tenant_id: str) -> list[Endpoint]:
    """Those of the tenant, by name."""
    return sorted((each for each in found if each.tenant_id == tenant_id), key=lambda each: (each.name, each.id))


def bounds_of(wanted: RunLook) -> tuple[str, str]:
    """The ids that a page lies between: below the first, from the second on. Ids begin with their millisecond."""
    until = NEWEST if wanted.until is None else id_floor("run", wanted.until)
    since = "" if wanted.since is None else id_floor("run", wanted.since)
    return min(until, wanted.before_id or NEWEST), since


def is_filtered(wanted: RunLook) -> bool:
    return wanted.status is not None or wanted.trigger is not None


def page_of(found: Sequence[tuple[Run, str]], wanted: RunLook, first: str, looked_to: object) -> RunPage:
    """With where to read on: after the last one shown, or after the last one that a filter has looked at."""
    if len(found) == wanted.limit:
        return RunPage(tuple(found), found[-1][0].id)
    goes_on = looked_to is not None and str(looked_to) > first
    return RunPage(tuple(found), str(looked_to) if goes_on else None)


def marks_of(rows: Iterable[Sequence[Any]]) -> dict[str, list[RunMark]]:
    """By endpoint, in the order of the rows."""
    marks: dict[str, list[RunMark]] = {}
    for endpoint_id, run_id, status, duration_ms in rows:
        marks.setdefault(endpoint_id, []).append(RunMark(run_id, status, duration_ms))
    return marks


def by_hour(rows: Iterable[Sequence[Any]], hours: int) -> list[Mapping[str, int]]:
    """Counts by hour and status. A run that was claimed before an hour's end and began after it belongs to it."""
    counts: list[dict[str, int]] = [{} for _ in range(hours)]
    for hour, status, count in rows:
        place = counts[min(max(int(hour), 0), hours - 1)]
        place[status] = place.get(status, 0) + count
    return list(counts)

"""Reads for lists and overviews: their filters and pages."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from msgspec.structs import replace

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.health import RunResult
from mainspring.domain.instant import EPOCH, FOREVER
from mainspring.domain.kinds.registry import KINDS
from mainspring.domain.run import PINGED, Run, RunStatus
from mainspring.ports.endpoints import EndpointFilter
from mainspring.ports.filters import EndpointListFilter, RunListFilter, RunMark, RunPage, StateCount, Total
from mainspring.ports.notifications import DeliveryFilter
from mainspring.ports.workflows import ExecutionFilter
from mainspring.stores.rows import ENDPOINT_INSTANTS, RUN_SUMMARY_COLUMNS, endpoint_from, id_floor, run_summary_from
from mainspring.stores.session import Database, Row

LOOKED_AT_MAX = 20_000  # runs that a filter searches for one page: about 20 ms
TOTAL_MAX = 10_000  # counts are exact up to this number
RESULTS_MAX = 20_000  # twice the default number of runs kept per endpoint
LAST_ID = "~"  # sorts after every id
NEWEST = "run`"  # sorts after every run id: '`' follows '_'
# What `views.endpoint.state_of` returns, for filters and counts; tests compare both.
IS_DONE = """once_at IS NOT NULL AND anchor_at >= once_at AND NOT (failed_attempts > 0 AND slot_at IS NOT NULL
    AND lease_until IS NULL AND waiting = '') AND (lease_until IS NULL AND waiting = '' OR trigger = 'manual')"""
STATE = f"""CASE WHEN archived_at IS NOT NULL THEN 'archived' WHEN parked_at IS NOT NULL THEN 'parked'
    WHEN {IS_DONE} THEN 'done'
    WHEN NOT job_active THEN 'job-paused' WHEN paused_until > :now THEN 'paused'
    WHEN deferred_until > :now THEN 'deferred' ELSE 'active' END"""
# `Endpoint.is_running` or `Endpoint.is_open`.
IN_HAND = f"(lease_until IS NOT NULL OR waiting <> '' OR (claimed_by = '{PINGED}' AND slot_at IS NOT NULL))"
IN_STATE = f"""(CAST(:state AS text) IS NULL OR (:state = 'failing' AND failure_count > 0)
    OR (:state = 'running' AND {IN_HAND})
    OR (:state = 'adapting' AND (hint_interval_expires_at > :now OR hint_one_shot_expires_at > :now))
    OR {STATE} = :state)"""

ENDED_SO = """(CAST(:status AS text) IS NULL OR status = :status
    OR (:status = 'failed' AND status IN ('failure', 'timeout', 'blocked')))"""
Counted = EndpointListFilter | RunListFilter | ExecutionFilter | DeliveryFilter
_INSTANTS = [index for index, column in enumerate(RUN_SUMMARY_COLUMNS) if column.endswith("_at")]


class SqlListStore:
    def __init__(self, database: Database, looked_at_max: int = LOOKED_AT_MAX) -> None:
        self._db = database
        self._looked_at_max = looked_at_max

    async def endpoints(self, tenant_id: str, wanted: EndpointListFilter) -> list[Endpoint]:
        async with self._db.reading(tenant_id) as session:
            query, values = page_query(tenant_id, wanted, await session.now())
            rows = await session.rows(query, *values)
        return [endpoint_from(session.instants(row, ENDPOINT_INSTANTS)) for row in rows]

    async def total(self, tenant_id: str, wanted: Counted) -> Total:
        async with self._db.reading(tenant_id) as session:
            now = await session.now()
            query, most, values = total_query(tenant_id, wanted, now, self._looked_at_max)
            rows = await session.rows(query, *values)
        return total_of(rows[0], most)

    async def runs(self, tenant_id: str, wanted: RunListFilter) -> RunPage:
        if wanted.oldest_first:
            return await self._runs_forwards(tenant_id, wanted)
        before, first = bounds_of(wanted)
        filters = (wanted.status, wanted.trigger, wanted.limit)
        looked_to: object = None
        async with self._db.reading(tenant_id) as session:
            if wanted.endpoint_id is not None:
                rows = await session.rows(
                    "look_runs_of_endpoint", tenant_id, wanted.endpoint_id, before, first, *filters
                )
            else:
                if is_filtered(wanted):
                    looked_to = await session.value("run_so_far_back", tenant_id, before, self._looked_at_max)
                rows = await session.rows("look_runs", tenant_id, before, max(first, str(looked_to or "")), *filters)
        return page_of([run_summary_from(session.instants(row, _INSTANTS)) for row in rows], wanted, first, looked_to)

    async def _runs_forwards(self, tenant_id: str, wanted: RunListFilter) -> RunPage:
        after, before = bounds_forwards(wanted)
        filters = (wanted.status, wanted.trigger, wanted.limit)
        looked_to: object = None
        async with self._db.reading(tenant_id) as session:
            if wanted.endpoint_id is not None:
                of = (tenant_id, wanted.endpoint_id, after, before)
                rows = await session.rows("look_runs_of_endpoint_forwards", *of, *filters)
            else:
                if is_filtered(wanted):
                    looked_to = await session.value("run_so_far_ahead", tenant_id, after, self._looked_at_max)
                end = end_of(before, looked_to)
                rows = await session.rows("look_runs_forwards", tenant_id, after, end, *filters)
        return page_of([run_summary_from(session.instants(row, _INSTANTS)) for row in rows], wanted, before, looked_to)

    async def recent(self, tenant_id: str, endpoint_ids: Sequence[str], limit: int) -> dict[str, list[RunMark]]:
        async with self._db.reading(tenant_id) as session:
            return marks_of(await session.rows("recent_runs", list(endpoint_ids), tenant_id, limit))

    async def results(self, tenant_id: str, endpoint_id: str, since: datetime) -> list[RunResult]:
        async with self._db.reading(tenant_id) as session:
            rows = await session.rows("results", tenant_id, endpoint_id, id_floor("run", since), RESULTS_MAX)
        found = [session.instants(row, (0,)) for row in rows]
        return [RunResult(at, RunStatus(str(status)), took) for at, status, took in _typed(found)]

    async def count_states(self, tenant_id: str, late_before: datetime) -> list[StateCount]:
        async with self._db.reading(tenant_id) as session:
            now = await session.now()
            rows = await session.rows("count_states", now, late_before, tenant_id)
        return [StateCount(*row) for row in _typed(rows)]

    async def count_runs(self, tenant_id: str, since: datetime, hours: int) -> list[Mapping[str, int]]:
        before = id_floor("run", since + timedelta(hours=hours))
        async with self._db.reading(tenant_id) as session:
            rows = await session.rows("count_runs", since, tenant_id, id_floor("run", since), before)
        return by_hour(_typed(rows), hours)

    async def upcoming(self, tenant_id: str, limit: int) -> list[Endpoint]:
        async with self._db.reading(tenant_id) as session:
            rows = await session.rows("upcoming_endpoints", tenant_id, FOREVER, limit)
        return [endpoint_from(session.instants(row, ENDPOINT_INSTANTS)) for row in rows]

    async def names(self, tenant_id: str, endpoint_ids: Sequence[str]) -> dict[str, str]:
        async with self._db.reading(tenant_id) as session:
            return {
                row[0]: row[1] for row in _typed(await session.rows("endpoint_names", tenant_id, list(endpoint_ids)))
            }


def _typed(rows: Sequence[Row]) -> Sequence[Sequence[Any]]:
    """The schema types the columns; the driver does not."""
    return rows


def look_fragments(position: str, action: str) -> dict[str, str]:
    """What endpoints and runs are filtered by, in the syntax of a database."""
    searched = dict.fromkeys(field for kind in KINDS for field in kind.searched)
    places = ("name", "description", *(f"{action} ->> '{field}'" for field in searched))
    found = " OR ".join(f"{position}(lower({place}), lower(:text)) > 0" for place in places)
    has_text = f"(CAST(:text AS text) IS NULL OR {found})"
    states = {"is_done": IS_DONE, "state": STATE, "in_state": IN_STATE, "in_hand": IN_HAND}
    return states | {"has_text": has_text, "ended_so": ENDED_SO}


def filtered_query(tenant_id: str, wanted: EndpointFilter) -> tuple[str, Sequence[object]]:
    state = "archived" if wanted.archived else None
    look = EndpointListFilter(job_id=wanted.job_id, state=state, after=wanted.after, limit=wanted.limit)
    return page_query(tenant_id, look, EPOCH)  # any time: neither state depends on it


def page_query(tenant_id: str, wanted: EndpointListFilter, now: datetime) -> tuple[str, Sequence[object]]:
    """The query for a page that begins where the last one ended, and its values."""
    if wanted.order != "name":
        return _other_order(tenant_id, wanted, now)
    name, last_id = wanted.after or ("", "")
    if wanted.state == "archived":
        return "look_archived_endpoints", (tenant_id, wanted.job_id, wanted.text, name, last_id, wanted.limit)
    filters = (wanted.state, now, wanted.text, name, wanted.limit)
    if wanted.job_id is not None:
        return "look_endpoints_of_job", (tenant_id, wanted.job_id, *filters)
    return "look_endpoints", (tenant_id, *filters)


def _other_order(tenant_id: str, wanted: EndpointListFilter, now: datetime) -> tuple[str, Sequence[object]]:
    filters = (tenant_id, wanted.state, wanted.job_id, now, wanted.text)
    place, last_id = wanted.after or (None, LAST_ID)
    if wanted.order == "-name":
        return "look_endpoints_backwards", (*filters, place, last_id, wanted.limit)
    if wanted.order == "-next_run_at":
        at = FOREVER if place is None else datetime.fromisoformat(place)
        return "look_endpoints_by_next_run_backwards", (*filters, FOREVER, at, last_id, wanted.limit)
    at, last_id = (EPOCH, "") if place is None else (datetime.fromisoformat(place), last_id)
    return "look_endpoints_by_next_run", (*filters, FOREVER, at, last_id, wanted.limit)


def total_query(tenant_id: str, wanted: Counted, now: datetime, looked_at_max: int) -> tuple[str, int, list[object]]:
    """The query that counts the items of a list, the number of rows it reads at most, and its values."""
    most = TOTAL_MAX + 1
    match wanted:
        case EndpointListFilter():
            return "total_endpoints", most, [tenant_id, wanted.state, wanted.job_id, now, wanted.text, most]
        case DeliveryFilter():
            status = None if wanted.status is None else wanted.status.value
            return "total_deliveries", most, [tenant_id, wanted.subscription_id, status, most]
        case ExecutionFilter():
            status = None if wanted.status is None else wanted.status.value
            filters = [wanted.workflow, status, wanted.correlation, wanted.version, wanted.step]
            most = looked_at_max if wanted.in_need or any(each is not None for each in filters) else most
            return "total_executions", most, [*filters, int(wanted.in_need), tenant_id, most]
        case RunListFilter():
            before, first = bounds_of(replace(wanted, before_id=None, oldest_first=False))
            of = [] if wanted.endpoint_id is None else [wanted.endpoint_id]
            most = looked_at_max if is_filtered(wanted) else most
            query = "total_runs_of_endpoint" if of else "total_runs"
            return query, most, [wanted.status, wanted.trigger, tenant_id, *of, before, first, most]


def total_of(row: Sequence[object], most: int) -> Total:
    """`row`: how many rows were read, and (with a filter) how many of them match."""
    looked_at, matching = int(str(row[0])), int(str(row[-1]))
    return Total(min(matching, TOTAL_MAX), looked_at < most and matching <= TOTAL_MAX)


def in_order(found: Iterable[Endpoint], tenant_id: str) -> list[Endpoint]:
    """Those of the tenant, by name."""
    return sorted((each for each in found if each.tenant_id == tenant_id), key=lambda each: (each.name, each.id))


def bounds_of(wanted: RunListFilter) -> tuple[str, str]:
    """The ids that a page is between: below the first, from the second on. Ids begin with their millisecond."""
    until = NEWEST if wanted.until is None else id_floor("run", wanted.until)
    since = "" if wanted.since is None else id_floor("run", wanted.since)
    return min(until, wanted.before_id or NEWEST), since


def bounds_forwards(wanted: RunListFilter) -> tuple[str, str]:
    """The same for a page that is read oldest first: above the first, below the second."""
    until = NEWEST if wanted.until is None else id_floor("run", wanted.until)
    since = "" if wanted.since is None else id_floor("run", wanted.since)
    return max(since, wanted.before_id or ""), until


def end_of(before: str, looked_to: object) -> str:
    """The end of a page that is read forwards: the last row that a filter has read."""
    return before if looked_to is None else min(before, f"{looked_to}{LAST_ID}")


def is_filtered(wanted: RunListFilter) -> bool:
    return wanted.status is not None or wanted.trigger is not None


def page_of(found: Sequence[tuple[Run, str]], wanted: RunListFilter, first: str, looked_to: object) -> RunPage:
    """With the position to continue from: after the last item shown, or after the last row that a filter has read.

    `first` is the id at the far end of the requested range.
    """
    if len(found) == wanted.limit:
        return RunPage(tuple(found), found[-1][0].id)
    goes_on = looked_to is not None and (str(looked_to) < first if wanted.oldest_first else str(looked_to) > first)
    return RunPage(tuple(found), str(looked_to) if goes_on else None)


def marks_of(rows: Iterable[Sequence[Any]]) -> dict[str, list[RunMark]]:
    """By endpoint, in the order of the rows."""
    marks: dict[str, list[RunMark]] = {}
    for endpoint_id, run_id, status, duration_ms in rows:
        marks.setdefault(endpoint_id, []).append(RunMark(run_id, status, duration_ms))
    return marks


def by_hour(rows: Iterable[Sequence[Any]], hours: int) -> list[Mapping[str, int]]:
    """Counts by hour and status. A run that was claimed before an hour's end and started later belongs to that hour."""
    counts: list[dict[str, int]] = [{} for _ in range(hours)]
    for hour, status, count in rows:
        place = counts[min(max(int(hour), 0), hours - 1)]
        place[status] = place.get(status, 0) + count
    return list(counts)

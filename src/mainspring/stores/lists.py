"""How lists are cut into pages, the same on both databases."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.looking import RunLook, RunMark, RunPage
from mainspring.domain.run import Run
from mainspring.stores.rows import id_floor

LOOKED_AT_MAX = 20_000  # runs that a filter goes through for one page: about 20 ms
RESULTS_MAX = 20_000  # twice what is kept of one endpoint by default
NEWEST = "run`"  # sorts after every id of a run: '`' follows '_'


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

"""A database that is away while a page is judged: the page is judged later, not skipped."""

import pytest
from tests.stores.test_planner import plan, rule, saying
from tests.stores.world import FixedClock, add, an_endpoint, get, run_slot

from mainspring.domain.errors import StoreUnavailable
from mainspring.domain.rules.judge import RuleResult
from mainspring.domain.rules.run_window import RunWindow
from mainspring.observe import Metrics
from mainspring.ports.stores import Stores
from mainspring.stores.planner import SqlPlannerStore
from mainspring.workers.planner import Planner


class WindowAway(SqlPlannerStore):
    """A store whose database is away when the planner asks for the runs of a window."""

    async def window(self, wanted: RunWindow) -> tuple[RuleResult, ...]:
        raise StoreUnavailable("the database does not answer")


async def test_page_is_judged_later_if_the_database_is_away_while_a_rule_reads_it(
    stores: Stores, clock: FixedClock
) -> None:
    watch = an_endpoint("watch")
    await add(stores, watch)
    await rule(stores, watch, when="window['10m'].size() > 0", interval="30s")
    await run_slot(stores, clock, saying("{}"), took_ms=0)
    known = stores.planner
    assert isinstance(known, SqlPlannerStore)
    away = WindowAway(known._db, known._events, known._wake, known._cron)

    with pytest.raises(StoreUnavailable):
        await Planner(away, Metrics(), "planner-1").run_once()

    assert (await get(stores, watch)).interval_hint is None
    await plan(stores)
    assert (await get(stores, watch)).interval_hint is not None

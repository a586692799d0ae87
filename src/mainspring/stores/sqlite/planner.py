"""Rules and their pages of finished runs, on SQLite."""

import asyncio
from collections.abc import Callable, Sequence

import apsw

from mainspring.domain.event import Event
from mainspring.domain.rules.judge import (
    Decisions,
    FactsWanted,
    Health,
    HealthWanted,
    JobMember,
    JudgedPage,
    RuleFacts,
    RuleResult,
    StoredRule,
)
from mainspring.domain.rules.run_window import RunWindow
from mainspring.domain.schedule.governor import CronReader
from mainspring.ports.planner import RuleRevision
from mainspring.stores.rows import state_values
from mainspring.stores.rule_rows import (
    CURSOR,
    WITHDRAWING,
    apply_firings,
    chosen_rows,
    cut_page,
    edited_values,
    health_bounds,
    health_from,
    last_id,
    result_from,
    rule_states,
    rule_taken,
    rule_values,
    state_rows,
    stored_rule,
    window_ids,
    withdrawn_because,
)
from mainspring.stores.sqlite.connection import SqliteConnection, bound, instant
from mainspring.stores.sqlite.database import SqliteDatabase
from mainspring.stores.sqlite.endpoints import add_events
from mainspring.stores.sqlite.proposals import place_proposals, withdraw_proposals
from mainspring.stores.sqlite.schedule import POLL_S, encoded, endpoint_row


def begin_judging(db: SqliteConnection) -> None:
    """Where there is no rule yet: the first one judges what comes from now on."""
    if not db.value("any_rule"):
        db.run("start_planner_cursor", CURSOR, str(db.value("newest_event")))


class SqlitePlanner:
    def __init__(self, database: SqliteDatabase, wake: Callable[[], None], cron: CronReader) -> None:
        self._db = database
        self._wake = wake
        self._cron = cron
        self._seen_version = 0

    async def next_page(self, limit: int) -> JudgedPage | None:
        if not self._db.look(lambda db: db.value("any_rule")):
            return None
        return await self._db.read(lambda db: self._page(db, limit))

    def _page(self, db: SqliteConnection, limit: int) -> JudgedPage | None:
        cursor = db.value("planner_cursor", CURSOR)
        if cursor is None:
            return None
        rows = db.rows("planner_events", int(str(cursor)), limit)
        if not rows:
            return None
        upto, runs = cut_page((str(seq), None if text is None else str(text)) for seq, text in rows)
        if not runs and len(rows) < limit:
            return None
        ids = encoded(list({run.endpoint_id for run in runs}))
        members = [_member(row) for row in db.rows("members_of_jobs", ids)]
        jobs = encoded(list({member.job_id for member in members}))
        rules = [_stored(row) for row in db.rows("rules_of_jobs", jobs)]
        states = rule_states(
            (*row[:3], instant(row[3]), *row[4:6])
            for row in db.rows("states_of_rules", encoded([stored.id for stored in rules]))
        )
        modes = _modes(db)
        now = self._db.clock.now()
        return JudgedPage(str(cursor), upto, now, runs, tuple(rules), tuple(members), states, modes)

    async def facts(self, wants: Sequence[FactsWanted]) -> RuleFacts:
        def work(db: SqliteConnection) -> RuleFacts:
            results = {
                want.endpoint_id: tuple(
                    _result(row)
                    for row in db.rows("newest_results", want.headers, want.endpoint_id, last_id(want), want.results)
                )
                for want in wants
            }
            now = self._db.clock.now()
            health = {
                each.endpoint_id: _health(db, HealthWanted(each.endpoint_id, now)) for each in wants if each.health
            }
            return RuleFacts(results, health)

        return await self._db.read(work)

    async def window(self, wanted: RunWindow) -> tuple[RuleResult, ...]:
        def work(db: SqliteConnection) -> tuple[RuleResult, ...]:
            span = bound((wanted.since, wanted.until))
            found = db.rows("window_results", wanted.endpoint_id, *window_ids(wanted), *span, wanted.runs_max)
            rows = chosen_rows(found, wanted)
            ids = encoded([row[0] for row in rows]) if wanted.bodies else "[]"
            bodies = {row[0]: row[1] for row in db.rows("bodies_of_runs", ids)}
            return tuple(_result((*row[:6], bodies.get(row[0]), "")) for row in rows)

        return await self._db.read(work)

    async def health(self, wanted: HealthWanted) -> Health:
        return await self._db.read(lambda db: _health(db, wanted))

    async def commit_page(self, page: JudgedPage, decisions: Decisions) -> bool:
        def work(db: SqliteConnection) -> bool:
            if not db.run("move_planner_cursor", page.upto, CURSOR, page.cursor):
                return False
            ids = encoded(list(dict.fromkeys(firing.target_id for firing in decisions.firings)))
            locked = [endpoint_row(row) for row in db.rows("endpoints_by_id", ids)] if decisions.firings else []
            now = self._db.clock.now()
            applied = apply_firings(locked, decisions, _modes(db), now, self._cron)
            for endpoint in applied.changed:
                db.run("write_state", *state_values(endpoint), endpoint.id)
            db.run_many("put_rule_state", [bound(row) for row in state_rows(page, decisions, applied.refusals, now)])
            add_events(db, [*applied.events, *place_proposals(db, applied.proposals, now)])
            return True

        if not await self._db.write(work):
            return False
        if decisions.firings:
            self._wake()
        return True

    async def wait_for_runs(self, timeout_s: float) -> None:
        """Whoever commits to the file, of any process, moves its version."""
        loop = asyncio.get_running_loop()
        until = loop.time() + timeout_s
        while (left := until - loop.time()) > 0:
            version = self._db.look(lambda db: db.data_version())
            if version != self._seen_version:
                self._seen_version = version
                return
            await asyncio.sleep(min(left, POLL_S))

    async def add_rules(self, rules: Sequence[StoredRule], event: Event) -> None:
        def work(db: SqliteConnection) -> None:
            begin_judging(db)
            for position, stored in enumerate(rules):
                try:
                    db.run("add_rule", *rule_values(stored, position))
                except apsw.ConstraintError as fault:
                    raise rule_taken(stored.rule.name) from fault
            add_events(db, [event])

        await self._db.write(work)

    async def put_rule(self, stored: StoredRule, event: Event) -> bool:
        def work(db: SqliteConnection) -> bool:
            try:
                if not db.run("put_rule", *edited_values(stored)):
                    return False
            except apsw.ConstraintError as fault:
                raise rule_taken(stored.rule.name) from fault
            db.run("recount_rule", stored.id)
            add_events(db, [event])
            return True

        return await self._db.write(work)

    async def remove_rules(self, tenant_id: str, ids: Sequence[str], event: Event) -> int:
        def work(db: SqliteConnection) -> int:
            removed = db.run("remove_rules", tenant_id, encoded(ids))
            if removed:
                add_events(db, [event])
            return removed

        return await self._db.write(work)

    async def rules(self, tenant_id: str, job_id: str | None = None) -> list[RuleRevision]:
        def work(db: SqliteConnection) -> list[RuleRevision]:
            rows = db.rows("rules_of_tenant", tenant_id, job_id)
            states = rule_states(
                (*row[:3], instant(row[3]), *row[4:6])
                for row in db.rows("states_of_rules", encoded([row[0] for row in rows]))
            )
            return [
                RuleRevision(
                    _stored(row[:6]), str(row[6]), {ep: each for (rule, ep), each in states.items() if rule == row[0]}
                )
                for row in rows
            ]

        return await self._db.read(work)

    async def modes(self) -> dict[str, str]:
        return await self._db.read(_modes)

    async def set_mode(self, scope: str, mode: str, event: Event) -> None:
        def work(db: SqliteConnection) -> None:
            db.run("set_planner_mode", scope, mode)
            events = [event]
            if mode in WITHDRAWING:
                events += withdraw_proposals(db, scope, event.actor, withdrawn_because(mode), self._db.clock.now())
            add_events(db, events)

        await self._db.write(work)


def _member(row: tuple[object, ...]) -> JobMember:
    return JobMember(*row[:4], instant(row[4]), *row[5:10], instant(row[10]))  # type: ignore[arg-type, call-arg]  # columns


def _health(db: SqliteConnection, wanted: HealthWanted) -> Health:
    (row,) = db.rows("health", *bound(health_bounds(wanted)))
    return health_from(row)


def _modes(db: SqliteConnection) -> dict[str, str]:
    return {str(scope): str(mode) for scope, mode in db.rows("planner_modes")}


def _stored(row: tuple[object, ...]) -> StoredRule:
    return stored_rule((*row[:5], instant(row[5])))


def _result(row: tuple[object, ...]) -> RuleResult:
    return result_from((*row[:4], instant(row[4]), *row[5:]))

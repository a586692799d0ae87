"""Rules and their pages of finished runs, on PostgreSQL."""

import asyncio
from collections.abc import Callable, Sequence

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
from mainspring.failpoints import failpoint, is_on
from mainspring.ports.planner import RuleRevision
from mainspring.stores.postgres.database import PostgresDatabase, PostgresSession, as_json, columns
from mainspring.stores.postgres.endpoints import add_events
from mainspring.stores.postgres.events import horizon
from mainspring.stores.postgres.proposals import place_proposals, withdraw_proposals
from mainspring.stores.postgres.schedule import lock
from mainspring.stores.rows import endpoint_from, state_values
from mainspring.stores.rule_rows import (
    CURSOR,
    WITHDRAWING,
    AppliedFirings,
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
from mainspring.stores.session import UniqueViolation

POLL_S = 0.25  # a notification for every finished run would cost each of them a lock at commit


async def begin_judging(session: PostgresSession) -> None:
    """Where there is no rule yet: the first one judges what comes from now on."""
    if not await session.value("any_rule"):
        await session.run("start_planner_cursor", CURSOR, await session.value("newest_event"))


class PostgresPlanner:
    def __init__(self, database: PostgresDatabase, wake: Callable[[], None], cron: CronReader) -> None:
        self._db = database
        self._wake = wake
        self._cron = cron

    async def next_page(self, limit: int) -> JudgedPage | None:
        async with self._db.statement() as session:
            if not await session.value("any_rule"):
                return None
            cursor = await session.value("planner_cursor", CURSOR)
            if cursor is None:
                return None
            tx, _, seq = str(cursor).partition(".")
            rows = await session.rows("planner_events", tx, int(seq), await horizon(session), limit)
            if not rows:
                return None
            upto, runs = cut_page((str(row[0]), None if row[1] is None else str(row[1])) for row in rows)
            if not runs and len(rows) < limit:
                return None
            ids = list({run.endpoint_id for run in runs})
            members = [JobMember(*row) for row in await session.rows("members_of_jobs", ids)]  # type: ignore[arg-type]  # columns
            jobs = list({member.job_id for member in members})
            rules = [stored_rule(row) for row in await session.rows("rules_of_jobs", jobs)]
            states = rule_states(await session.rows("states_of_rules", [stored.id for stored in rules]))
            modes = await _modes(session)
            now = await self._db.now_in(session)
        return JudgedPage(str(cursor), upto, now, runs, tuple(rules), tuple(members), states, modes)

    async def facts(self, wants: Sequence[FactsWanted]) -> RuleFacts:
        now = await self._db.now()
        results: dict[str, list[RuleResult]] = {want.endpoint_id: [] for want in wants}
        health: dict[str, Health] = {}
        async with self._db.statement() as session:
            limits = [want.results for want in wants]
            headers = [want.headers for want in wants]
            last_ids = [last_id(want) for want in wants]
            for row in await session.rows("newest_results", list(results), limits, headers, last_ids):
                result = result_from(row)
                results[result.endpoint_id].append(result)
            for want in wants:
                if want.health:
                    health[want.endpoint_id] = await _health(session, HealthWanted(want.endpoint_id, now))
        return RuleFacts({endpoint_id: tuple(found) for endpoint_id, found in results.items()}, health)

    async def window(self, wanted: RunWindow) -> tuple[RuleResult, ...]:
        async with self._db.statement() as session:
            found = await session.rows(
                "window_results", wanted.endpoint_id, *window_ids(wanted), wanted.since, wanted.until, wanted.runs_max
            )
            rows = chosen_rows(found, wanted)
            bodies: dict[object, object] = {}
            if wanted.bodies:
                found = await session.rows("bodies_of_runs", [row[0] for row in rows])
                bodies = {row[0]: row[1] for row in found}
        return tuple(result_from((*row[:6], bodies.get(row[0]), "")) for row in rows)

    async def health(self, wanted: HealthWanted) -> Health:
        async with self._db.statement() as session:
            return await _health(session, wanted)

    async def commit_page(self, page: JudgedPage, decisions: Decisions) -> bool:
        async with self._db.transaction() as session:
            moved = await session.run("move_planner_cursor", page.upto, CURSOR, page.cursor)
            if not moved and not is_on("no_page_fence"):
                return False
            applied, now = AppliedFirings([], list(decisions.events), {}, []), page.now
            if decisions.firings:
                ids = list({firing.target_id for firing in decisions.firings})
                _, now = await lock(self._db, session, ids)
                locked = [endpoint_from(row) for row in await session.rows("endpoints_by_id", ids)]
                applied = apply_firings(locked, decisions, await _modes(session), now, self._cron)
                states = [(*state_values(endpoint), endpoint.id) for endpoint in applied.changed]
                if states:
                    await session.run("write_states", as_json(states))
                    await self._db.notify(session)
            if decisions.states:
                await session.run("put_rule_states", *columns(state_rows(page, decisions, applied.refusals, now), 6))
            if events := [*applied.events, *await place_proposals(session, applied.proposals, now)]:
                await add_events(session, events)
            failpoint("inside_plan")
        if decisions.firings:
            self._wake()
        return True

    async def wait_for_runs(self, timeout_s: float) -> None:
        await asyncio.sleep(min(timeout_s, POLL_S))

    async def add_rules(self, rules: Sequence[StoredRule], event: Event) -> None:
        async with self._db.transaction() as session:
            await begin_judging(session)
            await session.only(event.tenant_id)
            for position, stored in enumerate(rules):
                try:
                    await session.run("add_rule", *rule_values(stored, position))
                except UniqueViolation as fault:
                    raise rule_taken(stored.rule.name) from fault
            await add_events(session, [event])

    async def put_rule(self, stored: StoredRule, event: Event) -> bool:
        async with self._db.transaction() as session:
            try:
                if not await session.run("put_rule", *edited_values(stored)):
                    return False
            except UniqueViolation as fault:
                raise rule_taken(stored.rule.name) from fault
            await session.run("recount_rule", stored.id)
            await add_events(session, [event])
            return True

    async def remove_rules(self, tenant_id: str, ids: Sequence[str], event: Event) -> int:
        async with self._db.transaction(tenant_id) as session:
            removed = await session.run("remove_rules", tenant_id, list(ids))
            if removed:
                await add_events(session, [event])
            return removed

    async def rules(self, tenant_id: str, job_id: str | None = None) -> list[RuleRevision]:
        async with self._db.statement(tenant_id) as session:
            rows = await session.rows("rules_of_tenant", tenant_id, job_id)
            states = rule_states(await session.rows("states_of_rules", [row[0] for row in rows]))
        return [
            RuleRevision(
                stored_rule(row[:6]), str(row[6]), {ep: each for (rule, ep), each in states.items() if rule == row[0]}
            )
            for row in rows
        ]

    async def modes(self) -> dict[str, str]:
        async with self._db.statement() as session:
            return await _modes(session)

    async def set_mode(self, scope: str, mode: str, event: Event) -> None:
        async with self._db.transaction() as session:
            await session.run("set_planner_mode", scope, mode)
            events = [event]
            if mode in WITHDRAWING:
                now = await self._db.now_in(session)
                events += await withdraw_proposals(session, scope, event.actor, withdrawn_because(mode), now)
            await add_events(session, events)


async def _health(session: PostgresSession, wanted: HealthWanted) -> Health:
    (row,) = await session.rows("health", *health_bounds(wanted))
    return health_from(row)


async def _modes(session: PostgresSession) -> dict[str, str]:
    return {str(row[0]): str(row[1]) for row in await session.rows("planner_modes")}

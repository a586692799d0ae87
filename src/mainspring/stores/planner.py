"""Rules, and the pages of finished runs that they judge."""

from collections.abc import Callable, Sequence
from functools import partial

from mainspring.domain.event import Event
from mainspring.domain.rules.apply import RuleState
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
from mainspring.domain.schedule.changes import Advice, Change
from mainspring.domain.schedule.governor import CronReader
from mainspring.failpoints import failpoint, is_on
from mainspring.ports.planner import RuleRevision
from mainspring.stores.endpoints import change_locked, endpoint_row
from mainspring.stores.events import EventReader, add_events
from mainspring.stores.proposals import place_proposals, withdraw_proposals
from mainspring.stores.rows import state_values
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
    missing_members,
    result_from,
    rule_states,
    rule_taken,
    rule_values,
    state_rows,
    stored_rule,
    window_ids,
    withdrawn_because,
)
from mainspring.stores.session import Database, Row, Session, UniqueViolation

MODES_LOCK = 0x6D61696E73706D  # "mainspm": shared by commits of advice, exclusive for a switch of a mode


async def begin_judging(session: Session) -> None:
    """Start at the newest event if there is no rule yet: the first rule judges runs that finish from now on."""
    if not await session.value("any_rule"):
        await session.run("start_planner_cursor", CURSOR, str(await session.value("newest_event")))


class SqlPlannerStore:
    def __init__(self, database: Database, events: EventReader, wake: Callable[[], None], cron: CronReader) -> None:
        """`wake` notifies a waiting scheduler of this process that a schedule moved."""
        self._db = database
        self._events = events
        self._wake = wake
        self._cron = cron

    async def next_page(self, limit: int) -> JudgedPage | None:
        async with self._db.looking() as session:
            if not await session.value("any_rule"):
                return None
        return await self._db.run_read(partial(self._page, limit=limit))

    async def _page(self, session: Session, limit: int) -> JudgedPage | None:
        cursor = await session.value("planner_cursor", CURSOR)
        if cursor is None:
            return None
        texts = await self._events.texts_after(session, str(cursor), limit)
        if not texts:
            return None
        upto, runs = cut_page(texts)
        if not runs and len(texts) < limit:
            return None
        rules, members = await _rules_and_members(session, {run.endpoint_id for run in runs})
        found = await session.rows(
            "states_of_members", [stored.id for stored in rules], [member.id for member in members]
        )
        states = rule_states(session.instants(row, (3,)) for row in found)
        modes = await _modes(session)
        now = await session.now()
        return JudgedPage(str(cursor), upto, now, runs, tuple(rules), tuple(members), states, modes)

    async def facts(self, wants: Sequence[FactsWanted]) -> RuleFacts:
        async def work(session: Session) -> RuleFacts:
            results: dict[str, list[RuleResult]] = {want.endpoint_id: [] for want in wants}
            each = [(want.endpoint_id, want.results, want.headers, last_id(want)) for want in wants]
            for row in await session.rows_for("newest_results", each):
                result = _result(session, row)
                results[result.endpoint_id].append(result)
            now = await session.now()
            health = {
                want.endpoint_id: await _health(session, HealthWanted(want.endpoint_id, now))
                for want in wants
                if want.health
            }
            return RuleFacts({endpoint_id: tuple(found) for endpoint_id, found in results.items()}, health)

        return await self._db.run_read(work)

    async def window(self, wanted: RunWindow) -> tuple[RuleResult, ...]:
        async def work(session: Session) -> tuple[RuleResult, ...]:
            found = await session.rows(
                "window_results", wanted.endpoint_id, *window_ids(wanted), wanted.since, wanted.until, wanted.runs_max
            )
            rows = chosen_rows(found, wanted)
            bodies: dict[object, object] = {}
            if wanted.bodies:
                bodies = {row[0]: row[1] for row in await session.rows("bodies_of_runs", [row[0] for row in rows])}
            return tuple(_result(session, (*row[:6], bodies.get(row[0]), "")) for row in rows)

        return await self._db.run_read(work)

    async def health(self, wanted: HealthWanted) -> Health:
        async with self._db.reading() as session:
            return await _health(session, wanted)

    async def commit_page(self, page: JudgedPage, decisions: Decisions) -> bool:
        async with self._db.transaction() as session:
            moved = await session.run("move_planner_cursor", page.upto, CURSOR, page.cursor)
            if not moved and not is_on("no_page_fence"):
                return False
            applied, now = AppliedFirings([], list(decisions.events), {}, []), page.now
            if decisions.firings:
                ids = list(dict.fromkeys(firing.target_id for firing in decisions.firings))
                modes = await _held_modes(session)
                _, now = await session.lock_endpoints(ids)
                locked = [endpoint_row(session, row) for row in await session.rows("endpoints_by_id", ids)]
                applied = apply_firings(locked, decisions, modes, now, self._cron)
                if applied.changed:
                    states = [(*state_values(endpoint), endpoint.id) for endpoint in applied.changed]
                    await session.update("write_states", states)
                    await session.notify()
            await session.insert("put_rule_states", state_rows(page, decisions, applied.refusals, now))
            events = [*applied.events, *await place_proposals(session, applied.proposals, now)]
            await add_events(session, events)
            failpoint("inside_plan")
        if decisions.firings:
            self._wake()
        return True

    async def commit_advice(self, tenant_id: str, endpoint_id: str, advice: Advice) -> Change | None:
        async with self._db.transaction(tenant_id) as session:
            modes = await _held_modes(session)
            found = await change_locked(session, tenant_id, [endpoint_id], lambda each, now: advice(each, modes, now))
        self._wake()
        return found[0] if found else None

    async def wait_for_runs(self, timeout_s: float) -> None:
        await self._db.wait_for_commit(timeout_s)

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

    async def rules(
        self, tenant_id: str, job_id: str | None = None, endpoint_id: str | None = None
    ) -> list[RuleRevision]:
        async def work(session: Session) -> list[RuleRevision]:
            rows = await session.rows("rules_of_tenant", tenant_id, job_id, endpoint_id)
            states = await _states(session, [row[0] for row in rows])
            return [
                RuleRevision(
                    _rule(session, row[:6]),
                    str(row[6]),
                    {about_id: state for (rule_id, about_id), state in states.items() if rule_id == row[0]},
                )
                for row in rows
            ]

        return await self._db.run_read(work, tenant_id)

    async def modes(self) -> dict[str, str]:
        async with self._db.reading() as session:
            return await _modes(session)

    async def set_mode(self, scope: str, mode: str, event: Event) -> None:
        async with self._db.transaction() as session:
            await session.lock("lock_planner_modes", MODES_LOCK)
            await session.run("set_planner_mode", scope, mode)
            events = [event]
            if mode in WITHDRAWING:
                now = await session.now()
                events += await withdraw_proposals(session, scope, event.actor, withdrawn_because(mode), now)
            await add_events(session, events)


def _rule(session: Session, row: Row) -> StoredRule:
    return stored_rule(session.instants(row, (5,)))


def _result(session: Session, row: Row) -> RuleResult:
    return result_from(session.instants(row, (4,)))


async def _rules_and_members(session: Session, ran: set[str]) -> tuple[list[StoredRule], list[JobMember]]:
    """Read the rules that runs of these endpoints concern, and the endpoints that these rules are about."""
    members = await _members(session, ran)
    jobs = list({member.job_id for member in members})
    tenants = list({member.tenant_id for member in members})
    rules = [_rule(session, row) for row in await session.rows("rules_of_runs", list(ran), jobs, tenants)]
    ids, named, whole = missing_members(rules, ran)
    for job_id, names in named.items():
        ids.update(str(row[0]) for row in await session.rows("ids_of_names", [job_id], list(names)))
    if whole:
        ids.update(str(row[0]) for row in await session.rows("ids_of_jobs", list(whole)))
    if further := ids - ran:
        members += await _members(session, further)
    return rules, sorted(members, key=lambda member: member.id)


async def _members(session: Session, ids: set[str]) -> list[JobMember]:
    found = await session.rows("job_members", list(ids))
    return [JobMember(*session.instants(row, (4, 10))) for row in found]  # type: ignore[arg-type]  # columns


async def _states(session: Session, rule_ids: list[object]) -> dict[tuple[str, str], RuleState]:
    return rule_states(session.instants(row, (3,)) for row in await session.rows("states_of_rules", rule_ids))


async def _health(session: Session, wanted: HealthWanted) -> Health:
    (row,) = await session.rows("health", *health_bounds(wanted))
    return health_from(row)


async def _held_modes(session: Session) -> dict[str, str]:
    """Read the modes, which cannot change until the transaction ends. Take this lock first: a switch waits for it."""
    await session.lock("hold_planner_modes", MODES_LOCK)
    return await _modes(session)


async def _modes(session: Session) -> dict[str, str]:
    return {str(row[0]): str(row[1]) for row in await session.rows("planner_modes")}

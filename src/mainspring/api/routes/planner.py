"""The planner: its modes, results and cost of model sessions, results of shadow mode."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request

from mainspring.api.access import Operating, Reading, Running, Writing
from mainspring.api.context import Context
from mainspring.api.cursors import open_cursor, seal_cursor
from mainspring.api.models.fields import Cursor, DryRun, EndpointRef, Limit
from mainspring.api.models.requests import ModeChange
from mainspring.domain.rules.apply import LIVE
from mainspring.operations import planner, rules
from mainspring.operations.context import Desk
from mainspring.operations.endpoints import find_endpoint
from mainspring.operations.tenants import find_tenant
from mainspring.views.planner import (
    ModeDryRun,
    ModeSet,
    PlannerModes,
    PlannerSession,
    PlannerStatus,
    ShadowFiring,
    ShadowResults,
    Spend,
    TenantSpend,
    load_sessions,
)
from mainspring.views.view import ListOf, PageOf

router = APIRouter(tags=["planner"])
sessions_router = APIRouter(tags=["sessions"])
SessionRef = Annotated[str, Path(alias="session", max_length=200, description="Id of a session.")]
OfEndpoint = Annotated[str | None, Query(max_length=1_000, description="Only of this endpoint: its id or name.")]


@sessions_router.get("/sessions")
async def list_planner_sessions(
    desk: Reading, endpoint: OfEndpoint = None, limit: Limit = 50, cursor: Cursor = None
) -> PageOf[PlannerSession]:
    """Model sessions, newest first."""
    only = None if endpoint is None else (await find_endpoint(desk, endpoint)).id
    return await _sessions(desk, only, limit, cursor)


@sessions_router.get("/sessions/{session}")
async def read_planner_session(desk: Reading, session: SessionRef) -> PlannerSession:
    """One session: every tool call with its arguments and result, the reasoning, tokens and cost."""
    (view,) = await load_sessions(desk, [await planner.find_session(desk, session)])
    return view


@sessions_router.get("/endpoints/{endpoint}/sessions")
async def list_endpoint_sessions(
    desk: Reading, endpoint: EndpointRef, limit: Limit = 50, cursor: Cursor = None
) -> PageOf[PlannerSession]:
    """Newest first."""
    return await _sessions(desk, (await find_endpoint(desk, endpoint)).id, limit, cursor)


@router.get("/planner")
async def read_planner(desk: Reading, request: Request) -> PlannerStatus:
    """Whether a model is configured, the modes of the planner, and what the tenant spent this month."""
    context: Context = request.app.state.context
    model = "" if context.model_fault else context.settings.model
    known = await desk.stores.planner.rules(desk.tenant_id)
    tenant = await find_tenant(desk)
    return PlannerStatus(
        policy="rules and model" if model else "rules",
        model=model or None,
        model_fault=context.model_fault or None,
        how_to_add_a_model=None if model else planner.HOW_TO_ADD_A_MODEL,
        modes=PlannerModes.of(await planner.modes_of(desk)),
        rules=len(known),
        rules_with_faults=sum(any(state.fault for state in each.states.values()) for each in known),
        proposals_pending=await desk.stores.proposals.count_pending(desk.tenant_id),
        spend=Spend.of(await desk.stores.sessions.token_usage(desk.tenant_id), tenant.tokens_per_month),
    )


@router.get("/planner/spend")
async def list_spend(desk: Operating) -> ListOf[TenantSpend]:
    """What each tenant's sessions spent this month."""
    tenants = await desk.stores.accounts.tenants()
    usage = desk.stores.sessions.token_usage
    return ListOf(
        items=[TenantSpend.of(await usage(each.id), each.tokens_per_month, tenant=each.id) for each in tenants]
    )


@router.put("/planner/mode")
async def set_tenant_mode(desk: Writing, wish: ModeChange, dry_run: DryRun = False) -> ModeSet | ModeDryRun:
    """Set live, ask, shadow or off for all of the tenant's endpoints; shadow and off withdraw pending proposals."""
    before, after = await _set_mode(desk, "tenant", f"tenant:{desk.tenant_id}", wish, dry_run)
    return ModeDryRun.of(before, after) if dry_run else after


@router.put("/planner/mode/all")
async def set_mode_for_all(desk: Operating, wish: ModeChange) -> ModeSet:
    """Set live, ask, shadow or off for the whole installation; shadow and off withdraw pending proposals."""
    return (await _set_mode(desk, "all", "all", wish, dry_run=False))[1]


@router.put("/endpoints/{endpoint}/planner-mode")
async def set_endpoint_mode(
    desk: Writing, endpoint: EndpointRef, wish: ModeChange, dry_run: DryRun = False
) -> ModeSet | ModeDryRun:
    """Set live, ask, shadow or off for one endpoint; shadow and off withdraw its pending proposals."""
    found = await find_endpoint(desk, endpoint)
    before, after = await _set_mode(desk, found.id, f"endpoint:{found.id}", wish, dry_run, found.name)
    return ModeDryRun.of(before, after) if dry_run else after


@router.post("/endpoints/{endpoint}/look")
async def look_at_endpoint(desk: Running, endpoint: EndpointRef, request: Request) -> PlannerSession:
    """Start a model session about an endpoint now, due or not, and return it.

    The request takes as long as the session. Without a model: 409, and how to add one.
    """
    context: Context = request.app.state.context
    found, session = await planner.look_at(desk, endpoint, context.look, context.model_fault)
    return PlannerSession.of(session, found.name)


@router.get("/planner/shadow")
async def read_shadow_results(desk: Reading, endpoint: OfEndpoint = None, limit: Limit = 50) -> ShadowResults:
    """What rules and the model would have done in shadow mode."""
    only = None if endpoint is None else (await find_endpoint(desk, endpoint)).id
    firings = await desk.stores.sessions.shadow_firings(desk.tenant_id, only, limit)
    names = await desk.stores.look.names(desk.tenant_id, sorted({each.endpoint_id for each in firings}))
    return ShadowResults(
        firings=[ShadowFiring.of(each, names.get(each.endpoint_id)) for each in firings],
        sessions=await load_sessions(desk, await planner.shadow_sessions(desk, only, limit)),
    )


async def _sessions(desk: Desk, endpoint_id: str | None, limit: int, cursor: str | None) -> PageOf[PlannerSession]:
    place = open_cursor(desk, "sessions", cursor)
    found = await desk.stores.sessions.sessions(desk.tenant_id, endpoint_id, place[0] if place else None, limit + 1)
    page = found[:limit]
    more = seal_cursor(desk, "sessions", page[-1].id) if len(found) > limit else None
    return PageOf(items=await load_sessions(desk, page), next_cursor=more)


async def _set_mode(
    desk: Desk, scope: str, key: str, wish: ModeChange, dry_run: bool, name: str = ""
) -> tuple[ModeSet, ModeSet]:
    """The previous and the new mode; `name` is the name of the scope."""
    there = rules.dry_run_of(desk) if dry_run else desk
    mode = (await desk.stores.planner.modes()).get(key, LIVE)
    held = len(await planner.advice_in_force(desk, scope))
    before = ModeSet.model_validate({"scope": name or scope, "mode": mode, "in_force": held})
    await rules.set_mode(there, scope, wish.mode)
    undone = await planner.undo_advice(desk, scope) if wish.undo and not dry_run else held if wish.undo else 0
    return before, ModeSet(scope=name or scope, mode=wish.mode, in_force=held - undone, undone=undone)

"""The planner: its modes, results and cost of model sessions, results of shadow mode."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request

from mainspring.api.access import Operating, Reading, Running, Writing
from mainspring.api.context import Context
from mainspring.api.cursors import open_cursor, seal_cursor
from mainspring.api.endpoint_views import differences
from mainspring.api.models.answers import PageOf
from mainspring.api.models.fields import Cursor, DryRun, EndpointRef, Limit
from mainspring.api.models.planner import (
    ModeChange,
    ModeDryRun,
    ModeSet,
    PlannerSession,
    PlannerStatus,
    ShadowResults,
    Spends,
)
from mainspring.domain.model.session import ModelSession
from mainspring.domain.rules.apply import LIVE
from mainspring.operations import planner, rules
from mainspring.operations.endpoints import Desk, find_endpoint
from mainspring.operations.tenants import find_tenant
from mainspring.views.planner_shapes import session_shape, usage_shape
from mainspring.views.shapes import Shape, instant

router = APIRouter(tags=["planner"])
sessions_router = APIRouter(tags=["sessions"])
SessionRef = Annotated[str, Path(alias="session", max_length=200, description="Id of a session.")]
OfEndpoint = Annotated[str | None, Query(max_length=1_000, description="Only of this endpoint: its id or name.")]


@sessions_router.get("/sessions", response_model=PageOf[PlannerSession])
async def list_planner_sessions(
    desk: Reading, endpoint: OfEndpoint = None, limit: Limit = 50, cursor: Cursor = None
) -> Shape:
    """Model sessions, newest first."""
    only = None if endpoint is None else (await find_endpoint(desk, endpoint)).id
    return await _sessions(desk, only, limit, cursor)


@sessions_router.get("/sessions/{session}", response_model=PlannerSession)
async def read_planner_session(desk: Reading, session: SessionRef) -> Shape:
    """One session: every tool call with its arguments and result, the reasoning, tokens and cost."""
    (shape,) = await _told(desk, [await planner.find_session(desk, session)])
    return shape


@sessions_router.get("/endpoints/{endpoint}/sessions", response_model=PageOf[PlannerSession])
async def list_endpoint_sessions(
    desk: Reading, endpoint: EndpointRef, limit: Limit = 50, cursor: Cursor = None
) -> Shape:
    """Newest first."""
    return await _sessions(desk, (await find_endpoint(desk, endpoint)).id, limit, cursor)


@router.get("/planner", response_model=PlannerStatus)
async def read_planner(desk: Reading, request: Request) -> Shape:
    """Whether a model is configured, the modes of the planner, and what the tenant spent this month."""
    context: Context = request.app.state.context
    model = "" if context.model_fault else context.settings.model
    modes = await planner.modes_of(desk)
    known = await desk.stores.planner.rules(desk.tenant_id)
    tenant = await find_tenant(desk)
    return {
        "policy": "rules and model" if model else "rules",
        "model": model or None,
        "model_fault": context.model_fault or None,
        "how_to_add_a_model": None if model else planner.HOW_TO_ADD_A_MODEL,
        "modes": {
            "all": modes.everything,
            "tenant": modes.tenant,
            "endpoints": [
                {"endpoint": name, "endpoint_id": each, "mode": mode} for each, (name, mode) in modes.endpoints.items()
            ],
        },
        "rules": len(known),
        "rules_with_faults": sum(any(state.fault for state in each.states.values()) for each in known),
        "proposals_pending": await desk.stores.proposals.count_pending(desk.tenant_id),
        "spend": usage_shape(await desk.stores.sessions.token_usage(desk.tenant_id), tenant.tokens_per_month),
    }


@router.get("/planner/spend", response_model=Spends)
async def list_spend(desk: Operating) -> Shape:
    """What each tenant's sessions spent this month."""
    tenants = await desk.stores.accounts.tenants()
    items = [
        {"tenant": each.id, **usage_shape(await desk.stores.sessions.token_usage(each.id), each.tokens_per_month)}
        for each in tenants
    ]
    return {"items": items}


@router.put("/planner/mode", response_model=ModeSet | ModeDryRun)
async def set_tenant_mode(desk: Writing, wish: ModeChange, dry_run: DryRun = False) -> Shape:
    """Set live, ask, shadow or off for all of the tenant's endpoints; shadow and off withdraw pending proposals."""
    return await _set_mode(desk, "tenant", f"tenant:{desk.tenant_id}", wish, dry_run)


@router.put("/planner/mode/all", response_model=ModeSet)
async def set_mode_for_all(desk: Operating, wish: ModeChange) -> Shape:
    """Set live, ask, shadow or off for the whole installation; shadow and off withdraw pending proposals."""
    return await _set_mode(desk, "all", "all", wish, dry_run=False)


@router.put("/endpoints/{endpoint}/planner-mode", response_model=ModeSet | ModeDryRun)
async def set_endpoint_mode(desk: Writing, endpoint: EndpointRef, wish: ModeChange, dry_run: DryRun = False) -> Shape:
    """Set live, ask, shadow or off for one endpoint; shadow and off withdraw its pending proposals."""
    found = await find_endpoint(desk, endpoint)
    shape = await _set_mode(desk, found.id, f"endpoint:{found.id}", wish, dry_run)
    for each in (shape, shape.get("before"), shape.get("after")):
        if isinstance(each, dict) and "scope" in each:
            each["scope"] = found.name
    return shape


@router.post("/endpoints/{endpoint}/look", response_model=PlannerSession)
async def look_at_endpoint(desk: Running, endpoint: EndpointRef, request: Request) -> Shape:
    """Start a model session about an endpoint now, due or not, and return it.

    The request takes as long as the session. Without a model: 409, and how to add one.
    """
    context: Context = request.app.state.context
    found, session = await planner.look_at(desk, endpoint, context.look, context.model_fault)
    return session_shape(session, found.name)


@router.get("/planner/shadow", response_model=ShadowResults)
async def read_shadow_results(desk: Reading, endpoint: OfEndpoint = None, limit: Limit = 50) -> Shape:
    """What rules and the model would have done in shadow mode."""
    only = None if endpoint is None else (await find_endpoint(desk, endpoint)).id
    firings = await desk.stores.sessions.shadow_firings(desk.tenant_id, only, limit)
    names = await desk.stores.look.names(desk.tenant_id, sorted({each.endpoint_id for each in firings}))
    told = [
        {
            "at": instant(each.at),
            "endpoint": names.get(each.endpoint_id),
            "endpoint_id": each.endpoint_id,
            "run_id": each.run_id or None,
            **{name: str(each.data.get(name, "")) for name in ("rule", "does", "reason")},
        }
        for each in firings
    ]
    return {"firings": told, "sessions": await _told(desk, await planner.shadow_sessions(desk, only, limit))}


async def _sessions(desk: Desk, endpoint_id: str | None, limit: int, cursor: str | None) -> Shape:
    place = open_cursor(desk, "sessions", cursor)
    found = await desk.stores.sessions.sessions(desk.tenant_id, endpoint_id, place[0] if place else None, limit + 1)
    page = found[:limit]
    more = seal_cursor(desk, "sessions", page[-1].id) if len(found) > limit else None
    return {"items": await _told(desk, page), "next_cursor": more}


async def _told(desk: Desk, found: list[ModelSession]) -> list[Shape]:
    ids = sorted({session.endpoint_id for session in found})
    names = await desk.stores.look.names(desk.tenant_id, ids) if ids else {}
    return [session_shape(session, names.get(session.endpoint_id, "")) for session in found]


async def _set_mode(desk: Desk, scope: str, key: str, wish: ModeChange, dry_run: bool) -> Shape:
    there = rules.dry_run_of(desk) if dry_run else desk
    mode = (await desk.stores.planner.modes()).get(key, LIVE)
    held = len(await planner.advice_in_force(desk, scope))
    before: Shape = {"scope": scope, "mode": mode, "in_force": held, "undone": 0}
    await rules.set_mode(there, scope, wish.mode)
    undone = await planner.undo_advice(desk, scope) if wish.undo and not dry_run else held if wish.undo else 0
    after: Shape = {"scope": scope, "mode": wish.mode, "in_force": held - undone, "undone": undone}
    if not dry_run:
        return after
    return {"dry_run": True, "before": before, "after": after, "changed": differences(before, after)}

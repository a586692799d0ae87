"""Operations on the planner: its modes, model sessions, and results of shadow mode."""

from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.advice.authority import is_in_force
from mainspring.domain.advice.authority import undo_advice as undo
from mainspring.domain.endpoint import Endpoint
from mainspring.domain.errors import Conflict, Misconfigured, NotFound
from mainspring.domain.model.session import ModelSession
from mainspring.domain.rules.apply import LIVE, SHADOW
from mainspring.operations.bulk_endpoints import BATCH, act_on_some
from mainspring.operations.context import Desk
from mainspring.operations.endpoints import find_endpoint
from mainspring.ports.filters import EndpointListFilter
from mainspring.ports.planner import Look

HOW_TO_ADD_A_MODEL = (
    "set MAINSPRING_MODEL to openai:NAME, anthropic:NAME or google:NAME, and "
    "MAINSPRING_MODEL_KEY or MAINSPRING_MODEL_URL"
)
SESSIONS_PAGE = 200


class Modes(Struct, frozen=True):
    """The planner modes that concern one tenant; endpoints by id."""

    everything: str
    tenant: str
    endpoints: dict[str, tuple[str, str]]  # id -> name and mode of endpoints that are not live


async def modes_of(desk: Desk) -> Modes:
    """Leaves out what is set for other tenants' endpoints."""
    said = await desk.stores.planner.modes()
    ids = {scope.removeprefix("endpoint:"): mode for scope, mode in said.items() if scope.startswith("endpoint:")}
    names = await desk.stores.look.names(desk.tenant_id, sorted(ids)) if ids else {}
    return Modes(
        said.get("all", LIVE),
        said.get(f"tenant:{desk.tenant_id}", LIVE),
        {each: (name, ids[each]) for each, name in sorted(names.items(), key=lambda pair: pair[1])},
    )


async def find_session(desk: Desk, session_id: str) -> ModelSession:
    session = await desk.stores.sessions.session(desk.tenant_id, session_id)
    if session is None:
        raise NotFound("session", session_id)
    return session


async def look_at(desk: Desk, name: str, look: Look | None, model_fault: str = "") -> tuple[Endpoint, ModelSession]:
    """Starts a model session about an endpoint now, due or not."""
    endpoint = await find_endpoint(desk, name)
    if look is None:
        why = model_fault or f"no model is configured; {HOW_TO_ADD_A_MODEL}"
        raise Conflict(f"{why}; rules work without one", kind="model", name="")
    try:
        session = await look(endpoint)
    except Misconfigured as fault:
        raise Conflict(str(fault), kind="model", name="") from fault
    if session is None:
        raise Conflict(
            f"endpoint {endpoint.name!r} is being analysed right now, or its job is not active; try again in a moment",
            kind="endpoint",
            name=endpoint.name,
        )
    return endpoint, session


async def shadow_sessions(desk: Desk, endpoint_id: str | None, limit: int) -> list[ModelSession]:
    """What the model would have done in shadow mode, newest first."""
    found: list[ModelSession] = []
    before_id: str | None = None
    while len(found) < limit:
        page = await desk.stores.sessions.sessions(desk.tenant_id, endpoint_id, before_id, SESSIONS_PAGE)
        found += [session for session in page if session.mode == SHADOW]
        if len(page) < SESSIONS_PAGE:
            break
        before_id = page[-1].id
    return found[:limit]


async def advice_in_force(desk: Desk, scope: str) -> list[Endpoint]:
    """The endpoints of a scope (`all`, `tenant` or an endpoint) that advice currently affects by hints or pauses."""
    now = await desk.stores.schedule.now()
    if scope not in ("all", "tenant"):
        found = [await find_endpoint(desk, scope)]
    elif scope == "tenant":
        found = await _held(desk)
    else:
        tenants = await desk.stores.accounts.tenants()
        found = [each for tenant in tenants for each in await _held(replace(desk, tenant_id=tenant.id))]
    return [each for each in found if is_in_force(each, now)]


async def undo_advice(desk: Desk, scope: str) -> int:
    """Clears hints and ends pauses set by advice; returns how many endpoints changed."""
    tenants: dict[str, list[str]] = {}
    for each in await advice_in_force(desk, scope):
        tenants.setdefault(each.tenant_id, []).append(each.id)
    changed = 0
    for tenant_id, ids in tenants.items():
        there = replace(desk, tenant_id=tenant_id)
        for start in range(0, len(ids), BATCH):
            batch = ids[start : start + BATCH]
            tally = await act_on_some(there, batch, lambda each, now: undo(each, now, desk.actor, desk.cron))
            changed += tally.changed
    return changed


async def _held(desk: Desk) -> list[Endpoint]:
    found: dict[str, Endpoint] = {}
    for state in ("adapting", "paused"):
        after: tuple[str, str] | None = None
        while page := await desk.stores.look.endpoints(
            desk.tenant_id, EndpointListFilter(state=state, after=after, limit=BATCH)
        ):
            found |= {each.id: each for each in page}
            after = (page[-1].name, page[-1].id)
    return list(found.values())

"""Authentication and authorisation of requests: every route names the scope it needs and gets a desk."""

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Depends, Request
from msgspec.structs import replace

from mainspring.api import cookies
from mainspring.api.context import Context
from mainspring.api.idempotency import begin
from mainspring.api.problems import HttpProblem
from mainspring.api.query_parameters import refuse_unknown
from mainspring.domain.access.audit import INSTALLATION
from mainspring.domain.access.scope import Principal, Scope
from mainspring.domain.errors import Forbidden, NotAuthenticated, NotFound
from mainspring.operations.context import Desk
from mainspring.operations.login import principal_of_key, principal_of_visit, visit_of

VISITOR = "visitor"
TENANT_HEADER = "x-mainspring-tenant"


async def recognise(request: Request) -> Principal:
    """The principal of a request, by its API key or its session. Raises NotAuthenticated.

    A session acts in the tenant that `X-Mainspring-Tenant` names, among those of its user; otherwise in the user's
    default. A key acts in its own tenant and names no other. A browser's EventSource cannot send headers, so a stream
    also accepts `?tenant=`. In a demo every request comes from its visitor, and cookies of other servers on this
    machine are ignored.
    """
    context: Context = request.app.state.context
    stores = context.stores
    authorization = request.headers.get("authorization", "")
    if context.demo is not None and not authorization:
        return Principal(context.settings.tenant, VISITOR, frozenset(Scope))
    wanted = request.headers.get(TENANT_HEADER, "") or request.query_params.get("tenant", "")
    token = cookies.session_token(request)
    if authorization and token:
        raise HttpProblem("malformed-request", "both an API key and a session were sent; send only one of them")
    if authorization:
        kind, _, key = authorization.partition(" ")
        if kind.lower() != "bearer":
            raise NotAuthenticated("the header Authorization is not `Bearer <key>`; send an API key in that form")
        return _in_its_tenant(await principal_of_key(stores, key.strip()), wanted)
    if not token:
        raise NotAuthenticated("no API key or session was sent; send `Authorization: Bearer <key>`, or log in")
    visit = await visit_of(stores, token)
    request.state.visit = visit
    return principal_of_visit(visit, wanted)


def _in_its_tenant(principal: Principal, wanted_tenant: str) -> Principal:
    """A key belongs to one tenant: a request that names another one is refused and does not act in the key's tenant."""
    if wanted_tenant not in ("", principal.tenant_id):
        raise NotFound("tenant", wanted_tenant, (principal.tenant_id,))
    return principal


async def operating(request: Request, principal: Annotated[Principal, Depends(recognise)]) -> Desk:
    """The desk of an operator of the installation, without a tenant."""
    request.state.actor = principal.actor
    request.state.headers = request.app.state.limits.spend(principal)
    _refuse_others(principal)
    if not principal.user_id:  # a key is limited by its scopes, even an operator's; a person is an operator everywhere
        principal.require(Scope.READ if request.method in ("GET", "HEAD") else Scope.ADMIN)
    refuse_unknown(request)
    context: Context = request.app.state.context
    there = context.desk(INSTALLATION, principal.actor)
    await begin(request, there)
    return there


async def admit(request: Request) -> Principal:
    """Authenticates and counts a request, for apps mounted beside the routes."""
    principal = await recognise(request)
    request.state.actor = principal.actor
    request.state.headers = request.app.state.limits.spend(principal)
    return principal


def needs(scope: Scope) -> Callable[..., Awaitable[Desk]]:
    """A dependency: the desk of a principal with this scope."""

    async def desk(request: Request, principal: Annotated[Principal, Depends(recognise)]) -> Desk:
        request.state.actor = principal.actor
        request.state.headers = request.app.state.limits.spend(principal)
        principal.require(scope)
        refuse_unknown(request)
        context: Context = request.app.state.context
        there = context.desk(principal.tenant_id, principal.actor)
        there = replace(
            there, may_administer=Scope.ADMIN in principal.scopes, may_write=Scope.WRITE in principal.scopes
        )
        await begin(request, there)
        return there

    desk.__name__ = f"needs_{scope}"
    return desk


async def operating_here(
    desk: Annotated[Desk, Depends(needs(Scope.ADMIN))], principal: Annotated[Principal, Depends(recognise)]
) -> Desk:
    """The desk of an installation operator in a tenant, for settings that members of the tenant may not change."""
    _refuse_others(principal)
    return desk


def _refuse_others(principal: Principal) -> None:
    if not principal.is_operator:
        raise Forbidden(
            f"this is for operators of the installation, and {principal.actor} is not one; ask one of them, "
            "or for a key created with `mainspring apikey create --operator`",
            scope="operator",
        )


Reading = Annotated[Desk, Depends(needs(Scope.READ))]
Running = Annotated[Desk, Depends(needs(Scope.RUN))]
Writing = Annotated[Desk, Depends(needs(Scope.WRITE))]
Administering = Annotated[Desk, Depends(needs(Scope.ADMIN))]
Operating = Annotated[Desk, Depends(operating)]
OperatingHere = Annotated[Desk, Depends(operating_here)]
Known = Annotated[Principal, Depends(recognise)]

"""Who asks: every route names the scope it needs, and gets the desk of whoever has it."""

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Depends, Request

from mainspring.api.context import Context
from mainspring.api.idempotency import begin
from mainspring.api.parameters import refuse_unknown
from mainspring.domain.access import Principal, Scope
from mainspring.domain.errors import NotAuthenticated
from mainspring.operations.endpoints import Desk


async def recognise(request: Request) -> Principal:
    """The principal of a request, by its API key or its session; raises NotAuthenticated."""
    raise NotAuthenticated("no API key or session was sent; send `Authorization: Bearer <key>`")


def needs(scope: Scope) -> Callable[..., Awaitable[Desk]]:
    """A dependency: the desk of a principal that has this scope."""

    async def desk(request: Request, principal: Annotated[Principal, Depends(recognise)]) -> Desk:
        request.state.actor = principal.actor
        request.state.headers = request.app.state.limits.spend(principal)
        principal.require(scope)
        refuse_unknown(request)
        context: Context = request.app.state.context
        there = context.desk(principal.tenant_id, principal.actor)
        await begin(request, there)
        return there

    desk.__name__ = f"needs_{scope}"
    return desk


Reading = Annotated[Desk, Depends(needs(Scope.READ))]
Running = Annotated[Desk, Depends(needs(Scope.RUN))]
Writing = Annotated[Desk, Depends(needs(Scope.WRITE))]
Administering = Annotated[Desk, Depends(needs(Scope.ADMIN))]

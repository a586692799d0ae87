"""API keys, which let programs use the API, and signing keys, which sign outgoing calls."""

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from mainspring.api.access import Administering, Known
from mainspring.api.context import Context
from mainspring.api.endpoint_views import compared
from mainspring.api.models.accounts import (
    ApiKeyCreated,
    ApiKeys,
    ApiKeyView,
    KeyNew,
    Revoked,
    SigningKey,
    SigningKeyCreated,
    SigningKeys,
)
from mainspring.api.models.answers import DryRunOf
from mainspring.api.models.fields import DryRun
from mainspring.domain.access.scope import Scope
from mainspring.domain.duration import parse_duration_ms
from mainspring.domain.errors import Forbidden
from mainspring.operations import api_keys, signing_keys
from mainspring.operations.account_dry_run import account_dry_run
from mainspring.views.shapes import Shape, api_key_shape, instant

router = APIRouter(tags=["keys"])

KeyRef = Annotated[str, Path(max_length=100, description="A key's id.")]


@router.get("/keys", response_model=ApiKeys)
async def list_api_keys(desk: Administering) -> Shape:
    """All API keys of the tenant, newest first, without their secrets."""
    now = await desk.stores.schedule.now()
    return {"items": [api_key_shape(key, now) for key in await api_keys.list_api_keys(desk)]}


@router.post(
    "/keys",
    status_code=201,
    response_model=ApiKeyCreated | DryRunOf[ApiKeyView],
    responses={200: {"model": DryRunOf[ApiKeyView]}},
)
async def create_api_key(
    desk: Administering,
    principal: Known,
    wish: KeyNew,
    request: Request,
    response: Response,
    dry_run: DryRun = False,
) -> Shape:
    """Create an API key and show it once. It cannot have scopes that its creator lacks."""
    for scope in wish.scopes:
        principal.require(Scope(scope))
    if wish.operator and not principal.is_operator:
        raise Forbidden("only an operator of the installation can create an operator's key; ask one", scope="operator")
    context: Context = request.app.state.context
    life = timedelta(milliseconds=parse_duration_ms(wish.expires_in, field="expires_in"))
    wanted = api_keys.NewApiKey(wish.name, tuple(wish.scopes), life, wish.operator)
    key, text = await api_keys.add_api_key(account_dry_run(desk) if dry_run else desk, context.hasher, wanted)
    if dry_run:
        response.status_code = 200
        return compared(None, api_key_shape(key, key.created_at))
    return {**api_key_shape(key, key.created_at), "key": text}


@router.delete("/keys/{key}", response_model=ApiKeyView | DryRunOf[ApiKeyView])
async def revoke_api_key(desk: Administering, key: KeyRef, dry_run: DryRun = False) -> Shape:
    """Revoke an API key: every process refuses it from the next request on."""
    revoked = await api_keys.revoke_api_key(account_dry_run(desk) if dry_run else desk, key)
    after = api_key_shape(revoked, await desk.stores.schedule.now())
    return compared({**after, "status": "live", "revoked_at": None}, after) if dry_run else after


@router.get("/signing-keys", response_model=SigningKeys)
async def list_signing_keys(desk: Administering) -> Shape:
    """The active signing keys, newest first."""
    keys = await signing_keys.list_signing_keys(desk)
    return {"items": [{"id": key_id, "created_at": instant(created_at)} for key_id, created_at in keys]}


@router.post(
    "/signing-keys",
    status_code=201,
    response_model=SigningKeyCreated | DryRunOf[SigningKey],
    responses={200: {"model": DryRunOf[SigningKey]}},
)
async def create_signing_key(
    desk: Administering, request: Request, response: Response, dry_run: DryRun = False
) -> Shape:
    """Create a signing key and show its secret once; older keys keep signing as well."""
    context: Context = request.app.state.context
    secret = signing_keys.new_signing_secret(context.hasher)
    made = await signing_keys.add_signing_key(account_dry_run(desk) if dry_run else desk, secret)
    if dry_run:
        response.status_code = 200
        return compared(None, {"id": made, "created_at": instant(await desk.stores.schedule.now())})
    return {"id": made, "secret": secret}


@router.delete("/signing-keys/{key}", response_model=Revoked | DryRunOf[SigningKey])
async def revoke_signing_key(desk: Administering, key: KeyRef, dry_run: DryRun = False) -> Shape:
    """Revoke a signing key; later calls are not signed with it."""
    before = dict(await signing_keys.list_signing_keys(desk))
    await signing_keys.revoke_signing_key(account_dry_run(desk) if dry_run else desk, key)
    return compared({"id": key, "created_at": instant(before[key])}, None) if dry_run else {"id": key, "revoked": True}

"""API keys, which let programs use the API, and signing keys, which sign outgoing calls."""

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from mainspring.api.access import Administering, Known
from mainspring.api.context import Context
from mainspring.api.models.accounts import KeyNew
from mainspring.api.models.fields import DryRun
from mainspring.domain.access.scope import Scope
from mainspring.domain.duration import parse_duration_ms
from mainspring.domain.errors import Forbidden
from mainspring.operations import api_keys, signing_keys
from mainspring.operations.accounts import account_dry_run
from mainspring.views.account import ApiKeyCreated, ApiKeyView, Revoked, SigningKey, SigningKeyCreated
from mainspring.views.view import DryRunOf, ListOf

router = APIRouter(tags=["keys"])

KeyRef = Annotated[str, Path(max_length=100, description="A key's id.")]


@router.get("/keys")
async def list_api_keys(desk: Administering) -> ListOf[ApiKeyView]:
    """All API keys of the tenant, newest first, without their secrets."""
    now = await desk.stores.schedule.now()
    return ListOf(items=[ApiKeyView.of(key, now) for key in await api_keys.list_api_keys(desk)])


@router.post(
    "/keys",
    status_code=201,
    responses={200: {"model": DryRunOf[ApiKeyView]}},
)
async def create_api_key(
    desk: Administering,
    principal: Known,
    wish: KeyNew,
    request: Request,
    response: Response,
    dry_run: DryRun = False,
) -> ApiKeyCreated | DryRunOf[ApiKeyView]:
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
        return DryRunOf[ApiKeyView].of(None, ApiKeyView.of(key, key.created_at))
    return ApiKeyCreated.of(key, key.created_at, key=text)


@router.delete("/keys/{key}")
async def revoke_api_key(
    desk: Administering, key: KeyRef, dry_run: DryRun = False
) -> ApiKeyView | DryRunOf[ApiKeyView]:
    """Revoke an API key: every process refuses it from the next request on."""
    revoked = await api_keys.revoke_api_key(account_dry_run(desk) if dry_run else desk, key)
    after = ApiKeyView.of(revoked, await desk.stores.schedule.now())
    before = after.model_copy(update={"status": "live", "revoked_at": None})
    return DryRunOf[ApiKeyView].of(before, after) if dry_run else after


@router.get("/signing-keys")
async def list_signing_keys(desk: Administering) -> ListOf[SigningKey]:
    """The active signing keys, newest first."""
    keys = await signing_keys.list_signing_keys(desk)
    return ListOf(items=[SigningKey(id=key_id, created_at=created_at) for key_id, created_at in keys])


@router.post(
    "/signing-keys",
    status_code=201,
    responses={200: {"model": DryRunOf[SigningKey]}},
)
async def create_signing_key(
    desk: Administering, request: Request, response: Response, dry_run: DryRun = False
) -> SigningKeyCreated | DryRunOf[SigningKey]:
    """Create a signing key and show its secret once; older keys keep signing as well."""
    context: Context = request.app.state.context
    secret = signing_keys.new_signing_secret(context.hasher)
    made = await signing_keys.add_signing_key(account_dry_run(desk) if dry_run else desk, secret)
    if dry_run:
        response.status_code = 200
        return DryRunOf[SigningKey].of(None, SigningKey(id=made, created_at=await desk.stores.schedule.now()))
    return SigningKeyCreated(id=made, secret=secret)


@router.delete("/signing-keys/{key}")
async def revoke_signing_key(
    desk: Administering, key: KeyRef, dry_run: DryRun = False
) -> Revoked | DryRunOf[SigningKey]:
    """Revoke a signing key; later calls are not signed with it."""
    before = dict(await signing_keys.list_signing_keys(desk))
    await signing_keys.revoke_signing_key(account_dry_run(desk) if dry_run else desk, key)
    if dry_run:
        return DryRunOf[SigningKey].of(SigningKey(id=key, created_at=before[key]), None)
    return Revoked(id=key)

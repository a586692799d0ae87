"""Passkeys: log in with one, and manage your own."""

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from mainspring.api.models.accounts import PasskeyLogin, PasskeyNew, PasskeyPatch, PasswordAgain
from mainspring.api.routes.auth import Anonymous, LoggedIn, assertion_of, context_of, entered, party_of
from mainspring.domain.access.passkey import Attestation
from mainspring.domain.errors import Conflict
from mainspring.operations import login, passkeys
from mainspring.views.account import PasskeyAdded, PasskeyChallenge, PasskeyList, PasskeyView, Whoami

router = APIRouter(prefix="/auth", tags=["auth"])

PasskeyRef = Annotated[str, Path(max_length=100, description="A passkey's id.")]


@router.post("/login/passkey/options")
async def begin_passkey_login(desk: Anonymous, request: Request) -> PasskeyChallenge:
    """The challenge to log in with a passkey instead of a password."""
    asked = await login.begin_passkey_login(desk, context_of(request).hasher, party_of(request))
    return PasskeyChallenge.model_validate(asked)


@router.post("/login/passkey")
async def log_in_with_passkey(desk: Anonymous, wish: PasskeyLogin, request: Request, response: Response) -> Whoami:
    """Start a session with a passkey that asked for a PIN, fingerprint or face."""
    agent = request.headers.get("user-agent", "")
    hasher, party = context_of(request).hasher, party_of(request)
    entry = await login.log_in_with_passkey(desk, hasher, party, assertion_of(wish.passkey), agent=agent)
    return await entered(desk, entry, request, response)


@router.get("/passkeys")
async def list_passkeys(desk: Anonymous, visit: LoggedIn, request: Request) -> PasskeyList:
    """Your passkeys, oldest first."""
    found = await desk.stores.credentials.passkeys(visit.user.id)
    items = [PasskeyView.of(each, visit.user) for each in found]
    return PasskeyList(items=items, unavailable=_unavailable(request))


@router.post("/passkeys/options")
async def begin_passkey(desk: Anonymous, visit: LoggedIn, wish: PasswordAgain, request: Request) -> PasskeyChallenge:
    """The challenge to register a device as a passkey."""
    hasher = context_of(request).hasher
    asked = await passkeys.begin_registration(desk, hasher, visit, party_of(request), wish.password)
    return PasskeyChallenge.model_validate(asked)


@router.post("/passkeys", status_code=201)
async def create_passkey(desk: Anonymous, visit: LoggedIn, wish: PasskeyNew, request: Request) -> PasskeyAdded:
    """Add a passkey. From now on your login needs it, or another second factor that you have."""
    given = Attestation(wish.challenge, wish.client_data, wish.attestation)
    party = party_of(request)
    added = await passkeys.register(desk, context_of(request).hasher, visit, party, wish.name, given)
    passkey = PasskeyView.of(added.passkey, visit.user)
    return PasskeyAdded(passkey=passkey, recovery_codes=list(added.recovery_codes))


@router.patch("/passkeys/{passkey}")
async def update_passkey(desk: Anonymous, visit: LoggedIn, passkey: PasskeyRef, wish: PasskeyPatch) -> PasskeyView:
    """Rename a passkey."""
    return PasskeyView.of(await passkeys.rename(desk, visit, passkey, wish.name), visit.user)


@router.post("/passkeys/{passkey}/remove")
async def remove_passkey(
    desk: Anonymous, visit: LoggedIn, passkey: PasskeyRef, wish: PasswordAgain, request: Request
) -> PasskeyView:
    """Remove a passkey. Without passkeys and app, your login needs only the password."""
    removed = await passkeys.remove(desk, context_of(request).hasher, visit, passkey, wish.password)
    return PasskeyView.of(removed, visit.user)


def _unavailable(request: Request) -> str | None:
    try:
        party_of(request)
    except Conflict as fault:
        return str(fault)
    return None

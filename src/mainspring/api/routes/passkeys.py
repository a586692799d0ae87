"""Passkeys: log in with one, and manage your own."""

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from mainspring.api.models.accounts import (
    PasskeyAdded,
    PasskeyChallenge,
    PasskeyList,
    PasskeyLogin,
    PasskeyNew,
    PasskeyPatch,
    PasskeySight,
    PasswordAgain,
    Whoami,
)
from mainspring.api.routes.auth import Anonymous, LoggedIn, assertion_of, context_of, entered, party_of
from mainspring.domain.access.account import User
from mainspring.domain.access.passkey import Attestation, Passkey
from mainspring.domain.errors import Conflict
from mainspring.operations import login, passkeys
from mainspring.views.shapes import Shape, instant

router = APIRouter(prefix="/auth", tags=["auth"])

PasskeyRef = Annotated[str, Path(max_length=100, description="A passkey's id.")]


@router.post("/login/passkey/options", response_model=PasskeyChallenge)
async def begin_passkey_login(desk: Anonymous, request: Request) -> Shape:
    """The challenge to log in with a passkey instead of a password."""
    return await login.begin_passkey_login(desk, context_of(request).hasher, party_of(request))


@router.post("/login/passkey", response_model=Whoami)
async def log_in_with_passkey(desk: Anonymous, wish: PasskeyLogin, request: Request, response: Response) -> Shape:
    """Start a session with a passkey that asked for a PIN, fingerprint or face."""
    agent = request.headers.get("user-agent", "")
    hasher, party = context_of(request).hasher, party_of(request)
    entry = await login.log_in_with_passkey(desk, hasher, party, assertion_of(wish.passkey), agent=agent)
    return await entered(desk, entry, request, response)


@router.get("/passkeys", response_model=PasskeyList)
async def list_passkeys(desk: Anonymous, visit: LoggedIn, request: Request) -> Shape:
    """Your passkeys, oldest first."""
    found = await desk.stores.credentials.passkeys(visit.user.id)
    return {"items": [_shape(each, visit.user) for each in found], "unavailable": _unavailable(request)}


@router.post("/passkeys/options", response_model=PasskeyChallenge)
async def begin_passkey(desk: Anonymous, visit: LoggedIn, wish: PasswordAgain, request: Request) -> Shape:
    """The challenge to register a device as a passkey."""
    hasher = context_of(request).hasher
    return await passkeys.begin_registration(desk, hasher, visit, party_of(request), wish.password)


@router.post("/passkeys", status_code=201, response_model=PasskeyAdded)
async def create_passkey(desk: Anonymous, visit: LoggedIn, wish: PasskeyNew, request: Request) -> Shape:
    """Add a passkey. From now on your login needs it, or another second factor that you have."""
    given = Attestation(wish.challenge, wish.client_data, wish.attestation)
    party = party_of(request)
    added = await passkeys.register(desk, context_of(request).hasher, visit, party, wish.name, given)
    return {"passkey": _shape(added.passkey, visit.user), "recovery_codes": list(added.recovery_codes)}


@router.patch("/passkeys/{passkey}", response_model=PasskeySight)
async def update_passkey(desk: Anonymous, visit: LoggedIn, passkey: PasskeyRef, wish: PasskeyPatch) -> Shape:
    """Rename a passkey."""
    return _shape(await passkeys.rename(desk, visit, passkey, wish.name), visit.user)


@router.post("/passkeys/{passkey}/remove", response_model=PasskeySight)
async def remove_passkey(
    desk: Anonymous, visit: LoggedIn, passkey: PasskeyRef, wish: PasswordAgain, request: Request
) -> Shape:
    """Remove a passkey. Without passkeys and app, your login needs only the password."""
    removed = await passkeys.remove(desk, context_of(request).hasher, visit, passkey, wish.password)
    return _shape(removed, visit.user)


def _unavailable(request: Request) -> str | None:
    try:
        party_of(request)
    except Conflict as fault:
        return str(fault)
    return None


def _shape(passkey: Passkey, user: User) -> Shape:
    return {
        "id": passkey.id,
        "name": passkey.name,
        "usable": passkey.is_good_for(user),
        "created_at": instant(passkey.created_at),
        "used_at": instant(passkey.used_at),
    }

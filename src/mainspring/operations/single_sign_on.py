"""Log in through an OIDC identity provider: the code flow with PKCE, state and nonce.

The state of one attempt (state, nonce, verifier) is encrypted into a cookie of the browser that started it, so a
callback in another browser is refused.
"""

from base64 import urlsafe_b64encode
from datetime import datetime, timedelta
from hashlib import sha256
from hmac import compare_digest
from typing import Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.access.account import Bucket, IdentityClaims, Proof, User, check_email, digest
from mainspring.domain.access.audit import INSTALLATION
from mainspring.domain.access.scope import Role
from mainspring.domain.errors import Misconfigured, NotAuthenticated
from mainspring.domain.event import Event, EventType
from mainspring.operations.accounts import add_user, new_token
from mainspring.operations.context import Desk
from mainspring.operations.login import LoginResult, start_session
from mainspring.ports.outbound import PasswordHasher

_CONTEXT = "oidc"
ATTEMPT_LIFE = timedelta(minutes=10)
BACK_MAX = 1_000  # a cookie holds 4 kB; longer URLs lead to the front page


class Issuer(Protocol):
    async def authorization_url(self, state: str, nonce: str, challenge: str, redirect_uri: str) -> str:
        """The URL at which the browser logs in. Raises NotAuthenticated if the provider does not respond."""

    async def redeem(self, code: str, verifier: str, nonce: str, redirect_uri: str) -> IdentityClaims:
        """The claims of the verified ID token. Raises NotAuthenticated if anything is invalid."""


class Attempt(Struct, frozen=True):
    state: str
    nonce: str
    verifier: str
    begun_at: datetime
    back: str = ""  # the page of this site that was requested


async def begin_login(
    desk: Desk, hasher: PasswordHasher, issuer: Issuer, redirect_uri: str, back: str = ""
) -> tuple[str, str]:
    """The provider's URL, and what the browser keeps until it returns. `back` is where the login then leads."""
    now = await desk.stores.schedule.now()
    attempt = Attempt(new_token(hasher), new_token(hasher), new_token(hasher), now, own_address(back))
    challenge = urlsafe_b64encode(sha256(attempt.verifier.encode()).digest()).decode().rstrip("=")
    url = await issuer.authorization_url(attempt.state, attempt.nonce, challenge, redirect_uri)
    return url, desk.vault.seal(msgspec.json.encode(attempt).decode(), _CONTEXT)


async def finish_login(
    desk: Desk,
    hasher: PasswordHasher,
    issuer: Issuer,
    *,
    kept: str,
    state: str,
    code: str,
    redirect_uri: str,
    role: Role | None,
    agent: str,
) -> LoginResult:
    """`role` is the role of new users in the desk's tenant; None: no users are created."""
    attempt = _attempt(desk, kept)
    if attempt is None or not compare_digest(attempt.state.encode(), state.encode()):
        raise NotAuthenticated("this login was not started in this browser, or too long ago; start again")
    if not await _is_first_use(desk, attempt):
        raise NotAuthenticated("this login was already completed, or started too long ago; start again")
    claims = await issuer.redeem(code, attempt.verifier, attempt.nonce, redirect_uri)
    user = await _user_of(desk, hasher, claims, role)
    if user.disabled_at is not None:
        raise NotAuthenticated("this account is disabled; ask an operator of the installation")
    return await start_session(desk, hasher, user, agent, "oidc")


def address_after(desk: Desk, kept: str) -> str:
    """Where a finished login leads: the page requested at its start, else the front page."""
    attempt = _attempt(desk, kept)
    return (attempt.back if attempt else "") or "/"


def own_address(path: str) -> str:
    """A path of this site, or nothing: browsers read `//host` and `/\\host` as another site."""
    is_ours = path.startswith("/") and path[1:2] not in ("/", "\\") and path.isprintable() and path.isascii()
    return path if is_ours and len(path) <= BACK_MAX else ""


async def _user_of(desk: Desk, hasher: PasswordHasher, claims: IdentityClaims, role: Role | None) -> User:
    """Finds the user by the provider's subject, else by an address verified by the provider, which is then linked
    to it.
    """
    subject = f"{claims.issuer}|{claims.subject}"
    if known := await desk.stores.accounts.user(subject):
        return known[0]
    if not claims.email or not claims.email_verified:
        raise NotAuthenticated(
            "the identity provider has not verified an email address of this account; verify it there, then try again"
        )
    email = check_email(claims.email)
    found = await desk.stores.accounts.user(email)
    if found is None:
        place = None if role is None else (desk.tenant_id, role)
        if place is None and not await desk.stores.accounts.is_invited(email):
            raise NotAuthenticated(f"no user has the email address {email}; ask an owner to add it as a member")
        made = await add_user(desk, hasher, email, claims.name[:100], place=place, proof=Proof.SSO)
        found = (made.user, "")
    elif found[0].subject:
        raise NotAuthenticated(
            f"{email} is linked to another account of the identity provider; ask an operator of the installation"
        )
    tied = replace(found[0], subject=subject, proof=Proof.SSO)
    now = await desk.stores.schedule.now()
    data: dict[str, object] = {"subject": email, "before": {"oidc": ""}, "after": {"oidc": subject}}
    event = Event(EventType.USER_UPDATED, now, INSTALLATION, actor=f"user:{email}", data=data)
    if found[0].has_password and not found[0].is_proved:  # set through a tenant's link: possibly another person
        voided: dict[str, object] = {"subject": email, "before": {"password": True}, "after": {"password": False}}
        await desk.stores.accounts.put_password(tied.id, "", Proof.SSO, replace(event, data=voided))
        tied = replace(tied, has_password=False)
    await desk.stores.accounts.put_user(tied, event)
    return tied


async def _is_first_use(desk: Desk, attempt: Attempt) -> bool:
    """Across all processes: a state is valid for one return, within its time."""
    if await desk.stores.schedule.now() > attempt.begun_at + ATTEMPT_LIFE:
        return False
    return not await desk.stores.credentials.take_turn([Bucket(f"oidc:{digest(attempt.state)}", 1, ATTEMPT_LIFE)])


def _attempt(desk: Desk, kept: str) -> Attempt | None:
    try:
        return msgspec.json.decode(desk.vault.open(kept, _CONTEXT), type=Attempt) if kept else None
    except (Misconfigured, msgspec.DecodeError):  # forged, or older than a change of the key or the program
        return None

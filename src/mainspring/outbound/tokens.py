"""Keep the access tokens of connections (OAuth2 client credentials): obtain, renew before they expire, share.

A token is kept in memory and, encrypted, in the database, where other processes find it. Of many calls that need one,
one requests it from the token server. In the last tenth of its life a token is renewed in the background while it is
used. oauthlib writes the request and reads the response; our caller sends it, so the address guard, deadline and limits
apply. The rule that must not break: a token belongs to one version of its connection, and no message shows it.
"""

import asyncio
import base64
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from urllib.parse import quote

import msgspec
from msgspec import Struct

from mainspring.domain.connection import Connection, StoredToken, secret_place, token_place
from mainspring.domain.errors import MainspringError
from mainspring.domain.name import shown
from mainspring.domain.run import Header, HttpAction, Outcome, Request
from mainspring.domain.target import origin_of
from mainspring.ports.connections import ConnectionStore
from mainspring.ports.outbound import Vault

TIMEOUT_MS = 15_000  # of one request to a token server
ANSWER_CAP = 100_000
LIFE_DEFAULT = timedelta(minutes=10)  # of a token whose server states no lifetime; a 401 renews it anyway
LIFE_MAX = timedelta(days=1)
RENEWAL_MAX = timedelta(minutes=1)  # before it expires; or a tenth of its life, if that is shorter
PAUSE_AFTER_FAILURE = timedelta(seconds=1)
KNOWN_MAX = 4_096
TOKEN_CHARS_MAX = 8_000  # the limit of a header

Send = Callable[[Connection, Request], Awaitable[Outcome]]


class TokenRefused(Exception):
    """No token could be obtained; the message states the reason."""


class Token(Struct, frozen=True):
    version: int  # of the connection
    value: str
    expires_at: datetime
    renew_at: datetime


class TokenKeeper:
    """One instance per process and loop."""

    def __init__(self, store: ConnectionStore, vault: Vault, clock: Callable[[], datetime], send: Send) -> None:
        self._store = store
        self._vault = vault
        self._clock = clock
        self._send = send
        self._known: dict[str, Token] = {}
        self._running: dict[tuple[str, int, str], asyncio.Task[Token]] = {}  # connection, its version, refused token
        self._failed: dict[str, tuple[int, datetime, str]] = {}  # connection: version, until when, why

    async def token(self, connection: Connection, refused: str = "") -> str:
        """A valid token, other than `refused`. Raises TokenRefused."""
        now = self._clock()
        known = self._known.get(connection.id)
        if known is not None and known.version == connection.version and known.value != refused:
            if now < known.renew_at:
                return known.value
            if now < known.expires_at:
                self._renew_soon(connection, now)
                return known.value
        if (why := self._recent_failure(connection, now)) and not refused:
            raise TokenRefused(why)
        return (await asyncio.shield(self._start(connection, refused))).value

    def _renew_soon(self, connection: Connection, now: datetime) -> None:
        if not self._recent_failure(connection, now):
            # A renewal in the background that fails is retried; its error must not be reported as unhandled.
            self._start(connection, "").add_done_callback(lambda task: task.cancelled() or task.exception())

    def _recent_failure(self, connection: Connection, now: datetime) -> str:
        version, until, why = self._failed.get(connection.id, (0, now, ""))
        return why if version == connection.version and now < until else ""

    def _start(self, connection: Connection, refused: str) -> "asyncio.Task[Token]":
        """Of several callers, one obtains a token and all wait for it; those that were refused do not wait for one that
        was not.
        """
        key = (connection.id, connection.version, refused)
        running = self._running.get(key)
        if running is None:
            running = self._running[key] = asyncio.get_running_loop().create_task(self._obtain(connection, refused))
            running.add_done_callback(lambda task: self._ended(key, task))
        return running

    def _ended(self, key: tuple[str, int, str], task: "asyncio.Task[Token]") -> None:
        del self._running[key]
        if not task.cancelled():
            task.exception()  # retrieved, even if the caller has given up meanwhile

    async def _obtain(self, connection: Connection, refused: str) -> Token:
        """
        1. Another process may have shared a token that is valid for longer than ours. After a refusal it may have been
           revoked with ours.
        2. Otherwise ask the token server, and share the result.
        """
        now = self._clock()
        if not refused and (shared := await self._shared(connection, now)) is not None:
            return self._keep(connection, shared)
        try:
            value, life = await self._ask(connection)
        except TokenRefused as refusal:
            self._failed.pop(connection.id, None)
            self._failed[connection.id] = (connection.version, now + PAUSE_AFTER_FAILURE, str(refusal))
            if len(self._failed) > KNOWN_MAX:
                del self._failed[next(iter(self._failed))]
            raise
        self._failed.pop(connection.id, None)
        token = made_token(connection.version, value, now, life)
        await self._share(connection, token, now)
        return self._keep(connection, token)

    def _keep(self, connection: Connection, token: Token) -> Token:
        if len(self._known) >= KNOWN_MAX:
            del self._known[next(iter(self._known))]
        self._known[connection.id] = token
        return token

    async def _shared(self, connection: Connection, now: datetime) -> Token | None:
        try:
            stored = await self._store.token(connection.tenant_id, connection.id)
            if stored is None or stored.version != connection.version or stored.expires_at <= now:
                return None
            text = self._vault.open(stored.sealed, token_place(connection.tenant_id, connection.id))
        except MainspringError:  # an unreadable token is one that must be obtained
            return None
        value, _, renew_at = text.rpartition("\n")
        renewed_at = datetime.fromisoformat(renew_at)
        return Token(stored.version, value, stored.expires_at, renewed_at) if now < renewed_at else None

    async def _share(self, connection: Connection, token: Token, now: datetime) -> None:
        """A database that does not respond costs another process one request to the token server, and no run."""
        try:
            text = f"{token.value}\n{token.renew_at.isoformat()}"
            sealed = self._vault.seal(text, token_place(connection.tenant_id, connection.id))
            stored = StoredToken(connection.id, connection.tenant_id, connection.version, sealed, token.expires_at)
            await self._store.put_token(stored)
        except MainspringError:
            return

    async def _ask(self, connection: Connection) -> tuple[str, timedelta]:
        """Sends the client's credentials in a header, and in the body to a server that wants them there."""
        try:
            place = secret_place(connection.tenant_id, connection.id, "secret")
            secret = self._vault.open(connection.config.secret, place)
        except MainspringError as fault:
            raise TokenRefused(str(fault)) from None
        outcome = await self._send(connection, token_request(connection, secret, self._clock(), in_body=False))
        if outcome.status_code in (400, 401) and _error_of(outcome) in ("invalid_client", "invalid_request"):
            outcome = await self._send(connection, token_request(connection, secret, self._clock(), in_body=True))
        return read_token(connection, outcome)


def made_token(version: int, value: str, now: datetime, life: timedelta) -> Token:
    return Token(version, value, now + life, now + life - min(RENEWAL_MAX, life / 10))


def token_request(connection: Connection, secret: str, now: datetime, *, in_body: bool) -> Request:
    from oauthlib.oauth2 import BackendApplicationClient

    config = connection.config
    extra = {"audience": config.audience} if config.audience else {}
    client = BackendApplicationClient(config.client_id)
    if in_body:
        body = client.prepare_request_body(
            scope=config.scope or None, include_client_id=True, client_secret=secret, **extra
        )
    else:
        body = client.prepare_request_body(scope=config.scope or None, include_client_id=False, **extra)
    headers = [Header("Content-Type", "application/x-www-form-urlencoded"), Header("Accept", "application/json")]
    hidden = [secret]
    if not in_body:
        value = basic(quote(config.client_id, safe=""), quote(secret, safe=""))  # RFC 6749, 2.3.1
        headers.append(Header("Authorization", value))
        hidden.append(value)
    action = HttpAction(
        config.token_url, "POST", tuple(headers), str(body), TIMEOUT_MS, ANSWER_CAP, accept_codes=(200, 201)
    )
    message_id = f"{connection.id}_{int(now.timestamp() * 1_000_000)}"
    return Request(connection.tenant_id, connection.id, message_id, now, 1, action, hidden=tuple(hidden))


def basic(username: str, password: str) -> str:
    return f"Basic {base64.b64encode(f'{username}:{password}'.encode()).decode('ascii')}"


def read_token(connection: Connection, outcome: Outcome) -> tuple[str, timedelta]:
    """The token and its lifetime. Raises TokenRefused, without the body of the response."""
    from oauthlib.oauth2 import BackendApplicationClient, OAuth2Error

    server = origin_of(connection.config.token_url)
    if outcome.error_code is not None or outcome.body is None:
        code = _error_of(outcome)
        why = f"error {code!r}" if code else (outcome.error or "an empty response")
        raise TokenRefused(f"the token server {server} gave no token: {why}; check client_id, secret and scope")
    try:
        read = BackendApplicationClient(connection.config.client_id).parse_request_body_response(
            outcome.body.data.decode()
        )
    except (OAuth2Error, ValueError, AttributeError, TypeError, OverflowError, RecursionError):
        raise TokenRefused(f"the token server {server} sent a response without a token; check token_url") from None
    value, kind = read.get("access_token"), str(read.get("token_type") or "bearer")
    if kind.lower() != "bearer" or not _is_sendable(value):
        raise TokenRefused(f"the token server {server} sent a token of type {shown(kind)!r} that cannot be sent")
    return str(value), _life_of(read.get("expires_in"))


def _is_sendable(value: object) -> bool:
    is_text = isinstance(value, str) and 0 < len(value) <= TOKEN_CHARS_MAX
    return is_text and all(0x21 <= ord(character) < 0x7F for character in str(value))


def _life_of(expires_in: object) -> timedelta:
    try:
        seconds = float(str(expires_in))
    except ValueError:
        return LIFE_DEFAULT
    if not seconds >= 1:  # also a value that is not a number
        return timedelta(seconds=1)
    return timedelta(seconds=min(seconds, LIFE_MAX.total_seconds()))


def _error_of(outcome: Outcome) -> str:
    """The error code of RFC 6749 in a response, if it has one."""
    try:
        read = msgspec.json.decode(outcome.body.data if outcome.body is not None else b"")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
    code = read.get("error") if isinstance(read, dict) else None
    return shown(code) if isinstance(code, str) else ""

"""Users, keys and sessions to store."""

from datetime import datetime, timedelta
from itertools import count

from tests.stores.world import START

from mainspring.domain.access.account import ApiKey, LoginSession, User, digest
from mainspring.domain.access.scope import Role, Scope
from mainspring.domain.event import Event, EventType
from mainspring.ports.stores import Stores

_numbers = count(1)


def a_user(email: str = "", **fields: object) -> User:
    number = next(_numbers)
    user = User(f"usr_{number:06d}", email or f"user{number}@example.com", f"User {number}", False, START)
    return user if not fields else _replaced(user, fields)


def _replaced(user: User, fields: dict[str, object]) -> User:
    from msgspec.structs import replace

    return replace(user, **fields)


def an_event(kind: EventType = EventType.USER_CREATED, tenant_id: str = "", **data: object) -> Event:
    return Event(kind, START, tenant_id, actor="user:ann@example.com", data=data)


async def add_user(
    stores: Stores, email: str = "", role: Role | None = Role.OWNER, tenant_id: str = "default", password: str = ""
) -> User:
    user = a_user(email)
    place = (tenant_id, role) if role else None
    assert await stores.accounts.add_user(user, password, place, [an_event(subject=user.email)], False)
    return user


async def add_key(stores: Stores, secret: str = "s3cret", life: timedelta = timedelta(days=90)) -> ApiKey:
    number = next(_numbers)
    key = ApiKey(
        f"{number:08d}", "default", "ci", frozenset({Scope.READ, Scope.RUN}), False, "user:ann@example.com", START,
        START + life,
    )  # fmt: skip
    await stores.credentials.add_api_key(key, digest(secret), an_event(EventType.API_KEY_CREATED, "default"))
    return key


async def add_session(stores: Stores, user: User, token: str = "token", now: datetime = START) -> LoginSession:
    session = LoginSession(
        f"ses_{next(_numbers):06d}", user.id, now, now, now + timedelta(days=14), "192.0.2.7", "a browser"
    )
    await stores.credentials.add_session(session, digest(token), an_event(EventType.LOGIN_SUCCEEDED))
    return session

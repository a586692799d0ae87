"""A store with connections, callers of any number of processes, and requests through a connection."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from mainspring.domain.connection import SECRETS, Connection, ConnectionConfig, secret_place
from mainspring.domain.event import Event, EventType
from mainspring.domain.run import HttpAction, Outcome, Request
from mainspring.outbound.guard import AddressGuard
from mainspring.outbound.http import HttpCaller
from mainspring.outbound.vault import AesVault
from mainspring.ports.stores import Stores
from tests.outbound.conftest import LOOPBACK, PATIENCE_MS
from tests.peers.gateway import (
    Call,
    Gateway,
    Reply,
)

START = datetime(2030, 1, 1, 12, 0, 0, tzinfo=UTC)
TENANT = "tn_1"


class Hands:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.at = START

    def now(self) -> datetime:
        return self.at

    def seconds(self) -> float:
        return self.at.timestamp()

    def move(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)


class World:
    """A store with connections, and callers of any number of processes."""

    def __init__(self, stores: Stores, vault: AesVault, hands: Hands) -> None:
        self.stores, self.vault, self.hands = stores, vault, hands
        self.callers: list[HttpCaller] = []

    def caller(self, guard: AddressGuard = LOOPBACK, lookup: Callable[[str], tuple[str, ...]] | None = None,
               **proxies: str) -> HttpCaller:  # fmt: skip
        made = HttpCaller(
            guard, self.vault, clock=self.hands.now, connections=self.stores.connections, proxies=proxies,
            lookup=lookup or (lambda name: ("127.0.0.1",)),
        )  # fmt: skip
        made._connector._kept_s = 0.0
        self.callers.append(made)
        return made

    async def connect(self, base_url: str, name: str = "door", **fields: object) -> Connection:
        config = self.sealed(ConnectionConfig(base_url, **fields), f"con_{name}")  # type: ignore[arg-type]  # by name
        made = Connection(f"con_{name}", TENANT, name, config, 1, START, START)
        await self.stores.connections.add_connection(made, Event(EventType.CONNECTION_CREATED, START, TENANT))
        return made

    async def edit(self, old: Connection, **fields: object) -> Connection:
        config = replace(old.config, **fields)
        fresh = {name: value for name, value in fields.items() if name in SECRETS}
        sealed = {
            name: self.vault.seal(str(value), secret_place(TENANT, old.id, name)) for name, value in fresh.items()
        }
        new = replace(old, config=replace(config, **sealed), version=old.version + 1)
        assert await self.stores.connections.put_connection(new, Event(EventType.CONNECTION_UPDATED, START, TENANT))
        return new

    def sealed(self, config: ConnectionConfig, connection_id: str) -> ConnectionConfig:
        values = {name: getattr(config, name) for name in SECRETS if getattr(config, name)}
        places = {name: secret_place(TENANT, connection_id, name) for name in values}
        return replace(config, **{name: self.vault.seal(value, places[name]) for name, value in values.items()})


def through(url: str, name: str = "door", *, timeout_ms: int = PATIENCE_MS, **fields: object) -> Request:
    action = HttpAction(url, connection=name, timeout_ms=timeout_ms, **fields)  # type: ignore[arg-type]  # by name
    return Request(TENANT, "ep_1", "ep_1_1", START, 1, action)


def plain(_: Call) -> Reply:
    return Reply()


def sent_to(other: Gateway) -> Callable[[Call], Reply]:
    return lambda call: Reply(302, b"", (f"Location: {other.url('/there')}",))


def short(outcome: Outcome) -> tuple[str, str | None]:
    return outcome.status.value, outcome.error_code
